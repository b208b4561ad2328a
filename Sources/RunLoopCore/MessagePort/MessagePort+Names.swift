import CLinux
import Synchronization

// The names of message ports, and what else `PortRegistry` is asked about them.

extension MessagePortPointer {
    /// The valid port of this kind and name, a remote one for `user`, with a reference for the caller; nil if there is none. O(number of
    /// ports). Any thread.
    static func find(_ name: StringPointer, isRemote: Bool, of user: UInt32 = 0) -> MessagePortPointer? {
        PortRegistry.next(behind: nil) { base in
            if !Handle.isKind(.messagePort, base) { return false }
            let port = MessagePortPointer(base)
            return port.pointee.isRemote == isRemote && (!isRemote || port.pointee.user == user) && port.pointee.name?.equals(name) == true
                && port.isValid && base.pointee.object.references.countUpUnlessZero()
        }.map { MessagePortPointer($0) }
    }

    /// Advances `port` to the next message port and returns it; nil at the end. Start with nil. `port` holds a reference; the previous one
    /// is released. Any thread, without a lock; may call user code.
    @inline(never)
    static func next(after port: inout MessagePortPointer?) -> MessagePortPointer? {
        let last = port
        port = PortRegistry.next(behind: last?.base) { base in
            Handle.isKind(.messagePort, base) && base.pointee.object.references.countUpUnlessZero()
        }.map { MessagePortPointer($0) }
        _ = last?.release()
        return port
    }

    /// Gives the port a name, replacing any other. False with errno. Within `PortRegistry.withNames`.
    func claimName(_ name: StringPointer) -> Bool {
        guard let claim = try? NameServer.claim(name, isForAll: pointee.allowsOthers) else { return false }
        guard let connection = ConnectionPointer.make(.listener, claim.listener, self) else {
            NameServer.release(name, NameServer.Claim(listener: -1, lock: claim.lock))
            systemError = ENOMEM
            return false
        }
        let old = pointee.claim
        let oldName = pointee.name
        oldName?.retain()
        setName(name, claim)
        if let oldName {
            NameServer.release(oldName, old)
            closeConnections { $0.pointee.role == .listener && $0.pointee.fd == old.listener }
            oldName.release()
        }
        watch(connection)
        connection.release()
        return true
    }

    /// Sets whether other users may connect; the caller then calls `closeUnauthorized`. False with errno if they cannot be let in, and then
    /// they are kept out; forbidding always succeeds. Within `PortRegistry.withNames`.
    func setAllowsOthers(_ allows: Bool) -> Bool {
        let (name, claim) = locked { () -> (StringPointer?, NameServer.Claim) in
            pointee.allowsOthers = allows
            return (pointee.name, pointee.claim)
        }
        // `accepts` keeps unauthorized users out even if the file's mode could not be changed.
        if let name, claim.lock >= 0, (try? NameServer.open(name, claim, toAll: allows)) == nil, allows {
            locked { pointee.allowsOthers = false }
            return false
        }
        return true
    }

    /// Sets the name of a local port and takes over its claim. Within `PortRegistry.withNames`.
    private func setName(_ name: StringPointer, _ claim: NameServer.Claim) {
        PortRegistry.mutex.lock()
        lock()
        let old = pointee.name
        name.retain()
        pointee.name = name
        pointee.claim = claim
        unlock()
        PortRegistry.mutex.unlock()
        old?.release()
    }

    /// Releases the name of a local port that has become invalid. Any thread, without a lock.
    func releaseName() {
        if pointee.isRemote { return }
        PortRegistry.withNames {
            let claim = locked { () -> NameServer.Claim in
                defer { pointee.claim = .none }
                return pointee.claim
            }
            if claim.lock >= 0, let name = pointee.name { NameServer.release(name, claim) }
        }
    }

    /// Whether the bytes of `data` are the port's name. Any thread, without the mutex.
    func isNamed(_ data: DataPointer?) -> Bool {
        guard let data else { return false }
        return locked {
            guard let name = pointee.name else { return false }
            return name.count == data.pointee.count && memcmp(name.pointee.bytes, data.bytes, name.count) == 0
        }
    }
}
