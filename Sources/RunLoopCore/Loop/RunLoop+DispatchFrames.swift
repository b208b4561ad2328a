import CRunLoop
import Synchronization

/// A source on a descriptor that is being called. The loop has it when the call begins, and that keeps it alive, so nothing
/// is counted for the call; if it leaves the loop meanwhile, the loop's internal reference becomes the call's.
struct DispatchFrame: BitwiseCopyable {
    /// nil: nobody is being called, or it has left.
    var source: SourcePointer?
    /// It has left, and what is held is to be given up when the call has ended.
    var departed: SourcePointer?

    /// Nothing is being called.
    var isNone: Bool { source == nil && departed == nil }

    /// Who is being called.
    var anySource: SourcePointer? { source ?? departed }

    /// Whether this is still the source that is being called: it has not left.
    @inline(__always)
    func isCalling(_ called: SourcePointer) -> Bool { UInt(bitPattern: source) == UInt(bitPattern: called) }

    /// In a child of fork(), which does not have the thread that calls it.
    fileprivate func forgetAfterFork() {
        guard let source = anySource, source.pointee.item.has(ItemHeader.isOfEndpoint) else { return }
        EndpointPointer(info: source.pointee.info).resetCallsAfterFork()
    }

    /// The source leaves the loop: whether its internal reference is the call's from now on.
    fileprivate mutating func transferReference(of leaving: SourcePointer) -> Bool {
        if source != leaving { return false }
        source = nil
        departed = leaving
        return true
    }
}

// Who is being called.

extension RunLoopPointer {
    /// A source leaves this loop: true if it is being called, and the internal reference that the loop had to it is the call's. The outermost
    /// call takes it, which ends last. Under the locks of both.
    func transfersReference(of source: SourcePointer) -> Bool {
        for index in 0..<pointee.outerDispatchFrames.count where pointee.outerDispatchFrames[index].transferReference(of: source) {
            return true
        }
        return pointee.dispatchFrame.transferReference(of: source)
    }

    /// The call of a source has ended that left meanwhile. Under the lock, which it gives back meanwhile.
    @inline(never)
    func releaseDeparted() {
        guard let departed = pointee.dispatchFrame.departed else { return }
        pointee.dispatchFrame = DispatchFrame()
        unlockInlined()
        departed.releaseInternal()
        lockInlined()
    }

    /// The source on a descriptor that is being called, unless it has left the loop. The loop's thread.
    var dispatchedSource: SourcePointer? { locked { pointee.dispatchFrame.source } }

    /// Under the lock.
    @inline(never)
    func popDispatchFrame() {
        let last = pointee.outerDispatchFrames.count - 1
        pointee.dispatchFrame = pointee.outerDispatchFrames[last]
        pointee.outerDispatchFrames.truncate(to: last)
    }

    /// How many calls of sources of ours that have this info are under way, one in another. The loop's thread.
    func dispatchDepth(of info: UnsafeMutableRawPointer) -> UInt32 {
        locked {
            var count: UInt32 = 0
            func look(_ frame: DispatchFrame) {
                guard let source = frame.anySource else { return }
                if source.pointee.info == info && source.pointee.item.has(ItemHeader.isInternal) { count += 1 }
            }
            look(pointee.dispatchFrame)
            for index in 0..<pointee.outerDispatchFrames.count { look(pointee.outerDispatchFrames[index]) }
            return count
        }
    }

    /// The thread has ended in calls, which will never come back: ours are told. Without the lock; calls user code.
    func abandonDispatches() {
        while let frame = locked({ takeInnermostFrame() }), let source = frame.anySource {
            if source.pointee.item.has(ItemHeader.isInternal) {
                _ = source.pointee.function.handleEvents(source.pointee.info, 0, 0)
            }
            frame.departed?.releaseInternal()
            source.release()
        }
    }

    /// In a child of fork() that does not have this loop's thread: its calls never end. Under all locks.
    func forgetDispatchesAfterFork() {
        pointee.dispatchFrame.forgetAfterFork()
        for index in 0..<pointee.outerDispatchFrames.count { pointee.outerDispatchFrames[index].forgetAfterFork() }
    }

    /// With a reference. Under the lock.
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
