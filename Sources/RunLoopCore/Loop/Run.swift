import CLinux
import Synchronization

/// How a run ended, with the values of the public header.
enum RunResult: Int32 {
    case finished = 1
    case stopped = 2
    case timedOut = 3
    case handledSource = 4
}

/// What belongs to one run of a loop, which may be nested in others; when it ends, the outer run's activation is restored. The loop's thread.
struct Activation: BitwiseCopyable {
    /// The mode that runs; nil outside of any activation.
    var mode: ModePointer?
    /// How many activations there are, this and the outer ones.
    var depth = 0
    /// Where the run lies on the stack.
    var place = StackPlace()
    /// When the run ends, and whether it returns after a source.
    var deadline = Instant.distantPast
    var returnsAfterSource = false
    /// Whether the run was begun by CF's name: see `isEmpty(_:asCF:)`.
    var runsAsCF = false
    /// Whether the run has taken a wake-up.
    var tookWake = false
    /// 1: a stop was requested before the run began; it is for the outer activation, or for the guest.
    var stopOfOuter: UInt32 = 0
    /// How many objects at the end of `autoreleased` belong to the run or, outside of any, to the thread.
    var autoreleasedCount = 0
}

// Running a loop: the iteration, steps 1 to 10, and what surrounds an activation. All of it belongs to the loop's thread and
// calls user code.

extension RunLoopPointer {
    /// RLRunLoopRunInMode: one activation of the loop, perhaps nested in others.
    func run(in name: StringPointer, seconds: Double, returnAfterSourceHandled: Bool, asCF: Bool = false) -> RunResult {
        run(in: name, until: Instant.now(after: seconds), returnAfterSourceHandled: returnAfterSourceHandled, asCF: asCF)
    }

    /// Runs the loop until an absolute deadline; `.distantPast` makes one pass that does not sleep. If the result is `.finished`,
    /// errno says why: 0 if the mode is empty. `asCF`: a common mode of the main loop is never empty.
    @inline(never)
    func run(in name: StringPointer, until deadline: Instant, returnAfterSourceHandled: Bool, asCF: Bool = false) -> RunResult {
        pointee.lastRunWasStopped = false
        guard let mode = modeToRun(name, asCF) else { return .finished }
        let outer = pointee.activation
        if outer.depth == 0 { Clock.sampleClocksOncePerTick() }
        enter(
            Activation(
                mode: mode, depth: outer.depth + 1, place: StackPlace(frame: linux_frame()), deadline: deadline,
                returnsAfterSource: returnAfterSourceHandled, runsAsCF: asCF))
        notify(mode, .entry)
        let result = iterate(mode, until: deadline, onlyOne: returnAfterSourceHandled)
        notify(mode, .exit)
        if pointee.activation.autoreleasedCount != 0 { releaseAutoreleased() }
        leave(to: outer)
        if result == .stopped { RaceDetector.happensAfter(pointee.stop) }
        if result == .finished { systemError = 0 }
        return result
    }

    /// The mode to run, or nil with errno if it cannot be run: 0 if it is empty or does not exist, otherwise the error of the system call
    /// that failed.
    private func modeToRun(_ name: StringPointer, _ asCF: Bool) -> ModePointer? {
        var found = locked { madeMode(named: name) }
        if found == nil {
            systemError = 0
            makeModesOfRequests()
            found = locked { madeMode(named: name) }
        }
        guard let mode = found, !name.isCommonModes else { return nil }
        if isEmpty(mode, asCF: asCF) {
            systemError = 0
            return nil
        }
        return canListen(mode) ? mode : nil
    }

    /// The iteration, with the step numbers of RLRunLoop.h. `run` does steps 1 and 10, the observers of entry and exit. `onlyOne`: returns
    /// after a source has been handled.
    private func iterate(_ mode: ModePointer, until deadline: Instant, onlyOne: Bool) -> RunResult {
        if isStopRequested { return .stopped }
        let depth = pointee.activation.depth
        while true {
            // This pass sees whatever was published before a wake-up up to this point, and a stop that came after the last pass looked.
            if takeWakeUp() && isStopRequested { return .stopped }
            handleWatchTrouble()
            if _slowPath(Probe.isSet) { Probe.tell(.willPass, .pass, self, info: mode.pointee.name) }

            // 2, 3: notify observers that timers, then sources are about to be handled.
            var called = observes(mode, .beforeTimers, .beforeSources)
            if called {
                notify(mode, .beforeTimers)
                notify(mode, .beforeSources)
            }

            // 4: call functions, perform signalled sources, then call the functions that those queued.
            called = performFunctions(mode) || called
            var handled = performSignalledSources(mode, onlyOne: onlyOne)
            if handled { called = performFunctions(mode) || called }
            dropOutdatedEvents(mode, handled || called)

            // 5 to 8: a ready descriptor goes straight to step 9. Otherwise notify observers, sleep until a descriptor is ready,
            // a timer is due, the deadline has come or the loop is woken, and notify observers.
            let isPolling = handled || deadline == .distantPast
            if isPolling { poll(mode) } else if !hasReadyDescriptor(mode) { waitForEvents(mode, until: deadline) }

            // 9: due timers, or a ready descriptor.
            handled = deliver(mode) || handled
            if performFunctions(mode) { dropEvents() }
            releaseAutoreleasedInPass()

            if pointee.activation.depth != depth { StackPlace.reportJump() }
            if handled && onlyOne { return .handledSource }
            if hasPassed(deadline) { return .timedOut }
            if isStopRequested { return .stopped }
            if isEmptyInlined(mode, asCF: pointee.activation.runsAsCF) { return .finished }
        }
    }

    // MARK: entering and leaving

    /// Makes a new activation the innermost. An earlier stop is not meant for it: it is saved for the outer activation. Outside of any
    /// run only `dispatchGuest` looks at it.
    private func enter(_ activation: Activation) {
        let stop = pointee.stop.exchange(0, ordering: .acquiringAndReleasing)
        if activation.depth > 1 && pointee.activation.place.isLeft(by: activation.place) { StackPlace.reportJump() }
        dropEvents()
        lock()
        pointee.activation = activation
        pointee.activation.stopOfOuter = stop
        activationChanged()
        unlock()
    }

    /// Continues the outer activation. A stop that was saved for it is restored; one for the activation that ends is consumed, even if it
    /// came too late to be its result. A wake-up that this activation took may have been meant for the outer mode, so the loop wakes
    /// itself.
    private func leave(to outer: Activation) {
        dropEvents()
        let ended = pointee.activation
        pointee.lastRunWasStopped = pointee.stop.exchange(ended.stopOfOuter, ordering: .acquiringAndReleasing) != 0
        lock()
        pointee.activation = outer
        // Release callbacks may have autoreleased more than one drain releases: the outer activation gets the rest.
        pointee.activation.autoreleasedCount += ended.autoreleasedCount
        activationChanged()
        unlock()
        if outer.depth == 0 {
            // A host for which a callback has prepared the loop does not know of that stop.
            if ended.stopOfOuter != 0 && hasWatchTrouble(WatchTrouble.hostWaits) { wakeUpSlow() }
            return pointee.timerSlack.restore()
        }
        if ended.tookWake || ended.stopOfOuter != 0 { wakeUp() }
        // A mode that was emptied meanwhile may be the outer activation's.
        pointee.mayBeEmpty.store(1, ordering: .relaxed)
    }

    /// After the mode that runs has changed: publishes its name, and watches what its sources are interested in. Under the lock.
    private func activationChanged() {
        let mode = pointee.activation.mode
        pointee.currentModeName.store(UInt(bitPattern: mode?.pointee.name), ordering: .releasing)
        if let mode { revisitWatches(mode) }
    }

    /// Whether the mode has no descriptors, or the loop could open what it needs to wait for them; otherwise false with errno.
    private func canListen(_ mode: ModePointer) -> Bool { locked { portCount(mode) == 0 || pointee.poller.open() } }

    private var isStopRequested: Bool { pointee.stop.load(ordering: .acquiring) != 0 }

    /// Whether the time of the run is over. Reads the clock only for a deadline that is neither `.never` nor `.distantPast`.
    private func hasPassed(_ deadline: Instant) -> Bool {
        if deadline == .never { return false }
        return deadline == .distantPast || Clock.now >= deadline
    }

    // MARK: events

    /// Takes the pending wake-up; false if there is none. The loop's thread; calls no user code.
    @inline(__always)
    @discardableResult
    func takeWakeUp() -> Bool {
        if !pointee.wake.takePending() { return false }
        // A thread that empties a mode makes no second wake-up while one is pending (`WakeWord.adjust`). This one is gone now, so
        // `sleep` has to look whether the mode is empty.
        pointee.mayBeEmpty.store(1, ordering: .relaxed)
        pointee.activation.tookWake = true
        return true
    }

    /// Takes a pending wake-up and fetches events, without sleeping.
    @inline(__always)
    private func poll(_ mode: ModePointer) {
        takeWakeUp()
        fetchEvents(mode)
    }

    /// Drops events of an earlier pass if anything other than a source on a descriptor has been called since, in this pass (`called`) or at
    /// the end of the last one, as that may have read what was reported. Otherwise these events are dispatched without another system call.
    private func dropOutdatedEvents(_ mode: ModePointer, _ called: Bool) {
        if pointee.eventBatch.isEmpty { return }
        if called || mode.pointee.firedTimersLast { dropEvents() }
    }

    /// Whether step 9 can follow at once. The kernel is asked first only if an observer would be notified of waiting: otherwise a sleep that
    /// ends at once is as good, and no client can tell the difference.
    @inline(__always)
    private func hasReadyDescriptor(_ mode: ModePointer) -> Bool {
        if !pointee.eventBatch.isEmpty || takeKnownReady(mode) { return true }
        return observes(mode, .beforeWaiting, .afterWaiting) && fetchEvents(mode)
    }

    /// Asks the kernel which descriptors are ready, unless events are left from before; true if there are events then.
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

    /// Step 9. If timers and descriptors are ready all the time, passes alternate between them, so neither starves.
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
