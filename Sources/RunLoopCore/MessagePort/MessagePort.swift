import CLinux
import CRunLoop
import Synchronization

/// RLMessagePort, of either kind. A local port has a name and answers requests. A remote port stands for a name and sends requests to it:
/// if the name is served in this process the remote port is joined to the local one directly, otherwise it has a connection.
///
/// There are two counts. The header counts the references of clients; when the last is released, the port is invalidated. Internal
/// references are the library's own reasons to keep a port (connections, requests, reply sources), and all references of clients together
/// are one of them, which outlasts the last reference until no function of the client runs: such a function may retain the port again.
/// The source that a client has created for a port counts as a client.
///
/// Guarded by `mutex`, except for what says otherwise. Under the mutex no user code is called and no lock of a loop is taken.
struct MessagePortStorage: PortObject, Locked, ~Copyable {
    static var kind: Kind { .messagePort }
    typealias Callout = @convention(c) (OpaquePointer?, Int32, OpaquePointer?, UnsafeMutableRawPointer?) -> OpaquePointer?

    /// The queue has a local port's requests of this process.
    var base = PortHeader(
        .messagePort,
        PortHeader.Functions(
            deliver: {
                let portSource = PortSourcePointer(info: $0)
                MessagePortPointer(portSource.pointee.port).deliverRequests(portSource)
            }, release: { _ = MessagePortPointer($0).release() },
            follow: { MessagePortPointer($0).follow($1.load(as: PortSource.Change.self)) },
            fork: { MessagePortPointer($0).fork($1) }))
    let internalReferences = Atomic<UInt32>(1)
    let isRemote: Bool
    /// Local: other users may connect.
    var allowsOthers = false
    /// Remote: the user who is trusted to serve the name. Local: the user of this process.
    let user: UInt32
    let callout: Callout?
    let mutex = Mutex()
    /// Retained; nil for a local port without a name. Changed under the registry's names.
    var name: StringPointer?
    var isValid = true
    /// Empty once the port is invalid and the last call of its functions has returned.
    var context: ClientContext
    var invalidation: PortStorage.InvalidationCallout?
    /// How many calls of the client's functions are under way.
    var runningCalls: UInt32 = 0
    /// One of the internal references is that of all references of clients.
    var isKeptByClients = true
    /// The list of connections until they are freed, also of those that are closed: of a local port those to all its clients and the one
    /// that listens, of a remote port the one to another process.
    var connections: ConnectionPointer?

    // Local ports.
    /// The descriptors of the name.
    var claim = NameServer.Claim.none
    /// Of the connections whose clients wait for memory, the one that looks for it.
    var looking: ConnectionPointer?
    /// The list of requests that the port's function is handling, the latest first.
    var requestsInProgress: RequestPointer?

    // Remote ports.
    /// The connection to the local port, retained; nil once this one is invalid.
    var connection: ConnectionPointer?
    /// The list of the loops and modes where replies are delivered.
    var replySources: ReplySourcePointer?
    /// The requests that wait for their replies.
    var pending = LinkedQueue<PendingRequest>()
    /// The number of the latest request that wants a reply.
    var lastID: UInt32 = 0

    init(isRemote: Bool, name: StringPointer?, of user: UInt32, _ callout: Callout?, _ context: ClientContext) {
        self.isRemote = isRemote
        self.user = user
        self.name = name
        self.callout = callout
        self.context = context
    }
}

typealias MessagePortPointer = UnsafeMutablePointer<MessagePortStorage>

extension MessagePortPointer {
    /// Creates a port, which is in no list, with one reference and the internal reference that goes with it; nil with ENOMEM. Retains the
    /// name. Any thread.
    @inline(never)
    static func make(
        isRemote: Bool, _ name: StringPointer?, of user: UInt32, _ callout: MessagePortStorage.Callout?, _ context: ClientContext
    ) -> MessagePortPointer? {
        guard let port = allocate() else { return nil }
        name?.retain()
        port.initialize(to: MessagePortStorage(isRemote: isRemote, name: name, of: user, callout, context))
        return port
    }

    // MARK: references

    /// Releases a reference; the last one invalidates the port. False if there was none. Any thread, without a lock; may call user code.
    @inline(never)
    func release() -> Bool {
        if pointee.base.object.releaseUnlessLast() { return true }
        if pointee.base.object.references.load(ordering: .acquiring) == 0 { return false }
        // The call of a function that keeps the port may end on another thread.
        retainInternal()
        invalidate()
        if pointee.base.object.release(), locked({ takeReferenceOfClients() }) { releaseInternal() }
        releaseInternal()
        return true
    }

    /// Takes or gives up the internal reference that stands for all client references, once the port is invalid and no client function is
    /// running. True if it is now the caller's to release, since there are none. Under the mutex.
    @inline(never)
    private func takeReferenceOfClients() -> Bool {
        if pointee.isValid || pointee.runningCalls > 0 { return false }
        let isReferenced = pointee.base.object.references.load(ordering: .acquiring) > 0
        if isReferenced == pointee.isKeptByClients { return false }
        pointee.isKeptByClients = isReferenced
        if isReferenced { retainInternal() }
        return !isReferenced
    }

    /// Adds an internal reference. Any thread that has one, or a reference.
    @inline(never)
    func retainInternal() { pointee.internalReferences.countUp() }

    /// Releases an internal reference; the last one frees the port. Any thread, without a lock.
    @inline(never)
    func releaseInternal() {
        if !pointee.internalReferences.countDown() { return }
        let name = pointee.name
        deallocatePort()
        name?.release()
    }

    // MARK: invalidation

    /// RLMessagePortInvalidate: releases the name, closes the connections, and completes the requests that wait. Any thread, without a
    /// lock; calls user code. Releases `connection`, whose reference has kept the port alive until now.
    @inline(never)
    func invalidate(releasing connection: ConnectionPointer? = nil) {
        lock()
        let wasValid = pointee.isValid
        pointee.isValid = false
        if wasValid { pointee.runningCalls += 1 }
        let invalidation = pointee.invalidation
        unlock()
        // From here on the call that was counted keeps the port.
        connection?.release()
        if wasValid { end(invalidation) }
    }

    /// The rest of `invalidate`, which has counted a call; also the end of a port in a child of fork(), where `resetInChild` has counted
    /// the call. Without a lock; calls user code.
    @inline(never)
    private func end(_ invalidation: PortStorage.InvalidationCallout?) {
        retainInternal()
        releaseName()
        if pointee.isRemote {
            completeAll(with: .becameInvalid)
            closeConnection()
            removeIdleReplySources()
        } else {
            closeLocal()
        }
        if let invalidation { callInvalidation(invalidation) }
        endCall()
        releaseInternal()
    }

    /// Calls the invalidation function. `endCall` and `releaseInternal` follow.
    private func callInvalidation(_ invalidation: PortStorage.InvalidationCallout) {
        let loop = ThreadContextPointer.current.map { RunLoopPointer($0) }
        let level = loop?.pushCleanup(CleanupHandler(function: { port, _, _ in abandonInvalidation(port) }, object: self))
        RUNLOOP_IS_CALLING_OUT_TO_A_PORT_INVALIDATION_FUNCTION(handle, locked { pointee.context.info }, invalidation)
        if let loop, let level { loop.popCleanup(level) }
    }

    /// Ends a call of a client's function. The last one after the port was invalidated releases the info. Any thread that has an internal
    /// reference; may call user code.
    func endCall() {
        lock()
        // In a child of fork() some calls were not counted.
        if pointee.runningCalls > 0 { pointee.runningCalls -= 1 }
        let isLast = pointee.runningCalls == 0 && !pointee.isValid
        let context = pointee.context
        if isLast { pointee.context = .empty }
        let isUnreferenced = takeReferenceOfClients()
        unlock()
        if isUnreferenced { releaseInternal() }
        if isLast { context.released(context.info) }
    }

    /// Whether a process may be at the other end of a connection. Under the mutex.
    func accepts(_ peer: PacketSocket.Credentials) -> Bool { peer.user == pointee.user || pointee.allowsOthers }

    /// Whether the port has not been invalidated. Any thread.
    var isValid: Bool { locked { pointee.isValid } }

    /// The client's context; empty once the port is invalid and the last call of its functions has returned. Any thread.
    var context: ClientContext { locked { pointee.context } }

    /// The client's invalidation function, if there is one. Any thread.
    var invalidation: PortStorage.InvalidationCallout? { locked { pointee.invalidation } }

    /// Sets the invalidation function, and calls it at once if the port is invalid already. Any thread, without a lock.
    func setInvalidation(_ invalidation: PortStorage.InvalidationCallout?) {
        let mustCall = locked { () -> Bool in
            pointee.invalidation = invalidation
            if invalidation == nil || pointee.isValid { return false }
            pointee.runningCalls += 1
            retainInternal()
            return true
        }
        guard let invalidation, mustCall else { return }
        callInvalidation(invalidation)
        endCall()
        releaseInternal()
    }
}

// fork(): names and connections are the parent's, so in the child all message ports become invalid, and no function of a client is called.

extension MessagePortPointer {
    /// A step of a fork().
    func fork(_ step: UInt8) {
        switch PortHeader.ForkStep(rawValue: step) {
        case .lock:
            lock()
            queue.lockBoth()
            forEachConnection { $0.pointee.mutex.lock() }
        case .unlock:
            forEachConnection { $0.pointee.mutex.unlock() }
            queue.unlockBoth()
            unlock()
        case .reset: resetInChild()
        default: endInChild()
        }
    }

    /// Calls `body`, which must not free any, for all connections of the port. Under the mutex, or in a child of fork().
    func forEachConnection(_ body: (ConnectionPointer) -> Void) {
        var next = pointee.connections
        while let connection = next {
            body(connection)
            next = connection.pointee.following
        }
    }

    /// Forgets the calls of threads that do not exist, and everything that the parent would notice, also of ports that such a thread was
    /// invalidating. Keeps the port until `endInChild`.
    private func resetInChild() {
        retainInternal()
        pointee.isValid = false
        pointee.runningCalls = callsOfForker + 1
        pointee.invalidation = nil
        pointee.context.release = nil
        NameServer.closeInChild(pointee.claim)
        pointee.claim = .none
        forEachConnection { $0.resetInChild() }
    }

    /// Invalidates the port.
    private func endInChild() {
        // Before the connections go, as such a request does not keep its own.
        var next = pointee.requestsInProgress
        while let request = next {
            next = request.pointee.outer
            if request.pointee.threadContext == ThreadContextPointer.current { continue }
            removeInProgress(request)
            _ = request.release()
        }
        end(nil)
        releaseInternal()
    }
}

/// Cleanup of a thread that ended inside a port's invalidation function.
private func abandonInvalidation(_ port: UnsafeMutableRawPointer) {
    let port = MessagePortPointer(port)
    port.endCall()
    port.releaseInternal()
}

/// What has a mutex of its own.
protocol Locked: ~Copyable {
    var mutex: Mutex { get }
}

extension UnsafeMutablePointer where Pointee: Locked & ~Copyable {
    // Out of line: a system call is near, and code size counts as well.

    /// Takes the mutex. Any thread.
    @inline(never)
    func lock() { pointee.mutex.lockInlined() }
    /// Releases the mutex. The thread that took it.
    @inline(never)
    func unlock() { pointee.mutex.unlockInlined() }

    /// Runs `body` under the mutex. Any thread.
    func locked<Result>(_ body: () -> Result) -> Result {
        lock()
        let result = body()
        unlock()
        return result
    }
}
