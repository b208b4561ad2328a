import CLinux
import CRunLoop
import Synchronization

/// RLMessagePort, of either kind: a local one has a name and answers requests, a remote one stands for somebody's name and
/// sends them. A remote port whose name is served in this process is joined to the local one directly; otherwise
/// there is a connection between them.
///
/// Two counts. Clients' references are in the header: when the last goes, the port is invalidated. What the library itself
/// has of a port (its connections, requests, reply sources) are internal references; all clients' references together count as one of them. Sources in loops are
/// among the clients for the source that the client asked for, and among the library for the rest.
///
/// Guarded by `mutex` unless it says otherwise. No user code is called, and no lock of a loop taken, under it.
struct MessagePortStorage: ObjectStorage, Linked, ~Copyable {
    static var kind: Kind { .messagePort }
    typealias Callout = @convention(c) (OpaquePointer?, Int32, OpaquePointer?, UnsafeMutableRawPointer?) -> OpaquePointer?

    var header: ObjectHeader
    let internalReferences = Atomic<UInt32>(1)
    let isRemote: Bool
    /// Of a local port: other users may connect.
    var allowsOthers = false
    /// Of a remote port: whom it trusts to serve the name. Of a local one: who made it.
    let user: UInt32
    let callout: Callout?
    let mutex = Mutex()
    /// Retained. Changed by one thread at a time; nil for a local port without a name.
    var name: StringPointer?
    var isValid = true
    /// Empty once the port is invalid and its last function is over.
    var context: ClientContext
    var invalidation: PortStorage.InvalidationCallout?
    /// How many of the client's functions are running.
    var runningCalls: UInt32 = 0
    /// All connections, retained: those of a local port to its clients, and the one on which it listens; that of a remote port.
    var connections: ConnectionPointer?

    // Local ports.
    /// Requests from this process.
    var queue = PortQueue(capacity: PortStorage.defaultCapacity)
    var claim = NameServer.Claim.none
    /// Held while what follows from where the source is, in `sourceInfo` and for the connections, is brought up to date. Before all other locks but
    /// that of the names.
    let attachmentsMutex = Mutex()
    /// The source that the client asked for, and where it is. Under the senders' lock of the queue.
    var sourceInfo: MessagePortSourceInfoPointer?
    /// Remote ports of this process that are joined to this one, held.
    var joined: MessagePortPointer?
    /// Requests that are being handled, the latest first.
    var current: RequestPointer?

    // Remote ports.
    /// The local port of this process that this one is joined to, held.
    var local: MessagePortPointer?
    /// In the list of that one, under its mutex.
    var nextJoined: MessagePortPointer?
    /// The connection, as long as there is one.
    var connection: ConnectionPointer?
    /// Where replies are delivered.
    var replySources: ReplySourcePointer?
    /// Requests that wait for their replies, oldest first.
    var firstPending: PendingRequestPointer?
    var lastPending: PendingRequestPointer?
    var lastID: UInt32 = 0
    /// Requests to a port of this process that are answered later, and whose servers want to hear of this port's end.
    var requestInvalidations: RequestInvalidationPointer?

    /// In the list of all ports. Under the registry's mutex.
    var previous: MessagePortPointer?
    var following: MessagePortPointer?

    init(isRemote: Bool, name: StringPointer?, of user: UInt32, _ callout: Callout?, _ context: ClientContext) {
        header = ObjectHeader(.messagePort)
        self.isRemote = isRemote
        self.user = user
        self.name = name
        self.callout = callout
        self.context = context
    }
}

typealias MessagePortPointer = UnsafeMutablePointer<MessagePortStorage>

extension MessagePortPointer {
    /// See `PortPointer.queue`.
    @inline(__always)
    var queue: PortQueuePointer {
        let address: UnsafePointer<PortQueue> = withUnsafePointer(to: pointee.queue) { $0 }
        return PortQueuePointer(mutating: address)
    }

    // Not inlined, as several small things below: a system call is never far, and code has its price, too.

    /// Any thread.
    @inline(never)
    func lock() { pointee.mutex.lockInlined() }
    /// The thread that called `lock`.
    @inline(never)
    func unlock() { pointee.mutex.unlockInlined() }

    /// Runs `body` under the mutex.
    @inline(__always)
    func locked<Result>(_ body: () -> Result) -> Result {
        lock()
        let result = body()
        unlock()
        return result
    }

    /// A port in no list with one reference, which counts as the one internal reference; nil with ENOMEM. Retains the name.
    static func make(
        isRemote: Bool, _ name: StringPointer?, of user: UInt32, _ callout: MessagePortStorage.Callout?, _ context: ClientContext
    ) -> MessagePortPointer? {
        guard MessagePortRegistry.isPrepared,
            let memory = aligned_alloc(64, (MemoryLayout<MessagePortStorage>.size + 63) & ~63)
        else {
            systemError = ENOMEM
            return nil
        }
        name?.retain()
        let port = memory.bindMemory(to: MessagePortStorage.self, capacity: 1)
        port.initialize(to: MessagePortStorage(isRemote: isRemote, name: name, of: user, callout, context))
        return port
    }

    // MARK: references

    /// One more reference for somebody who has found the port in a list; false if the last one is gone.
    @inline(never)
    func retainIfAlive() -> Bool {
        var seen = pointee.header.references.load(ordering: .acquiring)
        while seen > 0 {
            let (done, now) = pointee.header.references.weakCompareExchange(
                expected: seen, desired: seen + 1, successOrdering: .acquiringAndReleasing, failureOrdering: .acquiring)
            if done { return true }
            seen = now
        }
        return false
    }

    /// One reference less; the last invalidates the port. Any thread; may call the client's functions. False if there was none.
    @inline(never)
    func release() -> Bool {
        if pointee.header.releaseUnlessLast() { return true }
        if pointee.header.references.load(ordering: .acquiring) == 0 { return false }
        invalidate()
        if pointee.header.release() { releaseInternal() }
        return true
    }

    /// One more reason of the library to keep the port. Whoever has one already may take another.
    @inline(never)
    func retainInternal() { pointee.internalReferences.countUp() }

    /// One reason less. Any thread.
    @inline(never)
    func releaseInternal() {
        if pointee.internalReferences.countDown() { destroy() }
    }

    private func destroy() {
        MessagePortRegistry.remove(self)
        pointee.header.tag = 0
        pointee.name?.release()
        deinitialize(count: 1)
        free(self)
    }

    // MARK: the end

    /// RLMessagePortInvalidate: the name is free, connections are cut, who waits hears of it. Any thread; calls the client's functions.
    @inline(never)
    func invalidate() {
        lock()
        let wasValid = pointee.isValid
        pointee.isValid = false
        if wasValid { pointee.runningCalls += 1 }
        let invalidation = pointee.invalidation
        unlock()
        if !wasValid { return }
        retainInternal()
        MessagePortRegistry.forget(self)
        if pointee.isRemote { closeRemote() } else { closeLocal() }
        while let connection = anyConnection { connection.close() }
        if let invalidation { callInvalidation(invalidation) }
        finish()
        releaseInternal()
    }

    /// The same for a client, whose reference its own function may give up. A thread that has a loop.
    func invalidateForClient() {
        guard let threadContext = ThreadContextPointer.current else { return }
        pointee.header.retain()
        let level = RunLoopPointer(threadContext).pushCleanup(
            CleanupHandler(function: { port, _, _ in abandonReference(port) }, object: self))
        invalidate()
        RunLoopPointer(threadContext).popCleanup(level)
        _ = release()
    }

    private func callInvalidation(_ invalidation: PortStorage.InvalidationCallout) {
        let loop = ThreadContextPointer.current.map { RunLoopPointer($0) }
        let level = loop?.pushCleanup(CleanupHandler(function: { port, _, _ in abandonInvalidation(port) }, object: self))
        RUNLOOP_IS_CALLING_OUT_TO_A_PORT_INVALIDATION_FUNCTION(invalidation, handle, locked { pointee.context.info })
        if let loop, let level { loop.popCleanup(level) }
    }

    /// Some connection, without a reference: only who closes them takes them out.
    private var anyConnection: ConnectionPointer? { locked { pointee.connections } }

    /// The client's function is about to be called with a request: what to hand to it. nil if the port has ended. Call
    /// `finish` afterwards.
    @inline(__always)
    func begin(_ request: RequestPointer) -> ClientContext? {
        pointee.mutex.lockInlined()
        var context: ClientContext?
        if pointee.isValid {
            pointee.runningCalls += 1
            request.pointee.threadContext = ThreadContextPointer.current
            request.pointee.outer = pointee.current
            pointee.current = request
            context = pointee.context
        }
        pointee.mutex.unlockInlined()
        return context
    }

    /// A client's function is over. The last one after invalidation releases the info.
    @inline(never)
    func finish() {
        lock()
        pointee.runningCalls -= 1
        let isLast = pointee.runningCalls == 0 && !pointee.isValid
        let context = pointee.context
        if isLast { pointee.context = .empty }
        unlock()
        if isLast { context.released(context.info) }
    }

    /// The same of one that handled a request.
    @inline(__always)
    func finishInlined(_ request: RequestPointer) {
        pointee.mutex.lockInlined()
        forget(request)
        let isLast = pointee.runningCalls == 1 && !pointee.isValid
        if !isLast { pointee.runningCalls -= 1 }
        pointee.mutex.unlockInlined()
        if isLast { finish() }
    }

    /// Whether this is somebody to be at the other end. Under the mutex.
    func accepts(_ peer: PacketSocket.Credentials) -> Bool { peer.user == pointee.user || pointee.allowsOthers }

    /// Any thread.
    var isValid: Bool { locked { pointee.isValid } }

    /// Any thread.
    var context: ClientContext { locked { pointee.context } }

    /// Any thread.
    var invalidation: PortStorage.InvalidationCallout? { locked { pointee.invalidation } }

    /// Calls the function at once if the port is invalid already. Any thread.
    func setInvalidation(_ invalidation: PortStorage.InvalidationCallout?) {
        lock()
        let isValid = pointee.isValid
        pointee.invalidation = invalidation
        let info = pointee.context.info
        unlock()
        if let invalidation, !isValid { RUNLOOP_IS_CALLING_OUT_TO_A_PORT_INVALIDATION_FUNCTION(invalidation, handle, info) }
    }
}

// fork(): see `MessagePortRegistry`.

extension MessagePortPointer {
    /// Keeps everybody out of the port's connections. Under the port's mutex.
    func lockConnections() {
        var next = pointee.connections
        while let connection = next {
            connection.pointee.mutex.lock()
            next = connection.pointee.following
        }
    }

    /// After it.
    func unlockConnections() {
        var next = pointee.connections
        while let connection = next {
            connection.pointee.mutex.unlock()
            next = connection.pointee.following
        }
    }

    /// The descriptors are the parent's too: they are closed here without the other ends hearing anything. The client's
    /// functions are not called.
    func endInChild() {
        var next = pointee.connections
        while let connection = next {
            connection.pointee.isOpen = false
            Descriptor.close(connection.pointee.fd)
            connection.pointee.fd = -1
            RequestInvalidationPointer.destroyAll(&connection.pointee.requestInvalidations)
            next = connection.pointee.following
        }
        NameServer.forget(pointee.claim)
        pointee.claim = .none
        RequestInvalidationPointer.destroyAll(&pointee.requestInvalidations)
        pointee.invalidation = nil
        pointee.context.release = nil
        invalidate()
    }
}

/// The thread has ended in a port's invalidation function.
private func abandonInvalidation(_ port: UnsafeMutableRawPointer) {
    let port: MessagePortPointer = Handle.storage(UnsafeRawPointer(port))
    port.finish()
    port.releaseInternal()
}

private func abandonReference(_ port: UnsafeMutableRawPointer) {
    let port: MessagePortPointer = Handle.storage(UnsafeRawPointer(port))
    _ = port.release()
}
