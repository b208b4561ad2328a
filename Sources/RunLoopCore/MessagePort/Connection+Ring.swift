import CLinux
import CRunLoop
import Synchronization

// When a connection gets a ring, and which requests go through it rather than through the socket.

extension Connection {
    /// After how many small one-way requests in a row the server makes a ring, and the client checks whether one was passed.
    fileprivate static var ringThreshold: UInt8 { 16 }
    /// After how many entries the client checks that the server is still there.
    fileprivate static var livenessInterval: UInt8 { 64 }
    /// How many nanoseconds a client waits for room in a full ring before it uses the socket.
    fileprivate static var fullRingWait: UInt64 { 10_000_000 }
}

extension ConnectionPointer {
    // MARK: the client

    /// Client: sends a small one-way request through the ring, if the server has passed one. Waits a while for room in a full ring. Returns
    /// `isInvalid` if the server is gone, and nil if the request was not sent and has to go through the socket. Unless it waits, makes a
    /// system call only if the server may be asleep, and for one entry in 64. Any thread; call without a lock held. May call user code if the
    /// connection ends.
    func sendByRing(_ message: Int32, _ data: DataPointer?, until deadline: Instant) -> RequestResult? {
        if (data?.pointee.count ?? 0) > Ring.dataLimit { return nil }
        prepareRing()
        var sent = putIntoRing(message, data)
        if sent == .full {
            let limit = Swift.min(deadline, Clock.now.advanced(by: Connection.fullRingWait))
            while sent == .full && Clock.now < limit {
                if locked({ pointee.ring.requestRoom() }) && !waitForRoom(until: limit, inRing: true) { break }
                sent = putIntoRing(message, data)
            }
            // Requests go through the socket until the server has made room.
            if sent == .full { locked { pointee.ring.staysFull = true } }
        }
        return result(sent)
    }

    /// Client: like `sendByRing`, but only if the ring is open and has room: never waits, reads no clock, and calls no user code. Any
    /// thread; call without the mutex held.
    func sendByOpenRing(_ message: Int32, _ data: DataPointer?) -> RequestResult? { result(putIntoRing(message, data)) }

    /// The result of a request after an attempt to put it into the ring; nil if it has to go through the socket.
    private func result(_ sent: PacketSocket.Sent) -> RequestResult? { sent == .done ? .success : sent == .gone ? .isInvalid : nil }

    /// Before a small one-way request: opens the ring, if the server has passed one, and reports that to the server. Otherwise counts the
    /// request; after some in a row the server may pass a ring, and after more this receives a packet, if there is one: a program that only
    /// sends never runs the loop that would receive it. Any thread; call without the mutex held. May call user code if the connection ends.
    private func prepareRing() {
        let isDue = locked { () -> Bool in
            if !pointee.isOpen || pointee.ring.isOpen || !pointee.sendQueue.isEmpty { return false }
            if pointee.ring.isMapped && sendPacketLocked(Frame(kind: .ring)) == .done {
                _ = pointee.ring.open()
                return false
            }
            pointee.ring.counter += 1
            if pointee.ring.counter == Connection.ringThreshold / 2 && !pointee.acceptsDescriptors {
                pointee.acceptsDescriptors = true
                PacketSocket.acceptDescriptors(pointee.fd)
            }
            if pointee.ring.counter < Connection.ringThreshold { return false }
            pointee.ring.counter = 0
            return true
        }
        guard isDue, let threadContext = ThreadContextPointer.current, isPacketHere else { return }
        _ = receiveReply(on: RunLoopPointer(threadContext))
    }

    /// Puts a request into the ring. Returns `full` if there is no room now, and `failed` if the request has to go through the socket. Call
    /// without the mutex held.
    private func putIntoRing(_ message: Int32, _ data: DataPointer?) -> PacketSocket.Sent {
        let length = data?.pointee.count ?? 0
        if length > Ring.dataLimit || pointee.role == .inProcess { return .failed }
        return locked {
            if !pointee.isOpen { return .gone }
            // While frames are queued, a large request is being sent, and this one has to arrive after it.
            if !pointee.ring.isOpen || !pointee.sendQueue.isEmpty { return .failed }
            if !pointee.ring.hasRoom(for: length) { return pointee.ring.staysFull ? .failed : .full }
            if pointee.ring.needsDoorbell && sendDoorbell() != .done { return .failed }
            pointee.ring.putEntry(message, data?.bytes, length)
            // Sending a doorbell shows whether the server is gone. Without one, this checks from time to time.
            if pointee.ring.wantsDoorbell { return ringDoorbell() }
            pointee.ring.counter += 1
            if pointee.ring.counter < Connection.livenessInterval { return .done }
            pointee.ring.counter = 0
            return Descriptor.poll(pointee.fd, for: []).isEmpty ? .done : .gone
        }
    }

    /// Sends a doorbell for the entry that was just published, because the server may be asleep. A full socket needs none: its last packet
    /// is a doorbell, and there is another packet before that, so the server checks the ring again. If the socket has become writable
    /// since, the server has just read, so a second attempt works. If that fails too, the kernel has no memory, and the connection ends:
    /// that wakes the server, which first delivers the entries.
    private func ringDoorbell() -> PacketSocket.Sent {
        for _ in 0..<2 {
            let sent = sendDoorbell()
            if sent == .done || (sent == .full && Descriptor.poll(pointee.fd, for: .writable).isEmpty) { return .done }
            if sent != .full { break }
        }
        return .gone
    }

    /// Client: sends a doorbell. The caller holds the mutex.
    private func sendDoorbell() -> PacketSocket.Sent {
        pointee.ring.cancelDoorbellRequest()
        let sent = sendPacketLocked(Frame(kind: .doorbell))
        if sent == .done { pointee.ring.needsDoorbell = false } else { pointee.ring.requestDoorbell() }
        return sent
    }

    // MARK: the server

    /// Server: takes the next request from the ring as if it had arrived in a packet. Returns nil if a packet has to be taken next. The ring
    /// must be open. The caller holds the mutex.
    func takeFromRing(_ buffer: UnsafeMutableRawPointer, _ reception: inout Reception) -> Progress? {
        var taken = pointee.ring.takeEntry(buffer)
        if case .nothing = taken, pointee.ring.spinForEntry() { taken = pointee.ring.takeEntry(buffer) }
        if case .nothing = taken {
            if !isPacketHere { return .nothing }
            pointee.ring.requestDoorbell()
            taken = pointee.ring.takeEntry(buffer)
            if case .entry = taken { pointee.ring.cancelDoorbellRequest() } else { pointee.ring.endBurst() }
            // After the memory of the last entry was released: either `owesRoom` sees that the client waits, or the client sees the room. This is
            // always reached before the server falls asleep: the client has sent a doorbell since the ring was last empty.
            atomicMemoryFence(ordering: .sequentiallyConsistent)
        }
        if pointee.ring.owesRoom {
            pointee.ring.cancelRoomRequest()
            // If that fails, the client notices the room when it has received what is in its socket, or soon by itself.
            _ = sendPacketLocked(Frame(kind: .doorbell))
        }
        switch taken {
        case .nothing, .tooEarly: return nil
        case .invalid: return .violation
        case .entry(let message, let length):
            reception.packet = ReceivedPacket(
                frame: Frame(kind: .request, payloadLocation: .inline, messageID: message, length: length),
                data: DataPointer.createReceived(buffer, count: length, reception.threadContext))
            reception.budget -= length
            reception.hasNextEntry = pointee.ring.hasEntry
            return .complete
        }
    }

    /// Server: counts small one-way requests in a row, and passes a ring to a client that sends many. The caller holds the mutex.
    @inline(never)
    func noteOneWay(_ frame: Frame) {
        pointee.ring.counter = frame.id == 0 && frame.length <= Ring.dataLimit ? pointee.ring.counter + 1 : 0
        if pointee.ring.counter < Connection.ringThreshold { return }
        pointee.ring.counter = 0
        if pointee.ring.isMapped || !pointee.sendQueue.isEmpty { return }
        guard let fd = pointee.ring.make() else { return }
        let frame = Frame(kind: .ring, payloadLocation: .file, length: Ring.size)
        if sendPacketLocked(frame, passing: fd) != .done { pointee.ring.close() }
        Descriptor.close(fd)
    }
}
