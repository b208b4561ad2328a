import CLinux
import Synchronization

/// A batch of functions that a loop is calling. It is listed in the loop (`RunLoopStorage.batches`), so that its functions can be
/// cancelled, and dropped if one of them ends the thread. Guarded by the loop's lock.
struct PerformBatch: BitwiseCopyable {
    let requests: UnsafeMutablePointer<PerformRequest>
    let count: Int
    /// The requests before this one have been processed.
    var next = 0
    /// Whether the request before `next` is being called.
    var isCalling = false
    /// How many of the requests before `next` were for other modes. They have been moved to the front.
    var kept = 0
}

/// Limits how long the functions of one batch may keep timers, sources and descriptors waiting. The clock is read after every 16 functions,
/// because reading it costs as much as half a post.
struct PerformBudget {
    private static var nanoseconds: UInt64 { 1_000_000 }
    private static var interval: Int { 16 }

    private var calls = 0
    private let end: Instant

    /// Begins the budget for a batch of `count` functions. Up to 16 are called however long they take.
    init(_ count: Int) { end = count > Self.interval ? Clock.now.advanced(by: Self.nanoseconds) : .never }

    /// Whether the time is up. Evaluated once after each function.
    var isSpent: Bool {
        mutating get {
            calls &+= 1
            return calls % Self.interval == 0 && Clock.now >= end
        }
    }
}

// Steps 4 and 9: calling functions on the loop's thread; also queueing them, from any thread.

extension RunLoopPointer {
    /// RLRunLoopPerformFunction and RLRunLoopPostFunction. Returns false with errno. O(1), amortized without allocation; at most one system
    /// call per sleep of the loop. Any thread.
    func enqueue(_ request: PerformRequest, wakes: Bool) -> Bool {
        if Probe.isSet { Probe.report(.sent, .function, self, function: addressOfFunction(request.function), info: request.info) }
        return enqueueUnreported(request, wakes: wakes)
    }

    /// Does the work of `enqueue`, except that it does not report the request to a probe. Any thread; call without the lock held.
    @inline(__always)
    func enqueueUnreported(_ request: PerformRequest, wakes: Bool) -> Bool {
        let modes = request.modes.unsafelyUnwrapped
        PerformRequest.retain(modes: modes)
        switch inbox.enqueue(request, wakes: wakes) {
        case .queued: return true
        case .queuedAndWakeNeeded:
            wakeUp()
            return true
        case .failed:
            request.finishUncalled(nil)
            return false
        }
    }

    /// Moves the requests of the inbox to the end of `list`, and reserves room for what running batches may put back. Returns false if
    /// memory runs out: then the requests stay in the inbox, and the loop wakes itself to try again. The caller holds the lock.
    @discardableResult
    private func takeInbox(into list: inout PlainList<PerformRequest>) -> Bool {
        var room = 0
        for level in 0..<pointee.batches.count { room += pointee.batches[level].count }
        if inbox.empty(into: &list, room: room) { return true }
        wakeUp()
        return false
    }

    /// Moves the requests of the inbox to the end of `held`. Returns false if memory runs out: then they stay in the inbox. Notes the use
    /// of `held` before the inbox becomes empty, so that `performFunctions` finds either a request in the inbox or that note. The caller
    /// holds the lock.
    @discardableResult
    func takeIntoHeld() -> Bool {
        noteUse(of: EverUsed.heldFunctions)
        pointee.modeWithoutHeld = nil
        return takeInbox(into: &pointee.held)
    }

    /// Returns whether some request waits for this mode; true also if memory runs out, because a request in the inbox may. The caller holds
    /// the lock.
    func hasFunctions(for mode: ModePointer) -> Bool {
        if mayHaveHeld(mode) && hasHeldFunctions(for: mode, from: pointee.heldStart) { return true }
        if inbox.isEmpty { return false }
        let known = pointee.held.count
        return !takeIntoHeld() || hasHeldFunctions(for: mode, from: known)
    }

    /// Whether a request in `held` may be for this mode. O(1). The caller holds the lock.
    func mayHaveHeld(_ mode: ModePointer) -> Bool { pointee.held.count > 0 && pointee.modeWithoutHeld != mode }

    /// Returns whether some request in `held`, from index `first` on, waits for this mode. Requests without modes are finished. O(number of
    /// requests). The caller holds the lock.
    private func hasHeldFunctions(for mode: ModePointer, from first: Int) -> Bool {
        let isCommon = pointee.commonModes.contains(mode.pointee.number)
        for index in first..<pointee.held.count {
            let request = pointee.held[index]
            if request.modes != nil && request.matches(mode.pointee.name, isCommon: isCommon) { return true }
        }
        return false
    }

    /// Creates every mode that a waiting request names, as CFRunLoop does when a request is queued. Any thread; call without the lock held.
    @inline(never)
    func listModesOfRequests() {
        locked {
            if pointee.held.count == 0 && inbox.isEmpty { return }
            takeIntoHeld()
            for index in 0..<pointee.held.count {
                pointee.held[index].forEachMode { name in
                    if !name.isCommonModes { _ = ensureListedMode(named: name) }
                }
            }
        }
    }

    /// Calls the functions that wait for this mode, in the order in which they were queued. Returns true if there were any. Functions
    /// queued by them wait for the next call, and a nested run does not see the rest of the batch (as in CFRunLoop). If the run has passes
    /// left, the rest of a long queue is deferred to the next pass after a millisecond, so that timers and descriptors have their turn.
    /// Loop thread only; calls user code.
    @inline(__always)
    func performFunctions(_ mode: ModePointer) -> Bool {
        let mayWait = !inbox.isEmpty || (hasEverUsed(EverUsed.heldFunctions) && locked { mayHaveHeld(mode) })
        return mayWait && performWaitingFunctions(mode)
    }

    /// Does the work of `performFunctions`: makes a batch of `held` and the inbox, calls its functions, and puts back what is left.
    private func performWaitingFunctions(_ mode: ModePointer) -> Bool {
        var requests = PlainList<PerformRequest>()
        var called = false
        lock()
        guard pointee.batches.reserve(pointee.batches.count + 1) else {
            unlock()
            // Memory ran out. The requests in the inbox need this wake-up, as no posting thread wakes the loop for them again.
            wakeUp()
            return false
        }
        swap(&requests, &pointee.held)
        // What this batch leaves is for other modes. That remains true until `held` or the common modes change, which resets this.
        pointee.modeWithoutHeld = pointee.batches.count == 0 ? mode : nil
        let start = pointee.heldStart
        pointee.heldStart = 0
        // A pass that continues with a long queue calls nothing else. What has been posted since then stays in the inbox, as appending it
        // to the rest could take longer than the pass.
        let continues = pointee.longQueueMode == mode && pointee.activation.deadline != .distantPast
        pointee.longQueueMode = nil
        let leavesRequests = continues && !inbox.isEmpty
        if !continues { takeInbox(into: &requests) }
        let count = requests.count
        if count > start {
            let level = pointee.batches.count
            _ = pointee.batches.appendInlined(PerformBatch(requests: requests.elements.unsafelyUnwrapped, count: count, next: start))
            called = perform(level, mode)
            let batch = pointee.batches[level]
            pointee.batches.truncate(to: level)
            if batch.next < count {
                pointee.modeWithoutHeld = nil
                putBack(&requests, after: batch, from: start)
                pointee.longQueueMode = mode
                unlock()
                wakeUp()
                return called
            }
            requests.truncate(to: batch.kept)
        }
        putBack(&requests, taken: count - start)
        unlock()
        // No posting thread wakes the loop again for requests that were left in the inbox. If the inbox was empty when this batch began,
        // the next post wakes the loop.
        if leavesRequests { wakeUp() }
        return called
    }

    /// Calls the functions of a batch. The caller holds the lock, which is released for each call. Writes to the batch only what stays in
    /// it: its memory returns to the threads that post, and a cache line that was not written here gets back to them sooner.
    private func perform(_ level: Int, _ mode: ModePointer) -> Bool {
        let hasPassesLeft = pointee.activation.deadline != .distantPast
        var budget = PerformBudget(hasPassesLeft ? pointee.batches[level].count - pointee.batches[level].next : 0)
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
            threadContext.unlock()
            RUNLOOP_IS_CALLING_OUT_TO_A_PERFORMED_FUNCTION(request.info, request.function)
            called = true
            threadContext.lock()
            pointee.batches[level].isCalling = false
            threadContext.unlock()
            request.finish(.done)
            threadContext.lock()
            if budget.isSpent { break }
            isCommon = pointee.commonModes.contains(mode.pointee.number)
        }
        return called
    }

    /// Puts back the rest of a batch that ran out of time. The rest stays in place, behind the requests for other modes, so that a long
    /// queue is not moved each time. The caller holds the lock.
    private func putBack(_ requests: inout PlainList<PerformRequest>, after batch: PerformBatch, from first: Int) {
        let stride = MemoryLayout<PerformRequest>.stride
        var start = batch.next - batch.kept
        memmove(batch.requests + start, batch.requests, batch.kept * stride)
        let left = batch.count - start
        if pointee.held.count > 0 {
            memmove(batch.requests, batch.requests + start, left * stride)
            requests.truncate(to: left)
            start = 0
        }
        // The entries before `first` are marked as finished already. Mark the others whose requests were called, except where requests for
        // other modes are stored now.
        for index in first..<Swift.max(first, start) { batch.requests[index].markFinished() }
        for index in 0..<Swift.min(batch.kept, start) { batch.requests[index].markFinished() }
        noteUse(of: EverUsed.heldFunctions)
        if pointee.held.count > 0 { return putInFront(requests) }
        pointee.heldStart = start
        swap(&requests, &pointee.held)
    }

    /// Prepends what is left of a batch to the requests in `held`, which arrived during the batch or were left by a nested run. This needs
    /// no memory: `takeInbox`, by which these requests were moved, has reserved room for all running batches. The caller holds the lock.
    private func putInFront(_ requests: borrowing PlainList<PerformRequest>) {
        pointee.held.removeFirst(pointee.heldStart)
        pointee.heldStart = 0
        invariant(pointee.held.prepend(requests))
    }

    /// Puts back the requests that were for other modes and were not cancelled, before those that arrived in the meantime. The buffer is
    /// kept for the next batch unless it is much larger than needed for the `taken` requests. The caller holds the lock.
    private func putBack(_ requests: inout PlainList<PerformRequest>, taken: Int) {
        var kept = 0
        for index in 0..<requests.count where requests[index].modes != nil {
            requests[kept] = requests[index]
            kept += 1
        }
        requests.truncate(to: kept)
        if kept > 0 { noteUse(of: EverUsed.heldFunctions) }
        if pointee.held.count > 0 { return putInFront(requests) }
        let isHoard = requests.capacity > 64 * 1024 && taken < requests.capacity / 16
        if requests.count == 0 && isHoard { requests.removeAll() }
        swap(&requests, &pointee.held)
    }

    // MARK: waiting for a function

    /// RLRunLoopPerformFunctionAndWait. Called on a thread other than the loop's. Returns false with errno ETIMEDOUT, ECANCELED, ESRCH or
    /// ENOMEM.
    func performAndWait(
        _ modes: UnsafeRawPointer, _ function: @escaping PerformRequest.Function, _ info: UnsafeMutableRawPointer?, seconds: Double
    ) -> Bool {
        // With a time limit of 0 the function is never called; otherwise that would depend on which thread is faster.
        if seconds <= 0 {
            systemError = ETIMEDOUT
            return false
        }
        guard let ticket = PerformTicketPointer.create() else { return false }
        guard let request = PerformRequest(modes, function, info, release: nil, ticket: ticket),
            enqueue(request, wakes: true)
        else {
            // Both references, because the request was not queued.
            ticket.release()
            ticket.release()
            return false
        }
        var state = ticket.wait(until: Instant.now(after: seconds))
        if state == .queued {
            if withdraw(.one(ticket)) > 0 {
                ticket.release()
                systemError = ETIMEDOUT
                return false
            }
            state = ticket.wait(until: .never)
        }
        ticket.release()
        switch state {
        case .cancelled: systemError = ECANCELED
        case .loopIsGone: systemError = ESRCH
        default: return true
        }
        return false
    }
}

extension Instant {
    /// Returns the instant `seconds` from now; `.distantPast` if `seconds` is not positive, `.never` if it is greater than any date.
    static func now(after seconds: Double) -> Instant {
        seconds > 0 && seconds < Clock.latestDate ? Clock.now.after(seconds) : distantPast.after(seconds)
    }

    /// Returns the instant `seconds` after this one, with the same limits as `now(after:)`.
    func after(_ seconds: Double) -> Instant {
        if seconds <= 0 { return .distantPast }
        return seconds >= Clock.latestDate ? .never : advanced(by: Clock.nanoseconds(seconds))
    }
}
