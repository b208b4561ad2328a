import CLinux
import Synchronization

/// Replies that wait for room in the socket because the client does not read: a server never waits for a client. While there are any, the
/// connection watches for room and reads no further requests of that client, so there are no more of them than it has requested.
///
/// Guarded by the connection's mutex.
struct SendQueue: ~Copyable {
    /// A frame to be sent. Its file belongs to it; its data is retained only while it is in the queue.
    struct OutgoingFrame: BitwiseCopyable {
        var frame: Frame
        var data: DataPointer?
        var file: Int32

        /// Releases a frame that has been in the queue, sent or not.
        func release() {
            data?.release()
            closeFile()
        }

        /// Closes a file of the frame's own; a shared buffer stays open.
        fileprivate func closeFile() {
            if file >= 0 && frame.payloadLocation == .file { Descriptor.close(file) }
        }
    }

    fileprivate var frames = PlainList<OutgoingFrame>()

    init() {}

    /// Whether no frame waits.
    var isEmpty: Bool { frames.count == 0 }

    /// Releases all frames unsent.
    mutating func removeAll() {
        for index in 0..<frames.count { frames[index].release() }
        frames.truncate(to: 0)
    }

    /// Removes the first frames, which have been sent.
    fileprivate mutating func removeFirst(_ count: Int) {
        for index in count..<frames.count { frames[index - count] = frames[index] }
        frames.truncate(to: frames.count - count)
    }
}

extension ConnectionPointer {
    /// Sends a frame, with `data` as its payload, now or as soon as there is room. Does nothing if the connection is closed, and closes
    /// it if there is no memory. Inlined into the path of replies. Any thread, without the mutex; may call user code if it closes the
    /// connection.
    @inline(__always)
    func sendInlined(_ frame: Frame, _ data: DataPointer?) {
        if fitsInPacket(data), sendPacket(frame, data) == .done { return }
        send(frame, data)
    }

    /// `sendInlined` out of line.
    @inline(never)
    func send(_ frame: Frame, _ data: DataPointer?) {
        if fitsInPacket(data) {
            let outcome = sendPacket(frame, data)
            if outcome == .failed { return close() }
            if outcome != .full { return }
        }
        sendSlow(frame, data)
    }

    /// Whether a frame with this payload is one packet without a file.
    @inline(__always)
    func fitsInPacket(_ data: DataPointer?) -> Bool { data.map { $0.pointee.count <= Frame.inlineLimit } ?? true }

    /// Sends a frame whose payload fits into a packet. `full`: not sent, because there is no room or other frames wait. One system call.
    /// Any thread, without the mutex.
    @inline(never)
    func sendPacket(_ frame: Frame, _ data: DataPointer?) -> PacketSocket.Sent {
        let count = data?.pointee.count ?? 0
        var head = frame.head
        head.2 = (data == nil ? Frame.PayloadLocation.absent : .inline).rawValue
        head.6 = UInt64(count)
        pointee.mutex.lockInlined()
        var outcome = PacketSocket.Sent.gone
        if pointee.isOpen && pointee.sendQueue.isEmpty {
            head.3 = pointee.peerBuffer.countToReport(inReply: false)
            // Data objects have room for a header in front of their bytes. In a process of one thread nothing else reads it, so the header is
            // written there, and the kernel copies one block instead of two.
            if count >= 4096, Thread.isAlone, let data, let packet = data.head {
                packet.storeBytes(of: head, as: Frame.Head.self)
                outcome = PacketSocket.send(pointee.fd, packet, Frame.headSize + count, nil, 0, passing: -1)
            } else {
                outcome = PacketSocket.send(pointee.fd, &head, Frame.headSize, data?.bytes, count, passing: -1)
            }
            if outcome == .done { noteSent(frame) }
        } else if pointee.isOpen {
            outcome = .full
        }
        pointee.mutex.unlockInlined()
        return outcome
    }

    /// The rest of `send`: a payload in a file, or a frame that has to wait.
    @inline(never)
    private func sendSlow(_ frame: Frame, _ data: DataPointer?) {
        guard let outgoing = makeOutgoing(frame, data) else { return sendDropped(frame) }
        let outcome = locked { () -> PacketSocket.Sent in
            if !pointee.isOpen { return .gone }
            if pointee.sendQueue.isEmpty {
                let outcome = sendLocked(outgoing)
                if outcome != .full { return outcome }
            }
            var waiting = outgoing
            waiting.data = outgoing.data?.lastingCopy()
            if (waiting.data == nil) != (outgoing.data == nil) { return .failed }
            if !pointee.sendQueue.frames.append(waiting) {
                waiting.data?.release()
                return .failed
            }
            pointee.hasBacklog.store(1, ordering: .releasing)
            return .full
        }
        if outcome == .full { return updateInterest() }
        if outgoing.file >= 0 { releaseFile(of: outgoing, wasSent: outcome == .done) }
        // If the peer is gone, the loop notices that, after reading what the peer sent before.
        if outcome == .failed { close() }
    }

    /// Tells the client that a request will not be answered. A connection of a server.
    func sendDropped(_ frame: Frame) {
        var frame = frame
        frame.kind = .dropped
        send(frame, nil)
    }

    /// Gives up a request that cannot be received. A client that waits for a reply is told that there will be none. One-way requests must
    /// not be lost silently, so for one of those the connection is closed.
    func reject(_ frame: Frame) {
        if frame.id == 0 {
            disconnect(because: "is disconnected: no memory or file descriptor to receive its request")
        } else {
            sendDropped(frame)
        }
    }

    /// Puts the payload where it belongs and fills in its location. nil with errno if there is no file to be had.
    func makeOutgoing(_ frame: Frame, _ data: DataPointer?) -> SendQueue.OutgoingFrame? {
        var outgoing = SendQueue.OutgoingFrame(frame: frame, data: nil, file: -1)
        guard let data else { return outgoing }
        outgoing.frame.length = data.pointee.count
        if data.pointee.count <= Frame.inlineLimit {
            outgoing.frame.payloadLocation = .inline
            outgoing.data = data
            return outgoing
        }
        // Shared memory is written to without the mutex, while only this thread has it.
        if frame.kind == .reply, let mapping = locked({ pointee.peerBuffer.takeForReply(data.pointee.count) }) {
            mapping.write(data.bytes, data.pointee.count)
            locked { pointee.peerBuffer.keepReply(mapping) }
            outgoing.frame.payloadLocation = .returnedBuffer
            return outgoing
        }
        let isOneWay = frame.kind == .request && frame.id == 0
        let shared = locked { pointee.sharedBuffer.acquire(data.pointee.count, isOneWay: isOneWay) }
        if shared >= 0 {
            pointee.sharedBuffer.write(data.bytes, data.pointee.count)
            outgoing.frame.payloadLocation = .sharedBuffer
            outgoing.file = shared
            return outgoing
        }
        outgoing.frame.payloadLocation = .file
        outgoing.file = (try? MemoryFile.make(data.bytes, data.pointee.count)) ?? -1
        return outgoing.file >= 0 ? outgoing : nil
    }

    /// Waits for the shared buffer if it is in flight with a one-way request: that takes less time than making a file. If it does not
    /// come back within two milliseconds, later requests do not wait for it. A connection of a client; any thread, without the mutex.
    func waitForSharedBuffer(until deadline: Instant) {
        guard let threadContext = ThreadContextPointer.current else { return }
        for _ in 0..<4 {
            if !locked({ pointee.isOpen && pointee.sharedBuffer.isExpectedSoon }) { return }
            let now = Clock.now
            let time = now < deadline ? Swift.min(deadline.nanoseconds - now.nanoseconds, 500_000) : 0
            // Another thread may read the packet first.
            if !Descriptor.poll(pointee.fd, for: .readable, within: Int(time)).isEmpty {
                _ = receiveReply(on: RunLoopPointer(threadContext))
            }
        }
        locked { pointee.sharedBuffer.stopExpecting() }
    }

    /// Releases the file of a frame that was not put into the queue.
    func releaseFile(of outgoing: SendQueue.OutgoingFrame, wasSent: Bool) {
        if !wasSent && outgoing.frame.payloadLocation == .sharedBuffer { locked { pointee.sharedBuffer.cancelSend() } }
        outgoing.closeFile()
    }

    /// Sends a frame. One system call. Under the mutex.
    func sendLocked(_ outgoing: SendQueue.OutgoingFrame) -> PacketSocket.Sent {
        var frame = outgoing.frame
        let isReply = frame.payloadLocation == .returnedBuffer
        frame.buffersRead = pointee.peerBuffer.countToReport(inReply: isReply)
        var head = frame.head
        let sent = PacketSocket.send(
            pointee.fd, &head, Frame.headSize, outgoing.data?.bytes, outgoing.data?.pointee.count ?? 0, passing: outgoing.file)
        if isReply && sent == .done { pointee.peerBuffer.noteReplySent() }
        if frame.payloadLocation == .sharedBuffer && sent == .done { pointee.sharedBuffer.endUse() }
        return sent
    }

    /// Sends what waits, since the socket has room. False if nothing could be sent, because the kernel limits files in flight separately.
    /// Called by the loop, without the mutex; may call user code if it closes the connection.
    func flush() -> Bool {
        var outcome = PacketSocket.Sent.done
        var isStuck = false
        locked {
            var sent = 0
            while pointee.isOpen, outcome == .done, sent < pointee.sendQueue.frames.count {
                outcome = sendLocked(pointee.sendQueue.frames[sent])
                if outcome == .done {
                    pointee.sendQueue.frames[sent].release()
                    sent += 1
                }
            }
            isStuck = outcome == .full && sent == 0
            pointee.sendQueue.removeFirst(sent)
            // The peer is gone; what it sent before that is still to be read.
            if outcome == .gone { pointee.sendQueue.removeAll() }
            pointee.hasBacklog.store(pointee.sendQueue.isEmpty ? 0 : 1, ordering: .releasing)
        }
        if outcome == .failed { close() } else { updateInterest() }
        return !isStuck
    }

    /// Watches for room while frames wait, otherwise for packets.
    private func updateInterest() {
        guard let source = sharedSource else { return }
        // Without the connection's mutex, since this takes the lock of a loop.
        RunLoopPointer.setInterest(of: source) { pointee.hasBacklog.load(ordering: .acquiring) == 0 ? .readable : .writable }
        source.release()
    }
}
