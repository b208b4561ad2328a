import CLinux
import CRunLoop
import Synchronization

// A remote port that is connected sends requests, and waits for their replies.

extension MessagePortPointer {
    /// RLMessagePortSendRequest without a reply, where that takes no time: sends through an existing ring. nil if the request has to be
    /// sent in another way; then nothing was sent. Any thread, without a lock; calls user code if the connection turns out to be gone.
    func sendOneWayAtOnce(_ message: Int32, _ data: DataPointer?) -> RequestResult? {
        // The port's connection is kept by the port as long as the mutex is held.
        let result = ringResult(locked { pointee.connection?.sendByExistingRing(message, data) ?? .failed })
        if result == .isInvalid { invalidate() }
        return result
    }

    /// What RLMessagePortSendRequest returns after an attempt to send through the ring, memory that both processes share. nil if
    /// there is no ring, or no room in it: then the request has to go through the socket.
    private func ringResult(_ sent: PacketSocket.Sent) -> RequestResult? {
        sent == .done ? .success : sent == .gone ? .isInvalid : nil
    }

    /// RLMessagePortSendRequest without a reply, in all other cases. Any thread, without a lock; calls user code if the port has to be
    /// invalidated.
    func sendOneWay(_ message: Int32, _ data: DataPointer?, until sendDeadline: Instant) -> RequestResult {
        let frame = Frame(kind: .request, payloadLocation: .inline, id: 0, message: message, length: 0, deadline: .never)
        let sent = transmit(frame, data, until: sendDeadline)
        if sent == .isInvalid { invalidate() }
        return sent
    }

    /// How long a request waits for room. Kept as a pair because most requests never compute the instant.
    struct SendLimit {
        let seconds: Double
        let start: Instant

        /// When to give up. As in CF, more than ten days is no limit, and less than a millisecond does not wait.
        var instant: Instant {
            if seconds >= 864_000 { return .never }
            return seconds < 0.001 ? .distantPast : start.after(seconds)
        }
    }

    /// RLMessagePortSendRequest with a reply: sends, and runs the calling thread's loop in a mode until the reply has come, or until the
    /// deadline. `reply` gets a reference for the caller. The thread of `loop`, without a lock; calls user code.
    func sendRequest(
        _ message: Int32, _ data: DataPointer?, until sendLimit: SendLimit, _ deadline: Instant, in mode: StringPointer,
        _ loop: RunLoopPointer, _ reply: inout DataPointer?
    ) -> RequestResult {
        guard let memory = PendingRequest.slab.allocate(loop.threadContext) else { return .transportError }
        retainInternal()
        let pending = memory.assumingMemoryBound(to: PendingRequest.self)
        if !beginWaiting(pending, loop, mode) {
            let result = isValid ? RequestResult.transportError : .isInvalid
            PendingRequest.slab.deallocate(pending, loop.threadContext)
            releaseInternal()
            return result
        }
        let level = loop.pushCleanup(
            CleanupHandler(function: { pending, port, _ in abandonWait(pending, port) }, object: pending, part: self))
        if Probe.isSet { tell(.sent, .messagePort, pending.pointee.id) }
        let wasStopped = sendAndWait(pending, message, data, sendLimit, deadline, loop)
        if Probe.isSet { tell(.received, .reply, pending.pointee.id) }
        loop.popCleanup(level)
        let result = finishWaiting(pending, loop, &reply)
        if result == .isInvalid { invalidate() }
        if wasStopped && loop.pointee.activation.depth > 0 { loop.requestStop() }
        releaseInternal()
        return result
    }

    /// Ends the wait for a request of `beginWaiting`, and frees it. The loop's thread, without a lock.
    fileprivate func finishWaiting(_ pending: PendingRequestPointer, _ loop: RunLoopPointer, _ reply: inout DataPointer?) -> RequestResult {
        pending.pointee.connection?.release()
        pending.pointee.replySource.endWaiting(of: pending)
        let result = pending.pointee.result
        reply = pending.pointee.reply
        pending.deinitialize(count: 1)
        PendingRequest.slab.deallocate(pending, loop.threadContext)
        return result
    }

    /// The connection with a reference for the caller, since another thread may invalidate the port. Under the mutex.
    private var sharedConnection: ConnectionPointer? {
        pointee.connection?.retain()
        return pointee.connection
    }

    /// Initializes a request that the calling thread waits for, until `finishWaiting`. False if the port is invalid, if out of memory, or
    /// if the loop cannot watch the connection; then `pending` is still memory of the caller.
    private func beginWaiting(_ pending: PendingRequestPointer, _ loop: RunLoopPointer, _ mode: StringPointer) -> Bool {
        pointee.mutex.lockInlined()
        var known = existingReplySource(loop, mode)
        if known == nil {
            unlock()
            known = makeReplySource(loop, mode)
            if known == nil { return false }
            lock()
        }
        let replySource = known.unsafelyUnwrapped
        pending.initialize(to: PendingRequest(replySource: replySource, nil, nil))
        let isWaiting = enqueueLocked(pending)
        if isWaiting { pending.pointee.connection = sharedConnection }
        pointee.mutex.unlockInlined()
        if !isWaiting { replySource.endWaiting() }
        return isWaiting
    }

    /// Sends a request and runs the loop until it is completed. True if the loop was stopped meanwhile; the stop is then for the outer
    /// run.
    private func sendAndWait(
        _ pending: PendingRequestPointer, _ message: Int32, _ data: DataPointer?, _ sendLimit: SendLimit, _ deadline: Instant,
        _ loop: RunLoopPointer
    ) -> Bool {
        let frame = Frame(
            kind: .request, payloadLocation: .inline, id: pending.pointee.id, message: message, length: 0, deadline: deadline)
        let connection = pending.pointee.connection
        let sent = sendSmall(frame, data, by: connection) ? .success : transmit(frame, data, by: connection, until: sendLimit.instant)
        if sent != .success {
            // A request that was not sent reports that, even if another thread has invalidated the port meanwhile.
            locked { if pending.pointee.reply == nil { pending.pointee.result = sent } }
            return false
        }
        if pending.pointee.isCompleted { return false }
        pending.pointee.replySource.keepModeAlive()
        var wasStopped = false
        var runLimit = deadline
        while !pending.pointee.isCompleted {
            let result = loop.run(in: pending.pointee.replySource.pointee.modeName, until: runLimit, returnAfterSourceHandled: true)
            // The result does not tell: a reply that is handled in the same pass hides a stop.
            if loop.pointee.lastRunWasStopped { wasStopped = true }
            if runLimit == .distantPast || pending.pointee.isCompleted { break }
            // The mode cannot be run: the process has no descriptor left.
            if result == .finished {
                locked { if !pending.pointee.isCompleted { pending.pointee.result = .transportError } }
                break
            }
            // A reply that arrived in time counts, even if the run handled other sources first: look once more.
            if deadline != .never && Clock.now >= deadline { runLimit = .distantPast }
        }
        return wasStopped
    }

    /// RLMessagePortSendRequestAsync: sends a request whose function the calling thread's loop will call, in a mode. The thread of
    /// `loop`, without a lock; calls user code only if the port has to be invalidated.
    func sendRequestAsync(
        _ message: Int32, _ data: DataPointer?, until sendDeadline: Instant, within seconds: Double, in mode: StringPointer,
        _ loop: RunLoopPointer, _ callout: @escaping PendingRequest.Callout, _ info: UnsafeMutableRawPointer?
    ) -> RequestResult {
        if !isValid { return .isInvalid }
        guard let replySource = waitingReplySource(loop, mode) else { return isValid ? .transportError : .isInvalid }
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
                loop.threadContext, date: Clock.currentDate + Swift.max(seconds, 0), interval: 0, order: 0,
                { _, info in pendingRequest(info).timeOut() }, context)
        }
        retainInternal()
        let isReady = deadline == .never || pending.pointee.timer != nil
        guard isReady, locked({ enqueueLocked(pending) }) else {
            finish(pending)
            return isReady ? .isInvalid : .transportError
        }
        replySource.keepModeAlive()
        if let timer = pending.pointee.timer { loop.add(timer, in: mode) }
        let frame = Frame(kind: .request, payloadLocation: .inline, id: pending.pointee.id, message: message, length: 0, deadline: deadline)
        // There may have been no memory to add the timer to the mode.
        let isTimed = deadline == .never || pending.pointee.timer?.pointee.set != nil
        if Probe.isSet { tell(.sent, .messagePort, frame.id) }
        let sent = isTimed ? transmit(frame, data, until: sendDeadline) : .transportError
        if sent == .success { return .success }
        // The request belongs to the thread that takes it out of the list. If that was another, invalidating the port, the loop reports
        // it.
        let wasPending = locked { () -> Bool in
            if pending.pointee.isCompleted { return false }
            unlink(pending)
            return true
        }
        if !wasPending { return .success }
        finish(pending)
        if sent == .isInvalid { invalidate() }
        return sent
    }

    /// Sends the most frequent kind of request: a payload that fits into a packet, for which there is room. False if it was not sent.
    private func sendSmall(_ frame: Frame, _ data: DataPointer?, by connection: ConnectionPointer?) -> Bool {
        guard let connection, connection.pointee.role == .client, let data, connection.fitsInPacket(data) else { return false }
        return connection.sendPacket(frame, data) == .done
    }

    /// Sends a request. `isInvalid`: it was not sent and the peer is gone; the caller invalidates the port, after taking the request out of
    /// the list.
    private func transmit(_ frame: Frame, _ data: DataPointer?, until deadline: Instant) -> RequestResult {
        let connection = locked { sharedConnection }
        defer { connection?.release() }
        return transmit(frame, data, by: connection, until: deadline)
    }

    /// `transmit` by a connection that the caller keeps; nil if the port is invalid.
    @inline(never)
    private func transmit(_ frame: Frame, _ data: DataPointer?, by connection: ConnectionPointer?, until deadline: Instant) -> RequestResult
    {
        if let data, data.pointee.count > Frame.lengthLimit { return .transportError }
        guard let connection else { return .isInvalid }
        if frame.id == 0,
            let result = ringResult(connection.sendByRing(frame.message, data, until: deadline))
        {
            return result
        }
        // NULL arrives as data without bytes.
        let empty = data == nil ? DataPointer.create(nil, count: 0) : nil
        defer { empty?.release() }
        guard let data = data ?? empty else { return .transportError }
        if connection.pointee.role == .inProcess { return connection.enqueue(frame, data, until: deadline) }
        var ticket: UInt32?
        while true {
            let isSmall = connection.fitsInPacket(data)
            switch isSmall ? connection.sendPacket(frame, data) : connection.sendLarge(frame, data, &ticket) {
            case .done:
                // The loop sends the rest of a request that wants a reply.
                guard let ticket, frame.id == 0 else { return .success }
                return connection.finishSending(ticket, until: deadline)
            case .failed: return .transportError
            case .gone: return .isInvalid
            case .full: if !connection.waitForRoom(until: deadline) { return .sendTimeout }
            }
        }
    }
}

extension ConnectionPointer {
    /// Sends a request within the process: the data object itself, or a copy if it could change.
    fileprivate func enqueue(_ frame: Frame, _ data: DataPointer, until deadline: Instant) -> RequestResult {
        var result = RequestResult.transportError
        guard let data = data.lastingCopy() else { return .transportError }
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
}

private func pendingRequest(_ info: UnsafeMutableRawPointer?) -> PendingRequestPointer {
    info.unsafelyUnwrapped.assumingMemoryBound(to: PendingRequest.self)
}

/// Cleanup of a thread that ended inside a function that was called while it waited for a reply.
private func abandonWait(_ pending: UnsafeMutableRawPointer, _ port: UnsafeMutableRawPointer?) {
    let port: MessagePortPointer = Handle.storage(UnsafeRawPointer(port.unsafelyUnwrapped))
    let pending = pending.assumingMemoryBound(to: PendingRequest.self)
    var reply: DataPointer?
    _ = port.finishWaiting(pending, pending.pointee.replySource.pointee.loop, &reply)
    reply?.release()
    port.releaseInternal()
}
