import CLinux
import Synchronization

/// How a run ended, with the values of the public header.
enum RunResult: Int32 {
    case finished = 1
    case stopped = 2
    case timedOut = 3
    case handledSource = 4
}

// Running a loop. Everything here is the loop's thread's, and calls user code.

extension RunLoopPointer {
    /// RLRunLoopRunInMode: one activation of the loop, perhaps inside others.
    func run(in name: StringPointer, seconds: Double, returnAfterSourceHandled: Bool, asCF: Bool = false) -> RunResult {
        run(in: name, until: Instant.now(after: seconds), returnAfterSourceHandled: returnAfterSourceHandled, asCF: asCF)
    }

    /// The same for who knows the deadline; `.distantPast` looks once. errno says why a run is `.finished`: 0 if the mode is empty.
    /// `asCF`: a common mode of the main loop is never empty.
    func run(in name: StringPointer, until deadline: Instant, returnAfterSourceHandled: Bool, asCF: Bool = false) -> RunResult {
        guard let mode = modeToRun(name, asCF) else { return .finished }
        if pointee.depth == 0 { Clock.sampleClocksOncePerTick() }
        let outer = enter(mode, StackPlace(frame: linux_frame()))
        pointee.deadline = deadline
        pointee.returnsAfterSource = returnAfterSourceHandled
        pointee.runsAsCF = asCF
        notify(mode, .entry)
        let result = iterate(mode, until: deadline, onlyOne: returnAfterSourceHandled)
        notify(mode, .exit)
        if pointee.autoreleasedCount != 0 { releaseAutoreleased() }
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
        let depth = pointee.depth
        while true {
            // What a wake-up announced before this is seen by this pass; a stop, too, that came since the last one looked.
            if takeWakeUp() && isStopRequested { return .stopped }
            handleWatchTrouble()

            // 2, 3: tell observers that timers, then sources are about to be looked at.
            notify(mode, .beforeTimers)
            notify(mode, .beforeSources)

            // 4: functions to be performed, signalled sources, and what those left to be performed.
            var called = performFunctions(mode)
            var handled = performSignalledSources(mode, onlyOne: onlyOne)
            if handled { called = performFunctions(mode) || called }
            dropOutdatedEvents(mode, handled || called)

            // 5 to 8: a ready descriptor goes to 9 at once; otherwise tell observers, sleep until a descriptor is ready,
            // a timer is due, the deadline has come or somebody wakes the loop, and tell observers.
            let isPolling = handled || deadline == .distantPast
            if isPolling { poll(mode) } else if !hasReadyDescriptor(mode) { waitForEvents(mode, until: deadline) }

            // 9: deliver what came: due timers, or a ready descriptor.
            handled = deliver(mode) || handled
            if performFunctions(mode) { dropEvents() }
            releaseAutoreleasedInPass()

            if pointee.depth != depth { StackPlace.reportJump() }
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
        var place: StackPlace
        var deadline: Instant
        var returnsAfterSource: Bool
        var autoreleasedCount: Int
        var runsAsCF: Bool
    }

    /// A new activation becomes the innermost. A stop that came before belongs to the outer one, or to nobody.
    private func enter(_ mode: ModePointer, _ place: StackPlace) -> OuterActivation {
        let outer = OuterActivation(
            mode: pointee.currentMode, stop: pointee.stop.exchange(0, ordering: .acquiringAndReleasing), tookWake: pointee.tookWake,
            place: pointee.place, deadline: pointee.deadline, returnsAfterSource: pointee.returnsAfterSource,
            autoreleasedCount: pointee.autoreleasedCount,
            runsAsCF: pointee.runsAsCF)
        pointee.place = place
        if pointee.depth > 0 && outer.place.isLeft(by: pointee.place) { StackPlace.reportJump() }
        pointee.tookWake = false
        pointee.autoreleasedCount = 0
        pointee.depth += 1
        dropEvents()
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
        dropEvents()
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
        pointee.place = outer.place
        pointee.tookWake = outer.tookWake
        pointee.deadline = outer.deadline
        pointee.returnsAfterSource = outer.returnsAfterSource
        // What release callbacks autoreleased without end is left: the outer activation goes on with it.
        pointee.autoreleasedCount += outer.autoreleasedCount
        pointee.runsAsCF = outer.runsAsCF
    }

    /// The name is for other threads; the mode lives as long as the loop. Under the lock, but for the end of the outermost
    /// activation: other threads look at the mode while timers fire.
    func setCurrentMode(_ mode: ModePointer?) {
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

    /// Takes the wake-up that is pending; false if there is none. The loop's thread; calls no user code.
    @inline(__always)
    @discardableResult
    func takeWakeUp() -> Bool {
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
        fetchEvents(mode)
    }

    /// Reports of an earlier pass go on being delivered without another system call, as long as nobody but the sources
    /// on descriptors has been called since: others may have read what is reported.
    @inline(__always)
    private func dropOutdatedEvents(_ mode: ModePointer, _ called: Bool) {
        if pointee.eventBatch.isEmpty { return }
        if called || mode.pointee.firedTimersLast || observes(mode, .beforeTimers, .beforeSources) { dropEvents() }
    }

    /// Whether step 9 can follow at once. Only a mode that somebody watches waiting needs the extra look: otherwise nobody
    /// can tell it from going to sleep and waking at once.
    @inline(__always)
    private func hasReadyDescriptor(_ mode: ModePointer) -> Bool {
        if !pointee.eventBatch.isEmpty { return true }
        return observes(mode, .beforeWaiting, .afterWaiting) && fetchEvents(mode)
    }

    /// Asks the kernel which descriptors are ready, unless reports are left; true if there are any then.
    @inline(__always)
    @discardableResult
    func fetchEvents(_ mode: ModePointer) -> Bool {
        if !hasEverUsed(EverUsed.descriptors) { return false }
        if pointee.eventBatch.isEmpty {
            pointee.passesUnpolled = 0
            let target = lockedInlined { self.target(mode) }
            if !target.isNothing { pointee.eventBatch.wait(target, until: .distantPast, extent(mode)) }
        }
        return !pointee.eventBatch.isEmpty
    }

    /// Step 9. Timers and descriptors that are both ready take turns, so that neither starves the other.
    @inline(__always)
    private func deliver(_ mode: ModePointer) -> Bool {
        if mode.pointee.firedTimersLast {
            mode.pointee.firedTimersLast = false
            if hasEverUsed(EverUsed.descriptors) && dispatchReadyDescriptor(mode) { return true }
        }
        if fireDueTimers(mode) {
            mode.pointee.firedTimersLast = true
            return false
        }
        return hasEverUsed(EverUsed.descriptors) && dispatchReadyDescriptor(mode)
    }
}
