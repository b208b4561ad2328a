import CLinux

// Cancelling functions that wait to be called. No step of the iteration; any thread.

extension RunLoopPointer {
    /// RLRunLoopCancelPerformFunction. O(number of requests). Any thread; calls release functions.
    func cancel(_ function: PerformRequest.Function?, _ info: UnsafeMutableRawPointer?) -> Int {
        let choice = PerformChoice.all(of: function, info)
        let withdrawn = withdraw(choice)
        if withdrawn > 0 && !isCurrent { noteEmptied() }
        return withdrawn + cancelDelayed(choice)
    }

    /// Removes all chosen requests, which will never run; returns how many. Needs no memory. Calls release functions.
    func withdraw(_ choice: PerformChoice) -> Int {
        var total = 0
        var count = 0
        withUnsafeTemporaryAllocation(of: PerformRequest.self, capacity: 32) { few in
            repeat {
                // Each search is as long as the queue. So if there were more than 32, the next one makes room for all, if there
                // is memory.
                var many = PlainList<PerformRequest>()
                if count > 0 { _ = many.reserve(locked { queuedCount }) }
                let memory = UnsafeMutableBufferPointer(start: many.elements, count: many.capacity)
                let taken = memory.count > few.count ? memory : few
                count = 0
                locked { take(choice, into: taken, &count) }
                for index in 0..<count { taken[index].finishSlow(.cancelled) }
                total += count
                if count < taken.count { count = 0 }
            } while count > 0
        }
        return total
    }

    /// How many requests may be waiting. Under the lock.
    private var queuedCount: Int {
        takeIntoHeld()
        var count = pointee.held.count
        for level in 0..<pointee.batches.count { count += pointee.batches[level].count }
        return count + 1
    }

    /// Takes as many chosen requests as there is room for. Under the lock.
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

    private func take(
        _ place: UnsafeMutablePointer<PerformRequest>, _ choice: PerformChoice,
        into taken: UnsafeMutableBufferPointer<PerformRequest>, _ count: inout Int
    ) {
        guard count < taken.count, place.pointee.modes != nil, choice.includes(place.pointee) else { return }
        taken[count] = place.pointee
        count += 1
        place.pointee.markCancelled()
    }
}
