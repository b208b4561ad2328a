import CLinux
import Synchronization

/// A batch of functions that a loop is calling. Where it stands is kept with the loop, so that a cancellation finds it, and
/// the end of the thread if one of the functions ends it.
struct PerformBatch: BitwiseCopyable {
    let requests: UnsafeMutablePointer<PerformRequest>
    let count: Int
    /// Those before have had their turn ...
    var next = 0
    /// ... the last of them is having it ...
    var isCalling = false
    /// ... and of them these, moved to the front, were for other modes.
    var kept = 0
}

// Calling functions on a loop's thread.

extension UnsafeMutablePointer where Pointee == RunLoopStorage {
    /// RLRunLoopPerformFunction and RLRunLoopPostFunction. O(1), amortised no allocation; at most one system call per
    /// sleep of the loop. Any thread. False with errno.
    @inline(__always)
    func leave(_ request: PerformRequest, wakes: Bool, isAwaited: Bool = false) -> Bool {
        let modes = request.modes.unsafelyUnwrapped
        PerformRequest.retain(modes: modes)
        switch inbox.leave(request, wakes: wakes, isPost: !isCurrent && !isAwaited) {
        case .queued: return true
        case .queuedAndWakeNeeded:
            wakeUp()
            return true
        case .failed:
            PerformRequest.release(modes: modes)
            request.discard()
            return false
        }
    }

    /// The same for callers that do it seldom: compiled once.
    @inline(never)
    func leaveSeldom(_ request: PerformRequest, wakes: Bool, isAwaited: Bool = false) -> Bool {
        leave(request, wakes: wakes, isAwaited: isAwaited)
    }

    /// Takes the inbox's requests, and makes room for what the batches that are under way may put back. How many were posts of
    /// other threads. Out of memory they stay in the inbox for the next time. Under the lock.
    private func take(into list: inout PlainList<PerformRequest>) -> Int {
        var room = 0
        for level in 0..<pointee.batches.count { room += pointee.batches[level].count }
        return inbox.empty(into: &list, room: room) ?? 0
    }

    /// Says so before the inbox says that it is empty: `performFunctions` sees one or the other. Under the lock.
    private func takeIntoHeld() {
        note(had: Had.heldFunctions)
        _ = take(into: &pointee.held)
    }

    /// Whether some request waits for this mode. Under the lock.
    func hasFunctions(for mode: ModePointer) -> Bool {
        if pointee.held.count == 0 && inbox.isEmpty { return false }
        takeIntoHeld()
        let isCommon = pointee.commonModes.contains(mode.pointee.number)
        for index in 0..<pointee.held.count where pointee.held[index].matches(mode.pointee.name, isCommon: isCommon) {
            return true
        }
        return false
    }

    /// Gives every mode that a waiting request names its place in the list of modes, as CFRunLoop does when one is queued.
    func makeModesOfRequests() {
        locked {
            if pointee.held.count == 0 && inbox.isEmpty { return }
            takeIntoHeld()
            for index in 0..<pointee.held.count {
                pointee.held[index].forEachMode { name in
                    if !name.isCommonModes { _ = makeMode(named: name) }
                }
            }
        }
    }

    /// Calls the functions that wait for this mode, first come, first served. What they queue waits for the next
    /// time; a run nested in one of them does not see the rest (as in CFRunLoop). True if there was any. The loop's thread; calls user code.
    @inline(__always)
    func performFunctions(_ mode: ModePointer) -> Bool {
        let mayWait = !inbox.isEmpty || (hasHad(Had.heldFunctions) && lockedInline { pointee.held.count > 0 })
        return mayWait && performWaitingFunctions(mode)
    }

    @inline(never)
    private func performWaitingFunctions(_ mode: ModePointer) -> Bool {
        var requests = PlainList<PerformRequest>()
        var called = false
        pointee.pace.rest()
        lockInline()
        guard pointee.batches.reserve(pointee.batches.count + 1) else {
            unlockInline()
            return false
        }
        swap(&requests, &pointee.held)
        pointee.pace.took(posts: take(into: &requests))
        let taken = requests.count
        if taken > 0 {
            let level = pointee.batches.count
            _ = pointee.batches.appendInline(PerformBatch(requests: requests.elements.unsafelyUnwrapped, count: taken))
            called = perform(level, mode)
            requests.truncate(to: pointee.batches[level].kept)
            pointee.batches.truncate(to: level)
        }
        putBack(&requests, taken: taken)
        unlockInline()
        return called
    }

    /// Under the lock, which it gives back for each call. Writes to the batch only what stays in it: the memory goes back
    /// to those who fill it, and a line that was not written here is had back sooner.
    private func perform(_ level: Int, _ mode: ModePointer) -> Bool {
        var isCommon = pointee.commonModes.contains(mode.pointee.number)
        let requests = pointee.batches[level].requests
        let count = pointee.batches[level].count
        var called = false
        while pointee.batches[level].next < count {
            let request = requests[pointee.batches[level].next]
            pointee.batches[level].next += 1
            if request.modes == nil { continue }
            guard request.matches(mode.pointee.name, isCommon: isCommon) else {
                requests[pointee.batches[level].kept] = request
                pointee.batches[level].kept += 1
                continue
            }
            pointee.batches[level].isCalling = true
            unlockInline()
            RUNLOOP_IS_CALLING_OUT_TO_A_PERFORMED_FUNCTION(request.function, request.info)
            called = true
            lockInline()
            pointee.batches[level].isCalling = false
            unlockInline()
            request.finish(.done)
            lockInline()
            isCommon = pointee.commonModes.contains(mode.pointee.number)
        }
        return called
    }

    /// What did not match and was not cancelled stays in front of what came meanwhile; the buffer stays for the next time, unless it is
    /// much larger than what it was used for. Under the lock.
    private func putBack(_ requests: inout PlainList<PerformRequest>, taken: Int) {
        var kept = 0
        for index in 0..<requests.count where requests[index].modes != nil {
            requests[kept] = requests[index]
            kept += 1
        }
        requests.truncate(to: kept)
        if kept > 0 { note(had: Had.heldFunctions) }
        if pointee.held.count > 0 {
            // `take` has made room.
            return invariant(pointee.held.prepend(requests))
        }
        let isHoard = requests.capacity > 64 * 1024 && taken < requests.capacity / 16
        if requests.count == 0 && isHoard { requests.discard() }
        swap(&requests, &pointee.held)
    }

    // MARK: waiting for it

    /// RLRunLoopPerformFunctionAndWait from another thread. False with errno ETIMEDOUT, ECANCELED, ESRCH or ENOMEM.
    func performAndWait(
        _ modes: UnsafeRawPointer, _ function: @escaping PerformRequest.Function, _ info: UnsafeMutableRawPointer?, seconds: Double
    ) -> Bool {
        guard let ticket = PerformTicketPointer.create() else { return false }
        guard let request = PerformRequest(modes, function, info, release: nil, ticket: ticket),
            leaveSeldom(request, wakes: true, isAwaited: true)
        else {
            ticket.letGo()
            ticket.letGo()
            return false
        }
        var state = ticket.wait(until: Instant.now(after: seconds))
        if state == .queued {
            if withdraw(.one(ticket)) > 0 {
                ticket.letGo()
                systemError = ETIMEDOUT
                return false
            }
            state = ticket.wait(until: .never)
        }
        ticket.letGo()
        switch state {
        case .cancelled: systemError = ECANCELED
        case .loopIsGone: systemError = ESRCH
        default: return true
        }
        return false
    }

    // MARK: cancelling

    /// RLRunLoopCancelPerformFunction. O(number of requests). Any thread; calls release functions.
    func cancel(_ function: PerformRequest.Function?, _ info: UnsafeMutableRawPointer?) -> Int {
        let choice = PerformChoice.all(of: function, info)
        let withdrawn = withdraw(choice)
        if withdrawn > 0 && !isCurrent { noteEmptied() }
        return withdrawn + cancelDelayed(choice)
    }

    /// Takes out all requests that are chosen: they will never run. The number. Needs no memory. Calls release functions.
    private func withdraw(_ choice: PerformChoice) -> Int {
        var total = 0
        withUnsafeTemporaryAllocation(of: PerformRequest.self, capacity: 32) { taken in
            var count = 0
            repeat {
                count = 0
                locked { take(choice, into: taken, &count) }
                for index in 0..<count { taken[index].finishSeldom(.cancelled) }
                total += count
            } while count == taken.count
        }
        return total
    }

    /// As many as there is room for. Under the lock.
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

extension Instant {
    /// `seconds` from now; at once if that is not positive, never if it is more than anybody waits.
    static func now(after seconds: Double) -> Instant {
        seconds > 0 && seconds < Clock.latestDate ? Clock.now.after(seconds) : distantPast.after(seconds)
    }

    /// The same from this instant on.
    func after(_ seconds: Double) -> Instant {
        if seconds <= 0 { return .distantPast }
        return seconds >= Clock.latestDate ? .never : advanced(by: Clock.nanoseconds(seconds))
    }
}

extension UnsafeMutablePointer where Pointee == RunLoopStorage {
    /// The thread ends: nothing that waits will ever run. Calls release functions.
    func dropRequests() {
        var requests = PlainList<PerformRequest>()
        locked {
            takeIntoHeld()
            swap(&requests, &pointee.held)
            for level in 0..<pointee.batches.count { drop(pointee.batches[level], into: &requests) }
            pointee.batches.truncate(to: 0)
        }
        for index in 0..<requests.count where requests[index].modes != nil { requests[index].finishSeldom(.loopIsGone) }
    }

    /// A batch that one of its functions has left for ever, with the thread. Under the lock.
    @inline(never)
    private func drop(_ batch: PerformBatch, into requests: inout PlainList<PerformRequest>) {
        for index in 0..<batch.kept { _ = requests.append(batch.requests[index]) }
        let first = batch.isCalling ? batch.next - 1 : batch.next
        for index in first..<batch.count { _ = requests.append(batch.requests[index]) }
        free(batch.requests)
    }
}
