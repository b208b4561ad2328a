import Synchronization

/// A loop whose thread waits in a host's own poll, between calls of RLRunLoopPrepareGuest and RLRunLoopDispatchGuest.
///
/// The host polls a descriptor of ours (`HostDescriptors`). While it may, the wake word says that the loop sleeps in epoll. So whatever
/// ends a sleep makes that descriptor readable, with one write to the eventfd, and the functions that wake a loop know nothing of hosts.
/// `WatchTrouble.hostWaits` is set as long as the word is left like that; a pass, which looks at that anyway, takes the word back.
/// Tests/model/guest.pml checks that no wake-up is lost.
struct Guest: BitwiseCopyable {
    /// Since RLRunLoopPrepareGuest, until RLRunLoopLeaveGuest.
    var isOn = false
    /// The host's descriptor also becomes readable when a timer is due: RLRunLoopPrepareGuest was called with a timer.
    var hasTimer = false
    /// The host's descriptor is readable by a write to the eventfd, or will be.
    var isSignalled = false
    /// Holds the value of `RunLoopStorage.retryDeadline` while the host waits, since that is then in the past. For a host may begin to wait
    /// in a callback of a run. When the callback returns, that run must not sleep on a wake word that says it sleeps already. A deadline in
    /// the past keeps it from sleeping, and its next pass takes the word back.
    var retryDeadline = Instant.never
    /// `RunLoopStorage.defaultSet`, which is nil while the host waits: the shortcut that adds a timer to it would not tell the host.
    var defaultSet: ModeSetPointer?
}

// Step 7, the sleep, in a host's poll. All on the loop's thread.

extension RunLoopPointer {
    /// How often to look at sockets of which epoll does not report that they were connected, in nanoseconds.
    private static var lookInterval: UInt64 { 100_000_000 }

    /// RLRunLoopPrepareGuest: for how many seconds the host may wait; 0 if there is something to dispatch, infinity if the descriptor it
    /// polls reports everything. nil with errno. No system call if nothing has changed since the last time.
    func prepareGuest(in name: StringPointer, withTimer: Bool) -> Double? {
        endHostWait()
        while true {
            let mode = nonEmptyMode(name)
            guard let seconds = prepareDescriptor(mode, withTimer: withTimer) else { return nil }
            if seconds > 0 {
                if pointee.guest.isSignalled { dropSignals() }
                if beginHostWait() { return seconds }
                // In an empty mode there will be no pass, so a wake-up has had its effect now.
                if pointee.wake.takeAdjustment() || (mode == nil && takeWakeUp()) { continue }
            }
            signalHost()
            return 0
        }
    }

    /// RLRunLoopDispatchGuest: a pass, after which the host may wait again if it did before. Calls user code.
    func dispatchGuest(in name: StringPointer) -> RunResult {
        if pointee.guest.isOn {
            endHostWait()
            // In any case: a thread that decided to end an earlier wait may have written to the eventfd only now.
            dropSignals()
        }
        var result = run(in: name, until: .distantPast, returnAfterSourceHandled: false)
        if pointee.activation.depth == 0 && pointee.stop.exchange(0, ordering: .acquiring) != 0 { pointee.lastRunWasStopped = true }
        if pointee.lastRunWasStopped { result = .stopped }
        if pointee.guest.isOn && prepareGuest(in: name, withTimer: pointee.guest.hasTimer) == nil { signalHost() }
        return result
    }

    /// RLRunLoopLeaveGuest: the host's descriptor will not be readable any more.
    func leaveGuest() {
        if !pointee.guest.isOn { return }
        endHostWait()
        locked {
            pointee.guest = Guest()
            _ = pointee.poller.setReportsEpoll(false)
            pointee.poller.setHostDeadline(.never)
        }
        dropSignals()
        // A run that is under way owes the pass that `prepareGuest` may have taken from it.
        if pointee.activation.depth > 0 { wakeUpSlow() }
    }

    /// A pass begins while the host may be waiting: takes the wake word back. The host has to dispatch, to be able to wait again.
    func takeOverFromHost() {
        if !hasWatchTrouble(WatchTrouble.hostWaits) { return }
        endHostWait()
        signalHost()
    }

    /// Takes the wake word back, if a host may be waiting.
    @inline(never)
    func endHostWait() { locked { endHostWaitLocked() } }

    /// `endHostWait` under the lock.
    @inline(never)
    func endHostWaitLocked() {
        if !hasWatchTrouble(WatchTrouble.hostWaits) { return }
        clearWatchTrouble(WatchTrouble.hostWaits)
        pointee.sleepLimit.store(0, ordering: .relaxed)
        pointee.retryDeadline = pointee.guest.retryDeadline
        if pointee.isOpen { pointee.defaultSet = pointee.guest.defaultSet }
        if pointee.wake.endSleepOfHost() { countSignal() }
    }

    /// Lets the host wait in place of the loop. False if the loop has been woken, or is to look again what to wait for.
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

    /// The mode of this name, created if necessary; nil if it is empty or out of memory.
    private func nonEmptyMode(_ name: StringPointer) -> ModePointer? {
        lock()
        let choice = choose(name, make: true)
        unlock()
        guard case .mode(let mode) = choice, !isEmpty(mode, asCF: false) else { return nil }
        return mode
    }

    /// Makes the host's descriptor report what the mode waits for. Returns what `prepareGuest` does. `mode`: nil if it is empty.
    private func prepareDescriptor(_ mode: ModePointer?, withTimer: Bool) -> Double? {
        lock()
        defer { unlock() }
        let target = mode.map { self.target($0) } ?? .nothing
        guard pointee.poller.openHost(withTimer: withTimer) else { return nil }
        if !pointee.guest.isOn {
            pointee.guest.isOn = true
            // A stop from before is for no run of this guest.
            if pointee.activation.depth == 0 { pointee.stop.store(0, ordering: .relaxed) }
        }
        pointee.guest.hasTimer = withTimer
        if !pointee.poller.setReportsEpoll(!target.isNothing) { tryAgainLater() }
        let now = Clock.now
        var limit = pointee.retryDeadline
        if let mode { limit = Swift.min(limit, Instant(nanoseconds: latestWake(mode))) }
        if target.hasUnreportedConnects { limit = Swift.min(limit, now.advanced(by: Self.lookInterval)) }
        if limit <= now || target.alwaysReady || hasWork(mode) { return 0 }
        pointee.poller.setHostDeadline(withTimer ? limit : .never)
        pointee.sleepLimit.store(limit.nanoseconds, ordering: .relaxed)
        return withTimer || limit == .never ? .infinity : Double(Int64(limit.nanoseconds &- now.nanoseconds)) * 1e-9
    }

    /// Whether a pass has something to do, other than for timers and descriptors. Under the lock.
    private func hasWork(_ mode: ModePointer?) -> Bool {
        if pointee.activation.depth == 0 && pointee.stop.load(ordering: .relaxed) != 0 { return true }
        guard let mode else { return false }
        return hasFunctions(for: mode) || !pointee.pendingSignals.isEmpty || SharedSignals.count != pointee.sharedSignalsSeen
            || !isQueueEmpty(mode) || hasWatchTrouble(WatchTrouble.lost)
    }

    /// RLRunLoopIsIdleInMode: whether a pass that came to step 7 now would sleep. At most one system call, unless epoll has to be told of
    /// changes.
    @inline(__always)
    func isIdle(in name: StringPointer) -> Bool {
        lock()
        defer { unlock() }
        guard case .mode(let mode) = choose(name, make: false) else { return true }
        let target = self.target(mode)
        if pointee.wake.isPending || pointee.knownReady.tag != 0 || latestWake(mode) <= Clock.now.nanoseconds || hasWork(mode) {
            return false
        }
        return target.isNothing || !target.alwaysReady && Descriptor.poll(target.epoll, for: .readable).isEmpty
    }

    /// Makes the host's descriptor readable. At most one system call.
    @inline(never)
    private func signalHost() {
        if pointee.guest.isSignalled { return }
        countSignal()
        EventDescriptor.signal(pointee.poller.wakeDescriptor)
    }

    /// Notes that the eventfd has been written to, or is about to be.
    private func countSignal() {
        pointee.eventBatch.countWake()
        pointee.guest.isSignalled = true
    }

    /// Takes the wake-ups out of the host's descriptor, which stays readable only while something is ready. One system call.
    @inline(never)
    private func dropSignals() {
        pointee.guest.isSignalled = false
        if Epoll.dropEvents(pointee.poller.host.epoll) { return }
        // The program has closed our descriptors.
        locked {
            pointee.poller.resetDescriptors()
            pointee.eventBatch.reset()
        }
    }
}
