import Synchronization

/// The state of a guest: a loop whose thread waits in a host's own poll between calls of RLRunLoopPrepareGuest and RLRunLoopDispatchGuest.
///
/// The host polls one descriptor of the loop (`HostDescriptors`). While it may do so, the wake word says that the loop sleeps in epoll. So
/// everything that ends a sleep makes that descriptor readable, with one write to the eventfd, and the functions that wake a loop need no
/// knowledge of hosts. `WatchTrouble.hostWaits` is set as long as the word is left like that. Each pass checks these bits anyway, and takes
/// the word back. Tests/model/guest.pml checks that no wake-up is lost.
struct Guest: BitwiseCopyable {
    /// Set by RLRunLoopPrepareGuest, cleared by RLRunLoopLeaveGuest.
    var isOn = false
    /// Whether the host's descriptor also becomes readable when a timer is due: RLRunLoopPrepareGuest was called with a timer.
    var hasTimer = false
    /// Whether a write to the eventfd has made the host's descriptor readable, or is about to.
    var isSignalled = false
    /// The value of `RunLoopStorage.retryDeadline` while the host waits, when that field is set to the past. The reason is that a host may
    /// begin to wait inside a callback of a run. When the callback returns, that run must not sleep on a wake word that says it is asleep
    /// already. A deadline in the past keeps it from sleeping, and its next pass takes the word back.
    var retryDeadline = Instant.never
    /// The value of `RunLoopStorage.defaultSet` while the host waits, when that field is nil: the shortcut that adds a timer to that set
    /// would not notify the host.
    var defaultSet: ModeSetPointer?
}

// Step 7: the sleep, spent in a host's poll. Loop thread only.

extension RunLoopPointer {
    /// How often to check sockets for which epoll does not report that they were connected, in nanoseconds.
    private static var pollInterval: UInt64 { 100_000_000 }

    /// RLRunLoopPrepareGuest: returns for how many seconds the host may wait. 0 means that there is something to dispatch, infinity that
    /// the descriptor it polls reports everything. Returns nil with errno. No system call if nothing has changed since the last call.
    func prepareGuest(in name: StringPointer, withTimer: Bool) -> Double? {
        endHostWait()
        while true {
            let mode = nonEmptyMode(name)
            guard let seconds = prepareDescriptor(mode, withTimer: withTimer) else { return nil }
            if seconds > 0 {
                if pointee.guest.isSignalled { dropSignals() }
                if beginHostWait() { return seconds }
                // An empty mode has no pass for a wake-up to begin, so the wake-up is consumed here.
                if pointee.wake.takeAdjustment() || (mode == nil && takeWakeUp()) { continue }
            }
            signalHost()
            return 0
        }
    }

    /// RLRunLoopDispatchGuest: makes one pass, after which the host may wait again if it did before. Calls user code.
    func dispatchGuest(in name: StringPointer) -> RunResult {
        if pointee.guest.isOn {
            endHostWait()
            // Unconditional, because a thread that decided to end an earlier wait may have written to the eventfd only now.
            dropSignals()
        }
        var result = run(in: name, until: .distantPast, returnAfterSourceHandled: false)
        if pointee.activation.depth == 0 && pointee.stop.exchange(0, ordering: .acquiring) != 0 { pointee.lastRunWasStopped = true }
        if pointee.lastRunWasStopped { result = .stopped }
        if pointee.guest.isOn && prepareGuest(in: name, withTimer: pointee.guest.hasTimer) == nil { signalHost() }
        return result
    }

    /// RLRunLoopLeaveGuest: ends the host's wait. From here on the host's descriptor does not become readable.
    func leaveGuest() {
        if !pointee.guest.isOn { return }
        endHostWait()
        locked {
            pointee.guest = Guest()
            _ = pointee.poller.setWatchesEpoll(false)
            pointee.poller.setHostDeadline(.never)
        }
        dropSignals()
        // If a run is in progress, `prepareGuest` may have consumed a wake-up that was meant for it.
        if pointee.activation.depth > 0 { wakeUp() }
    }

    /// Takes the wake word back at the beginning of a pass if the host may be waiting. The host has to dispatch before it can wait again.
    func takeOverFromHost() {
        if !hasWatchTrouble(WatchTrouble.hostWaits) { return }
        endHostWait()
        signalHost()
    }

    /// Takes the wake word back if a host may be waiting. Call without the lock held.
    @inline(never)
    func endHostWait() { locked { endHostWaitLocked() } }

    /// Does the work of `endHostWait`. The caller holds the lock.
    @inline(never)
    func endHostWaitLocked() {
        if !hasWatchTrouble(WatchTrouble.hostWaits) { return }
        clearWatchTrouble(WatchTrouble.hostWaits)
        pointee.sleepLimit.store(0, ordering: .relaxed)
        pointee.retryDeadline = pointee.guest.retryDeadline
        if pointee.isOpen { pointee.defaultSet = pointee.guest.defaultSet }
        if pointee.wake.endSleepOfHost() { countSignal() }
    }

    /// Lets the host wait in place of the loop. Returns false if the loop has been woken, or has to recompute what to wait for.
    private func beginHostWait() -> Bool {
        let begins = pointee.wake.goToSleep(inEpoll: pointee.poller.wakeDescriptor)
        locked {
            if !begins { return pointee.sleepLimit.store(0, ordering: .relaxed) }
            noteWatchTrouble(WatchTrouble.hostWaits)
            pointee.guest.retryDeadline = pointee.retryDeadline
            pointee.retryDeadline = .distantPast
            pointee.guest.defaultSet = pointee.defaultSet
            pointee.defaultSet = nil
        }
        return begins
    }

    /// Returns the mode with this name, creating it if needed; nil if the mode is empty or memory runs out.
    private func nonEmptyMode(_ name: StringPointer) -> ModePointer? {
        lock()
        let choice = choose(name, make: true)
        unlock()
        guard case .mode(let mode) = choice, !isEmpty(mode, asCF: false) else { return nil }
        return mode
    }

    /// Makes the host's descriptor report what the mode waits for. Returns the result of `prepareGuest`. `mode` is nil if the mode is
    /// empty.
    private func prepareDescriptor(_ mode: ModePointer?, withTimer: Bool) -> Double? {
        lock()
        defer { unlock() }
        let target = mode.map { self.target($0) } ?? .nothing
        guard pointee.poller.openHost(withTimer: withTimer) else { return nil }
        if !pointee.guest.isOn {
            pointee.guest.isOn = true
            // A stop that was requested earlier is not meant for the runs of this guest.
            if pointee.activation.depth == 0 { pointee.stop.store(0, ordering: .relaxed) }
        }
        pointee.guest.hasTimer = withTimer
        if !pointee.poller.setWatchesEpoll(!target.isNothing) { scheduleRetry() }
        let now = Clock.now
        var limit = pointee.retryDeadline
        if let mode { limit = Swift.min(limit, Instant(nanoseconds: latestWake(mode))) }
        if target.hasUnreportedConnects { limit = Swift.min(limit, now.advanced(by: Self.pollInterval)) }
        if limit <= now || target.alwaysReady || hasWork(mode) { return 0 }
        pointee.poller.setHostDeadline(withTimer ? limit : .never)
        pointee.sleepLimit.store(limit.nanoseconds, ordering: .relaxed)
        return withTimer || limit == .never ? .infinity : Double(Int64(limit.nanoseconds &- now.nanoseconds)) * 1e-9
    }

    /// Whether a pass has something to do, apart from timers and descriptors. The caller holds the lock.
    private func hasWork(_ mode: ModePointer?) -> Bool {
        if pointee.activation.depth == 0 && pointee.stop.load(ordering: .relaxed) != 0 { return true }
        guard let mode else { return false }
        return hasFunctions(for: mode) || !pointee.pendingSignals.isEmpty || SharedSignals.count != pointee.sharedSignalsSeen
            || !isQueueEmpty(mode) || hasWatchTrouble(WatchTrouble.lost)
    }

    /// RLRunLoopIsIdleInMode: whether a pass that reached step 7 at this moment would sleep. At most one system call, unless changes have
    /// to be registered with epoll.
    func isIdle(in name: StringPointer) -> Bool {
        lock()
        defer { unlock() }
        guard case .mode(let mode) = choose(name, make: false) else { return true }
        let target = self.target(mode)
        if pointee.wake.isPending || latestWake(mode) <= Clock.now.nanoseconds || hasWork(mode) { return false }
        // That includes a source that is `KnownReady`: its descriptor is ready as long as it has a message.
        return target.isNothing || !target.alwaysReady && Descriptor.poll(target.epoll, for: .readable).isEmpty
    }

    /// Makes the host's descriptor readable. At most one system call.
    @inline(never)
    private func signalHost() {
        if pointee.guest.isSignalled { return }
        countSignal()
        EventDescriptor.signal(pointee.poller.wakeDescriptor)
    }

    /// Records that the eventfd has been written to, or is about to be.
    private func countSignal() {
        pointee.eventBatch.countWake()
        pointee.guest.isSignalled = true
    }

    /// Consumes the wake-ups of the host's descriptor, which then stays readable only while something is ready. One system call.
    @inline(never)
    private func dropSignals() {
        pointee.guest.isSignalled = false
        if Epoll.dropEvents(pointee.poller.host.epoll) { return }
        // The program has closed the library's descriptors.
        locked {
            pointee.poller.resetDescriptors()
            pointee.eventBatch.reset()
        }
    }
}
