// The plain case, which nearly all calls are: a timer without a detail, on its own thread, while nobody else is about. It is
// written out for itself, so that it does no more than it must and calls nothing; all else goes the way for any timer.

extension TimerPointer {
    /// The flags of a timer that waits in a queue.
    private static var queued: UInt16 { ItemHeader.valid | ItemHeader.bound }
    /// The flags that tell where it is.
    private static var states: UInt16 { queued | ItemHeader.firing }

    /// Whether it is valid, in no loop and has no detail. Under the lock.
    @inline(__always)
    var isPlainlyNew: Bool { pointee.item.has(ItemHeader.valid, of: Self.states) && !pointee.hasDetail }

    /// Whether it has no detail, and is in a queue out of which it can be taken plainly. Under the lock.
    @inline(__always)
    var isPlainlyQueued: Bool {
        pointee.item.has(Self.queued, of: Self.states) && !pointee.hasDetail && pointee.set.unsafelyUnwrapped.pointee.timers.isPlain
    }

    /// Of a new one: into a set, whose queue has room. Under the lock.
    @inline(__always)
    func enterPlainly(_ set: ModeSetPointer, at deadline: UInt64, arrival: UInt) {
        item.retainInternal()
        pointee.item.set(ItemHeader.bound)
        pointee.set = set
        setPlainArrival(arrival)
        set.pointee.timerCount &+= 1
        set.pointee.timers.insertPlain(self, at: deadline)
    }

    /// Of a queued one: out of its set and its loop, and invalid. Under the lock; true if it is to be destroyed after unlocking.
    @inline(__always)
    private func leavePlainly() -> Bool {
        let set = pointee.set.unsafelyUnwrapped
        set.pointee.timers.removePlain(self)
        set.pointee.timerCount &-= 1
        pointee.set = nil
        pointee.info = nil
        pointee.item.clear(Self.queued)
        return item.releaseInternal()
    }

    /// RLRunLoopTimerInvalidate. O(log n). Any thread; calls the context's release. Returns what `invalidateAny` does.
    @inline(__always)
    @discardableResult
    func invalidate() -> ThreadContextPointer? {
        guard let owner = item.tryLock() else { return invalidateAny(alreadyLocked: nil) }
        guard isPlainlyQueued else { return invalidateAny(alreadyLocked: owner) }
        let isDead = leavePlainly()
        owner.unlockAfterTryLock()
        if isDead { destroy() }
        return nil
    }

    /// A client gives a reference back, if that is the last and no loop has the timer; false: nothing was done, see `release`
    /// of `ItemPointer`. O(1). Any thread.
    @inline(__always)
    func releasePlainly() -> Bool {
        guard let owner = item.tryLock() else { return false }
        let isLast = !pointee.hasDetail && item.takeLastReference()
        owner.unlockAfterTryLock()
        if isLast { TimerStorage.slab.deallocate(self, owner) }
        return isLast
    }
}
