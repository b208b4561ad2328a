import CLinux
import CRunLoop
import Synchronization

/// Delivers the replies of a remote port to one loop in one mode: CF's reply source. Created at the first request from there and kept, so
/// that further requests add and remove nothing. It does not keep its mode alive unless a request needs the loop to run.
///
/// Freed with its run loop source. Guarded by the remote port's mutex.
struct ReplySource: Linked, ~Copyable {
    /// The remote port, with an internal reference.
    let port: MessagePortPointer
    let loop: RunLoopPointer
    /// Retained.
    let modeName: StringPointer
    /// The run loop source, signalled when a request was completed. Retained; nil once this is no longer in the port's list.
    var source: SourcePointer?
    /// How many requests wait here. Changed by the loop's thread only.
    var waitingRequests: UInt32 = 0
    /// A request needs the loop to run, so `source` counts as a source of the mode. The loop's thread only.
    var keepsModeAlive = false
    /// How many requests were completed whose threads have not noticed that yet. There can be several, one for each nested run.
    var unseenReplies: UInt32 = 0
    /// The completed requests whose functions have to be called.
    var completed = LinkedQueue<PendingRequest>()
    var previous: ReplySourcePointer?
    var following: ReplySourcePointer?
}

typealias ReplySourcePointer = UnsafeMutablePointer<ReplySource>

extension MessagePortPointer {
    /// The reply source for a loop and a mode, with one more request waiting; nil if there is none. nil also if the port is invalid: then
    /// any thread may be removing idle ones. Under the mutex.
    func existingReplySource(_ loop: RunLoopPointer, _ mode: StringPointer) -> ReplySourcePointer? {
        if !pointee.isValid { return nil }
        let known = pointee.replySources?.first { $0.pointee.loop == loop && $0.pointee.modeName.equals(mode) }
        known?.pointee.waitingRequests += 1
        return known
    }

    /// Creates a reply source with one request waiting, until `endWaiting`. nil if the port is invalid, if out of memory, or if the loop cannot
    /// watch the connection. Without the mutex.
    func makeReplySource(_ loop: RunLoopPointer, _ mode: StringPointer) -> ReplySourcePointer? {
        guard let memory = malloc(MemoryLayout<ReplySource>.size) else { return nil }
        let replySource = memory.bindMemory(to: ReplySource.self, capacity: 1)
        replySource.initialize(to: ReplySource(port: self, loop: loop, modeName: mode))
        replySource.pointee.waitingRequests = 1
        let detail = SourceDetail(release: { replySourceOf($0).destroy() }, cancel: { info, _, _ in replySourceOf(info).close() })
        retainInternal()
        mode.retain()
        guard
            let source = SourcePointer.create(
                loop.threadContext, order: -100, info: memory, perform: { replySourceOf($0).perform() }, getPort: nil, detail)
        else {
            replySource.destroy()
            return nil
        }
        source.pointee.item.set(.unreferenced)
        replySource.pointee.source = source
        let isLinked = locked { () -> Bool in
            if !pointee.isValid { return false }
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

    /// Removes a reply source, and releases the caller's reference to its run loop source, which keeps its memory.
    private func remove(_ replySource: ReplySourcePointer, _ source: SourcePointer) {
        // If the source is in a loop, this calls its cancel function, which closes the reply source.
        RunLoopPointer.invalidate(source)
        replySource.close()
        source.release()
    }

    /// Removes the reply sources of an invalid port at which no request waits. Any thread, without the mutex.
    func removeIdleReplySources() {
        while let (replySource, source) = locked({ idleReplySource }) { remove(replySource, source) }
    }

    /// One of those, with a reference to its run loop source for the caller. Under the mutex.
    private var idleReplySource: (ReplySourcePointer, SourcePointer)? {
        if pointee.isValid { return nil }
        let idle = pointee.replySources?.first { $0.pointee.waitingRequests == 0 && $0.pointee.completed.first == nil }
        guard let replySource = idle, let source = replySource.pointee.source else { return nil }
        source.pointee.item.object.retain()
        return (replySource, source)
    }
}

extension ReplySourcePointer {
    /// Makes the mode count as not empty until `endWaiting`, since a request needs the loop to run. The loop's thread, without the mutex.
    func keepModeAlive() {
        if pointee.keepsModeAlive { return }
        pointee.keepsModeAlive = true
        if let source = pointee.source { RunLoopPointer.setUnreferenced(source, false) }
    }

    /// Ends the wait of a request. `pending` is that of a thread, which frees it afterwards; nil for others. The loop's thread, without
    /// the mutex. May free the reply source.
    func endWaiting(of pending: PendingRequestPointer? = nil) {
        let port = pointee.port
        if pointee.waitingRequests == 1 && pointee.keepsModeAlive {
            pointee.keepsModeAlive = false
            if let source = pointee.source { RunLoopPointer.setUnreferenced(source, true) }
        }
        let isValid = port.locked { () -> Bool in
            if pointee.waitingRequests > 0 { pointee.waitingRequests -= 1 }
            if let pending, !pending.pointee.isCompleted {
                port.removeUnanswered(pending)
            } else if pending != nil && pointee.unseenReplies > 0 {
                pointee.unseenReplies -= 1
            }
            // This run may have taken the signal for a request that an outer run waits for.
            if pointee.unseenReplies > 0 || pointee.completed.first != nil {
                signalAndWakeLocked()
            } else if let source = pointee.source, source.isSignalled {
                _ = source.takeSignal()
            }
            return port.pointee.isValid
        }
        if !isValid { port.removeIdleReplySources() }
    }

    /// Makes the loop perform the source because a request was completed. Any thread, under the port's mutex, which guards the signal, and
    /// keeps the source alive.
    func signalAndWakeLocked() {
        pointee.source?.signal()
        if pointee.loop.maySleep { pointee.loop.wakeUp() }
    }

    /// The perform function: calls the functions of completed requests. A thread that waits needs nothing but the end of its run. The
    /// loop's thread.
    fileprivate func perform() {
        let port = pointee.port
        while let pending = port.locked({ takeCompleted() }) { port.callBack(pending) }
    }

    /// Removes the first completed request that is not being sent from the list, and counts the call of its function. Under the port's
    /// mutex.
    private func takeCompleted() -> PendingRequestPointer? {
        var next = pointee.completed.first
        while let pending = next, pending.pointee.sending != .hasEnded {
            pending.pointee.sending = .isDue
            next = pending.pointee.following
        }
        guard let pending = next else { return nil }
        pointee.completed.remove(pending)
        pointee.port.pointee.runningCalls += 1
        return pending
    }

    /// Takes the reply source out of the port's list, because its loop has ended or no request waits. The functions of requests that are
    /// left are not called. Any thread, without the mutex; a second call has no effect.
    @inline(never)
    fileprivate func close() {
        let port = pointee.port
        var dropped = LinkedQueue<PendingRequest>()
        let source = port.locked { () -> SourcePointer? in
            guard let source = pointee.source else { return nil }
            pointee.source = nil
            unlink(from: &port.pointee.replySources)
            port.removeRequests(of: self)
            swap(&dropped, &pointee.completed)
            return source
        }
        while let pending = dropped.first {
            dropped.remove(pending)
            port.destroy(pending)
            port.releaseInternal()
        }
        source?.release()
    }

    /// The release function: frees the reply source with its run loop source.
    fileprivate func destroy() {
        let port = pointee.port
        pointee.modeName.release()
        deinitialize(count: 1)
        CLinux.free(self)
        port.releaseInternal()
    }
}

private func replySourceOf(_ info: UnsafeRawPointer?) -> ReplySourcePointer {
    UnsafeMutableRawPointer(mutating: info.unsafelyUnwrapped).assumingMemoryBound(to: ReplySource.self)
}
