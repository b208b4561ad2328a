import CLinux
import CRunLoop
import Synchronization

/// RLPort: receives messages within the process. Any thread that has a reference may send to it. The loops that have the port's run loop
/// source deliver the messages to its callback.
///
/// The queue has its own locks; each other field states what guards it. A port lives as long as the program, messages or its source have
/// references to it.
struct PortStorage: PortObject, ~Copyable {
    static var kind: Kind { .port }
    typealias Callout = @convention(c) (OpaquePointer?, OpaquePointer?, UnsafeMutableRawPointer?) -> Void
    typealias InvalidationCallout = @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Void

    var base = PortHeader(
        .port,
        PortHeader.Functions(
            deliver: {
                let portSource = PortSourcePointer(info: $0)
                PortPointer(portSource.pointee.port).deliverMessages(portSource)
            },
            release: { _ = PortPointer($0).release() },
            fork: { PortPointer($0).fork($1) }))
    let callout: Callout
    // Written under both locks of the queue, so either lock is enough to read them.
    /// Empty once the port is invalid and its last callback has returned.
    var context: ClientContext
    var invalidation: InvalidationCallout?
    /// How many calls of the port's callbacks are under way; all that one perform delivers count once. Guarded by the receivers' lock.
    var runningCalls: UInt32 = 0
    var isValid = true
}

typealias PortPointer = UnsafeMutablePointer<PortStorage>

extension PortPointer {
    /// Creates a port with one reference. Returns nil with ENOMEM if out of memory. Takes over `context.info`, which the caller has
    /// retained, unless it fails. One allocation. Any thread.
    static func create(_ callout: @escaping PortStorage.Callout, _ context: ClientContext) -> PortPointer? {
        guard let port = allocate() else { return nil }
        port.initialize(to: PortStorage(callout: callout, context: context))
        PortRegistry.insert(port.base)
        return port
    }

    /// Adds a reference. Any thread, lock-free.
    @inline(__always)
    func retain() { pointee.base.object.retain() }

    /// Releases a reference; the last one invalidates the port first. Returns false if there was none. Any thread; call without a lock
    /// held. May call user code.
    func release() -> Bool {
        if pointee.base.object.releaseUnlessLast() { return true }
        // The last reference is released only after the port was invalidated, since its callbacks receive the port as an argument.
        if pointee.base.object.references.load(ordering: .acquiring) == 0 { return false }
        invalidate()
        if pointee.base.object.release() { deallocatePort() }
        return true
    }

    // MARK: sending

    /// RLPortMessageSendBeforeDate: puts a message into the port's queue. If the queue was not signalled, signals the source and wakes its
    /// loops. Takes over the references of the message. Returns false with ETIMEDOUT at the deadline, EPIPE if the port is invalid, or
    /// ENOMEM; then the references are still the caller's. O(1); a system call only if a loop sleeps or the queue is full. Any thread;
    /// calls no user code.
    @inline(__always)
    func send(_ message: QueuedMessage, until limit: Double) -> Bool {
        let outcome = queue.put(message)
        if outcome == .queued || outcome == .queuedNeedsSignal { return true }
        return sendSlow(message, until: limit)
    }

    /// The rest of `send`, after a failed first attempt: waits for room, or fails.
    private func sendSlow(_ message: QueuedMessage, until limit: Double) -> Bool {
        switch queue.put(message, until: limit >= Clock.latestDate ? .never : Clock.instant(ofDate: limit)) {
        case .queued, .queuedNeedsSignal: return true
        case .closed: systemError = EPIPE
        case .outOfMemory: systemError = ENOMEM
        case .full: systemError = ETIMEDOUT
        }
        return false
    }

    // MARK: receiving

    /// The perform function of the port's source: delivers one message, and further ones as long as no client can observe that they are
    /// delivered in the same pass. Loop thread only; call without a lock held. Calls the port's callback.
    fileprivate func deliverMessages(_ portSource: PortSourcePointer) {
        guard let threadContext = ThreadContextPointer.current else { return }
        let loop = RunLoopPointer(threadContext)
        portSource.resyncIfNeeded(on: loop)
        var count = 0
        var level = 0
        var empty = emptyMessage(portSource, loop.threadContext)
        while let message = empty, takeNext(portSource, after: count, into: message) {
            count += 1
            if count == 1 {
                level = loop.pushCleanup(CleanupHandler(function: { abandonDelivery($0, $1, $2) }, object: self, part: message))
            }
            RUNLOOP_IS_CALLING_OUT_TO_A_PORT_CALLBACK_FUNCTION(handle, message.handle, pointee.context.info, pointee.callout)
            if !message.finishDelivery() {
                empty = emptyMessage(portSource, loop.threadContext)
                loop.updateCleanup(level, part: empty)
            }
            guard let source = portSource.pointee.source, loop.mayContinue(source) else { break }
        }
        if count > 0 { loop.popCleanup(level) }
        _ = empty?.release()
        if count > 0 { endCall() } else { loop.pointee.performedNothing = true }
    }

    /// Creates a message to receive into. If out of memory, returns nil and signals the source, so that the next pass tries again.
    private func emptyMessage(_ portSource: PortSourcePointer, _ threadContext: ThreadContextPointer) -> PortMessagePointer? {
        let message = PortMessagePointer.create(threadContext, sendPort: nil, receivePort: self, ownsReceivePort: false, nil)
        if message == nil {
            portSource.pointee.source?.signal()
            RunLoopPointer(threadContext).wakeUp()
        }
        return message
    }

    /// Moves the next queued message into `message`. Returns false if there is none. The first message that a perform delivers is counted
    /// as a running call.
    @inline(__always)
    private func takeNext(_ portSource: PortSourcePointer, after count: Int, into message: PortMessagePointer) -> Bool {
        let queued = queue.takeNext(portSource, inStream: count > 1) { if count == 0 { pointee.runningCalls &+= 1 } }
        if let queued { message.receive(queued) }
        return queued != nil
    }

    /// Ends the call of one of the port's callbacks. The last one to end after the port was invalidated releases the info.
    fileprivate func endCall() {
        queue.lockReceivers()
        // In the child of a fork(), some calls were not counted.
        if pointee.runningCalls > 0 { pointee.runningCalls -= 1 }
        let isLast = pointee.runningCalls == 0 && !pointee.isValid
        let context = pointee.context
        if isLast {
            queue.lockSenders()
            pointee.context = .empty
            queue.unlockSenders()
        }
        queue.unlockReceivers()
        if isLast { context.released(context.info) }
    }

    // MARK: invalidation

    /// RLPortInvalidate: closes the queue, drops its messages, and invalidates the source. Any thread; call without a lock held. Calls user
    /// code.
    func invalidate() {
        var drained = DrainedMessages()
        queue.lockBoth()
        let wasValid = pointee.isValid
        pointee.isValid = false
        if wasValid {
            queue.closeLocked(&drained)
            pointee.runningCalls += 1
            // A callback may release the caller's reference.
            retain()
        }
        let invalidation = pointee.invalidation
        let isOver = !wasValid && pointee.runningCalls == 0
        queue.unlockBoth()
        // In the child of a fork(), the thread that was invalidating the port may not exist. Then the info is still to be released.
        if isOver { endCall() }
        if !wasValid { return }
        drained.forEach { $0.release() }
        queue.invalidateSource()
        callInvalidation(invalidation)
    }

    /// Calls the invalidation callback, if there is one. Then ends the call, which the caller has counted, and releases a reference.
    private func callInvalidation(_ invalidation: PortStorage.InvalidationCallout?) {
        // In the child of a fork(), the calling thread may have no loop.
        let loop = ThreadContextPointer.current.map { RunLoopPointer($0) }
        let level = loop?.pushCleanup(CleanupHandler(function: { port, _, _ in abandonInvalidation(port) }, object: self))
        if let invalidation {
            RUNLOOP_IS_CALLING_OUT_TO_A_PORT_INVALIDATION_FUNCTION(handle, pointee.context.info, invalidation)
        }
        if let loop, let level { loop.popCleanup(level) }
        endCall()
        _ = release()
    }

    /// Performs one step of a fork(). Ports are memory, of which the child has a copy; it only forgets the calls of other threads. A port
    /// that such a thread was invalidating is invalid: its source is invalidated, and its info is released if the port is invalidated or
    /// released again.
    fileprivate func fork(_ step: UInt8) {
        switch PortHeader.ForkStep(rawValue: step) {
        case .lock: queue.lockBoth()
        case .unlock: queue.unlockBoth()
        case .reset: pointee.runningCalls = callsOfForker
        default: if !pointee.isValid { queue.invalidateSource() }
        }
    }

    /// Whether the port is valid. Any thread.
    var isValid: Bool { queue.isOpen }

    /// The context that the program has passed; empty once the port is invalid and its last callback has returned. Any thread.
    var context: ClientContext {
        queue.lockSenders()
        defer { queue.unlockSenders() }
        return pointee.context
    }

    /// The invalidation callback, if there is one. Any thread.
    var invalidation: PortStorage.InvalidationCallout? {
        queue.lockSenders()
        defer { queue.unlockSenders() }
        return pointee.invalidation
    }

    /// Sets the invalidation callback, and calls it immediately if the port is invalid already. Any thread; call without a lock held.
    func setInvalidation(_ invalidation: PortStorage.InvalidationCallout?) {
        queue.lockBoth()
        pointee.invalidation = invalidation
        let mustCall = invalidation != nil && !pointee.isValid
        if mustCall {
            pointee.runningCalls += 1
            retain()
        }
        queue.unlockBoth()
        if mustCall { callInvalidation(invalidation) }
    }
}

/// Cleanup of a thread that has ended inside a port's invalidation callback.
private func abandonInvalidation(_ port: UnsafeMutableRawPointer) {
    let port = PortPointer(port)
    port.endCall()
    _ = port.release()
}

/// Cleanup of a thread that has ended inside a port's callback.
private func abandonDelivery(_ port: UnsafeMutableRawPointer, _ message: UnsafeMutableRawPointer?, _: UnsafeMutableRawPointer?) {
    let message: PortMessagePointer? = message.map { Handle.storage(UnsafeRawPointer($0)) }
    let port = PortPointer(port)
    if let message, message.finishDelivery() { _ = message.release() }
    port.endCall()
}
