import CLinux
import CRunLoop
import Synchronization

// A remote port: connected to the local port that its name stands for, it sends requests, and waits for their replies.

extension MessagePortPointer {
    /// RLMessagePortCreateRemote for a name of which this process has no remote port yet. nil with errno: ECONNREFUSED if no process of
    /// `user` serves it. `local` is set to the port of this process that has the name, with a reference that the caller releases without
    /// the lock. Under the registry's names.
    static func createRemote(_ name: StringPointer, of user: UInt32, _ local: inout MessagePortPointer?) -> MessagePortPointer? {
        if user == PacketSocket.own.user { local = find(name, isRemote: false) }
        let fd = local == nil ? try? NameServer.connect(name, of: user) : -1
        guard let fd else { return nil }
        guard let port = make(isRemote: true, name, of: user, nil, .empty) else {
            if fd >= 0 { PacketSocket.close(fd) }
            return nil
        }
        // A failure to connect has no errno of its own; lack of memory sets it.
        let saved = systemError
        systemError = ECONNREFUSED
        if local.map({ port.connect(within: $0) }) ?? port.connect(fd, name) {
            systemError = saved
            PortRegistry.insert(port.base)
            return port
        }
        port.locked { port.pointee.isValid = false }
        port.releaseInternal()
        return nil
    }

    /// Creates the connection to a local port of this process. False if that is invalid, or if out of memory.
    private func connect(within local: MessagePortPointer) -> Bool {
        guard let connection = ConnectionPointer.make(.inProcess, -1, local, remote: self) else { return false }
        locked { pointee.connection = connection }
        // The local port may have become invalid meanwhile, and this one with it.
        if !isValid { closeConnection() }
        return true
    }

    /// Creates the connection to another process, and sends the name that this port wants.
    private func connect(_ fd: Int32, _ name: StringPointer) -> Bool {
        guard let connection = ConnectionPointer.make(.client, fd, self) else { return false }
        pointee.connection = connection
        var head = Frame(kind: .hello, payloadLocation: .inline, length: name.count).head
        let sent = PacketSocket.send(fd, &head, Frame.headSize, name.pointee.bytes, name.count, passing: -1)
        if sent == .done { return true }
        closeConnection()
        return false
    }

    /// Closes the connection, if there is one. Any thread, without a lock; calls user code.
    @inline(never)
    func closeConnection() {
        let connection = locked { () -> ConnectionPointer? in
            defer { pointee.connection = nil }
            return pointee.connection
        }
        connection?.close()
        connection?.release()
    }

    /// Whether the server is gone, though the loop has not noticed it yet. A system call if the server is another process. Any thread.
    var isPeerGone: Bool {
        locked {
            guard let connection = pointee.connection, connection.pointee.role == .client else { return false }
            return !Descriptor.poll(connection.pointee.fd, for: []).isEmpty
        }
    }

    /// RLMessagePortSendRequest without a reply, where that takes no time. nil if the request has to be sent in another way; then nothing
    /// was sent. Any thread, without a lock; calls user code if the connection turns out to be gone.
    func sendOneWayAtOnce(_ message: Int32, _ data: DataPointer?) -> RequestResult? {
        // The port keeps its connection as long as the mutex is held.
        let result = locked { pointee.connection?.transmitAtOnce(message, data) }
        if result == .isInvalid { invalidate() }
        return result
    }

    /// RLMessagePortSendRequest without a reply, in all other cases. Any thread, without a lock; calls user code if the port has to be
    /// invalidated.
    func sendOneWay(_ message: Int32, _ data: DataPointer?, until sendLimit: Instant) -> RequestResult {
        let frame = Frame(kind: .request, payloadLocation: .inline, message: message)
        let connection = locked { () -> ConnectionPointer? in
            pointee.connection?.retain()
            return pointee.connection
        }
        let held = HeldWhileCalling()
        if let connection { held.note(connection) { connection, _, _ in ConnectionPointer(info: connection).release() } }
        let sent = connection?.transmit(frame, data, until: sendLimit) ?? .isInvalid
        held.end()
        // The client may have released the port meanwhile: the connection keeps it.
        if sent != .success { tell(.dropped, .messagePort, 0) }
        if sent == .isInvalid { invalidate(releasing: connection) } else { connection?.release() }
        return sent
    }

    /// RLMessagePortSendRequest with a reply: sends, and runs the calling thread's loop in a mode until the reply has come, or until the
    /// deadline. `reply` gets a reference for the caller. The thread of `loop`, without a lock; calls user code.
    func sendRequest(
        _ message: Int32, _ data: DataPointer?, until sendLimit: Instant, _ deadline: Instant, in mode: StringPointer,
        _ loop: RunLoopPointer, _ reply: inout DataPointer?
    ) -> RequestResult {
        guard let pending = begin(loop, mode, nil, nil) else { return isValid ? .transportError : .isInvalid }
        let level = loop.pushCleanup(
            CleanupHandler(function: { pending, port, _ in abandonWait(pending, port) }, object: pending, part: self))
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

    /// Makes a request that waits for its reply: in the list, with the connection that it goes through. `callout` is nil if the calling
    /// thread waits. nil if the port is invalid, if out of memory, or if the loop cannot watch the connection. The loop's thread.
    @inline(never)
    private func begin(
        _ loop: RunLoopPointer, _ mode: StringPointer, _ callout: PendingRequest.Callout?, _ info: UnsafeMutableRawPointer?
    ) -> PendingRequestPointer? {
        guard let memory = PendingRequest.slab.allocate(loop.threadContext) else { return nil }
        retainInternal()
        let pending = memory.assumingMemoryBound(to: PendingRequest.self)
        pointee.mutex.lockInlined()
        var known = existingReplySource(loop, mode)
        if known == nil {
            unlock()
            known = makeReplySource(loop, mode)
            lock()
        }
        if let replySource = known {
            pending.initialize(to: PendingRequest(replySource: replySource, callout, info))
            if enqueueLocked(pending) {
                pointee.mutex.unlockInlined()
                if Probe.isSet { tell(.sent, .messagePort, pending.pointee.id) }
                return pending
            }
        }
        unlock()
        known?.endWaiting()
        PendingRequest.slab.deallocate(pending, loop.threadContext)
        releaseInternal()
        return nil
    }

    /// Sends a request and runs the loop until it is completed. True if the loop was stopped meanwhile; the stop is then for the outer
    /// run.
    private func sendAndWait(
        _ pending: PendingRequestPointer, _ message: Int32, _ data: DataPointer?, _ sendLimit: Instant, _ deadline: Instant,
        _ loop: RunLoopPointer
    ) -> Bool {
        let frame = Frame(kind: .request, payloadLocation: .inline, id: pending.pointee.id, message: message, deadline: deadline)
        let sent = pending.pointee.connection?.transmit(frame, data, until: sendLimit) ?? .isInvalid
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
    /// `loop`, without a lock; calls user code if a connection ends.
    func sendRequestAsync(
        _ message: Int32, _ data: DataPointer?, until sendLimit: Instant, within seconds: Double, in mode: StringPointer,
        _ loop: RunLoopPointer, _ callout: @escaping PendingRequest.Callout, _ info: UnsafeMutableRawPointer?
    ) -> RequestResult {
        guard let pending = begin(loop, mode, callout, info) else { return isValid ? .transportError : .isInvalid }
        pending.pointee.sending = .isUnderWay
        pending.pointee.replySource.keepModeAlive()
        let deadline = Instant.now(after: Swift.max(seconds, 0))
        let isReady = deadline == .never || setTimer(pending, Swift.max(seconds, 0), mode, loop)
        let frame = Frame(kind: .request, payloadLocation: .inline, id: pending.pointee.id, message: message, deadline: deadline)
        let connection = pending.pointee.connection
        let sent = isReady ? connection?.transmit(frame, data, until: sendLimit) ?? .isInvalid : .transportError
        return endSending(pending, sent)
    }

    /// Leaves a request that has a function to the loop, or finishes it if it was not sent. One that was completed meanwhile, by the end of
    /// the port or by its timer, counts as sent: its function learns that. The loop's thread, without a lock; may call user code.
    @inline(__always)
    private func endSending(_ pending: PendingRequestPointer, _ sent: RequestResult) -> RequestResult {
        let connection = pending.pointee.connection
        let isDue = pending.pointee.sending == .isDue
        pending.pointee.connection = nil
        pending.pointee.sending = .hasEnded
        // The client may have released the port: the request keeps it, and then the connection.
        if sent != .success, withdraw(pending) {
            finish(pending)
            if sent == .isInvalid { invalidate(releasing: connection) } else { connection?.release() }
            return sent
        }
        if isDue { locked { pending.pointee.replySource.signalAndWakeLocked() } }
        connection?.release()
        return .success
    }

    /// Lets a request that has a function end when its time is over. False if out of memory.
    private func setTimer(_ pending: PendingRequestPointer, _ seconds: Double, _ mode: StringPointer, _ loop: RunLoopPointer) -> Bool {
        let context = ClientContext(info: pending, retain: nil, release: nil, copyDescription: nil)
        let timer = TimerPointer.create(
            loop.threadContext, date: Clock.currentDate + seconds, interval: 0, order: 0,
            { _, info in info.unsafelyUnwrapped.assumingMemoryBound(to: PendingRequest.self).timeOut() }, context)
        guard let timer else { return false }
        pending.pointee.timer = timer
        loop.add(timer, in: mode)
        return timer.pointee.set != nil
    }
}

/// Cleanup of a thread that ended inside a function that was called while it waited for a reply.
private func abandonWait(_ pending: UnsafeMutableRawPointer, _ port: UnsafeMutableRawPointer?) {
    let port = MessagePortPointer(port.unsafelyUnwrapped)
    let pending = pending.assumingMemoryBound(to: PendingRequest.self)
    var reply: DataPointer?
    _ = port.finishWaiting(pending, pending.pointee.replySource.pointee.loop, &reply)
    reply?.release()
    port.releaseInternal()
}
