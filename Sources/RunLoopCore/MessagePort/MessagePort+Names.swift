import CLinux
import Synchronization

// The names of message ports, and how to find message ports in `PortRegistry`.

extension MessagePortPointer {
    /// Returns the valid port of this kind and name (for a remote port: and of this user), with a reference for the caller; nil if there is
    /// none. O(number of ports). Any thread; call without the lock of a port held.
    static func find(_ name: StringPointer, isRemote: Bool, of user: UInt32 = 0) -> MessagePortPointer? {
        PortRegistry.next(after: nil) { base in
            if !Handle.isKind(.messagePort, base) { return false }
            let port = MessagePortPointer(base)
            return port.pointee.isRemote == isRemote && (!isRemote || port.pointee.user == user) && port.pointee.name?.equals(name) == true
                && port.base.isValid && base.pointee.object.references.countUpUnlessZero()
        }.map { MessagePortPointer($0) }
    }

    /// Calls `body` for each message port of the process, with a reference during the call. Any thread; call without a lock held. May call
    /// user code.
    @inline(never)
    static func walk(_ body: (MessagePortPointer) -> Void) {
        var last: MessagePortPointer?
        while let next = PortRegistry.next(
            after: last?.base, where: { Handle.isKind(.messagePort, $0) && $0.pointee.object.references.countUpUnlessZero() })
        {
            _ = last?.release()
            last = MessagePortPointer(next)
            body(MessagePortPointer(next))
        }
        _ = last?.release()
    }

    /// Claims a name for the port, in place of any other, and listens. Returns false with errno on failure. The caller holds
    /// `PortRegistry.namesMutex`.
    func claimName(_ name: StringPointer) -> Bool {
        guard let claim = try? NameServer.claim(name, isForAll: pointee.allowsOthers) else { return false }
        guard let connection = ConnectionPointer.make(.listener, claim.listener, self) else {
            NameServer.release(name, claim.lock)
            systemError = ENOMEM
            return false
        }
        let (oldName, oldLock) = (pointee.name, pointee.nameLock)
        name.retain()
        PortRegistry.mutex.locked {
            locked {
                pointee.name = name
                pointee.nameLock = claim.lock
            }
        }
        if let oldName {
            NameServer.release(oldName, oldLock)
            walkConnections { if $0.pointee.role == .listener && $0 != connection { $0.close() } }
            oldName.release()
        }
        watch(connection)
        connection.release()
        return true
    }

    /// RLMessagePortSetAllowsOtherUsers: sets whether other users may connect, and disconnects clients that are not allowed any more. If
    /// other users cannot be let in, keeps them out and returns false with errno. Forbidding always succeeds. Any thread; call without a
    /// lock held. Calls user code.
    func setAllowsOthers(_ allows: Bool) -> Bool {
        let isDone = PortRegistry.namesMutex.locked { () -> Bool in
            let (name, lock) = locked { () -> (StringPointer?, Int32) in
                pointee.allowsOthers = allows
                return (pointee.name, pointee.nameLock)
            }
            // If the file's mode cannot be restricted, `accepts` still keeps unauthorized users out.
            if let name, lock >= 0, (try? NameServer.setAccess(to: name, lock, forAll: allows)) == nil, allows {
                locked { pointee.allowsOthers = false }
                return false
            }
            return true
        }
        walkConnections { connection in
            if connection.pointee.role == .server && locked({ !accepts(connection.pointee.credentials) }) { connection.close() }
        }
        return isDone
    }

    /// Releases the name of a local port that has become invalid. Any thread; call without a lock held.
    func releaseName() {
        PortRegistry.namesMutex.locked {
            let lock = locked { () -> Int32 in
                defer { pointee.nameLock = -1 }
                return pointee.nameLock
            }
            if lock >= 0, let name = pointee.name { NameServer.release(name, lock) }
        }
    }

    /// Whether the bytes of `data` are the port's name. Any thread; call without the mutex held.
    func isNamed(_ data: DataPointer?) -> Bool {
        guard let data else { return false }
        return locked {
            guard let name = pointee.name else { return false }
            return name.count == data.pointee.count && memcmp(name.pointee.bytes, data.bytes, name.count) == 0
        }
    }
}
