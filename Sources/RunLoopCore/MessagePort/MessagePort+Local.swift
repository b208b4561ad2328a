import CLinux
import CRunLoop
import Synchronization

/// The info of a local port's run loop source: connects the two. Freed with the source.
struct MessagePortSourceInfo: ~Copyable {
    /// A loop and a mode that the source is in.
    struct Attachment: BitwiseCopyable {
        var loop: RunLoopPointer
        /// Retained.
        var mode: StringPointer
    }

    /// Retained, like a client's reference.
    let port: MessagePortPointer
    /// 1 if there was no memory to watch all connections wherever the source is. The source is then signalled, to try again in the next
    /// pass. Any thread.
    let needsResync = Atomic<UInt32>(0)
    // Under the senders' lock of the port's queue.
    var source: SourcePointer?
    /// Where the source is, so that senders know which loops to wake, and the sources of connections where to go.
    var attachments = PlainList<Attachment>()
}

typealias MessagePortSourceInfoPointer = UnsafeMutablePointer<MessagePortSourceInfo>

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
        MessagePortRegistry.insert(port)
        return port
    }

    /// Gives the port a name, in place of the one that it may have. False with errno. Under the registry's names.
    func claimName(_ name: StringPointer) -> Bool {
        guard let claim = try? NameServer.claim(name, isForAll: pointee.allowsOthers) else { return false }
        guard let connection = ConnectionPointer.make(.listener, claim.listener, self) else {
            NameServer.release(name, NameServer.Claim(listener: -1, lock: claim.lock))
            systemError = ENOMEM
            return false
        }
        let old = pointee.claim
        let oldName = pointee.name
        oldName?.retain()
        MessagePortRegistry.setName(self, name, claim)
        if let oldName {
            NameServer.release(oldName, old)
            closeConnections { $0.pointee.role == .listener && $0.pointee.fd == old.listener }
            oldName.release()
        }
        watch(connection)
        connection.release()
        return true
    }

    /// Lets other users connect, or forbids it; in the second case the caller goes on with `closeUnauthorized`. False with errno. Under
    /// the registry's names.
    func setAllowsOthers(_ allows: Bool) -> Bool {
        let (name, claim) = locked { () -> (StringPointer?, NameServer.Claim) in
            pointee.allowsOthers = allows
            return (pointee.name, pointee.claim)
        }
        // `accepts` keeps unauthorized users out even if the file's mode could not be changed.
        if let name, claim.lock >= 0, (try? NameServer.open(name, claim, toAll: allows)) == nil, allows {
            locked { pointee.allowsOthers = false }
            return false
        }
        return true
    }

    /// Disconnects other users if they may not connect any more. Without a lock; calls user code.
    func closeUnauthorized() {
        closeConnections { connection in connection.pointee.role == .server && locked { !accepts(connection.pointee.credentials) } }
    }

    /// Closes the connections for which `condition` holds. Any thread, without a lock; calls user code.
    private func closeConnections(where condition: (ConnectionPointer) -> Bool) {
        var connection: ConnectionPointer?
        while let next = nextConnection(&connection) { if condition(next) { next.close() } }
    }

    /// Whether the bytes of `data` are the port's name. Any thread, without the mutex.
    func isNamed(_ data: DataPointer?) -> Bool {
        guard let data else { return false }
        return locked {
            guard let name = pointee.name else { return false }
            return name.count == data.pointee.count && memcmp(name.pointee.bytes, data.bytes, name.count) == 0
        }
    }

    // MARK: connections

    /// There was no memory to watch a connection somewhere: lets the port's loops try again, lest its requests are never received. Any
    /// thread, without the senders' lock.
    @inline(never)
    func requestResync() {
        queue.lockSenders()
        if let sourceInfo = pointee.sourceInfo {
            sourceInfo.pointee.needsResync.store(1, ordering: .relaxed)
            signalAndWakeLocked(sourceInfo)
        }
        queue.unlockSenders()
    }

    /// Tries again what there was no memory for, in all modes of the loop: the mode in question may not be the one that runs.
    private func resync(_ sourceInfo: MessagePortSourceInfoPointer, on loop: RunLoopPointer) {
        sourceInfo.pointee.needsResync.store(0, ordering: .relaxed)
        var number = loop.locked { loop.pointee.modes.count }
        while number > 1 {
            number -= 1
            if let source = sourceInfo.pointee.source, let name = loop.locked({ loop.pointee.modes[number]?.pointee.name }),
                loop.contains(source, in: name)
            {
                update(sourceInfo, at: MessagePortSourceInfo.Attachment(loop: loop, mode: name))
            }
        }
    }

    /// The connection behind `connection` in the port's list; pass a variable that is nil to get the first. For a walk over all of them,
    /// which may visit some twice and allocates nothing. The variable has a reference until it is nil again. Any thread, without the
    /// mutex.
    @inline(never)
    func nextConnection(_ connection: inout ConnectionPointer?) -> ConnectionPointer? {
        let last = connection
        connection = locked {
            let isListed = last != nil && (last == pointee.connections || last?.pointee.previous != nil)
            let next = isListed ? last?.pointee.following : pointee.connections
            next?.retain()
            return next
        }
        last?.release()
        return connection
    }

    // MARK: requests

    /// Puts a request of this process into the queue; signals the source and wakes its loops if that is not done yet. Any thread.
    func enqueue(_ request: RequestPointer) -> PortQueue.Outcome {
        queue.lockSenders()
        let outcome = queue.putLocked(QueuedMessage(UnsafeMutableRawPointer(request)))
        if outcome == .queuedUnsignalled, let sourceInfo = pointee.sourceInfo { signalAndWakeLocked(sourceInfo) }
        queue.unlockSenders()
        return outcome
    }

    /// Makes the loops perform the port's source. Under the senders' lock.
    @inline(never)
    private func signalAndWakeLocked(_ sourceInfo: MessagePortSourceInfoPointer) {
        sourceInfo.pointee.source?.signalSlow()
        for index in 0..<sourceInfo.pointee.attachments.count { sourceInfo.pointee.attachments[index].loop.wakeUp() }
    }

    /// The perform function of the port's source: handles one request, and further ones as long as a client cannot observe that they came
    /// in the same pass. The loop's thread, without a lock; calls the port's function.
    func deliverRequests(_ sourceInfo: MessagePortSourceInfoPointer, on loop: RunLoopPointer) {
        if sourceInfo.pointee.needsResync.load(ordering: .relaxed) != 0 { resync(sourceInfo, on: loop) }
        var count = 0
        while let request = takeNext(sourceInfo, after: count) {
            count += 1
            handle(request)
            guard let source = sourceInfo.pointee.source, loop.mayContinue(source) else { break }
        }
        if count == 0 { loop.pointee.performedNothing = true }
    }

    /// Takes the next request out of the queue; nil if there is none. Leaves the source signalled if there was one, for a nested run and
    /// for requests that arrive meanwhile.
    private func takeNext(_ sourceInfo: MessagePortSourceInfoPointer, after count: Int) -> RequestPointer? {
        queue.lockReceivers()
        let request = queue.takeLocked(inStream: count > 1) { _ = pointee.sourceInfo?.pointee.source?.takeSignal() }
        if request != nil, let source = sourceInfo.pointee.source, !source.isSignalled { source.signal() }
        queue.unlockReceivers()
        queue.wakeSenders()
        return request.map { RequestPointer($0) }
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
        let result = RUNLOOP_IS_CALLING_OUT_TO_A_MESSAGE_PORT_CALLBACK_FUNCTION(
            callout, handle, request.pointee.message, request.pointee.data.handle, info)
        loop.popCleanup(level)
        if context.retain != nil { context.released(info) }
        var reply: DataPointer?
        if result != nil { reply = Handle.borrow(result, "RLMessagePortCallBack", "the result") }
        // As long as the client has not taken the request over, only this thread has it, so replying and freeing take no atomic step.
        if !request.pointee.isTaken { request.sendReply(reply) }
        reply?.release()
        endCallInlined(request)
        if request.pointee.isTaken { _ = request.release() } else { request.destroy() }
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
        var source = pointee.sourceInfo?.pointee.source
        if let some = source, !some.retainIfAlive() { source = nil }
        queue.unlockBoth()
        // Senders are told first that the port is invalid, and then that there is no reply.
        closeConnections { _ in true }
        drained.forEach { _ = RequestPointer($0).release() }
        if let source {
            RunLoopPointer.invalidate(source)
            source.release()
        }
    }
}

extension MessagePortSourceInfo {
    /// The index of an attachment in the list; nil if it is not there. Under the senders' lock.
    func index(of attachment: Attachment) -> Int? {
        for index in 0..<attachments.count
        where attachments[index].loop == attachment.loop && attachments[index].mode.equals(attachment.mode) { return index }
        return nil
    }
}

/// Cleanup of a thread that ended inside a port's function: the sender is told that there is no reply, unless the client has taken the
/// request over.
private func abandonRequest(_ port: UnsafeMutableRawPointer, _ request: UnsafeMutableRawPointer?, _ info: UnsafeMutableRawPointer?) {
    let port: MessagePortPointer = Handle.storage(UnsafeRawPointer(port))
    let request: RequestPointer = Handle.storage(UnsafeRawPointer(request.unsafelyUnwrapped))
    let context = port.context
    if context.retain != nil { context.released(info) }
    port.endCallInlined(request)
    _ = request.release()
}
