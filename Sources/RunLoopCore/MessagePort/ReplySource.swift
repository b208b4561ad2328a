import CLinux
import CRunLoop
import Synchronization

/// Delivers the replies of a remote port to one loop in one mode, like CF's reply source. Created by the first request that waits there,
/// and kept so that further requests need not add and remove a source. Keeps its mode alive only while a request with a callback waits.
///
/// Freed with its run loop source. Guarded by the remote port's mutex.
struct ReplySource: Linked, CallbackInfo, ~Copyable {
    /// The remote port. Holds an internal reference.
    let port: MessagePortPointer
    let loop: RunLoopPointer
    /// Retained.
    let modeName: StringPointer
    /// The run loop source, signalled when a request was completed. Retained; nil once the reply source has left the port's list.
    var source: SourcePointer?
    /// How many requests wait here. Changed only by the loop's thread.
    var waitingRequests: UInt32 = 0
    /// Completed requests whose callbacks have to be called, or whose threads have not noticed yet. There can be several of a thread, one
    /// for each nested run.
    var completed = LinkedQueue<PendingRequest>()
    var previous: ReplySourcePointer?
    var following: ReplySourcePointer?
}

typealias ReplySourcePointer = UnsafeMutablePointer<ReplySource>

extension MessagePortPointer {
    /// Returns the reply source of a loop and a mode, and counts one more request that waits there. Returns nil if there is none, or if the
    /// port is invalid, since then any thread may be removing idle ones. The caller holds the mutex.
    func existingReplySource(_ loop: RunLoopPointer, _ mode: StringPointer) -> ReplySourcePointer? {
        if !pointee.base.isValid { return nil }
        let known = pointee.replySources?.first { $0.pointee.loop == loop && $0.pointee.modeName.equals(mode) }
        known?.pointee.waitingRequests += 1
        return known
    }

    /// Creates a reply source and counts one request that waits there, until `endWaiting`. Returns nil if the port is invalid, if out of
    /// memory, or if the loop cannot watch the connection. The thread of `loop`; call without the mutex held.
    func makeReplySource(_ loop: RunLoopPointer, _ mode: StringPointer) -> ReplySourcePointer? {
        guard let memory = malloc(MemoryLayout<ReplySource>.size) else { return nil }
        let replySource = memory.bindMemory(to: ReplySource.self, capacity: 1)
        replySource.initialize(to: ReplySource(port: self, loop: loop, modeName: mode))
        replySource.pointee.waitingRequests = 1
        let detail = SourceDetail(
            release: { ReplySourcePointer(info: $0).destroy() }, cancel: { info, _, _ in ReplySourcePointer(info: info).close() })
        base.retainInternal()
        mode.retain()
        guard
            let source = SourcePointer.create(
                loop.threadContext, order: -100, info: memory, perform: { ReplySourcePointer(info: $0).perform() }, getPort: nil, detail)
        else {
            replySource.destroy()
            return nil
        }
        source.pointee.item.set(.unreferenced)
        replySource.pointee.source = source
        let isLinked = locked { () -> Bool in
            if !pointee.base.isValid { return false }
            replySource.link(into: &pointee.replySources)
            return true
        }
        if !isLinked {
            source.release()
            return nil
        }
        let connectionSource = locked { pointee.connection?.sharedSource }
        let isWatched = loop.add(source, in: mode) && (connectionSource == nil || loop.add(connectionSource.unsafelyUnwrapped, in: mode))
        connectionSource?.release()
        if isWatched { return replySource }
        source.pointee.item.object.retain()
        remove(replySource, source)
        return nil
    }

    /// Removes a reply source from the loop and the port, and releases the caller's reference to its run loop source, which keeps its
    /// memory alive.
    private func remove(_ replySource: ReplySourcePointer, _ source: SourcePointer) {
        // If the source is in a loop, this calls its cancel function, which closes the reply source.
        RunLoopPointer.invalidate(source)
        replySource.close()
        source.release()
    }

    /// Removes the reply sources of an invalid port at which no request waits. Any thread; call without the mutex held.
    func removeIdleReplySources() {
        while let (replySource, source) = locked({ idleReplySource }) { remove(replySource, source) }
    }

    /// A reply source of an invalid port at which no request waits, with a reference to its run loop source for the caller; nil if there is
    /// none. The caller holds the mutex.
    private var idleReplySource: (ReplySourcePointer, SourcePointer)? {
        if pointee.base.isValid { return nil }
        let idle = pointee.replySources?.first { $0.pointee.waitingRequests == 0 }
        guard let replySource = idle, let source = replySource.pointee.source else { return nil }
        source.pointee.item.object.retain()
        return (replySource, source)
    }
}

extension ReplySourcePointer {
    /// Makes the mode count as not empty until no request waits here, since a request with a callback needs the loop to run. Loop thread
    /// only; call without the mutex held.
    func keepModeAlive() {
        if let source = pointee.source, source.pointee.item.has(.unreferenced) { RunLoopPointer.setUnreferenced(source, false) }
    }

    /// Ends the wait of a request, and removes it from the list that it is in; nil for one that is in none. Loop thread only; call without
    /// the mutex held. May free the reply source.
    func endWaiting(of pending: PendingRequestPointer?) {
        let port = pointee.port
        if pointee.waitingRequests == 1, let source = pointee.source, !source.pointee.item.has(.unreferenced) {
            RunLoopPointer.setUnreferenced(source, true)
        }
        let isValid = port.locked { () -> Bool in
            if pointee.waitingRequests > 0 { pointee.waitingRequests -= 1 }
            if let pending { port.remove(pending) }
            // This run may have consumed the signal for a request that an outer run waits for.
            if pointee.completed.first != nil {
                signalAndWakeLocked()
            } else if let source = pointee.source, source.isSignalled {
                _ = source.takeSignal()
            }
            return port.pointee.base.isValid
        }
        if !isValid { port.removeIdleReplySources() }
    }

    /// Makes the loop perform the source, because a request was completed. Any thread; the caller holds the port's mutex, which guards the
    /// signal and keeps the source alive.
    func signalAndWakeLocked() {
        pointee.source?.signal()
        if pointee.loop.maySleep { pointee.loop.wakeUp() }
    }

    /// The perform function: calls the callbacks of completed requests. For a thread that waits, it is enough that its run of the loop
    /// ends. Loop thread only; calls user code.
    fileprivate func perform() {
        let port = pointee.port
        while let pending = port.locked({ takeCompleted() }) { pending.callBack() }
    }

    /// Removes the first completed request that is not being sent from `completed`, and counts the call of its callback. The caller holds
    /// the port's mutex.
    private func takeCompleted() -> PendingRequestPointer? {
        guard let pending = pointee.completed.first?.first(where: { $0.pointee.connection == nil }) else { return nil }
        pointee.completed.remove(pending)
        pointee.port.base.countCall()
        return pending
    }

    /// Removes the reply source from the port's list, because its loop has ended or no request waits. The callbacks of requests that are
    /// left are not called. Any thread; call without the mutex held. A second call has no effect.
    @inline(never)
    fileprivate func close() {
        let port = pointee.port
        let source = port.locked { () -> SourcePointer? in
            if pointee.source != nil { unlink(from: &port.pointee.replySources) }
            defer { pointee.source = nil }
            return pointee.source
        }
        while let pending = port.locked({ takeAny() }) {
            pending.destroy()
            port.base.releaseInternal()
        }
        source?.release()
    }

    /// Removes a request from the list that it is in, and returns it; nil if there is none. The caller holds the port's mutex.
    private func takeAny() -> PendingRequestPointer? {
        let port = pointee.port
        let pending = pointee.completed.first ?? port.pointee.pending.first?.first { $0.pointee.replySource == self }
        if let pending { port.remove(pending) }
        return pending
    }

    /// The release function of the run loop source: frees the reply source.
    fileprivate func destroy() {
        let port = pointee.port
        pointee.modeName.release()
        deinitialize(count: 1)
        CLinux.free(self)
        port.base.releaseInternal()
    }
}
