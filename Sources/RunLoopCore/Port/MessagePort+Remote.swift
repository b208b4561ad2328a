import CLinux
import CRunLoop
import Synchronization

// A remote port that is connected: requests go out, replies come in, and somebody waits for them.

extension UnsafeMutablePointer where Pointee == MessagePortStorage {
    /// RLMessagePortSendRequest without a reply where that takes no time: nil if it may take some, and nothing was sent. Any thread.
    @inline(never)
    func sendAtOnce(_ message: Int32, _ data: DataPointer?) -> RequestResult? {
        // The connection lives as long as it is the port's.
        let result = conclude(locked { pointee.connection?.putAtOnce(message, data) ?? .failed })
        if result == .isInvalid { invalidate() }
        return result
    }

    /// What it means that a request went by the ring, perhaps for nothing; nil if it has to go by the socket.
    private func conclude(_ put: PacketSocket.Sent) -> RequestResult? {
        put == .done ? .success : put == .gone ? .isInvalid : nil
    }

    /// The same in any case.
    func send(_ message: Int32, _ data: DataPointer?, until sendDeadline: Instant) -> RequestResult {
        let frame = Frame(kind: .request, payloadLocation: .inline, id: 0, message: message, length: 0, deadline: .never)
        let sent = transmit(frame, data, until: sendDeadline)
        if sent == .isInvalid { invalidate() }
        return sent
    }

    /// Until when a request waits for room: seldom asked for.
    struct SendLimit {
        let seconds: Double
        let start: Instant

        /// More than ten days is no limit, less than a millisecond is none at all: as in CF.
        @inline(never)
        var instant: Instant {
            if seconds >= 864_000 { return .never }
            return seconds < 0.001 ? .distantPast : start.after(seconds)
        }
    }

    /// When a reply is too late.
    struct Deadline {
        let instant: Instant
        /// Nobody minds whether it is `PacketSocket.receive` that waits.
        let isFar: Bool

        init(_ seconds: Double, from now: Instant) {
            instant = now.after(seconds)
            isFar = seconds > 0.1
        }
    }

    /// RLMessagePortSendRequest with a reply: runs this thread's loop in a mode until it has come, or until a deadline. The
    /// reply's reference is the caller's. Calls user code.
    func sendRequest(
        _ message: Int32, _ data: DataPointer?, until sendLimit: SendLimit, _ deadline: Deadline, in mode: StringPointer,
        _ loop: RunLoopPointer, _ reply: inout DataPointer?
    ) -> RequestResult {
        guard let memory = Home.pendingSlab.allocate(&loop.home.pointee.pendings) else { return .transportError }
        hold()
        let pending = memory.assumingMemoryBound(to: PendingRequest.self)
        guard let other = begin(pending, loop, mode) else {
            let result = isValid ? RequestResult.transportError : .isInvalid
            Home.pendingSlab.deallocate(pending, &loop.home.pointee.pendings)
            unhold()
            return result
        }
        let level = loop.pushCleanup(
            CleanupHandler(function: { port, pending, _ in abandonWait(port, pending) }, object: self, part: pending))
        let wasEnded = wait(pending, other, message, data, sendLimit, deadline, loop)
        loop.popCleanup(level)
        let result = endWaiting(pending, loop, &reply)
        if result == .isInvalid { invalidate() }
        if wasEnded && loop.pointee.depth > 0 { loop.requestStop() }
        unhold()
        return result
    }

    /// Nobody waits any more for a request that was begun. The loop's thread.
    fileprivate func endWaiting(_ pending: PendingRequestPointer, _ loop: RunLoopPointer, _ reply: inout DataPointer?) -> RequestResult {
        pending.pointee.destination.giveBack()
        pending.pointee.replySource.endWaiting(of: pending)
        let result = pending.pointee.result
        reply = pending.pointee.reply
        pending.deinitialize(count: 1)
        Home.pendingSlab.deallocate(pending, &loop.home.pointee.pendings)
        return result
    }

    /// Another thread may end the port any time. Under the mutex.
    private var destination: Destination {
        pointee.local?.hold()
        pointee.connection?.retain()
        return Destination(local: pointee.local, connection: pointee.connection)
    }

    /// A request of this thread begins to wait, until `endWaiting`. nil if the port has ended, if out of memory, or if the loop cannot
    /// watch.
    private func begin(_ pending: PendingRequestPointer, _ loop: RunLoopPointer, _ mode: StringPointer) -> Destination? {
        pointee.mutex.lockInlined()
        var known = existingReplySource(loop, mode)
        if known == nil {
            unlock()
            known = makeReplySource(loop, mode)
            if known == nil { return nil }
            lock()
        }
        let replySource = known.unsafelyUnwrapped
        pending.initialize(to: PendingRequest(replySource: replySource, nil, nil))
        let other = enqueueLocked(pending) ? destination : nil
        if let other { pending.pointee.destination = other }
        pointee.mutex.unlockInlined()
        if other == nil { replySource.endWaiting() }
        return other
    }

    /// Sends and runs the loop. True if somebody stopped it meanwhile: that was meant for the run outside.
    @inline(never)
    private func wait(
        _ pending: PendingRequestPointer, _ other: Destination, _ message: Int32, _ data: DataPointer?, _ sendLimit: SendLimit,
        _ limit: Deadline, _ loop: RunLoopPointer
    ) -> Bool {
        let deadline = limit.instant
        let frame = Frame(
            kind: .request, payloadLocation: .inline, id: pending.pointee.id, message: message, length: 0, deadline: deadline)
        let sent = sendPlainly(frame, data, to: other) ? .success : transmit(frame, data, to: other, until: sendLimit.instant)
        if sent != .success {
            // What was not sent is not lost in the middle, whoever has ended the port meanwhile.
            locked { if pending.pointee.reply == nil { pending.pointee.result = sent } }
            return false
        }
        if let connection = other.connection { waitAlone(pending, connection, loop, until: limit) }
        if pending.pointee.isCompleted { return false }
        pending.pointee.replySource.keepModeAlive()
        var wasStopped = false
        var runLimit = deadline
        while !pending.pointee.isCompleted {
            let result = loop.run(in: pending.pointee.replySource.pointee.modeName, until: runLimit, returnAfterSourceHandled: true)
            if result == .stopped { wasStopped = true }
            if runLimit == .distantPast || pending.pointee.isCompleted { break }
            // The mode cannot be run: the system is out of descriptors.
            if result == .finished {
                locked { if !pending.pointee.isCompleted { pending.pointee.result = .transportError } }
                break
            }
            // What has come by then counts, even if other sources were handled first.
            if deadline != .never && Clock.now >= deadline { runLimit = .distantPast }
        }
        return wasStopped
    }

    /// Waits for the reply on the connection itself as long as a run would do nothing else. Afterwards it may be there.
    private func waitAlone(
        _ pending: PendingRequestPointer, _ connection: ConnectionPointer, _ loop: RunLoopPointer, until deadline: Deadline
    ) {
        guard let mode = pending.pointee.replySource.pointee.mode else { return }
        var waits = deadline.isFar
        while !pending.pointee.isCompleted {
            if waits && loop.mayWaitElsewhere(in: mode) {
                waits = connection.receiveReply(on: loop, waits: true)
            } else if loop.sleepAlone(in: mode, for: connection.pointee.fd, until: deadline.instant) {
                _ = connection.receiveReply(on: loop)
            } else {
                break
            }
        }
    }

    /// RLMessagePortSendRequestAsync: the function will be called by this thread's loop in a mode. Any thread.
    func sendRequestAsync(
        _ message: Int32, _ data: DataPointer?, until sendDeadline: Instant, within seconds: Double, in mode: StringPointer,
        _ loop: RunLoopPointer, _ callout: @escaping PendingRequest.Callout, _ info: UnsafeMutableRawPointer?
    ) -> RequestResult {
        if !isValid { return .isInvalid }
        guard let replySource = beginWaiting(loop, mode) else { return isValid ? .transportError : .isInvalid }
        guard let memory = malloc(MemoryLayout<PendingRequest>.size) else {
            replySource.endWaiting()
            return .transportError
        }
        let pending = memory.bindMemory(to: PendingRequest.self, capacity: 1)
        pending.initialize(to: PendingRequest(replySource: replySource, callout, info))
        let deadline = Instant.now(after: Swift.max(seconds, 0))
        let context = ClientContext(info: memory, retain: nil, release: nil, copyDescription: nil)
        if deadline != .never {
            pending.pointee.timer = TimerPointer.create(
                loop.home, date: Clock.currentDate + Swift.max(seconds, 0), interval: 0, order: 0,
                { _, info in pendingOf(info).timeOut() }, context)
        }
        hold()
        let isReady = deadline == .never || pending.pointee.timer != nil
        guard isReady, locked({ enqueueLocked(pending) }) else {
            dispose(pending)
            return isReady ? .isInvalid : .transportError
        }
        replySource.keepModeAlive()
        if let timer = pending.pointee.timer { loop.addSeldom(timer, in: mode) }
        let frame = Frame(kind: .request, payloadLocation: .inline, id: pending.pointee.id, message: message, length: 0, deadline: deadline)
        // There may have been no memory for the timer in the mode.
        let isTimed = deadline == .never || pending.pointee.timer?.pointee.set != nil
        let sent = isTimed ? transmit(frame, data, until: sendDeadline) : .transportError
        if sent == .success { return .success }
        // Whoever takes it out of the list disposes of it: the loop, if the port has ended meanwhile.
        let isMine = locked { () -> Bool in
            if pending.pointee.isCompleted { return false }
            unlink(pending)
            return true
        }
        if !isMine { return .success }
        dispose(pending)
        if sent == .isInvalid { invalidate() }
        return sent
    }

    /// Sends what there is most of: a packet with data, for which there is room. False if it was not sent.
    @inline(__always)
    private func sendPlainly(_ frame: Frame, _ data: DataPointer?, to other: Destination) -> Bool {
        guard let connection = other.connection, let data, connection.fitsInPacket(data) else { return false }
        return connection.sendPacket(frame, data) == .done
    }

    /// Hands a request to whom this port stands for. `isInvalid`: it was not sent, and nobody will get another; the caller ends
    /// the port when it has taken the request back.
    private func transmit(_ frame: Frame, _ data: DataPointer?, until deadline: Instant) -> RequestResult {
        let other = locked { destination }
        defer { other.giveBack() }
        return transmit(frame, data, to: other, until: deadline)
    }

    @inline(never)
    private func transmit(_ frame: Frame, _ data: DataPointer?, to other: Destination, until deadline: Instant) -> RequestResult {
        if let data, data.pointee.count > Frame.lengthLimit { return .transportError }
        if frame.id == 0, let connection = other.connection, let result = conclude(connection.put(frame.message, data, until: deadline)) {
            return result
        }
        var (sent, wasFull) = (PacketSocket.Sent.failed, false)
        // NULL arrives as data without bytes.
        let empty = data == nil ? DataPointer.create(nil, count: 0) : nil
        defer { empty?.release() }
        guard let data = data ?? empty else { return .transportError }
        if let local = other.local { return put(frame, data, to: local, until: deadline) }
        guard let connection = other.connection else { return .isInvalid }
        var outgoing: SendQueue.OutgoingFrame?
        if !connection.fitsInPacket(data) {
            if data.pointee.count <= Frame.sharedLimit { connection.waitForSharedBuffer(until: deadline) }
            outgoing = connection.makeOutgoing(frame, data)
            if outgoing == nil { return .transportError }
        }
        defer { if let outgoing { connection.discard(outgoing, wasSent: sent == .done) } }
        while true {
            if let outgoing {
                sent = connection.locked { connection.sendRequestLocked(outgoing) }
            } else {
                sent = connection.sendPacket(frame, data)
            }
            switch sent {
            case .done: return .success
            case .failed: return .transportError
            case .gone: return .isInvalid
            case .full:
                if !PacketSocket.awaitRoom(connection.pointee.fd, until: deadline) { return .sendTimeout }
                // Too many files are on their way, or the kernel has no memory: nothing says when that changes.
                if wasFull { _ = Descriptor.look(connection.pointee.fd, for: 0, within: 100_000) }
                wasFull = true
            }
        }
    }

    /// Within the process: the data itself goes, not a copy, unless it may change.
    private func put(_ frame: Frame, _ data: DataPointer, to local: MessagePortPointer, until deadline: Instant) -> RequestResult {
        guard let data = data.lastingCopy() else { return .transportError }
        guard let request = RequestPointer.make(frame, data, connection: nil, remote: self) else {
            data.release()
            return .transportError
        }
        while true {
            let outcome = local.put(request)
            switch outcome {
            case .queued, .queuedUnsignalled: return .success
            case .full: if local.queue.waitForRoom(until: deadline) { continue }
            case .closed, .outOfMemory: break
            }
            request.cancelUnsent()
            return outcome == .full ? .sendTimeout : outcome == .closed ? .isInvalid : .transportError
        }
    }
}

private func pendingOf(_ info: UnsafeMutableRawPointer?) -> PendingRequestPointer {
    info.unsafelyUnwrapped.assumingMemoryBound(to: PendingRequest.self)
}

/// The thread has ended in a function that was called while it waited for a reply.
private func abandonWait(_ port: UnsafeMutableRawPointer, _ pending: UnsafeMutableRawPointer?) {
    let port: MessagePortPointer = Handle.storage(UnsafeRawPointer(port))
    let pending = pending.unsafelyUnwrapped.assumingMemoryBound(to: PendingRequest.self)
    var reply: DataPointer?
    _ = port.endWaiting(pending, pending.pointee.replySource.pointee.loop, &reply)
    reply?.release()
    port.unhold()
}
