import Synchronization

// Steps 6 to 8: sleeping. Loop thread only.

extension RunLoopPointer {
    /// Steps 6 to 8: notifies observers, sleeps until a descriptor is ready, a timer is due, the deadline has passed, or the loop is woken
    /// up, and notifies observers again. Loop thread only; calls user code.
    func waitForEvents(_ mode: ModePointer, until deadline: Instant) {
        notify(mode, .beforeWaiting)
        releaseAutoreleasedInPass()
        var sleeps = 0
        while sleep(mode, until: deadline, extent(mode), again: sleeps) == .again { sleeps += 1 }
        notify(mode, .afterWaiting)
    }

    private enum Sleep { case finished, again }

    /// Sleeps once. Returns `again` if the loop only has to recompute what to sleep for and how long, or if a Unix signal interrupted the
    /// sleep. `count`: how many sleeps of this pass have ended like that.
    private func sleep(_ mode: ModePointer, until deadline: Instant, _ extent: EventBatch.Extent, again count: Int = 0) -> Sleep {
        lock()
        let target = hasEverUsed(EverUsed.descriptors) ? self.target(mode) : .nothing
        let wakeDescriptor = target.isNothing ? nil : pointee.poller.wakeDescriptor
        let timerLimit = hasEverUsed(EverUsed.timers) ? Instant(nanoseconds: latestWake(mode)) : .never
        let limit = Swift.min(Swift.min(deadline, timerLimit), pointee.retryDeadline)
        pointee.sleepLimit.store(limit.nanoseconds, ordering: .relaxed)
        unlock()
        defer { pointee.sleepLimit.store(0, ordering: .relaxed) }

        var now = Instant.distantPast
        if limit != .never {
            now = Clock.now
            if now >= limit {
                if !target.isNothing { pointee.eventBatch.wait(target, until: .distantPast, extent) }
                takeWakeUp()
                return .finished
            }
            // A run may end 50 µs late, but timers have to be on time.
            if timerLimit < deadline { pointee.timerSlack.sharpen() }
        }
        let spin = pointee.spinInterval.load(ordering: .relaxed)
        if spin > 0 && Thread.maySpin {
            pointee.wake.spin(until: Swift.min(limit, Clock.now.advanced(by: spin)))
            now = Clock.now
        }

        // A callback of this pass may have completed the request that the run waits for. That does not wake the thread's own loop.
        if hasAwaited || wasEmptied(mode) { return .finished }
        if pointee.wake.goToSleep(inEpoll: wakeDescriptor) {
            Probe.report(.willSleep, .sleep, self, number: UInt(limit.kernelNanoseconds), info: mode.pointee.name)
            if target.isNothing {
                pointee.wake.sleepOnWord(until: limit)
            } else {
                pointee.eventBatch.sleep(target, until: limit, extent, now, sleepsBefore: count)
            }
            let reason = pointee.wake.wakeFromSleep()
            Probe.report(.didSleep, .sleep, self, number: UInt(reason.rawValue))
            if reason != .nothing && !target.isNothing { pointee.eventBatch.countWake() }
            if limit != .never { Clock.sampleClocksOncePerTick() }
            return end(of: reason, mode, limit)
        }
        if !target.isNothing && mustPollInPass() { pointee.eventBatch.wait(target, until: .distantPast, extent) }
        return end(of: pointee.wake.wakeFromSleep(), mode, limit)
    }

    /// Whether a pass that cannot sleep has to poll the kernel for events. A loop that is woken in every pass never sleeps, and would
    /// otherwise never poll. So it polls in every eighth such pass, and when 0.1 ms have passed since it last did. Counts the pass.
    private func mustPollInPass() -> Bool {
        pointee.passesUnpolled += 1
        let now = Clock.now
        if pointee.passesUnpolled < 8 && now < pointee.unpolledSince.advanced(by: 100_000) { return false }
        pointee.passesUnpolled = 0
        pointee.unpolledSince = now
        return true
    }

    /// Whether a sleep that ended for this reason is over, or has to be repeated.
    private func end(of reason: WakeWord.Reason, _ mode: ModePointer, _ limit: Instant) -> Sleep {
        switch reason {
        case .wokenUp:
            pointee.activation.tookWake = true
            return .finished
        case .adjusted: return pointee.eventBatch.isEmpty && !wasEmptied(mode) ? .again : .finished
        case .nothing: return isSleepOver(limit) ? .finished : .again
        }
    }

    /// Whether an event or the time limit has ended the sleep. A Unix signal also ends the system call early, but is in itself no reason
    /// for a pass.
    private func isSleepOver(_ limit: Instant) -> Bool {
        if !pointee.eventBatch.isEmpty { return true }
        return limit != .never && Clock.now >= limit
    }
}
