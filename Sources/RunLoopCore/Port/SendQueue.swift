import CLinux
import Synchronization

/// Frames that wait for room in a socket, of a server whose client does not read: a server never waits for a client. While
/// there are any, the connection waits to write and reads no further requests of that client, so they are as few as it has asked for.
struct SendQueue: ~Copyable {
    /// A frame on its way. The file is ours; the data is retained as long as it waits.
    struct OutgoingFrame: BitwiseCopyable {
        var frame: Frame
        var data: DataPointer?
        var file: Int32

        /// It has waited, and was sent, or never will be.
        func discard() {
            data?.release()
            close()
        }

        /// It was sent, or never will be.
        fileprivate func close() {
            if file >= 0 && frame.payloadLocation == .file { PacketSocket.close(file) }
        }
    }

    fileprivate var frames = PlainList<OutgoingFrame>()

    init() {}

    /// Under the connection's mutex.
    @inline(__always)
    var isEmpty: Bool { frames.count == 0 }

    /// Nothing will be sent any more.
    mutating func discard() {
        for index in 0..<frames.count { frames[index].discard() }
        frames.truncate(to: 0)
    }

    /// The first ones have been sent.
    fileprivate mutating func removeFirst(_ count: Int) {
        for index in count..<frames.count { frames[index - count] = frames[index] }
        frames.truncate(to: frames.count - count)
    }
}

extension UnsafeMutablePointer where Pointee == Connection {
    /// Sends a frame, with the data if there is any, now or as soon as there is room. A connection that is cut sends nothing; one
    /// for which there is no memory is cut. Any thread.
    @inline(__always)
    func sendInlined(_ frame: Frame, _ data: DataPointer?) {
        if fitsInPacket(data), sendPacket(frame, data) == .done { return }
        send(frame, data)
    }

    /// The same where it is seldom.
    @inline(never)
    func send(_ frame: Frame, _ data: DataPointer?) {
        if fitsInPacket(data) {
            let outcome = sendPacket(frame, data)
            if outcome == .failed { return close() }
            if outcome != .full { return }
        }
        sendSlow(frame, data)
    }

    /// Whether there is nothing to send besides the packet.
    @inline(__always)
    func fitsInPacket(_ data: DataPointer?) -> Bool { data.map { $0.pointee.count <= Frame.inlineLimit } ?? true }

    /// Sends a frame with data that fits into a packet. `full`: not now, because there is no room, or others wait for it. One system call.
    @inline(never)
    func sendPacket(_ frame: Frame, _ data: DataPointer?) -> PacketSocket.Sent {
        let count = data?.pointee.count ?? 0
        var head = frame.head
        head.2 = (data == nil ? Frame.PayloadLocation.absent : .inline).rawValue
        head.6 = UInt64(count)
        pointee.mutex.lockInlined()
        var outcome = PacketSocket.Sent.gone
        if pointee.isOpen && pointee.sendQueue.isEmpty {
            head.3 = pointee.peerBuffer.told(inAnswer: false)
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

    /// The same for what does not fit, or not now.
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
        if outgoing.file >= 0 { discard(outgoing, wasSent: outcome == .done) }
        // That the other end is gone is what the loop will find out.
        if outcome == .failed { close() }
    }

    /// Who waits for an answer to this will get none.
    @inline(never)
    func sendDropped(_ frame: Frame) {
        var frame = frame
        frame.kind = .dropped
        send(frame, nil)
    }

    /// A request cannot be handled. Who waits for an answer hears that there is none; of what is sent one way nothing may be missing,
    /// so that ends the connection.
    @inline(never)
    func drop(_ frame: Frame) {
        if frame.id == 0 {
            disconnect(because: "is disconnected: no memory or descriptor here for what it has sent")
        } else {
            sendDropped(frame)
        }
    }

    /// Says where the data is, and puts it there. nil with errno.
    func makeOutgoing(_ frame: Frame, _ data: DataPointer?) -> SendQueue.OutgoingFrame? {
        var outgoing = SendQueue.OutgoingFrame(frame: frame, data: nil, file: -1)
        guard let data else { return outgoing }
        outgoing.frame.length = data.pointee.count
        if data.pointee.count <= Frame.inlineLimit {
            outgoing.frame.payloadLocation = .inline
            outgoing.data = data
            return outgoing
        }
        // What is lent, or returned, is written to while only this thread has it.
        if frame.kind == .reply, let mapping = locked({ pointee.peerBuffer.takeForReply(data.pointee.count) }) {
            mapping.write(data.bytes, data.pointee.count)
            locked { pointee.peerBuffer.keepReply(mapping) }
            outgoing.frame.payloadLocation = .returnedBuffer
            return outgoing
        }
        let isOneWay = frame.kind == .request && frame.id == 0
        let lent = locked { pointee.sharedBuffer.take(data.pointee.count, isOneWay: isOneWay) }
        if lent >= 0 {
            pointee.sharedBuffer.write(data.bytes, data.pointee.count)
            outgoing.frame.payloadLocation = .sharedBuffer
            outgoing.file = lent
            return outgoing
        }
        outgoing.frame.payloadLocation = .file
        outgoing.file = MemoryFile.make(data.bytes, data.pointee.count)
        return outgoing.file >= 0 ? outgoing : nil
    }

    /// The client has lent its file, and it may come back soon: that takes less time than a file of its own for the next data. Who waits in
    /// vain does so once, for two milliseconds. Any thread.
    @inline(never)
    func waitForSharedBuffer(until deadline: Instant) {
        guard let home = HomePointer.current else { return }
        for _ in 0..<4 {
            if !locked({ pointee.isOpen && pointee.sharedBuffer.isExpected }) { return }
            let now = Clock.now
            let time = now < deadline ? Swift.min(deadline.nanoseconds - now.nanoseconds, 500_000) : 0
            // Another thread may take it.
            if Descriptor.look(pointee.fd, for: Events.readable.rawValue, within: Int(time)) != 0 {
                _ = receiveReply(on: RunLoopPointer(home))
            }
        }
        locked { pointee.sharedBuffer.expectNothing() }
    }

    /// An outgoing frame with a file that has not waited, sent or not.
    @inline(never)
    func discard(_ outgoing: SendQueue.OutgoingFrame, wasSent: Bool) {
        if !wasSent && outgoing.frame.payloadLocation == .sharedBuffer { locked { pointee.sharedBuffer.takeBack() } }
        outgoing.close()
    }

    /// One system call. Under the mutex.
    func sendLocked(_ outgoing: SendQueue.OutgoingFrame) -> PacketSocket.Sent {
        var frame = outgoing.frame
        let isAnswer = frame.payloadLocation == .returnedBuffer
        frame.buffersRead = pointee.peerBuffer.told(inAnswer: isAnswer)
        var head = frame.head
        let sent = PacketSocket.send(
            pointee.fd, &head, Frame.headSize, outgoing.data?.bytes, outgoing.data?.pointee.count ?? 0, passing: outgoing.file)
        if isAnswer && sent == .done { pointee.peerBuffer.answered() }
        if frame.payloadLocation == .sharedBuffer && sent == .done { pointee.sharedBuffer.endUse() }
        return sent
    }

    /// There is room: sends what waits. False if there is none, after all, since files on their way have a limit of their own.
    func flush() -> Bool {
        var outcome = PacketSocket.Sent.done
        var isStuck = false
        locked {
            var sent = 0
            while pointee.isOpen, outcome == .done, sent < pointee.sendQueue.frames.count {
                outcome = sendLocked(pointee.sendQueue.frames[sent])
                if outcome == .done {
                    pointee.sendQueue.frames[sent].discard()
                    sent += 1
                }
            }
            isStuck = outcome == .full && sent == 0
            pointee.sendQueue.removeFirst(sent)
            // What the other end has sent before it went is still to be read.
            if outcome == .gone { pointee.sendQueue.discard() }
            pointee.hasBacklog.store(pointee.sendQueue.isEmpty ? 0 : 1, ordering: .releasing)
        }
        if outcome == .failed { close() } else { updateInterest() }
        return !isStuck
    }

    /// The loops watch for room, or for requests.
    private func updateInterest() {
        guard let source = sharedSource else { return }
        // Not under the connection's mutex: that of a loop is held here.
        RunLoopPointer.setInterest(of: source) { pointee.hasBacklog.load(ordering: .acquiring) == 0 ? .readable : .writable }
        source.giveBack()
    }
}
