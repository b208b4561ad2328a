import CLinux
import CRunLoop
import Synchronization

// Rings on a connection: when there is one, and what goes by the socket beside it.

extension Connection {
    /// After how many small requests in a row that want no reply there is a ring.
    fileprivate static var ringThreshold: UInt8 { 16 }
    /// After how many entries a client looks whether there still is a server.
    fileprivate static var livenessInterval: UInt8 { 32 }
    /// How long a client whose ring is full sleeps before it looks again, in nanoseconds: a server takes longer for all entries.
    fileprivate static var fullRingPollInterval: Int { 100_000 }
    /// How often.
    fileprivate static var fullRingPolls: Int { 64 }
}

extension UnsafeMutablePointer where Pointee == Connection {
    // MARK: the client

    /// Sends a small request that wants no reply by the ring: `done`, or `gone`; otherwise it has to go by the socket. If the ring is
    /// full, lets the server run for a while. No system call unless the server sleeps, but for one in 32. Any thread.
    @inline(never)
    func put(_ message: Int32, _ data: DataPointer?, until deadline: Instant) -> PacketSocket.Sent {
        let length = data?.pointee.count ?? 0
        if length > Ring.dataLimit { return .failed }
        var sent = locked { putLocked(message, data?.bytes, length) }
        var fullRingPolls = 0
        while sent == .full && fullRingPolls < Connection.fullRingPolls && Clock.now < deadline {
            // There is no doorbell for room: a thread of the client that serves the socket might take it from the one that waits.
            _ = Descriptor.look(pointee.fd, for: 0, within: Connection.fullRingPollInterval)
            fullRingPolls += 1
            sent = locked { putLocked(message, data?.bytes, length) }
        }
        // From now on the socket says when there is room.
        if sent == .full { locked { pointee.ring.isStuck = true } }
        return sent
    }

    /// The same if there is a ring, without waiting for room. Reads no clock.
    @inline(never)
    func putAtOnce(_ message: Int32, _ data: DataPointer?) -> PacketSocket.Sent {
        let length = data?.pointee.count ?? 0
        if length > Ring.dataLimit { return .failed }
        lock()
        let sent = pointee.ring.isThere ? putLocked(message, data?.bytes, length) : .failed
        unlock()
        return sent
    }

    @inline(never)
    private func putLocked(_ message: Int32, _ bytes: UnsafePointer<UInt8>?, _ length: Int) -> PacketSocket.Sent {
        if !pointee.isOpen { return .gone }
        pointee.ring.count += 1
        let isTime = pointee.ring.count >= (pointee.ring.isThere ? Connection.livenessInterval : Connection.ringThreshold)
        if isTime { pointee.ring.count = 0 }
        if !pointee.ring.isThere && (!isTime || !handRingOver()) { return .failed }
        if !pointee.ring.hasRoom(for: length) { return pointee.ring.isStuck ? .failed : .full }
        if pointee.ring.needsDoorbell && sendDoorbell() != .done { return .failed }
        pointee.ring.put(message, bytes, length)
        pointee.sharedBuffer.noteSmall()
        if pointee.ring.wantsDoorbell { return ringDoorbell() }
        // Who is dead wants no doorbell.
        return isTime && Descriptor.look(pointee.fd, for: 0) != 0 ? .gone : .done
    }

    /// There is an entry, and the server may sleep. A socket that is full has an older doorbell in it still, behind everything else. If it is
    /// said to be full and is not, then the server has read it meanwhile, or there was no memory. If there is none, the end of the connection has
    /// to be the doorbell: a server delivers what it finds in the ring first.
    private func ringDoorbell() -> PacketSocket.Sent {
        for _ in 0..<2 {
            let sent = sendDoorbell()
            if sent == .done || (sent == .full && Descriptor.look(pointee.fd, for: Events.writable.rawValue) == 0) { return .done }
            if sent != .full { break }
        }
        return .gone
    }

    /// A request that goes by the socket. Under the mutex.
    func sendRequestLocked(_ outgoing: SendQueue.OutgoingFrame) -> PacketSocket.Sent {
        if !pointee.isOpen { return .gone }
        let sent = sendLocked(outgoing)
        if sent == .done { noteSent(outgoing.frame) }
        return sent
    }

    /// A frame went by the socket: of a client, a request. Under the mutex.
    @inline(__always)
    func noteSent(_ frame: Frame) {
        if pointee.role == .server { return }
        if frame.id == 0 { pointee.sharedBuffer.noteSmall() }
        if pointee.ring.isThere { pointee.ring.noteRequest() } else if frame.id != 0 { pointee.ring.count = 0 }
    }

    private func handRingOver() -> Bool {
        let fd = pointee.ring.make()
        if fd < 0 { return false }
        let sent = sendLocked(.ring, .file, Ring.size, fd)
        PacketSocket.close(fd)
        if sent != .done { pointee.ring.end() }
        return sent == .done
    }

    private func sendDoorbell() -> PacketSocket.Sent {
        pointee.ring.prepareDoorbell()
        let sent = sendLocked(.doorbell, .absent, 0, -1)
        pointee.ring.noteDoorbell(sent == .done)
        return sent
    }

    private func sendLocked(_ kind: Frame.Kind, _ location: Frame.PayloadLocation, _ length: Int, _ file: Int32) -> PacketSocket.Sent {
        sendLocked(
            SendQueue.OutgoingFrame(
                frame: Frame(kind: kind, payloadLocation: location, id: 0, message: 0, length: length, deadline: .never), data: nil,
                file: file))
    }

    // MARK: the server

    /// What is to be delivered before the next packet, as if it had come in one: behind where a head would be in `buffer`. nil if it is
    /// the packet's turn. Under the mutex.
    @inline(never)
    func takeFromRing(_ buffer: UnsafeMutableRawPointer, _ frame: inout Frame?) -> PacketSocket.Received? {
        var taken = pointee.ring.take(buffer + Frame.headSize)
        if case .nothing = taken, pointee.ring.awaitEntry() { taken = pointee.ring.take(buffer + Frame.headSize) }
        if case .nothing = taken {
            if Descriptor.look(pointee.fd, for: Events.readable.rawValue) == 0 { return PacketSocket.Received(size: -1, passed: -1) }
            pointee.ring.requestDoorbell()
            taken = pointee.ring.take(buffer + Frame.headSize)
            if case .entry = taken { pointee.ring.cancelDoorbellRequest() } else { pointee.ring.noteEmpty() }
        }
        switch taken {
        case .nothing, .tooEarly: return nil
        case .nonsense: break
        case .entry(let message, let length):
            pointee.peerBuffer.noteFrame()
            frame = Frame(kind: .request, payloadLocation: .inline, id: 0, message: message, length: length, deadline: .never)
        }
        return PacketSocket.Received(size: Frame.headSize, passed: -1)
    }

    /// A packet has come, perhaps with a file, for which there may be no memory. False if it makes no sense. Under the mutex.
    func noteInRing(_ frame: Frame, _ file: inout Int32) -> Bool {
        switch frame.kind {
        case .request: if pointee.ring.isThere { pointee.ring.noteRequest() }
        case .doorbell: return pointee.ring.isThere
        case .ring where file >= 0:
            if let isOpen = pointee.ring.open(file) { return isOpen }
            PacketSocket.close(file)
            file = PacketSocket.Received.noNumber
        case .ring, .hello, .reply, .dropped, .read: break
        }
        return true
    }
}
