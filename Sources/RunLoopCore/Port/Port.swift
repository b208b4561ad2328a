import CLinux
import CRunLoop
import Synchronization

/// RLPort: a receiver of messages within the process. Any thread that has a reference may send to it; a loop that has the port's run loop
/// source receives.
///
/// The queue has locks of its own; each other field says what guards it. A port lives as long as clients, messages or its source have
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
    /// Empty once the port is invalid and the last call of its functions has returned.
    var context: ClientContext
    var invalidation: InvalidationCallout?
    /// How many calls of the client's functions are under way. Under the receivers' lock.
    var runningCalls: UInt32 = 0
    var isValid = true
}

typealias PortPointer = UnsafeMutablePointer<PortStorage>

extension PortPointer {
    /// Creates a port with one reference; nil with ENOMEM. Takes over `context.info`, which the caller has retained. One allocation. Any
    /// thread.
    static func create(_ callout: @escaping PortStorage.Callout, _ context: ClientContext) -> PortPointer? {
        guard let port = allocate() else { return nil }
        port.initialize(to: PortStorage(callout: callout, context: context))
        PortRegistry.insert(port.base)
        return port
    }

    /// Adds a reference. Any thread, lock-free.
    @inline(__always)
    func retain() { pointee.base.object.retain() }

    /// Releases a reference; the last one invalidates the port first. Returns false if there was none. Any thread; may call the client's
    /// functions.
    func release() -> Bool {
        if pointee.base.object.releaseUnlessLast() { return true }
        // The last reference is kept until the port is invalidated: the client's functions get the port as an argument.
        if pointee.base.object.references.load(ordering: .acquiring) == 0 { return false }
        invalidate()
        if pointee.base.object.release() { deallocatePort() }
        return true
    }

    // MARK: sending

    /// RLPortMessageSendBeforeDate: puts a message into the port's queue, and signals the source and wakes its loops if that is not done
    /// yet. Takes over the references of the message. Returns false with ETIMEDOUT at the deadline, EPIPE if the port is invalid, or
    /// ENOMEM; then the references are still the caller's. O(1); a system call only if a loop sleeps or the queue is full. Any thread;
    /// calls no user code.
    @inline(__always)
    func send(_ message: QueuedMessage, until limit: Double) -> Bool {
        let outcome = queue.put(message)
        if outcome == .queued || outcome == .queuedUnsignalled { return true }
        return sendSlow(message, until: limit)
    }

    /// `send` where the first attempt has not succeeded: waits for room, or fails.
    private func sendSlow(_ message: QueuedMessage, until limit: Double) -> Bool {
        switch queue.put(message, until: limit >= Clock.latestDate ? .never : Clock.instant(ofDate: limit)) {
        case .queued, .queuedUnsignalled: return true
        case .closed: systemError = EPIPE
        case .outOfMemory: systemError = ENOMEM
        case .full: systemError = ETIMEDOUT
        }
        return false
    }

    // MARK: receiving

    /// The perform function of the port's source: delivers one message, and further ones as long as a client cannot observe that they
    /// came in the same pass. The loop's thread, without a lock; calls the port's function.
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

    /// A message to receive into. nil if out of memory; then the source is signalled, so that the next pass tries again.
    private func emptyMessage(_ portSource: PortSourcePointer, _ threadContext: ThreadContextPointer) -> PortMessagePointer? {
        let message = PortMessagePointer.create(threadContext, sendPort: nil, receivePort: self, ownsReceivePort: false, nil)
        if message == nil {
            portSource.pointee.source?.signalSlow()
            RunLoopPointer(threadContext).wakeUpSlow()
        }
        return message
    }

    /// Moves the next queued message into `message`; false if there is none. The first one that a perform delivers counts as a running call.
    @inline(__always)
    private func takeNext(_ portSource: PortSourcePointer, after count: Int, into message: PortMessagePointer) -> Bool {
        let queued = queue.takeNext(portSource, inStream: count > 1) { if count == 0 { pointee.runningCalls &+= 1 } }
        if let queued { message.receive(queued) }
        return queued != nil
    }

    /// Ends a call of the client's function. The last one after the port was invalidated releases the info.
    fileprivate func endCall() {
        queue.lockReceivers()
        // In a child of fork() some calls were not counted.
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

    /// RLPortInvalidate: closes the queue, drops its messages, and invalidates the source. Any thread, without a lock; calls the client's
    /// functions.
    func invalidate() {
        var drained = DrainedMessages()
        queue.lockBoth()
        let wasValid = pointee.isValid
        pointee.isValid = false
        if wasValid {
            queue.closeLocked(&drained)
            pointee.runningCalls += 1
            // The client's functions may release the caller's reference.
            retain()
        }
        let invalidation = pointee.invalidation
        let isOver = !wasValid && pointee.runningCalls == 0
        queue.unlockBoth()
        // In a child of fork() without the thread that was doing this, the info may be left.
        if isOver { endCall() }
        if !wasValid { return }
        drained.forEach { $0.release() }
        queue.invalidateSource()
        callInvalidation(invalidation)
    }

    /// Calls the invalidation function, if there is one, in a call that is counted already, and ends it. Releases a reference.
    private func callInvalidation(_ invalidation: PortStorage.InvalidationCallout?) {
        // In a child of fork() the calling thread may have no loop.
        let loop = ThreadContextPointer.current.map { RunLoopPointer($0) }
        let level = loop?.pushCleanup(CleanupHandler(function: { port, _, _ in abandonInvalidation(port) }, object: self))
        if let invalidation {
            RUNLOOP_IS_CALLING_OUT_TO_A_PORT_INVALIDATION_FUNCTION(handle, pointee.context.info, invalidation)
        }
        if let loop, let level { loop.popCleanup(level) }
        endCall()
        _ = release()
    }

    /// A step of a fork(). Ports are memory, of which the child has a copy; only the calls that other threads were in are forgotten. A port
    /// that one of them was invalidating is invalid: its source ends, and its info is released if it is invalidated or released again.
    fileprivate func fork(_ step: UInt8) {
        switch PortHeader.ForkStep(rawValue: step) {
        case .lock: queue.lockBoth()
        case .unlock: queue.unlockBoth()
        case .reset: pointee.runningCalls = callsOfForker
        default: if !pointee.isValid { queue.invalidateSource() }
        }
    }

    /// Whether the port has not been invalidated. Any thread.
    var isValid: Bool { queue.isOpen }

    /// The client's context; empty once the port is invalid and the last call of its functions has returned. Any thread.
    var context: ClientContext {
        queue.lockSenders()
        defer { queue.unlockSenders() }
        return pointee.context
    }

    /// The client's invalidation function, if there is one. Any thread.
    var invalidation: PortStorage.InvalidationCallout? {
        queue.lockSenders()
        defer { queue.unlockSenders() }
        return pointee.invalidation
    }

    /// Sets the invalidation function, and calls it at once if the port is invalid already. Any thread, without a lock.
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

/// Cleanup of a thread that ended inside a port's invalidation function.
private func abandonInvalidation(_ port: UnsafeMutableRawPointer) {
    let port = PortPointer(port)
    port.endCall()
    _ = port.release()
}

/// Cleanup of a thread that ended inside a port's callback.
private func abandonDelivery(_ port: UnsafeMutableRawPointer, _ message: UnsafeMutableRawPointer?, _: UnsafeMutableRawPointer?) {
    let message: PortMessagePointer? = message.map { Handle.storage(UnsafeRawPointer($0)) }
    let port = PortPointer(port)
    if let message, message.finishDelivery() { _ = message.release() }
    port.endCall()
}
