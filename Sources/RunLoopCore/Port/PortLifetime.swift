import CLinux
import CRunLoop
import Synchronization

// The life of a port of either kind, from its first reference to its last.

extension PortHeaderPointer {
    // MARK: references

    /// Releases a reference; the last one invalidates the port first. Returns false if there was none. Any thread; call without a lock
    /// held. May call user code.
    @inline(never)
    func release() -> Bool {
        if pointee.object.releaseUnlessLast() { return true }
        // The last reference is released only after the port was invalidated, since its callbacks receive the port as an argument. If one of
        // them releases this reference, the program has released once too often.
        let isLast = locked { () -> Bool in
            if pointee.isLastReleased || pointee.object.references.load(ordering: .acquiring) == 0 { return false }
            pointee.isLastReleased = true
            return true
        }
        if !isLast { return false }
        // A callback may end the thread, and only a thread with a loop cleans up then. The handler's object is not the port, since `fork`
        // counts the port's handlers as calls.
        let loop = Registry.current
        let level = loop?.pushCleanup(
            CleanupHandler(function: { _, port, _ in PortHeaderPointer(port).endLastRelease() }, object: queue, part: self))
        invalidate()
        if let loop, let level { loop.popCleanup(level) }
        endLastRelease()
        return true
    }

    /// Releases the program's last reference after the port was invalidated. Any thread; call without a lock held.
    private func endLastRelease() {
        let isUnused = locked { () -> Bool in
            pointee.isLastReleased = false
            return pointee.object.release() && updateIsKept()
        }
        if isUnused { releaseInternal() }
    }

    /// Makes `isKept` agree with whether there are references of the program or running calls. Adds the internal reference that stands for
    /// them if it is missing. Returns true if that reference is the caller's to release. The caller holds the mutex.
    private func updateIsKept() -> Bool {
        let isUsed = pointee.runningCalls > 0 || pointee.object.references.load(ordering: .acquiring) > 0
        if isUsed == pointee.isKept { return false }
        pointee.isKept = isUsed
        if isUsed { retainInternal() }
        return !isUsed
    }

    /// Adds an internal reference. Any thread that has one, or a reference.
    @inline(never)
    func retainInternal() { pointee.internalReferences.countUp() }

    /// Releases an internal reference; the last one frees the port. Any thread; call without a lock of the port held.
    @inline(never)
    func releaseInternal() { if pointee.internalReferences.countDown() { pointee.functions.destroy(self) } }

    // MARK: calls

    /// Counts a call of one of the port's callbacks, until `endCall`. Returns false if the port is invalid. Any thread that has a reference
    /// of either kind; call without the mutex held.
    @inline(__always)
    func beginCall() -> Bool {
        pointee.mutex.locked {
            if pointee.isValid { pointee.runningCalls += 1 }
            return pointee.isValid
        }
    }

    /// Counts a call that an invalid port may make, too. The caller holds the mutex.
    func countCall() {
        pointee.runningCalls += 1
        _ = updateIsKept()
    }

    /// Ends the call of one of the port's callbacks. The last one to end after the port was invalidated releases the info, and the port if
    /// the program has no references to it. Any thread; call without a lock held. May call user code.
    @inline(never)
    func endCall() {
        pointee.mutex.lock()
        // In the child of a fork(), some calls were not counted.
        if pointee.runningCalls > 0 { pointee.runningCalls -= 1 }
        // A valid port is kept by the program's references.
        if pointee.isValid { return pointee.mutex.unlock() }
        let isLast = pointee.runningCalls == 0
        let context = pointee.context
        if isLast { pointee.context = .empty }
        let isUnused = updateIsKept()
        pointee.mutex.unlock()
        if isUnused { releaseInternal() }
        if isLast { context.released(context.info) }
    }

    // MARK: invalidation

    /// RLPortInvalidate and RLMessagePortInvalidate: closes the queue and all that the port has, and calls the invalidation callback. This
    /// counts as a call, which keeps the port alive; when it has been counted, `release` may release what has kept the port until then. Any
    /// thread; call without a lock held. Calls user code.
    @inline(never)
    func invalidate(thenRelease release: () -> Void = {}) {
        pointee.mutex.lock()
        let wasValid = pointee.isValid
        let invalidation = pointee.invalidation
        pointee.isValid = false
        countCall()
        if wasValid { queue.close() }
        pointee.mutex.unlock()
        release()
        if wasValid { pointee.functions.close(self) }
        if wasValid, let invalidation { callInvalidation(invalidation) }
        // In the child of a fork(), the thread that was invalidating the port may not exist. Then a second invalidation gets here, and
        // releases the info.
        endCall()
    }

    /// Calls the invalidation callback. The caller has counted the call, and calls `endCall` afterwards.
    private func callInvalidation(_ invalidation: PortHeader.InvalidationCallout) {
        // The calling thread may have no loop in the child of a fork(). Then nothing is cleaned up if the callback ends the thread.
        let loop = ThreadContextPointer.current.map { RunLoopPointer($0) }
        let level = loop?.pushCleanup(CleanupHandler(function: { port, _, _ in PortHeaderPointer(port).endCall() }, object: self))
        RUNLOOP_IS_CALLING_OUT_TO_A_PORT_INVALIDATION_FUNCTION(OpaquePointer(self), locked { pointee.context.info }, invalidation)
        if let loop, let level { loop.popCleanup(level) }
    }

    /// Whether the port is valid. Any thread; call without the mutex held.
    var isValid: Bool { locked { pointee.isValid } }

    /// The context that the program has passed; empty once the port is invalid and its last callback has returned. Any thread; call without
    /// the mutex held.
    var context: ClientContext { locked { pointee.context } }

    /// The invalidation callback, if there is one. Any thread; call without the mutex held.
    var invalidation: PortHeader.InvalidationCallout? { locked { pointee.invalidation } }

    /// Sets the invalidation callback; nil: none. Calls it immediately if the port is already invalid. Any thread; call without a lock
    /// held. Calls user code.
    func setInvalidation(_ invalidation: PortHeader.InvalidationCallout?) {
        let mustCall = locked { () -> Bool in
            pointee.invalidation = invalidation
            if invalidation == nil || pointee.isValid { return false }
            countCall()
            return true
        }
        guard let invalidation, mustCall else { return }
        callInvalidation(invalidation)
        endCall()
    }

    // MARK: fork

    /// Performs one step of a fork(). The child has a copy of the port, in which only the calls of threads that do not exist there are
    /// forgotten. If such a thread was invalidating the port, its source is invalidated, and its info is released when the port is
    /// invalidated or released again.
    func fork(_ step: PortHeader.ForkStep) {
        if step == .lock {
            queue.pointee.attachmentsMutex.lock()
            pointee.mutex.lock()
            queue.lockBoth()
        }
        if step == .reset {
            pointee.isLastReleased = false
            pointee.runningCalls = ThreadContextPointer.current.map { RunLoopPointer($0).countCleanups(of: self) } ?? 0
        }
        if step == .end && !pointee.isValid { queue.invalidateSource() }
        pointee.functions.fork?(self, step.rawValue)
        if step == .unlock {
            queue.unlockBoth()
            pointee.mutex.unlock()
            queue.pointee.attachmentsMutex.unlock()
        }
    }
}
