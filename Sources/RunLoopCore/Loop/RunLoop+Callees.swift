import CRunLoop
import Synchronization

/// A source on a descriptor that is being called. The loop has it when the call begins, and that keeps it alive, so nothing
/// is counted for the call; if it leaves the loop meanwhile, the loop's hold becomes the call's.
struct Callee: BitwiseCopyable {
    /// nil: nobody is being called, or it has left.
    var source: SourcePointer?
    /// It has left, and what is held is to be given up when the call has ended.
    var left: SourcePointer?

    /// Nothing is being called.
    var isNone: Bool { source == nil && left == nil }

    /// Who is being called.
    var anybody: SourcePointer? { source ?? left }

    /// Whether this is still the source that is being called: it has not left.
    @inline(__always)
    func isStill(_ callee: SourcePointer) -> Bool { UInt(bitPattern: source) == UInt(bitPattern: callee) }

    /// In a child of fork(), which does not have the thread that calls it.
    fileprivate func forgetAfterFork() {
        guard let source = anybody, source.pointee.item.has(ItemHeader.isOfEndpoint) else { return }
        EndpointPointer(info: source.pointee.info).forgetCallAfterFork()
    }

    /// The source leaves the loop: whether its hold is the call's from now on.
    fileprivate mutating func takeHold(of leaving: SourcePointer) -> Bool {
        if source != leaving { return false }
        source = nil
        left = leaving
        return true
    }
}

// Who is being called.

extension UnsafeMutablePointer where Pointee == RunLoopStorage {
    /// A source leaves this loop: true if it is being called, and the hold that the loop had on it is the call's. The outermost
    /// call takes it, which ends last. Under the locks of both.
    func callTakesHold(of source: SourcePointer) -> Bool {
        for index in 0..<pointee.outerCallees.count where pointee.outerCallees[index].takeHold(of: source) { return true }
        return pointee.callee.takeHold(of: source)
    }

    /// The call of a source has ended that left meanwhile. Under the lock, which it gives back meanwhile.
    @inline(never)
    func letGoOfCallee() {
        guard let left = pointee.callee.left else { return }
        pointee.callee = Callee()
        unlockInline()
        left.unhold()
        lockInline()
    }

    /// Under the lock.
    @inline(never)
    func returnToOuterCallee() {
        let last = pointee.outerCallees.count - 1
        pointee.callee = pointee.outerCallees[last]
        pointee.outerCallees.truncate(to: last)
    }

    /// How many calls of sources of ours that have this info are under way, one in another. The loop's thread.
    func calls(of info: UnsafeMutableRawPointer) -> UInt32 {
        locked {
            var count: UInt32 = 0
            func look(_ callee: Callee) {
                guard let source = callee.anybody else { return }
                if source.pointee.info == info && source.pointee.item.has(ItemHeader.isOurs) { count += 1 }
            }
            look(pointee.callee)
            for index in 0..<pointee.outerCallees.count { look(pointee.outerCallees[index]) }
            return count
        }
    }

    /// The thread has ended in calls, which will never come back: ours are told. Without the lock; calls user code.
    func abandonCallees() {
        while let callee = locked({ takeInnermostCallee() }), let source = callee.anybody {
            if source.pointee.item.has(ItemHeader.isOurs) {
                _ = source.pointee.function.serve(source.pointee.info, 0, 0)
            }
            callee.left?.unhold()
            source.giveBack()
        }
    }

    /// In a child of fork() that does not have this loop's thread: its calls never end. Under all locks.
    func forgetCalleesAfterFork() {
        pointee.callee.forgetAfterFork()
        for index in 0..<pointee.outerCallees.count { pointee.outerCallees[index].forgetAfterFork() }
    }

    /// With a reference. Under the lock.
    private func takeInnermostCallee() -> Callee? {
        let callee = pointee.callee
        guard let source = callee.anybody else { return nil }
        source.pointee.item.object.retain()
        pointee.callee = Callee()
        if pointee.outerCallees.count > 0 { returnToOuterCallee() }
        return callee
    }
}

extension UnsafeMutablePointer where Pointee == SourceStorage {
    /// Gives up a loop's hold. Any thread, without a lock; may call the context's release.
    fileprivate func unhold() {
        let itemHome = item.lock()
        let isDead = item.unhold()
        itemHome.unlock()
        if isDead { destroy() }
    }
}
