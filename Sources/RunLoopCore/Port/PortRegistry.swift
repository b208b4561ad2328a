import Synchronization

/// The list of all ports of the process, of both kinds. It is where message ports are found by name, and it keeps fork() from copying a
/// port while another thread changes it.
///
/// The locks of ports are taken before those of loops. Therefore its fork handlers are registered after `Registry`'s: they are the first to
/// run before a fork, and the last after it.
enum PortRegistry {
    /// Guards the list.
    static let mutex = Mutex()
    /// The first port of the list, which also has invalid ports. Guarded by `mutex`.
    private nonisolated(unsafe) static var first: PortHeaderPointer?
    /// Held while a name of a message port is claimed, looked up or released, so that one thread at a time does so. Taken before `mutex`.
    /// User code must not be called under it.
    static let namesMutex = Mutex()

    /// Held while a client is accepted and added to its port's list: a child of fork() closes the descriptors of listed connections only.
    /// Taken before all other locks; user code must not be called under it.
    static let acceptMutex = Mutex()

    /// Registers the fork handlers at the first use, after those of `Registry`. False if the process has no thread key left.
    static let isPrepared: Bool = {
        guard Registry.prepare() else { return false }
        Thread.prepareFork(before: { beforeFork() }, inParent: { afterFork() }, inChild: { afterForkInChild() })
        return true
    }()

    /// Adds a new port. Any thread.
    @inline(never)
    static func insert(_ port: PortHeaderPointer) { mutex.locked { port.link(into: &first) } }

    /// Removes a port that is about to be freed; it need not be in the list. Any thread.
    static func remove(_ port: PortHeaderPointer) { _ = mutex.locked { port.unlink(from: &first) } }

    /// Calls `body` for each port, under the mutex. Returns false if a thread holds that, even this one. Any thread.
    static func tryForEach(_ body: (PortHeaderPointer) -> Void) -> Bool { mutex.tryLocked { first?.forEach(body) } }

    /// Returns the next port after `last`, from the first one on if `last` is nil, for which `condition` holds; nil if there is none.
    /// `condition` is called under the mutex. O(number of ports). Any thread.
    @inline(never)
    static func next(after last: PortHeaderPointer?, where condition: (PortHeaderPointer) -> Bool) -> PortHeaderPointer? {
        mutex.locked {
            let next = last.map { $0.pointee.following } ?? first
            return next?.first(where: condition)
        }
    }

    // MARK: fork

    /// Performs one step of a fork() for all ports.
    private static func forEach(_ step: PortHeader.ForkStep) { first?.forEach { $0.fork(step) } }

    /// Takes all locks of the registry and of ports. No thread waits for one port's lock while it holds another's, so the order of ports
    /// does not matter.
    private static func beforeFork() {
        acceptMutex.lock()
        namesMutex.lock()
        mutex.lock()
        forEach(.lock)
        PacketSocket.lockClosings()
    }

    /// Releases the locks that `beforeFork` has taken, in parent and child.
    @inline(never)
    private static func afterFork(inChild: Bool = false) {
        PacketSocket.unlockClosings(inChild: inChild)
        forEach(.unlock)
        mutex.unlock()
        namesMutex.unlock()
        acceptMutex.unlock()
    }

    private static func afterForkInChild() {
        afterFork(inChild: true)
        forEach(.reset)
        forEach(.end)
    }
}
