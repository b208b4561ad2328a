import CLinux
import CRunLoop
import Synchronization

/// One descriptor of a message port: the socket on which a local port listens, one of its clients', or that of a remote port.
/// Watched by an unreferenced internal source in every loop and mode where the port is served.
///
/// The descriptor is closed when the last reference goes, so its number never is another file's while somebody may use it;
/// what ends a connection at once is a shutdown.
struct Connection: Linked, ~Copyable {
    /// Whose descriptor it is.
    enum Role { case listener, server, client }

    let references = Atomic<UInt32>(1)
    let role: Role
    /// Held.
    let port: MessagePortPointer
    /// Of the other end.
    let credentials: PacketSocket.Credentials
    let mutex = Mutex()
    // Guarded by `mutex`.
    /// -1 in a child of fork().
    var fd: Int32
    var isOpen = true
    /// The client has said whom it wants.
    var handshakeDone = false
    /// Who receives may wait.
    var mayWait = false
    /// Retained; nil once the connection is cut.
    var source: SourcePointer?
    /// Replies that did not fit into the socket: while there are any, nothing is read.
    var sendQueue = SendQueue()
    /// For large data, again and again.
    var sharedBuffer = SharedBuffer()
    /// What the other end lends.
    var peerBuffer = PeerBuffer()
    /// For small requests one way.
    var ring = Ring()
    /// Requests of a client that are answered later, and whose servers want to hear of its end.
    var requestInvalidations: RequestInvalidationPointer?
    /// 1 while there is anything in `sendQueue`. Written under `mutex`, read by the loop that asks what the source waits for.
    let hasBacklog = Atomic<UInt32>(0)
    // In the list of the port, under its mutex.
    var previous: ConnectionPointer?
    var following: ConnectionPointer?
}

typealias ConnectionPointer = UnsafeMutablePointer<Connection>

extension UnsafeMutablePointer where Pointee == Connection {
    /// A connection in the list of its port, with two references: the list's, which another thread may give back at once, and the caller's.
    /// Takes the descriptor over, and closes it if it fails.
    static func make(_ role: Connection.Role, _ fd: Int32, _ port: MessagePortPointer) -> ConnectionPointer? {
        let peer = role == .listener ? PacketSocket.own : PacketSocket.credentials(fd)
        guard let peer, let memory = malloc(MemoryLayout<Connection>.size) else {
            PacketSocket.close(fd)
            return nil
        }
        let connection = memory.bindMemory(to: Connection.self, capacity: 1)
        connection.initialize(to: Connection(role: role, port: port, credentials: peer, fd: fd))
        port.hold()
        guard let source = connection.makeSource() else {
            connection.release()
            return nil
        }
        connection.pointee.source = source
        connection.retain()
        let isAuthorized = port.locked { () -> Bool in
            let isAuthorized = port.pointee.isValid && port.accepts(peer)
            if isAuthorized { connection.link(into: &port.pointee.connections) }
            return isAuthorized
        }
        if isAuthorized { return connection }
        connection.end()
        connection.release()
        connection.release()
        return nil
    }

    /// One more reference. Any thread, lock-free.
    @inline(__always)
    func retain() { pointee.references.countUp() }

    /// One reference less. Any thread.
    @inline(never)
    func release() {
        if !pointee.references.countDown() { return }
        let port = pointee.port
        if pointee.fd >= 0 { PacketSocket.close(pointee.fd) }
        pointee.sendQueue.discard()
        pointee.sharedBuffer.end()
        pointee.peerBuffer.end()
        pointee.ring.end()
        deinitialize(count: 1)
        free(self)
        port.unhold()
    }

    /// Runs `body` under the mutex.
    @inline(__always)
    func locked<Result>(_ body: () -> Result) -> Result {
        lock()
        let result = body()
        unlock()
        return result
    }

    /// Any thread.
    @inline(never)
    func lock() { pointee.mutex.lockInlined() }
    /// The thread that called `lock`.
    @inline(never)
    func unlock() { pointee.mutex.unlockInlined() }

    /// The loop has found the descriptor ready.
    func handleEvents(_ ready: UInt16) -> DispatchResult {
        guard let home = HomePointer.current else { return .unwanted }
        let loop = RunLoopPointer(home)
        if Events(rawValue: ready).contains(.writable) && !flush() { return .tryLater }
        if !Events(rawValue: ready).contains(.readable) { return .unwanted }
        return switch pointee.role {
        case .listener: accept()
        case .server: receiveRequests(on: loop) ? .handled : .unwanted
        case .client: receiveReply(on: loop) ? .handled : .unwanted
        }
    }

    /// Somebody wants to talk.
    private func accept() -> DispatchResult {
        let (fd, isStuck) = locked { () -> (Int32, Bool) in
            if !pointee.isOpen { return (-1, false) }
            let fd = PacketSocket.accept(pointee.fd)
            return (fd, fd < 0 && PacketSocket.isOutOfResources)
        }
        if fd >= 0, let connection = ConnectionPointer.make(.server, fd, pointee.port) {
            pointee.port.watch(connection)
            connection.release()
        }
        return isStuck ? .tryLater : .unwanted
    }

    /// The client says something; true if that was a request. Who wants no reply often sends more than one: the next is looked for at
    /// once where nobody could tell that from another pass. Who wants one may have another question then: that is waited for here,
    /// again where nobody could tell. Calls the port's function.
    private func receiveRequests(on loop: RunLoopPointer) -> Bool {
        var count = 0
        var wantsReply = false
        while receiveRequest(on: loop, &wantsReply) {
            count += 1
            if pointee.hasBacklog.load(ordering: .relaxed) != 0 { break }
            if wantsReply ? !loop.sleepAgain() : count >= 32 || !loop.mayServeOn { break }
        }
        return count > 0
    }

    @inline(__always)
    private func receiveRequest(on loop: RunLoopPointer, _ wantsReply: inout Bool) -> Bool {
        var packet = Packet()
        if !receive(loop.home, &packet) { return false }
        wantsReply = packet.frame.id != 0
        if packet.frame.kind == .hello {
            let isMine = pointee.port.isNamed(packet.data)
            packet.data?.release()
            if !isMine { close() }
            return false
        }
        if packet.frame.kind != .request { return false }
        guard let data = packet.data else { return false }
        guard let request = RequestPointer.make(packet.frame, data, connection: self, remote: nil) else {
            data.release()
            drop(packet.frame)
            return false
        }
        pointee.port.handle(request)
        return true
    }

    /// The server answers. `waits`: for the answer, as long as `PacketSocket.receive` does; the process has no other thread.
    @inline(never)
    func receiveReply(on loop: RunLoopPointer, waits: Bool = false) -> Bool {
        var packet = Packet()
        if !receive(loop.home, &packet, waits: waits) { return false }
        let result: RequestResult = packet.frame.kind == .reply ? .success : .transportError
        return pointee.port.complete(packet.frame.id, result, packet.data)
    }

    /// What a packet said.
    private struct Packet {
        var frame = Frame(kind: .dropped, payloadLocation: .absent, id: 0, message: 0, length: 0, deadline: .never)
        /// The caller's reference.
        var data: DataPointer?
    }

    /// The next packet; false if there is none, or none that makes sense: then the connection is cut.
    @inline(never)
    private func receive(_ home: HomePointer, _ packet: inout Packet, waits: Bool = false) -> Bool {
        guard let buffer = DataPointer.receivingMemory(home) else { return false }
        pointee.mutex.lockInlined()
        if !pointee.isOpen {
            unlock()
            return false
        }
        let isServer = pointee.role == .server
        if isServer && pointee.ring.isThere {
            var frame: Frame?
            if let entry = takeFromRing(buffer, &frame) { return conclude(entry, frame, buffer, home, &packet, isEntry: true) }
        }
        if waits && !pointee.mayWait { pointee.mayWait = PacketSocket.letWait(pointee.fd) }
        let received = PacketSocket.receive(
            pointee.fd, buffer, Frame.headSize + Frame.inlineLimit, waits: waits && pointee.mayWait)
        // Of a packet that is too short the rest is what was there before; the size is looked at first.
        let head = buffer.load(as: Frame.Head.self)
        if received.passed == -1, Frame.isCommonCase(head, size: received.size, isServer ? .request : .reply),
            !isServer || (pointee.handshakeDone && !pointee.ring.isThere)
        {
            noteCounts(head.3)
            pointee.mutex.unlockInlined()
            packet.frame.kind = isServer ? .request : .reply
            packet.frame.id = head.4
            packet.frame.message = head.5
            packet.frame.deadline = Instant(nanoseconds: head.7)
            packet.data = DataPointer.createReceived(buffer + Frame.headSize, count: Int(head.6), home)
            return packet.data != nil || lose(&packet)
        }
        let side: Frame.Side = !isServer ? .client : pointee.handshakeDone ? .server : .newServer
        let frame = Frame.parse(head, size: received.size, hasFile: received.passed != -1, side: side)
        return conclude(received, frame, buffer, home, &packet, isEntry: false)
    }

    /// The same for whatever is not usual, or an entry of the ring. Under the mutex, which it gives back.
    @inline(never)
    private func conclude(
        _ packetReceived: PacketSocket.Received, _ parsed: Frame?, _ buffer: UnsafeMutableRawPointer, _ home: HomePointer,
        _ packet: inout Packet, isEntry: Bool
    ) -> Bool {
        var received = packetReceived
        if received.size <= 0 {
            unlock()
            if received.passed >= 0 { PacketSocket.close(received.passed) }
            if received.size != -1 { peerHasClosed() }
            return false
        }
        var frame = parsed
        if !isEntry {
            if let some = frame { note(some, &frame) }
            if let some = frame, pointee.role == .server, !noteInRing(some, &received.passed) { frame = nil }
        }
        unlock()
        guard let frame, received.passed != -2 else {
            if received.passed >= 0 { PacketSocket.close(received.passed) }
            return disconnect(because: "sent something that makes no sense")
        }
        packet.frame = frame
        if received.passed == PacketSocket.Received.noNumber { return lose(&packet) }
        switch frame.payloadLocation {
        case .absent: return true
        case .inline: packet.data = DataPointer.createReceived(buffer + Frame.headSize, count: frame.length, home)
        case .file where frame.kind == .ring:
            PacketSocket.close(received.passed)
            return true
        case .file, .sharedBuffer, .returnedBuffer:
            let isSane = frame.payloadLocation != .file || MemoryFile.isSane(received.passed, frame.length)
            packet.data = isSane ? DataPointer.create(nil, count: frame.length) : nil
            let hasRead = isSane ? read(frame, received.passed, packet.data) : disconnect(because: "passed a file that is none of ours")
            if received.passed >= 0 { PacketSocket.close(received.passed) }
            if !hasRead {
                if isSane && packet.data == nil { return lose(&packet) }
                packet.data?.release()
                return false
            }
        }
        return packet.data != nil || lose(&packet)
    }

    /// This process has no memory, or no number for a file, to receive what a packet has.
    @inline(never)
    private func lose(_ packet: inout Packet) -> Bool {
        if packet.frame.payloadLocation == .sharedBuffer { locked { pointee.peerBuffer.skip() } }
        if pointee.role == .server {
            drop(packet.frame)
            return false
        }
        packet.frame.kind = .dropped
        return true
    }

    /// Copies out what is in a file; false if that cannot be: then the connection is cut, unless there was no memory for it.
    @inline(never)
    private func read(_ frame: Frame, _ file: Int32, _ data: DataPointer?) -> Bool {
        guard let data else {
            if frame.payloadLocation == .returnedBuffer { locked { pointee.sharedBuffer.endUse() } }
            return false
        }
        let bytes = UnsafeMutableRawPointer(data.pointee.bytes)
        switch frame.payloadLocation {
        case .sharedBuffer:
            var mapping = locked { pointee.peerBuffer.take() }
            let hasRead = PeerBuffer.read(&mapping, file, bytes, frame.length)
            locked { pointee.peerBuffer.giveBack(mapping) }
            // No reply will say so.
            if hasRead && frame.id == 0 {
                send(Frame(kind: .read, payloadLocation: .absent, id: 0, message: 0, length: 0, deadline: .never), nil)
            }
            return hasRead || disconnect(because: "lent a file that is none of ours")
        case .returnedBuffer:
            let hasRead = pointee.sharedBuffer.read(bytes, frame.length)
            locked { pointee.sharedBuffer.endUse() }
            return hasRead || disconnect(because: "returned a file without what should be in it")
        default:
            return MemoryFile.read(file, bytes, frame.length) || disconnect(because: "took back what it had passed")
        }
    }

    /// What a frame says about the connection itself; nil if that makes no sense. Under the mutex.
    @inline(__always)
    private func note(_ some: Frame, _ frame: inout Frame?) {
        if some.kind == .hello { pointee.handshakeDone = true }
        if some.payloadLocation == .returnedBuffer && !pointee.sharedBuffer.beginReading(some.buffersRead) { frame = nil }
        noteCounts(some.buffersRead)
    }

    /// The same of a frame that says nothing else about it.
    @inline(__always)
    private func noteCounts(_ buffersRead: UInt16) {
        pointee.sharedBuffer.returned(buffersRead)
        pointee.peerBuffer.noteFrame()
    }

    /// The other end is gone.
    @inline(never)
    private func peerHasClosed() { if pointee.role == .client { pointee.port.invalidate() } else { close() } }

    /// One line, and the connection is cut. Nobody else is disturbed. False.
    @inline(never)
    @discardableResult
    func disconnect(because reason: Name) -> Bool {
        Misuse.warn("RLMessagePort", "process", Int(pointee.credentials.process), reason)
        peerHasClosed()
        return false
    }
}
