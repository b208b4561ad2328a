import CLinux
import CRunLoop
import Synchronization

/// How a request ended. The values are those of RLMessagePortRequest.h, which describes them.
enum RequestResult: Int32 {
    case success = 0
    case sendTimeout = -1
    case receiveTimeout = -2
    case isInvalid = -3
    case transportError = -4
    case becameInvalid = -5
}

/// A request that a remote port sends, and that waits for its reply. Either a thread waits with it (RLMessagePortSendRequest), or the loop
/// is to call a callback (RLMessagePortSendRequestAsync). It is never on the stack of the thread that waits, because that thread may end
/// first.
///
/// Guarded by the remote port's mutex.
struct PendingRequest: Linked, CallbackInfo, ~Copyable {
    typealias Callout = @convention(c) (OpaquePointer?, Int32, OpaquePointer?, UnsafeMutableRawPointer?) -> Void

    /// Unique among the requests of the port. The reply repeats it.
    var id: UInt32 = 0
    /// The loop and the mode in which the reply is delivered.
    let replySource: ReplySourcePointer
    private let completed = Atomic<UInt32>(0)
    var result = RequestResult.receiveTimeout
    /// The reply's data, if it has any. Retained.
    var reply: DataPointer?
    /// The callback for the reply; nil if a thread waits.
    var callout: Callout?
    var info: UnsafeMutableRawPointer?
    /// Fires if no reply arrives in time; nil if a thread waits, or if there is no deadline. Retained.
    var timer: TimerPointer?
    /// The connection by which the request is sent. Retained, since another thread may invalidate the port meanwhile. nil once a request
    /// with a callback was sent; until then the loop does not call the callback, which would free the request while its sender uses it:
    /// sending may call user code that runs the loop. Loop thread only.
    var connection: ConnectionPointer?
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
    /// Whether the request has a result or was withdrawn. Any thread, without the mutex; the result itself is read under the mutex.
    var isCompleted: Bool { completed.load(ordering: .acquiring) != 0 }

    /// Publishes the result, which must be complete. The caller holds the mutex.
    func markCompleted() { completed.store(1, ordering: .releasing) }
}

typealias PendingRequestPointer = UnsafeMutablePointer<PendingRequest>

extension MessagePortPointer {
    /// Gives a request its number and its connection, and adds it to the list in which its reply looks for it. Returns false if the port is
    /// invalid. The caller holds the mutex.
    @inline(never)
    func enqueueLocked(_ pending: PendingRequestPointer) -> Bool {
        if !pointee.base.isValid { return false }
        pointee.connection?.retain()
        pending.pointee.connection = pointee.connection
        pointee.lastID = pointee.lastID == .max ? 1 : pointee.lastID + 1
        pending.pointee.id = pointee.lastID
        pointee.pending.append(pending)
        return true
    }

    /// Removes a request from the list that it is in. If that is the list of requests without a reply, marks it as completed, and frees
    /// what has arrived of a large reply to it. The caller holds the mutex.
    @inline(never)
    func remove(_ pending: PendingRequestPointer) {
        if pending.pointee.isCompleted { return pending.pointee.replySource.pointee.completed.remove(pending) }
        pointee.pending.remove(pending)
        pending.pointee.markCompleted()
        if let connection = pointee.connection { connection.locked { connection.pointee.incoming.skip(pending.pointee.id) } }
    }
}

extension MessagePortPointer {
    /// Completes the request with this number. Takes over the caller's reference to the reply. Returns true if the calling thread waits for
    /// the request, false also if there is no such request. Any thread; call without the mutex held. Calls no user code.
    @discardableResult
    func complete(_ id: UInt32, _ result: RequestResult, _ reply: DataPointer?) -> Bool {
        locked {
            guard let pending = pending(id) else {
                reply?.release()
                return false
            }
            pending.pointee.reply = reply
            // If the port was just invalidated, a failure gets the result that the invalidating thread gives to all other requests.
            return complete(pending, with: result == .success || pointee.base.isValid ? result : .becameInvalid)
        }
    }

    /// Completes all requests without a reply. Any thread; call without the mutex held. Calls no user code.
    func completeAll(with result: RequestResult) {
        locked { while let pending = pointee.pending.first { _ = complete(pending, with: result) } }
    }

    /// Completes a request that is in the list: the thread that waits sees the result, or the loop is made to call the callback. Returns
    /// true if the calling thread waits for it. The caller holds the mutex.
    @inline(never)
    fileprivate func complete(_ pending: PendingRequestPointer, with result: RequestResult) -> Bool {
        pointee.pending.remove(pending)
        pending.pointee.result = result
        pending.pointee.markCompleted()
        let replySource = pending.pointee.replySource
        replySource.pointee.completed.append(pending)
        replySource.signalAndWakeLocked()
        return pending.pointee.callout == nil && replySource.pointee.loop.isCurrent
    }

    /// Whether a request with this number waits for its reply. O(number of waiting requests). Any thread; call without the mutex held.
    func isAwaiting(_ id: UInt32) -> Bool { locked { pending(id) != nil } }

    /// The request with this number; nil if it has timed out or was completed. The caller holds the mutex.
    private func pending(_ id: UInt32) -> PendingRequestPointer? { pointee.pending.first?.first { $0.pointee.id == id } }
}

// How a pending request ends: by a reply, by its time limit, because it could not be sent, or because the port becomes invalid. Loop thread
// only; call without the mutex held.

extension PendingRequestPointer {
    private var port: MessagePortPointer { pointee.replySource.pointee.port }

    /// Removes the request from the list without a reply. Returns false if it was completed before.
    func withdraw() -> Bool {
        port.locked {
            if pointee.isCompleted { return false }
            port.remove(self)
            return true
        }
    }

    /// The callback of the timer: ends the request without a reply and calls its callback. If the request is still being sent, the loop
    /// makes that call afterwards. Calls user code.
    func timeOut() {
        let isDue = port.locked { () -> Bool in
            if pointee.isCompleted { return false }
            if pointee.connection == nil {
                port.remove(self)
                port.base.countCall()
                return true
            }
            _ = port.complete(self, with: .receiveTimeout)
            return false
        }
        if isDue { callBack() }
    }

    /// Calls the callback of the request, and then ends and frees the request. The caller has counted the call. Calls user code.
    @inline(never)
    func callBack() {
        let port = port
        cancelTimer()
        if let callout = pointee.callout {
            let loop = pointee.replySource.pointee.loop
            let level = loop.pushCleanup(
                CleanupHandler(
                    function: { port, pending, _ in
                        PortHeaderPointer(port).endCall()
                        PendingRequestPointer(info: pending).finish()
                    }, object: port, part: self))
            Probe.report(.received, .reply, port, number: UInt(pointee.id))
            RUNLOOP_IS_CALLING_OUT_TO_A_MESSAGE_PORT_REPLY_FUNCTION(
                port.handle, UInt(UInt32(bitPattern: pointee.result.rawValue)), pointee.reply?.handle, pointee.info, callout)
            loop.popCleanup(level)
        }
        port.base.endCall()
        finish()
    }

    /// Ends the wait of the request, and frees it. May free the reply source and the port.
    @inline(never)
    func finish() {
        let port = port
        pointee.replySource.endWaiting(of: self)
        destroy()
        port.base.releaseInternal()
    }

    /// Cancels the timer, if there is one.
    private func cancelTimer() {
        guard let timer = pointee.timer else { return }
        pointee.timer = nil
        timer.invalidate()
        timer.release()
    }

    /// Frees the request, which is in no list. The caller then releases the request's internal reference to the port. Loop thread only; calls
    /// no user code.
    @inline(never)
    func destroy() {
        cancelTimer()
        // nil if the request has a callback, unless the thread has ended while sending the request.
        pointee.connection?.release()
        pointee.reply?.release()
        deinitialize(count: 1)
        PendingRequest.slab.deallocate(self)
    }
}
