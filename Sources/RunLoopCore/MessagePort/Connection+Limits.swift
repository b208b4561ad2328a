import CLinux
import Synchronization

// What a client could cost a server by doing nothing: a descriptor, if it never says which name it wants, and memory for the requests that
// the server has taken over, if it sends them faster than they are answered, or for a payload that it begins and does not finish.

/// The clients of all ports of the process that have not said yet which name they want, in the order in which they were accepted.
enum SilentClients {
    /// The list. Guarded by the mutex of `PortRegistry`.
    private nonisolated(unsafe) static var clients = LinkedQueue<Connection.Silent>()

    /// Adds a client that was just accepted, before it can be closed. Any thread.
    static func add(_ connection: ConnectionPointer) {
        let client = connection.silent
        client.pointee.connection = connection
        PortRegistry.mutex.locked { clients.append(client) }
    }

    /// Removes a client that has said something, or is being closed. Any thread.
    @inline(never)
    static func remove(_ connection: ConnectionPointer) {
        PortRegistry.mutex.locked { clients.remove(connection.silent) }
    }

    /// Disconnects the client that was accepted first, if that was before `limit`; false if there is none. One system call for each client
    /// that is looked at. A thread that has a loop, without a lock.
    @inline(never)
    static func disconnectFirst(acceptedBefore limit: Instant) -> Bool {
        while true {
            PortRegistry.mutex.lock()
            guard let connection = clients.first?.pointee.connection, connection.pointee.silent.since < limit else {
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
            if isFull == has(.isFull) { return false }
            set([.isFull, .hasHungUp], to: isFull ? .isFull : [])
            return true
        }
        queue.unlockSenders()
        if isChanged { updateInterest() }
    }

    /// The client is gone, while too much of it is unanswered for the rest to be read: tells the owners of those requests. The loop's
    /// thread, without a lock; calls user code.
    func noteHangUp() {
        locked { if has(.isFull) { set(.hasHungUp, to: .hasHungUp) } }
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

/// A client process, or all processes of another user: what they send shares one part of the memory for payloads that have not come
/// completely.
struct Peer: Linked, ~Copyable {
    let credentials: PacketSocket.Credentials
    /// How much of that memory they have. Any thread.
    let reserved = Atomic<Int>(0)
    /// When the peer joined, or had the exemption last, as a number: the exemption goes to the lowest. Any thread.
    fileprivate let turn = Atomic<UInt64>(nextTurn)
    // Under the mutex of `PortRegistry`: how many connections they have, and the links of the list of all peers.
    fileprivate var connections = 1
    var previous: PeerPointer?
    var following: PeerPointer?

    fileprivate nonisolated(unsafe) static var first: PeerPointer?
    private static let turns = Atomic<UInt64>(0)
    /// A number that is higher than all before. Any thread.
    static var nextTurn: UInt64 { turns.wrappingAdd(1, ordering: .relaxed).newValue }
}

typealias PeerPointer = UnsafeMutablePointer<Peer>

extension PeerPointer {
    /// The peer of a new connection, to be left when the connection is freed; nil if out of memory. `user`: that of this process. O(number
    /// of peers). Any thread, without a lock.
    static func join(_ credentials: PacketSocket.Credentials, user: UInt32) -> PeerPointer? {
        PortRegistry.mutex.lock()
        defer { PortRegistry.mutex.unlock() }
        let known = Peer.first?.first {
            let its = $0.pointee.credentials
            return its.user == credentials.user && (its.process == credentials.process || its.user != user)
        }
        if let known {
            known.pointee.connections += 1
            return known
        }
        guard let peer = malloc(MemoryLayout<Peer>.size)?.bindMemory(to: Peer.self, capacity: 1) else { return nil }
        peer.initialize(to: Peer(credentials: credentials))
        peer.link(into: &Peer.first)
        return peer
    }

    /// A payload of the peer has had the exemption: peers that have joined before have it before the next. Any thread.
    func noteTurn() { pointee.turn.store(Peer.nextTurn, ordering: .relaxed) }

    /// Ends what `join` has begun. Any thread, without a lock.
    func leave() {
        PortRegistry.mutex.lock()
        pointee.connections -= 1
        let isLast = pointee.connections == 0
        if isLast { unlink(from: &Peer.first) }
        PortRegistry.mutex.unlock()
        if isLast { free(self) }
    }
}

// A piece of a payload may have to wait in the socket until there is memory. Of the connections of a port that wait, one looks for memory
// every 50 ms in each loop that serves the port, also for the others, which are not watched meanwhile. Since no loop reads the piece, that
// one stays readable whatever its client does.

extension ConnectionPointer {
    /// Sets whether the client waits for memory, and looks for it. Under the port's mutex.
    private func setMemoryWait(_ wait: Connection.Conditions) {
        IncomingBody.countWaiting((wait.isEmpty ? 0 : 1) - (has(.waitsForMemory) ? 1 : 0))
        set(.looking, to: wait)
    }

    /// Lets the client wait for memory, if it has sent a piece, until a look has found some for it. A connection of a server; any thread,
    /// without a lock.
    @inline(never)
    func waitForMemory() {
        let port = pointee.port
        port.locked {
            locked {
                if !pointee.isOpen || !isPacketHere { return }
                port.pointee.looking = port.pointee.looking ?? self
                setMemoryWait(port.pointee.looking == self ? .looking : .waitsForMemory)
            }
        }
        updateInterest()
        MessagePortPointer.lookForMemory()
    }

    /// The client has memory, or is gone. If it was the one that looked, the client looks that has been connected longest. Any thread,
    /// without a lock.
    @inline(never)
    func endWaitForMemory() {
        let port = pointee.port
        port.lock()
        setMemoryWait([])
        var next: ConnectionPointer?
        if port.pointee.looking == self {
            port.forEachConnection { if $0.has(.waitsForMemory) { next = $0 } }
            port.pointee.looking = next
            next?.setMemoryWait(.looking)
            next?.retain()
        }
        port.unlock()
        updateInterest()
        next?.updateInterest()
        next?.release()
    }

    /// Some client waits for memory: ends the payload of this one if it has come too slowly, and the wait of this one if its share has
    /// memory now. Returns the turns of its peer and of its payload if it still waits. Any thread, without a lock.
    fileprivate func noteOthersWait() -> (UInt64, UInt64)? {
        var began: UInt64 = 0
        let hasMemory = locked { () -> Bool in
            pointee.incoming.noteOthersWait { !has(.isFull) && pointee.sendQueue.isEmpty && isPacketHere }
            began = pointee.incoming.began
            return has(.waitsForMemory) && pointee.incoming.makeRoom()
        }
        if hasMemory { endWaitForMemory() }
        return has(.waitsForMemory) ? (pointee.incoming.peer?.pointee.turn.load(ordering: .relaxed) ?? 0, began) : nil
    }

    /// Whether the socket has something to receive. A system call. Under the mutex.
    var isPacketHere: Bool { !Descriptor.poll(pointee.fd, for: .readable).isEmpty }

    /// Exempts the payload, which waits for memory, unless another one is exempt. Any thread, without a lock.
    fileprivate func takeExemption() {
        if locked({ has(.waitsForMemory) && pointee.incoming.takeExemption() }) { endWaitForMemory() }
    }
}

extension MessagePortPointer {
    /// When `lookForMemory` was last called. Any thread.
    private static let lastLook = Atomic<UInt64>(0)

    /// Some client waits for memory: ends payloads that have come too slowly for some time, and lets clients go on for which there is memory
    /// now. The exemption goes round the peers, so that one with many connections gets it no more often than others, and to the payload of a
    /// peer that has begun first. O(number of connections), once in a moment. Any thread, without a lock.
    @inline(never)
    static func lookForMemory() {
        let now = Clock.now.nanoseconds
        let last = lastLook.load(ordering: .relaxed)
        if now < last &+ PortLimits.moment || !lastLook.compareExchange(expected: last, desired: now, ordering: .relaxed).exchanged {
            return
        }
        // If it becomes free below, the peer's turn changes: next time.
        let isExemptionFree = IncomingBody.isExemptionFree
        var first: ConnectionPointer?
        var turn = (UInt64.max, UInt64.max)
        var port: MessagePortPointer?
        while let next = next(after: &port) {
            var connection: ConnectionPointer?
            while let next = next.nextConnection(&connection) {
                guard let its = next.noteOthersWait(), its < turn else { continue }
                turn = its
                next.retain()
                first?.release()
                first = next
            }
        }
        if isExemptionFree { first?.takeExemption() }
        first?.release()
    }
}
