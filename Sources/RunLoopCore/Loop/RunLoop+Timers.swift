import Synchronization

// Timers in a loop: adding, removing and moving them, from any thread. No step of the iteration, except that step 7 asks `latestWake`
// how long it may sleep; firing them is `RunLoop+Firing.swift`.

extension RunLoopPointer {
    /// `add` for the most frequent case: the calling thread's loop and its default mode, a simple timer that the thread owns and whose
    /// deadline is far, and no timer pass under way. Otherwise false: nothing has been done, and `ThreadContextPointer.stepOut` must follow.
    /// `loop` and `mode` may be any handles.
    @inline(__always)
    static func tryAdd(_ timer: TimerPointer, to loop: OpaquePointer?, in mode: OpaquePointer?) -> Bool {
        // Compared as numbers: the compiler would also test each optional for nil.
        guard UInt(bitPattern: mode) == UInt(bitPattern: ModeName.default.handle), let handle = UnsafeRawPointer(loop),
            case let current = Handle.storage(handle) as RunLoopPointer, case let own = current.threadContext, own.isCurrent,
            own.pointee.lock.tryLock(), timer.pointee.item.owner == own, timer.item.state == .simple,
            current.pointee.timerPasses == 0, let set = current.pointee.defaultSet, case let total = set.pointee.timerCount &+ 1,
            let position = set.pointee.timers.tryInsert(timer, at: timer.simpleDeadline, total)
        else { return false }
        timer.item.state = .queued(at: position)
        current.enter(timer, set, total)
        own.unlockAfterTryLock()
        return true
    }

    /// RLRunLoopAddTimer. O(1) for a far timer, else O(log n); reads no clock. Any thread. Sets errno if out of memory.
    @inline(never)
    func add(_ timer: TimerPointer, in name: StringPointer) {
        let owner = timer.item.lock()
        if owner == threadContext { addLocked(timer, in: name) }
        owner.unlock()
        if owner != threadContext { addForeign(timer, in: name) }
    }

    /// The next arrival number, greater than those of all timers in the loop. Under the lock.
    func nextTimerArrival() -> UInt {
        pointee.timerArrivals &+= 2
        return pointee.timerArrivals
    }

    /// Adds a timer that belongs to another thread's context: it moves here, if it is in no other loop.
    private func addForeign(_ timer: TimerPointer, in name: StringPointer) {
        let owner = timer.item.lock(and: threadContext)
        if owner != threadContext && pointee.isOpen {
            // The caller's reference keeps it alive.
            if timer.pointee.set != nil && RunLoopPointer(owner).pointee.isAbandoned { _ = timer.leaveSet() }
            if timer.pointee.set == nil { takeOwnership(of: timer) }
        }
        if timer.pointee.item.owner == threadContext { addLocked(timer, in: name) }
        ItemPointer.unlockBoth(owner, threadContext)
    }

    /// Adds a timer that this loop owns; no effect if it is invalid or the loop is closed. Under the lock.
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

    /// Puts a timer of this loop that was in no set into one, which has `total` with it; the caller changes its state and queues it. Under
    /// the lock.
    @inline(__always)
    private func enter(_ timer: TimerPointer, _ set: ModeSetPointer, _ total: Int) {
        timer.pointee.set = set
        set.pointee.timerCount = total
        timer.pointee.arrival = nextTimerArrival()
    }

    /// Adds a timer that is in some mode to another. Under the lock.
    private func addToMore(_ timer: TimerPointer, _ choice: ModeChoice) {
        let old = timer.pointee.set
        if isComplete(old, choice) { return }
        guard let old, let new = set(adding: choice, to: old), new.pointee.timers.reserve(new.pointee.timerCount + 1, for: timer)
        else { return }
        move(timer, from: old, to: new)
    }

    /// Moves a timer of this loop to a set that has room for it. Under the lock.
    @inline(never)
    private func move(_ timer: TimerPointer, from old: ModeSetPointer, to new: ModeSetPointer) {
        let kept = deadlineInPass(of: timer)
        old.pointee.timers.remove(timer)
        timer.count(in: old, -1)
        timer.pointee.set = new
        timer.count(in: new, 1)
        if timer.pointee.item.has(.firing) { park(timer) } else { queue(timer, at: kept ?? effectiveDeadline(of: timer)) }
    }

    /// Queues a timer of this loop in its set, if it has one; a timer that is firing is queued when its call ends. Under the lock.
    @inline(never)
    func enqueue(_ timer: TimerPointer) {
        if timer.pointee.set == nil { return }
        if timer.pointee.item.has(.firing) { park(timer) } else { queue(timer, at: effectiveDeadline(of: timer)) }
    }

    /// Queues a timer of this loop for a deadline that may be another than its own. Under the lock.
    @inline(never)
    func queue(_ timer: TimerPointer, at deadline: UInt64) {
        timer.pointee.set.unsafelyUnwrapped.pointee.timers.insert(timer, at: deadline)
        adjustSleep(for: deadline)
    }

    /// Queues a timer of this loop for the date that was just set, after its equals; a timer that is firing is queued when its call ends.
    /// Under the lock; false if it is not queued.
    fileprivate func requeue(_ timer: TimerPointer) -> Bool {
        guard let set = timer.pointee.set else { return false }
        if deadlineInPass(of: timer) != nil { return true }
        timer.pointee.arrival = nextTimerArrival()
        if timer.pointee.item.has(.firing) { return false }
        set.pointee.timers.move(timer, to: effectiveDeadline(of: timer))
        return true
    }

    /// The deadline for a timer to be queued for in its set. Under the lock.
    private func effectiveDeadline(of timer: TimerPointer) -> UInt64 {
        let deadline = timer.deadline
        return deadline >= pointee.minimumDeadline ? deadline : deadlineBehindPass(timer)
    }

    /// A past date set in a timer pass: the timer waits for the next pass, and so is queued for another deadline until this one ends.
    @inline(never)
    private func deadlineBehindPass(_ timer: TimerPointer) -> UInt64 {
        timer.pointee.set.unsafelyUnwrapped.pointee.timers.hasDisplaced = true
        pointee.minimumDeadline &+= 1
        return pointee.minimumDeadline
    }

    /// The deadline that a queued timer keeps although its date or modes have changed, because a timer pass that is under way, perhaps of an
    /// outer run, is going to fire it by that deadline and its date is in the past; otherwise nil. For a repeating timer whose date was set
    /// to a past one, the grid starts only now, too late for the pass; therefore the date itself counts. O(number of modes). Under the lock.
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

    /// RLRunLoopTimerInvalidate: invalidates the timer, which may call its context's release, and ends a run of another thread whose mode is
    /// now empty.
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

    /// RLRunLoopGetNextTimerFireDate: 0 if the mode has no timer. A timer that fires is not queued, but counts.
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

    /// The mode's timer that fires first, and when; nil if it has none. O(number of sets). Under the lock.
    @inline(__always)
    func firstTimer(_ mode: ModePointer) -> (timer: TimerPointer, key: TimerKey)? {
        var earliest: (timer: TimerPointer, key: TimerKey)?
        for index in 0..<mode.pointee.sets.count {
            guard let first = mode.pointee.sets[index].pointee.timers.first() else { continue }
            if earliest == nil || TimerKey.precedes(first.key, earliest.unsafelyUnwrapped.key) { earliest = first }
        }
        return earliest
    }

    /// Until when the mode's timers let the loop sleep, with their tolerances; `.max` if there are none. O(number of sets). Under the lock.
    func latestWake(_ mode: ModePointer) -> UInt64 {
        var latest = UInt64.max
        for index in 0..<mode.pointee.sets.count { latest = Swift.min(latest, mode.pointee.sets[index].pointee.timers.latestWake()) }
        return latest
    }
}

extension TimerPointer {
    /// `setNextFireDate` for the most frequent case: a simple timer that the calling thread owns, in the default mode only, from one far date
    /// to another, and no timer pass under way. Otherwise false: nothing has been done, and `ThreadContextPointer.stepOut` must follow.
    @inline(__always)
    func trySetNextFireDate(_ date: Double) -> Bool {
        guard let own = ThreadContextPointer.tryLockCurrent(), case let loop = RunLoopPointer(own),
            let set = loop.pointee.defaultSet, pointee.set == set, loop.pointee.timerPasses == 0,
            set.pointee.timers.tryMove(item.state, to: Clock.instant(ofTimerDate: date).nanoseconds)
        else { return false }
        pointee.date = date
        pointee.arrival = loop.nextTimerArrival()
        own.unlockAfterTryLock()
        return true
    }

    /// RLRunLoopTimerSetNextFireDate. O(1) from and to far dates, else O(log n). Any thread; a thread other than the loop's wakes it for a
    /// pass, as in CFRunLoop. A one-shot timer that is firing ends all the same.
    func setNextFireDate(_ date: Double) {
        let owner = item.lock()
        if pointee.item.has(.valid) {
            setDate(date)
            let loop = RunLoopPointer(owner)
            if loop.requeue(self) && loop.maySleep { loop.wakeUp() }
        }
        owner.unlock()
    }

    /// `invalidate` for the most frequent case: a simple timer that the calling thread owns, in the default mode only, with a far deadline
    /// and one client reference. Otherwise false: nothing has been done, and `ThreadContextPointer.stepOut` must follow. The address may be
    /// any handle.
    @inline(__always)
    func tryInvalidate() -> Bool {
        guard let own = ThreadContextPointer.tryLockCurrent(), let set = RunLoopPointer(own).pointee.defaultSet,
            Handle.isKindWithOneReference(.timer, self), pointee.set == set, set.pointee.timers.tryRemove(item.state)
        else { return false }
        set.pointee.timerCount &-= 1
        pointee.set = nil
        // The client has a reference, so the loop's is not the last. Last: from here on another thread may release the client's.
        item.state = .ended
        own.unlockAfterTryLock()
        return true
    }

    /// `deadline`, for a simple timer.
    fileprivate var simpleDeadline: UInt64 { Clock.instant(ofTimerDate: pointee.date).nanoseconds }

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

    /// RLRunLoopTimerSetTolerance. O(log n). Any thread. False if out of memory.
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
        // The timer keeps the deadline it is queued for, and its arrival. nil: it is in no queue.
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
