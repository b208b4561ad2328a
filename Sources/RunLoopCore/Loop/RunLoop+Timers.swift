import Synchronization

// Timers in a loop: adding, removing and moving them, from any thread. No step of the iteration, except that step 7 calls `latestWake` to
// find out how long it may sleep. Timers are fired by `RunLoop+Firing.swift`.

extension RunLoopPointer {
    /// Does what `add` does, in the most frequent case: for the calling thread's loop and its default mode, a simple timer that the thread
    /// owns and that has a far deadline, and no timer pass in progress. Otherwise returns false without any effect, and
    /// `ThreadContextPointer.stepOut` must follow. Each of the three may be a handle of any type.
    @inline(__always)
    static func tryAdd(_ timer: TimerPointer, to loop: OpaquePointer?, in mode: OpaquePointer?) -> Bool {
        // Compared as numbers, since the compiler would also test each optional for nil.
        guard UInt(bitPattern: mode) == UInt(bitPattern: ModeName.default.handle), Handle.isKind(.timer, timer),
            let handle = UnsafeRawPointer(loop), case let current = Handle.storage(handle) as RunLoopPointer,
            case let own = current.threadContext, own.isCurrent, own.pointee.lock.tryLock(), timer.pointee.item.owner == own,
            timer.item.state == .simple, current.pointee.timerPasses == 0, let set = current.pointee.defaultSet,
            case let total = set.pointee.timerCount &+ 1,
            let position = set.pointee.timers.tryInsert(timer, at: timer.pointee.date, total)
        else { return false }
        timer.item.state = .queued(at: position)
        current.enter(timer, set, total)
        timer.pointee.isQueuedByDate = true
        own.unlockAfterTryLock()
        return true
    }

    /// RLRunLoopAddTimer. Sets errno if out of memory. O(1) for a far timer, otherwise O(log n); reads no clock. Any thread.
    @inline(never)
    func add(_ timer: TimerPointer, in name: StringPointer) {
        let owner = timer.item.lock()
        if owner == threadContext { addLocked(timer, in: name) }
        owner.unlock()
        if owner != threadContext { addForeign(timer, in: name) }
    }

    /// Returns the next arrival number, which is greater than those of all timers in the loop. The caller holds the lock.
    func nextTimerArrival() -> UInt {
        pointee.timerArrivals &+= 2
        return pointee.timerArrivals
    }

    /// Adds a timer that another context owns. This loop becomes the owner if the timer is in no other loop, or only in an abandoned one.
    private func addForeign(_ timer: TimerPointer, in name: StringPointer) {
        let owner = timer.item.lock(and: threadContext)
        if owner != threadContext && pointee.isOpen {
            // The caller's reference keeps the timer alive.
            if timer.pointee.set != nil && RunLoopPointer(owner).pointee.isAbandoned { _ = timer.leaveSet() }
            if timer.pointee.set == nil { takeOwnership(of: timer) }
        }
        if timer.pointee.item.owner == threadContext { addLocked(timer, in: name) }
        ItemPointer.unlockBoth(owner, threadContext)
    }

    /// Adds a timer that this loop owns. No effect if the timer is invalid or the loop is closed. The caller holds the lock.
    private func addLocked(_ timer: TimerPointer, in name: StringPointer) {
        guard timer.pointee.item.has(.valid), pointee.isOpen else { return }
        noteUse(of: EverUsed.timers)
        let choice = choose(name, make: true)
        if timer.pointee.set != nil { return addToMore(timer, choice) }
        guard let set = set(adding: choice, to: nil), set.pointee.timers.reserve(set.pointee.timerCount + 1, for: timer) else { return }
        timer.item.retainInternal()
        timer.pointee.item.set(.bound)
        if timer.pointee.item.has(.unreferenced) { set.pointee.unreferencedCount &+= 1 }
        enter(timer, set, set.pointee.timerCount + 1)
        enqueue(timer)
    }

    /// Puts a timer of this loop that is in no set into one, which then has `total` timers. The caller changes the timer's state and queues
    /// it. The caller holds the lock.
    @inline(__always)
    private func enter(_ timer: TimerPointer, _ set: ModeSetPointer, _ total: Int) {
        timer.pointee.set = set
        set.pointee.timerCount = total
        timer.pointee.arrival = nextTimerArrival()
    }

    /// Adds a timer that is in some mode to another mode. The caller holds the lock.
    private func addToMore(_ timer: TimerPointer, _ choice: ModeChoice) {
        let old = timer.pointee.set
        if isComplete(old, choice) { return }
        guard let old, let new = set(adding: choice, to: old), new.pointee.timers.reserve(new.pointee.timerCount + 1, for: timer)
        else { return }
        move(timer, from: old, to: new)
    }

    /// Moves a timer of this loop to a set that has room for it. The caller holds the lock.
    @inline(never)
    private func move(_ timer: TimerPointer, from old: ModeSetPointer, to new: ModeSetPointer) {
        let kept = deadlineInPass(of: timer)
        old.pointee.timers.remove(timer)
        timer.count(in: old, -1)
        timer.pointee.set = new
        timer.count(in: new, 1)
        if timer.pointee.item.has(.firing) { park(timer) } else { queue(timer, at: kept ?? effectiveDeadline(of: timer)) }
    }

    /// Queues a timer of this loop in its set, if it has one. A timer that is firing is queued when its call ends. The caller holds the
    /// lock.
    @inline(never)
    func enqueue(_ timer: TimerPointer) {
        if timer.pointee.set == nil { return }
        if timer.pointee.item.has(.firing) { park(timer) } else { queue(timer, at: effectiveDeadline(of: timer)) }
    }

    /// Queues a timer of this loop for a deadline that may differ from its own. The caller holds the lock.
    func queue(_ timer: TimerPointer, at deadline: UInt64) {
        timer.pointee.set.unsafelyUnwrapped.pointee.timers.insert(timer, at: deadline)
        adjustSleep(for: deadline)
    }

    /// Queues a timer of this loop for the date that was just set, behind timers with the same deadline. Returns false if it is not queued:
    /// a timer that is firing is queued when its call ends. The caller holds the lock.
    fileprivate func requeue(_ timer: TimerPointer) -> Bool {
        guard let set = timer.pointee.set else { return false }
        if deadlineInPass(of: timer) != nil { return true }
        timer.pointee.arrival = nextTimerArrival()
        if timer.pointee.item.has(.firing) { return false }
        set.pointee.timers.move(timer, to: effectiveDeadline(of: timer))
        return true
    }

    /// Returns the deadline for which to queue a timer in its set. The caller holds the lock.
    private func effectiveDeadline(of timer: TimerPointer) -> UInt64 {
        let deadline = timer.deadline
        return deadline >= pointee.minimumDeadline ? deadline : deadlineBehindPass(timer)
    }

    /// Returns the deadline for which to queue a timer whose date was set to the past during a timer pass. The timer waits for the next
    /// pass, so until this pass ends it is queued for another deadline than its own. The caller holds the lock.
    @inline(never)
    private func deadlineBehindPass(_ timer: TimerPointer) -> UInt64 {
        timer.pointee.set.unsafelyUnwrapped.pointee.timers.hasDisplaced = true
        pointee.minimumDeadline &+= 1
        return pointee.minimumDeadline
    }

    /// Returns the deadline that a queued timer keeps although its date or modes have changed: a timer pass in progress, perhaps of an
    /// outer run, is going to fire it by that deadline, and its date is in the past. Otherwise returns nil. If the date of a repeating
    /// timer was set to the past, the grid starts only now, which is too late for the pass; therefore the date itself counts. O(number of
    /// modes). The caller holds the lock.
    private func deadlineInPass(of timer: TimerPointer) -> UInt64? {
        if pointee.timerPasses == 0 { return nil }
        let asked = Swift.min(timer.deadline, Clock.instant(ofTimerDate: timer.pointee.date).nanoseconds)
        guard let set = timer.pointee.set, let queued = set.pointee.timers.deadline(of: timer) else { return nil }
        let latest = Swift.max(asked, queued)
        for number in 1..<pointee.modes.count where set.pointee.modes.contains(number) {
            guard let mode = pointee.modes[number], mode.pointee.timersDueBy != 0 else { continue }
            if latest <= mode.pointee.timersDueBy { return queued }
        }
        return nil
    }

    /// RLRunLoopRemoveTimer. O(log n). Any thread.
    func remove(_ timer: TimerPointer, from name: StringPointer) {
        let owner = timer.item.lock()
        guard owner == threadContext, let old = timer.pointee.set else { return owner.unlock() }
        let choice = choose(name, make: false)
        var isDead = false
        if contains(old, choice) {
            switch set(removing: choice, from: old) {
            case .nothing: isDead = timer.leaveSet()
            case .set(let new):
                guard new.pointee.timers.reserve(new.pointee.timerCount + 1, for: timer) else { break }
                move(timer, from: old, to: new)
            case .outOfMemory: break
            }
        }
        owner.unlock()
        if isDead { timer.destroy() }
    }

    /// RLRunLoopTimerInvalidate: invalidates the timer, which may call its context's release, and ends another thread's run whose mode has
    /// become empty. Any thread.
    @inline(never)
    static func invalidate(_ timer: TimerPointer) {
        if let owner = timer.invalidate() { RunLoopPointer(owner).noteEmptied() }
    }

    /// RLRunLoopContainsTimer. Any thread.
    func contains(_ timer: TimerPointer, in name: StringPointer) -> Bool {
        let owner = timer.item.lock()
        defer { owner.unlock() }
        return owner == threadContext && contains(timer.pointee.set, choose(name, make: false))
    }

    /// RLRunLoopGetNextTimerFireDate: returns 0 if the mode has no timer. Includes timers that are firing, although they are not queued.
    /// O(number of sets + number of timers that are firing). Any thread.
    func nextFireDate(in name: StringPointer) -> Double {
        locked {
            guard case .mode(let mode) = choose(name, make: false) else { return 0 }
            var earliest = firstTimer(mode).map { (timer: $0.timer, deadline: $0.key.deadline) }
            for index in 0..<pointee.firing.count {
                let timer = pointee.firing[index]
                guard timer.pointee.item.owner == threadContext, let set = timer.pointee.set,
                    set.pointee.modes.contains(mode.pointee.number)
                else { continue }
                let deadline = timer.deadline
                if earliest == nil || deadline < earliest.unsafelyUnwrapped.deadline { earliest = (timer, deadline) }
            }
            return earliest?.timer.pointee.date ?? 0
        }
    }

    /// Returns the first of the mode's queued timers, with its key; nil if none is queued. O(number of sets). The caller holds the lock.
    @inline(__always)
    func firstTimer(_ mode: ModePointer) -> (timer: TimerPointer, key: TimerKey)? {
        var earliest: (timer: TimerPointer, key: TimerKey)?
        for index in 0..<mode.pointee.sets.count {
            guard let first = mode.pointee.sets[index].pointee.timers.first() else { continue }
            if earliest == nil || TimerKey.precedes(first.key, earliest.unsafelyUnwrapped.key) { earliest = first }
        }
        return earliest
    }

    /// Returns the latest instant to which the loop may sleep so that each of the mode's timers fires within its tolerance; `.max` if there
    /// are no timers. O(number of sets). The caller holds the lock.
    func latestWake(_ mode: ModePointer) -> UInt64 {
        var latest = UInt64.max
        for index in 0..<mode.pointee.sets.count { latest = Swift.min(latest, mode.pointee.sets[index].pointee.timers.latestWake()) }
        return latest
    }
}

extension TimerPointer {
    /// Does what `setNextFireDate` does, in the most frequent case: for a simple timer that the calling thread owns, in the default mode
    /// only, moved from one far date to another while no timer pass is in progress. Otherwise returns false without any effect, and
    /// `ThreadContextPointer.stepOut` must follow. `self` may be a handle of any type.
    @inline(__always)
    func trySetNextFireDate(_ date: Double) -> Bool {
        guard let own = ThreadContextPointer.tryLockCurrent(), case let loop = RunLoopPointer(own), Handle.isKind(.timer, self),
            let set = loop.pointee.defaultSet, pointee.set == set, loop.pointee.timerPasses == 0,
            set.pointee.timers.tryMove(item.state, to: date)
        else { return false }
        pointee.date = date
        pointee.arrival = loop.nextTimerArrival()
        pointee.isQueuedByDate = true
        own.unlockAfterTryLock()
        return true
    }

    /// RLRunLoopTimerSetNextFireDate. On a thread other than the loop's, wakes the loop for a pass, as in CFRunLoop. A one-shot timer that
    /// is firing ends regardless. O(1) from one far date to another, otherwise O(log n). Any thread.
    func setNextFireDate(_ date: Double) {
        let owner = item.lock()
        if pointee.item.has(.valid) {
            setDate(date)
            let loop = RunLoopPointer(owner)
            if loop.requeue(self) && loop.maySleep { loop.wakeUp() }
        }
        owner.unlock()
    }

    /// Does what `invalidate` does, in the most frequent case: for a simple timer that the calling thread owns, in the default mode only,
    /// with a far deadline and one client reference. Otherwise, and once in 64 times, returns false without any effect, and
    /// `ThreadContextPointer.stepOut` must follow. The address may be that of any handle.
    @inline(__always)
    func tryInvalidate() -> Bool {
        guard let own = ThreadContextPointer.tryLockCurrent(), let set = RunLoopPointer(own).pointee.defaultSet,
            Handle.isKindWithOneReference(.timer, self), pointee.set == set, set.pointee.timers.tryRemove(item.state)
        else { return false }
        set.pointee.timerCount &-= 1
        pointee.set = nil
        // The client has a reference, so the loop's is not the last. This store comes last: after it, another thread may release the
        // client's reference.
        item.state = .ended
        own.unlockAfterTryLock()
        return true
    }

    /// Sets whether the timer keeps its modes from being empty. Any thread.
    func setUnreferenced(_ isUnreferenced: Bool) {
        let owner = item.lock()
        if pointee.item.has(.unreferenced) != isUnreferenced {
            pointee.item.setUnreferenced(isUnreferenced)
            if let set = pointee.set {
                set.pointee.unreferencedCount += isUnreferenced ? 1 : -1
                RunLoopPointer(owner).noteEmptied()
            }
        }
        owner.unlock()
    }

    /// RLRunLoopTimerSetTolerance. Returns false if out of memory. O(log n). Any thread.
    func setTolerance(_ seconds: Double) -> Bool {
        let owner = item.lock()
        defer { owner.unlock() }
        guard pointee.item.has(.valid) else { return true }
        if !hasDetail {
            if seconds <= 0 { return true }
            let context = ClientContext(info: info)
            guard let current = ThreadContextPointer.current, addDetail(current, 0, 0, context) else { return false }
        }
        let detail = knownDetail
        // The timer keeps its arrival and the deadline for which it is queued; nil if it is in no queue.
        let deadline = pointee.set.flatMap { $0.pointee.timers.deadline(of: self) }
        pointee.set?.pointee.timers.remove(self)
        let before = detail.pointee.tolerance
        detail.pointee.tolerance = detail.pointee.interval > 0 ? Swift.min(seconds, detail.pointee.interval / 2) : seconds
        let hasRoom = pointee.set.map { $0.pointee.timers.reserve($0.pointee.timerCount, for: self) } ?? true
        if !hasRoom { detail.pointee.tolerance = before }
        if let deadline { RunLoopPointer(owner).queue(self, at: deadline) }
        return hasRoom
    }
}
