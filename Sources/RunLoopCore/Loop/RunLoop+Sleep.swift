import Synchronization

// Sleeping, steps 6 to 8 of the iteration. Everything here is the loop's thread's.

extension RunLoopPointer {
    /// Steps 6 to 8: tells observers, sleeps until a descriptor is ready, a timer is due, the deadline has come or somebody wakes the loop,
    /// and tells observers. The loop's thread; calls user code.
    func waitForEvents(_ mode: ModePointer, until deadline: Instant) {
        notify(mode, .beforeWaiting)
        releaseAutoreleasedInPass()
        var sleeps = 0
        while sleep(mode, until: deadline, extent(mode), again: sleeps) == .again { sleeps += 1 }
        notify(mode, .afterWaiting)
    }

    private enum Sleep { case over, again }

    /// One sleep; `again` if it ended only to look again what the loop may sleep for. `count`: how many sleeps of this pass ended so.
    private func sleep(_ mode: ModePointer, until deadline: Instant, _ extent: EventBatch.Extent, again count: Int = 0) -> Sleep {
        lock()
        let target = hasEverUsed(EverUsed.descriptors) ? self.target(mode) : .nothing
        let wakeDescriptor = target.isNothing ? nil : pointee.poller.wakeDescriptor
        let timerLimit = hasEverUsed(EverUsed.timers) ? Instant(nanoseconds: latestWake(mode)) : .never
        let limit = Swift.min(Swift.min(deadline, timerLimit), pointee.retryDeadline)
        pointee.sleepLimit.store(limit.nanoseconds, ordering: .relaxed)
        unlock()
        defer { pointee.sleepLimit.store(0, ordering: .relaxed) }

        var now = Instant.distantPast
        if limit != .never {
            now = Clock.now
            if now >= limit {
                if !target.isNothing { pointee.eventBatch.wait(target, until: .distantPast, extent) }
                takeWakeUp()
                return .over
            }
            // Nobody minds if a run ends 50 µs late; timers are for being on time.
            if pointee.timerSlack == 0 && timerLimit < deadline { pointee.timerSlack = TimerSlack.sharpen() }
        }
        let spin = pointee.spinInterval.load(ordering: .relaxed)
        if pointee.postBackoff.isDue || spin > 0 {
            pointee.postBackoff.wait(until: limit)
            if spin > 0 && Thread.maySpin { pointee.wake.spin(until: Swift.min(limit, Clock.now.advanced(by: spin))) }
            now = Clock.now
        }

        if wasEmptied(mode) { return .over }
        if pointee.wake.goToSleep(inEpoll: wakeDescriptor) {
            if target.isNothing {
                pointee.wake.sleepOnWord(until: limit)
            } else {
                wait(target, until: limit, extent, now, again: count)
            }
            let reason = pointee.wake.wakeFromSleep()
            if reason != .nobody && !target.isNothing { pointee.eventBatch.countWake() }
            if limit != .never { Clock.sampleClocksOncePerTick() }
            return end(of: reason, mode, limit)
        }
        if !target.isNothing && mustPoll() { pointee.eventBatch.wait(target, until: .distantPast, extent) }
        return end(of: pointee.wake.wakeFromSleep(), mode, limit)
    }

    /// A loop that is woken in each pass never sleeps, and sleeping is how it asks the kernel which descriptors are ready. So it asks
    /// in every eighth of such passes, and when it did not for a tenth of a millisecond.
    private func mustPoll() -> Bool {
        pointee.passesUnpolled += 1
        let now = Clock.now
        if pointee.passesUnpolled < 8 && now < pointee.unpolledSince.advanced(by: 100_000) { return false }
        pointee.passesUnpolled = 0
        pointee.unpolledSince = now
        return true
    }

    private func end(of reason: WakeWord.Reason, _ mode: ModePointer, _ limit: Instant) -> Sleep {
        switch reason {
        case .wokenUp:
            pointee.tookWake = true
            return .over
        case .adjusted: return pointee.eventBatch.isEmpty && !wasEmptied(mode) ? .again : .over
        case .nobody: return isSleepOver(limit) ? .over : .again
        }
    }

    /// A signal that the loop knows nothing of ends a system call early: that is no reason to pass.
    private func isSleepOver(_ limit: Instant) -> Bool {
        if !pointee.eventBatch.isEmpty { return true }
        return limit != .never && Clock.now >= limit
    }

    /// The outermost activation ends. The loop's thread.
    func restoreTimerSlack() {
        if pointee.timerSlack > 1 { TimerSlack.restore(pointee.timerSlack) }
        pointee.timerSlack = 0
    }
}

// Waiting for one descriptor of our own in a mode in which nothing else can happen. All that a run of such a mode does is
// sleep, and nobody could tell the rest of it from nothing: that is left out here.

extension RunLoopPointer {
    /// Sleeps, as a run of the mode would, until the descriptor is ready; true if it is, and nothing else has happened. False
    /// if something else may happen in the mode, if something has, if somebody woke the loop, or at the deadline: to find out
    /// which, run the mode. One system call, or none. The loop's thread; calls no user code.
    @inline(never)
    func sleepAlone(in mode: ModePointer, for fd: Int32, until deadline: Instant) -> Bool {
        let outerMode = pointee.currentMode
        let hasBegun = locked { () -> Bool in
            if !isQuiet(mode) { return false }
            setCurrentMode(mode)
            return true
        }
        if !hasBegun { return false }
        let outerTookWake = pointee.tookWake
        pointee.tookWake = false
        dropEvents()
        _ = sleep(mode, until: deadline, .all)
        locked { setCurrentMode(outerMode) }
        // Whoever woke the loop meant the run that follows, and those outside.
        if pointee.tookWake { wakeUp() }
        pointee.tookWake = outerTookWake
        let tag = pointee.eventBatch.takeOnly()
        dropEvents()
        guard let tag else { return false }
        return locked { descriptor(ofTag: tag) == fd }
    }

    /// The source of ours that is being told of its descriptor has dealt with it: sleeps until it is ready again, as the next pass
    /// would; true if it is, and nothing else has happened. False if anything else may be due, or was reported: back to the loop,
    /// which goes on with that. One system call, or none. The loop's thread; calls observers that came while it slept.
    @inline(never)
    func sleepAgain() -> Bool {
        guard mayServeOn, let mode = pointee.currentMode, !observes(mode, .beforeWaiting, .afterWaiting) else { return false }
        // Whoever has come to watch it wait hears that it has.
        waitForEvents(mode, until: .never)
        return locked {
            // Another thread, or one of those, may have taken it out of the mode meanwhile.
            if let registration = dispatchedRegistration(in: mode), pointee.eventBatch.takeOnly(registration.pointee.source.eventTag) {
                return true
            }
            // The next pass has them in order.
            if pointee.orderedRegistrations > 0 { dropEvents() }
            return false
        }
    }

    /// Whether the mode's only descriptor may as well be waited for by a system call that no thread can end, for some milliseconds: there
    /// is no other thread. What a signal handler asks for, the signal ends it for; or, if that comes just before, those
    /// milliseconds.
    @inline(never)
    func mayWaitElsewhere(in mode: ModePointer) -> Bool {
        guard Thread.isAlone, pointee.spinInterval.load(ordering: .relaxed) == 0, !pointee.postBackoff.isDue,
            lockedInlined({ isQuiet(mode) && portCount(mode) == 1 })
        else { return false }
        dropEvents()
        return true
    }

    /// Whether the mode is empty but for unreferenced sources, nobody watches it, and nothing waits for a pass. Under the
    /// lock. What comes later ends the sleep, as it would that of a run.
    private func isQuiet(_ mode: ModePointer) -> Bool {
        for index in 0..<mode.pointee.sets.count {
            let set = mode.pointee.sets[index]
            if set.pointee.sourceCount > 0 || set.pointee.timerCount > 0 || set.pointee.signalled.count > 0 { return false }
        }
        return mode.pointee.observedActivities.load(ordering: .relaxed) == 0 && pointee.pendingSignals.isEmpty
            && !pointee.wake.isPending && inbox.isEmpty && pointee.held.count == 0
            && SharedSignals.count == pointee.sharedSignalsSeen && !hasWatchTrouble && pointee.poller.underRegisteredCount == 0
    }
}
