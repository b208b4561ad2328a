import CLinux
import CRunLoop
import Synchronization

// What a connection does when its descriptor is ready: a listener accepts clients, a server receives requests, a client receives replies.

extension ConnectionPointer {
    /// Handles the `ready` events of the socket: sends queued frames, then accepts or receives. Loop thread only; call without a lock held.
    /// Calls user code.
    func handleEvents(_ ready: UInt16) -> DispatchResult {
        guard let threadContext = ThreadContextPointer.current else { return .unwanted }
        let loop = RunLoopPointer(threadContext)
        // First, since the port's callback may take long.
        if has(.waitsForMemory) { MessagePortPointer.lookForMemory() }
        let ready = Events(rawValue: ready)
        if ready.contains(.writable) && !flush() { return .tryLater }
        if ready.contains(.onlyHangUp) { noteHangUp() }
        if !ready.contains(.readable) && !mayDeliverAhead { return .unwanted }
        return switch pointee.role {
        case .listener: accept()
        case .server: receiveRequests(on: loop)
        case .client: receiveReply(on: loop) ? .handled : .unwanted
        case .inProcess: .unwanted
        }
    }

    /// Accepts one client. Before that, disconnects clients that have been silent for too long. If there is no descriptor for the new
    /// client, disconnects the client that has been silent longest, and accepts the new one the next time. Any thread that has a loop; call
    /// without a lock held. Calls no user code.
    func accept() -> DispatchResult {
        let overdue = Instant(nanoseconds: Clock.now.nanoseconds - PortLimits.greeting)
        while SilentClients.disconnectFirst(acceptedBefore: overdue) {}
        var isStuck = false
        let accepted = PortRegistry.withoutFork { () -> ConnectionPointer? in
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
        let isWanted = !Descriptor.poll(pointee.fd, for: .readable).isEmpty
        return isWanted && SilentClients.disconnectFirst(acceptedBefore: .never) ? .unwanted : .tryLater
    }

    /// Receives requests and handles them. A client that sends one-way requests often sends several, so the next one is received without a
    /// pass of the loop, up to a limit, as long as no client can observe that. Loop thread only; calls the port's callback.
    private func receiveRequests(on loop: RunLoopPointer) -> DispatchResult {
        var count = 0
        var budget = PortLimits.bytesPerTurn
        var wantsReply = false
        while receiveRequest(on: loop, &wantsReply, &budget) {
            count += 1
            if wantsReply || count >= PortLimits.requestsPerTurn || budget <= 0 || has([.hasBacklog, .isFull]) { break }
            guard let source = loop.dispatchedSource, loop.mayContinue(source) else { break }
        }
        if count == 0 && has(.isFull) { updateInterest() }
        // A client that waits for its reply seldom has sent more.
        if count > 0 && !wantsReply && locked({ pointee.ring.isOpen && pointee.ring.hasEntry }) { loop.expectMore() }
        return count > 0 ? .handled : has(.looksForMemory) ? .tryLater : .unwanted
    }

    /// Receives one packet, or takes one that was received ahead, and handles it. Returns true if it was a request; `wantsReply` then says
    /// whether the client waits for a reply. Loop thread only; calls user code.
    @inline(__always)
    private func receiveRequest(on loop: RunLoopPointer, _ wantsReply: inout Bool, _ budget: inout Int) -> Bool {
        var packet = ReceivedPacket()
        if !takeAhead(&packet, &budget) && !receive(loop.threadContext, &packet, &budget, isAhead: false) || packet.ending != .none {
            return end(packet)
        }
        wantsReply = packet.frame.id != 0
        if packet.frame.kind == .hello {
            SilentClients.remove(self)
            let isOwnName = pointee.port.isNamed(packet.data)
            packet.data?.release()
            if !isOwnName { close() }
            return false
        }
        if packet.frame.kind != .request { return false }
        guard let data = packet.data, let request = RequestPointer.make(packet.frame, data, from: self) else {
            packet.data?.release()
            reject(packet.frame)
            return false
        }
        pointee.port.handle(request)
        return true
    }

    /// Receives one packet from the server. Returns true if it completed a request that the calling thread waits for. The thread of `loop`
    /// only; call without a lock held. May call user code if the connection ends.
    func receiveReply(on loop: RunLoopPointer) -> Bool {
        var packet = ReceivedPacket()
        var budget = PortLimits.bytesPerTurn
        if !receive(loop.threadContext, &packet, &budget, isAhead: false) { return end(packet) }
        let hasPayload = packet.data != nil || packet.frame.payloadLocation == .absent
        let result: RequestResult = packet.frame.kind == .reply && hasPayload ? .success : .transportError
        return pointee.port.complete(packet.frame.id, result, packet.data)
    }

    /// Receives the next ring entry or packet, or pieces of a large payload until it is complete or `budget` bytes were received. Returns
    /// false if nothing is complete yet, or if nothing will follow for the reason in `packet.ending`. `isAhead`: the packet is for `ahead`,
    /// and the call is between the `begin` and the `finish` of that. Any thread; call without a lock held. Calls no user code.
    func receive(_ threadContext: ThreadContextPointer, _ packet: inout ReceivedPacket, _ budget: inout Int, isAhead: Bool) -> Bool {
        guard let buffer = DataPointer.receivingMemory(threadContext) else { return false }
        pointee.mutex.lockInlined()
        if !mayReceive(isAhead) {
            unlock()
            return false
        }
        let isServer = pointee.role == .server
        if isServer && pointee.ring.isOpen {
            var frame: Frame?
            if let entry = takeFromRing(buffer, &frame) {
                return finishReceiving(entry, frame, buffer, threadContext, &packet, &budget, isAhead, isEntry: true)
            }
        }
        if pointee.incoming.isUnderWay { return receivePieces(buffer, threadContext, &packet, &budget, isAhead) }
        let received = PacketSocket.receive(
            pointee.fd, buffer, Frame.headSize + Frame.inlineLimit, nil, mayHold: pointee.mayHoldDescriptors)
        // A packet that is shorter than a header leaves older bytes in the buffer, so the size is tested first.
        let head = buffer.load(as: Frame.Head.self)
        if received.attachment == .none, Frame.isCommonCase(head, size: received.size, isServer ? .request : .reply),
            !isServer || (pointee.handshakeDone && !pointee.ring.isOpen)
        {
            if isServer { pointee.ring.counter = 0 }
            pointee.mutex.unlockInlined()
            packet.frame.kind = isServer ? .request : .reply
            packet.frame.payloadLocation = .inline
            packet.frame.id = head.4
            packet.frame.message = head.5
            packet.frame.deadline = Instant(nanoseconds: head.7)
            packet.data = DataPointer.createReceived(buffer + Frame.headSize, count: Int(head.6), threadContext)
            return true
        }
        let frame = Frame.parse(head, size: received.size, hasFile: received.attachment != .none, receiver: receiver)
        return finishReceiving(received, frame, buffer, threadContext, &packet, &budget, isAhead, isEntry: false)
    }

    /// Whether the connection may receive now. While it `isFull`, it may not. A loop must also wait until no thread receives ahead and all
    /// packets received ahead are delivered, since otherwise the order of requests would change; and at a server, until no reply is queued.
    /// The loops that serve a port update what they watch one after the other, so one of them may still get here. The caller holds the
    /// mutex.
    @inline(__always)
    private func mayReceive(_ isAhead: Bool) -> Bool {
        if isAhead { return pointee.isOpen && !has(.isFull) }
        return pointee.isOpen && !has([.isFull, .hasAhead, .receivesAhead]) && (pointee.role == .client || pointee.sendQueue.isEmpty)
    }

    /// The end that this connection is to `Frame.parse`. The caller holds the mutex.
    private var receiver: Frame.Receiver { pointee.role == .client ? .client : pointee.handshakeDone ? .server : .newServer }

    /// Receives pieces of the payload under way, and frames without a payload between them. The caller holds the mutex; returns without it.
    private func receivePieces(
        _ buffer: UnsafeMutableRawPointer, _ threadContext: ThreadContextPointer, _ packet: inout ReceivedPacket, _ budget: inout Int,
        _ isAhead: Bool
    ) -> Bool {
        while mayReceive(isAhead) && pointee.incoming.isUnderWay {
            if has(.waitsForMemory) || !pointee.incoming.makeRoom() {
                packet.ending = .full
                break
            }
            let received = PacketSocket.receive(
                pointee.fd, buffer, Frame.headSize, pointee.incoming.room, mayHold: pointee.mayHoldDescriptors)
            var frame = Frame.parse(
                buffer.load(as: Frame.Head.self), size: received.size, hasFile: received.attachment != .none, receiver: receiver)
            if received.kind != .packet || frame?.kind != .piece {
                if frame?.payloadLocation == .inline || frame?.payloadLocation == .pieces { frame = nil }
                return finishReceiving(received, frame, buffer, threadContext, &packet, &budget, isAhead, isEntry: false)
            }
            let length = frame?.length ?? 0
            if !pointee.incoming.add(length) {
                unlock()
                packet.ending = .violation
                return false
            }
            // A small piece costs a system call, too.
            budget -= Swift.max(length, 4096)
            if pointee.incoming.isComplete, let (frame, data) = pointee.incoming.finish() {
                if pointee.role == .server && pointee.ring.isOpen { pointee.ring.noteSocketRequest() }
                unlock()
                packet.frame = frame
                packet.data = data
                return true
            }
            if budget <= 0 { break }
            // Lets other threads send in between.
            unlock()
            lock()
        }
        unlock()
        return false
    }

    /// The rest of `receive`, for ring entries and for all packets but the most frequent. The caller holds the mutex; returns without it.
    private func finishReceiving(
        _ received: PacketSocket.Received, _ parsed: Frame?, _ buffer: UnsafeMutableRawPointer, _ threadContext: ThreadContextPointer,
        _ packet: inout ReceivedPacket, _ budget: inout Int, _ isAhead: Bool, isEntry: Bool
    ) -> Bool {
        if received.kind != .packet {
            unlock()
            received.attachment.close()
            if received.kind == .end { packet.ending = .closed }
            return false
        }
        var frame = parsed
        if !isEntry, let some = frame, !noteReceived(some, received.attachment.descriptor) { frame = nil }
        guard let frame, received.attachment != .several else {
            unlock()
            received.attachment.close()
            packet.ending = .violation
            return false
        }
        if frame.kind == .hello { pointee.handshakeDone = true }
        if frame.kind == .abandoned { pointee.incoming.reset() }
        if frame.payloadLocation == .pieces { pointee.incoming.begin(frame) }
        unlock()
        packet.frame = frame
        switch frame.payloadLocation {
        case .absent: return frame.kind == .reply || frame.kind == .dropped
        case .inline: packet.data = DataPointer.createReceived(buffer + Frame.headSize, count: frame.length, threadContext)
        case .pieces:
            if pointee.role == .client && !pointee.port.isAwaiting(frame.id) { locked { pointee.incoming.skip(frame.id) } }
            lock()
            return receivePieces(buffer, threadContext, &packet, &budget, isAhead)
        case .file:
            if received.attachment.descriptor >= 0 { Descriptor.close(received.attachment.descriptor) }
            return false
        }
        return true
    }

    /// Acts on `packet.ending`: ends the connection after `closed` and `violation`, waits for memory after `full`. Always returns false,
    /// for callers to return. Call without a lock held; may call user code.
    @inline(never)
    private func end(_ packet: ReceivedPacket) -> Bool {
        if packet.ending == .closed { handlePeerClosed() }
        if packet.ending == .full { waitForMemory() }
        if packet.ending == .violation { disconnect(because: "was disconnected because it sent an invalid packet") }
        return false
    }

    /// Handles a peer that is gone: invalidates the port of a client; closes the connection of a server. Calls user code.
    private func handlePeerClosed() { if pointee.role == .client { pointee.port.invalidate() } else { close() } }

    /// Prints one line, which begins with "process 123" and ends with `reason`, and then ends the connection as if the peer were gone.
    /// Other connections are not affected. Call without a lock held; calls user code.
    @inline(never)
    func disconnect(because reason: Name) {
        Misuse.warn("RLMessagePort", "process", Int(pointee.credentials.process), reason)
        handlePeerClosed()
    }
}
