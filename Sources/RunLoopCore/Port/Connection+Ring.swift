import CLinux
import CRunLoop
import Synchronization

// When a connection gets a ring, and which requests go through it rather than through the socket.

extension Connection {
    /// How many small one-way requests in a row it takes until the client creates a ring.
    fileprivate static var ringThreshold: UInt8 { 16 }
    /// After how many entries the client checks that the server is still there.
    fileprivate static var livenessInterval: UInt8 { 32 }
    /// How long a client sleeps before it looks at a full ring again, in nanoseconds: less than a server needs to empty it.
    fileprivate static var fullRingPollInterval: Int { 100_000 }
    /// How many times a client looks at a full ring before it uses the socket.
    fileprivate static var fullRingPolls: Int { 64 }
}

extension ConnectionPointer {
    // MARK: the client

    /// Sends a small one-way request through the ring, and creates that if it is time to. Returns `done`, or `gone` if the server is; any
    /// other result means that the request was not sent and has to go through the socket. Waits a while for room in a full ring. No
    /// system call unless the server may be asleep, but for one in 32. Any thread.
    func sendByRing(_ message: Int32, _ data: DataPointer?, until deadline: Instant) -> PacketSocket.Sent {
        let length = data?.pointee.count ?? 0
        if length > Ring.dataLimit { return .failed }
        var sent = locked { putIntoRingLocked(message, data?.bytes, length) }
        var polls = 0
        while sent == .full && polls < Connection.fullRingPolls && Clock.now < deadline {
            // No doorbell says that there is room: another thread of the client that reads the socket could take it away.
            _ = Descriptor.poll(pointee.fd, for: [], within: Connection.fullRingPollInterval)
            polls += 1
            sent = locked { putIntoRingLocked(message, data?.bytes, length) }
        }
        // Without room after all the polls, the socket is used until there is some.
        if sent == .full { locked { pointee.ring.staysFull = true } }
        return sent
    }

    /// Sends a small one-way request through the ring if there is one, and room in it; otherwise returns `failed` or `full`, and nothing
    /// was sent. Reads no clock. Any thread.
    func sendByExistingRing(_ message: Int32, _ data: DataPointer?) -> PacketSocket.Sent {
        let length = data?.pointee.count ?? 0
        if length > Ring.dataLimit { return .failed }
        lock()
        let sent = pointee.ring.isOpen ? putIntoRingLocked(message, data?.bytes, length) : .failed
        unlock()
        return sent
    }

    /// `full`: not now. `failed`: through the socket. Under the mutex.
    @inline(never)
    private func putIntoRingLocked(_ message: Int32, _ bytes: UnsafePointer<UInt8>?, _ length: Int) -> PacketSocket.Sent {
        if !pointee.isOpen { return .gone }
        pointee.ring.counter += 1
        let isDue = pointee.ring.counter >= (pointee.ring.isOpen ? Connection.livenessInterval : Connection.ringThreshold)
        if isDue { pointee.ring.counter = 0 }
        if !pointee.ring.isOpen && (!isDue || !shareRing()) { return .failed }
        if !pointee.ring.hasRoom(for: length) { return pointee.ring.staysFull ? .failed : .full }
        if pointee.ring.needsDoorbell && sendDoorbell() != .done { return .failed }
        pointee.ring.putEntry(message, bytes, length)
        pointee.sharedBuffer.noteSmallFrame()
        if pointee.ring.wantsDoorbell { return ringDoorbell() }
        // If a doorbell is wanted, sending that notices whether the server is gone.
        return isDue && !Descriptor.poll(pointee.fd, for: []).isEmpty ? .gone : .done
    }

    /// Tells a server that may be asleep of the entry that was just published. A full socket has a doorbell in it already, in front of
    /// which everything else will be read. If the socket was full and is not any more, either the server has just read it, so the second
    /// attempt works, or there was no memory. Without memory the connection has to end: that wakes the server, which delivers the entries
    /// first.
    private func ringDoorbell() -> PacketSocket.Sent {
        for _ in 0..<2 {
            let sent = sendDoorbell()
            if sent == .done || (sent == .full && Descriptor.poll(pointee.fd, for: .writable).isEmpty) { return .done }
            if sent != .full { break }
        }
        return .gone
    }

    /// Sends a request through the socket. Under the mutex.
    func sendRequestLocked(_ outgoing: SendQueue.OutgoingFrame) -> PacketSocket.Sent {
        if !pointee.isOpen { return .gone }
        let sent = sendLocked(outgoing)
        if sent == .done { noteSent(outgoing.frame) }
        return sent
    }

    /// Notes a frame that went through the socket; every such frame of a client is a request. Under the mutex.
    @inline(__always)
    func noteSent(_ frame: Frame) {
        if pointee.role == .server { return }
        if frame.id == 0 { pointee.sharedBuffer.noteSmallFrame() }
        if pointee.ring.isOpen { pointee.ring.noteSocketRequest() } else if frame.id != 0 { pointee.ring.counter = 0 }
    }

    /// Creates the ring and passes it to the server.
    private func shareRing() -> Bool {
        guard let fd = pointee.ring.make() else { return false }
        let sent = sendControlLocked(.ring, .file, Ring.size, fd)
        Descriptor.close(fd)
        if sent != .done { pointee.ring.close() }
        return sent == .done
    }

    /// Sends a doorbell.
    private func sendDoorbell() -> PacketSocket.Sent {
        pointee.ring.prepareDoorbell()
        let sent = sendControlLocked(.doorbell, .absent, 0, -1)
        pointee.ring.noteDoorbell(wasSent: sent == .done)
        return sent
    }

    /// Sends a frame that concerns the connection rather than a request.
    private func sendControlLocked(_ kind: Frame.Kind, _ location: Frame.PayloadLocation, _ length: Int, _ file: Int32) -> PacketSocket.Sent
    {
        sendLocked(
            SendQueue.OutgoingFrame(
                frame: Frame(kind: kind, payloadLocation: location, id: 0, message: 0, length: length, deadline: .never), data: nil,
                file: file))
    }

    // MARK: the server

    /// Takes the next request from the ring as if it had come in a packet, with its data behind the room for a header in `buffer`. nil if
    /// the next thing to take is a packet. The server's end, which has a ring; under the mutex.
    func takeFromRing(_ buffer: UnsafeMutableRawPointer, _ frame: inout Frame?) -> PacketSocket.Received? {
        var taken = pointee.ring.takeEntry(buffer + Frame.headSize)
        if case .nothing = taken, pointee.ring.spinForEntry() { taken = pointee.ring.takeEntry(buffer + Frame.headSize) }
        if case .nothing = taken {
            if Descriptor.poll(pointee.fd, for: .readable).isEmpty { return PacketSocket.Received(kind: .nothing) }
            pointee.ring.requestDoorbell()
            taken = pointee.ring.takeEntry(buffer + Frame.headSize)
            if case .entry = taken { pointee.ring.cancelDoorbellRequest() } else { pointee.ring.endBurst() }
        }
        switch taken {
        case .nothing, .tooEarly: return nil
        case .invalid: break
        case .entry(let message, let length):
            pointee.peerBuffer.noteFrame()
            frame = Frame(kind: .request, payloadLocation: .inline, id: 0, message: message, length: length, deadline: .never)
        }
        return PacketSocket.Received(kind: .packet, size: Frame.headSize)
    }

    /// Server: notes in the ring what has come through the socket, and opens a ring that was passed. Closes the file, and marks it as not
    /// received, if there is no memory for that. False if the frame violates the protocol. Under the mutex.
    func noteReceived(_ frame: Frame, _ attachment: inout PacketSocket.Attachment) -> Bool {
        switch frame.kind {
        case .request: if pointee.ring.isOpen { pointee.ring.noteSocketRequest() }
        case .doorbell: return pointee.ring.isOpen
        case .ring where attachment.descriptor >= 0:
            if let isOpen = pointee.ring.open(attachment.descriptor) { return isOpen }
            attachment.close()
            attachment = .refused
        case .ring, .hello, .reply, .dropped, .bufferRead: break
        }
        return true
    }
}
