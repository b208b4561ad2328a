import CLinux
import CRunLoop
import Synchronization

// What a connection does when its descriptor is ready: it accepts clients, or receives requests or replies.

extension ConnectionPointer {
    /// The socket is ready as `ready` says: sends what waits, then accepts or receives. The loop's thread, without a lock; calls user
    /// code.
    func handleEvents(_ ready: UInt16) -> DispatchResult {
        guard let threadContext = ThreadContextPointer.current else { return .unwanted }
        let loop = RunLoopPointer(threadContext)
        if Events(rawValue: ready).contains(.writable) && !flush() { return .tryLater }
        if !Events(rawValue: ready).contains(.readable) { return .unwanted }
        return switch pointee.role {
        case .listener: accept()
        case .server: receiveRequests(on: loop) ? .handled : .unwanted
        case .client: receiveReply(on: loop) ? .handled : .unwanted
        }
    }

    /// Accepts one client.
    private func accept() -> DispatchResult {
        let (fd, isStuck) = locked { () -> (Int32?, Bool) in
            if !pointee.isOpen { return (nil, false) }
            do throws(SystemError) { return (try PacketSocket.accept(pointee.fd), false) } catch { return (nil, error.isShortage) }
        }
        if let fd, let connection = ConnectionPointer.make(.server, fd, pointee.port) {
            pointee.port.watch(connection)
            connection.release()
        }
        return isStuck ? .tryLater : .unwanted
    }

    /// Receives requests and handles them; true if there was one. A client that wants no reply often sends several requests, so the next
    /// is received at once, up to a limit, as long as a client cannot observe that the loop made no pass in between. Calls the port's
    /// function.
    private func receiveRequests(on loop: RunLoopPointer) -> Bool {
        var count = 0
        var wantsReply = false
        while receiveRequest(on: loop, &wantsReply) {
            count += 1
            if wantsReply || count >= 32 || pointee.hasBacklog.load(ordering: .relaxed) != 0 { break }
            guard let source = loop.dispatchedSource, loop.mayContinue(source) else { break }
        }
        return count > 0
    }

    /// Receives and handles one packet; true if it was a request. `wantsReply`: the client waits for a reply.
    @inline(__always)
    private func receiveRequest(on loop: RunLoopPointer, _ wantsReply: inout Bool) -> Bool {
        var packet = Packet()
        if !receive(loop.threadContext, &packet) { return false }
        wantsReply = packet.frame.id != 0
        if packet.frame.kind == .hello {
            let isOwnName = pointee.port.isNamed(packet.data)
            packet.data?.release()
            if !isOwnName { close() }
            return false
        }
        if packet.frame.kind != .request { return false }
        guard let data = packet.data else { return false }
        guard let request = RequestPointer.make(packet.frame, data, connection: self, remote: nil) else {
            data.release()
            reject(packet.frame)
            return false
        }
        pointee.port.handle(request)
        return true
    }

    /// Receives one packet from the server; true if it completed a request that the calling thread waits for. The thread of `loop`,
    /// without a lock; may call user code if the connection ends.
    @inline(never)
    func receiveReply(on loop: RunLoopPointer) -> Bool {
        var packet = Packet()
        if !receive(loop.threadContext, &packet) { return false }
        let result: RequestResult = packet.frame.kind == .reply ? .success : .transportError
        return pointee.port.complete(packet.frame.id, result, packet.data)
    }

    /// A received packet.
    private struct Packet {
        var frame = Frame(kind: .dropped, payloadLocation: .absent, id: 0, message: 0, length: 0, deadline: .never)
        /// The payload, with a reference for the caller.
        var data: DataPointer?
    }

    /// Receives the next packet or ring entry. False if there is none, or if it could not be received: then the peer has been told or the
    /// connection closed as required.
    @inline(never)
    private func receive(_ threadContext: ThreadContextPointer, _ packet: inout Packet) -> Bool {
        guard let buffer = DataPointer.receivingMemory(threadContext) else { return false }
        pointee.mutex.lockInlined()
        if !pointee.isOpen {
            unlock()
            return false
        }
        let isServer = pointee.role == .server
        if isServer && pointee.ring.isOpen {
            var frame: Frame?
            if let entry = takeFromRing(buffer, &frame) {
                return finishReceiving(entry, frame, buffer, threadContext, &packet, isEntry: true)
            }
        }
        let received = PacketSocket.receive(pointee.fd, buffer, Frame.headSize + Frame.inlineLimit)
        // A short packet leaves older bytes in the buffer; therefore the size is tested first.
        let head = buffer.load(as: Frame.Head.self)
        if received.attachment == .none, Frame.isCommonCase(head, size: received.size, isServer ? .request : .reply),
            !isServer || (pointee.handshakeDone && !pointee.ring.isOpen)
        {
            noteCounts(head.3)
            pointee.mutex.unlockInlined()
            packet.frame.kind = isServer ? .request : .reply
            packet.frame.id = head.4
            packet.frame.message = head.5
            packet.frame.deadline = Instant(nanoseconds: head.7)
            packet.data = DataPointer.createReceived(buffer + Frame.headSize, count: Int(head.6), threadContext)
            return packet.data != nil || failReceiving(&packet)
        }
        let receiver: Frame.Receiver = !isServer ? .client : pointee.handshakeDone ? .server : .newServer
        let frame = Frame.parse(head, size: received.size, hasFile: received.attachment != .none, receiver: receiver)
        return finishReceiving(received, frame, buffer, threadContext, &packet, isEntry: false)
    }

    /// The rest of `receive`, for ring entries and for all packets but the most frequent. Called under the mutex, returns without it.
    private func finishReceiving(
        _ packetReceived: PacketSocket.Received, _ parsed: Frame?, _ buffer: UnsafeMutableRawPointer, _ threadContext: ThreadContextPointer,
        _ packet: inout Packet, isEntry: Bool
    ) -> Bool {
        var received = packetReceived
        if received.kind != .packet {
            unlock()
            received.attachment.close()
            if received.kind == .end { handlePeerClosed() }
            return false
        }
        var frame = parsed
        if !isEntry {
            if let header = frame, !noteHeader(header) { frame = nil }
            if let some = frame, pointee.role == .server, !noteReceived(some, &received.attachment) { frame = nil }
        }
        unlock()
        guard let frame, received.attachment != .several else {
            received.attachment.close()
            return disconnect(because: "is disconnected: it sent an invalid packet")
        }
        packet.frame = frame
        if received.attachment == .refused { return failReceiving(&packet) }
        switch frame.payloadLocation {
        case .absent: return true
        case .inline: packet.data = DataPointer.createReceived(buffer + Frame.headSize, count: frame.length, threadContext)
        case .file where frame.kind == .ring:
            received.attachment.close()
            return true
        case .file, .sharedBuffer, .returnedBuffer:
            let file = received.attachment.descriptor
            let isSane = frame.payloadLocation != .file || MemoryFile.isUsable(file, frame.length)
            packet.data = isSane ? DataPointer.create(nil, count: frame.length) : nil
            let hasRead =
                isSane
                ? readFile(frame, file, packet.data)
                : disconnect(because: "is disconnected: it passed a file that is not a sealed memory file")
            received.attachment.close()
            if !hasRead {
                if isSane && packet.data == nil { return failReceiving(&packet) }
                packet.data?.release()
                return false
            }
        }
        return packet.data != nil || failReceiving(&packet)
    }

    /// There is no memory or no descriptor to receive a payload with. A server rejects the request, and nothing is received; a client
    /// gets a packet that says that there is no reply.
    @inline(never)
    private func failReceiving(_ packet: inout Packet) -> Bool {
        if packet.frame.payloadLocation == .sharedBuffer { locked { pointee.peerBuffer.skipUnreadable() } }
        if pointee.role == .server {
            reject(packet.frame)
            return false
        }
        packet.frame.kind = .dropped
        return true
    }

    /// Copies the payload out of a file into `data`, which is nil if there was no memory for it. False if that failed; if the peer is to
    /// blame, it is disconnected.
    private func readFile(_ frame: Frame, _ file: Int32, _ data: DataPointer?) -> Bool {
        guard let data else {
            if frame.payloadLocation == .returnedBuffer { locked { pointee.sharedBuffer.endUse() } }
            return false
        }
        let bytes = UnsafeMutableRawPointer(data.pointee.bytes)
        switch frame.payloadLocation {
        case .sharedBuffer:
            var mapping = locked { pointee.peerBuffer.takeMapping() }
            let hasRead = PeerBuffer.read(&mapping, file, bytes, frame.length)
            locked { pointee.peerBuffer.finishReading(mapping) }
            // There will be no reply to report that the buffer has been read.
            if hasRead && frame.id == 0 {
                send(Frame(kind: .bufferRead, payloadLocation: .absent, id: 0, message: 0, length: 0, deadline: .never), nil)
            }
            return hasRead || disconnect(because: "is disconnected: its shared buffer is not a sealed memory file")
        case .returnedBuffer:
            let hasRead = pointee.sharedBuffer.read(bytes, frame.length)
            locked { pointee.sharedBuffer.endUse() }
            return hasRead || disconnect(because: "is disconnected: its reply is not in the shared buffer")
        default:
            return MemoryFile.read(file, bytes, frame.length)
                || disconnect(because: "is disconnected: a file that it passed became shorter")
        }
    }

    /// Notes what a frame's header says about the connection itself: that the handshake is done, that a reply lies in our shared buffer, how
    /// many buffers the peer has read. False if the peer cannot have sent that, as no buffer is on its way. Under the mutex.
    private func noteHeader(_ frame: Frame) -> Bool {
        if frame.kind == .hello { pointee.handshakeDone = true }
        let isPossible = frame.payloadLocation != .returnedBuffer || pointee.sharedBuffer.beginReading(frame.buffersRead)
        noteCounts(frame.buffersRead)
        return isPossible
    }

    /// Notes how many buffers the peer has read, and that a frame has come. Under the mutex.
    @inline(__always)
    private func noteCounts(_ buffersRead: UInt16) {
        pointee.sharedBuffer.noteRead(buffersRead)
        pointee.peerBuffer.noteFrame()
    }

    /// The peer is gone: a client's port becomes invalid, a server closes the connection. Calls user code.
    private func handlePeerClosed() { if pointee.role == .client { pointee.port.invalidate() } else { close() } }

    /// Prints one line with the reason, which completes "process 123 …", and ends the connection as if the peer were gone. Other
    /// connections are not affected. Always false, for callers to return. Without a lock; calls user code.
    @inline(never)
    @discardableResult
    func disconnect(because reason: Name) -> Bool {
        Misuse.warn("RLMessagePort", "process", Int(pointee.credentials.process), reason)
        handlePeerClosed()
        return false
    }
}
