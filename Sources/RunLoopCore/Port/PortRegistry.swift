import Synchronization

/// The list of all ports of the process, of both kinds: finds message ports by their names, and keeps fork() from copying a port while
/// another thread changes it.
///
/// The locks of ports are taken before those of loops. So the fork handlers are registered after `Registry`'s: they are the first to run
/// before a fork, and the last after it.
enum PortRegistry {
    /// Guards the list.
    static let mutex = Mutex()
    /// The first port of the list, which has invalid ports too.
    private nonisolated(unsafe) static var first: PortHeaderPointer?
    /// Held while a name of a message port is claimed, looked up or released, so that one thread at a time does. Comes before `mutex`.
    private static let namesMutex = Mutex()

    /// Held while a client is accepted and put into its port's list: a child of fork() closes the descriptors that are in lists.
    private static let acceptMutex = Mutex()

    /// Registers the fork handlers at the first use. False if out of memory, or if the thread can have no loop.
    static let isPrepared: Bool = {
        guard Registry.current != nil else { return false }
        Thread.prepareFork(before: { beforeFork() }, inParent: { afterFork() }, inChild: { afterForkInChild() })
        return true
    }()

    /// Runs `body`, which must not call user code, while no other thread changes which names there are. Any thread, without a lock of a
    /// port.
    static func withNames<Result>(_ body: () -> Result) -> Result { namesMutex.locked(body) }

    /// Runs `body`, which must not call user code, while no thread forks. Any thread, without any other lock.
    static func withoutFork<Result>(_ body: () -> Result) -> Result { acceptMutex.locked(body) }

    /// Adds a new port. Any thread.
    @inline(never)
    static func insert(_ port: PortHeaderPointer) { mutex.locked { port.link(into: &first) } }

    /// Removes a port that is about to be freed; it need not be in the list. Any thread.
    static func remove(_ port: PortHeaderPointer) { _ = mutex.locked { port.unlink(from: &first) } }

    /// The next port behind `last`, or the first of all, for which `condition` holds, which is called under the mutex. O(number of
    /// ports). Any thread.
    @inline(never)
    static func next(behind last: PortHeaderPointer?, where condition: (PortHeaderPointer) -> Bool) -> PortHeaderPointer? {
        mutex.locked {
            let next = last.map { $0.pointee.following } ?? first
            return next?.first(where: condition)
        }
    }

    // MARK: fork

    private static func forEach(_ step: PortHeader.ForkStep) {
        var next = first
        while let port = next {
            next = port.pointee.following
            if step == .lock { port.queue.pointee.attachmentsMutex.lock() }
            port.pointee.functions.fork(port, step.rawValue)
            if step == .unlock { port.queue.pointee.attachmentsMutex.unlock() }
        }
    }

    /// Locks everything. No thread waits for one port's lock while it holds another's, so their order does not matter.
    private static func beforeFork() {
        acceptMutex.lock()
        namesMutex.lock()
        mutex.lock()
        forEach(.lock)
    }

    /// Unlocks everything again, in parent and child.
    @inline(never)
    private static func afterFork() {
        forEach(.unlock)
        mutex.unlock()
        namesMutex.unlock()
        acceptMutex.unlock()
    }

    private static func afterForkInChild() {
        afterFork()
        forEach(.reset)
        forEach(.end)
    }
}
