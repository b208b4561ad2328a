import CLinux

// Cancelling functions that wait to be called, by any thread or by the end of the loop. No step of the iteration.

extension RunLoopPointer {
    /// RLRunLoopCancelPerformFunction: returns how many requests it has cancelled. O(number of requests). Any thread; calls release
    /// functions. Since any of these may end the thread, all requests are taken out before the first call, and the loop knows which release
    /// functions are left to call.
    func cancel(_ function: PerformRequest.Function?, _ info: UnsafeMutableRawPointer?) -> Int {
        let choice = PerformChoice.all(of: function, info)
        let delayed = cancelDelayed(choice)
        let withdrawal = locked { () -> Int in
            pointee.withdrawals &+= 1
            return pointee.withdrawals
        }
        let withdrawn = withdraw(choice, withdrawal)
        if withdrawn > 0 && !isCurrent { noteEmptied() }
        while let extra = locked({ nextRelease(withdrawal) }) { PerformRequest.finish(extra, .cancelled) }
        return delayed + withdrawn
    }

    /// Takes out all chosen requests, which will never run, and wakes the threads that wait for them; returns how many. Their release
    /// functions, if there are any, are left to `nextRelease` of this withdrawal. Needs no memory. Any thread.
    func withdraw(_ choice: PerformChoice, _ withdrawal: Int = 0) -> Int {
        var total = 0
        var count = 0
        withUnsafeTemporaryAllocation(of: PerformRequest.self, capacity: 32) { few in
            repeat {
                // Each search walks the whole queue. So if there were more than 32, the next one makes room for all, if there is memory.
                var many = PlainList<PerformRequest>()
                if count > 0 { _ = many.reserve(locked { queuedCount }) }
                let memory = UnsafeMutableBufferPointer(start: many.elements, count: many.capacity)
                let taken = memory.count > few.count ? memory : few
                count = 0
                locked {
                    take(choice, into: taken, &count)
                    keepReleases(of: taken, count, withdrawal)
                }
                for index in 0..<count { taken[index].finishUncalled(.cancelled, by: self) }
                total += count
                if count < taken.count { count = 0 }
            } while count > 0
        }
        return total
    }

    /// Moves the release functions of requests that were taken out into the list `withdrawn`: after those of the same withdrawal, or to its
    /// beginning. Under the lock.
    private func keepReleases(of taken: UnsafeMutableBufferPointer<PerformRequest>, _ count: Int, _ withdrawal: Int) {
        var last: PerformExtraPointer?
        var next = pointee.withdrawn
        while let extra = next {
            if extra.pointee.withdrawal == withdrawal { last = extra }
            next = extra.pointee.next
        }
        for index in 0..<count {
            guard let extra = taken[index].takeRelease() else { continue }
            extra.pointee.withdrawal = withdrawal
            if let last {
                extra.pointee.next = last.pointee.next
                last.pointee.next = extra
            } else {
                extra.pointee.next = pointee.withdrawn
                pointee.withdrawn = extra
            }
            last = extra
        }
    }

    /// Takes out the first release function that this withdrawal, or with nil any, still has to call; nil if there is none. Under the lock.
    func nextRelease(_ withdrawal: Int?) -> PerformExtraPointer? {
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

    /// One more than the number of requests that may be waiting. Under the lock.
    private var queuedCount: Int {
        takeIntoHeld()
        var count = pointee.held.count
        for level in 0..<pointee.batches.count { count += pointee.batches[level].count }
        return count + 1
    }

    /// Takes as many of the chosen requests as there is room for, and counts them. Under the lock.
    private func take(
        _ choice: PerformChoice, into taken: UnsafeMutableBufferPointer<PerformRequest>, _ count: inout Int
    ) {
        takeIntoHeld()
        for level in 0..<pointee.batches.count {
            let batch = pointee.batches[level]
            for index in 0..<batch.kept { take(batch.requests + index, choice, into: taken, &count) }
            for index in batch.next..<batch.count { take(batch.requests + index, choice, into: taken, &count) }
        }
        var kept = 0
        for index in 0..<pointee.held.count {
            take(pointee.held.elements.unsafelyUnwrapped + index, choice, into: taken, &count)
            if pointee.held[index].modes == nil { continue }
            pointee.held[kept] = pointee.held[index]
            kept += 1
        }
        pointee.held.truncate(to: kept)
        pointee.heldStart = 0
    }

    /// Takes the request at `place` if it is chosen and there is room: leaves it there marked as cancelled. Under the lock.
    private func take(
        _ place: UnsafeMutablePointer<PerformRequest>, _ choice: PerformChoice,
        into taken: UnsafeMutableBufferPointer<PerformRequest>, _ count: inout Int
    ) {
        guard count < taken.count, place.pointee.modes != nil, choice.includes(place.pointee) else { return }
        taken[count] = place.pointee
        count += 1
        place.pointee.markCancelled()
    }

    // MARK: the end of the thread

    /// The thread ends: drops all requests, which will never run. Calls release functions.
    func dropRequests() {
        var requests = PlainList<PerformRequest>()
        locked {
            takeIntoHeld()
            swap(&requests, &pointee.held)
            pointee.heldStart = 0
            for level in 0..<pointee.batches.count { collect(pointee.batches[level], into: &requests) }
            pointee.batches.truncate(to: 0)
        }
        for index in 0..<requests.count where requests[index].modes != nil { requests[index].finishUncalled(.loopIsGone, by: self) }
        while let extra = locked({ nextRelease(nil) }) { PerformRequest.finish(extra, .loopIsGone) }
    }

    /// Collects what is left of a batch whose function has ended the thread. Under the lock.
    @inline(never)
    private func collect(_ batch: PerformBatch, into requests: inout PlainList<PerformRequest>) {
        for index in 0..<batch.kept { _ = requests.append(batch.requests[index]) }
        let first = batch.isCalling ? batch.next - 1 : batch.next
        for index in first..<batch.count { _ = requests.append(batch.requests[index]) }
        free(batch.requests)
    }
}
