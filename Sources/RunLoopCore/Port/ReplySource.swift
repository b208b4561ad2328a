import CLinux
import CRunLoop
import Synchronization

/// A loop and a mode in which replies of a remote port are delivered: CF's reply source. Made at the first request from there and
/// kept, so that a request adds and removes nothing; unreferenced unless a thread waits for a reply.
///
/// Freed with its source. Guarded by the remote port's mutex.
struct ReplySource: Linked, ~Copyable {
    /// Held.
    let port: MessagePortPointer
    let loop: RunLoopPointer
    /// Retained.
    let modeName: StringPointer
    /// Signalled when a reply has come, or will not. Retained until the replySource is no longer in the port's list.
    var source: SourcePointer?
    /// The mode itself, once `source` is in it.
    var mode: ModePointer?
    /// How many requests wait here. Written by the loop's thread.
    var waiting: UInt32 = 0
    /// They, or some of them, need the loop to run: the source is not `unreferenced`. The loop's thread only.
    var keepsModeAlive = false
    /// How many threads' requests are over without the thread having seen it, one run in another.
    var unseenReplies: UInt32 = 0
    /// Requests that nobody waits for, over and to be told of.
    var completed: PendingRequestPointer?
    var lastCompleted: PendingRequestPointer?
    var previous: ReplySourcePointer?
    var following: ReplySourcePointer?
}

typealias ReplySourcePointer = UnsafeMutablePointer<ReplySource>

extension UnsafeMutablePointer where Pointee == MessagePortStorage {
    /// The replySource of this thread's loop in a mode, made if there is none, for a request that begins to wait there, until
    /// `endWaiting`. nil if the port has ended, if out of memory, or if the loop cannot watch.
    @inline(never)
    func beginWaiting(_ loop: RunLoopPointer, _ mode: StringPointer) -> ReplySourcePointer? {
        locked { existingReplySource(loop, mode) } ?? makeReplySource(loop, mode)
    }

    /// Not of a port that has ended: an replySource that is idle then is anybody's to remove. Under the mutex.
    func existingReplySource(_ loop: RunLoopPointer, _ mode: StringPointer) -> ReplySourcePointer? {
        var next = pointee.isValid ? pointee.replySources : nil
        while let replySource = next {
            if replySource.pointee.loop == loop && replySource.pointee.modeName.equals(mode) {
                replySource.pointee.waiting += 1
                return replySource
            }
            next = replySource.pointee.following
        }
        return nil
    }

    /// A new one, at which somebody waits already. Without the mutex.
    @inline(never)
    func makeReplySource(_ loop: RunLoopPointer, _ mode: StringPointer) -> ReplySourcePointer? {
        guard let memory = malloc(MemoryLayout<ReplySource>.size) else { return nil }
        let replySource = memory.bindMemory(to: ReplySource.self, capacity: 1)
        replySource.initialize(to: ReplySource(port: self, loop: loop, modeName: mode))
        replySource.pointee.waiting = 1
        let detail = SourceDetail(release: { replySourceOf($0).free() }, cancel: { info, _, _ in replySourceOf(info).leave() })
        hold()
        mode.retain()
        guard
            let source = SourcePointer.create(
                loop.home, order: -100, info: memory, perform: { replySourceOf($0).perform() }, getPort: nil, detail)
        else {
            replySource.free()
            return nil
        }
        source.pointee.item.set(ItemHeader.unreferenced)
        replySource.pointee.source = source
        let isWanted = locked { () -> Bool in
            if !pointee.isValid { return false }
            replySource.link(into: &pointee.replySources)
            return true
        }
        if !isWanted {
            source.giveBack()
            return nil
        }
        let connectionSource = locked { pointee.connection?.sharedSource }
        let isWatched = loop.add(source, in: mode) && (connectionSource == nil || loop.add(connectionSource.unsafelyUnwrapped, in: mode))
        connectionSource?.giveBack()
        if isWatched {
            replySource.pointee.mode = loop.locked { loop.mode(named: mode) }
            return replySource
        }
        source.pointee.item.object.retain()
        remove(replySource, source)
        return nil
    }

    /// The replySource is not wanted any more. The reference to its source, which keeps it, is given back.
    private func remove(_ replySource: ReplySourcePointer, _ source: SourcePointer) {
        // Its cancel function takes it out of the list, if a loop has it.
        RunLoopPointer.invalidate(source)
        replySource.leave()
        source.giveBack()
    }

    /// A port that has ended keeps only the reply sources that somebody waits at. Any thread.
    @inline(never)
    func removeIdleReplySources() {
        while let (replySource, source) = locked({ idleReplySource }) { remove(replySource, source) }
    }

    /// With a reference to its source for the caller. Under the mutex.
    private var idleReplySource: (ReplySourcePointer, SourcePointer)? {
        if pointee.isValid { return nil }
        var next = pointee.replySources
        while let replySource = next, replySource.pointee.waiting > 0 || replySource.pointee.completed != nil {
            next = replySource.pointee.following
        }
        guard let replySource = next, let source = replySource.pointee.source else { return nil }
        source.pointee.item.object.retain()
        return (replySource, source)
    }
}

extension UnsafeMutablePointer where Pointee == ReplySource {
    /// The loop is to be run for a request that waits here: the mode is not empty until `endWaiting`. The loop's thread.
    func keepModeAlive() {
        if pointee.keepsModeAlive { return }
        pointee.keepsModeAlive = true
        if let source = pointee.source { pointee.loop.setUnreferenced(source, false) }
    }

    /// A request that waited here is over, or nobody waits any longer; `pending` is that of a thread, which disposes of it
    /// now. The loop's thread. The replySource may be gone afterwards.
    @inline(never)
    func endWaiting(of pending: PendingRequestPointer? = nil) {
        let port = pointee.port
        if pointee.waiting == 1 && pointee.keepsModeAlive {
            pointee.keepsModeAlive = false
            if let source = pointee.source { pointee.loop.setUnreferenced(source, true) }
        }
        let isValid = port.locked { () -> Bool in
            if pointee.waiting > 0 { pointee.waiting -= 1 }
            if let pending, !pending.pointee.isCompleted {
                port.unlink(pending)
            } else if pending != nil && pointee.unseenReplies > 0 {
                pointee.unseenReplies -= 1
            }
            // A run outside this one waits for what came while this one took the signals.
            if pointee.unseenReplies > 0 || pointee.completed != nil { signalAndWakeLocked() } else { takeSignalLocked() }
            return port.pointee.isValid
        }
        if !isValid { port.removeIdleReplySources() }
    }

    /// The loop's attention: something is over here. Under the port's mutex, which keeps the source alive.
    @inline(never)
    func signalAndWakeLocked() {
        pointee.source?.signal()
        if !pointee.loop.isCurrent { pointee.loop.wakeUp() }
    }

    /// Nothing that needs it is over any more. Under the port's mutex, as whoever signals.
    @inline(__always)
    private func takeSignalLocked() {
        if let source = pointee.source, source.isSignalled { _ = source.takeSignal() }
    }

    /// The loop's thread: tells of what is over. What a thread waits for it sees itself, when this ends its run.
    fileprivate func perform() {
        let port = pointee.port
        while let pending = port.locked({ takeCompleted() }) { port.tell(pending) }
    }

    /// Under the mutex.
    private func takeCompleted() -> PendingRequestPointer? {
        guard let pending = pointee.completed else { return nil }
        pointee.completed = pending.pointee.following
        if pointee.completed == nil { pointee.lastCompleted = nil }
        return pending
    }

    /// Out of the port's list: the loop has ended, or nobody needs it. What waits here will never be told of. A second call
    /// has no effect.
    @inline(never)
    fileprivate func leave() {
        let port = pointee.port
        var dropped: PendingRequestPointer?
        let source = port.locked { () -> SourcePointer? in
            guard let source = pointee.source else { return nil }
            pointee.source = nil
            unlink(from: &port.pointee.replySources)
            dropped = port.abandon(self)
            return source
        }
        while let pending = dropped {
            dropped = pending.pointee.following
            port.discard(pending)
        }
        source?.giveBack()
    }

    /// The source is gone.
    fileprivate func free() {
        let port = pointee.port
        pointee.modeName.release()
        deinitialize(count: 1)
        CLinux.free(self)
        port.unhold()
    }
}

private func replySourceOf(_ info: UnsafeRawPointer?) -> ReplySourcePointer {
    UnsafeMutableRawPointer(mutating: info.unsafelyUnwrapped).assumingMemoryBound(to: ReplySource.self)
}
