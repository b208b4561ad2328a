import CLinux
import CRunLoop
import Synchronization

// How a request of a remote port ends: by a reply, without one in time (`PendingRequest.timeOut`), or because the port becomes invalid.

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

    /// Completes a request that is in the list: reports the result to the thread that waits, or has the loop call its function. True if
    /// the calling thread waits for it. Under the mutex.
    @inline(never)
    private func complete(_ pending: PendingRequestPointer, with result: RequestResult) -> Bool {
        unlink(pending)
        pending.pointee.result = result
        pending.pointee.markCompleted()
        let replySource = pending.pointee.replySource
        if pending.pointee.callout == nil {
            replySource.pointee.unseenReplies += 1
        } else {
            replySource.pointee.lastCompleted?.pointee.following = pending
            if replySource.pointee.completed == nil { replySource.pointee.completed = pending }
            replySource.pointee.lastCompleted = pending
        }
        // A thread that waits on its connection alone looks for itself.
        if !replySource.pointee.loop.isCurrent || replySource.pointee.keepsModeAlive { replySource.signalAndWakeLocked() }
        return pending.pointee.callout == nil && replySource.pointee.loop.isCurrent
    }

    /// Calls the function of a request, which is counted as running, and finishes it. The loop's thread, without the mutex; calls user
    /// code.
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
        free(pending)
        replySource.endWaiting()
        releaseInternal()
    }

    /// Cancels the timer of a request that has a function. The loop's thread, without the mutex.
    func cancelTimer(_ pending: PendingRequestPointer) {
        guard let timer = pending.pointee.timer else { return }
        pending.pointee.timer = nil
        timer.invalidate()
        timer.release()
    }

    /// Frees a request that has a function, which is not called, and releases its internal reference to the port. Without the mutex.
    func destroy(_ pending: PendingRequestPointer) {
        free(pending)
        releaseInternal()
    }

    /// Frees a request that has a function, but keeps its internal reference to the port for the caller. Without the mutex.
    @inline(never)
    private func free(_ pending: PendingRequestPointer) {
        cancelTimer(pending)
        pending.pointee.reply?.release()
        pending.deinitialize(count: 1)
        CLinux.free(pending)
    }

    /// Takes all requests of a reply source that is being closed out of the lists. Returns the first of those that have a function,
    /// linked by `following`, for the caller to free. Under the mutex.
    func removeRequests(of replySource: ReplySourcePointer) -> PendingRequestPointer? {
        var dropped = replySource.pointee.completed
        replySource.pointee.completed = nil
        replySource.pointee.lastCompleted = nil
        var next = pointee.firstPending
        while let pending = next {
            next = pending.pointee.following
            if pending.pointee.replySource != replySource { continue }
            unlink(pending)
            pending.pointee.markCompleted()
            if pending.pointee.callout != nil {
                pending.pointee.following = dropped
                dropped = pending
            }
        }
        return dropped
    }

    /// The part of `invalidate` for remote ports: completes all requests, and closes the connection. Without a lock; calls the
    /// invalidation functions of requests.
    func closeRemote() {
        locked { while let pending = pointee.firstPending { _ = complete(pending, with: .becameInvalid) } }
        closeConnection()
        removeIdleReplySources()
    }

    /// Whether a request with this number waits for its reply. O(number of waiting requests). Any thread, without the mutex.
    @inline(never)
    func isAwaiting(_ id: UInt32) -> Bool { locked { pending(id) != nil } }

    /// The request with this number; nil if it has timed out, or was completed. Under the mutex.
    private func pending(_ id: UInt32) -> PendingRequestPointer? {
        var next = pointee.firstPending
        while let pending = next, pending.pointee.id != id { next = pending.pointee.following }
        return next
    }
}

/// Cleanup of a thread that ended inside the function of a request.
private func abandonReply(_ port: UnsafeMutableRawPointer, _ pending: UnsafeMutableRawPointer?) {
    let pending = pending.unsafelyUnwrapped.assumingMemoryBound(to: PendingRequest.self)
    let port: MessagePortPointer = Handle.storage(UnsafeRawPointer(port))
    port.endCall()
    port.finish(pending)
}
