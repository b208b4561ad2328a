import CLinux
import Synchronization

// What a client could cost a server by doing nothing: a descriptor, if it never sends its hello; memory for requests that were taken over,
// if it sends them faster than they are answered; and memory for a payload that it begins and does not finish.

/// The clients of all ports of this process that have not yet sent their hello, in the order in which they were accepted.
enum SilentClients {
    /// The list. Guarded by the mutex of `PortRegistry`.
    private nonisolated(unsafe) static var clients = PlainList<ConnectionPointer>()

    /// Adds a client that was just accepted, before it can be closed. Returns false if out of memory. Any thread.
    static func add(_ connection: ConnectionPointer) -> Bool { PortRegistry.mutex.locked { clients.append(connection) } }

    /// Removes a client that has sent its hello, or is being closed. O(number of silent clients). Any thread.
    @inline(never)
    static func remove(_ connection: ConnectionPointer) {
        PortRegistry.mutex.locked {
            for index in 0..<clients.count where clients[index] == connection { return clients.remove(at: index) }
        }
    }

    /// Disconnects the silent client that was accepted first, if that was before `limit`. Returns false if there is none. One system call
    /// for each client that is checked. Any thread that has a loop; call without a lock held. Calls no user code, since a silent client has
    /// no requests.
    @inline(never)
    static func disconnectFirst(acceptedBefore limit: Instant) -> Bool {
        while true {
            PortRegistry.mutex.lock()
            let connection = clients.count > 0 && clients[0].pointee.created < limit ? clients[0] : nil
            connection?.retain()
            PortRegistry.mutex.unlock()
            guard let connection else { return false }
            // Otherwise the hello is about to be received, or was received ahead and is about to be delivered.
            let isSilent = connection.locked { !connection.isPacketHere && !connection.pointee.handshakeDone }
            remove(connection)
            if isSilent { connection.close() }
            connection.release()
            if isSilent { return true }
        }
    }
}

extension ConnectionPointer {
    /// Counts requests that were taken over and not answered: 1 when one is taken over, -1 when it is answered. With 0, only checks
    /// the limits again, because the port's capacity has changed. While there are too many such requests, or too many bytes of them,
    /// nothing more is read from the client. Any thread; call without a lock held.
    @inline(never)
    func countUnanswered(_ requests: Int, bytes: Int) {
        let queue = pointee.port.queue
        queue.lockSenders()
        let isChanged = locked { () -> Bool in
            pointee.unansweredRequests += requests
            pointee.unansweredBytes += requests * bytes
            let isFull = pointee.unansweredRequests >= Int(queue.pointee.capacity) || pointee.unansweredBytes >= PortLimits.unansweredBytes
            if isFull == has(.isFull) { return false }
            set([.isFull, .hasHungUp], to: isFull ? .isFull : [])
            return true
        }
        queue.unlockSenders()
        if isChanged { updateInterest() }
    }

    /// Handles the hang-up of a client from which nothing is read, because too many of its requests are unanswered or because it waits for
    /// memory: calls the invalidation callbacks of its requests. Loop thread only; call without a lock held. Calls user code.
    func noteHangUp() {
        locked { if has([.isFull, .waitsForMemory]) { set(.hasHungUp, to: .hasHungUp) } }
        if has(.waitsForMemory) && skipUnfinishable() { setWaitsForMemory(false) }
        updateInterest()
        callRequestInvalidations()
    }

    /// Server: keeps nothing of a payload if the client is gone and the rest is not in the socket, so that it will never come. What follows
    /// the payload may still be complete. Returns whether it did. Two system calls. Any thread; call without a lock held.
    private func skipUnfinishable() -> Bool {
        locked {
            if isConnected || pointee.incoming.missing <= Sockets.readableBytes(pointee.fd) ?? .max { return false }
            pointee.incoming.removeBytes()
            return true
        }
    }

    /// Whether this is a server's connection to a client that is gone and has left a request in the socket for which there is no memory.
    fileprivate var isLeftBehind: Bool { has(.waitsForMemory) && has(.hasHungUp) }
}

/// A client process, or all processes of another user together. Their payloads share one part of the memory for payloads that have not
/// arrived completely.
struct Peer: Linked, ~Copyable {
    /// See `Connection.sender`.
    let sender: UInt64
    /// How many bytes of that memory their payloads have reserved. Any thread.
    let reserved = Atomic<Int>(0)
    /// When the peer joined, or last had the exemption, as a number: the exemption goes to the peer with the lowest. Any thread.
    let turn = Atomic<UInt64>(nextTurn)
    // Guarded by the mutex of `PortRegistry`: the number of connections, and the links of the list of all peers.
    fileprivate var connections = 1
    var previous: PeerPointer?
    var following: PeerPointer?

    /// The list of all peers. Guarded by the mutex of `PortRegistry`.
    fileprivate nonisolated(unsafe) static var first: PeerPointer?
    /// The latest number of `nextTurn`. Any thread.
    private static let turns = Atomic<UInt64>(0)
    /// A new number, higher than all before. Any thread.
    static var nextTurn: UInt64 { turns.wrappingAdd(1, ordering: .relaxed).newValue }
}

typealias PeerPointer = UnsafeMutablePointer<Peer>

extension PeerPointer {
    /// Returns the peer of a new connection, creating it if needed; nil if out of memory. `leave` is called when the connection is freed.
    /// O(number of peers). Any thread; call without the lock of a port or connection held.
    static func join(_ sender: UInt64) -> PeerPointer? {
        PortRegistry.mutex.lock()
        defer { PortRegistry.mutex.unlock() }
        if let known = Peer.first?.first(where: { $0.pointee.sender == sender }) {
            known.pointee.connections += 1
            return known
        }
        guard let peer = malloc(MemoryLayout<Peer>.size)?.bindMemory(to: Peer.self, capacity: 1) else { return nil }
        peer.initialize(to: Peer(sender: sender))
        peer.link(into: &Peer.first)
        return peer
    }

    /// Ends the membership of a connection, which `join` has begun; the last one frees the peer. Any thread; call without the lock of a
    /// port or connection held.
    func leave() {
        PortRegistry.mutex.lock()
        pointee.connections -= 1
        let isLast = pointee.connections == 0
        if isLast { unlink(from: &Peer.first) }
        PortRegistry.mutex.unlock()
        if isLast { free(self) }
    }
}

// A piece of a payload may have to wait in the socket until there is memory. Of the connections of a port that wait, one polls for memory
// every 50 ms, in each loop that serves the port, on behalf of all of them; the others are not watched meanwhile. Since no loop reads its
// piece, that connection stays readable whatever its client does.

extension ConnectionPointer {
    /// Server: makes the connection wait for memory, if its client has sent a piece, until a check finds memory for it; or ends that, because
    /// there is some or the connection is closed. If no connection of the port polls then, the one that has been connected longest of those
    /// that wait does. A connection that will not get the rest of its payload does not wait. Any thread; call without a lock held.
    @inline(never)
    func setWaitsForMemory(_ waits: Bool) {
        let waits = waits && !skipUnfinishable()
        let port = pointee.port
        var poller: ConnectionPointer?
        port.locked {
            let isDue = waits ? locked({ pointee.isOpen && isPacketHere }) : has(.waitsForMemory)
            if !isDue { return }
            IncomingBody.waiting.wrappingAdd((waits ? 1 : 0) - (has(.waitsForMemory) ? 1 : 0), ordering: .relaxed)
            set(.waitsForMemory, to: waits ? .waitsForMemory : [])
            if !waits { locked { set(.hasHungUp, to: []) } }
            if !waits && has(.pollsForMemory) {
                set(.pollsForMemory, to: [])
                port.pointee.memoryPoller = nil
            }
            if port.pointee.memoryPoller != nil { return }
            port.pointee.connections?.forEach { if $0.has(.waitsForMemory) { poller = $0 } }
            port.pointee.memoryPoller = poller
            poller?.set(.pollsForMemory, to: .pollsForMemory)
            poller?.retain()
        }
        updateInterest()
        poller?.updateInterest()
        poller?.release()
        if waits { MessagePortPointer.pollForMemory() }
    }

    /// Called by `pollForMemory` for each connection, while some connection waits for memory. Drops the payload of this one if it is too
    /// slow, and ends its wait if its peer's share has memory by now. If it still waits, returns what decides whether it is next: the turn
    /// of its peer, and when its payload began. Any thread; call without a lock held.
    fileprivate func checkMemoryWait() -> (UInt64, UInt64)? {
        var began: UInt64 = 0
        let hasMemory = locked { () -> Bool in
            pointee.incoming.enforceMinimumRate { !has(.isFull) && pointee.sendQueue.isEmpty && isPacketHere }
            began = pointee.incoming.began
            return has(.waitsForMemory) && pointee.incoming.makeRoom()
        }
        if hasMemory { setWaitsForMemory(false) }
        return has(.waitsForMemory) ? (pointee.incoming.peer?.pointee.turn.load(ordering: .relaxed) ?? 0, began) : nil
    }
}

extension MessagePortPointer {
    /// Checks again from which clients requests may be read, because the port's capacity has changed. Any thread that has a loop; call
    /// without a lock held.
    func noteCapacity() { walkConnections { $0.countUnanswered(0, bytes: 0) } }

    /// Disconnects one client that is gone, and whose request waits in the socket for memory, because there is no descriptor left. Returns
    /// false if there is none. O(number of connections). Any thread; call without a lock held. Calls user code.
    static func disconnectLeftBehind() -> Bool {
        var isDone = false
        walk { port in
            port.walkConnections { connection in
                if isDone || !connection.isLeftBehind { return }
                connection.disconnect(because: "was disconnected: no file descriptor left for its request, which waited for memory")
                isDone = true
            }
        }
        return isDone
    }

    /// When `pollForMemory` last did its work. Any thread.
    private static let lastPoll = Atomic<UInt64>(0)

    /// Called while connections wait for memory; does its work once in each `PortLimits.moment`. Drops payloads that have been too slow for
    /// some time, and lets connections continue for which there is memory by now. If the exemption is free, gives it to the peer that
    /// joined or last had it the longest time ago, and of that peer's payloads to the one that began first; so a peer with many connections
    /// gets it no more often than others. O(number of connections). Any thread; call without a lock held.
    static func pollForMemory() {
        let now = Clock.now.nanoseconds
        let last = lastPoll.load(ordering: .relaxed)
        if now < last &+ PortLimits.moment || !lastPoll.compareExchange(expected: last, desired: now, ordering: .relaxed).exchanged {
            return
        }
        // If the exemption becomes free below, the turn of its peer changes; so it is given away the next time.
        let isExemptionFree = IncomingBody.isExemptionFree
        var first: ConnectionPointer?
        var best = (UInt64.max, UInt64.max)
        walk { port in
            port.walkConnections { connection in
                guard let priority = connection.checkMemoryWait(), priority < best else { return }
                best = priority
                connection.retain()
                first?.release()
                first = connection
            }
        }
        guard let first else { return }
        if isExemptionFree && first.locked({ first.has(.waitsForMemory) && first.pointee.incoming.takeExemption() }) {
            first.setWaitsForMemory(false)
        }
        first.release()
    }
}
