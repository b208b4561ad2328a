import CLinux
import CRunLoop
import Synchronization

/// RLMessagePort, local or remote. A local port has a name and answers requests. A remote port stands for a name and sends requests to it,
/// through a `Connection` that has a socket only if another process serves the name.
///
/// There are two reference counts. The header counts the program's references; when the last one is released, the port is invalidated.
/// `internalReferences` counts the library's own reasons to keep the port: connections, requests, reply sources. When the last of these is
/// released, the port is freed. All references of the program together count as one internal reference, which stays until no callback of
/// the port is running, since a callback may retain the port again. The run loop source that the program has created counts as a reference
/// of the program.
///
/// Guarded by `mutex`, unless stated otherwise. Under the mutex no user code is called and no loop is locked.
struct MessagePortStorage: PortObject, Locked, ~Copyable {
    static var kind: Kind { .messagePort }
    typealias Callout = @convention(c) (OpaquePointer?, Int32, OpaquePointer?, UnsafeMutableRawPointer?) -> OpaquePointer?

    /// The queue of `base` contains the requests that are sent to a local port from this process.
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
    /// Local: processes of other users may connect.
    var allowsOthers = false
    /// Remote: the user who is trusted to serve the name. Local: this process's user.
    let user: UInt32
    let callout: Callout?
    let mutex = Mutex()
    /// Retained; nil for a local port without a name. Changed within `PortRegistry.withNames`, under the registry's mutex and `mutex`: each
    /// of the three is enough to read it.
    var name: StringPointer?
    var isValid = true
    /// Empty once the port is invalid and its last callback has returned.
    var context: ClientContext
    var invalidation: PortStorage.InvalidationCallout?
    /// How many of the port's callbacks are running; invalidating the port counts as one.
    var runningCalls: UInt32 = 0
    /// Whether one of the internal references stands for all references of the program.
    var isKeptByClients = true
    /// All connections, open or closed, until they are freed: of a local port the listener and those to its remote ports in all processes,
    /// of a remote port the one to another process.
    var connections: ConnectionPointer?

    // Local ports.
    /// The listening socket of the name and its locked file.
    var claim = NameServer.Claim.none
    /// Of the connections that wait for memory, the one that polls for it.
    var memoryPoller: ConnectionPointer?
    /// The requests that the port's callback is handling, on all threads and in nested runs, the latest first.
    var requestsInProgress: RequestPointer?

    // Remote ports.
    /// The connection to the local port; nil once this port is invalid. Retained.
    var connection: ConnectionPointer?
    /// One for each loop and mode in which replies are delivered.
    var replySources: ReplySourcePointer?
    /// The requests that wait for their replies, oldest first.
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
    /// Creates a port that is in no list, with one reference and the internal reference that stands for it. Returns nil with ENOMEM if out
    /// of memory. Retains the name. Any thread.
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

    /// Releases a reference; the last one invalidates the port. Returns false if there was none. Any thread; call without a lock held. May
    /// call user code.
    @inline(never)
    func release() -> Bool {
        if pointee.base.object.releaseUnlessLast() { return true }
        if pointee.base.object.references.load(ordering: .acquiring) == 0 { return false }
        // Keeps the port until this function returns. What keeps it otherwise may be a callback that returns on another thread.
        retainInternal()
        invalidate()
        if pointee.base.object.release(), locked({ takeReferenceOfClients() }) { releaseInternal() }
        releaseInternal()
        return true
    }

    /// Once the port is invalid and none of its callbacks is running, makes `isKeptByClients` agree with whether the program has
    /// references. Adds the internal reference that stands for them if they have come back. Returns true if there are none and that
    /// reference is the caller's to release. The caller holds the mutex.
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

    /// Releases an internal reference; the last one frees the port. Any thread; call without a lock of the port held.
    @inline(never)
    func releaseInternal() {
        if !pointee.internalReferences.countDown() { return }
        let name = pointee.name
        deallocatePort()
        name?.release()
    }

    // MARK: invalidation

    /// RLMessagePortInvalidate: releases the name, closes the connections, and completes the waiting requests. Releases `connection`, whose
    /// reference has kept the port alive until now. Any thread; call without a lock held. Calls user code.
    @inline(never)
    func invalidate(releasing connection: ConnectionPointer? = nil) {
        lock()
        let wasValid = pointee.isValid
        pointee.isValid = false
        if wasValid { pointee.runningCalls += 1 }
        let invalidation = pointee.invalidation
        unlock()
        // From here on the counted call keeps the port alive.
        connection?.release()
        if wasValid { end(invalidation) }
    }

    /// The rest of `invalidate`, which has counted a running call. Also ends a port in the child of a fork(), where `resetInChild` has
    /// counted the call. Call without a lock held; calls user code.
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

    /// Calls the invalidation callback. The caller then calls `endCall` and `releaseInternal`.
    private func callInvalidation(_ invalidation: PortStorage.InvalidationCallout) {
        let loop = ThreadContextPointer.current.map { RunLoopPointer($0) }
        let level = loop?.pushCleanup(CleanupHandler(function: { port, _, _ in abandonInvalidation(port) }, object: self))
        RUNLOOP_IS_CALLING_OUT_TO_A_PORT_INVALIDATION_FUNCTION(handle, locked { pointee.context.info }, invalidation)
        if let loop, let level { loop.popCleanup(level) }
    }

    /// Ends the call of one of the port's callbacks. The last one to end after the port was invalidated releases the info. Any thread that
    /// has an internal reference; call without a lock held. May call user code.
    func endCall() {
        lock()
        // In the child of a fork(), some calls were not counted.
        if pointee.runningCalls > 0 { pointee.runningCalls -= 1 }
        let isLast = pointee.runningCalls == 0 && !pointee.isValid
        let context = pointee.context
        if isLast { pointee.context = .empty }
        let isUnreferenced = takeReferenceOfClients()
        unlock()
        if isUnreferenced { releaseInternal() }
        if isLast { context.released(context.info) }
    }

    /// Whether a process may be at the other end of a connection. The caller holds the mutex.
    func accepts(_ peer: PacketSocket.Credentials) -> Bool { peer.user == pointee.user || pointee.allowsOthers }

    /// Whether the port is valid. Any thread; call without the mutex held.
    var isValid: Bool { locked { pointee.isValid } }

    /// The context that the program has passed; empty once the port is invalid and its last callback has returned. Any thread; call without
    /// the mutex held.
    var context: ClientContext { locked { pointee.context } }

    /// The invalidation callback, if there is one. Any thread; call without the mutex held.
    var invalidation: PortStorage.InvalidationCallout? { locked { pointee.invalidation } }

    /// Sets the invalidation callback, and calls it immediately if the port is invalid already. Any thread; call without a lock held.
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

// fork(): names and connections belong to the parent. In the child all message ports become invalid, and no callback is called.

extension MessagePortPointer {
    /// Performs one step of a fork(): see `PortHeader.ForkStep`.
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

    /// Calls `body` for all connections of the port. `body` must not free any. The caller holds the mutex, or is in the child of a fork().
    func forEachConnection(_ body: (ConnectionPointer) -> Void) {
        var next = pointee.connections
        while let connection = next {
            body(connection)
            next = connection.pointee.following
        }
    }

    /// Forgets the calls of threads that do not exist in the child, drops the port's callbacks, and closes its descriptors without the
    /// parent noticing. Also for a port that such a thread was invalidating. Keeps the port until `endInChild`.
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

    /// Invalidates the port, after all ports have been reset.
    private func endInChild() {
        // Before the connections are closed, since such a request does not retain its connection.
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

/// Cleanup of a thread that has ended inside a port's invalidation callback.
private func abandonInvalidation(_ port: UnsafeMutableRawPointer) {
    let port = MessagePortPointer(port)
    port.endCall()
    port.releaseInternal()
}

/// A type that has a mutex.
protocol Locked: ~Copyable {
    var mutex: Mutex { get }
}

extension UnsafeMutablePointer where Pointee: Locked & ~Copyable {
    // Not inlined: a system call is near anyway, and code size matters as well.

    /// Takes the mutex. Any thread.
    @inline(never)
    func lock() { pointee.mutex.lock() }
    /// Releases the mutex. Only the thread that took it.
    @inline(never)
    func unlock() { pointee.mutex.unlock() }

    /// Runs `body` under the mutex. Any thread.
    func locked<Result>(_ body: () -> Result) -> Result {
        lock()
        let result = body()
        unlock()
        return result
    }
}
