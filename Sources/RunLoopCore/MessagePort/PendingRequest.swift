import CLinux
import CRunLoop
import Synchronization

/// How a request ended, with the values of the public header, which describes them.
enum RequestResult: Int32 {
    case success = 0
    case sendTimeout = -1
    case receiveTimeout = -2
    case isInvalid = -3
    case transportError = -4
    case becameInvalid = -5
}

/// A request that waits for its reply. Either a thread waits with it (`callout` is nil), or a function is to be called. It never lies on
/// the stack of that thread, which may end first.
///
/// Guarded by the remote port's mutex.
struct PendingRequest: Linked, ~Copyable {
    typealias Callout = @convention(c) (OpaquePointer?, Int32, OpaquePointer?, UnsafeMutableRawPointer?) -> Void

    /// Sending may call user code, which may run the loop. A request that is completed by then stays, as its sender goes on to use it.
    enum Sending { case hasEnded, isUnderWay, isDue }

    /// Unique among the requests of the port; the reply has it.
    var id: UInt32 = 0
    /// Where the reply is delivered: a loop and a mode.
    let replySource: ReplySourcePointer
    private let completed = Atomic<UInt32>(0)
    var result = RequestResult.receiveTimeout
    /// The reply, with data. Retained.
    var reply: DataPointer?
    /// The function to call with the reply; nil if a thread waits.
    var callout: Callout?
    var info: UnsafeMutableRawPointer?
    /// Fires when the reply has not come in time; nil if a thread waits, or without a deadline. Retained.
    var timer: TimerPointer?
    /// Where the request goes. Retained, since another thread may invalidate the port; nil once it was sent, if it has a function.
    var connection: ConnectionPointer?
    /// How far the sender of a request with a function is; `isDue`: the loop would have called that. The loop's thread only.
    var sending = Sending.hasEnded
    var previous: PendingRequestPointer?
    var following: PendingRequestPointer?

    static let slab = Slab(size: 128)

    init(replySource: ReplySourcePointer, _ callout: Callout?, _ info: UnsafeMutableRawPointer?) {
        self.replySource = replySource
        self.callout = callout
        self.info = info
    }
}

extension PendingRequest {
    /// Whether there is a result. Any thread, without the mutex; the result itself is read under it.
    var isCompleted: Bool { completed.load(ordering: .acquiring) != 0 }

    /// Announces the result, which is complete. Under the mutex.
    func markCompleted() { completed.store(1, ordering: .releasing) }
}

typealias PendingRequestPointer = UnsafeMutablePointer<PendingRequest>

extension MessagePortPointer {
    /// Gives a request its number and its connection, and puts it into the list in which its reply finds it. False if the port is invalid.
    /// Under the mutex.
    @inline(never)
    func enqueueLocked(_ pending: PendingRequestPointer) -> Bool {
        if !pointee.isValid { return false }
        pointee.connection?.retain()
        pending.pointee.connection = pointee.connection
        pointee.lastID = pointee.lastID == .max ? 1 : pointee.lastID + 1
        pending.pointee.id = pointee.lastID
        pointee.pending.append(pending)
        return true
    }

    /// Removes a request that has no reply from that list, and frees what has come of one. Under the mutex.
    @inline(never)
    func removeUnanswered(_ pending: PendingRequestPointer) {
        pointee.pending.remove(pending)
        pending.pointee.markCompleted()
        if let connection = pointee.connection { connection.locked { connection.pointee.incoming.skip(pending.pointee.id) } }
    }
}

extension PendingRequestPointer {
    /// The function of the timer: completes the request without a reply. The loop's thread; calls the request's function, unless it is
    /// still being sent: then the loop does so afterwards.
    func timeOut() {
        let port = pointee.replySource.pointee.port
        if pointee.sending != .hasEnded { return port.expire(self) }
        if !port.withdraw(self) { return }
        port.locked { port.pointee.runningCalls += 1 }
        port.callBack(self)
    }
}

// How such a request ends: by a reply, without one in time (`PendingRequest.timeOut`), or because the port becomes invalid.

extension MessagePortPointer {
    /// Completes the request with this number; takes over the caller's reference to the reply. True if the calling thread waits for it.
    /// Any thread, without the mutex; calls no user code.
    @discardableResult
    func complete(_ id: UInt32, _ result: RequestResult, _ reply: DataPointer?) -> Bool {
        locked {
            guard let pending = pending(id) else {
                reply?.release()
                return false
            }
            pending.pointee.reply = reply
            // If the port was just invalidated, that thread completes the other requests with this result too.
            return complete(pending, with: result == .success || pointee.isValid ? result : .becameInvalid)
        }
    }

    /// Completes all requests without a reply. Any thread, without the mutex; calls no user code.
    func completeAll(with result: RequestResult) {
        locked { while let pending = pointee.pending.first { _ = complete(pending, with: result) } }
    }

    /// Completes a request that is in the list: reports the result to the thread that waits, or has the loop call its function. True if
    /// the calling thread waits for it. Under the mutex.
    @inline(never)
    private func complete(_ pending: PendingRequestPointer, with result: RequestResult) -> Bool {
        pointee.pending.remove(pending)
        pending.pointee.result = result
        pending.pointee.markCompleted()
        let replySource = pending.pointee.replySource
        if pending.pointee.callout == nil {
            replySource.pointee.unseenReplies += 1
        } else {
            replySource.pointee.completed.append(pending)
        }
        // A thread that waits on its connection alone looks for itself.
        if !replySource.pointee.loop.isCurrent || replySource.pointee.keepsModeAlive { replySource.signalAndWakeLocked() }
        return pending.pointee.callout == nil && replySource.pointee.loop.isCurrent
    }

    /// Takes a request out of the list, without a reply. False if it was completed: then it belongs to the thread that did that. The loop's
    /// thread, without the mutex.
    func withdraw(_ pending: PendingRequestPointer) -> Bool {
        locked {
            if pending.pointee.isCompleted { return false }
            removeUnanswered(pending)
            return true
        }
    }

    /// Completes a request that is still being sent, as its time is over. The loop's thread, without the mutex.
    @inline(never)
    fileprivate func expire(_ pending: PendingRequestPointer) {
        locked { if !pending.pointee.isCompleted { _ = complete(pending, with: .receiveTimeout) } }
    }

    /// Calls the function of a request, which is counted as running, and finishes it. The loop's thread, without the mutex; calls user
    /// code.
    @inline(never)
    func callBack(_ pending: PendingRequestPointer) {
        cancelTimer(pending)
        if let callout = pending.pointee.callout {
            let loop = pending.pointee.replySource.pointee.loop
            let level = loop.pushCleanup(
                CleanupHandler(function: { port, pending, _ in abandonReply(port, pending) }, object: self, part: pending))
            if Probe.isSet { tell(.received, .reply, pending.pointee.id) }
            RUNLOOP_IS_CALLING_OUT_TO_A_MESSAGE_PORT_REPLY_FUNCTION(
                handle, pending.pointee.result.rawValue, pending.pointee.reply?.handle, pending.pointee.info, callout)
            loop.popCleanup(level)
        }
        endCall()
        finish(pending)
    }

    /// Ends the wait of a request that has a function, and frees it. The loop's thread, without the mutex. May free the reply source.
    @inline(never)
    func finish(_ pending: PendingRequestPointer) {
        let replySource = pending.pointee.replySource
        destroy(pending)
        replySource.endWaiting()
        releaseInternal()
    }

    /// Cancels the timer of a request that has a function. The loop's thread, without the mutex.
    @inline(never)
    func cancelTimer(_ pending: PendingRequestPointer) {
        guard let timer = pending.pointee.timer else { return }
        pending.pointee.timer = nil
        timer.invalidate()
        timer.release()
    }

    /// Destroys a request that has a function, but keeps its internal reference to the port for the caller. Without the mutex.
    @inline(never)
    func destroy(_ pending: PendingRequestPointer) {
        cancelTimer(pending)
        // Only if its thread has ended while it was sent.
        pending.pointee.connection?.release()
        pending.pointee.reply?.releaseSlow()
        pending.deinitialize(count: 1)
        PendingRequest.slab.deallocate(pending)
    }

    /// Takes all requests of a reply source that is being closed out of the list. Those that have a function are in its `completed` then,
    /// for the caller to free. Under the mutex.
    func removeRequests(of replySource: ReplySourcePointer) {
        var next = pointee.pending.first
        while let pending = next {
            next = pending.pointee.following
            if pending.pointee.replySource != replySource { continue }
            removeUnanswered(pending)
            if pending.pointee.callout != nil { replySource.pointee.completed.append(pending) }
        }
    }

    /// Whether a request with this number waits for its reply. O(number of waiting requests). Any thread, without the mutex.
    @inline(never)
    func isAwaiting(_ id: UInt32) -> Bool { locked { pending(id) != nil } }

    /// The request with this number; nil if it has timed out, or was completed. Under the mutex.
    private func pending(_ id: UInt32) -> PendingRequestPointer? { pointee.pending.first?.first { $0.pointee.id == id } }
}

/// Cleanup of a thread that ended inside the function of a request.
private func abandonReply(_ port: UnsafeMutableRawPointer, _ pending: UnsafeMutableRawPointer?) {
    let pending = pending.unsafelyUnwrapped.assumingMemoryBound(to: PendingRequest.self)
    let port = MessagePortPointer(port)
    port.endCall()
    port.finish(pending)
}
