import CLinux

// A remote port comes to whom its name stands for, and leaves it.

extension MessagePortPointer {
    /// RLMessagePortCreateRemote for a name of a user to which this process has no remote port yet. nil with errno:
    /// ECONNREFUSED if nobody serves it. `local`: the port of this process that has the name, with a reference that the caller
    /// gives back later. Under the registry's names.
    static func createRemote(_ name: StringPointer, of user: UInt32, _ local: inout MessagePortPointer?) -> MessagePortPointer? {
        if user == PacketSocket.own.user { local = MessagePortRegistry.find(name, isRemote: false) }
        let fd = local == nil ? try? NameServer.connect(name, of: user) : -1
        guard let fd else { return nil }
        guard let port = make(isRemote: true, name, of: user, nil, .empty) else {
            if fd >= 0 { Descriptor.close(fd) }
            return nil
        }
        // Who has ended, or hangs up, does not say why; want of memory does.
        let saved = systemError
        systemError = ECONNREFUSED
        if local.map({ port.join($0) }) ?? port.connect(fd, name) {
            systemError = saved
            MessagePortRegistry.insert(port)
            return port
        }
        port.locked { port.pointee.isValid = false }
        port.releaseInternal()
        return nil
    }

    /// Joins a local port of this process. False if it has ended.
    private func join(_ local: MessagePortPointer) -> Bool {
        local.locked {
            if !local.pointee.isValid { return false }
            local.retainInternal()
            pointee.local = local
            retainInternal()
            pointee.nextJoined = local.pointee.joined
            local.pointee.joined = self
            return true
        }
    }

    /// Says whom it wants, on a new connection.
    private func connect(_ fd: Int32, _ name: StringPointer) -> Bool {
        guard let connection = ConnectionPointer.make(.client, fd, self) else { return false }
        pointee.connection = connection
        var head = Frame(kind: .hello, payloadLocation: .inline, id: 0, message: 0, length: name.count, deadline: .never).head
        let sent = PacketSocket.send(fd, &head, Frame.headSize, name.pointee.bytes, name.count, passing: -1)
        if sent == .done { return true }
        closeConnection()
        return false
    }

    /// The connection is cut, if there is one. Any thread.
    @inline(never)
    func closeConnection() {
        let connection = locked { () -> ConnectionPointer? in
            defer { pointee.connection = nil }
            return pointee.connection
        }
        connection?.close()
        connection?.release()
    }

    /// Whether the other end is gone, though nobody has noticed yet. A system call if that is another process. Any thread.
    var isPeerGone: Bool { locked { pointee.connection.map { !Descriptor.poll($0.pointee.fd, for: []).isEmpty } ?? false } }
}
