import CLinux
import Synchronization

/// The list of all ports, which keeps fork() from copying a port while another thread changes it.
///
/// The locks of ports are taken before those of loops. So the fork handlers are registered after `Registry`'s: they are the first to run
/// before a fork, and the last after it.
enum PortRegistry {
    private static let mutex = Mutex()
    /// The first port of the list. Guarded by `mutex`.
    private nonisolated(unsafe) static var first: PortPointer?

    /// Registers the fork handlers at the first use. False if out of memory, or if the thread can have no loop.
    static let isPrepared: Bool = {
        guard Registry.current != nil else { return false }
        Thread.prepareFork(before: { beforeFork() }, inParent: { afterFork() }, inChild: { afterForkInChild() })
        return true
    }()

    /// Adds a new port. Any thread.
    static func insert(_ port: PortPointer) {
        mutex.lock()
        port.link(into: &first)
        mutex.unlock()
    }

    /// Removes a port that is about to be freed. Any thread.
    static func remove(_ port: PortPointer) {
        mutex.lock()
        port.unlink(from: &first)
        mutex.unlock()
    }

    /// Locks every queue. No thread waits for one port's lock while it holds another's, so their order does not matter.
    private static func beforeFork() {
        mutex.lock()
        var next = first
        while let port = next {
            port.queue.pointee.attachmentsMutex.lock()
            port.queue.lockBoth()
            next = port.pointee.following
        }
    }

    /// Ports are memory, of which the child has a copy; only the calls that other threads were in are forgotten.
    private static func afterForkInChild() {
        let survivor = ThreadContextPointer.current.map { RunLoopPointer($0) }
        var next = first
        while let port = next {
            port.abandonCalls(of: survivor)
            next = port.pointee.following
        }
        afterFork()
    }

    /// Unlocks everything again, in parent and child.
    private static func afterFork() {
        var next = first
        while let port = next {
            port.queue.unlockBoth()
            port.queue.pointee.attachmentsMutex.unlock()
            next = port.pointee.following
        }
        mutex.unlock()
    }
}
