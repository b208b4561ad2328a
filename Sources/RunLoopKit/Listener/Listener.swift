import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit
import Synchronization

/// An RLListener: a listening socket.
///
/// The handle is a version-0 source, from which a loop calls the client. An RLFileDescriptor for the socket (the watch) signals the handle
/// when connections arrive; the watch's source follows the handle into every mode. All `var` fields are guarded by the listener's lock
/// unless they say otherwise; clients are called without it.
struct Listener: ~Copyable, KitStorage {
    static var kind: KitKind { .listener }

    fileprivate(set) var object: KitObject
    fileprivate let callout: RLListenerCallBack
    fileprivate let descriptor: Int32
    /// The path that is removed when the listener is closed; nil if there is none. Written before the program has the handle.
    fileprivate var path: UnsafeMutablePointer<CChar>?
    /// Identifies the file at `path`, so that a different file that is there later is not removed. Written before the program has the
    /// handle.
    fileprivate var file = linux_socket_file()
    /// The process that created the listener: only this one removes the path.
    fileprivate let process: ProcessIdentity
    /// Whether the listener closes the descriptor. Written before the program has the handle.
    fileprivate var closes = false
    fileprivate var lock = linux_stream_lock()
    fileprivate var isClosed = false
    fileprivate var isEnabled = true
    /// The errno with which accepting has failed; accepting then rests until a timer fires. 0 if it does not rest.
    fileprivate var shortage: Int32 = 0
    fileprivate var loops: ServingLoops
    /// nil once the listener is closed.
    fileprivate var watch: DescriptorWatch?
    /// The number of references to this memory: those of the handle, the watch and the timers. Any thread.
    fileprivate let references: Atomic<Int>

    fileprivate init(
        _ descriptor: Int32, _ callout: @escaping RLListenerCallBack, _ client: ClientContext, _ named: UInt,
        _ loops: consuming ServingLoops
    ) {
        object = KitObject(kind: Self.kind, number: Int(descriptor), client: client, callout: named)
        self.callout = callout
        self.descriptor = descriptor
        self.loops = loops
        process = .current
        references = Atomic(1)
    }

    /// The maximum number of connections that are accepted in one pass.
    fileprivate static var batch: Int { 16 }
    /// The delay in seconds after which a listener that was short of descriptors or memory tries again.
    fileprivate static var retryDelay: Double { 0.1 }
}

typealias ListenerPointer = UnsafeMutablePointer<Listener>

extension Listener {
    /// Creates a listener that is in no loop. Returns nil with errno if the system refuses; the descriptor then still belongs to the
    /// caller. `named` is the client's callback, for traces, if `callout` is not the client's. Retains the client's info, and releases it
    /// on failure. Any thread; calls user code.
    static func make(
        _ descriptor: Int32, closes: Bool, _ callout: @escaping RLListenerCallBack, _ client: ClientContext,
        named: UInt? = nil, at path: UnsafePointer<CChar>? = nil
    ) -> OpaquePointer? {
        if linux_add_nonblocking(descriptor) < 0 { return nil }
        guard let loops = ServingLoops(), let memory = malloc(MemoryLayout<Listener>.stride) else { return nil }
        let listener = memory.bindMemory(to: Listener.self, capacity: 1)
        listener.initialize(to: Listener(descriptor, callout, client.retained(), named ?? addressOfFunction(callout), loops))
        linux_stream_lock_init(&listener.pointee.lock)
        var context = RLRunLoopSourceContext()
        context.info = memory
        context.release = { info in ListenerPointer(info: info).handleWasFreed() }
        context.copyDescription = KitObject.copyDescription
        context.schedule = { info, loop, mode in ListenerPointer(info: info).change(loop, mode, by: 1) }
        context.cancel = { info, loop, mode in ListenerPointer(info: info).change(loop, mode, by: -1) }
        context.perform = { info in ListenerPointer(info: info).perform() }
        // On failure, RLRunLoopSourceCreate has called the function that releases the info.
        guard let source = RLRunLoopSourceCreate(nil, 0, &context) else { return nil }
        listener.pointee.object.source = source
        if listener.makeWatch(), listener.keep(path) {
            listener.pointee.closes = closes
            return source
        }
        preservingSystemError { RLRelease(UnsafeRawPointer(source)) }
        return nil
    }

    /// Creates a listener that owns a socket which the library has opened; -1 stands for one that could not be opened. Returns nil with
    /// errno if there is no listener; the socket is then closed, and removed from its path. Any thread.
    static func make(
        owning descriptor: Int32, _ callout: @escaping RLListenerCallBack, _ client: ClientContext, named: UInt? = nil,
        at path: UnsafePointer<CChar>? = nil
    ) -> OpaquePointer? {
        if descriptor < 0 { return nil }
        if let source = make(descriptor, closes: true, callout, client, named: named, at: path) { return source }
        preservingSystemError {
            // Before the socket is closed: until then no other listener takes the path.
            if let path { _ = linux_remove_socket_file(path, linux_find_socket_file(path)) }
            linux_close(descriptor)
        }
        return nil
    }
}

extension ListenerPointer {
    fileprivate init(info: UnsafeRawPointer?) {
        self = UnsafeMutableRawPointer(mutating: info.unsafelyUnwrapped).assumingMemoryBound(to: Listener.self)
    }

    private var source: OpaquePointer? { pointee.object.source }

    fileprivate func makeWatch() -> Bool {
        var context = RLFileDescriptorContext()
        context.info = UnsafeMutableRawPointer(self)
        context.retain = { info in ListenerPointer(info: info).retainMemory() }
        context.release = { info in ListenerPointer(info: info).dropMemory() }
        pointee.watch = DescriptorWatch.make(pointee.descriptor, &context) { _, _, info in ListenerPointer(info: info).noteReady() }
        return pointee.watch != nil
    }

    /// Records the path of a socket in the file system, which is removed when the listener is closed. Returns false if out of memory.
    fileprivate func keep(_ path: UnsafePointer<CChar>?) -> Bool {
        guard let path else { return true }
        pointee.file = linux_find_socket_file(path)
        if pointee.file.inode == 0 { return true }
        pointee.path = strdup(path)
        return pointee.path != nil
    }

    /// Takes the listener's lock. Any thread.
    @inline(never)
    private func lock() {
        if linux_stream_lock(&pointee.lock) == 0 || pointee.lock.was_broken == 0 { return }
        // In the child of a fork(): another thread was changing the listener, so it counts as closed.
        pointee.lock.was_broken = 0
        pointee.isClosed = true
    }

    @inline(never)
    private func unlock() { linux_stream_unlock(&pointee.lock) }

    // MARK: connections

    /// Signals the handle, as the watch has found connections or an error. Loop thread only.
    private func noteReady() {
        lock()
        // The handle exists as long as the listener is in a loop.
        if !pointee.isClosed && !pointee.loops.isEmpty { RLRunLoopSourceSignal(source) }
        unlock()
    }

    /// Accepts connections and calls the client for each. Loop thread only; calls user code, which may end the thread.
    fileprivate func perform() {
        lock()
        arm()
        unlock()
        for _ in 0..<Listener.batch {
            guard let connection = accept() else { return }
            if connection < 0 { continue }
            RUNLOOP_IS_CALLING_OUT_TO_A_LISTENER_CALLBACK_FUNCTION(
                pointee.callout, source, connection, pointee.object.client.info)
        }
    }

    /// Accepts a connection and returns its descriptor. Returns -1 if this connection has failed and another may be waiting; nil if no more
    /// are to be accepted in this pass. Loop thread only; takes the lock.
    private func accept() -> Int32? {
        lock()
        defer { unlock() }
        if pointee.isClosed || !pointee.isEnabled || pointee.shortage != 0 || pointee.loops.isEmpty { return nil }
        let connection = linux_accept(pointee.descriptor)
        if connection >= 0 { return connection }
        switch systemError {
        case EAGAIN: return nil
        // The client has disconnected, or its network has failed: Linux reports such errors of a new connection from accept().
        case EINTR, ECONNABORTED, EPROTO, ENOPROTOOPT, ENETDOWN, ENETUNREACH, EHOSTDOWN, EHOSTUNREACH, ENONET: return -1
        // The connection may still be in the queue, or the socket no longer listens. In either case a retry that does not rest would spin.
        default:
            pause(systemError)
            return nil
        }
    }

    /// Enables the watch for the next connections, unless the listener is disabled or rests. The caller holds the lock.
    private func arm() {
        guard let watch = pointee.watch, pointee.isEnabled, pointee.shortage == 0 else { return }
        RLFileDescriptorEnableCallBacks(watch.watch, UInt(kRLFileDescriptorReadCallBack))
    }

    private func disarm() {
        if let watch = pointee.watch { RLFileDescriptorDisableCallBacks(watch.watch, UInt(kRLFileDescriptorReadCallBack)) }
    }

    // MARK: shortages

    /// Lets accepting rest for a while; without memory for a timer, only until the next pass. The caller holds the lock.
    private func pause(_ error: Int32) {
        if !setTimers(Listener.retryDelay) { return }
        pointee.shortage = error
        disarm()
    }

    /// Has the timer of each loop call `tryAgain` in `delay` seconds. Returns false if out of memory. The caller holds the lock.
    private func setTimers(_ delay: Double) -> Bool {
        var context = RLRunLoopTimerContext()
        context.info = UnsafeMutableRawPointer(self)
        context.retain = { info in ListenerPointer(info: info).retainMemory() }
        context.release = { info in ListenerPointer(info: info).dropMemory() }
        return pointee.loops.setTimers(delay, of: source, &context) { _, info in ListenerPointer(info: info).tryAgain() }
    }

    /// Ends the rest after a shortage. Loop thread only, called by a timer.
    private func tryAgain() {
        lock()
        pointee.shortage = 0
        arm()
        unlock()
    }

    // MARK: loops

    /// Updates the watch and the timer after the handle was added to a mode of a loop (1) or removed from one (-1). Closes the listener if
    /// the handle is no longer valid. Any thread; call without a lock held.
    fileprivate func change(_ loop: OpaquePointer?, _ mode: OpaquePointer?, by modes: Int) {
        guard let loop, let mode else { return }
        lock()
        let (isKnown, released) = pointee.loops.change(loop, by: modes) {}
        let isFollowed = pointee.watch.map { DescriptorWatch.follow(source, $0.source, loop, mode) } ?? true
        pointee.loops.followWithTimer(source, loop, mode)
        // The timer that would end the rest may be in a loop that the listener has left, so the listener tries again immediately.
        pointee.shortage = 0
        if !pointee.loops.isEmpty { arm() }
        let isOver = modes < 0 && RLRunLoopSourceIsValid(source) == 0
        unlock()
        if let released { RLRelease(UnsafeRawPointer(released)) }
        if !isKnown || !isFollowed { Misuse.warn("RLListener", "RLRunLoopAddSource", "out of memory: this loop accepts no connections") }
        if isOver { close() }
    }

    // MARK: called by the program

    /// Sets whether connections are accepted. Any thread.
    func setEnabled(_ isEnabled: Bool) {
        lock()
        pointee.isEnabled = isEnabled
        if !isEnabled { disarm() } else if !pointee.loops.isEmpty { arm() }
        unlock()
    }

    /// Whether the listener is open and enabled. Any thread.
    var isEnabled: Bool {
        lock()
        defer { unlock() }
        return pointee.isEnabled && !pointee.isClosed
    }

    /// The errno because of which accepting rests; 0 if it does not. Any thread.
    var shortage: Int32 {
        lock()
        defer { unlock() }
        return pointee.isClosed ? 0 : pointee.shortage
    }

    /// The descriptor; -1 once the listener is closed. Any thread.
    var openDescriptor: Int32 {
        lock()
        defer { unlock() }
        return pointee.isClosed ? -1 : pointee.descriptor
    }

    // MARK: the end

    /// Removes the listener from all loops, closes the descriptor if the listener owns it, and removes the path. Any thread; call without
    /// the lock held.
    func close() {
        // The last reference to the handle may be a loop's, and the watch, which is released here, holds another one to the memory.
        _ = retainMemory()
        end(source)
        dropMemory()
    }

    /// Closes the listener, once. `handle` is nil if it has been freed.
    private func end(_ handle: OpaquePointer?) {
        lock()
        let watch = pointee.watch
        pointee.watch = nil
        pointee.isClosed = true
        unlock()
        guard let watch else { return }
        if let handle { RLRunLoopSourceInvalidate(handle) }
        watch.end()
        if !pointee.closes { return }
        if let path = pointee.path, pointee.process.isCurrent { _ = linux_remove_socket_file(path, pointee.file) }
        linux_close(pointee.descriptor)
    }

    /// Closes the listener, as its handle is being freed, and gives up the handle's reference to the memory. Any thread; calls user code.
    fileprivate func handleWasFreed() {
        preservingSystemError { end(nil) }
        pointee.object.client.releaseInfo()
        dropMemory()
    }

    /// Adds one of `references`, which `dropMemory` gives up. Returns the memory. Any thread.
    private func retainMemory() -> UnsafeRawPointer {
        pointee.references.add(1, ordering: .relaxed)
        return UnsafeRawPointer(self)
    }

    /// Gives up one of `references`; the last one frees the memory. Any thread.
    private func dropMemory() {
        if pointee.references.subtract(1, ordering: .acquiringAndReleasing).newValue > 0 { return }
        CLinux.free(pointee.path)
        deinitialize(count: 1)
        CLinux.free(self)
    }
}
