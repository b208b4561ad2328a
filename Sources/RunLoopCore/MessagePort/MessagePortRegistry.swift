import CLinux
import Synchronization

/// The list of all message ports of the process: finds the port that has a name, and prepares ports for fork().
enum MessagePortRegistry {
    private static let mutex = Mutex()
    /// The first port of the list, which has invalid ports too. Guarded by `mutex`.
    private nonisolated(unsafe) static var first: MessagePortPointer?
    /// Held while a name is claimed, looked up or released, so that one thread at a time does. Comes before `mutex`.
    private static let namesMutex = Mutex()

    /// Registers the fork handlers at the first use, after `PortRegistry`'s, which says why. False if out of memory.
    static let isPrepared: Bool = {
        guard PortRegistry.isPrepared else { return false }
        Thread.prepareFork(before: { beforeFork() }, inParent: { afterFork() }, inChild: { afterForkInChild() })
        return true
    }()

    /// Runs `body`, which must not call user code, while no other thread changes which names there are. Any thread, without a lock of a
    /// port.
    static func withNames<Result>(_ body: () -> Result) -> Result {
        namesMutex.lock()
        let result = body()
        namesMutex.unlock()
        return result
    }

    /// The valid port of this kind and name, a remote one for `user`, with a reference for the caller; nil if there is none. O(number of
    /// ports). Any thread.
    static func find(_ name: StringPointer, isRemote: Bool, of user: UInt32 = 0) -> MessagePortPointer? {
        mutex.lock()
        defer { mutex.unlock() }
        var next = first
        while let port = next {
            next = port.pointee.following
            if port.pointee.isRemote == isRemote, !isRemote || port.pointee.user == user, let other = port.pointee.name, other.equals(name),
                port.isValid,
                port.retainIfAlive()
            {
                return port
            }
        }
        return nil
    }

    /// Adds a new port. Any thread.
    static func insert(_ port: MessagePortPointer) {
        mutex.lock()
        port.link(into: &first)
        mutex.unlock()
    }

    /// Removes a port that is about to be freed; it need not be in the list. Any thread.
    static func remove(_ port: MessagePortPointer) {
        mutex.lock()
        port.unlink(from: &first)
        mutex.unlock()
    }

    /// Releases the name of a local port that has become invalid. Any thread, without a lock.
    static func releaseName(of port: MessagePortPointer) {
        if port.pointee.isRemote { return }
        withNames {
            let claim = port.locked { () -> NameServer.Claim in
                defer { port.pointee.claim = .none }
                return port.pointee.claim
            }
            if claim.lock >= 0, let name = port.pointee.name { NameServer.release(name, claim) }
        }
    }

    /// Sets the name of a local port and takes over the claim of it. Under `withNames`.
    static func setName(_ port: MessagePortPointer, _ name: StringPointer, _ claim: NameServer.Claim) {
        mutex.lock()
        port.lock()
        let old = port.pointee.name
        name.retain()
        port.pointee.name = name
        port.pointee.claim = claim
        port.unlock()
        mutex.unlock()
        old?.release()
    }

    /// The next local port behind `port` that a loop serves, which becomes `port`, with a reference until it is nil again; pass a variable
    /// that is nil to get the first. O(number of ports). Any thread, without a lock; may call user code.
    static func nextServed(by loop: RunLoopPointer, _ port: inout MessagePortPointer?) -> MessagePortPointer? {
        let last = port
        mutex.lock()
        var next = last.map { $0.pointee.following } ?? first
        while let other = next, !other.queue.isServed(by: loop) || !other.retainIfAlive() { next = other.pointee.following }
        mutex.unlock()
        port = next
        _ = last?.release()
        return next
    }

    // MARK: fork

    /// Locks everything that the child will use, in the order of the locks.
    private static func beforeFork() {
        namesMutex.lock()
        mutex.lock()
        var next = first
        while let port = next {
            port.queue.pointee.attachmentsMutex.lock()
            port.lock()
            port.queue.lockBoth()
            port.lockConnections()
            next = port.pointee.following
        }
        SilentClients.mutex.lock()
    }

    /// Unlocks everything again, in parent and child.
    @inline(never)
    private static func afterFork() {
        SilentClients.mutex.unlock()
        var next = first
        while let port = next {
            port.unlockConnections()
            port.queue.unlockBoth()
            port.unlock()
            port.queue.pointee.attachmentsMutex.unlock()
            next = port.pointee.following
        }
        mutex.unlock()
        namesMutex.unlock()
    }

    /// Names and connections are the parent's: in the child all message ports become invalid, and no function of a client is called.
    private static func afterForkInChild() {
        afterFork()
        let survivor = ThreadContextPointer.current.map { RunLoopPointer($0) }
        // From the first port each time, as invalidating one may invalidate others.
        while let port = firstValid {
            port.retainInternal()
            port.closeInChild(survivor)
            port.releaseInternal()
        }
    }

    private static var firstValid: MessagePortPointer? {
        var next = first
        while let port = next, !port.pointee.isValid { next = port.pointee.following }
        return next
    }
}
