import CLinux
import CRunLoop
import Synchronization

/// What joins a remote port to the local port that it sends to: both, if they are of one process; otherwise one end of a socket. Such a
/// socket is watched by a source of our own in every loop and mode where the port is served, without keeping those modes alive.
///
/// The descriptor is closed when the last reference is released, so that its number never belongs to another file while a thread may
/// still use it. To end a connection at once, the socket is shut down.
struct Connection: Linked, Locked, ~Copyable {
    /// Which end it is. An enum of one byte, which never changes.
    enum Role {
        /// The socket on which a local port listens.
        case listener
        /// A local port's socket to a client.
        case server
        /// A remote port's socket to its server.
        case client
        /// Both ends: the two ports are of this process, and there is no socket.
        case inProcess
    }

    let references = Atomic<UInt32>(1)
    let role: Role
    /// The port in whose list this is, with an internal reference: the local one, except of a `client`.
    let port: MessagePortPointer
    /// `inProcess`: the remote port, with an internal reference.
    let remote: MessagePortPointer?
    /// The process and user at the other end, as the kernel knows them.
    let credentials: PacketSocket.Credentials
    let mutex = Mutex()
    // Guarded by `mutex`.
    /// The socket; -1 if there is none, and in a child of fork().
    var fd: Int32
    var isOpen = true
    /// `close` was called. In a child of fork() connections of the parent are neither open nor closed before that.
    var isClosed = false
    /// Descriptors may come with packets: to a client that is to get a ring; to all on Linux before 6.16.
    var mayHoldDescriptors = PacketSocket.mayHoldDescriptors
    /// Server: the client has sent the name that it wants.
    var handshakeDone = false
    /// Watches the socket, if there is one. Retained; nil once the connection is closed.
    var source: SourcePointer?
    /// What did not fit into the socket. A server reads no request while there is something.
    var sendQueue = SendQueue()
    /// A large payload that the peer is sending.
    var incoming: IncomingBody
    /// Server: what was received while a thread of this process waited to send.
    var ahead = ReceivedAhead()
    /// For small one-way requests.
    var ring = Ring()
    /// Where requests arrive: those whose owners want to be told if the sender goes away.
    var watchedRequests: RequestPointer?
    /// Server: how many requests it has taken over and not answered, and how many bytes they have.
    var takenRequests = 0
    var takenBytes = 0
    /// Its `conditions`. Those for memory are written under the port's mutex, the others under `mutex`; read by any thread.
    let conditionBits = Atomic<UInt16>(0)
    /// Server: its element of `SilentClients`, under the mutex of that.
    var silent = Silent()
    // Links of the port's list, under the port's mutex.
    var previous: ConnectionPointer?
    var following: ConnectionPointer?
}

typealias ConnectionPointer = UnsafeMutablePointer<Connection>

extension ConnectionPointer {
    /// Creates a connection and puts it into its port's list. It has two references: that of open ones, which `close` releases, perhaps
    /// at once on another thread, and the caller's. Takes over `fd`, and closes it on failure. nil if out of memory, if the port is
    /// invalid, or if the peer's user is not authorized. Any thread, without a lock.
    static func make(
        _ role: Connection.Role, _ fd: Int32, _ port: MessagePortPointer, remote: MessagePortPointer? = nil
    ) -> ConnectionPointer? {
        let hasPeer = role == .server || role == .client
        let peer = hasPeer ? try? PacketSocket.credentials(fd) : PacketSocket.own
        var sharing: PeerPointer?
        if role == .server, let peer { sharing = .join(peer, user: port.pointee.user) }
        guard let peer, role != .server || sharing != nil, let memory = malloc(MemoryLayout<Connection>.size) else {
            sharing?.leave()
            if fd >= 0 { PacketSocket.close(fd) }
            return nil
        }
        let connection = memory.bindMemory(to: Connection.self, capacity: 1)
        connection.initialize(
            to: Connection(role: role, port: port, remote: remote, credentials: peer, fd: fd, incoming: IncomingBody(sharing)))
        port.retainInternal()
        remote?.retainInternal()
        if role != .inProcess {
            guard let source = connection.makeSource() else {
                connection.release()
                return nil
            }
            connection.pointee.source = source
        }
        connection.retain()
        if role == .server { SilentClients.add(connection) }
        let isAuthorized = port.locked { () -> Bool in
            let isAuthorized = port.pointee.isValid && (!hasPeer || port.accepts(peer))
            if isAuthorized { connection.link(into: &port.pointee.connections) }
            return isAuthorized
        }
        if isAuthorized { return connection }
        if connection.shutDown() { connection.release() }
        connection.release()
        return nil
    }

    /// Adds a reference. Any thread, lock-free.
    @inline(__always)
    func retain() { pointee.references.countUp() }

    /// Releases a reference; the last one closes the socket. Any thread, without a lock.
    @inline(never)
    func release() {
        if !pointee.references.countDown() { return }
        let (port, remote) = (pointee.port, pointee.remote)
        port.locked {
            // While it is in the list, in which a child of fork() finds what it has to close.
            if pointee.fd >= 0 {
                PacketSocket.close(pointee.fd, isListener: pointee.role == .listener, mayHold: pointee.mayHoldDescriptors)
            }
            _ = unlink(from: &port.pointee.connections)
        }
        pointee.sendQueue.removeAll()
        pointee.ahead.removeAll()
        pointee.incoming.reset()
        pointee.incoming.peer?.leave()
        pointee.ring.close()
        deinitialize(count: 1)
        free(self)
        port.releaseInternal()
        remote?.releaseInternal()
    }
}

extension Connection {
    /// Why the socket is not simply watched for packets, and these are read. Nearly always there is no reason.
    struct Conditions: OptionSet, BitwiseCopyable {
        let rawValue: UInt16

        init(rawValue: UInt16) { self.rawValue = rawValue }

        /// There are frames in `sendQueue`.
        static let hasBacklog = Conditions(rawValue: 1)
        /// Server: too much is taken over and not answered.
        static let isFull = Conditions(rawValue: 2)
        /// `isFull`, and the client is gone.
        static let hasHungUp = Conditions(rawValue: 4)
        /// Server: there are packets in `ahead`.
        static let hasAhead = Conditions(rawValue: 8)
        /// Server: a thread is receiving into `ahead`, where there is nothing yet.
        static let receivesAhead = Conditions(rawValue: 16)
        /// Server: a piece is not read until there is memory for its payload.
        static let waitsForMemory = Conditions(rawValue: 32)
        /// `waitsForMemory`, and this is the connection that looks for it, of those of its port.
        static let looksForMemory = Conditions(rawValue: 64)
        static let looking: Conditions = [.waitsForMemory, .looksForMemory]

        /// What to watch for: room while frames wait, otherwise packets. A client that sends a large request goes on reading replies: a
        /// server that waits for room for a reply reads no requests. A socket has room nearly always, so watching for it makes the loop
        /// deliver what was received ahead. One that looks for memory is always watched for packets.
        func interest(isServer: Bool) -> Events {
            let looks = contains(.looksForMemory)
            if contains(.hasBacklog) { return isServer && !looks ? .writable : [.readable, .writable] }
            if contains(.waitsForMemory) && !looks { return [] }
            if contains(.isFull) {
                let hangUp: Events = contains(.hasHungUp) ? [] : .onlyHangUp
                return looks ? hangUp.union(.readable) : hangUp
            }
            if contains(.hasAhead) { return [.readable, .writable] }
            return contains(.receivesAhead) ? [] : .readable
        }
    }
}

extension ConnectionPointer {
    /// Any thread.
    var conditions: Connection.Conditions { Connection.Conditions(rawValue: pointee.conditionBits.load(ordering: .acquiring)) }

    /// Whether any of these holds. Any thread.
    @inline(__always)
    func has(_ some: Connection.Conditions) -> Bool { !conditions.isDisjoint(with: some) }

    /// Of the conditions `some`, those in `now` hold from now on, and the others do not. Under the mutex under which they are written.
    func set(_ some: Connection.Conditions, to now: Connection.Conditions) {
        let changed = conditions.intersection(some).symmetricDifference(now)
        pointee.conditionBits.bitwiseXor(changed.rawValue, ordering: .acquiringAndReleasing)
    }
}

// The source that watches the socket, from its creation to its end, wherever the port is served.

extension Connection {
    /// The functions of all these sources: one detail is enough. The address of it; any thread.
    fileprivate static let sourceDetail = Atomic<UInt>(0)
}

extension ConnectionPointer {
    /// The info of a source, as its functions get it.
    init(info: UnsafeRawPointer?) {
        self = UnsafeMutableRawPointer(mutating: info.unsafelyUnwrapped).assumingMemoryBound(to: Connection.self)
    }

    /// Creates the source, in no loop, which retains the connection. nil if out of memory.
    func makeSource() -> SourcePointer? {
        guard let loop = Registry.current,
            let detail = SourceDetailPointer.shared(
                Connection.sourceDetail, SourceDetail(release: { ConnectionPointer(info: $0).release() })),
            let source = SourcePointer.create(
                loop.threadContext, order: 0, info: UnsafeMutableRawPointer(self),
                eventHandler: { info, ready, _ in ConnectionPointer(info: info).handleEvents(ready).rawValue },
                getPort: { ConnectionPointer(info: $0).pointee.fd }, detail)
        else { return nil }
        retain()
        source.pointee.item.set(.unreferenced)
        source.setInterest(.readable)
        return source
    }

    /// Closes the connection: removes it from all loops, and tells the other end. Any thread that has a reference, without a lock; calls
    /// invalidation functions. A second call has no effect.
    @inline(never)
    func close() {
        if !shutDown() { return }
        pointee.remote?.invalidate()
        callRequestInvalidations()
        release()
    }

    /// Shuts the socket down and invalidates the source; false if that was done before. Any thread, without a lock.
    private func shutDown() -> Bool {
        var isFirst = false
        let source = locked { () -> SourcePointer? in
            if pointee.isOpen && pointee.fd >= 0 {
                PacketSocket.shutDown(pointee.fd)
                // A client that puts an entry into the ring from now on sends a doorbell, which fails.
                if pointee.ring.isOpen { pointee.ring.requestDoorbell() }
            }
            isFirst = !pointee.isClosed
            pointee.isClosed = true
            pointee.isOpen = false
            pointee.ahead.removeAll()
            pointee.incoming.reset()
            defer { pointee.source = nil }
            return pointee.source
        }
        if pointee.role == .server {
            SilentClients.remove(self)
            endWaitForMemory()
        }
        guard let source else { return isFirst }
        RunLoopPointer.invalidate(source)
        source.release()
        return isFirst
    }

    /// In a child of fork(): closes the descriptor, without a shutdown, which the peer would notice, and cancels the calls of invalidation
    /// functions of requests.
    func resetInChild() {
        pointee.isOpen = false
        if pointee.fd >= 0 { Descriptor.close(pointee.fd) }
        pointee.fd = -1
        cancelRequestInvalidations()
    }

    /// The source with a reference for the caller; nil once the connection is closed. Any thread, without the mutex.
    var sharedSource: SourcePointer? {
        locked {
            pointee.source?.pointee.item.object.retain()
            return pointee.source
        }
    }
}
