import CLinux
import CRunLoop
import Synchronization

/// What a local port and its run loop source know of each other: the info of the source. Freed with the source.
struct MessagePortSourceInfo: ~Copyable {
    /// A loop and a mode in which the source is.
    struct Attachment: BitwiseCopyable {
        var loop: RunLoopPointer
        /// Retained.
        var mode: StringPointer
    }

    /// Retained, as by a client.
    let port: MessagePortPointer
    /// 1: there was no memory to watch all connections at all attachments. The source is signalled, to try again in the next pass. Any thread.
    let needsResync = Atomic<UInt32>(0)
    // Under the senders' lock of the port's queue.
    var source: SourcePointer?
    var attachments = PlainList<Attachment>()
}

typealias MessagePortSourceInfoPointer = UnsafeMutablePointer<MessagePortSourceInfo>

// A local port: requests come in, from this process through the queue, from others on connections.

extension MessagePortPointer {
    /// RLMessagePortCreateLocal with a name that no other port of this process has. `context.info` is retained already.
    /// nil with errno. Under the registry's names.
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

    /// Gives the port a name, instead of the one it may have. False with errno. Under the registry's names.
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
            locked { pointee.listener(of: old) }?.close()
            oldName.release()
        }
        watch(connection)
        connection.release()
        return true
    }

    /// Other users may connect from now on, or must not: then `closeUnauthorized` follows. False with errno. Under the registry's names.
    func setAllowsOthers(_ allows: Bool) -> Bool {
        let (name, claim) = locked { () -> (StringPointer?, NameServer.Claim) in
            pointee.allowsOthers = allows
            return (pointee.name, pointee.claim)
        }
        // Who is not allowed is not talked to, whatever the file's rights are.
        if let name, claim.lock >= 0, (try? NameServer.open(name, claim, toAll: allows)) == nil, allows {
            locked { pointee.allowsOthers = false }
            return false
        }
        return true
    }

    /// Disconnects other users if they may not connect any more. Without a lock: calls clients' functions.
    func closeUnauthorized() {
        while let connection = locked({ pointee.allowsOthers ? nil : pointee.unauthorizedConnection }) { connection.close() }
    }

    /// Whether data is the port's name.
    func isNamed(_ data: DataPointer?) -> Bool {
        guard let data else { return false }
        return locked {
            guard let name = pointee.name else { return false }
            return name.count == data.pointee.count && memcmp(name.pointee.bytes, data.bytes, name.count) == 0
        }
    }

    // MARK: connections

    /// Whoever waits on a connection must not be forgotten.
    @inline(never)
    func requestResync() {
        queue.lockSenders()
        if let sourceInfo = pointee.sourceInfo {
            sourceInfo.pointee.needsResync.store(1, ordering: .relaxed)
            signalAndWakeLocked(sourceInfo)
        }
        queue.unlockSenders()
    }

    /// What there was no memory for, perhaps in another mode than the one that is run.
    @inline(never)
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

    /// For a walk over all connections, some perhaps twice: the one behind `connection`, which is nil at first. The walk has a reference to it until
    /// that is nil again. Allocates nothing. Any thread.
    @inline(never)
    func nextConnection(_ connection: inout ConnectionPointer?) -> ConnectionPointer? {
        let last = connection
        connection = locked {
            let isThere = last != nil && (last == pointee.connections || last?.pointee.previous != nil)
            let next = isThere ? last?.pointee.following : pointee.connections
            next?.retain()
            return next
        }
        last?.release()
        return connection
    }

    // MARK: requests

    /// Puts a request of this process into the queue. The outcome is as for a port.
    func put(_ request: RequestPointer) -> PortQueue.Outcome {
        queue.lockSenders()
        let outcome = queue.putLocked(QueuedMessage(UnsafeMutableRawPointer(request)))
        if outcome == .queuedUnsignalled, let sourceInfo = pointee.sourceInfo { signalAndWakeLocked(sourceInfo) }
        queue.unlockSenders()
        return outcome
    }

    /// Under the senders' lock.
    @inline(never)
    private func signalAndWakeLocked(_ sourceInfo: MessagePortSourceInfoPointer) {
        sourceInfo.pointee.source?.signalSeldom()
        for index in 0..<sourceInfo.pointee.attachments.count { sourceInfo.pointee.attachments[index].loop.wakeUp() }
    }

    /// The perform function of the port's source: handles what is in the queue, as `PortPointer.deliverMessages`.
    func deliverRequests(_ sourceInfo: MessagePortSourceInfoPointer, on loop: RunLoopPointer) {
        if sourceInfo.pointee.needsResync.load(ordering: .relaxed) != 0 { resync(sourceInfo, on: loop) }
        var count = 0
        while let request = takeNext(sourceInfo, after: count) {
            count += 1
            handle(request)
            guard let source = sourceInfo.pointee.source, loop.mayGoOn(source) else { break }
        }
        if count == 0 { loop.pointee.performedNothing = true }
    }

    private func takeNext(_ sourceInfo: MessagePortSourceInfoPointer, after count: Int) -> RequestPointer? {
        queue.lockReceivers()
        let request = queue.takeLocked(inStream: count > 1) { _ = pointee.sourceInfo?.pointee.source?.takeSignal() }
        if request != nil, let source = sourceInfo.pointee.source, !source.isSignalled { source.signal() }
        queue.unlockReceivers()
        queue.wakeSenders()
        return request.map { RequestPointer($0) }
    }

    /// Calls the port's function with a request, answers it with what that returns, and gives the request back.
    func handle(_ request: RequestPointer) {
        guard let callout = pointee.callout, let context = begin(request) else {
            // The port has just ended: that is what its sender hears, not that there is no answer.
            request.pointee.connection?.close()
            request.pointee.remote?.invalidate()
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
        // No other thread can answer a request that the client has not taken: neither here nor below does it take an atomic step.
        if !request.pointee.isTaken { request.respond(reply) }
        reply?.release()
        finishInlined(request)
        if request.pointee.isTaken { _ = request.release() } else { request.dispose() }
    }

    /// The request that the calling thread's function is about; nil outside. Any thread.
    var currentRequest: RequestPointer? {
        locked {
            var next = pointee.current
            while let request = next, request.pointee.threadContext != ThreadContextPointer.current { next = request.pointee.outer }
            return next
        }
    }

    /// Under the mutex.
    func forget(_ request: RequestPointer) {
        if pointee.current == request {
            pointee.current = request.pointee.outer
            return
        }
        var next = pointee.current
        while let other = next {
            if other.pointee.outer == request { other.pointee.outer = request.pointee.outer }
            next = other.pointee.outer
        }
    }

    // MARK: the end

    /// Requests that were not handled are dropped, remote ports that are joined to this one end.
    func closeLocal() {
        var drained = DrainedMessages()
        queue.lockBoth()
        queue.closeLocked(&drained)
        var source = pointee.sourceInfo?.pointee.source
        if let some = source, !some.retainIfAlive() { source = nil }
        queue.unlockBoth()
        // First they hear that the port has ended, then that nobody answers.
        while let remote = locked({ takeJoined() }) {
            remote.invalidate()
            remote.releaseInternal()
        }
        drained.forEach { _ = RequestPointer($0).release() }
        if let source {
            RunLoopPointer.invalidate(source)
            source.release()
        }
    }

    private func takeJoined() -> MessagePortPointer? {
        guard let remote = pointee.joined else { return nil }
        pointee.joined = remote.pointee.nextJoined
        remote.pointee.nextJoined = nil
        return remote
    }
}

extension MessagePortStorage {
    /// The connection that listens on a claim's socket. Under the mutex.
    fileprivate func listener(of claim: NameServer.Claim) -> ConnectionPointer? {
        var next = connections
        while let connection = next, connection.pointee.fd != claim.listener { next = connection.pointee.following }
        return next
    }

    /// A connection to another user. Under the mutex.
    fileprivate var unauthorizedConnection: ConnectionPointer? {
        var next = connections
        while let connection = next, connection.pointee.credentials.user == user { next = connection.pointee.following }
        return next
    }
}

extension MessagePortSourceInfo {
    /// Under the senders' lock.
    @inline(never)
    func index(of attachment: Attachment) -> Int? {
        for index in 0..<attachments.count
        where attachments[index].loop == attachment.loop && attachments[index].mode.equals(attachment.mode) { return index }
        return nil
    }
}

/// The thread has ended in a port's function: the sender hears that there is no answer, unless the client has taken the request.
private func abandonRequest(_ port: UnsafeMutableRawPointer, _ request: UnsafeMutableRawPointer?, _ info: UnsafeMutableRawPointer?) {
    let port: MessagePortPointer = Handle.storage(UnsafeRawPointer(port))
    let request: RequestPointer = Handle.storage(UnsafeRawPointer(request.unsafelyUnwrapped))
    let context = port.context
    if context.retain != nil { context.released(info) }
    port.finishInlined(request)
    _ = request.release()
}
