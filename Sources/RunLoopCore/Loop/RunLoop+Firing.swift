import Synchronization

// Step 9: firing timers. Loop thread only.

extension RunLoopPointer {
    /// Fires the mode's due timers, by date and arrival. Returns true if there were any. Timers that become due or are added in the
    /// meantime wait for the next pass. Loop thread only; call without the lock held. Calls user code.
    func fireDueTimers(_ mode: ModePointer) -> Bool { hasEverUsed(EverUsed.timers) && fireTimersThatAreDue(mode) }

    /// Does the work of `fireDueTimers` for a loop that has ever had a timer.
    private func fireTimersThatAreDue(_ mode: ModePointer) -> Bool {
        lock()
        // A nested pass also fires, by date, the timers that were set during the outer passes, and leaves none of them to those.
        if pointee.timerPasses != 0 { restoreDeadlines(mode.pointee.sets) }
        guard let first = firstTimer(mode) else {
            unlock()
            return false
        }
        let now = Clock.now.nanoseconds
        // If memory runs out, all due timers wait for the next pass, in their order.
        if first.key.deadline > now || !pointee.firing.reserveInlined(pointee.firing.count + 1) {
            unlock()
            return false
        }
        pointee.minimumDeadline = Swift.max(pointee.minimumDeadline, now &+ 1)
        pointee.timerPasses += 1
        let outer = mode.pointee.timersDueBy
        mode.pointee.timersDueBy = now
        while let next = firstTimer(mode), next.key.deadline <= now { fire(next.timer) }
        mode.pointee.timersDueBy = outer
        pointee.timerPasses -= 1
        if pointee.timerPasses == 0 {
            // Each timer that was queued for a later deadline because of the pass has raised `minimumDeadline` by one.
            if pointee.minimumDeadline != now &+ 1 { restoreDeadlines(pointee.sets) }
            pointee.minimumDeadline = 0
        }
        unlock()
        return true
    }

    /// Restores the deadlines of those timers in these sets that a timer pass has queued for a later deadline, so that the next pass fires
    /// them by their dates. The caller holds the lock.
    private func restoreDeadlines(_ sets: borrowing PlainList<ModeSetPointer>) {
        for index in 0..<sets.count where sets[index].pointee.timers.hasDisplaced {
            sets[index].pointee.timers.restoreDeadlines(upTo: pointee.minimumDeadline, &pointee.displaced)
        }
    }

    /// Fires one timer of this loop. The caller has made room for it in `firing`, and holds the lock, which is released during the call.
    private func fire(_ timer: TimerPointer) {
        _ = pointee.firing.appendInlined(timer)
        if timer.item.state.isQueued { return fireSimple(timer) }
        timer.pointee.set.unsafelyUnwrapped.pointee.timers.remove(timer)
        timer.pointee.item.set(.firing)
        timer.item.retainInternal()
        let date = timer.pointee.date
        let detail = timer.detail
        let grid = detail?.pointee.gridDeadline ?? 0
        let callout = timer.pointee.callout
        let info = timer.info
        let repeats = timer.pointee.item.has(.repeats)
        if let detail, detail.pointee.context.retain != nil {
            callRetaining(timer, detail, info, repeats)
        } else {
            unlock()
            RUNLOOP_IS_CALLING_OUT_TO_A_TIMER_CALLBACK_FUNCTION(timer.handle, info, callout)
            if !repeats && detail != nil { Self.invalidate(timer) }
        }
        finishFiring(timer, date, grid, isOver: !repeats)
    }

    /// Fires a simple timer, which fires once and has been appended to `firing`. The caller holds the lock, which is released during the
    /// call.
    @inline(__always)
    private func fireSimple(_ timer: TimerPointer) {
        timer.pointee.set.unsafelyUnwrapped.pointee.timers.removeSimple(timer)
        timer.item.state = .firing
        let (callout, info) = (timer.pointee.callout, timer.pointee.infoOrDetail)
        unlock()
        RUNLOOP_IS_CALLING_OUT_TO_A_TIMER_CALLBACK_FUNCTION(timer.handle, info, callout)
        lock()
        guard timer.pointee.item.owner == threadContext, timer.item.state == .firing else {
            unlock()
            return finishFiring(timer, 0, 0, isOver: true)
        }
        pointee.firing.truncate(to: pointee.firing.count - 1)
        timer.pointee.set.unsafelyUnwrapped.pointee.timerCount &-= 1
        timer.pointee.set = nil
        let references = timer.pointee.item.object.references.load(ordering: .acquiring)
        if references == 0 { return TimerStorage.slab.deallocate(timer, threadContext) }
        // This store comes last: after it, another thread may release the client's reference.
        timer.item.state = references == 1 ? .ended : .endedWhileShared
    }

    /// Calls a timer whose context has a retain function, with an info that is retained for this call, as in CFRunLoop. Invalidates a
    /// one-shot timer. The caller holds the lock, which is not held on return.
    private func callRetaining(_ timer: TimerPointer, _ detail: TimerDetailPointer, _ info: UnsafeMutableRawPointer?, _ repeats: Bool) {
        var context = detail.pointee.context
        context.info = info
        unlock()
        if detail.pointee.retainedInfo == nil { detail.pointee.retainedInfo = context.retained() }
        let retained = detail.pointee.retainedInfo
        RUNLOOP_IS_CALLING_OUT_TO_A_TIMER_CALLBACK_FUNCTION(timer.handle, retained, timer.pointee.callout)
        if !repeats { Self.invalidate(timer) }
        // From here on the info counts as released, even if the release function ends the thread.
        detail.pointee.retainedInfo = nil
        context.released(retained)
    }

    /// Ends the call of a timer: queues the timer for the next date of its grid, unless the callback has set another date. If `isOver`,
    /// invalidates the timer instead, provided that it is still valid; its context then has no release function to call. The timer may have
    /// moved to another loop in the meantime. Call without the lock held; returns with it held. May call the context's release if that is
    /// owed.
    @inline(__always)
    private func finishFiring(_ timer: TimerPointer, _ date: Double, _ grid: UInt64, isOver: Bool) {
        var owner = timer.item.lock()
        if owner == threadContext { pointee.firing.truncate(to: pointee.firing.count - 1) } else { owner = finishElsewhere(timer, owner) }
        timer.pointee.item.clear([.firing, .movedDuringCall])
        if timer.pointee.item.has(.valid) {
            // The call still owns an internal reference to the timer, so `becomeInvalid` cannot release the last one.
            if isOver { _ = timer.becomeInvalid() } else { reschedule(timer, RunLoopPointer(owner), date, grid) }
        }
        let isDead = timer.item.releaseInternal()
        if owner == threadContext && !isDead && timer.detail?.pointee.owesRelease != true { return }
        let owed = timer.hasDetail ? timer.takeOwedRelease() : .empty
        owner.unlock()
        owed.released(owed.info)
        if isDead { timer.destroy() }
        lock()
    }

    /// Queues a timer that remains valid for its next date, in the loop that it is in. The caller holds the lock.
    private func reschedule(_ timer: TimerPointer, _ loop: RunLoopPointer, _ date: Double, _ grid: UInt64) {
        if timer.pointee.date == date, timer.detail?.pointee.gridDeadline == grid {
            timer.advanceGrid(past: Clock.now)
            timer.pointee.arrival = loop.nextTimerArrival()
        }
        loop.enqueue(timer)
    }
}
