import CLinux
import CRunLoop
import Synchronization

// What a connection does when its descriptor is ready: a listener accepts clients, a server receives requests, a client receives replies.

/// A packet, or an entry of the ring, that a connection has received.
struct ReceivedPacket: BitwiseCopyable {
    /// Initially of a kind that no server receives: in `ReceivedAhead`, that stands for a packet that violates the protocol, after which
    /// nothing is received.
    var frame = Frame(kind: .dropped)
    /// The payload, with a reference for the receiver; nil also if there was no memory for it.
    var data: DataPointer?

    /// How many bytes of memory the payload takes.
    var length: Int { data?.pointee.capacity ?? 0 }
}

/// What a thread needs to receive from a connection, and what it has received.
struct Reception: BitwiseCopyable {
    /// The calling thread's context.
    let threadContext: ThreadContextPointer
    /// Whether the packet goes to `ahead` rather than to the caller.
    var isAhead = false
    /// How many more bytes may be received before other connections have their turn.
    var budget = PortLimits.bytesPerTurn
    var packet = ReceivedPacket()
    /// Client: whether the packet has completed a request that the calling thread waits for.
    var isAwaited = false
    /// Whether the ring had another entry when one was taken from it. A nested run may have taken that meanwhile.
    var hasNextEntry = false
}

extension ConnectionPointer {
    /// Handles the `ready` events of the socket: sends queued frames, then accepts or receives. Loop thread only; call without a lock held.
    /// Calls user code.
    func handleEvents(_ ready: UInt16) -> DispatchResult {
        guard let threadContext = ThreadContextPointer.current else { return .unwanted }
        let loop = RunLoopPointer(threadContext)
        let ready = Events(rawValue: ready)
        if ready.contains(.writable) && !flush() { return .retryLater }
        if ready.contains(.onlyHangUp) { noteHangUp() }
        if !ready.contains(.readable) && !has(.hasAhead) { return .unwanted }
        return switch pointee.role {
        case .listener: accept()
        case .server: receiveRequests(on: loop)
        case .client: receiveReply(on: loop) ? .handled : .unwanted
        case .inProcess: .unwanted
        }
    }

    /// Accepts one client. Before that, disconnects clients that have been silent for too long. If there is no descriptor for the new
    /// client, disconnects the client that has been silent longest, or, if there are no silent ones, one that is gone and whose requests
    /// wait for others to be answered, and accepts the new one the next time. Any thread that has a loop; call without a lock held. May call
    /// user code if it disconnects a client.
    func accept() -> DispatchResult {
        let now = Clock.now.nanoseconds
        while SilentClients.disconnectFirst(acceptedBefore: Instant(nanoseconds: now - PortLimits.greeting)) {}
        var isStuck = false
        let accepted = PortRegistry.acceptMutex.locked { () -> ConnectionPointer? in
            let fd = locked { () -> Int32? in
                if !pointee.isOpen { return nil }
                do throws(SystemError) { return try PacketSocket.accept(pointee.fd) } catch { isStuck = error.isShortage }
                return nil
            }
            return fd.flatMap { ConnectionPointer.make(.server, $0, pointee.port) }
        }
        if let connection = accepted {
            pointee.port.watch(connection)
            connection.release()
        }
        if !isStuck { return .unwanted }
        // Without a free descriptor, accept(2) fails whether a client is waiting or not.
        if !isPacketHere { return .retryLater }
        let hasRoom =
            SilentClients.disconnectFirst(acceptedBefore: Instant(nanoseconds: now - PortLimits.shortGreeting))
            || SilentClients.isEmpty && MessagePortPointer.disconnectHungUp()
        return hasRoom ? .unwanted : .retryLater
    }

    /// Receives requests and handles them. A client that sends one-way requests often sends several, so the next one is received without a
    /// pass of the loop, up to a limit, as long as no client can observe that. Loop thread only; calls the port's callback.
    private func receiveRequests(on loop: RunLoopPointer) -> DispatchResult {
        var count = 0
        var reception = Reception(threadContext: loop.threadContext)
        var wantsReply = false
        while receiveRequest(&reception) {
            count += 1
            wantsReply = reception.packet.frame.id != 0
            if wantsReply || count >= PortLimits.requestsPerTurn || reception.budget <= 0 || has([.hasBacklog, .isFull]) { break }
            guard let source = loop.dispatchedSource, loop.mayContinue(source) else { break }
        }
        if count == 0 && has(.isFull) { updateInterest() }
        if count == 0 { return .unwanted }
        return reception.hasNextEntry ? .handledOneOfSeveral : .handled
    }

    /// Receives one packet, one ring entry or pieces of a large request, or takes what was received ahead, and handles it. Returns true if
    /// a request was complete. Loop thread only; calls user code.
    @inline(__always)
    private func receiveRequest(_ reception: inout Reception) -> Bool {
        let progress = has(.hasAhead) && takeAhead(&reception) ? .complete : receive(&reception)
        if progress != .complete { return handleIncomplete(progress) }
        let packet = reception.packet
        if packet.frame.kind == .hello {
            SilentClients.remove(self)
            let isOwnName = pointee.port.isNamed(packet.data)
            packet.data?.release()
            if !isOwnName { close() }
            return false
        }
        if packet.frame.kind != .request { return handleIncomplete(.violation) }
        guard let data = packet.data, let request = RequestPointer.make(packet.frame, data, from: self) else {
            packet.data?.release()
            // No memory. A client that waits is notified that there will be no reply; a one-way request must not be lost silently.
            if packet.frame.id != 0 {
                send(Frame(kind: .dropped, id: packet.frame.id), nil)
            } else {
                disconnect(because: "was disconnected: no memory or file descriptor left to receive its request")
            }
            return false
        }
        pointee.port.deliver(request, on: RunLoopPointer(reception.threadContext))
        return true
    }

    /// Receives one packet from the server, or pieces of a large reply. Returns true if that completed a request that the calling thread
    /// waits for. The thread of `loop` only; call without a lock held. May call user code if the connection ends.
    func receiveReply(on loop: RunLoopPointer) -> Bool {
        var reception = Reception(threadContext: loop.threadContext)
        let progress = receive(&reception)
        return progress == .complete ? reception.isAwaited : handleIncomplete(progress)
    }

    /// Client: completes the request to which a packet is the answer. The caller has received the packet under the port's mutex and still
    /// holds it: otherwise another thread that finds no more packets could invalidate the port, and so the request, in between.
    @inline(__always)
    private func completeLocked(_ reception: inout Reception) {
        let packet = reception.packet
        let isKept = packet.data != nil || packet.frame.payloadLocation == .absent
        let result: RequestResult = packet.frame.kind == .reply && isKept ? .success : .transportError
        reception.isAwaited = pointee.port.completeLocked(packet.frame.id, result, packet.data)
    }

    /// Client: receives what a server that is gone has left in the socket. Returns whether that violates the protocol. Any thread; call
    /// without a lock held. Calls no user code.
    @inline(never)
    func receiveLastReplies() -> Bool {
        guard pointee.role == .client, let threadContext = ThreadContextPointer.current else { return false }
        // A server that only looks as if it were gone may send more meanwhile.
        let deadline = Clock.now.advanced(by: PortLimits.lastReply)
        while Clock.now < deadline {
            var reception = Reception(threadContext: threadContext)
            switch receive(&reception) {
            case .complete, .part: break
            // Another thread may have closed the connection, or be about to.
            case .nothing: if locked({ !pointee.isOpen || has(.isViolated) || !isPacketHere }) { return false }
            case .closed: return false
            case .violation: return true
            }
        }
        return false
    }

    /// What an attempt to receive has brought.
    enum Progress {
        /// A frame with its whole payload.
        case complete
        /// A part of a large payload; or nothing, because memory has to be reserved or released first.
        case part
        /// Nothing that concerns the caller of `receive`.
        case nothing
        /// The peer has closed the connection.
        case closed
        /// The peer has violated the protocol, or descriptors that it has passed on another connection are still being closed. In the latter
        /// case nothing was read, because it might bring more of them.
        case violation
    }

    /// Receives the next ring entry or packet into `reception.packet`, or pieces of a large payload until it is complete or the budget is
    /// used up. A reply also completes its request. Any thread; call without a lock held. Calls no user code.
    func receive(_ reception: inout Reception) -> Progress {
        let isClient = pointee.role == .client
        // Other threads may send between two pieces.
        while true {
            guard let buffer = DataPointer.receivingMemory(reception.threadContext) else { return .nothing }
            var passed: Int32 = -1
            if isClient { pointee.port.pointee.mutex.lock() }
            pointee.mutex.lock()
            let progress = mayReceive(reception.isAhead) ? takeNext(buffer, &passed, &reception) : .nothing
            let isReserved = isReservedLocked
            if progress == .violation { set(.isViolated, to: .isViolated) }
            if reception.isAhead { keepAheadLocked(progress, reception.packet) }
            pointee.mutex.unlock()
            if isClient {
                if progress == .complete { completeLocked(&reception) }
                pointee.port.pointee.mutex.unlock()
            }
            let mayContinue = isReserved || updateReservation()
            if passed >= 0 {
                // Either a descriptor that the peer must not send, or the file of a ring, which has been mapped.
                if progress == .violation { PacketSocket.closeApart(passed, from: pointee.sender) } else { Descriptor.close(passed) }
            }
            if progress != .part || reception.budget <= 0 || !mayContinue { return progress }
        }
    }

    /// Takes one packet, which may be a piece, or one ring entry. The caller holds the mutex and, at a client, that of the port.
    @inline(__always)
    private func takeNext(_ buffer: UnsafeMutableRawPointer, _ passed: inout Int32, _ reception: inout Reception) -> Progress {
        if !isReservedLocked { return .part }
        var room: UnsafeMutableRawBufferPointer?
        var size = Frame.headSize
        let sender = pointee.acceptsDescriptors ? pointee.sender : nil
        if let sender, PacketSocket.isClosing(from: sender) { return .violation }
        if pointee.incoming.isUnderWay {
            room = pointee.incoming.room()
        } else {
            if pointee.role == .server && pointee.ring.isOpen, let progress = takeFromRing(buffer, &reception) { return progress }
            size += Frame.inlineLimit
        }
        let received = PacketSocket.receive(pointee.fd, buffer, size, room, acceptingDescriptorsFrom: sender)
        passed = received.passed
        guard received.kind == .packet else { return received.kind == .end ? .closed : .nothing }
        let head = buffer.load(as: Frame.Head.self)
        // A packet that is shorter than a header leaves older bytes in the buffer, so `parse` tests the size first.
        guard let frame = Frame.parse(head, size: received.size, hasFile: received.hasFile, receiver: receiver),
            noteReceived(frame, passed)
        else { return .violation }
        reception.packet = ReceivedPacket(frame: frame)
        switch frame.payloadLocation {
        case .absent: return frame.kind == .reply || frame.kind == .dropped ? .complete : .nothing
        case .inline where frame.kind == .piece:
            // A small piece costs a system call, too.
            reception.budget -= Swift.max(frame.length, 4096)
            guard let (frame, data) = pointee.incoming.finish() else { return .part }
            reception.packet = ReceivedPacket(frame: frame, data: data)
            return .complete
        case .inline:
            reception.budget -= frame.length
            reception.packet.data = DataPointer.createReceived(buffer + Frame.headSize, count: frame.length, reception.threadContext)
            return .complete
        case .pieces:
            if pointee.role == .client && pointee.port.pending(frame.id) == nil { pointee.incoming.removeBytes() }
            return .part
        case .file: return .nothing
        }
    }

    /// Updates the connection for a frame that arrived through the socket, perhaps with a descriptor. Returns false if the frame violates the
    /// protocol. The caller holds the mutex.
    @inline(__always)
    func noteReceived(_ frame: Frame, _ passed: Int32) -> Bool {
        // Only frames without a payload may arrive between the pieces of a payload.
        let hasPayload = frame.payloadLocation == .inline || frame.payloadLocation == .pieces
        if pointee.incoming.isUnderWay && hasPayload && frame.kind != .piece { return false }
        if frame.payloadLocation == .pieces { pointee.incoming.begin(frame) }
        switch frame.kind {
        case .hello: pointee.handshakeDone = true
        case .request:
            if pointee.ring.isOpen { pointee.ring.noteSocketRequest() } else if frame.payloadLocation == .inline { noteOneWay(frame) }
        case .doorbell: return pointee.ring.isOpen
        case .ring where pointee.role == .server: return pointee.ring.open()
        case .ring:
            if passed == linux_passed_refused { break }
            return passed >= 0 && pointee.ring.map(passed)
        // Also false if no payload is under way.
        case .piece: return pointee.incoming.add(frame.length)
        case .abandoned: pointee.incoming.reset()
        case .reply, .dropped: break
        }
        return true
    }

    /// Whether the connection may receive now. While it `isFull` or `isViolated`, it may not. A loop must also wait until all packets
    /// received ahead are delivered, since otherwise the order of requests would change; and at a server, until no reply is queued. The
    /// loops that serve a port update what they watch one after the other, so one of them may still get here. The caller holds the mutex.
    @inline(__always)
    private func mayReceive(_ isAhead: Bool) -> Bool {
        if !pointee.isOpen || has([.isFull, .isViolated]) { return false }
        if isAhead { return pointee.ahead.hasRoom(toFinish: pointee.incoming.isUnderWay) }
        return !has(.hasAhead) && (pointee.role == .client || pointee.sendQueue.isEmpty)
    }

    /// Whether memory is reserved for the payload under way, and none if there is none. Always true at a client. The caller holds the mutex.
    private var isReservedLocked: Bool { pointee.role == .client || has(.hasMemory) == pointee.incoming.isUnderWay }

    /// What this end of the connection may receive, for `Frame.parse`. The caller holds the mutex.
    private var receiver: Frame.Receiver { pointee.role == .client ? .client : pointee.handshakeDone ? .server : .newServer }

    /// Handles progress other than `complete`: ends the connection after `closed` and `violation`, otherwise does nothing. Always returns
    /// false, for callers to return. Call without a lock held; may call user code.
    @inline(never)
    private func handleIncomplete(_ progress: Progress) -> Bool {
        if progress == .closed { handlePeerClosed() }
        if progress == .violation { disconnect(because: Self.invalidPacket) }
        return false
    }

    /// Handles a peer that is gone: invalidates the port of a client; closes the connection of a server. Calls user code.
    private func handlePeerClosed() { if pointee.role == .client { pointee.port.base.invalidate() } else { close() } }

    /// Ends the connection as if the peer were gone, and then prints one line, which begins with "process 123" and ends with `reason`: not
    /// before, since the error handler may run the loop. Other connections are not affected. Call without a lock held; calls user code.
    @inline(never)
    func disconnect(because reason: Name) {
        let process = pointee.credentials.process
        handlePeerClosed()
        Self.warn(about: process, reason)
    }

    /// What is printed after a violation of the protocol.
    static var invalidPacket: Name { "was disconnected because it sent an invalid packet" }

    /// Prints the line. Any thread; call without a lock held. Calls the error handler.
    @inline(never)
    static func warn(about process: Int32, _ reason: Name) { Misuse.warn("RLMessagePort", "process", Int(process), reason) }
}
