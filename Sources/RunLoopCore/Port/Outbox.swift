import CLinux
import Synchronization

/// Frames that wait for room in a socket, of a server whose client does not read: a server never waits for a client. While
/// there are any, the wire waits to write and reads no further requests of that client, so they are as few as it has asked for.
struct Outbox: ~Copyable {
    /// A frame on its way. The file is ours; the data is retained as long as it waits.
    struct Parcel: BitwiseCopyable {
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
            if file >= 0 && frame.place == .file { PacketSocket.close(file) }
        }
    }

    fileprivate var parcels = PlainList<Parcel>()

    init() {}

    /// Under the wire's mutex.
    @inline(__always)
    var isEmpty: Bool { parcels.count == 0 }

    /// Nothing will be sent any more.
    mutating func discard() {
        for index in 0..<parcels.count { parcels[index].discard() }
        parcels.truncate(to: 0)
    }

    /// The first ones have been sent.
    fileprivate mutating func removeFirst(_ count: Int) {
        for index in count..<parcels.count { parcels[index - count] = parcels[index] }
        parcels.truncate(to: parcels.count - count)
    }
}

extension UnsafeMutablePointer where Pointee == Wire {
    /// Sends a frame, with the data if there is any, now or as soon as there is room. A wire that is cut sends nothing; one
    /// for which there is no memory is cut. Any thread.
    @inline(__always)
    func sendInline(_ frame: Frame, _ data: DataPointer?) {
        if fits(data), sendInside(frame, data) == .done { return }
        send(frame, data)
    }

    /// The same where it is seldom.
    @inline(never)
    func send(_ frame: Frame, _ data: DataPointer?) {
        if fits(data) {
            let outcome = sendInside(frame, data)
            if outcome == .failed { return close() }
            if outcome != .full { return }
        }
        sendSeldom(frame, data)
    }

    /// Whether there is nothing to send besides the packet.
    @inline(__always)
    func fits(_ data: DataPointer?) -> Bool { data.map { $0.pointee.count <= Frame.insideLimit } ?? true }

    /// Sends a frame with data that fits. `full`: not now, because there is no room, or others wait for it. One system call.
    @inline(never)
    func sendInside(_ frame: Frame, _ data: DataPointer?) -> PacketSocket.Sent {
        let count = data?.pointee.count ?? 0
        var head = frame.head
        head.2 = (data == nil ? Frame.Place.nowhere : .inside).rawValue
        head.6 = UInt64(count)
        pointee.mutex.lockInline()
        var outcome = PacketSocket.Sent.gone
        if pointee.isOpen && pointee.outbox.isEmpty {
            head.3 = pointee.borrowing.told(inAnswer: false)
            if count >= 4096, Thread.isAlone, let data, let place = data.head {
                place.storeBytes(of: head, as: Frame.Head.self)
                outcome = PacketSocket.send(pointee.fd, place, Frame.headSize + count, nil, 0, passing: -1)
            } else {
                outcome = PacketSocket.send(pointee.fd, &head, Frame.headSize, data?.bytes, count, passing: -1)
            }
            if outcome == .done { noteSent(frame) }
        } else if pointee.isOpen {
            outcome = .full
        }
        pointee.mutex.unlockInline()
        return outcome
    }

    /// The same for what does not fit, or not now.
    @inline(never)
    private func sendSeldom(_ frame: Frame, _ data: DataPointer?) {
        guard let parcel = pack(frame, data) else { return refuse(frame) }
        let outcome = locked { () -> PacketSocket.Sent in
            if !pointee.isOpen { return .gone }
            if pointee.outbox.isEmpty {
                let outcome = sendLocked(parcel)
                if outcome != .full { return outcome }
            }
            var waiting = parcel
            waiting.data = parcel.data?.lastingCopy()
            if (waiting.data == nil) != (parcel.data == nil) { return .failed }
            if !pointee.outbox.parcels.append(waiting) {
                waiting.data?.release()
                return .failed
            }
            pointee.isFull.store(1, ordering: .releasing)
            return .full
        }
        if outcome == .full { return updateInterest() }
        if parcel.file >= 0 { discard(parcel, wasSent: outcome == .done) }
        // That the other end is gone is what the loop will find out.
        if outcome == .failed { close() }
    }

    /// Who waits for an answer to this will get none.
    @inline(never)
    func refuse(_ frame: Frame) {
        var frame = frame
        frame.kind = .dropped
        send(frame, nil)
    }

    /// A request cannot be handled. Who waits for an answer hears that there is none; of what is sent one way nothing may be missing,
    /// so that ends the wire.
    @inline(never)
    func drop(_ frame: Frame) {
        if frame.id == 0 { complain("is cut off: no memory or descriptor here for what it has sent") } else { refuse(frame) }
    }

    /// Says where the data is, and puts it there. nil with errno.
    func pack(_ frame: Frame, _ data: DataPointer?) -> Outbox.Parcel? {
        var parcel = Outbox.Parcel(frame: frame, data: nil, file: -1)
        guard let data else { return parcel }
        parcel.frame.length = data.pointee.count
        if data.pointee.count <= Frame.insideLimit {
            parcel.frame.place = .inside
            parcel.data = data
            return parcel
        }
        // What is lent, or returned, is written to while only this thread has it.
        if frame.kind == .reply, let mapping = locked({ pointee.borrowing.takeForAnswer(data.pointee.count) }) {
            mapping.write(data.bytes, data.pointee.count)
            locked { pointee.borrowing.keepAnswer(mapping) }
            parcel.frame.place = .returnedFile
            return parcel
        }
        let isSoonRead = frame.kind == .request && frame.id == 0
        let lent = locked { pointee.loan.take(data.pointee.count, isSoonRead: isSoonRead) }
        if lent >= 0 {
            pointee.loan.write(data.bytes, data.pointee.count)
            parcel.frame.place = .lentFile
            parcel.file = lent
            return parcel
        }
        parcel.frame.place = .file
        parcel.file = MemoryFile.make(data.bytes, data.pointee.count)
        return parcel.file >= 0 ? parcel : nil
    }

    /// The client has lent its file, and it may come back soon: that takes less time than a file of its own for the next data. Who waits in
    /// vain does so once, for two milliseconds. Any thread.
    @inline(never)
    func awaitFile(until deadline: Instant) {
        guard let home = HomePointer.current else { return }
        for _ in 0..<4 {
            if !locked({ pointee.isOpen && pointee.loan.isExpected }) { return }
            let now = Clock.now
            let time = now < deadline ? Swift.min(deadline.nanoseconds - now.nanoseconds, 500_000) : 0
            // Another thread may take it.
            if Descriptor.look(pointee.fd, for: Events.readable.rawValue, within: Int(time)) != 0 {
                _ = receiveReply(on: RunLoopPointer(home))
            }
        }
        locked { pointee.loan.expectNothing() }
    }

    /// A parcel with a file that has not waited, sent or not.
    @inline(never)
    func discard(_ parcel: Outbox.Parcel, wasSent: Bool) {
        if !wasSent && parcel.frame.place == .lentFile { locked { pointee.loan.takeBack() } }
        parcel.close()
    }

    /// One system call. Under the mutex.
    func sendLocked(_ parcel: Outbox.Parcel) -> PacketSocket.Sent {
        var frame = parcel.frame
        let isAnswer = frame.place == .returnedFile
        frame.filesRead = pointee.borrowing.told(inAnswer: isAnswer)
        var head = frame.head
        let sent = PacketSocket.send(
            pointee.fd, &head, Frame.headSize, parcel.data?.bytes, parcel.data?.pointee.count ?? 0, passing: parcel.file)
        if isAnswer && sent == .done { pointee.borrowing.answered() }
        if frame.place == .lentFile && sent == .done { pointee.loan.endUse() }
        return sent
    }

    /// There is room: sends what waits. False if there is none, after all, since files on their way have a limit of their own.
    func drain() -> Bool {
        var outcome = PacketSocket.Sent.done
        var isStuck = false
        locked {
            var sent = 0
            while pointee.isOpen, outcome == .done, sent < pointee.outbox.parcels.count {
                outcome = sendLocked(pointee.outbox.parcels[sent])
                if outcome == .done {
                    pointee.outbox.parcels[sent].discard()
                    sent += 1
                }
            }
            isStuck = outcome == .full && sent == 0
            pointee.outbox.removeFirst(sent)
            // What the other end has sent before it went is still to be read.
            if outcome == .gone { pointee.outbox.discard() }
            pointee.isFull.store(pointee.outbox.isEmpty ? 0 : 1, ordering: .releasing)
        }
        if outcome == .failed { close() } else { updateInterest() }
        return !isStuck
    }

    /// The loops watch for room, or for requests.
    private func updateInterest() {
        guard let source = sharedSource else { return }
        // Not under the wire's mutex: that of a loop is held here.
        RunLoopPointer.setInterest(of: source) { pointee.isFull.load(ordering: .acquiring) == 0 ? .readable : .writable }
        source.giveBack()
    }
}
