import CLinux
import Synchronization

/// All ports there are, so that fork() finds none of them half changed.
///
/// A port's locks are taken before those of loops: the handlers here are registered after `Registry`'s, which makes them
/// the first before a fork and the last after it.
enum PortRegistry {
    private static let mutex = Mutex()
    /// Guarded by `mutex`.
    private nonisolated(unsafe) static var first: PortPointer?

    /// Whether fork() is taken care of; asked for once. False if out of memory.
    static let isPrepared: Bool = {
        guard Registry.current != nil else { return false }
        Thread.prepareFork(before: { beforeFork() }, inParent: { afterFork() }, inChild: { afterForkInChild() })
        return true
    }()

    /// Any thread.
    static func insert(_ port: PortPointer) {
        mutex.lock()
        port.link(into: &first)
        mutex.unlock()
    }

    /// Any thread.
    static func remove(_ port: PortPointer) {
        mutex.lock()
        port.unlink(from: &first)
        mutex.unlock()
    }

    /// Before fork(): everybody out of every port. Nobody waits for one port's lock while holding another's, so the order among them does not matter.
    private static func beforeFork() {
        mutex.lock()
        var next = first
        while let port = next {
            port.queue.lockBoth()
            next = port.pointee.following
        }
    }

    /// Ports are memory, which the child has a copy of. What other threads were doing with them is over.
    private static func afterForkInChild() {
        let survivor = HomePointer.current.map { RunLoopPointer($0) }
        var next = first
        while let port = next {
            port.abandonCalls(of: survivor)
            next = port.pointee.following
        }
        afterFork()
    }

    /// After it, in parent and child.
    private static func afterFork() {
        var next = first
        while let port = next {
            port.queue.unlockBoth()
            next = port.pointee.following
        }
        mutex.unlock()
    }
}
