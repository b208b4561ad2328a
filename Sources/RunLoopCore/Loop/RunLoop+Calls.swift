import CLinux
import Synchronization

// Calls that do not end as they began: the timer or observer has moved to another loop meanwhile, the thread has ended in the client's
// function (pthread_exit, cancellation), or is not there any more in the child of a fork().

extension RunLoopPointer {
    /// The thread has ended in calls that will never return: lets go of what was held for them. Calls user code.
    func abandonCalls() {
        runCleanups()
        lock()
        let batch = take(&pointee.signalledBatch)
        let firing = take(&pointee.firing)
        let notifyingObservers = take(&pointee.notifyingObservers)
        unlock()
        abandonDispatches()
        for index in 0..<batch.count { release(abandoned: batch[index]) }
        for index in 0..<firing.count { abandon(firing[index]) }
        for index in 0..<notifyingObservers.count { abandon(notifyingObservers[index]) }
    }

    /// Innermost first: what a function of ours holds keeps alive what the functions outside use.
    private func runCleanups() {
        while pointee.cleanupHandlers.count > 0 {
            let last = pointee.cleanupHandlers[pointee.cleanupHandlers.count - 1]
            pointee.cleanupHandlers.truncate(to: pointee.cleanupHandlers.count - 1)
            last.function(last.object, last.part, last.info)
        }
        pointee.cleanupHandlers.discard()
    }

    /// Before a call of the client. The number is for `popCleanup`. Out of memory nothing is noted. O(1). The loop's thread.
    @inline(__always)
    func pushCleanup(_ cleanup: CleanupHandler) -> Int {
        let level = pointee.cleanupHandlers.count
        _ = pointee.cleanupHandlers.appendInlined(cleanup)
        return level
    }

    /// The next call is about another part. The loop's thread.
    @inline(__always)
    func updateCleanup(_ level: Int, part: UnsafeMutableRawPointer?) {
        if level < pointee.cleanupHandlers.count { pointee.cleanupHandlers[level].part = part }
    }

    /// The call has returned. The loop's thread.
    @inline(__always)
    func popCleanup(_ level: Int) { pointee.cleanupHandlers.truncate(to: level) }

    /// How many have been begun for an object. The loop's thread.
    func countCleanups(of object: UnsafeMutableRawPointer) -> UInt32 {
        var count: UInt32 = 0
        for level in 0..<pointee.cleanupHandlers.count where pointee.cleanupHandlers[level].object == object { count += 1 }
        return count
    }

    /// A one-shot timer has fired; a repeating one goes on if it is in another loop by now.
    private func abandon(_ firing: Firing) {
        let timer = firing.timer
        if let retained = firing.retained { timer.pointee.detail?.pointee.context.released(retained) }
        if !timer.pointee.item.has(ItemHeader.repeats) { timer.invalidateAny() }
        let owner = timer.item.lock()
        timer.pointee.item.clear(ItemHeader.firing | ItemHeader.away)
        if timer.pointee.set != nil {
            // The internal reference of the call keeps it alive.
            if owner == threadContext { _ = timer.leaveSet() } else { RunLoopPointer(owner).resume(timer) }
        }
        let owed = timer.takeOwedRelease()
        let isDead = timer.item.releaseInternal()
        owner.unlock()
        owed.released(owed.info)
        if isDead { timer.destroySeldom() }
    }

    private func abandon(_ call: ObserverCall) {
        if call.state == .done { return }
        let observer = call.observer
        if call.state == .called, !observer.pointee.item.has(ItemHeader.repeats) { observer.invalidate() }
        let owner = observer.item.lock()
        if call.state == .called { observer.pointee.item.clear(ItemHeader.firing | ItemHeader.away) }
        observer.letGo(owner)
    }

    private func take<Element>(_ list: inout PlainList<Element>) -> PlainList<Element> {
        var taken = PlainList<Element>()
        swap(&taken, &list)
        return taken
    }

    /// In a child of fork(): no function of this loop's items will ever return, so that they can be called by other loops. Under all
    /// locks; calls no user code.
    func abandonItems() {
        for index in 0..<pointee.firing.count {
            let timer = pointee.firing[index].timer
            timer.pointee.item.clear(ItemHeader.firing | ItemHeader.away)
            let its = RunLoopPointer(timer.pointee.item.owner)
            // In a loop that is gone it must not be without a place in the queue. Elsewhere a one-shot timer has fired and stays parked.
            if timer.pointee.set != nil, !its.isCurrent {
                _ = timer.leaveSet()
            } else if timer.pointee.set != nil, timer.pointee.item.has(ItemHeader.repeats) {
                its.resume(timer)
            }
            _ = timer.item.releaseInternal()
        }
        for index in 0..<pointee.notifyingObservers.count where pointee.notifyingObservers[index].state != .done {
            let observer = pointee.notifyingObservers[index].observer
            if pointee.notifyingObservers[index].state == .called { observer.pointee.item.clear(ItemHeader.firing | ItemHeader.away) }
            _ = observer.item.releaseInternal()
        }
        pointee.firing.truncate(to: 0)
        pointee.notifyingObservers.truncate(to: 0)
    }
}

// Moving while the function runs.

extension RunLoopPointer {
    /// A timer moves to this loop. Under both locks.
    func takeOwnership(of timer: TimerPointer) {
        timer.pointee.item.setOwner(threadContext)
        if !timer.pointee.item.has(ItemHeader.firing) { return }
        timer.pointee.item.clear(ItemHeader.away)
        if !isCalling(timer) { timer.pointee.item.set(ItemHeader.away) }
    }

    /// A timer whose function is running. If another loop called that it stands at the end of time meanwhile, so that this loop finds
    /// all that it has when it ends. Under the lock.
    @inline(never)
    func park(_ timer: TimerPointer) {
        if timer.pointee.item.has(ItemHeader.away) { queue(timer, at: .max) }
    }

    /// The end of parking: the timer is queued for its deadline. Under the lock.
    func resume(_ timer: TimerPointer) {
        timer.pointee.set.unsafelyUnwrapped.pointee.timers.removeSeldom(timer)
        enqueueSeldom(timer)
    }

    /// Whether a function that this loop called, and that has not returned, is the timer's. O(1): calls are seldom nested. Under the
    /// lock.
    func isCalling(_ timer: TimerPointer) -> Bool {
        for index in 0..<pointee.firing.count where pointee.firing[index].timer == timer { return true }
        return false
    }

    /// As of a timer. Under the locks of the loop and the observer.
    func isCalling(_ observer: ObserverPointer) -> Bool {
        for index in 0..<pointee.notifyingObservers.count
        where pointee.notifyingObservers[index].observer == observer && pointee.notifyingObservers[index].state == .called { return true }
        return false
    }

    /// The lists of this loop are not guarded by the lock of the timer's new one. Returns with the timer's lock, whose it is, and the
    /// timer out of its queue.
    @inline(never)
    func finishElsewhere(_ timer: TimerPointer, _ owner: ThreadContextPointer) -> ThreadContextPointer {
        owner.unlock()
        locked { pointee.firing.truncate(to: pointee.firing.count - 1) }
        let owner = timer.item.lock()
        timer.pointee.set?.pointee.timers.removeSeldom(timer)
        return owner
    }
}
