import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit
import Synchronization

/// An RLStream: a descriptor with a queue of what is to be written and a buffer of what was read.
///
/// The handle is a version-0 source, by which the stream tells what does not come from the descriptor. The descriptor has an
/// RLFileDescriptor (the watch), whose source follows the handle into every mode. Whatever is `var` is guarded by the stream's lock;
/// clients are called without it.
struct Stream: ~Copyable, KitStorage {
    static var kind: KitKind { .stream }

    /// What the stream is in, and what it has yet to tell.
    struct State: OptionSet {
        let rawValue: UInt32
        /// It was closed: there is no watch any more.
        static var closed: State { State(rawValue: 1 << 0) }
        /// The connection is still being made: nothing is written.
        static var connecting: State { State(rawValue: 1 << 1) }
        /// The program has paused reading.
        static var paused: State { State(rawValue: 1 << 2) }
        /// A piece was too long: reading stops until another rule is set.
        static var stuck: State { State(rawValue: 1 << 3) }
        /// The descriptor is at its end, has failed, or cannot be read: it is read no more.
        static var readingOver: State { State(rawValue: 1 << 4) }
        /// The end, or why reading has failed, was told.
        static var toldOver: State { State(rawValue: 1 << 5) }
        /// A thread is delivering: no other one does, nor a nested run.
        static var delivering: State { State(rawValue: 1 << 6) }
        /// The watch will call when there is room to write.
        static var awaitingRoom: State { State(rawValue: 1 << 7) }
        /// Nothing can be written any more.
        static var writingFailed: State { State(rawValue: 1 << 8) }
        /// The program has ended writing.
        static var shutdown: State { State(rawValue: 1 << 9) }
        /// The peer was told so.
        static var shutdownDone: State { State(rawValue: 1 << 10) }
        /// The program knows that the queue has reached its high-water mark: it is told when that has shrunk.
        static var full: State { State(rawValue: 1 << 11) }
        /// To be told: the stream is open.
        static var tellsOpen: State { State(rawValue: 1 << 12) }
        /// To be told: the queue has shrunk.
        static var tellsRoom: State { State(rawValue: 1 << 13) }
        /// To be told: `writeFailure`.
        static var tellsWriteFailure: State { State(rawValue: 1 << 14) }
        /// The filter and its peer have agreed.
        static var filterOpen: State { State(rawValue: 1 << 15) }
        /// Bytes of the queue wait for the next pass.
        static var flushLater: State { State(rawValue: 1 << 16) }
        /// The filter is being called with what was read: what it delivers is told after that.
        static var receiving: State { State(rawValue: 1 << 17) }
        /// All is written to a descriptor that can only be written: `leave` closes it.
        static var closesNext: State { State(rawValue: 1 << 18) }
    }

    /// Why a direction has failed.
    struct Failure: BitwiseCopyable {
        var result = RLStreamResult(kRLStreamSuccess)
        var error: Int32 = 0
    }

    var object: KitObject
    let callout: RLStreamCallBack?
    let descriptor: Int32
    let isSocket: Bool
    /// Whether it closes the descriptor. Written before the program has the handle.
    var closes = false
    /// The memory belongs to the handle and to the watch. Any thread.
    let references: Atomic<Int>
    var lock = linux_stream_lock()
    var state: State = []
    /// The descriptor object and its source; nil once the stream is closed.
    var watch: OpaquePointer?
    var watchSource: OpaquePointer?
    var loops: ServingLoops
    /// The thread that is delivering.
    var deliverer = linux_this_thread()

    var rule = ReadRule()
    var buffer = ByteBuffer()
    var readFailure = Failure()

    var queue = WriteQueue()
    var completions = Completions()
    var writeFailure = Failure()
    var highWaterMark = 65_536
    /// How many bytes have ever been queued or written, and how many of them the descriptor has taken.
    var accepted: UInt64 = 0
    var written: UInt64 = 0

    /// The functions of the filter; version -1: there is none.
    var filter = RLStreamFilter()
    /// What the program writes before the filter is open.
    var waiting = WriteQueue()

    fileprivate init(
        _ descriptor: Int32, isSocket: Bool, _ callout: RLStreamCallBack?, _ client: ClientContext, _ loops: consuming ServingLoops
    ) {
        object = KitObject(kind: Self.kind, number: Int(descriptor), client: client, source: nil)
        self.callout = callout
        self.descriptor = descriptor
        self.isSocket = isSocket
        self.loops = loops
        references = Atomic(1)
        filter.version = -1
    }
}

typealias StreamPointer = UnsafeMutablePointer<Stream>

extension Stream {
    /// A stream in no loop; nil with errno if the system refuses. Retains the client's info, and releases it if there is no stream; the
    /// descriptor is the caller's then. Any thread.
    static func make(
        _ descriptor: Int32, isSocket: Bool, closes: Bool, _ callout: RLStreamCallBack?, _ client: ClientContext
    ) -> OpaquePointer? {
        if !isSocket && linux_add_nonblocking(descriptor) != 0 { return nil }
        guard let loops = ServingLoops(), let memory = malloc(MemoryLayout<Stream>.stride) else { return nil }
        let stream = memory.bindMemory(to: Stream.self, capacity: 1)
        stream.initialize(to: Stream(descriptor, isSocket: isSocket, callout, client.retained(), loops))
        linux_stream_lock_init(&stream.pointee.lock)
        stream.findDirections()
        var context = RLRunLoopSourceContext()
        context.info = memory
        context.release = { info in StreamPointer(info: info).handleWasFreed() }
        context.copyDescription = KitObject.copyDescription
        context.schedule = { info, loop, mode in StreamPointer(info: info).change(loop, mode, by: 1) }
        context.cancel = { info, loop, mode in StreamPointer(info: info).change(loop, mode, by: -1) }
        context.perform = { info in StreamPointer(info: info).serve() }
        // If there is no source, it has called the function that releases the info.
        guard let source = RLRunLoopSourceCreate(nil, 0, &context) else { return nil }
        stream.pointee.object.source = source
        if stream.makeWatch() {
            stream.pointee.closes = closes
            return source
        }
        preservingSystemError { RLRelease(UnsafeRawPointer(source)) }
        return nil
    }

    /// A stream that connects to an address; nil with errno if the system refuses. Any thread.
    static func connect(_ address: OpaquePointer, _ callout: RLStreamCallBack?, _ client: ClientContext) -> OpaquePointer? {
        let descriptor = linux_connect(RLDataGetBytePtr(address), UInt32(RLDataGetLength(address)))
        if descriptor < 0 { return nil }
        guard let source = make(descriptor, isSocket: true, closes: true, callout, client) else {
            preservingSystemError { linux_close(descriptor) }
            return nil
        }
        var context = RLRunLoopSourceContext()
        RLRunLoopSourceGetContext(source, &context)
        StreamPointer(info: context.info).noteConnected()
        return source
    }
}

extension StreamPointer {
    /// The stream that is the info of its source or of its watch.
    init(info: UnsafeRawPointer?) {
        self = UnsafeMutableRawPointer(mutating: info.unsafelyUnwrapped).assumingMemoryBound(to: Stream.self)
    }

    /// The handle.
    var source: OpaquePointer? { pointee.object.source }

    /// What the descriptor is good for. Before the program has the handle.
    fileprivate func findDirections() {
        if pointee.callout == nil { pointee.state.formUnion([.readingOver, .toldOver]) }
        if pointee.isSocket {
            if linux_is_connecting(pointee.descriptor) != 0 { pointee.state.formUnion([.connecting, .awaitingRoom]) }
            return
        }
        let mode = linux_access_mode(pointee.descriptor)
        if mode == O_WRONLY { pointee.state.formUnion([.readingOver, .toldOver]) }
        if mode == O_RDONLY {
            pointee.state.insert(.writingFailed)
            pointee.writeFailure = Stream.Failure(result: RLStreamResult(kRLStreamFailed), error: EBADF)
        }
    }

    fileprivate func makeWatch() -> Bool {
        var context = RLFileDescriptorContext()
        context.info = UnsafeMutableRawPointer(self)
        context.retain = { info in
            StreamPointer(info: info).pointee.references.add(1, ordering: .relaxed)
            return info
        }
        context.release = { info in StreamPointer(info: info).dropMemory() }
        let callout: RLFileDescriptorCallBack = { _, types, info in StreamPointer(info: info).serveDescriptor(types) }
        guard let watch = RLFileDescriptorCreate(nil, pointee.descriptor, 0, callout, &context) else { return false }
        guard let source = RLFileDescriptorCreateRunLoopSource(nil, watch, 0) else {
            preservingSystemError {
                RLFileDescriptorInvalidate(watch)
                RLRelease(UnsafeRawPointer(watch))
            }
            return false
        }
        pointee.watch = watch
        pointee.watchSource = source
        return true
    }

    // MARK: the lock

    /// Takes the stream's lock, which is recursive. Any thread.
    func lock() {
        if linux_stream_lock(&pointee.lock) == 0 { return }
        // In the child of a fork(): threads that were delivering do not exist.
        if linux_is_forking_thread(pointee.deliverer) == 0 { pointee.state.remove(.delivering) }
        if pointee.lock.was_broken == 0 { return }
        pointee.lock.was_broken = 0
        fail(Stream.Failure(result: RLStreamResult(kRLStreamFailed), error: ECANCELED))
    }

    /// Releases the lock, for a moment.
    func unlock() { linux_stream_unlock(&pointee.lock) }

    /// Releases the lock at the end, and closes the stream if that was all.
    func leave() {
        let closes = pointee.state.contains(.closesNext) && pointee.lock.depth == 1
        linux_stream_unlock(&pointee.lock)
        if closes { close() }
    }

    /// -1 once the stream is closed. Any thread.
    var openDescriptor: Int32 {
        lock()
        defer { leave() }
        return pointee.state.contains(.closed) ? -1 : pointee.descriptor
    }

    // MARK: loops

    /// The handle was added to a mode of a loop (1), or removed from one (-1): so is the watch. Any thread.
    fileprivate func change(_ loop: OpaquePointer?, _ mode: OpaquePointer?, by modes: Int) {
        guard let loop, let mode else { return }
        lock()
        let wasInLoop = !pointee.loops.isEmpty
        let (isDone, released) = pointee.loops.change(loop, by: modes) {}
        let isInLoop = !pointee.loops.isEmpty
        // The reference by which `serveDescriptor` knows that the handle is there.
        if isInLoop && !wasInLoop { RLRetain(UnsafeRawPointer(source)) }
        follow(loop, mode)
        if !isDone { fail(Stream.Failure(result: RLStreamResult(kRLStreamFailed), error: ENOMEM)) }
        if isInLoop { arm() }
        let isOver = modes < 0 && RLRunLoopSourceIsValid(source) == 0
        unlock()
        if let released { RLRelease(UnsafeRawPointer(released)) }
        if isOver { close() }
        if wasInLoop && !isInLoop { RLRelease(UnsafeRawPointer(source)) }
    }

    /// Two threads that add and remove may report in either order: what counts is where the handle is now. Under the lock.
    private func follow(_ loop: OpaquePointer, _ mode: OpaquePointer) {
        guard let watchSource = pointee.watchSource else { return }
        if RLRunLoopContainsSource(loop, source, mode) == 0 { return RLRunLoopRemoveSource(loop, watchSource, mode) }
        RLRunLoopAddSource(loop, watchSource, mode)
        if RLRunLoopContainsSource(loop, watchSource, mode) == 0 && RLRunLoopSourceIsValid(source) != 0 {
            fail(Stream.Failure(result: RLStreamResult(kRLStreamFailed), error: ENOMEM))
        }
    }

    /// Enables the callbacks that the stream waits for. Under the lock.
    func arm() {
        guard let watch = pointee.watch else { return }
        var types: UInt = 0
        if wantsToRead { types |= UInt(kRLFileDescriptorReadCallBack) }
        if pointee.state.contains(.awaitingRoom) { types |= UInt(kRLFileDescriptorWriteCallBack) }
        if types != 0 { RLFileDescriptorEnableCallBacks(watch, types) }
    }

    /// Has `serve` called in the next pass of a loop. Under the lock.
    func serveLater() {
        RLRunLoopSourceSignal(source)
        pointee.loops.wake()
    }

    // MARK: the end

    /// Leaves all loops, and closes the descriptor. Calls completions and the filter's release. Any thread, without the lock.
    func close() { end(source) }

    /// `handle` is what completions are told: nil if it is gone.
    private func end(_ handle: OpaquePointer?) {
        lock()
        let (watch, watchSource) = (pointee.watch, pointee.watchSource)
        let isFirst = pointee.state.insert(.closed).inserted
        pointee.watch = nil
        pointee.watchSource = nil
        pointee.state.remove(.closesNext)
        pointee.queue.free()
        pointee.waiting.free()
        let filter = pointee.filter
        pointee.filter.version = -1
        unlock()
        if !isFirst { return }
        if let handle { RLRunLoopSourceInvalidate(handle) }
        if let watchSource { RLRelease(UnsafeRawPointer(watchSource)) }
        if let watch {
            RLFileDescriptorInvalidate(watch)
            RLRelease(UnsafeRawPointer(watch))
            if pointee.closes { linux_close(pointee.descriptor) }
        }
        tellCancelled(handle)
        if filter.version == 0, let release = filter.release { release(filter.info) }
    }

    /// The source was freed.
    fileprivate func handleWasFreed() {
        preservingSystemError { end(nil) }
        pointee.object.client.releaseInfo()
        dropMemory()
    }

    /// The handle or the watch does not use the memory any more.
    private func dropMemory() {
        if pointee.references.subtract(1, ordering: .acquiringAndReleasing).newValue > 0 { return }
        pointee.rule.free()
        pointee.buffer.free()
        pointee.queue.free()
        pointee.waiting.free()
        pointee.completions.free()
        linux_stream_lock_destroy(&pointee.lock)
        deinitialize(count: 1)
        CLinux.free(self)
    }
}
