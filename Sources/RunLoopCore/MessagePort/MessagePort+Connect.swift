import CLinux

// How a remote port is connected to the local port that its name stands for, and disconnected.

extension MessagePortPointer {
    /// RLMessagePortCreateRemote for a name of which this process has no remote port yet. nil with errno: ECONNREFUSED if no process of
    /// `user` serves it. `local` is set to the port of this process that has the name, with a reference that the caller releases without
    /// the lock. Under the registry's names.
    static func createRemote(_ name: StringPointer, of user: UInt32, _ local: inout MessagePortPointer?) -> MessagePortPointer? {
        if user == PacketSocket.own.user { local = MessagePortRegistry.find(name, isRemote: false) }
        let fd = local == nil ? try? NameServer.connect(name, of: user) : -1
        guard let fd else { return nil }
        guard let port = make(isRemote: true, name, of: user, nil, .empty) else {
            if fd >= 0 { PacketSocket.close(fd) }
            return nil
        }
        // A failure to connect has no errno of its own; lack of memory sets it.
        let saved = systemError
        systemError = ECONNREFUSED
        if local.map({ port.connect(within: $0) }) ?? port.connect(fd, name) {
            systemError = saved
            MessagePortRegistry.insert(port)
            return port
        }
        port.locked { port.pointee.isValid = false }
        port.releaseInternal()
        return nil
    }

    /// Creates the connection to a local port of this process. False if that is invalid, or if out of memory.
    private func connect(within local: MessagePortPointer) -> Bool {
        guard let connection = ConnectionPointer.make(.inProcess, -1, local, remote: self) else { return false }
        locked { pointee.connection = connection }
        // The local port may have become invalid meanwhile, and this one with it.
        if !isValid { closeConnection() }
        return true
    }

    /// Creates the connection to another process, and sends the name that this port wants.
    private func connect(_ fd: Int32, _ name: StringPointer) -> Bool {
        guard let connection = ConnectionPointer.make(.client, fd, self) else { return false }
        pointee.connection = connection
        var head = Frame(kind: .hello, payloadLocation: .inline, id: 0, message: 0, length: name.count, deadline: .never).head
        let sent = PacketSocket.send(fd, &head, Frame.headSize, name.pointee.bytes, name.count, passing: -1)
        if sent == .done { return true }
        closeConnection()
        return false
    }

    /// Closes the connection, if there is one. Any thread, without a lock; calls user code.
    func closeConnection() {
        let connection = locked { () -> ConnectionPointer? in
            defer { pointee.connection = nil }
            return pointee.connection
        }
        connection?.close()
        connection?.release()
    }

    /// Whether the server is gone, though the loop has not noticed it yet. A system call if the server is another process. Any thread.
    var isPeerGone: Bool {
        locked {
            guard let connection = pointee.connection, connection.pointee.role == .client else { return false }
            return !Descriptor.poll(connection.pointee.fd, for: []).isEmpty
        }
    }
}
