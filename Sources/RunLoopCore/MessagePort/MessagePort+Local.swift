import CLinux
import CRunLoop
import Synchronization

// A local port receives requests: from this process through its queue, from other processes through its connections.

extension MessagePortPointer {
    /// RLMessagePortCreateLocal, for a name that no other port of this process has. Returns nil with errno on failure. Takes over
    /// `context.info`, which the caller has retained, unless it fails. The caller holds `PortRegistry.namesMutex`.
    static func createLocal(_ name: StringPointer?, _ callout: @escaping MessagePortStorage.Callout, _ context: ClientContext)
        -> MessagePortPointer?
    {
        guard let port = allocate() else { return nil }
        port.initialize(to: MessagePortStorage(nil, of: PacketSocket.own.user, callout, context))
        if let name, !port.claimName(name) {
            // Without invalidating it: the caller keeps the info.
            port.base.releaseInternal()
            return nil
        }
        LastReplies.prepareExit()
        PortRegistry.insert(port.base)
        return port
    }

    // MARK: connections

    /// Calls `body` for each connection in the port's list, open or closed, with a reference during the call. Skips connections that are
    /// being freed. Any thread; call without the mutex held.
    @inline(never)
    func walkConnections(_ body: (ConnectionPointer) -> Void) {
        var last: ConnectionPointer?
        while let next = locked({
            (last.map { $0.pointee.following } ?? pointee.connections)?.first { $0.pointee.references.countUpUnlessZero() }
        }) {
            last?.release()
            last = next
            body(next)
        }
        last?.release()
    }

    // MARK: requests

    /// The perform function of the port's source: handles one request, and further ones as long as no client can observe that they are
    /// handled in the same pass. Loop thread only; call without a lock held. Calls the port's callback.
    func deliverRequests(_ portSource: PortSourcePointer) {
        guard let threadContext = ThreadContextPointer.current else { return }
        let loop = RunLoopPointer(threadContext)
        if pointee.mustFollow.load(ordering: .relaxed) != 0 {
            pointee.mustFollow.store(0, ordering: .relaxed)
            walkConnections { watch($0) }
        }
        var count = 0
        while let queued = queue.takeNext(portSource, inStream: count > 1) {
            count += 1
            deliver(RequestPointer(queued.content), on: loop)
            if !loop.mayContinue(portSource.pointee.source) { break }
        }
        if count == 0 { loop.pointee.performedNothing = true }
    }

    /// Calls the port's callback with a request, and releases the request. The result is sent as the reply, unless the callback has taken
    /// the request over. Loop thread only; call without a lock held.
    func deliver(_ request: RequestPointer, on loop: RunLoopPointer) {
        guard let callout = pointee.callout, base.beginCall() else {
            // The port has just become invalid. The connection is closed first, so that the sender learns this, rather than that there is
            // no reply.
            request.pointee.connection.close()
            _ = request.release()
            return
        }
        // Constant while the call is under way.
        let context = pointee.base.context
        let info = context.retain == nil ? context.info : context.retained()
        request.pointee.outer = loop.pointee.requestInCallback.map { RequestPointer($0) }
        loop.pointee.requestInCallback = UnsafeMutableRawPointer(request)
        Probe.report(.received, .messagePort, self, number: UInt(request.pointee.number))
        let result = loop.withCleanup(CleanupHandler(function: abandonRequest, object: self, part: request, info: info)) {
            RUNLOOP_IS_CALLING_OUT_TO_A_MESSAGE_PORT_CALLBACK_FUNCTION(
                handle, UInt(UInt32(bitPattern: request.pointee.messageID)), request.pointee.data.handle, info, callout)
        }
        loop.pointee.requestInCallback = UnsafeMutableRawPointer(request.pointee.outer)
        if context.retain != nil { context.released(info) }
        var reply: DataPointer?
        if result != nil { reply = Handle.borrow(result, "RLMessagePortCallBack", "return value") }
        if request.pointee.id != 0 && !request.pointee.isTaken { _ = request.reply(reply) }
        reply?.release()
        base.endCall()
        _ = request.release()
    }

    /// The request that the port's callback is handling on the calling thread; nil outside of that callback. Any thread.
    var currentRequest: RequestPointer? {
        var next = ThreadContextPointer.current.flatMap { RunLoopPointer($0).pointee.requestInCallback }.map { RequestPointer($0) }
        while let request = next, request.pointee.connection.pointee.port != self { next = request.pointee.outer }
        return next
    }

    /// In the child of a fork(): releases the requests that callbacks were handling on threads that do not exist here.
    func releaseAbandonedRequests() {
        while let cleanup = Registry.takeAbandonedCleanup(of: self) {
            if let request = cleanup.part, cleanup.calls(abandonRequest) { _ = RequestPointer(request).release() }
        }
    }
}

/// Cleanup of a thread that has ended inside a port's callback. The sender is notified that there will be no reply, unless the request was
/// taken over.
private func abandonRequest(_ port: UnsafeMutableRawPointer, _ request: UnsafeMutableRawPointer?, _ info: UnsafeMutableRawPointer?) {
    let port = MessagePortPointer(port)
    let request = RequestPointer(request)
    let context = port.base.context
    if context.retain != nil { context.released(info) }
    port.base.endCall()
    _ = request.release()
}

// Senders of this process signal the run loop source of a local port. The sources of its connections follow that source into every loop and
// mode.

extension MessagePortPointer {
    /// Makes the source of a connection be in the modes that the port's source is in, in one loop or in all. Two threads that add and remove
    /// the port's source may be here at the same time: the last one to check where that source is decides. If out of memory, signals the
    /// port's source, which tries again. Any thread; call without the lock of a port, connection or loop held.
    func watch(_ connection: ConnectionPointer, in loop: RunLoopPointer? = nil) {
        var isComplete = true
        queue.pointee.attachmentsMutex.lock()
        let leader = queue.sharedSource
        if let leader, let source = connection.sharedSource {
            isComplete = loop?.follow(leader, with: source) ?? RunLoopPointer.follow(leader, with: source)
            source.release()
        }
        queue.pointee.attachmentsMutex.unlock()
        if !isComplete {
            pointee.mustFollow.store(1, ordering: .relaxed)
            queue.signalSource()
        }
        // Without the mutex, since this may free the port.
        leader?.release()
    }
}
