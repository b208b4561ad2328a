import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit
import Synchronization

/// An RLStream: a descriptor with a queue of what is to be written and a buffer of what was read.
///
/// The handle is a version-0 source, which delivers what does not come from the descriptor. The descriptor has an RLFileDescriptor (the
/// watch), whose source follows the handle into every mode. All `var` fields are guarded by the stream's lock unless they say otherwise. No
/// function of the program but a filter's is called with the lock held.
struct Stream: ~Copyable, KitStorage {
    static var kind: KitKind { .stream }

    // In the order of their use: as a rule, reading a piece and writing another touches two cache lines.
    var object: KitObject
    var state: State = []
    /// -1 until a stream that was created for a host is connected.
    var descriptor: Int32
    var lock = linux_stream_lock()
    let callout: RLStreamCallBack?
    /// The descriptor object; nil while there is no descriptor, and once the stream is closed.
    var watch: OpaquePointer?
    /// The thread that is delivering; meaningful only in the state `delivering`.
    var deliverer = linux_this_stream_thread()
    /// How many calls of loops are in this stream at the moment.
    var services: UInt32 = 0
    let isSocket: Bool
    /// Whether the stream closes the descriptor. Written before the program has the handle.
    var closes = false

    /// The process's count of forks when `services` was last counted again after one: see `StreamService.noteFork`.
    var servicesFork: UInt32 = 0
    var rule = ReadRule()
    var buffer = ByteBuffer()
    var queue = WriteQueue()
    var completions = Completions()
    var highWaterMark = 65_536
    /// References to this memory: those of the handle, the watches, the timers and a host look-up. Any thread.
    let references: Atomic<Int>
    /// The run loop source of the watch; nil whenever `watch` is.
    var watchSource: OpaquePointer?
    var loops: ServingLoops
    var readFailure = Failure()
    var writeFailure = Failure()
    /// How many more reads that bring bytes may come before a failure to write is told.
    var failureDelay: UInt8 = 16
    /// In seconds; meaningful only if the stream has an idle limit.
    var idleLimit: Double = 0
    /// The beginning of the idle time, usually the last read or write, on the monotonic clock. Kept only for the idle limit.
    var lastActivity: UInt64 = 0
    /// Connects the stream to a host; nil once it is connected, and for other streams.
    var connector: ConnectorPointer?
    var filter = RLStreamFilter()
    /// What the program has written and the filter has not been called with: the filter is not open, or the bytes wait for the next pass.
    var waiting = WriteQueue()
    /// The stream that this one is forwarded to. Its handle is retained, unless it is this one.
    var target: StreamPointer?
    /// The stream that is forwarded to this one. Its memory may be gone, unless `holdsFeeder`.
    var feeder: StreamPointer?
    /// Whether the feeder's reading rests until there is room here. Meanwhile its handle is retained, unless the feeder is this stream.
    var holdsFeeder = false
    /// The stream that is forwarded both ways with this one, and closed with it. Its handle is retained, unless it is this one.
    var partner: StreamPointer?
    /// Whether the stream is not read because it has no function and is not forwarded at present.
    var isUnread = false
    /// Whether the stream is closed once everything is written, or nothing can be written any more.
    var closesWhenWritten = false
    /// The stream's memberships in groups. Under the kit's lock, not the stream's.
    var memberships: MembershipPointer?
    /// Whether the stream was ever added to a group.
    var wasInGroup = false
    /// Whether the handle has been freed. While it is not set, the handle is there for as long as the stream is locked.
    var isFreed = false
    /// Whether a loop is to call `serve` as soon as the stream is in one.
    var servesOnceInLoop = false
    /// The next stream whose handle has been freed and that the same thread is about to end. Only that thread uses it.
    var nextFreed: StreamPointer?

    fileprivate init(
        _ descriptor: Int32, isSocket: Bool, _ callout: RLStreamCallBack?, _ client: ClientContext, _ loops: consuming ServingLoops
    ) {
        object = KitObject(kind: Self.kind, number: Int(descriptor), client: client, source: nil)
        self.callout = callout
        self.descriptor = descriptor
        self.isSocket = isSocket
        self.loops = loops
        references = Atomic(1)
    }
}

typealias StreamPointer = UnsafeMutablePointer<Stream>

extension Stream {
    /// A stream in no loop; nil with errno if the system refuses. Retains the client's info, and releases it if there is no stream; the
    /// descriptor stays the caller's then. Any thread.
    static func make(
        _ descriptor: Int32, isSocket: Bool, closes: Bool, _ callout: RLStreamCallBack?, _ client: ClientContext
    ) -> OpaquePointer? {
        if !StreamService.prepare() { return nil }
        if !isSocket && linux_add_nonblocking(descriptor) != 0 { return nil }
        guard let loops = ServingLoops(), let memory = aligned_alloc(128, (MemoryLayout<Stream>.stride + 127) & ~127) else { return nil }
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
        // On failure the source has called the function that frees the stream and releases the info.
        guard let source = RLRunLoopSourceCreate(nil, 0, &context) else { return nil }
        stream.pointee.object.source = source
        if descriptor < 0 || stream.makeWatch() {
            stream.pointee.closes = closes
            return source
        }
        preservingSystemError { RLRelease(UnsafeRawPointer(source)) }
        return nil
    }
}

extension StreamPointer {
    /// The stream that is the info of its source or of its watch.
    init(info: UnsafeRawPointer?) {
        self = UnsafeMutableRawPointer(mutating: info.unsafelyUnwrapped).assumingMemoryBound(to: Stream.self)
    }

    /// The handle.
    var source: OpaquePointer? { pointee.object.source }

    /// The program's info of a stream, whose handle was just made. Any thread.
    static func info(of handle: OpaquePointer) -> UnsafeMutableRawPointer? {
        var context = RLRunLoopSourceContext()
        RLRunLoopSourceGetContext(handle, &context)
        return StreamPointer(info: context.info).pointee.object.client.info
    }

    /// Sets the first state: what the descriptor allows, and whether a socket is connecting. Before the program has the handle.
    fileprivate func findDirections() {
        if pointee.callout == nil { leaveUnread() }
        if pointee.isSocket {
            if linux_is_connecting(pointee.descriptor) != 0 { pointee.state.formUnion([.connecting, .awaitingRoom]) }
            return
        }
        let mode = linux_access_mode(pointee.descriptor)
        if mode == O_WRONLY {
            pointee.state.formUnion([.readingOver, .toldOver])
            pointee.isUnread = false
        }
        if mode == O_RDONLY {
            pointee.state.insert(.writingFailed)
            pointee.writeFailure = Stream.Failure(result: RLStreamResult(kRLStreamFailed), error: EBADF)
        }
    }

    /// The context for a watch of the stream, with which the watch keeps the stream's memory.
    func watchContext() -> RLFileDescriptorContext {
        var context = RLFileDescriptorContext()
        context.info = UnsafeMutableRawPointer(self)
        context.retain = { info in StreamPointer(info: info).retainMemory() }
        context.release = { info in StreamPointer(info: info).dropMemory() }
        return context
    }

    /// Makes the watch, which is in no loop at first. False with errno if the system refuses.
    func makeWatch() -> Bool {
        var context = watchContext()
        let callout: RLFileDescriptorCallBack = { _, types, info in StreamPointer(info: info).serveDescriptor(types) }
        guard let watch = DescriptorWatch.make(pointee.descriptor, &context, callout) else { return false }
        pointee.watch = watch.watch
        pointee.watchSource = watch.source
        return true
    }

    // MARK: the lock

    /// Takes the stream's lock, which is recursive. Any thread.
    @inline(__always)
    func lock() {
        if linux_stream_lock(&pointee.lock) != 0 { recover() }
    }

    /// Repairs the stream when its lock is used for the first time in the child of a fork(). Under the lock.
    @inline(never)
    private func recover() {
        // In the child of a fork(): threads that were delivering do not exist.
        if linux_is_forking_thread(pointee.deliverer) == 0 { pointee.state.subtract([.delivering, .held]) }
        if pointee.servicesFork != linux_kit_fork_count() { pointee.services = 0 }
        // Nor does the worker that was looking a host up.
        let isCutOff = pointee.lock.was_broken != 0 || pointee.connector?.pointee.isLookingUp == true
        pointee.lock.was_broken = 0
        if !isCutOff { return }
        fail(Stream.Failure(result: RLStreamResult(kRLStreamFailed), error: ECANCELED))
    }

    /// Releases the lock between two steps of a call.
    @inline(__always)
    func unlock() { linux_stream_unlock(&pointee.lock) }

    /// Releases the lock at the end of a call. If the stream is in the state `closesNext`, closes it then, unless the thread still has the
    /// lock from an outer call; may thus call completions and the filter's release.
    func leave() {
        if !pointee.state.contains(.closesNext) { return unlock() }
        let closes = pointee.lock.depth == 1
        unlock()
        if closes { close() }
    }

    /// The descriptor; -1 once the stream is closed. Any thread.
    var openDescriptor: Int32 {
        lock()
        defer { leave() }
        return pointee.state.contains(.closed) ? -1 : pointee.descriptor
    }

    // MARK: loops

    /// The handle was added to a mode of a loop (1), or removed from one (-1): so are the watch, the timer and the attempts. Closes the
    /// stream if the handle is no longer valid. Any thread.
    fileprivate func change(_ loop: OpaquePointer?, _ mode: OpaquePointer?, by modes: Int) {
        guard let loop, let mode else { return }
        lock()
        let (isDone, released) = pointee.loops.change(loop, by: modes) {}
        if pointee.loops.isEmpty {
            pointee.state.remove(.inLoop)
        } else {
            pointee.state.insert(.inLoop)
            if pointee.state.insert(.holdsHandle).inserted { RLRetain(UnsafeRawPointer(source)) }
        }
        follow(loop, mode)
        pointee.loops.followWithTimer(source, loop, mode)
        followWithAttempts(loop, mode)
        if modes > 0 && !pointee.state.isDisjoint(with: [.hasIdleLimit, .connecting]) { checkTime() }
        if !isDone { failWithoutMemory() }
        if pointee.state.contains(.inLoop) {
            arm()
            if pointee.servesOnceInLoop { serveLater() }
        }
        let isOver = modes < 0 && RLRunLoopSourceIsValid(source) == 0
        let handle = takeIdleHandle()
        unlock()
        if let released { RLRelease(UnsafeRawPointer(released)) }
        if isOver { close() }
        if let handle { RLRelease(UnsafeRawPointer(handle)) }
    }

    /// Returns the handle if the stream no longer needs its reference to it: the caller releases it, without the lock. Under the lock.
    func takeIdleHandle() -> OpaquePointer? {
        if pointee.services > 0 || pointee.state.contains(.inLoop) || pointee.state.remove(.holdsHandle) == nil { return nil }
        return source
    }

    /// Adds the watch to this mode of the loop, or removes it, as was done with the handle. Under the lock.
    private func follow(_ loop: OpaquePointer, _ mode: OpaquePointer) {
        guard let watchSource = pointee.watchSource else { return }
        if !DescriptorWatch.follow(source, watchSource, loop, mode) { failWithoutMemory() }
    }

    /// Enables the callbacks that the stream waits for. Under the lock.
    func arm() {
        guard let watch = pointee.watch else { return }
        var types: UInt = 0
        if wantsToRead { types |= UInt(kRLFileDescriptorReadCallBack) }
        if pointee.state.contains(.awaitingRoom) { types |= UInt(kRLFileDescriptorWriteCallBack) }
        if types != 0 { RLFileDescriptorEnableCallBacks(watch, types) }
    }

    /// Makes a loop call `serve` in its next pass; if the stream is in no loop, as soon as it is in one. Under the lock.
    func serveLater() {
        // In no loop, the handle may be about to be freed: a group writes to streams that it does not retain.
        pointee.servesOnceInLoop = pointee.state.isDisjoint(with: .inLoop)
        if pointee.servesOnceInLoop { return }
        RLRunLoopSourceSignal(source)
        pointee.loops.wake()
    }

    // MARK: the end

    /// Leaves all loops; closes the descriptor if it has to. Calls completions and the filter's release. Any thread, without the lock.
    func close() { end(source) }

    /// Closes the stream, once. `handle` is passed to completions; nil if it no longer exists.
    private func end(_ handle: OpaquePointer?) {
        lock()
        let (watch, watchSource) = (pointee.watch, pointee.watchSource)
        let isFirst = pointee.state.insert(.closed).inserted
        pointee.watch = nil
        pointee.watchSource = nil
        pointee.state.remove(.closesNext)
        pointee.queue.free()
        pointee.waiting.free()
        endConnector()
        let hadFilter = pointee.state.remove(.hasFilter) != nil
        let (target, heldFeeder, partner) = (pointee.target, takeHeldFeeder(), pointee.partner)
        pointee.partner = nil
        let wasInGroup = pointee.wasInGroup
        unlock()
        if !isFirst { return }
        if wasInGroup { leaveGroups() }
        // A completion may drop the program's reference, the last one once the handle is in no loop.
        if let handle {
            RLRetain(UnsafeRawPointer(handle))
            RLRunLoopSourceInvalidate(handle)
        }
        if let watchSource { RLRelease(UnsafeRawPointer(watchSource)) }
        if let watch {
            RLFileDescriptorInvalidate(watch)
            RLRelease(UnsafeRawPointer(watch))
            if pointee.closes { linux_close(pointee.descriptor) }
        }
        if let target { endForwarding(to: target) }
        if let heldFeeder { resume(feeder: heldFeeder) }
        if let partner { close(partner: partner) }
        tellCancelled(handle)
        if hadFilter, let release = pointee.filter.release { release(pointee.filter.info) }
        if let handle { RLRelease(UnsafeRawPointer(handle)) }
    }

    /// The source of the stream was freed.
    fileprivate func handleWasFreed() {
        lock()
        pointee.isFreed = true
        unlock()
        if !isCollected() { endFreed() }
    }

    /// Ends a stream whose source was freed, and gives up the source's reference to the memory. Any thread, without a lock.
    func endFreed() {
        preservingSystemError { end(nil) }
        pointee.object.client.releaseInfo()
        dropMemory()
    }

    /// Gives up one of `references`; the last one frees the memory. Any thread.
    func dropMemory() {
        if pointee.references.subtract(1, ordering: .acquiringAndReleasing).newValue > 0 { return }
        pointee.rule.free()
        pointee.buffer.free()
        pointee.queue.free()
        pointee.waiting.free()
        pointee.completions.free()
        deinitialize(count: 1)
        CLinux.free(self)
    }
}
