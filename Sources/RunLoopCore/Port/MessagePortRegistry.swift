import CLinux
import Synchronization

/// All message ports of the process: found by name, so that a name stands for one object, and taken care of at fork().
enum MessagePortRegistry {
    private static let mutex = Mutex()
    /// Valid ports and ended ones. Guarded by `mutex`.
    private nonisolated(unsafe) static var first: MessagePortPointer?
    /// Held while a name is claimed, looked up or given up, so that two threads do not do it at once. Before `mutex`.
    private static let namesMutex = Mutex()

    /// Whether fork() is taken care of; asked for once. After `PortRegistry`'s: see there.
    static let isPrepared: Bool = {
        guard PortRegistry.isPrepared else { return false }
        Thread.prepareFork(before: { beforeFork() }, inParent: { afterFork() }, inChild: { afterForkInChild() })
        return true
    }()

    /// Runs `body` while nobody else changes which names there are. It must not call user code.
    static func withNames<Result>(_ body: () -> Result) -> Result {
        namesMutex.lock()
        let result = body()
        namesMutex.unlock()
        return result
    }

    /// The valid port of that kind and name, a remote one of that user, with a reference for the caller; nil if there is none.
    /// O(number of ports).
    @inline(never)
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

    /// Any thread.
    static func insert(_ port: MessagePortPointer) {
        mutex.lock()
        port.link(into: &first)
        mutex.unlock()
    }

    /// The port's memory goes; it may never have been here. Any thread.
    static func remove(_ port: MessagePortPointer) {
        mutex.lock()
        port.unlink(from: &first)
        mutex.unlock()
    }

    /// The port has ended: its name is free.
    static func forget(_ port: MessagePortPointer) {
        if port.pointee.isRemote { return }
        withNames {
            let claim = port.locked { () -> NameServer.Claim in
                defer { port.pointee.claim = .none }
                return port.pointee.claim
            }
            if claim.lock >= 0, let name = port.pointee.name { NameServer.release(name, claim) }
        }
    }

    /// A name for a local port that is in the list, or about to be. Under `withNames`.
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

    // MARK: fork

    private static func beforeFork() {
        namesMutex.lock()
        mutex.lock()
        var next = first
        while let port = next {
            port.pointee.attachmentsMutex.lock()
            port.lock()
            port.queue.lockBoth()
            port.lockConnections()
            next = port.pointee.following
        }
    }

    private static func afterFork() {
        var next = first
        while let port = next {
            port.unlockConnections()
            port.queue.unlockBoth()
            port.unlock()
            port.pointee.attachmentsMutex.unlock()
            next = port.pointee.following
        }
        mutex.unlock()
        namesMutex.unlock()
    }

    /// Names and connections are the parent's: in the child every message port has ended, and nobody is told.
    private static func afterForkInChild() {
        afterFork()
        // From the beginning each time: one that ends may take others with it.
        while let port = firstValid {
            port.retainInternal()
            port.endInChild()
            port.releaseInternal()
        }
    }

    private static var firstValid: MessagePortPointer? {
        var next = first
        while let port = next, !port.pointee.isValid { next = port.pointee.following }
        return next
    }
}
