import CLinux
import Synchronization

// Which way a request or a reply goes: within the process through the port's queue; to another process as a packet, in pieces, or, if it
// is small and wants no reply, through the ring.

extension Instant {
    /// When a request that began to wait for room at this instant gives up. As in CF, more than ten days is no limit, and less than a
    /// millisecond does not wait.
    func sendLimit(after seconds: Double) -> Instant {
        if seconds >= 864_000 { return .never }
        return seconds < 0.001 ? .distantPast : after(seconds)
    }
}

extension ConnectionPointer {
    // MARK: requests

    /// Sends a one-way request if that takes no time, through an existing ring; otherwise nil. `isInvalid`: the server is gone. Any thread.
    func transmitAtOnce(_ message: Int32, _ data: DataPointer?) -> RequestResult? { ringResult(sendByExistingRing(message, data)) }

    /// What became of an attempt to send through the ring; nil if there is none, or no room in it: then the request goes through the socket.
    private func ringResult(_ sent: PacketSocket.Sent) -> RequestResult? {
        sent == .done ? .success : sent == .gone ? .isInvalid : nil
    }

    /// Sends a request to the local port. `isInvalid`: it was not sent and that is gone; the caller invalidates the remote port, after
    /// taking the request out of the list. Any thread, without a lock; may call user code if a connection ends.
    func transmit(_ frame: Frame, _ data: DataPointer?, until deadline: Instant) -> RequestResult {
        if let data, data.pointee.count > Frame.lengthLimit { return .transportError }
        if frame.id == 0, let result = ringResult(sendByRing(frame.message, data, until: deadline)) { return result }
        if pointee.role == .inProcess { return enqueue(frame, data, until: deadline) }
        var ticket: UInt32?
        while true {
            switch fitsInPacket(data) ? sendPacket(frame, data) : sendLarge(frame, data, &ticket) {
            case .done:
                // The loop sends the rest of a request that wants a reply.
                guard let ticket, frame.id == 0 else { return .success }
                return finishSending(ticket, until: deadline)
            case .failed: return .transportError
            case .gone: return .isInvalid
            case .full: if !waitForRoom(until: deadline) { return .sendTimeout }
            }
        }
    }

    /// Sends a request within the process: the data object itself, or a copy if it could change.
    private func enqueue(_ frame: Frame, _ data: DataPointer?, until deadline: Instant) -> RequestResult {
        var result = RequestResult.transportError
        guard let data = data.map({ $0.lastingCopy() }) ?? DataPointer.create(nil, count: 0) else { return .transportError }
        guard let request = RequestPointer.make(frame, data, from: self) else {
            data.release()
            return .transportError
        }
        switch pointee.port.queue.put(QueuedMessage(UnsafeMutableRawPointer(request)), until: deadline) {
        case .queued, .queuedUnsignalled: return .success
        case .full: result = .sendTimeout
        case .closed: result = .isInvalid
        case .outOfMemory: break
        }
        request.cancelUnsent()
        return result
    }

    // MARK: packets

    /// Sends a frame of a server, with `data` as its payload, now or as soon as there is room. Does nothing if the connection is closed, and
    /// closes it if there is no memory. Any thread, without the mutex; may call user code if it closes the connection.
    @inline(never)
    func send(_ frame: Frame, _ data: DataPointer?) {
        if !fitsInPacket(data) || sendPacket(frame, data) != .done { sendOrQueue(frame, data) }
    }

    /// Whether a frame with this payload is one packet.
    func fitsInPacket(_ data: DataPointer?) -> Bool { data.map { $0.pointee.count <= Frame.inlineLimit } ?? true }

    /// Sends a frame whose payload fits into a packet. `full`: not sent, because there is no room or other frames wait. One system call.
    /// Any thread, without the mutex.
    func sendPacket(_ frame: Frame, _ data: DataPointer?) -> PacketSocket.Sent {
        let count = data?.pointee.count ?? 0
        var head = frame.head
        if data != nil { head.2 = Frame.PayloadLocation.inline.rawValue }
        head.6 = UInt64(count)
        pointee.mutex.lockInlined()
        var outcome = PacketSocket.Sent.gone
        if pointee.isOpen && pointee.sendQueue.isEmpty {
            outcome = PacketSocket.send(pointee.fd, &head, Frame.headSize, data?.bytes, count, passing: -1)
            if outcome == .done { noteSent(frame) }
        } else if pointee.isOpen {
            outcome = .full
        }
        pointee.mutex.unlockInlined()
        return outcome
    }

    /// Tells the client that a request will not be answered. A connection of a server.
    func sendDropped(_ id: UInt32) {
        send(Frame(kind: .dropped, id: id), nil)
    }

    /// Gives up a request that cannot be received. A client that waits for a reply is told that there will be none. One-way requests must
    /// not be lost silently, so for one of those the connection is closed.
    func reject(_ frame: Frame) {
        if frame.id == 0 {
            disconnect(because: "is disconnected: no memory or file descriptor to receive its request")
        } else {
            sendDropped(frame.id)
        }
    }
}
