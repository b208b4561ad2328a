import Synchronization

/// How a run ended, with the values of the public header.
enum RunResult: Int32 {
    case finished = 1
    case stopped = 2
    case timedOut = 3
    case handledSource = 4
}

// Running a loop. Everything here is the loop's thread's, and calls user code.

extension UnsafeMutablePointer where Pointee == RunLoopStorage {
    /// RLRunLoopRunInMode: one activation of the loop, perhaps inside others.
    func run(in name: StringPointer, seconds: Double, returnAfterSourceHandled: Bool, asCF: Bool = false) -> RunResult {
        run(in: name, until: Instant.now(after: seconds), returnAfterSourceHandled: returnAfterSourceHandled, asCF: asCF)
    }

    /// The same for who knows the deadline; `.distantPast` looks once. errno says why a run is `.finished`: 0 if the mode is empty.
    /// `asCF`: a common mode of the main loop is never empty.
    func run(in name: StringPointer, until deadline: Instant, returnAfterSourceHandled: Bool, asCF: Bool = false) -> RunResult {
        guard let mode = modeToRun(name, asCF) else { return .finished }
        if pointee.depth == 0 { Clock.lookAtBothOncePerTick() }
        let outer = enter(mode)
        pointee.deadline = deadline
        pointee.returnsAfterSource = returnAfterSourceHandled
        pointee.runsAsCF = asCF
        notify(mode, .entry)
        let result = iterate(mode, until: deadline, onlyOne: returnAfterSourceHandled)
        notify(mode, .exit)
        leave(to: outer)
        if result == .stopped { RaceDetector.happensAfter(pointee.stop) }
        if result == .finished { systemError = 0 }
        return result
    }

    /// nil with errno if there is no run to be made: 0 if the mode is empty, otherwise what the system refused.
    private func modeToRun(_ name: StringPointer, _ asCF: Bool) -> ModePointer? {
        var found = locked { mode(named: name) }
        if found == nil {
            systemError = 0
            makeModesOfRequests()
            found = locked { mode(named: name) }
        }
        guard let mode = found, !name.isCommonModes else { return nil }
        if isEmpty(mode, asCF: asCF) {
            systemError = 0
            return nil
        }
        return canListen(mode) ? mode : nil
    }

    /// The iteration, with the numbers of the guide. Steps 1 and 10 (telling observers of entry and exit) are `run`'s.
    private func iterate(_ mode: ModePointer, until deadline: Instant, onlyOne: Bool) -> RunResult {
        if isStopRequested { return .stopped }
        while true {
            // What a wake-up announced before this is seen by this pass; a stop, too, that came since the last one looked.
            if takeWakeUp() && isStopRequested { return .stopped }
            lookAfterWatches()

            // 2, 3: tell observers that timers, then sources are about to be looked at.
            notify(mode, .beforeTimers)
            notify(mode, .beforeSources)

            // 4: functions to be performed, signalled sources, and what those left to be performed.
            var called = performFunctions(mode)
            var handled = performSignalledSources(mode, onlyOne: onlyOne)
            if handled { called = performFunctions(mode) || called }
            forgetOldReports(mode, handled || called)

            // 5 to 8: a ready descriptor goes to 9 at once; otherwise tell observers, sleep until a descriptor is ready,
            // a timer is due, the deadline has come or somebody wakes the loop, and tell observers.
            let isPolling = handled || deadline == .distantPast
            if isPolling { poll(mode) } else if !hasReadyDescriptor(mode) { waitForEvents(mode, until: deadline) }

            // 9: deliver what came: due timers, or a ready descriptor. Where nobody could tell it from passing again, a source
            // goes on with what the next passes would bring it, sleeps too: `mayGoOn`, `mayServeOn`, `sleepAgain`.
            handled = deliver(mode, goesOn: !onlyOne && deadline == .never) || handled
            if performFunctions(mode) { pointee.reports.drop() }

            if handled && onlyOne { return .handledSource }
            if hasPassed(deadline) { return .timedOut }
            if isStopRequested { return .stopped }
            if isEmpty(mode, asCF: pointee.runsAsCF) { return .finished }
        }
    }

    // MARK: entering and leaving

    /// What an activation puts back when it ends.
    struct OuterActivation {
        var mode: ModePointer?
        var stop: UInt32
        var tookWake: Bool
        var deadline: Instant
        var returnsAfterSource: Bool
        var runsAsCF: Bool
    }

    /// A new activation becomes the innermost. A stop that came before belongs to the outer one, or to nobody.
    private func enter(_ mode: ModePointer) -> OuterActivation {
        let outer = OuterActivation(
            mode: pointee.currentMode, stop: pointee.stop.exchange(0, ordering: .acquiringAndReleasing), tookWake: pointee.tookWake,
            deadline: pointee.deadline, returnsAfterSource: pointee.returnsAfterSource, runsAsCF: pointee.runsAsCF)
        pointee.tookWake = false
        pointee.depth += 1
        pointee.reports.drop()
        lock()
        setCurrentMode(mode)
        revisitWatches(mode)
        unlock()
        return outer
    }

    /// The outer activation goes on. Its stop, if one was asked for, is put back; one that came for this activation too
    /// late ends with it. A wake-up that this one took may have been for the outer mode: it is given on.
    private func leave(to outer: OuterActivation) {
        pointee.depth -= 1
        pointee.reports.drop()
        _ = pointee.stop.exchange(pointee.depth == 0 ? 0 : outer.stop, ordering: .acquiringAndReleasing)
        if pointee.depth > 0 {
            if pointee.tookWake || outer.stop != 0 { wakeUp() }
            lock()
            setCurrentMode(outer.mode)
            if let mode = outer.mode { revisitWatches(mode) }
            unlock()
        } else {
            setCurrentMode(nil)
            restoreTimerSlack()
        }
        pointee.tookWake = outer.tookWake
        pointee.deadline = outer.deadline
        pointee.returnsAfterSource = outer.returnsAfterSource
        pointee.runsAsCF = outer.runsAsCF
    }

    /// The name is for other threads; the mode lives as long as the loop. Under the lock, but for the end of the outermost
    /// activation: other threads look at the mode while timers fire.
    private func setCurrentMode(_ mode: ModePointer?) {
        pointee.currentMode = mode
        pointee.currentModeName.store(UInt(bitPattern: mode?.pointee.name), ordering: .releasing)
    }

    /// Whether the mode has no descriptors, or the loop what it takes to wait for them; false with errno if that is not to be had.
    private func canListen(_ mode: ModePointer) -> Bool { locked { portCount(mode) == 0 || pointee.poller.open() } }

    private var isStopRequested: Bool { pointee.stop.load(ordering: .acquiring) != 0 }

    @inline(__always)
    private func hasPassed(_ deadline: Instant) -> Bool {
        if deadline == .never { return false }
        return deadline == .distantPast || Clock.now >= deadline
    }

    // MARK: events

    @inline(__always)
    @discardableResult
    private func takeWakeUp() -> Bool {
        if !pointee.wake.takePending() { return false }
        // What empties a mode relies on a pending wake-up (`WakeWord.adjust`), which is gone now: `sleep` has to look.
        pointee.mayBeEmpty.store(1, ordering: .relaxed)
        pointee.tookWake = true
        return true
    }

    /// Looks for ready descriptors without sleeping.
    @inline(__always)
    private func poll(_ mode: ModePointer) {
        takeWakeUp()
        fetchReports(mode)
    }

    /// Reports of an earlier pass go on being delivered without another system call, as long as nobody but the sources
    /// on descriptors has been called since: others may have read what is reported.
    @inline(__always)
    private func forgetOldReports(_ mode: ModePointer, _ called: Bool) {
        if called || pointee.servedTimers || observes(mode, .beforeTimers, .beforeSources) { pointee.reports.drop() }
    }

    /// Whether step 9 can follow at once. Only a mode that somebody watches waiting needs the extra look: otherwise nobody
    /// can tell it from going to sleep and waking at once.
    @inline(__always)
    private func hasReadyDescriptor(_ mode: ModePointer) -> Bool {
        if !pointee.reports.isEmpty { return true }
        guard observes(mode, .beforeWaiting, .afterWaiting) else { return false }
        fetchReports(mode)
        return !pointee.reports.isEmpty
    }

    @inline(__always)
    private func fetchReports(_ mode: ModePointer) {
        if !hasHad(Had.descriptors) || !pointee.reports.isEmpty { return }
        let target = lockedInline { self.target(mode) }
        if !target.isNothing { pointee.reports.wait(target, until: .distantPast) }
    }

    /// Step 9. Timers and descriptors that are both ready take turns, so that neither starves the other.
    @inline(__always)
    private func deliver(_ mode: ModePointer, goesOn: Bool) -> Bool {
        if pointee.servedTimers {
            pointee.servedTimers = false
            if hasHad(Had.descriptors) && serveReadyDescriptor(mode, goesOn: goesOn) { return true }
        }
        if fireDueTimers(mode) {
            pointee.servedTimers = true
            return false
        }
        return hasHad(Had.descriptors) && serveReadyDescriptor(mode, goesOn: goesOn)
    }

    private func waitForEvents(_ mode: ModePointer, until deadline: Instant) {
        notify(mode, .beforeWaiting)
        var sleeps = 0
        while sleep(mode, until: deadline, again: sleeps) == .again { sleeps += 1 }
        notify(mode, .afterWaiting)
    }

    private enum Sleep { case over, again }
    /// One sleep; `again` if it ended only to look again what the loop may sleep for. `count`: how many sleeps of this pass ended so.
    private func sleep(_ mode: ModePointer, until deadline: Instant, again count: Int = 0) -> Sleep {
        lock()
        let target = hasHad(Had.descriptors) ? self.target(mode) : .nothing
        let kickDescriptor = target.isNothing ? nil : pointee.poller.kickDescriptor
        let timerLimit = hasHad(Had.timers) ? Instant(nanoseconds: latestWake(mode)) : .never
        let limit = Swift.min(Swift.min(deadline, timerLimit), pointee.retryDeadline)
        pointee.sleepLimit.store(limit.nanoseconds, ordering: .relaxed)
        unlock()
        defer { pointee.sleepLimit.store(0, ordering: .relaxed) }
        var now = Instant.distantPast
        if limit != .never {
            now = Clock.now
            if now >= limit {
                if !target.isNothing { pointee.reports.wait(target, until: .distantPast) }
                takeWakeUp()
                return .over
            }
            // Nobody minds if a run ends 50 µs late; timers are for being on time.
            if pointee.timerSlack == 0 && timerLimit < deadline { pointee.timerSlack = TimerSlack.sharpen() }
        }
        let spin = pointee.spinInterval.load(ordering: .relaxed)
        if pointee.pace.owesRest || spin > 0 {
            pointee.pace.rest(until: limit)
            if spin > 0 && Thread.maySpin { pointee.wake.spin(until: Swift.min(limit, Clock.now.advanced(by: spin))) }
            now = Clock.now
        }
        if wasEmptied(mode) { return .over }
        if pointee.wake.goToSleep(inEpoll: kickDescriptor) {
            if target.isNothing { pointee.wake.sleepOnWord(until: limit) } else { wait(target, until: limit, now, again: count) }
            let reason = pointee.wake.wakeFromSleep()
            if reason != .nobody && !target.isNothing { pointee.reports.countKick() }
            if limit != .never { Clock.lookAtBothOncePerTick() }
            return end(of: reason, mode, limit)
        }
        return end(of: pointee.wake.wakeFromSleep(), mode, limit)
    }

    private func end(of reason: WakeWord.Reason, _ mode: ModePointer, _ limit: Instant) -> Sleep {
        switch reason {
        case .wokenUp:
            pointee.tookWake = true
            return .over
        case .adjusted: return pointee.reports.isEmpty && !wasEmptied(mode) ? .again : .over
        case .nobody: return isSleepOver(limit) ? .over : .again
        }
    }

    /// A signal that the loop knows nothing of ends a system call early: that is no reason to pass.
    private func isSleepOver(_ limit: Instant) -> Bool {
        if !pointee.reports.isEmpty { return true }
        return limit != .never && Clock.now >= limit
    }

    private func restoreTimerSlack() {
        if pointee.timerSlack > 1 { TimerSlack.restore(pointee.timerSlack) }
        pointee.timerSlack = 0
    }
}

// Waiting for one descriptor of our own in a mode in which nothing else can happen. All that a run of such a mode does is
// sleep, and nobody could tell the rest of it from nothing: that is left out here.

extension UnsafeMutablePointer where Pointee == RunLoopStorage {
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
        pointee.reports.drop()
        _ = sleep(mode, until: deadline)
        locked { setCurrentMode(outerMode) }
        // Whoever woke the loop meant the run that follows, and those outside.
        if pointee.tookWake { wakeUp() }
        pointee.tookWake = outerTookWake
        let tag = pointee.reports.takeOnly()
        pointee.reports.drop()
        guard let tag else { return false }
        return locked { descriptor(ofReported: tag) == fd }
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
            if let seat = seatOfCallee(in: mode), pointee.reports.takeOnly(seat.pointee.source.reportTag) { return true }
            // The next pass has them in order.
            if pointee.orderedSeats > 0 { pointee.reports.drop() }
            return false
        }
    }

    /// Whether the mode's only descriptor may as well be waited for by a system call that no thread can end, for some milliseconds: there
    /// is no other thread. What a signal handler asks for, the signal ends it for; or, if that comes just before, those
    /// milliseconds.
    @inline(never)
    func mayWaitElsewhere(in mode: ModePointer) -> Bool {
        guard Thread.isAlone, pointee.spinInterval.load(ordering: .relaxed) == 0, !pointee.pace.owesRest,
            lockedInline({ isQuiet(mode) && portCount(mode) == 1 })
        else { return false }
        pointee.reports.drop()
        return true
    }

    /// Whether the mode is empty but for what is in the background, nobody watches it, and nothing waits for a pass. Under the
    /// lock. What comes later ends the sleep, as it would that of a run.
    private func isQuiet(_ mode: ModePointer) -> Bool {
        for index in 0..<mode.pointee.sets.count {
            let set = mode.pointee.sets[index]
            if set.pointee.sourceCount > 0 || set.pointee.timerCount > 0 || set.pointee.signalled.count > 0 { return false }
        }
        return mode.pointee.observedActivities.load(ordering: .relaxed) == 0 && !pointee.board.isMarked
            && !pointee.wake.isPending && inbox.isEmpty && pointee.held.count == 0
            && SharedSignals.seen == pointee.sharedSignalsSeen && !hasWatchesToLookAfter && pointee.poller.narrowCount == 0
    }
}
