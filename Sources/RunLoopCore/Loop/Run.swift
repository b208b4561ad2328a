import CLinux
import Synchronization

/// The reason why a run ended; the raw values are those of the public header.
enum RunResult: Int32 {
    case finished = 1
    case stopped = 2
    case timedOut = 3
    case handledSource = 4
}

/// The state of one run of a loop, which may be nested in others. When a nested run ends, the outer run's activation is restored. Loop
/// thread only.
struct Activation: BitwiseCopyable {
    /// The mode that is running; nil outside of any run.
    var mode: ModePointer?
    /// What the run waits for, if it is one of `Mode.waitingRuns`: the run ends as if it were stopped once this is not 0.
    var awaited: UnsafePointer<Atomic<UInt32>>?
    /// The nesting depth: the number of activations, this one and all outer ones.
    var depth = 0
    /// The position of the run's frame on the stack.
    var place = StackPlace()
    /// When the run ends, and whether it returns after it has handled a source.
    var deadline = Instant.distantPast
    var returnsAfterSource = false
    /// Whether the run was started through CF's name for the function: see `isEmpty(_:asCF:)`.
    var runsAsCF = false
    /// Whether the run has consumed a wake-up, which may have been meant for an outer run.
    var tookWake = false
    /// 1 if a stop was requested before the run began. That stop is meant for the outer activation or, outside of any run, for the guest.
    var stopOfOuter: UInt32 = 0
    /// How many objects at the end of `RunLoopStorage.autoreleased` belong to this activation or, outside of any run, to the thread.
    var autoreleasedCount = 0
}

// Running a loop: steps 1 to 10 of the iteration, and what surrounds them. Loop thread only; may call user code.

extension RunLoopPointer {
    /// RLRunLoopRunInMode: runs the loop, perhaps nested in other runs, for at most `seconds`.
    func run(in name: StringPointer, seconds: Double, returnAfterSourceHandled: Bool, asCF: Bool = false) -> RunResult {
        run(in: name, until: Instant.now(after: seconds), returnAfterSourceHandled: returnAfterSourceHandled, asCF: asCF)
    }

    /// Runs the loop until an absolute deadline. `.distantPast` makes one pass that does not sleep. After `.finished`, errno is 0 if the
    /// mode is empty or does not exist, otherwise the error of the system call that failed. `asCF`: whether a common mode of the main
    /// loop counts as never empty. `awaited`: what the caller waits for. The run ends once it is not 0; another thread that changes it then
    /// wakes the loop. Until then the mode exists and is not empty, also for runs that are nested in this one.
    @inline(never)
    func run(
        in name: StringPointer, until deadline: Instant, returnAfterSourceHandled: Bool, asCF: Bool = false,
        awaited: UnsafePointer<Atomic<UInt32>>? = nil
    ) -> RunResult {
        pointee.lastRunWasStopped = false
        guard let mode = modeToRun(name, asCF, waits: awaited != nil) else { return .finished }
        let outer = pointee.activation
        if outer.depth == 0 { Clock.sampleClocksOncePerTick() }
        enter(
            Activation(
                mode: mode, awaited: awaited, depth: outer.depth + 1, place: StackPlace(frame: linux_frame()), deadline: deadline,
                returnsAfterSource: returnAfterSourceHandled, runsAsCF: asCF))
        // Step 1: notify observers that the run has been entered.
        notify(mode, .entry)
        // Steps 2 to 9.
        let result = iterate(mode, until: deadline, onlyOne: returnAfterSourceHandled)
        // Step 10: notify observers that the run is about to be left.
        notify(mode, .exit)
        if pointee.activation.autoreleasedCount != 0 { releaseAutoreleased() }
        leave(to: outer)
        if result == .stopped { RaceDetector.happensAfter(pointee.stop) }
        if result == .finished { systemError = 0 }
        return result
    }

    /// Returns the mode to run. If the mode cannot be run, returns nil with errno: 0 if the mode is empty or does not exist, otherwise the
    /// error of the system call that failed.
    private func modeToRun(_ name: StringPointer, _ asCF: Bool, waits: Bool) -> ModePointer? {
        var found = findMode(name, waits: waits)
        // With `waits`, the mode is created if necessary, so nil means that there was no memory for it, and errno is ENOMEM.
        if found == nil && !waits {
            systemError = 0
            listModesOfRequests()
            found = findMode(name, waits: waits)
        }
        guard let found, !name.isCommonModes else { return nil }
        if found.hasNothing && !waits && !(asCF && neverEmpties(found.mode)) {
            systemError = 0
            return nil
        }
        return found.canListen ? found.mode : nil
    }

    /// Returns the mode with this name and what `modeToRun` has to know about it. `canListen`: whether the mode has no descriptors, or the
    /// loop was able to open what it needs to wait for them; false with errno.
    private func findMode(_ name: StringPointer, waits: Bool) -> (mode: ModePointer, hasNothing: Bool, canListen: Bool)? {
        locked {
            guard let mode = waits ? ensureListedMode(named: name) : listedMode(named: name) else { return nil }
            return (mode, hasNothing(mode), descriptorSourceCount(mode) == 0 || pointee.poller.open())
        }
    }

    /// Repeats steps 2 to 9, as numbered in RLRunLoop.h, until the run ends. `onlyOne`: whether to end after the pass that has handled a
    /// source.
    private func iterate(_ mode: ModePointer, until deadline: Instant, onlyOne: Bool) -> RunResult {
        if isStopRequested { return .stopped }
        let depth = pointee.activation.depth
        while true {
            // Taking a wake-up makes everything visible that was published before it: work for this pass, or a stop requested since the
            // last pass checked for one.
            if takeWakeUp() && isStopRequested { return .stopped }
            handleWatchTrouble()
            if Probe.isSet { Probe.report(.willPass, .pass, self, info: mode.pointee.name) }

            // Step 2: notify observers that timers are about to be handled.
            // Step 3: notify observers that sources are about to be handled.
            var called = observes(mode, .beforeTimers, .beforeSources)
            if called {
                notify(mode, .beforeTimers)
                notify(mode, .beforeSources)
            }

            // Step 4: a) call queued functions; b) perform signalled version-0 sources; c) if one performed, call functions again.
            called = performFunctions(mode) || called
            var handled = performSignalledSources(mode, onlyOne: onlyOne)
            if handled { called = performFunctions(mode) || called }
            dropOutdatedEvents(mode, handled || called)

            // Step 5: if a version-1 source is ready, go to step 9 immediately.
            // Step 6: notify observers that the thread is about to sleep.
            // Step 7: sleep until a descriptor is ready, a timer is due, the deadline has passed, or the loop is woken up.
            // Step 8: notify observers that the thread has just woken up.
            // Steps 6 to 8 are skipped if a source performed in step 4, and in a run of 0 seconds.
            let isPolling = handled || deadline == .distantPast
            if isPolling { poll(mode) } else if !hasReadyDescriptor(mode) { waitForEvents(mode, until: deadline) }

            // Step 9: fire all due timers or dispatch one ready descriptor; then call queued functions.
            handled = deliver(mode) || handled
            if performFunctions(mode) { dropEvents() }
            releaseAutoreleasedInPass()

            // The depth differs only if longjmp has left a nested run.
            if pointee.activation.depth != depth { StackPlace.reportJump() }
            // End the run with the first result that applies; otherwise go to step 2.
            if handled && onlyOne { return .handledSource }
            if hasPassed(deadline) { return .timedOut }
            if isStopRequested { return .stopped }
            if isEmpty(mode, asCF: pointee.activation.runsAsCF) { return .finished }
        }
    }

    // MARK: entering and leaving

    /// Makes a new activation the innermost one. A stop that was requested earlier is not meant for it, so it is saved for the outer
    /// activation. Outside of any run, only `dispatchGuest` checks for a stop.
    private func enter(_ activation: Activation) {
        let stop = replaceStop(by: 0)
        if activation.depth > 1 && pointee.activation.place.isLeft(by: activation.place) { StackPlace.reportJump() }
        dropEvents()
        lock()
        pointee.activation = activation
        pointee.activation.stopOfOuter = stop
        if activation.awaited != nil { activation.mode?.pointee.waitingRuns += 1 }
        activationChanged()
        unlock()
    }

    /// Restores the outer activation, together with a stop that was saved for it. A stop meant for the ending activation is consumed, even
    /// if it came too late to become the result. A wake-up that the ending activation consumed may have been meant for the outer mode, so
    /// the loop wakes itself.
    private func leave(to outer: Activation) {
        dropEvents()
        let ended = pointee.activation
        pointee.lastRunWasStopped = replaceStop(by: ended.stopOfOuter) != 0
        lock()
        if ended.awaited != nil { ended.mode?.pointee.waitingRuns -= 1 }
        pointee.activation = outer
        // Release callbacks may have autoreleased more objects than one drain releases. The outer activation inherits the rest.
        pointee.activation.autoreleasedCount += ended.autoreleasedCount
        activationChanged()
        unlock()
        if outer.depth == 0 {
            // If a callback has prepared the loop for a host, the host has not been notified of the restored stop.
            if ended.stopOfOuter != 0 && hasWatchTrouble(WatchTrouble.hostWaits) { wakeUp() }
            return pointee.timerSlack.restore()
        }
        if ended.tookWake || ended.stopOfOuter != 0 { wakeUp() }
        // A mode that was emptied in the meantime may be that of the outer activation.
        pointee.mayBeEmpty.store(1, ordering: .relaxed)
    }

    /// Stores whether a stop is requested, and returns whether one was. Usually there is none before or afterwards, and nothing is written.
    private func replaceStop(by new: UInt32) -> UInt32 {
        if pointee.stop.load(ordering: .acquiring) == new { return new }
        return pointee.stop.exchange(new, ordering: .acquiringAndReleasing)
    }

    /// Called after the current mode has changed: publishes its name, and registers what its sources are interested in. The caller holds
    /// the lock.
    private func activationChanged() {
        let mode = pointee.activation.mode
        pointee.currentModeName.store(UInt(bitPattern: mode?.pointee.name), ordering: .releasing)
        if let mode { revisitWatches(mode) }
    }

    /// Whether the run was stopped, or what it waits for has happened.
    @inline(__always)
    private var isStopRequested: Bool { pointee.stop.load(ordering: .acquiring) != 0 || hasAwaited }

    /// Whether what the run waits for has happened.
    @inline(__always)
    var hasAwaited: Bool { (pointee.activation.awaited?.pointee.load(ordering: .acquiring) ?? 0) != 0 }

    /// Whether the run's time limit has been reached. Reads the clock only for a deadline that is neither `.never` nor `.distantPast`.
    private func hasPassed(_ deadline: Instant) -> Bool {
        if deadline == .never { return false }
        return deadline == .distantPast || Clock.now >= deadline
    }

    // MARK: events

    /// Consumes the pending wake-up. Returns false if there is none. Loop thread only; calls no user code.
    @inline(__always)
    @discardableResult
    func takeWakeUp() -> Bool {
        if !pointee.wake.takePending() { return false }
        // While a wake-up is pending, a thread that empties a mode does not add another one (`WakeWord.adjust`) but relies on this one.
        // Since it is consumed here, `sleep` has to check whether the mode is empty.
        pointee.mayBeEmpty.store(1, ordering: .relaxed)
        pointee.activation.tookWake = true
        return true
    }

    /// Consumes a pending wake-up and fetches events, without sleeping.
    @inline(__always)
    private func poll(_ mode: ModePointer) {
        takeWakeUp()
        // The kernel reports that source, too.
        pointee.knownReady.tag = 0
        fetchEvents(mode)
    }

    /// Drops the events of an earlier pass if anything other than a source on a descriptor has been called since then: in this pass
    /// (`called`), or timers in the last one. Such a callback may have read the data that an event reports. Otherwise these events are
    /// dispatched without another system call.
    private func dropOutdatedEvents(_ mode: ModePointer, _ called: Bool) {
        if pointee.eventBatch.isEmpty { return }
        if called || mode.pointee.firedTimersLast { dropEvents() }
    }

    /// Step 5: whether step 9 can follow immediately. The kernel is queried only if an observer would be notified of the wait. Otherwise a
    /// sleep that ends immediately serves as well, and no client can tell the difference.
    @inline(__always)
    private func hasReadyDescriptor(_ mode: ModePointer) -> Bool {
        if !pointee.eventBatch.isEmpty || takeKnownReady(mode) { return true }
        return observes(mode, .beforeWaiting, .afterWaiting) && fetchEvents(mode)
    }

    /// Asks the kernel which descriptors are ready, unless events of an earlier fetch are left. Returns true if there are events now.
    @inline(__always)
    @discardableResult
    func fetchEvents(_ mode: ModePointer) -> Bool {
        if !hasEverUsed(EverUsed.descriptors) { return false }
        if pointee.eventBatch.isEmpty {
            pointee.passesUnpolled = 0
            let target = locked { self.target(mode) }
            if !target.isNothing { pointee.eventBatch.wait(target, until: .distantPast, extent(mode)) }
        }
        return !pointee.eventBatch.isEmpty
    }

    /// Step 9. If timers and descriptors are ready all the time, passes alternate between them, so that neither starves.
    @inline(__always)
    private func deliver(_ mode: ModePointer) -> Bool {
        if !hasEverUsed(EverUsed.timers | EverUsed.descriptors) { return false }
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
