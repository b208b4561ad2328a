import CLinux

/// A function that is to be called after a delay: a record of the function and info, by which it can be found, and a one-shot timer, which
/// fires like any timer (step 9 of a pass).
///
/// While the record is linked in its loop's list, the list owns a reference to the timer. The release function of the timer's context frees
/// the record, so it is never freed while the timer is valid. The links are guarded by the loop's lock.
struct DelayedPerform: Linked, ~Copyable {
    let loop: RunLoopPointer
    let function: PerformRequest.Function
    let info: UnsafeMutableRawPointer?
    /// The release function, if there is one. The thread that takes the record out of the list takes this over as well.
    var extra: PerformExtraPointer?
    var timer: TimerPointer?
    /// Whether the function is being called, and so cannot be cancelled. Guarded by the loop's lock.
    var isRunning = false
    var previous: DelayedPerformPointer?
    var following: DelayedPerformPointer?
}

typealias DelayedPerformPointer = UnsafeMutablePointer<DelayedPerform>

extension RunLoopPointer {
    /// RLRunLoopPerformFunctionAfterDelay and RLRunLoopPerformFunctionAfterDelayWithRelease. Returns false with errno, without calling the
    /// release function. O(log n); allocates the record, and takes the timer and its detail from slabs. Any thread.
    func perform(after seconds: Double, _ request: PerformRequest, _ current: ThreadContextPointer) -> Bool {
        var request = request
        let extra = request.takeRelease()
        let isQueued = perform(after: seconds, request, extra, current)
        if !isQueued { free(extra) }
        return isQueued
    }

    private func perform(
        after seconds: Double, _ request: PerformRequest, _ extra: PerformExtraPointer?, _ current: ThreadContextPointer
    ) -> Bool {
        guard let memory = malloc(MemoryLayout<DelayedPerform>.size) else { return false }
        let delayed = memory.bindMemory(to: DelayedPerform.self, capacity: 1)
        delayed.initialize(to: DelayedPerform(loop: self, function: request.function, info: request.info, extra: extra))
        let context = ClientContext(
            info: memory, retain: nil, release: { free(UnsafeMutableRawPointer(mutating: $0)) }, copyDescription: nil)
        // The date serves queries only. The deadline is computed from the time of this call, because dates are coarser: a function without
        // a delay is due in the next pass, but after all timers that are due already.
        let date = Clock.clamped(Clock.currentDate + max(seconds, 0))
        let deadline = Clock.now.advanced(by: Clock.nanoseconds(seconds))
        guard let timer = TimerPointer.create(current, date: date, interval: 0, order: 0, { _, info in fireDelayed(info) }, context)
        else {
            free(memory)
            systemError = ENOMEM
            return false
        }
        timer.keepDeadline(deadline)
        delayed.pointee.timer = timer
        let isOpen = locked { () -> Bool in
            if pointee.isOpen { link(delayed, timer) }
            return pointee.isOpen
        }
        if isOpen { request.forEachMode { add(timer, in: $0) } }
        let isQueued = isOpen && (timer.isBound || !unlinkAfterFailure(timer))
        timer.release()
        if !isQueued { systemError = isOpen ? ENOMEM : ESRCH }
        return isQueued
    }

    /// Takes the record of a timer that could not be queued, for lack of memory, out of the list. Returns false if it is no longer there:
    /// then the timer was queued after all, has fired or been cancelled since, and the record has been freed.
    private func unlinkAfterFailure(_ timer: TimerPointer) -> Bool {
        let isThere = locked { () -> Bool in
            let delayed = pointee.delayed?.first { $0.pointee.timer == timer }
            return delayed.flatMap { unlink($0) } != nil
        }
        if isThere { timer.release() }
        return isThere
    }

    /// Links a record into the loop's list, with a reference to its timer. The caller holds the lock.
    private func link(_ delayed: DelayedPerformPointer, _ timer: TimerPointer) {
        timer.pointee.item.object.retain()
        delayed.link(into: &pointee.delayed)
    }

    /// Takes a record out of the list, and returns its timer with the list's reference. Returns nil if the record was not linked. The
    /// caller holds the lock.
    fileprivate func unlink(_ delayed: DelayedPerformPointer) -> TimerPointer? {
        delayed.unlink(from: &pointee.delayed) ? delayed.pointee.timer : nil
    }

    /// Cancels the chosen delayed functions and returns how many there were. Moves their release functions to the front of `withdrawn`. The
    /// caller finds them there by `withdrawal` and has to call them. O(number of delayed functions). Any thread.
    func cancelDelayed(_ choice: PerformChoice, _ withdrawal: Int = 0) -> Int {
        var count = 0
        while let timer = locked({
            unlinkFirst(withdrawal) { !$0.pointee.isRunning && choice.includes($0.pointee.function, $0.pointee.info) }
        }) {
            Self.invalidate(timer)
            timer.release()
            count += 1
        }
        return count
    }

    /// Takes out of the list the records whose functions the thread was calling when it exited. Their release functions are called when the
    /// loop's requests are dropped. Must precede `abandonCalls`, which invalidates the timers. Loop thread only.
    func endRunningDelayed() {
        while let timer = locked({ unlinkFirst(0) { $0.pointee.isRunning } }) { timer.release() }
    }

    /// In the child of fork(): makes it possible to cancel the functions that a missing thread was calling. The caller holds all locks.
    func resetRunningDelayedAfterFork() { pointee.delayed?.forEach { $0.pointee.isRunning = false } }

    /// Takes the first chosen record out of the list. Returns its timer with a reference; nil if none is left. The caller holds the lock.
    private func unlinkFirst(_ withdrawal: Int, where isChosen: (DelayedPerformPointer) -> Bool) -> TimerPointer? {
        guard let delayed = pointee.delayed?.first(where: isChosen) else { return nil }
        withdraw(delayed.pointee.extra, withdrawal)
        return unlink(delayed)
    }
}

/// The callback of the timer, which calls the client's function. `info` is the `DelayedPerform`. It stays in the list meanwhile, so that its
/// release function is not lost if the function ends the thread, or if another thread forks.
private func fireDelayed(_ info: UnsafeMutableRawPointer?) {
    let delayed = info.unsafelyUnwrapped.assumingMemoryBound(to: DelayedPerform.self)
    let loop = delayed.pointee.loop
    let isCancelled = loop.locked { () -> Bool in
        // The function of a record that is no longer linked has been cancelled.
        if delayed.pointee.previous == nil && loop.pointee.delayed != delayed { return true }
        delayed.pointee.isRunning = true
        return false
    }
    if isCancelled { return }
    RUNLOOP_IS_CALLING_OUT_TO_A_PERFORMED_FUNCTION(delayed.pointee.info, delayed.pointee.function)
    // The record is still linked: while `isRunning`, only the exit of this thread takes it out. So its release function is this thread's.
    let timer = loop.locked { loop.unlink(delayed) }
    let extra = delayed.pointee.extra
    timer?.release()
    if let extra { PerformRequest.finishExtra(extra, .done) }
}
