import CLinux
import CRunLoop
import Synchronization

// A remote port is connected to the local port that its name stands for. It sends requests, and waits for their replies.

extension MessagePortPointer {
    /// RLMessagePortCreateRemote, for a name of which this process has no remote port yet. Returns nil with errno on failure: ECONNREFUSED
    /// if no process of `user` serves the name. If a port of this process has the name, `local` is set to it, with a reference that the
    /// caller releases outside of the lock. The caller holds `PortRegistry.namesMutex`.
    static func createRemote(_ name: StringPointer, of user: UInt32, _ local: inout MessagePortPointer?) -> MessagePortPointer? {
        if user == PacketSocket.own.user { local = find(name, isRemote: false) }
        let fd = local == nil ? try? NameServer.connect(name, of: user) : -1
        guard let fd else { return nil }
        guard let port = allocate() else {
            if fd >= 0 { PacketSocket.close(fd) }
            return nil
        }
        port.initialize(to: MessagePortStorage(name, of: user, nil, .empty))
        // Set in advance: a failure to connect does not set errno, but a lack of memory does.
        let saved = systemError
        systemError = ECONNREFUSED
        if port.connect(local, fd, name) {
            systemError = saved
            PortRegistry.insert(port.base)
            return port
        }
        port.base.releaseInternal()
        return nil
    }

    /// Connects this port to a local port of the process, or else by the socket `fd` to another process, to which it sends the name that it
    /// wants. Returns false if the local port is invalid, if the other process is gone, or if out of memory.
    private func connect(_ local: MessagePortPointer?, _ fd: Int32, _ name: StringPointer) -> Bool {
        let made = local.map { ConnectionPointer.make(.inProcess, -1, $0, remote: self) } ?? ConnectionPointer.make(.client, fd, self)
        guard let connection = made else { return false }
        locked { pointee.connection = connection }
        if local != nil {
            // The local port may have been invalidated meanwhile, and this port with it.
            if !base.isValid { closeConnection() }
            return true
        }
        let hello = Frame(kind: .hello, payloadLocation: .inline, length: name.count)
        if connection.locked({ connection.sendPacketLocked(hello, name.pointee.bytes) }) == .done { return true }
        closeConnection()
        return false
    }

    /// Closes the connection, if there is one. It stays the port's meanwhile, so that the child of a fork() closes it, too. Any thread; call
    /// without a lock held. Calls user code.
    @inline(never)
    func closeConnection() {
        guard let connection = sharedConnection else { return }
        connection.close()
        let isOwned = locked { () -> Bool in
            defer { pointee.connection = nil }
            return pointee.connection != nil
        }
        if isOwned { connection.release() }
        connection.release()
    }

    /// The connection, retained for the caller; nil if there is none. Any thread; call without a lock held.
    private var sharedConnection: ConnectionPointer? {
        locked {
            pointee.connection?.retain()
            return pointee.connection
        }
    }

    /// Invalidates the port because its server is gone, after receiving the replies that the server has left in the socket. `release` may
    /// release what has kept the port until then. Any thread; call without a lock held. Calls user code.
    func invalidateAfterReplies(thenRelease release: () -> Void = {}) {
        let violator = receiveLastReplies()
        base.invalidate(thenRelease: release)
        if let violator { ConnectionPointer.warn(about: violator, ConnectionPointer.invalidPacket) }
    }

    /// Receives what a server that is gone has left. Returns its process, which is 0 in another PID namespace, if that violates the
    /// protocol; otherwise nil. Any thread; call without a lock held. Calls no user code.
    @inline(never)
    private func receiveLastReplies() -> Int32? {
        guard let connection = sharedConnection else { return nil }
        defer { connection.release() }
        return connection.receiveLastReplies() ? connection.pointee.credentials.process : nil
    }

    /// Whether the server is gone, even if no loop has noticed that yet. A system call if the server is another process. Any thread.
    var isPeerGone: Bool {
        locked {
            guard let connection = pointee.connection else { return false }
            return connection.locked { !connection.isConnected }
        }
    }

    /// RLMessagePortSendRequest without a reply, if the request can go through the ring without waiting. Returns nil if nothing was sent:
    /// the caller then uses `sendOneWay`. Any thread; call without a lock held. Calls user code if the server turns out to be gone.
    func sendOneWayAtOnce(_ message: Int32, _ data: DataPointer?) -> RequestResult? {
        // The port keeps its connection as long as the mutex is held.
        let result = locked { pointee.connection?.sendByOpenRing(message, data) }
        if result == .isInvalid { invalidateAfterReplies() }
        return result
    }

    /// RLMessagePortSendRequest without a reply, in all other cases. Waits for room until `sendLimit`. Any thread; call without a lock
    /// held. Calls user code if the port has to be invalidated.
    func sendOneWay(_ message: Int32, _ data: DataPointer?, until sendLimit: Instant) -> RequestResult {
        var frame = Frame(kind: .request, payloadLocation: .inline, messageID: message)
        let connection = sharedConnection
        let held = HeldWhileCalling()
        if let connection { held.register(connection) { connection, _, _ in ConnectionPointer(connection).release() } }
        let sent = connection?.transmit(&frame, data, until: sendLimit) ?? .isInvalid
        held.end()
        // A callback may have released the port meanwhile: the connection keeps it alive.
        if sent != .success { Probe.report(.dropped, .messagePort, self, number: 0) }
        if sent == .isInvalid { invalidateAfterReplies(thenRelease: { connection?.release() }) } else { connection?.release() }
        return sent
    }

    /// RLMessagePortSendRequest with a reply: sends the request until `sendLimit`, and runs the calling thread's loop in `mode` until the
    /// reply has arrived or `deadline` has passed, which is postponed while the request waits for room. `reply` is set with a reference for
    /// the caller. The thread of `loop`; call without a lock held. Calls user code.
    func sendRequest(
        _ message: Int32, _ data: DataPointer?, until sendLimit: Instant, _ deadline: Instant, in mode: StringPointer,
        _ loop: RunLoopPointer, _ reply: inout DataPointer?
    ) -> RequestResult {
        guard let pending = begin(loop, mode, nil, nil) else { return base.isValid ? .transportError : .isInvalid }
        var frame = Frame(kind: .request, payloadLocation: .inline, id: pending.pointee.id, messageID: message, deadline: deadline)
        let cleanup = CleanupHandler(function: { pending, _, _ in PendingRequestPointer(pending).finish() }, object: pending)
        let wasStopped = loop.withCleanup(cleanup) { () -> Bool in
            let sent = pending.pointee.connection?.transmit(&frame, data, until: sendLimit) ?? .isInvalid
            if sent == .success { return awaitReply(pending, until: frame.deadline) }
            // Reports why the request was not sent, even if another thread has invalidated the port meanwhile.
            locked { if pending.pointee.reply == nil { pending.pointee.result = sent } }
            return false
        }
        Probe.report(.received, .reply, self, number: UInt(pending.pointee.id))
        _ = pending.withdraw()
        let result = pending.pointee.result
        swap(&reply, &pending.pointee.reply)
        if result == .isInvalid { invalidateAfterReplies(thenRelease: pending.destroy) } else { pending.destroy() }
        // A stop meanwhile is meant for the outer run. Outside of all runs, it concerns only a guest, whose host is notified of it.
        if wasStopped && (loop.pointee.activation.depth > 0 || loop.pointee.guest.isOn) { loop.requestStop() }
        return result
    }

    /// Runs the calling thread's loop until a request that was sent is completed or `deadline` has passed. Returns whether a run was
    /// stopped. Call without a lock held. Calls user code.
    private func awaitReply(_ pending: PendingRequestPointer, until deadline: Instant) -> Bool {
        let (loop, mode) = (pending.pointee.loop, pending.pointee.mode)
        var wasStopped = false
        var runLimit = deadline
        while !pending.isCompleted {
            let result = loop.run(
                in: mode, until: runLimit, returnAfterSourceHandled: true, awaited: withUnsafePointer(to: pending.pointee.completed) { $0 })
            // `result` does not show this: a reply that is handled in the same pass hides a stop.
            if loop.pointee.lastRunWasStopped { wasStopped = true }
            if runLimit == .distantPast || pending.isCompleted { break }
            // The mode is not empty, so `finished` means that it cannot be run, because memory or descriptors have run out.
            if result == .finished {
                locked { if !pending.isCompleted { pending.pointee.result = .transportError } }
                break
            }
            // A reply that arrived in time counts even if the run has handled other sources first, so check once more.
            if deadline != .never && Clock.now >= deadline { runLimit = .distantPast }
        }
        return wasStopped
    }

    /// RLMessagePortSendRequestAsync: sends a request, and has the calling thread's loop call `callout` in `mode`. The thread of `loop`;
    /// call without a lock held. Calls user code if a connection ends.
    func sendRequestAsync(
        _ message: Int32, _ data: DataPointer?, until sendLimit: Instant, within seconds: Double, in mode: StringPointer,
        _ loop: RunLoopPointer, _ callout: @escaping PendingRequest.Callout, _ info: UnsafeMutableRawPointer?
    ) -> RequestResult {
        guard let pending = begin(loop, mode, callout, info) else { return base.isValid ? .transportError : .isInvalid }
        let deadline = Instant.now(after: Swift.max(seconds, 0))
        let isReady = deadline == .never || setTimer(pending, Swift.max(seconds, 0), mode, loop)
        var frame = Frame(kind: .request, payloadLocation: .inline, id: pending.pointee.id, messageID: message, deadline: deadline)
        let connection = pending.pointee.connection
        let sent = isReady ? connection?.transmit(&frame, data, until: sendLimit) ?? .isInvalid : .transportError
        pending.pointee.connection = nil
        // Even if the end of the port has completed the request meanwhile. A callback may have released the port: the request keeps it alive,
        // and then the connection does.
        if sent != .success {
            pending.finish()
            if sent == .isInvalid { invalidateAfterReplies(thenRelease: { connection?.release() }) } else { connection?.release() }
            return sent
        }
        if frame.deadline != deadline { pending.pointee.timer?.setNextFireDate(Clock.currentDate + Swift.max(seconds, 0)) }
        // A run of the loop may have consumed the signal meanwhile, and left the request.
        if pending.isCompleted { locked { pending.signalAndWake() } }
        connection?.release()
        return .success
    }

    /// Sets the timer that ends a request with a callback when its time is up. Returns false if out of memory.
    private func setTimer(_ pending: PendingRequestPointer, _ seconds: Double, _ mode: StringPointer, _ loop: RunLoopPointer) -> Bool {
        let timer = TimerPointer.create(
            loop.threadContext, date: Clock.currentDate + seconds, interval: 0, order: 0,
            { _, pending in PendingRequestPointer(pending).timeOut() }, ClientContext(info: pending))
        guard let timer else { return false }
        pending.pointee.timer = timer
        loop.add(timer, in: mode)
        return timer.pointee.set != nil
    }
}
