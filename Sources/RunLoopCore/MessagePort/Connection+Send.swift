import CLinux
import Synchronization

// How requests and replies travel to another process: as one packet, in pieces or, a small one-way request, through the ring. And how a
// request travels within the process: through the port's queue. (A reply within the process completes the request directly.)

extension Instant {
    /// Returns the deadline of a request that starts to wait for room at this instant. As in CF, ten days or more mean no limit, and less
    /// than a millisecond means not to wait.
    func sendLimit(after seconds: Double) -> Instant {
        if seconds >= 864_000 { return .never }
        return seconds < 0.001 ? .distantPast : after(seconds)
    }

    /// Returns this deadline of a request, which begins when the request is sent, later by the time that has passed since `start`.
    fileprivate func postponed(since start: Instant) -> Instant { advanced(by: Clock.now.nanoseconds - start.nanoseconds) }
}

/// A frame to be sent, as far as it has not been sent.
struct OutgoingFrame: BitwiseCopyable {
    var frame: Frame
    /// The payload. Retained only in a `SendQueue`.
    var data: DataPointer?
    /// -1 until the head of the frame was sent; from then on, how many bytes of a payload in pieces were sent.
    var sent = -1

    init(_ frame: Frame, _ data: DataPointer?) {
        self.frame = frame
        self.data = data
        guard let data else { return }
        self.frame.length = data.pointee.count
        self.frame.payloadLocation = data.pointee.count <= Frame.inlineLimit ? .inline : .pieces
    }

    /// Whether a part of the frame was sent.
    var isUnderWay: Bool { sent >= 0 }
}

extension ConnectionPointer {
    /// Sends a request to the local port, and waits for room until `limit`, by which the frame's deadline is postponed. Returns `isInvalid`
    /// if that port is gone: the caller invalidates the remote port, after removing the request from its list. Any thread; call without a
    /// lock held. May call user code if a connection ends.
    func transmit(_ frame: inout Frame, _ data: DataPointer?, until limit: Instant) -> RequestResult {
        if let data, data.pointee.count > Frame.lengthLimit { return .transportError }
        if pointee.role == .inProcess { return enqueue(&frame, data, until: limit) }
        if frame.id == 0, let result = sendByRing(frame.messageID, data, until: limit) { return result }
        var ticket: UInt32?
        while true {
            switch send(frame, data, &ticket) {
            case .done:
                // If a reply is wanted, the loop sends the rest. A one-way sender waits until all is sent.
                guard let ticket, frame.id == 0 else { return .success }
                return finishSending(ticket, until: limit)
            case .failed: return .transportError
            case .gone: return .isInvalid
            case .full:
                let start = Clock.now
                if !waitForRoom(until: limit) { return .sendTimeout }
                frame.deadline = frame.deadline.postponed(since: start)
            }
        }
    }

    /// Sends a request within the process, by an entry of the local port's queue: the data object itself, or a copy if the data could
    /// change. The local port learns the frame's deadline as it was before it is postponed.
    private func enqueue(_ frame: inout Frame, _ data: DataPointer?, until limit: Instant) -> RequestResult {
        let lasting = data.map { $0.lastingCopy() } ?? DataPointer.create(nil, count: 0)
        guard let lasting, let request = RequestPointer.make(frame, lasting, from: self) else {
            lasting?.release()
            return .transportError
        }
        let queued = QueuedMessage(UnsafeMutableRawPointer(request))
        var error = pointee.port.queue.put(queued, until: .distantPast)
        if error == ETIMEDOUT {
            let start = Clock.now
            error = pointee.port.queue.put(queued, until: limit)
            frame.deadline = frame.deadline.postponed(since: start)
        }
        if error == 0 { return .success }
        // Nothing is sent for an answered request when it is freed: the sender gets the result of this function instead of a reply.
        request.pointee.answered.store(1, ordering: .relaxed)
        _ = request.release()
        return error == ETIMEDOUT ? .sendTimeout : error == EPIPE ? .isInvalid : .transportError
    }

    // MARK: packets

    /// Server: sends a frame with `data` as its payload, and queues what does not fit into the socket buffer. Does nothing if the connection
    /// is closed, and closes it if out of memory. Any thread; call without the mutex held. May call user code if it closes the connection.
    @inline(never)
    func send(_ frame: Frame, _ data: DataPointer?) {
        var ticket: UInt32?
        // If the peer is gone, the loop notices that after it has read what the peer sent before.
        if send(frame, data, &ticket) == .failed { close() }
    }

    /// Sends a frame, or as much of it as there is room for; the rest is then queued, and `ticket` is set. If nothing was sent, a client
    /// queues nothing and gets `full`. Any thread; call without the mutex held.
    @inline(__always)
    private func send(_ frame: Frame, _ data: DataPointer?, _ ticket: inout UInt32?) -> PacketSocket.Sent {
        let isClient = pointee.role == .client
        var outgoing = OutgoingFrame(frame, data)
        let outcome = locked { () -> PacketSocket.Sent in
            if !pointee.isOpen || has(.isEnding) { return .gone }
            // For the rest, or for the notice that it will not follow.
            if isClient && outgoing.frame.payloadLocation == .pieces && !pointee.sendQueue.reserve() { return .failed }
            var budget = PortLimits.bytesPerTurn
            let sent = pointee.sendQueue.isEmpty ? sendLocked(&outgoing, &budget) : .full
            if sent == .done || sent == .gone || isClient && !outgoing.isUnderWay { return sent }
            if sent == .full && enqueueLocked(outgoing) {
                ticket = pointee.sendQueue.ticket
                return .done
            }
            if isClient { abandonLocked() }
            return .failed
        }
        if ticket != nil || outcome == .failed { updateInterest() }
        return outcome
    }

    /// Sends a frame, and as many pieces of its payload as there is room for, but little more than `budget` bytes. Returns `full` if that is
    /// not all. The caller holds the mutex.
    @inline(never)
    func sendLocked(_ outgoing: inout OutgoingFrame, _ budget: inout Int) -> PacketSocket.Sent {
        let data = outgoing.data
        if !outgoing.isUnderWay {
            let isInline = outgoing.frame.payloadLocation == .inline
            let sent = sendPacketLocked(outgoing.frame, isInline ? data?.bytes : nil)
            if sent != .done { return sent }
            budget -= Frame.headSize
            if outgoing.frame.kind == .request {
                if pointee.ring.isOpen { pointee.ring.noteSocketRequest() } else if outgoing.frame.id != 0 { pointee.ring.counter = 0 }
            }
            if outgoing.frame.payloadLocation != .pieces { return .done }
            outgoing.sent = 0
            // So that the threads at both ends take turns less often.
            if !pointee.hasLargeBuffer { enlargeBuffer() }
        }
        guard let data else { return .failed }
        var limit = Frame.pieceLimit
        while outgoing.sent < outgoing.frame.length {
            if budget <= 0 { return .full }
            let count = Swift.min(limit, outgoing.frame.length - outgoing.sent)
            let sent = sendPacketLocked(Frame(kind: .piece, payloadLocation: .inline, length: count), data.bytes + outgoing.sent)
            if (sent == .full || sent == .failed && systemError == EMSGSIZE) && limit == Frame.pieceLimit {
                // The socket buffer may have room while the kernel has no block of memory that is large enough, or it may be smaller than
                // the piece. Try a smaller one.
                limit = Frame.inlineLimit / 4
                continue
            }
            if sent != .done { return sent }
            outgoing.sent += count
            budget -= count
            limit = Frame.pieceLimit
        }
        return .done
    }

    /// Sends one packet: the head of the frame, and then the payload, unless `bytes` is nil. Passes the descriptor `file` along unless it is
    /// -1; it stays the caller's. Neither waits nor queues. One system call, unless the packet is larger than the socket buffer, or only few
    /// such packets fit: then the buffer is enlarged. The caller holds the mutex.
    @inline(never)
    func sendPacketLocked(_ frame: Frame, _ bytes: UnsafePointer<UInt8>? = nil, passing file: Int32 = -1) -> PacketSocket.Sent {
        var head = frame.head
        let length = bytes == nil ? 0 : frame.length
        let sent = PacketSocket.send(pointee.fd, &head, Frame.headSize, bytes, length, passing: file)
        let isTooLarge = sent == .failed && systemError == EMSGSIZE
        if !isTooLarge && (sent != .full || length <= Frame.inlineLimit / 4 || pointee.hasLargeBuffer) { return sent }
        enlargeBuffer()
        return PacketSocket.send(pointee.fd, &head, Frame.headSize, bytes, length, passing: file)
    }

    /// Gives the socket room for large payloads. One system call. The caller holds the mutex.
    private func enlargeBuffer() {
        pointee.hasLargeBuffer = true
        PacketSocket.setSendBuffer(pointee.fd, PortLimits.sendBuffer)
    }
}
