import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit
import Synchronization

/// An RLStream: a descriptor with a queue of bytes to be written and a buffer of bytes that were read.
///
/// The handle is a version-0 source, from which everything is delivered that does not come directly from the descriptor. The descriptor has
/// an RLFileDescriptor (the watch), whose source follows the handle into every mode. All `var` fields are guarded by the stream's lock
/// unless they say otherwise. Of the program's functions, only a filter's are called with the lock held.
struct Stream: ~Copyable, KitStorage {
    static var kind: KitKind { .stream }

    // Ordered by use: usually, reading a chunk and writing another touches two cache lines.
    var object: KitObject
    var state: State = []
    /// The descriptor that is read and written; -1 until a stream that was created for a host is connected.
    var descriptor: Int32
    var lock = linux_stream_lock()
    var callout: RLStreamCallBack? { unsafeBitCast(object.callout, to: RLStreamCallBack?.self) }
    /// The RLFileDescriptor; nil while there is no descriptor, and once the stream is closed. Retained.
    var watch: OpaquePointer?
    /// The thread that is delivering; meaningful only in the state `delivering`.
    var deliverer = linux_this_stream_thread()
    /// The number of calls by loops that are serving this stream at present.
    var services: UInt32 = 0
    let isSocket: Bool
    /// Whether the stream closes the program's descriptor. Written before the program has the handle.
    var closes = false

    /// The process's count of forks when `services` was last recounted after a fork(): see `StreamService.noteFork`.
    var servicesFork: UInt32 = 0
    var rule = ReadRule()
    var buffer = ByteBuffer()
    var queue = WriteQueue()
    var completions = Completions()
    var highWaterMark = 65_536
    /// The number of references to this memory: of the handle, watches, timers, a host look-up and writes to groups. Any thread.
    let references: Atomic<Int>
    /// The references to the handle that other streams, because of forwarding, and calls of `close` have.
    let holders = HandleHolders()
    /// The run loop source of the watch; nil whenever `watch` is. Retained.
    var watchSource: OpaquePointer?
    var loops: ServingLoops
    var readFailure = Failure()
    var writeFailure = Failure()
    /// How many more reads may return bytes before a failure to write is reported.
    var failureDelay: UInt8 = 16
    /// The idle limit in seconds; meaningful only in the state `hasIdleLimit`.
    var idleLimit: Double = 0
    /// When the idle time began, usually at the last read or write, on the monotonic clock in nanoseconds. Kept only for the idle limit.
    var lastActivity: UInt64 = 0
    /// Connects the stream to a host; nil once it is connected, and for other streams.
    var connector: ConnectorPointer?
    var filter = RLStreamFilter()
    /// What the program has written but the filter has not received yet, because it is not open or the bytes wait for the next pass.
    var waiting = WriteQueue()
    /// For a terminal that the stream has opened once more, the program's descriptor; otherwise -1. Written before the program has the
    /// handle.
    var terminal: Int32 = -1
    /// The process in which the stream has made the program's descriptor non-blocking; nil if it has not. Written before the program has
    /// the handle.
    var nonblockingIn: ProcessIdentity?
    /// The stream that this one is forwarded to. Its handle is retained, unless it is this stream.
    var target: StreamPointer?
    /// The stream that is forwarded to this one. Its memory may have been freed, unless `holdsFeeder`.
    var feeder: StreamPointer?
    /// Whether the feeder's reading rests until there is room here. If so, its handle is retained, unless the feeder is this stream.
    var holdsFeeder = false
    /// The stream that is forwarded in both directions with this one and closed with it. Its handle is retained, unless it is this stream.
    var partner: StreamPointer?
    /// Whether the stream is not read because it has no callback and is not forwarded at present.
    var isUnread = false
    /// Whether the stream is to be closed once everything is written, or nothing can be written any more.
    var closesWhenWritten = false
    /// The stream's memberships in groups. Under the kit's lock, not the stream's.
    var memberships: MembershipPointer?
    /// Whether the stream was ever added to a group.
    var wasInGroup = false
    /// Whether the handle has been freed. Until this is set, the handle stays in memory while the stream is locked.
    var isFreed = false
    /// Whether `serve` is to be called as soon as the stream is in a loop.
    var servesOnceInLoop = false
    /// The next stream whose handle has been freed and which the same thread is about to end. Only that thread uses it.
    var nextFreed: StreamPointer?

    fileprivate init(
        _ descriptor: Int32, isSocket: Bool, _ callout: RLStreamCallBack?, _ client: ClientContext, _ loops: consuming ServingLoops
    ) {
        object = KitObject(kind: Self.kind, number: Int(descriptor), client: client, callout: addressOfFunction(callout))
        self.descriptor = descriptor
        self.isSocket = isSocket
        self.loops = loops
        references = Atomic(1)
    }
}

typealias StreamPointer = UnsafeMutablePointer<Stream>

extension Stream {
    /// Creates a stream that is in no loop. Returns nil with errno if the system refuses; the descriptor then still belongs to the caller.
    /// Retains the client's info, and releases it on failure. Any thread; calls user code.
    static func make(
        _ descriptor: Int32, isSocket: Bool, closes: Bool, _ callout: RLStreamCallBack?, _ client: ClientContext
    ) -> OpaquePointer? {
        if !StreamService.prepare() { return nil }
        if isSocket {
            guard let source = make(descriptor, isSocket: true, callout, client) else { return nil }
            StreamPointer(handle: source).pointee.closes = closes
            return source
        }
        let again = linux_open_terminal_again(descriptor)
        let isChanged = again < 0 ? linux_add_nonblocking(descriptor) : 0
        if isChanged < 0 { return nil }
        guard let source = make(again < 0 ? descriptor : again, isSocket: false, callout, client) else {
            preservingSystemError {
                if again >= 0 { linux_close(again) }
                if isChanged != 0 { linux_remove_nonblocking(descriptor) }
            }
            return nil
        }
        let stream = StreamPointer(handle: source)
        stream.pointee.closes = closes
        stream.pointee.object.number = Int(descriptor)
        if again >= 0 { stream.pointee.terminal = descriptor }
        if isChanged != 0 { stream.pointee.nonblockingIn = .current }
        return source
    }

    /// The rest of `make`: creates a stream that never closes its descriptor.
    private static func make(
        _ descriptor: Int32, isSocket: Bool, _ callout: RLStreamCallBack?, _ client: ClientContext
    ) -> OpaquePointer? {
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
        // On failure, RLRunLoopSourceCreate has called the function that frees the stream and releases the info.
        guard let source = RLRunLoopSourceCreate(nil, 0, &context) else { return nil }
        stream.pointee.object.source = source
        if descriptor < 0 || stream.makeWatch() { return source }
        preservingSystemError { RLRelease(UnsafeRawPointer(source)) }
        return nil
    }
}

extension StreamPointer {
    /// The stream whose address is the info of its source or of one of its watches.
    init(info: UnsafeRawPointer?) {
        self = UnsafeMutableRawPointer(mutating: info.unsafelyUnwrapped).assumingMemoryBound(to: Stream.self)
    }

    /// The stream of a handle that the caller has just created.
    init(handle: OpaquePointer) {
        var context = RLRunLoopSourceContext()
        RLRunLoopSourceGetContext(handle, &context)
        self.init(info: context.info)
    }

    /// The handle.
    var source: OpaquePointer? { pointee.object.source }

    /// Sets the initial state: the directions of the descriptor, and whether a socket is connecting. Before the program has the handle.
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

    /// Returns the context for a watch of the stream, by which the watch keeps the stream's memory alive.
    func watchContext() -> RLFileDescriptorContext {
        var context = RLFileDescriptorContext()
        context.info = UnsafeMutableRawPointer(self)
        context.retain = { info in StreamPointer(info: info).retainMemory() }
        context.release = { info in StreamPointer(info: info).dropMemory() }
        return context
    }

    /// Creates the watch, which is in no loop at first. Returns false with errno if the system refuses.
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
        // In the child of a fork(): other threads that were delivering do not exist.
        if linux_is_forking_thread(pointee.deliverer) == 0 { pointee.state.subtract([.delivering, .held]) }
        if pointee.servicesFork != linux_kit_fork_count() { pointee.services = 0 }
        // Nor does the worker that was looking up the host.
        let isCutOff = pointee.lock.was_broken != 0 || pointee.connector?.pointee.isLookingUp == true
        pointee.lock.was_broken = 0
        if !isCutOff { return }
        fail(Stream.Failure(result: RLStreamResult(kRLStreamFailed), error: ECANCELED))
    }

    /// Releases the lock, without closing the stream in the state `closesNext`: see `leave`.
    @inline(__always)
    func unlock() { linux_stream_unlock(&pointee.lock) }

    /// Releases the lock at the end of a call. Then closes the stream if it is in the state `closesNext`, unless the thread still holds the
    /// lock from an outer call. So it may call completions and the filter's release.
    func leave() {
        if !pointee.state.contains(.closesNext) { return unlock() }
        let closes = pointee.lock.depth == 1
        unlock()
        if closes { close() }
    }

    /// The program's descriptor; -1 once the stream is closed. Any thread.
    var openDescriptor: Int32 {
        lock()
        defer { leave() }
        if pointee.state.contains(.closed) { return -1 }
        return pointee.terminal >= 0 ? pointee.terminal : pointee.descriptor
    }

    // MARK: loops

    /// Updates the watch, the timer and the attempts after the handle was added to a mode of a loop (1) or removed from one (-1). Closes
    /// the stream if the handle is no longer valid. Any thread; call without a lock held.
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
        if let handle { giveUp(handle, besides: 1) }
    }

    /// Takes away the stream's reference to its handle if the stream no longer needs it. Returns the handle, which the caller releases
    /// without the lock; otherwise nil. The caller holds the lock.
    func takeIdleHandle() -> OpaquePointer? {
        if pointee.services > 0 || pointee.state.contains(.inLoop) || pointee.state.remove(.holdsHandle) == nil { return nil }
        return source
    }

    /// Releases a handle that `takeIdleHandle` has returned. `count` is the minimum number of references that librunloop has during this
    /// call: if there are no others, the client has already released the stream's. Any thread; call without a lock held.
    func giveUp(_ handle: OpaquePointer, besides count: Int) {
        if RLGetRetainCount(UnsafeRawPointer(handle)) <= count { return Misuse.reportOverRelease() }
        RLRelease(UnsafeRawPointer(handle))
    }

    /// Adds the watch to a mode of a loop or removes it, as was done with the handle. The caller holds the lock.
    private func follow(_ loop: OpaquePointer, _ mode: OpaquePointer) {
        guard let watchSource = pointee.watchSource else { return }
        if !DescriptorWatch.follow(source, watchSource, loop, mode) { failWithoutMemory() }
    }

    /// Enables the callbacks of the watch that the stream waits for. The caller holds the lock.
    func arm() {
        guard let watch = pointee.watch else { return }
        var types: UInt = 0
        if wantsToRead { types |= UInt(kRLFileDescriptorReadCallBack) }
        if pointee.state.contains(.awaitingRoom) { types |= UInt(kRLFileDescriptorWriteCallBack) }
        if types != 0 { RLFileDescriptorEnableCallBacks(watch, types) }
    }

    /// Has a loop call `serve` in its next pass; if the stream is in no loop, as soon as it is in one. The caller holds the lock.
    func serveLater() {
        // In no loop, the handle may be about to be freed, because a group writes to streams that it does not retain.
        pointee.servesOnceInLoop = pointee.state.isDisjoint(with: .inLoop)
        if pointee.servesOnceInLoop { return }
        RLRunLoopSourceSignal(source)
        pointee.loops.wake()
    }
}
