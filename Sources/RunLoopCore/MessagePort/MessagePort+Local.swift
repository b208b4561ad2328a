import CLinux
import CRunLoop
import Synchronization

// A local port receives requests: from this process through its queue, from other processes through connections.

extension MessagePortPointer {
    /// RLMessagePortCreateLocal with a name that no other port of this process has. nil with errno. Takes over `context.info`, which the
    /// caller has retained, unless it fails. Under the registry's names.
    static func createLocal(_ name: StringPointer?, _ callout: @escaping MessagePortStorage.Callout, _ context: ClientContext)
        -> MessagePortPointer?
    {
        guard let port = make(isRemote: false, nil, of: PacketSocket.own.user, callout, context) else { return nil }
        if let name, !port.claimName(name) {
            port.pointee.context = .empty
            port.pointee.isValid = false
            port.releaseInternal()
            return nil
        }
        PortRegistry.insert(port.base)
        return port
    }

    /// Disconnects other users if they may not connect any more. Without a lock; calls user code.
    func closeUnauthorized() {
        closeConnections { connection in connection.pointee.role == .server && locked { !accepts(connection.pointee.credentials) } }
    }

    /// Closes the connections for which `condition` holds. Any thread, without a lock; calls user code.
    func closeConnections(where condition: (ConnectionPointer) -> Bool) {
        var connection: ConnectionPointer?
        while let next = nextConnection(&connection) { if condition(next) { next.close() } }
    }

    // MARK: connections

    /// The connection behind `connection` in the port's list, open or closed; pass a variable that is nil to get the first. The variable
    /// has a reference until it is nil again. Any thread, without the mutex.
    @inline(never)
    func nextConnection(_ connection: inout ConnectionPointer?) -> ConnectionPointer? {
        let last = connection
        connection = locked {
            let next = last.map { $0.pointee.following } ?? pointee.connections
            return next?.first { $0.pointee.references.countUpUnlessZero() }
        }
        last?.release()
        return connection
    }

    // MARK: requests

    /// The perform function of the port's source: handles one request, and further ones as long as a client cannot observe that they came
    /// in the same pass. The loop's thread, without a lock; calls the port's function.
    func deliverRequests(_ portSource: PortSourcePointer) {
        guard let threadContext = ThreadContextPointer.current else { return }
        let loop = RunLoopPointer(threadContext)
        portSource.resyncIfNeeded(on: loop)
        var count = 0
        while let queued = queue.takeNext(portSource, inStream: count > 1) {
            count += 1
            handle(RequestPointer(queued))
            guard let source = portSource.pointee.source, loop.mayContinue(source) else { break }
        }
        if count == 0 { loop.pointee.performedNothing = true }
    }

    /// Calls the port's function with a request, sends the result as its reply, and releases the request. The loop's thread, without a
    /// lock.
    func handle(_ request: RequestPointer) {
        guard let callout = pointee.callout, let context = beginCall(request) else {
            // The port has just become invalid: the sender is told that, not that there is no reply.
            request.pointee.connection.close()
            _ = request.release()
            return
        }
        let info = context.retain == nil ? context.info : context.retained()
        let loop = RunLoopPointer(request.pointee.threadContext.unsafelyUnwrapped)
        let level = loop.pushCleanup(
            CleanupHandler(function: { abandonRequest($0, $1, $2) }, object: self, part: request, info: info))
        if Probe.isSet { probeReceived(request) }
        let result = RUNLOOP_IS_CALLING_OUT_TO_A_MESSAGE_PORT_CALLBACK_FUNCTION(
            handle, request.pointee.message, request.pointee.data.handle, info, callout)
        loop.popCleanup(level)
        if context.retain != nil { context.released(info) }
        var reply: DataPointer?
        if result != nil { reply = Handle.borrow(result, "RLMessagePortCallBack", "the result") }
        if !request.pointee.isTaken { _ = request.reply(reply) }
        reply?.release()
        endCallInlined(request)
        _ = request.release()
    }

    /// Comes before a call of the port's function with a request. Returns the context to call it with; nil if the port is invalid.
    /// Afterwards comes `endCallInlined`.
    @inline(__always)
    func beginCall(_ request: RequestPointer) -> ClientContext? {
        pointee.mutex.lockInlined()
        var context: ClientContext?
        if pointee.isValid {
            pointee.runningCalls += 1
            request.pointee.threadContext = ThreadContextPointer.current
            request.pointee.outer = pointee.requestsInProgress
            pointee.requestsInProgress = request
            context = pointee.context
        }
        pointee.mutex.unlockInlined()
        return context
    }

    /// Ends a call of the port's function with a request.
    @inline(__always)
    func endCallInlined(_ request: RequestPointer) {
        pointee.mutex.lockInlined()
        removeInProgress(request)
        let isLast = pointee.runningCalls <= 1 && !pointee.isValid
        if !isLast { pointee.runningCalls -= 1 }
        pointee.mutex.unlockInlined()
        if isLast { endCall() }
    }

    /// The request that the port's function is handling on the calling thread; nil outside of that function. Any thread, without the
    /// mutex.
    var currentRequest: RequestPointer? {
        @inline(never) get {
            locked {
                var next = pointee.requestsInProgress
                while let request = next, request.pointee.threadContext != ThreadContextPointer.current { next = request.pointee.outer }
                return next
            }
        }
    }

    /// Ends the handling of a request. Under the mutex.
    func removeInProgress(_ request: RequestPointer) {
        if pointee.requestsInProgress == request {
            pointee.requestsInProgress = request.pointee.outer
            return
        }
        var next = pointee.requestsInProgress
        while let other = next {
            if other.pointee.outer == request { other.pointee.outer = request.pointee.outer }
            next = other.pointee.outer
        }
    }

    // MARK: invalidation

    /// The part of `invalidate` for local ports: closes the connections, drops the requests in the queue, and invalidates the source.
    /// Without a lock; calls user code.
    func closeLocal() {
        var drained = DrainedMessages()
        queue.lockBoth()
        queue.closeLocked(&drained)
        queue.unlockBoth()
        // Senders are told first that the port is invalid, and then that there is no reply.
        closeConnections { connection in connection.pointee.role == .inProcess }
        drained.forEach { _ = RequestPointer($0).release() }
        queue.invalidateSource()
        // No loop watches the sockets any more, so shutting them down wakes none.
        closeConnections { _ in true }
    }
}

/// Cleanup of a thread that ended inside a port's function: the sender is told that there is no reply, unless the client has taken the
/// request over.
private func abandonRequest(_ port: UnsafeMutableRawPointer, _ request: UnsafeMutableRawPointer?, _ info: UnsafeMutableRawPointer?) {
    let port = MessagePortPointer(port)
    let request: RequestPointer = Handle.storage(UnsafeRawPointer(request.unsafelyUnwrapped))
    let context = port.context
    if context.retain != nil { context.released(info) }
    port.endCallInlined(request)
    _ = request.release()
}

// The run loop source of a local message port. Senders of this process signal it; the sources of the port's connections follow it into
// every loop and mode.

extension MessagePortPointer {
    /// Watches all connections in a loop and mode if the port's source is there, or stops that. Two threads that add and remove the source
    /// may do this at once: each connection follows the last look at the source. Any thread, without a lock.
    func follow(_ change: PortSource.Change) {
        let attachment = change.attachment
        var connection: ConnectionPointer?
        while let next = nextConnection(&connection) {
            queue.pointee.attachmentsMutex.lock()
            if let source = next.sharedSource {
                let isThere = attachment.loop.contains(change.source, in: attachment.mode)
                if isThere { watch(source, at: attachment) } else { attachment.loop.remove(source, from: attachment.mode) }
                source.release()
            }
            queue.pointee.attachmentsMutex.unlock()
        }
    }

    /// Watches a new connection wherever the port's source is. Any thread, without a lock.
    func watch(_ connection: ConnectionPointer) {
        queue.pointee.attachmentsMutex.lock()
        if let source = connection.sharedSource {
            var index = Int.max
            while let attachment = queue.attachment(before: &index) {
                watch(source, at: attachment)
                attachment.mode.release()
            }
            source.release()
        }
        queue.pointee.attachmentsMutex.unlock()
    }

    /// Adds the source of a connection to a mode; if there is no memory for that, the port's source is signalled to try again.
    private func watch(_ source: SourcePointer, at attachment: PortSource.Attachment) {
        if !attachment.loop.add(source, in: attachment.mode), systemError == ENOMEM { queue.requestResync() }
    }
}
