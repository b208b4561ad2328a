import CLinux
import CRunLoop
import Synchronization

// What becomes of a request of a remote port: a reply, no reply in time (`PendingRequest.timeOut`), or the end of the port.

extension UnsafeMutablePointer where Pointee == MessagePortStorage {
    /// A request is over. The caller's reference to the reply is taken. True if the calling thread waits for it. Any thread.
    @discardableResult
    func complete(_ id: UInt32, _ result: RequestResult, _ reply: DataPointer?) -> Bool {
        locked {
            var next = pointee.firstPending
            while let pending = next, pending.pointee.id != id { next = pending.pointee.following }
            // A reply that comes too late.
            guard let pending = next else {
                reply?.release()
                return false
            }
            pending.pointee.reply = reply
            // Another thread is about to say so.
            return end(pending, result == .success || pointee.isValid ? result : .becameInvalid)
        }
    }

    /// Under the mutex.
    @inline(never)
    private func end(_ pending: PendingRequestPointer, _ result: RequestResult) -> Bool {
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
        // A thread that waits without running its loop looks for itself.
        if !replySource.pointee.loop.isCurrent || replySource.pointee.keepsModeAlive { replySource.signalAndWakeLocked() }
        return pending.pointee.callout == nil && replySource.pointee.loop.isCurrent
    }

    /// Calls the function of a request that nobody waited for, and disposes of it. The loop's thread.
    func tell(_ pending: PendingRequestPointer) {
        endTimer(pending)
        if let callout = pending.pointee.callout {
            let loop = pending.pointee.replySource.pointee.loop
            let level = loop.pushCleanup(
                CleanupHandler(function: { port, pending, _ in abandonReply(port, pending) }, object: self, part: pending))
            RUNLOOP_IS_CALLING_OUT_TO_A_MESSAGE_PORT_REPLY_FUNCTION(
                callout, handle, pending.pointee.result.rawValue, pending.pointee.reply?.handle, pending.pointee.info)
            loop.popCleanup(level)
        }
        dispose(pending)
    }

    /// A request that nobody waited for waits no more. Its loop's thread; the replySource may be gone afterwards.
    @inline(never)
    func dispose(_ pending: PendingRequestPointer) {
        let replySource = pending.pointee.replySource
        hold()
        discard(pending)
        replySource.endWaiting()
        unhold()
    }

    /// Nobody waits for it to fire any more. The loop's thread.
    func endTimer(_ pending: PendingRequestPointer) {
        guard let timer = pending.pointee.timer else { return }
        pending.pointee.timer = nil
        timer.invalidate()
        timer.giveBack()
    }

    /// Frees a request that nobody waited for. Its hold of the port goes with it.
    @inline(never)
    func discard(_ pending: PendingRequestPointer) {
        endTimer(pending)
        pending.pointee.reply?.release()
        pending.deinitialize(count: 1)
        free(pending)
        unhold()
    }

    /// An replySource goes: what waits there is taken out. The first of that which nobody waits for; `following` has the rest. Under the mutex.
    func abandon(_ replySource: ReplySourcePointer) -> PendingRequestPointer? {
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

    /// The port ends: everybody who waits hears of it at once.
    func endRemote() {
        locked { while let pending = pointee.firstPending { _ = end(pending, .becameInvalid) } }
        let local = locked { () -> MessagePortPointer? in
            defer { pointee.local = nil }
            return pointee.local
        }
        if let local {
            leave(local)
            local.unhold()
        }
        closeConnection()
        removeIdleReplySources()
        callRequestInvalidations()
    }

    private func leave(_ local: MessagePortPointer) {
        let wasThere = local.locked { () -> Bool in
            if local.pointee.joined == self {
                local.pointee.joined = pointee.nextJoined
                return true
            }
            var next = local.pointee.joined
            while let other = next, other.pointee.nextJoined != self { next = other.pointee.nextJoined }
            guard let before = next else { return false }
            before.pointee.nextJoined = pointee.nextJoined
            return true
        }
        if wasThere { unhold() }
    }
}

/// The thread has ended in the function of a reply.
private func abandonReply(_ port: UnsafeMutableRawPointer, _ pending: UnsafeMutableRawPointer?) {
    let pending = pending.unsafelyUnwrapped.assumingMemoryBound(to: PendingRequest.self)
    let port: MessagePortPointer = Handle.storage(UnsafeRawPointer(port))
    port.dispose(pending)
}
