import CLinux
import CRunLoop
import Synchronization

/// Links a remote port to the local port that it sends to. If both are in this process, one connection serves as both ends; otherwise each
/// process has a connection for its end of the socket. `Connection+Send` decides how a request or a reply is sent; `Connection+Receive`
/// handles what arrives.
///
/// An internal source watches the socket without keeping modes alive: for a local port in every loop and mode that the port's source is in,
/// for a remote port in every loop and mode in which a request has waited for its reply.
///
/// A server's descriptor is closed with the connection: all that use it hold the mutex and have seen that the connection is open, or the lock
/// of a loop and have seen that the source is valid. So a client that is gone holds none, even if its requests are kept. A listener's and a
/// client's are closed only when the last reference is released, since a thread that waits for room uses them without the mutex, and
/// their numbers must not be reused meanwhile; until then, the socket is shut down.
struct Connection: Linked, Locked, CallbackInfo, ~Copyable {
    /// Which end of the link a connection is. One byte; never changes.
    enum Role {
        /// The socket on which a local port listens.
        case listener
        /// A local port's end of a socket to one client.
        case server
        /// A remote port's end of a socket to its server.
        case client
        /// Both ends, without a socket: the two ports are in this process.
        case inProcess
    }

    let references = Atomic<UInt32>(1)
    let role: Role
    /// The port whose list contains the connection: the remote port for a `client`, otherwise the local port. Holds an internal reference.
    let port: MessagePortPointer
    /// `inProcess`: the remote port, with an internal reference.
    let remote: MessagePortPointer?
    /// The process, user and group at the other end, as the kernel reports them; those of this process for `listener` and `inProcess`.
    let credentials: PacketSocket.Credentials
    /// The number that stands for the peer, in `PacketSocket` as the sender of descriptors: all processes of another user are one peer.
    let sender: UInt64
    let created = Clock.now
    /// The socket; -1 if there is none. Constant, except that it becomes -1 when a server's connection is closed, and in the child of a fork().
    var fd: Int32
    let mutex = Mutex()
    // Guarded by `mutex`.
    /// Cleared once, by `close`.
    var isOpen = true
    /// Whether descriptors may arrive with packets: at a client that expects a ring, and at every socket on Linux before 6.16.
    var acceptsDescriptors = PacketSocket.cannotRefuseDescriptors
    /// Server: the client has sent its hello, with the name of the port that it wants.
    var handshakeDone = false
    /// Watches the socket; nil if there is none, and once `close` has removed it from all loops. Retained.
    var source: SourcePointer?
    /// Frames that did not fit into the socket buffer. While there are any, a server handles no requests.
    var sendQueue = SendQueue()
    /// Whether the socket was given room for `PortLimits.sendBuffer` bytes.
    var hasLargeBuffer = false
    /// A large payload that the peer is sending.
    var incoming = IncomingBody()
    /// Server: packets that were received while a thread of this process waited to send.
    var ahead = ReceivedAhead()
    /// Shared memory for small one-way requests.
    var ring = Ring()
    /// At the receiving end: the requests that have a callback to call if the sender goes away.
    var requestsWithInvalidation: RequestPointer?
    /// How many requests were taken over (RLMessagePortCopyRequest) and not answered.
    var unansweredRequests = 0
    /// The `conditions`. `hasMemory` and `waitsForMemory` are written under the port's mutex, the others under `mutex`; any thread may read
    /// them.
    let conditionBits = Atomic<UInt16>(0)
    // Guarded by the port's mutex.
    /// Server: the peer that the connection belongs to, which never changes; otherwise nil.
    let peer: PeerPointer?
    /// Server: how many bytes the large payload under way has reserved, or waits for; 0 if it needs none.
    var reservedBytes = 0
    // Links of the port's list.
    var previous: ConnectionPointer?
    var following: ConnectionPointer?
}

typealias ConnectionPointer = UnsafeMutablePointer<Connection>

extension ConnectionPointer {
    /// Creates a connection and links it into its port's list. It has two references: the caller's, and one that it has while it is open,
    /// which `close` releases, perhaps immediately on another thread. Takes over `fd`, and closes it on failure. Returns nil if out of
    /// memory, if the port is invalid, if the peer's user is not authorized, or if the thread cannot have a loop. Any thread; call without
    /// the lock of a port or connection held.
    static func make(
        _ role: Connection.Role, _ fd: Int32, _ port: MessagePortPointer, remote: MessagePortPointer? = nil
    ) -> ConnectionPointer? {
        let hasPeer = role == .server || role == .client
        let credentials = hasPeer ? try? PacketSocket.credentials(fd) : PacketSocket.own
        let sender = credentials.map { $0.sender(asUser: $0.user != port.pointee.user) }
        let peer = role == .server ? sender.flatMap { sender in port.locked { PeerPointer.join(sender, &port.pointee.peers) } } : nil
        guard let credentials, let sender, role != .server || peer != nil, let memory = malloc(MemoryLayout<Connection>.size) else {
            port.locked { peer?.leave(&port.pointee.peers) }
            if fd >= 0 { PacketSocket.close(fd) }
            return nil
        }
        let connection = memory.bindMemory(to: Connection.self, capacity: 1)
        connection.initialize(
            to: Connection(
                role: role, port: port, remote: remote, credentials: credentials, sender: sender, fd: fd, peer: peer))
        port.base.retainInternal()
        remote?.base.retainInternal()
        if role != .inProcess {
            guard let source = connection.makeSource() else {
                connection.release()
                return nil
            }
            connection.pointee.source = source
        }
        connection.retain()
        let isListed = role != .server || SilentClients.add(connection)
        let isAuthorized = port.locked { () -> Bool in
            if !isListed || !port.pointee.base.isValid || hasPeer && !port.accepts(credentials) { return false }
            connection.link(into: &port.pointee.connections)
            return true
        }
        if isAuthorized {
            if role == .server { connection.countUnanswered(0, bytes: 0) }
            return connection
        }
        connection.close()
        connection.release()
        return nil
    }

    /// Adds a reference. Any thread, lock-free.
    func retain() { pointee.references.countUp() }

    /// Releases a reference; the last one closes the socket and frees the connection. Any thread; call without the lock of a port or
    /// connection held.
    @inline(never)
    func release() {
        if !pointee.references.countDown() { return }
        let (port, remote) = (pointee.port, pointee.remote)
        port.locked {
            // Closed while the connection is still listed: a child of fork() closes the descriptors of all listed connections.
            if pointee.fd >= 0 && pointee.role == .listener {
                PacketSocket.closeListener(pointee.fd)
            } else if pointee.fd >= 0 {
                PacketSocket.close(pointee.fd, acceptsDescriptors: pointee.acceptsDescriptors)
            }
            _ = unlink(from: &port.pointee.connections)
            pointee.peer?.leave(&port.pointee.peers)
        }
        pointee.sendQueue.removeAll()
        pointee.ring.close()
        deinitialize(count: 1)
        free(self)
        port.base.releaseInternal()
        remote?.base.releaseInternal()
    }
}

extension Connection {
    /// Reasons to do something other than watch the socket for packets and read them. Nearly always none is set.
    struct Conditions: OptionSet, BitwiseCopyable {
        let rawValue: UInt16

        /// There are frames in `sendQueue`.
        static let hasBacklog = Conditions(rawValue: 1)
        /// Server: too many requests of the client, or too many bytes of its peer's, were taken over and not answered, so nothing more is read.
        static let isFull = Conditions(rawValue: 2)
        /// `isFull`, and the client has disconnected.
        static let hasHungUp = Conditions(rawValue: 4)
        /// Server: `ahead` contains packets, which the loop is to deliver.
        static let hasAhead = Conditions(rawValue: 8)
        /// Server: the pieces of a payload stay in the socket until there is memory for it.
        static let waitsForMemory = Conditions(rawValue: 16)
        /// Server: there is memory for the payload under way.
        static let hasMemory = Conditions(rawValue: 32)
        /// Server: the port is invalid, and nothing is sent but what is queued already.
        static let isEnding = Conditions(rawValue: 64)
        /// The peer has violated the protocol: nothing more is received, and the thread that has noticed it closes the connection.
        static let isViolated = Conditions(rawValue: 128)

        /// Returns the events to watch the socket for: room while frames are queued, otherwise packets. A client that sends a large request
        /// also reads replies, since a server that waits for room for a reply reads no requests. A server with packets in `ahead` also
        /// watches for room: a socket nearly always has some, so the loop delivers the packets. A server that `isFull` or waits for memory
        /// watches for the client's hang-up instead of packets.
        func interest(isServer: Bool) -> Events {
            if contains(.hasBacklog) { return isServer ? .writable : [.readable, .writable] }
            if contains(.hasHungUp) { return [] }
            if contains(.isFull) { return .onlyHangUp }
            let events: Events = contains(.waitsForMemory) ? .onlyHangUp : .readable
            return contains(.hasAhead) ? events.union(.writable) : events
        }
    }
}

extension ConnectionPointer {
    /// The conditions that are set. Any thread.
    var conditions: Connection.Conditions { Connection.Conditions(rawValue: pointee.conditionBits.load(ordering: .acquiring)) }

    /// Returns whether at least one of `some` is set now; only the mutex under which they are written keeps that from changing. Any thread.
    @inline(__always)
    func has(_ some: Connection.Conditions) -> Bool { !conditions.isDisjoint(with: some) }

    /// Sets those of `some` that are in `now`, and clears the others. All of `now` must be among `some`: any other condition would be
    /// toggled. The caller holds the mutex under which they are written.
    func set(_ some: Connection.Conditions, to now: Connection.Conditions) {
        let changed = conditions.intersection(some).symmetricDifference(now)
        pointee.conditionBits.bitwiseXor(changed.rawValue, ordering: .acquiringAndReleasing)
    }

    /// Whether the socket has something to receive. A system call. Any thread.
    var isPacketHere: Bool { !Descriptor.poll(pointee.fd, for: .readable).isEmpty }

    /// Whether the peer is still connected. A system call if it is another process. The caller holds the mutex.
    var isConnected: Bool { pointee.isOpen && (pointee.fd < 0 || Descriptor.poll(pointee.fd, for: []).isEmpty) }

    // MARK: the source that watches the socket, which exists until the connection is closed

    /// The `SourceDetail` that all connections' sources share, as an address; 0 until the first use. Any thread.
    private static let sourceDetail = Atomic<UInt>(0)

    /// Creates the source, which retains the connection and is in no loop. Returns nil if out of memory, or if the thread cannot have a
    /// loop.
    func makeSource() -> SourcePointer? {
        guard let loop = Registry.current,
            let detail = SourceDetailPointer.shared(
                Self.sourceDetail,
                SourceDetail(release: { ConnectionPointer($0).release() })),
            let source = SourcePointer.create(
                loop.threadContext, order: 0, info: UnsafeMutableRawPointer(self),
                eventHandler: { info, ready, _ in ConnectionPointer(info).handleEvents(ready).rawValue },
                getPort: {
                    let connection = ConnectionPointer($0)
                    return connection.locked { connection.pointee.fd }
                }, detail)
        else { return nil }
        retain()
        source.pointee.item.set(.unreferenced)
        source.setInterest(.readable)
        return source
    }

    /// Closes the connection: shuts the socket down, which the peer notices, drops what was received and not delivered, removes the source
    /// from all loops, closes a server's descriptor, invalidates the remote port of a connection within the process, and calls the
    /// invalidation callbacks of requests. A second call has no effect. Any thread that has a reference; call without a lock held. Calls
    /// user code.
    @inline(never)
    func close() {
        let isFirst = locked { () -> Bool in
            if !pointee.isOpen { return false }
            if pointee.fd >= 0 {
                PacketSocket.shutDown(pointee.fd)
                // From here on, a client that puts an entry into the ring also sends a doorbell. That fails, so the client notices the end.
                if pointee.ring.isOpen { pointee.ring.requestDoorbell() }
            }
            pointee.isOpen = false
            set(.hasHungUp, to: [])
            pointee.ahead.removeAll()
            pointee.incoming.reset()
            return true
        }
        if !isFirst { return }
        if pointee.role == .server {
            SilentClients.remove(self)
            endReservation()
        }
        // Stays set until no loop has it, for `resetInChild`. Only this thread still changes it.
        if let source = pointee.source { RunLoopPointer.invalidate(source) }
        let source = locked { () -> SourcePointer? in
            if pointee.role == .server && pointee.fd >= 0 {
                PacketSocket.close(pointee.fd, acceptsDescriptors: pointee.acceptsDescriptors)
                pointee.fd = -1
            }
            defer { pointee.source = nil }
            return pointee.source
        }
        source?.release()
        pointee.remote?.base.invalidate()
        callRequestInvalidations()
        release()
    }

    /// In the child of a fork(): closes the descriptor and cancels the invalidation callbacks of requests. Does not shut the socket down,
    /// which the parent's peer would notice.
    func resetInChild() {
        // If a thread that does not exist here was closing the connection, it is closed once more.
        if pointee.source != nil { pointee.isOpen = true }
        if pointee.fd >= 0 { Descriptor.close(pointee.fd) }
        pointee.fd = -1
        while let request = pointee.requestsWithInvalidation { request.cancelInvalidation() }
    }

    /// The source, retained for the caller; nil once the connection is closed. Any thread; call without the mutex held.
    var sharedSource: SourcePointer? {
        locked {
            if !pointee.isOpen { return nil }
            pointee.source?.pointee.item.object.retain()
            return pointee.source
        }
    }
}
