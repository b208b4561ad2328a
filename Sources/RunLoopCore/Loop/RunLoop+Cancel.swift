import CLinux

// Cancelling functions that wait to be called, on behalf of a client or because the loop closes. No step of the iteration.

extension RunLoopPointer {
    /// RLRunLoopCancelPerformFunction: returns how many requests were cancelled. O(number of requests). Any thread; call without a lock
    /// held. Calls release functions, and the probe.
    ///
    /// A release function may end the thread (pthread_exit). Therefore all requests are taken out before the first is called, and the loop
    /// records which are still to be called. If the thread ends, the others are called when the loop's thread exits.
    func cancel(_ function: PerformRequest.Function?, _ info: UnsafeMutableRawPointer?) -> Int {
        let choice = PerformChoice.all(of: function, info)
        let withdrawal = locked { nextWithdrawal() }
        let delayed = cancelDelayed(choice, withdrawal)
        let withdrawn = withdraw(choice, withdrawal)
        if withdrawn > 0 && !isCurrent { noteEmptied() }
        while let extra = locked({ takeFirstRelease(withdrawal) }) { PerformRequest.finishExtra(extra, .cancelled) }
        return delayed + withdrawn
    }

    /// Takes out all chosen requests, which will never run, and wakes the threads that wait for them. Returns how many there were. If some
    /// have release functions, the caller passes a number as `withdrawal`, calls `takeFirstRelease` with it until that returns nil, and
    /// calls these functions. Does not depend on memory being available. Any thread; call without a lock held. Calls no user code but the
    /// probe.
    func withdraw(_ choice: PerformChoice, _ withdrawal: Int = 0) -> Int {
        var total = 0
        var wasFull = false
        withUnsafeTemporaryAllocation(of: PerformRequest.self, capacity: 32) { few in
            repeat {
                // Each search walks the whole queue. So if the first one found more than fit, the next one makes room for all, memory
                // permitting.
                var many = PlainList<PerformRequest>()
                if wasFull { _ = many.reserve(locked { searchCapacity }) }
                let memory = UnsafeMutableBufferPointer(start: many.elements, count: many.capacity)
                let taken = memory.count > few.count ? memory : few
                var count = 0
                locked {
                    takeChosen(choice, into: taken, &count)
                    saveReleases(of: taken, count, withdrawal)
                }
                for index in 0..<count { taken[index].finishUncalled(.cancelled) }
                total += count
                wasFull = count == taken.count
            } while wasFull
        }
        return total
    }

    /// Moves the release functions of requests that were taken out into the list `withdrawn`: behind those of this withdrawal, so that they
    /// are called in the order of the queue; if there are none yet, to the front, where `takeFirstRelease` finds them first. The caller
    /// holds the lock.
    private func saveReleases(of taken: UnsafeMutableBufferPointer<PerformRequest>, _ count: Int, _ withdrawal: Int) {
        var last: PerformExtraPointer?
        var next = pointee.withdrawn
        while let extra = next {
            if extra.pointee.withdrawal == withdrawal { last = extra }
            next = extra.pointee.next
        }
        for index in 0..<count {
            guard let extra = taken[index].takeRelease() else { continue }
            if let last {
                extra.pointee.withdrawal = withdrawal
                extra.pointee.next = last.pointee.next
                last.pointee.next = extra
            } else {
                withdraw(extra, withdrawal)
            }
            last = extra
        }
    }

    /// Returns the number of a new withdrawal. The caller holds the lock.
    func nextWithdrawal() -> Int {
        pointee.withdrawals &+= 1
        return pointee.withdrawals
    }

    /// Adds a release function, if there is one, to the front of the list `withdrawn`. The caller holds the lock.
    func withdraw(_ extra: PerformExtraPointer?, _ withdrawal: Int) {
        guard let extra else { return }
        extra.pointee.withdrawal = withdrawal
        extra.pointee.next = pointee.withdrawn
        pointee.withdrawn = extra
    }

    /// Takes out the first release function that this withdrawal, or any if it is nil, still has to call. Returns nil if there is none. The
    /// caller owns the result, and passes it to `PerformRequest.finishExtra`. The caller holds the lock.
    func takeFirstRelease(_ withdrawal: Int?) -> PerformExtraPointer? {
        var previous: PerformExtraPointer?
        var next = pointee.withdrawn
        while let extra = next, let withdrawal, extra.pointee.withdrawal != withdrawal {
            previous = extra
            next = extra.pointee.next
        }
        guard let extra = next else { return nil }
        if let previous { previous.pointee.next = extra.pointee.next } else { pointee.withdrawn = extra.pointee.next }
        return extra
    }

    /// The size of a buffer that a search for requests does not fill, which is how `withdraw` knows that it has found all of them: one more
    /// than the number of requests that may be waiting. The caller holds the lock.
    private var searchCapacity: Int {
        takeIntoHeld()
        var count = pointee.held.count
        for level in 0..<pointee.batches.count { count += pointee.batches[level].count }
        return count + 1
    }

    /// Takes as many of the chosen requests as there is room for, and counts them: those of running batches that wait to be called or to be
    /// put back, those in `held`, and, if there was no memory to move them, those in the inbox. The caller holds the lock.
    private func takeChosen(
        _ choice: PerformChoice, into taken: UnsafeMutableBufferPointer<PerformRequest>, _ count: inout Int
    ) {
        let hasTakenInbox = takeIntoHeld()
        for level in 0..<pointee.batches.count {
            let batch = pointee.batches[level]
            for index in 0..<batch.kept { takeIfChosen(batch.requests + index, choice, into: taken, &count) }
            for index in batch.next..<batch.count { takeIfChosen(batch.requests + index, choice, into: taken, &count) }
        }
        var kept = 0
        for index in 0..<pointee.held.count {
            takeIfChosen(pointee.held.elements.unsafelyUnwrapped + index, choice, into: taken, &count)
            if pointee.held[index].modes == nil { continue }
            pointee.held[kept] = pointee.held[index]
            kept += 1
        }
        pointee.held.truncate(to: kept)
        pointee.heldStart = 0
        if !hasTakenInbox { inbox.forEach { takeIfChosen($0, choice, into: taken, &count) } }
    }

    /// Moves the request at `slot` to the end of `taken` if it is chosen and there is room, and leaves an entry marked as finished, because
    /// the loop may be in the middle of the list that contains it. The caller holds the lock.
    private func takeIfChosen(
        _ slot: UnsafeMutablePointer<PerformRequest>, _ choice: PerformChoice,
        into taken: UnsafeMutableBufferPointer<PerformRequest>, _ count: inout Int
    ) {
        guard count < taken.count, slot.pointee.modes != nil, choice.includes(slot.pointee) else { return }
        taken[count] = slot.pointee
        count += 1
        slot.pointee.markFinished()
    }

    // MARK: thread exit

    /// Drops all requests when the thread exits, after the inbox has been closed: they will never run. Does not depend on memory being
    /// available. Call without the lock held; calls release functions. If one ends the thread, the loop is closed once more.
    func dropRequests() {
        withdrawAll(locked { nextWithdrawal() })
        while let extra = locked({ takeFirstRelease(nil) }) { PerformRequest.finishExtra(extra, .loopIsGone) }
    }

    /// Takes out all requests, and wakes the threads that wait for them. Their release functions are left in `withdrawn`. Call without the
    /// lock held; calls no user code but the probe.
    private func withdrawAll(_ withdrawal: Int) {
        var held = PlainList<PerformRequest>()
        var posted = PlainList<PerformRequest>()
        var batches = PlainList<PerformBatch>()
        locked {
            swap(&held, &pointee.held)
            pointee.heldStart = 0
            _ = inbox.empty(into: &posted, room: 0)
            swap(&batches, &pointee.batches)
        }
        for level in 0..<batches.count {
            let batch = batches[level]
            withdraw(batch.requests, 0..<batch.kept, withdrawal)
            // The thread has exited inside the function that was being called.
            withdraw(batch.requests, (batch.isCalling ? batch.next - 1 : batch.next)..<batch.count, withdrawal)
            free(batch.requests)
        }
        withdraw(held.elements, 0..<held.count, withdrawal)
        withdraw(posted.elements, 0..<posted.count, withdrawal)
    }

    /// Finishes the requests in this range, except those that are finished already, and leaves their release functions in `withdrawn`.
    @inline(never)
    private func withdraw(_ requests: UnsafeMutablePointer<PerformRequest>?, _ range: Range<Int>, _ withdrawal: Int) {
        guard let requests else { return }
        let taken = UnsafeMutableBufferPointer(rebasing: UnsafeMutableBufferPointer(start: requests, count: range.upperBound)[range])
        locked { saveReleases(of: taken, taken.count, withdrawal) }
        for request in taken where request.modes != nil { request.finishUncalled(.loopIsGone) }
    }
}
