import CLinux
import Synchronization

// What a client could cost a server by doing nothing: a descriptor, if it never says which name it wants, and memory for the requests that
// the server has taken over, if it sends them faster than they are answered.

/// The clients of all ports of the process that have not said yet which name they want, in the order in which they were accepted.
enum SilentClients {
    /// The list, with the newest client first. Guarded by the mutex of `PortRegistry`, as is `oldest`.
    private nonisolated(unsafe) static var newest: UnsafeMutablePointer<Connection.Silent>?
    private nonisolated(unsafe) static var oldest: UnsafeMutablePointer<Connection.Silent>?

    /// Adds a client that was just accepted, before it can be closed. Any thread.
    static func add(_ connection: ConnectionPointer) {
        let client = connection.silent
        PortRegistry.mutex.lock()
        client.pointee.connection = connection
        client.link(into: &newest)
        if oldest == nil { oldest = client }
        PortRegistry.mutex.unlock()
    }

    /// Removes a client that has said something, or is being closed. Any thread.
    @inline(never)
    static func remove(_ connection: ConnectionPointer) {
        let client = connection.silent
        PortRegistry.mutex.lock()
        if client == oldest { oldest = client.pointee.previous }
        client.unlink(from: &newest)
        PortRegistry.mutex.unlock()
    }

    /// Disconnects the client that was accepted first, if that was before `limit`; false if there is none. One system call for each client
    /// that is looked at. A thread that has a loop, without a lock.
    @inline(never)
    static func disconnectFirst(acceptedBefore limit: Instant) -> Bool {
        while true {
            PortRegistry.mutex.lock()
            guard let connection = oldest?.pointee.connection, connection.pointee.silent.since < limit else {
                PortRegistry.mutex.unlock()
                return false
            }
            connection.retain()
            PortRegistry.mutex.unlock()
            // What it has said is about to be received, or delivered.
            let isSilent =
                Descriptor.poll(connection.pointee.fd, for: .readable).isEmpty && !connection.locked { connection.pointee.handshakeDone }
            remove(connection)
            if isSilent { connection.close() }
            connection.release()
            if isSilent { return true }
        }
    }
}

extension Connection {
    /// An element of `SilentClients`: the part of a connection that is in that list, and when the client was accepted.
    struct Silent: Linked {
        var previous: UnsafeMutablePointer<Silent>?
        var following: UnsafeMutablePointer<Silent>?
        /// The connection that this is a part of.
        var connection: ConnectionPointer?
        let since = Clock.now
    }
}

extension ConnectionPointer {
    fileprivate var silent: UnsafeMutablePointer<Connection.Silent> { withUnsafeMutablePointer(to: &pointee.silent) { $0 } }
}

extension ConnectionPointer {
    /// Counts a request that the server has taken over (1) or answered (-1); 0 if the capacity of the port has changed. While there are too
    /// many of them, or too many bytes, the client is not read. A connection of a server; any thread, without a lock.
    @inline(never)
    func countTaken(_ requests: Int, bytes: Int) {
        let queue = pointee.port.queue
        queue.lockSenders()
        let isChanged = locked { () -> Bool in
            pointee.takenRequests += requests
            pointee.takenBytes += requests * bytes
            let isFull = pointee.takenRequests >= Int(queue.pointee.capacity) || pointee.takenBytes >= PortLimits.takenBytes
            if isFull != isReadable { return false }
            pointee.idleInterest.store((isFull ? Events.onlyHangUp : .readable).rawValue, ordering: .releasing)
            return true
        }
        queue.unlockSenders()
        if isChanged { updateInterest() }
    }

    /// Server: whether the client is read, apart from frames that wait. Any thread.
    @inline(__always)
    var isReadable: Bool { pointee.idleInterest.load(ordering: .relaxed) == Events.readable.rawValue }

    /// The client is gone, while too much of it is unanswered for the rest to be read: tells the owners of those requests. The loop's
    /// thread, without a lock; calls user code.
    func noteHangUp() {
        locked { if !isReadable { pointee.idleInterest.store(0, ordering: .releasing) } }
        updateInterest()
        callRequestInvalidations()
    }
}

extension MessagePortPointer {
    /// The capacity was changed: clients that were not read may be now. Any thread that has a loop, without a lock.
    func noteCapacity() {
        var connection: ConnectionPointer?
        while let next = nextConnection(&connection) { if next.pointee.role == .server { next.countTaken(0, bytes: 0) } }
    }
}
