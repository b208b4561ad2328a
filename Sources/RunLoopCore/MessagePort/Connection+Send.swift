import CLinux
import Synchronization

// How a request or a reply travels: within the process through the port's queue; to another process as one packet, in pieces, or, if it is
// a small one-way request, through the ring.

extension Instant {
    /// Returns the deadline of a request that starts to wait for room at this instant. As in CF, ten days or more mean no limit, and less
    /// than a millisecond means not to wait.
    func sendLimit(after seconds: Double) -> Instant {
        if seconds >= 864_000 { return .never }
        return seconds < 0.001 ? .distantPast : after(seconds)
    }
}

extension ConnectionPointer {
    // MARK: requests

    /// Sends a small one-way request through an open ring, without waiting. Returns nil if nothing was sent: the caller then uses
    /// `transmit`. Returns `isInvalid` if the server is gone. Any thread; called under the remote port's mutex.
    func transmitAtOnce(_ message: Int32, _ data: DataPointer?) -> RequestResult? { ringResult(sendByExistingRing(message, data)) }

    /// Returns the result of an attempt to send through the ring; nil if there is no ring or no room in it, so that the request has to go
    /// through the socket.
    private func ringResult(_ sent: PacketSocket.Sent) -> RequestResult? {
        sent == .done ? .success : sent == .gone ? .isInvalid : nil
    }

    /// Sends a request to the local port, and waits for room until `deadline`. Returns `isInvalid` if that port is gone: the caller
    /// invalidates the remote port, after removing the request from its list. Any thread; call without a lock held. May call user code if a
    /// connection ends.
    func transmit(_ frame: Frame, _ data: DataPointer?, until deadline: Instant) -> RequestResult {
        if let data, data.pointee.count > Frame.lengthLimit { return .transportError }
        if frame.id == 0, let result = ringResult(sendByRing(frame.messageID, data, until: deadline)) { return result }
        if pointee.role == .inProcess { return enqueue(frame, data, until: deadline) }
        var ticket: UInt32?
        while true {
            switch fitsInPacket(data) ? sendPacket(frame, data) : sendLarge(frame, data, &ticket) {
            case .done:
                // If a reply is wanted, the loop sends the rest. A one-way sender waits until all is sent.
                guard let ticket, frame.id == 0 else { return .success }
                return finishSending(ticket, until: deadline)
            case .failed: return .transportError
            case .gone: return .isInvalid
            case .full: if !waitForRoom(until: deadline) { return .sendTimeout }
            }
        }
    }

    /// Sends a request within the process, as an entry of the local port's queue: the data object itself, or a copy if the data could
    /// change.
    private func enqueue(_ frame: Frame, _ data: DataPointer?, until deadline: Instant) -> RequestResult {
        var result = RequestResult.transportError
        guard let data = data.map({ $0.lastingCopy() }) ?? DataPointer.create(nil, count: 0) else { return .transportError }
        guard let request = RequestPointer.make(frame, data, from: self) else {
            data.release()
            return .transportError
        }
        switch pointee.port.queue.put(QueuedMessage(UnsafeMutableRawPointer(request)), until: deadline) {
        case .queued, .queuedNeedsSignal: return .success
        case .full: result = .sendTimeout
        case .closed: result = .isInvalid
        case .outOfMemory: break
        }
        request.cancelUnsent()
        return result
    }

    // MARK: packets

    /// Sends a server's frame with `data` as its payload, and queues what does not fit into the socket buffer. Does nothing if the
    /// connection is closed, and closes it if out of memory. Any thread; call without the mutex held. May call user code if it closes the
    /// connection.
    @inline(never)
    func send(_ frame: Frame, _ data: DataPointer?) {
        if !fitsInPacket(data) || sendPacket(frame, data) != .done { sendOrQueue(frame, data) }
    }

    /// Whether a frame with this payload is a single packet.
    func fitsInPacket(_ data: DataPointer?) -> Bool { data.map { $0.pointee.count <= Frame.inlineLimit } ?? true }

    /// Sends a frame whose payload fits into one packet. Returns `full`, and sends nothing, if there is no room or other frames are queued.
    /// One system call. Any thread; call without the mutex held.
    func sendPacket(_ frame: Frame, _ data: DataPointer?) -> PacketSocket.Sent {
        let count = data?.pointee.count ?? 0
        var head = frame.head
        if data != nil { head.2 = Frame.PayloadLocation.inline.rawValue }
        head.6 = UInt64(count)
        pointee.mutex.lock()
        var outcome = PacketSocket.Sent.gone
        if pointee.isOpen && pointee.sendQueue.isEmpty {
            outcome = PacketSocket.send(pointee.fd, &head, Frame.headSize, data?.bytes, count, passing: -1)
            if outcome == .done { noteSent(frame) }
        } else if pointee.isOpen {
            outcome = .full
        }
        pointee.mutex.unlock()
        return outcome
    }

    /// Server: reports to the client that a request will not be answered. Any thread; call without the mutex held.
    func sendDropped(_ id: UInt32) {
        send(Frame(kind: .dropped, id: id), nil)
    }

    /// Server: rejects a request that cannot be received. A client that waits for a reply is notified that there will be none. One-way
    /// requests must not be lost silently, so for one of those this closes the connection. Call without a lock held; may call user code.
    func reject(_ frame: Frame) {
        if frame.id == 0 {
            disconnect(because: "was disconnected: no memory or file descriptor left to receive its request")
        } else {
            sendDropped(frame.id)
        }
    }
}
