import Synchronization

// Timers in a loop.

extension RunLoopPointer {
    /// RLRunLoopAddTimer. O(log n); reads no clock. Any thread. errno on failure.
    @inline(__always)
    func add(_ timer: TimerPointer, in name: StringPointer) {
        guard let owner = timer.item.tryLock() else { return addSeldom(timer, in: name) }
        let deadline = Clock.instant(ofTimerDate: timer.pointee.date).nanoseconds
        guard owner == threadContext, timer.isPlainlyNew, let set = setOfDefaultMode(name), set.pointee.hasRoomForTimer,
            deadline >= pointee.minimumDeadline
        else {
            owner.unlockAfterTryLock()
            return addSeldom(timer, in: name)
        }
        timer.enterPlainly(set, at: deadline, arrival: nextTimerArrival())
        owner.unlockAfterTryLock()
    }

    /// Later than that of all timers that the loop has. Under the lock.
    @inline(__always)
    func nextTimerArrival() -> UInt {
        pointee.timerArrivals &+= 2
        return pointee.timerArrivals
    }

    /// The same for a timer without a detail that gets another deadline.
    @inline(__always)
    fileprivate func renewPlainArrival(of timer: TimerPointer) { timer.setPlainArrival(nextTimerArrival()) }

    /// The set of the default mode's items, if that is the name and the mode has had any. Under the lock.
    @inline(__always)
    private func setOfDefaultMode(_ name: StringPointer) -> ModeSetPointer? {
        guard pointee.isOpen, let mode = pointee.modes[1], mode.pointee.name == name else { return nil }
        return mode.pointee.soleSet
    }

    /// Any timer to any mode.
    @inline(never)
    func addSeldom(_ timer: TimerPointer, in name: StringPointer) {
        if timer.pointee.item.owner != threadContext { return addForeign(timer, in: name) }
        let owner = timer.item.lockInlined()
        if owner == threadContext {
            addLocked(timer, in: name)
            threadContext.unlockInlined()
        } else {
            owner.unlockInlined()
            addForeign(timer, in: name)
        }
    }

    /// A timer that another thread made or had: it moves here, if it is in no other loop.
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

    @inline(never)
    private func addLocked(_ timer: TimerPointer, in name: StringPointer) {
        guard timer.pointee.item.has(ItemHeader.valid), pointee.isOpen else { return }
        noteUse(of: EverUsed.timers)
        let choice = chooseInlined(name, make: true)
        let old = timer.pointee.set
        if isComplete(old, choice) { return }
        guard let new = set(adding: choice, to: old), new.pointee.timers.reserve(new.pointee.timerCount + 1, for: timer) else { return }
        if let old { return move(timer, from: old, to: new) }
        timer.item.retainInternal()
        timer.pointee.item.set(ItemHeader.bound)
        timer.pointee.set = new
        new.pointee.timerCount += 1
        timer.setArrival(nextTimerArrival())
        enqueue(timer)
    }

    /// For a timer of this loop that comes into other modes, with room made for it. Under the lock.
    @inline(never)
    private func move(_ timer: TimerPointer, from old: ModeSetPointer, to new: ModeSetPointer) {
        let turn = turn(of: timer)
        old.pointee.timers.removeSeldom(timer)
        old.pointee.timerCount -= 1
        timer.pointee.set = new
        new.pointee.timerCount += 1
        if timer.pointee.item.has(ItemHeader.firing) { park(timer) } else { queueSeldom(timer, at: turn ?? place(timer)) }
    }

    /// Queues a timer of this loop in its set, unless it is firing (then that does it at the end). Under the lock.
    @inline(__always)
    func enqueue(_ timer: TimerPointer) {
        if timer.pointee.set == nil { return }
        if timer.pointee.item.has(ItemHeader.firing) { return park(timer) }
        queue(timer, at: place(timer))
    }

    /// Under the lock.
    @inline(__always)
    func queue(_ timer: TimerPointer, at deadline: UInt64) {
        _ = timer.pointee.set.unsafelyUnwrapped.pointee.timers.insert(timer, at: deadline)
        adjustSleep(for: deadline)
    }

    /// The same for callers that do it seldom: compiled once.
    @inline(never)
    fileprivate func queueSeldom(_ timer: TimerPointer, at deadline: UInt64) { queue(timer, at: deadline) }

    /// The same for callers that do it seldom: compiled once.
    @inline(never)
    func enqueueSeldom(_ timer: TimerPointer) { enqueue(timer) }

    /// Puts a timer of this loop that has got another deadline where that belongs, behind its equals, unless it is firing (then that does
    /// it at the end); waking the loop is the caller's. Under the lock.
    @inline(__always)
    fileprivate func move(_ timer: TimerPointer) {
        if timer.pointee.item.has(ItemHeader.firing) { return timer.setArrival(nextTimerArrival()) }
        let turn = turn(of: timer)
        if turn == nil { timer.setArrival(nextTimerArrival()) }
        let deadline = turn ?? place(timer)
        timer.pointee.set.unsafelyUnwrapped.pointee.timers.move(timer, to: deadline)
    }

    /// The deadline for a timer to be queued under in its set. Under the lock.
    @inline(__always)
    private func place(_ timer: TimerPointer) -> UInt64 {
        let deadline = timer.deadline
        return deadline >= pointee.minimumDeadline ? deadline : placeBehindPass(timer)
    }

    /// A past date set in a timer pass: the timer waits for the next pass, and so stands under another deadline until this one ends.
    @inline(never)
    private func placeBehindPass(_ timer: TimerPointer) -> UInt64 {
        timer.pointee.set.unsafelyUnwrapped.pointee.timers.hasDisplaced = true
        pointee.minimumDeadline &+= 1
        return pointee.minimumDeadline
    }

    /// The deadline by which a timer has a turn in the timer pass that is under way, and keeps it, because its date is past then; else nil.
    /// Under the lock.
    @inline(__always)
    private func turn(of timer: TimerPointer) -> UInt64? { pointee.timerPasses == 0 ? nil : turnInPass(timer) }

    /// The grid of a repeating timer whose date was set to a past one starts now, which is behind the pass: what was asked for counts.
    @inline(never)
    private func turnInPass(_ timer: TimerPointer) -> UInt64? {
        let asked = Swift.min(timer.deadline, Clock.instant(ofTimerDate: timer.pointee.date).nanoseconds)
        guard asked <= pointee.timersDueBy, let mode = pointee.currentMode, let set = timer.pointee.set,
            set.pointee.modes.contains(mode.pointee.number), let turn = set.pointee.timers.deadline(of: timer), turn <= pointee.timersDueBy
        else { return nil }
        return turn
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
        threadContext.unlock()
        if isDead { timer.destroySeldom() }
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
            var earliest = firstTimer(mode)
            for index in 0..<pointee.firing.count {
                let timer = pointee.firing[index].timer
                guard timer.pointee.item.owner == threadContext, let set = timer.pointee.set,
                    set.pointee.modes.contains(mode.pointee.number)
                else { continue }
                let deadline = timer.deadline
                if earliest == nil || deadline < earliest.unsafelyUnwrapped.deadline { earliest = (timer, deadline) }
            }
            return earliest?.timer.pointee.date ?? 0
        }
    }

    /// The mode's timer with the earliest deadline. O(number of sets). Under the lock.
    @inline(__always)
    func firstTimer(_ mode: ModePointer) -> (timer: TimerPointer, deadline: UInt64)? {
        var earliest: (timer: TimerPointer, deadline: UInt64)?
        for index in 0..<mode.pointee.sets.count {
            guard let first = mode.pointee.sets[index].pointee.timers.first else { continue }
            if earliest == nil || first.deadline < earliest.unsafelyUnwrapped.deadline { earliest = first }
        }
        return earliest
    }

    /// How long the mode's timers let the loop sleep. O(number of sets). Under the lock.
    func latestWake(_ mode: ModePointer) -> UInt64 {
        var latest = UInt64.max
        for index in 0..<mode.pointee.sets.count { latest = Swift.min(latest, mode.pointee.sets[index].pointee.timers.latestWake) }
        return latest
    }
}

extension TimerPointer {
    /// RLRunLoopTimerSetNextFireDate. O(log n). Any thread; another than the loop's wakes it for a pass, as in
    /// CFRunLoop. A one-shot timer that fires ends all the same.
    @inline(__always)
    func setNextFireDate(_ date: Double) {
        guard let owner = item.tryLock() else { return setNextFireDate(date, alreadyLocked: nil) }
        let deadline = Clock.instant(ofTimerDate: date).nanoseconds
        guard isPlainlyQueued, deadline >= RunLoopPointer(owner).pointee.minimumDeadline else {
            return setNextFireDate(date, alreadyLocked: owner)
        }
        pointee.date = date
        RunLoopPointer(owner).renewPlainArrival(of: self)
        pointee.set.unsafelyUnwrapped.pointee.timers.movePlain(self, to: deadline)
        owner.unlockAfterTryLock()
    }

    /// The same for all timers. `alreadyLocked`: the timer's owner, if its lock was taken by `tryLock`.
    @inline(never)
    private func setNextFireDate(_ date: Double, alreadyLocked: ThreadContextPointer?) {
        let owner = alreadyLocked ?? item.lock()
        if pointee.item.has(ItemHeader.valid) {
            setDate(date)
            if pointee.set != nil {
                let loop = RunLoopPointer(owner)
                loop.move(self)
                if !loop.isCurrent && !pointee.item.has(ItemHeader.firing) { loop.wakeUp() }
            }
        }
        owner.unlock()
    }

    /// RLRunLoopTimerSetTolerance. O(log n). Any thread. False if out of memory.
    func setTolerance(_ seconds: Double) -> Bool {
        let owner = item.lock()
        defer { owner.unlock() }
        guard pointee.item.has(ItemHeader.valid) else { return true }
        if !pointee.hasDetail {
            if seconds <= 0 { return true }
            guard makeDetail() else { return false }
        }
        let detail = pointee.detail.unsafelyUnwrapped
        // Its place among equals, and its turn in a pass, stay what they are. nil: it is in no queue.
        let place = pointee.set.flatMap { $0.pointee.timers.deadline(of: self) }
        pointee.set?.pointee.timers.removeSeldom(self)
        let before = detail.pointee.tolerance
        detail.pointee.tolerance = detail.pointee.interval > 0 ? Swift.min(seconds, detail.pointee.interval / 2) : seconds
        let hasRoom = pointee.set.map { $0.pointee.timers.reserve($0.pointee.timerCount, for: self) } ?? true
        if !hasRoom { detail.pointee.tolerance = before }
        if let place { RunLoopPointer(owner).queueSeldom(self, at: place) }
        return hasRoom
    }
}
