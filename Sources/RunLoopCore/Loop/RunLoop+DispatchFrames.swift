import CRunLoop
import Synchronization

/// The call of a source on a descriptor, in steps 5 and 9. The loop's internal reference keeps the source alive, so the call takes none. If
/// the source leaves the loop during the call, the loop's reference becomes the call's.
struct DispatchFrame: BitwiseCopyable {
    /// The source being called; nil if there is none, or if it has left the loop.
    var source: SourcePointer?
    /// The source being called if it has left the loop. Its internal reference is released when the call ends.
    var departed: SourcePointer?

    /// Whether nothing is being called.
    var isNone: Bool { source == nil && departed == nil }

    /// The source being called, whether or not it has left the loop.
    var anySource: SourcePointer? { source ?? departed }

    /// Whether this source is being called and has not left the loop.
    func isCalling(_ called: SourcePointer) -> Bool { UInt(bitPattern: source) == UInt(bitPattern: called) }

    /// Ends the call in the child of fork(), where its thread does not exist. The caller holds all locks. Destroys no source.
    fileprivate func resetAfterFork() {
        guard let source = anySource else { return }
        if source.pointee.item.has(.isOfEndpoint) { EndpointPointer(source.pointee.info).resetCallsAfterFork() }
        if departed != nil { _ = source.item.releaseInternal() }
    }

    /// Detaches a source from the loop. Returns true if it is the source of this call, which then takes over the loop's reference.
    fileprivate mutating func transferReference(of leaving: SourcePointer) -> Bool {
        if source != leaving { return false }
        source = nil
        departed = leaving
        return true
    }
}

// The stack of sources that are being called.

extension RunLoopPointer {
    /// Called when a source leaves this loop. Returns true if the source is being called, and the call takes over the loop's reference. If
    /// nested calls have the same source, the outermost takes over the reference, since it ends last. The caller holds the locks of the
    /// loop and the source.
    func transfersReference(of source: SourcePointer) -> Bool {
        for index in 0..<pointee.outerDispatchFrames.count where pointee.outerDispatchFrames[index].transferReference(of: source) {
            return true
        }
        return pointee.dispatchFrame.transferReference(of: source)
    }

    /// Releases the internal reference of the source whose call has ended, if the source has left the loop. The caller holds the lock,
    /// which is temporarily released. May call the context's release.
    func releaseDeparted() {
        guard let departed = pointee.dispatchFrame.departed else { return }
        pointee.dispatchFrame = DispatchFrame()
        unlock()
        departed.releaseInternal()
        lock()
    }

    /// The source on a descriptor that is being called; nil if there is none or it has left the loop. Loop thread only.
    var dispatchedSource: SourcePointer? { locked { pointee.dispatchFrame.source } }

    /// Makes the innermost of the outer frames the current one. The caller holds the lock.
    @inline(never)
    func popDispatchFrame() {
        let last = pointee.outerDispatchFrames.count - 1
        pointee.dispatchFrame = pointee.outerDispatchFrames[last]
        pointee.outerDispatchFrames.truncate(to: last)
    }

    /// Returns how many calls of internal sources with this info are in progress, nested in each other. Loop thread only.
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

    /// Ends the calls inside which the thread has exited. Calls the event handlers of internal sources with no events, which stands for
    /// this case. Call without the lock held. Calls user code.
    func abandonDispatches() {
        while let frame = locked({ takeInnermostFrame() }), let source = frame.anySource {
            if source.pointee.item.has(.isInternal) {
                _ = source.pointee.function.handleEvents(source.pointee.info, 0, 0)
            }
            frame.departed?.releaseInternal()
            source.release()
        }
    }

    /// Ends the calls of this loop in the child of a fork() that does not have the loop's thread, as they will never return. Their
    /// endpoints stop counting them; otherwise they could never be closed. The caller holds every lock of the library.
    func resetDispatchesAfterFork() {
        pointee.dispatchFrame.resetAfterFork()
        for index in 0..<pointee.outerDispatchFrames.count { pointee.outerDispatchFrames[index].resetAfterFork() }
        pointee.dispatchFrame = DispatchFrame()
        pointee.outerDispatchFrames.truncate(to: 0)
    }

    /// Pops the innermost frame, with a reference to its source. The caller holds the lock.
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
    /// Releases a loop's internal reference. Any thread; call without a lock held. May call the context's release.
    fileprivate func releaseInternal() {
        let owner = item.lock()
        let isDead = item.releaseInternal()
        owner.unlock()
        if isDead { destroy() }
    }
}
