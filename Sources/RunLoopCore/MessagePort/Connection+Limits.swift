import CLinux
import Synchronization

// What a client could cost a server by doing nothing: a descriptor, if it never sends its hello; memory for requests that were taken over,
// if it sends them faster than they are answered; and memory for a payload that it begins and does not finish.

/// The clients of all ports of this process that have not yet sent their hello, in the order in which they were accepted.
enum SilentClients {
    /// The list. Guarded by the mutex of `PortRegistry`.
    private nonisolated(unsafe) static var clients = PlainList<ConnectionPointer>()

    /// Whether there is none. Any thread.
    static var isEmpty: Bool { PortRegistry.mutex.locked { clients.count == 0 } }

    /// Adds a client that was just accepted, before it can be closed. Returns false if out of memory. Any thread.
    static func add(_ connection: ConnectionPointer) -> Bool { PortRegistry.mutex.locked { clients.append(connection) } }

    /// Removes a client that has sent its hello, or is being closed. O(number of silent clients). Any thread.
    @inline(never)
    static func remove(_ connection: ConnectionPointer) {
        PortRegistry.mutex.locked { clients.remove(connection) }
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
    /// the limits again, because the port's capacity or the number of bytes has changed. While the client has too many such requests, or
    /// its peer too many bytes of them, nothing more is read from the client. Any thread; call without a lock held.
    @inline(never)
    func countUnanswered(_ requests: Int, bytes: Int) {
        let queue = pointee.port.queue
        queue.lockSenders()
        let concernsPeer = requests != 0 && pointee.peer?.countUnanswered(requests * (bytes + PortLimits.costOfRequest)) == true
        let isChanged = locked { () -> Bool in
            pointee.unansweredRequests += requests
            let isFull = pointee.unansweredRequests >= Int(queue.pointee.capacity) || pointee.peer?.pointee.isFull == true
            if isFull == has(.isFull) { return false }
            set([.isFull, .hasHungUp], to: isFull ? .isFull : [])
            return true
        }
        queue.unlockSenders()
        if isChanged { updateInterest() }
        if concernsPeer { pointee.port.recheckUnanswered() }
    }

    /// Handles the hang-up of a client from which nothing is read, because too many of its requests are unanswered or because it waits for
    /// memory: calls the invalidation callbacks of its requests. Nothing more will come than the socket contains, so a payload need not
    /// wait for memory any longer, and reserves none of which nothing is kept. Loop thread only; call without a lock held. Calls user code.
    func noteHangUp() {
        let keepsNothing = locked { () -> Bool in
            if !pointee.isOpen { return false }
            if has(.isFull) { set(.hasHungUp, to: .hasHungUp) }
            return pointee.incoming.noteHangUp(Sockets.readableBytes(pointee.fd) ?? .max)
        }
        if keepsNothing || has(.waitsForMemory) { endReservation(isClientGone: true) }
        updateInterest()
        callRequestInvalidations()
    }

    // MARK: memory for large payloads

    /// Server: makes `hasMemory` agree with whether a payload is under way, which it must do before anything is received: reserves memory for
    /// a payload that has begun, or releases that of one that has ended. If there is not enough, makes the connection wait, unread, until
    /// there is. Returns whether it need not wait. Any thread; call without a lock held.
    @inline(never)
    func updateReservation() -> Bool {
        guard let peer = pointee.peer else { return true }
        var next: ConnectionPointer?
        let mayContinue = pointee.port.locked { () -> Bool in
            let length = locked { pointee.incoming.frame?.length }
            if has(.waitsForMemory) || has(.hasMemory) == (length != nil) { return !has(.waitsForMemory) }
            guard let length else {
                next = peer.endReservation(of: self)
                return true
            }
            pointee.reservedBytes = length
            if peer.reserve(for: self) { return true }
            if peer.pointee.waiting.append(self) {
                set(.waitsForMemory, to: .waitsForMemory)
                return false
            }
            locked { pointee.incoming.removeBytes() }
            pointee.reservedBytes = 0
            return peer.reserve(for: self)
        }
        if !mayContinue { updateInterest() }
        continueReading(from: next)
        return mayContinue
    }

    /// Server: releases the memory that is reserved for a payload, and ends waiting for some. `isClientGone`: what is left of the payload needs
    /// no reservation. Any thread; call without a lock held.
    func endReservation(isClientGone: Bool = false) {
        guard let peer = pointee.peer else { return }
        continueReading(from: pointee.port.locked { peer.endReservation(of: self, isClientGone: isClientGone) })
    }

    /// Reads from connections that have waited for memory, as long as there is some. `first` is a connection that has memory now, with a
    /// reference, which this releases.
    private func continueReading(from first: ConnectionPointer?) {
        var next = first
        while let connection = next {
            connection.updateInterest()
            connection.release()
            next = pointee.port.locked { pointee.peer?.takeFirstWaiting() }
        }
    }
}

/// What a client process, or all processes of another user together, may take of one port. Guarded by the mutex of the port, unless stated
/// otherwise.
struct Peer: Linked, ~Copyable {
    /// See `Connection.sender`.
    let sender: UInt64
    /// How many bytes are reserved for their large payloads; at most `PortLimits.unfinishedBytes`.
    var reservedBytes = 0
    /// The connection whose payload is exempt from that limit. While any wait, there is one.
    fileprivate var exempt: ConnectionPointer?
    /// The connections that wait for memory, in the order in which they began to.
    fileprivate var waiting = PlainList<ConnectionPointer>()
    /// How many bytes their requests take that were taken over and not answered. Guarded by `PortQueue.lockSenders` of the port.
    fileprivate var unansweredBytes = 0
    /// Whether these are too many. Guarded likewise.
    fileprivate var isFull = false
    /// How many connections belong to the peer, until they are freed.
    fileprivate var connections = 1
    /// How many connections have hung up, as of the last time that descriptors ran out.
    fileprivate var hungUpConnections = 0
    // Links of the port's list.
    var previous: PeerPointer?
    var following: PeerPointer?
}

typealias PeerPointer = UnsafeMutablePointer<Peer>

extension PeerPointer {
    /// Returns the peer of a new connection from a port's list, creating it if needed; nil if out of memory. `leave` is called when the
    /// connection is freed. O(number of peers). The caller holds the port's mutex.
    static func join(_ sender: UInt64, _ peers: inout PeerPointer?) -> PeerPointer? {
        if let known = peers?.first(where: { $0.pointee.sender == sender }) {
            known.pointee.connections += 1
            return known
        }
        guard let peer = malloc(MemoryLayout<Peer>.size)?.bindMemory(to: Peer.self, capacity: 1) else { return nil }
        peer.initialize(to: Peer(sender: sender))
        peer.link(into: &peers)
        return peer
    }

    /// Ends the membership of a connection, which `join` has begun; the last one frees the peer. The caller holds the port's mutex.
    func leave(_ peers: inout PeerPointer?) {
        pointee.connections -= 1
        if pointee.connections > 0 { return }
        unlink(from: &peers)
        deinitialize(count: 1)
        free(self)
    }

    /// Adds to the bytes of requests that were taken over and not answered. Returns whether that has changed whether they are too many. That
    /// is checked for all connections of the port, so it must not change with each request. The caller holds `PortQueue.lockSenders` of the
    /// port.
    fileprivate func countUnanswered(_ bytes: Int) -> Bool {
        let wasFull = pointee.isFull
        pointee.unansweredBytes += bytes
        pointee.isFull = pointee.unansweredBytes >= (wasFull ? PortLimits.unansweredBytesToContinue : PortLimits.unansweredBytes)
        return wasFull != pointee.isFull
    }

    /// Reserves the `reservedBytes` of a connection. If these exceed what the peer's payloads may take, makes the connection the exempt one
    /// instead. Returns false if there is one already. The caller holds the port's mutex.
    fileprivate func reserve(for connection: ConnectionPointer) -> Bool {
        if pointee.reservedBytes + connection.pointee.reservedBytes <= PortLimits.unfinishedBytes {
            pointee.reservedBytes += connection.pointee.reservedBytes
        } else if pointee.exempt == nil {
            pointee.exempt = connection
        } else {
            return false
        }
        connection.set([.waitsForMemory, .hasMemory], to: .hasMemory)
        return true
    }

    /// Undoes `reserve`, or ends waiting. Returns what `takeFirstWaiting` does, so that no newer payload gets the memory, or the exemption.
    /// The caller holds the port's mutex.
    fileprivate func endReservation(of connection: ConnectionPointer, isClientGone: Bool = false) -> ConnectionPointer? {
        if connection.has(.waitsForMemory) { pointee.waiting.remove(connection) }
        if pointee.exempt == connection {
            pointee.exempt = nil
        } else if connection.has(.hasMemory) {
            pointee.reservedBytes -= connection.pointee.reservedBytes
        }
        connection.pointee.reservedBytes = 0
        connection.set([.waitsForMemory, .hasMemory], to: isClientGone ? .hasMemory : [])
        return takeFirstWaiting()
    }

    /// Reserves memory for the connection that waits first, removes it from the list, and returns it with a reference for the caller; nil if
    /// there is not enough memory, or if none waits. The caller holds the port's mutex.
    fileprivate func takeFirstWaiting() -> ConnectionPointer? {
        if pointee.waiting.count == 0 || !reserve(for: pointee.waiting[0]) { return nil }
        let connection = pointee.waiting[0]
        pointee.waiting.remove(at: 0)
        connection.retain()
        return connection
    }
}

extension MessagePortPointer {
    /// Checks again from which clients requests may be read, because the port's capacity has changed, or whether a peer is full. O(number of
    /// connections). Any thread that has a loop; call without a lock held.
    func recheckUnanswered() { walkConnections { $0.countUnanswered(0, bytes: 0) } }

    /// Disconnects one client that is gone, and whose last requests wait until others are answered, because there is no descriptor left: of
    /// the peer that has most such clients at a port, the one that connected first. Returns false if there is none. O(number of connections).
    /// Any thread; call without a lock held. Calls user code.
    static func disconnectHungUp() -> Bool {
        var first: ConnectionPointer?
        var most = 1
        walk { port in
            let candidate = port.locked { () -> ConnectionPointer? in
                var candidate: ConnectionPointer?
                port.pointee.peers?.forEach { $0.pointee.hungUpConnections = 0 }
                port.pointee.connections?.forEach { if $0.has(.hasHungUp) { $0.pointee.peer?.pointee.hungUpConnections += 1 } }
                // The list begins with the latest.
                port.pointee.connections?.forEach { connection in
                    let count = connection.has(.hasHungUp) ? connection.pointee.peer?.pointee.hungUpConnections ?? 0 : 0
                    if count >= most { (candidate, most) = (connection, count) }
                }
                return candidate?.pointee.references.countUpUnlessZero() == true ? candidate : nil
            }
            guard let candidate else { return }
            first?.release()
            first = candidate
        }
        first?.disconnect(because: "was disconnected: no file descriptor left for requests that wait for others to be answered")
        first?.release()
        return first != nil
    }
}
