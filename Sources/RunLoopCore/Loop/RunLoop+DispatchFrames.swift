import CRunLoop
import Synchronization

/// The call of a source on a descriptor. The loop's reference keeps the source alive, so none is taken for the call; if the
/// source leaves the loop during the call, the loop's reference becomes the call's. Steps 5 and 9.
struct DispatchFrame: BitwiseCopyable {
    /// nil if nothing is being called, or the source has left the loop.
    var source: SourcePointer?
    /// The source, if it has left the loop: the internal reference is released when the call ends.
    var departed: SourcePointer?

    /// Nothing is being called.
    var isNone: Bool { source == nil && departed == nil }

    /// The source that is being called.
    var anySource: SourcePointer? { source ?? departed }

    /// Whether this source is being called and has not left the loop.
    func isCalling(_ called: SourcePointer) -> Bool { UInt(bitPattern: source) == UInt(bitPattern: called) }

    /// In a child of fork(), where the thread of the call does not exist. Under all locks; destroys no source.
    fileprivate func resetAfterFork() {
        guard let source = anySource else { return }
        if source.pointee.item.has(.isOfEndpoint) { EndpointPointer(info: source.pointee.info).resetCallsAfterFork() }
        if departed != nil { _ = source.item.releaseInternal() }
    }

    /// A source leaves the loop: true if this call takes over the loop's reference.
    fileprivate mutating func transferReference(of leaving: SourcePointer) -> Bool {
        if source != leaving { return false }
        source = nil
        departed = leaving
        return true
    }
}

// Which sources are being called.

extension RunLoopPointer {
    /// A source leaves this loop: true if it is being called, and the call takes over the loop's reference. Of nested calls of
    /// one source the outermost takes it, since it ends last. Under the locks of both.
    func transfersReference(of source: SourcePointer) -> Bool {
        for index in 0..<pointee.outerDispatchFrames.count where pointee.outerDispatchFrames[index].transferReference(of: source) {
            return true
        }
        return pointee.dispatchFrame.transferReference(of: source)
    }

    /// If the source of the call that has ended has left the loop, releases its internal reference. Under the lock, which is released
    /// meanwhile; may call the context's release.
    func releaseDeparted() {
        guard let departed = pointee.dispatchFrame.departed else { return }
        pointee.dispatchFrame = DispatchFrame()
        unlockInlined()
        departed.releaseInternal()
        lockInlined()
    }

    /// The source on a descriptor that is being called, unless it has left the loop. The loop's thread.
    var dispatchedSource: SourcePointer? { locked { pointee.dispatchFrame.source } }

    /// Makes the innermost of the outer frames the current one. Under the lock.
    @inline(never)
    func popDispatchFrame() {
        let last = pointee.outerDispatchFrames.count - 1
        pointee.dispatchFrame = pointee.outerDispatchFrames[last]
        pointee.outerDispatchFrames.truncate(to: last)
    }

    /// How many calls of internal sources with this info are under way, one nested in another. The loop's thread.
    func dispatchDepth(of info: UnsafeMutableRawPointer) -> UInt32 {
        locked {
            var count: UInt32 = 0
            func look(_ frame: DispatchFrame) {
                guard let source = frame.anySource else { return }
                if source.pointee.info == info && source.pointee.item.has(.isInternal) { count += 1 }
            }
            look(pointee.dispatchFrame)
            for index in 0..<pointee.outerDispatchFrames.count { look(pointee.outerDispatchFrames[index]) }
            return count
        }
    }

    /// The thread has ended in these calls: calls the event handlers of internal sources with no events, which means that. Without the lock;
    /// calls user code.
    func abandonDispatches() {
        while let frame = locked({ takeInnermostFrame() }), let source = frame.anySource {
            if source.pointee.item.has(.isInternal) {
                _ = source.pointee.function.handleEvents(source.pointee.info, 0, 0)
            }
            frame.departed?.releaseInternal()
            source.release()
        }
    }

    /// In a child of fork() that does not have this loop's thread: the calls that the frames stand for never return. Their endpoints stop
    /// counting them, or they could never be closed. Under every lock of the library.
    func resetDispatchesAfterFork() {
        pointee.dispatchFrame.resetAfterFork()
        for index in 0..<pointee.outerDispatchFrames.count { pointee.outerDispatchFrames[index].resetAfterFork() }
        pointee.dispatchFrame = DispatchFrame()
        pointee.outerDispatchFrames.truncate(to: 0)
    }

    /// Pops the innermost frame, with a reference to its source. Under the lock.
    private func takeInnermostFrame() -> DispatchFrame? {
        let frame = pointee.dispatchFrame
        guard let source = frame.anySource else { return nil }
        source.pointee.item.object.retain()
        pointee.dispatchFrame = DispatchFrame()
        if pointee.outerDispatchFrames.count > 0 { popDispatchFrame() }
        return frame
    }
}

extension SourcePointer {
    /// Releases a loop's internal reference. Any thread, without a lock; may call the context's release.
    fileprivate func releaseInternal() {
        let owner = item.lock()
        let isDead = item.releaseInternal()
        owner.unlock()
        if isDead { destroy() }
    }
}
