import CLinux
import CRunLoop
import Synchronization

/// RLMessagePortRequest: a request that a local port has received, until it is answered.
///
/// A request is answered once: by the result of the port's function; by RLMessagePortRequestReply, if the client has taken the request
/// over; or, when the last reference is released, by telling the sender that there will be no reply. `answered` decides which thread
/// answers; each other field says what may write it.
struct RequestStorage: ObjectStorage, Linked, ~Copyable {
    static var kind: Kind { .messagePortRequest }

    var header: ObjectHeader
    /// Chosen by the sender; 0 if it wants no reply.
    let id: UInt32
    let message: Int32
    /// How long the sender waits.
    let deadline: Instant
    /// The payload, retained.
    let data: DataPointer
    /// Where the request came from. Retained if it came from this process, or once the client has taken the request over; before, the
    /// source of the connection, which is being dispatched, keeps it.
    let connection: ConnectionPointer
    /// 1 once the request has been answered. Any thread.
    let answered = Atomic<UInt32>(0)
    /// 1 while the request is in its connection's list of those with an invalidation function. Written under the mutex of the connection,
    /// read by any thread.
    let isWatched = Atomic<UInt32>(0)
    /// The client has taken the request over, so the result of the port's function does not answer it. The thread of that function.
    var isTaken = false
    /// The thread that handles the request, and the next in the list of requests that the port is handling. Under the port's mutex.
    var threadContext: ThreadContextPointer?
    var outer: RequestPointer?
    // Under the mutex of the connection: what to call if the sender goes away, and the links of that list.
    var invalidation: PortStorage.InvalidationCallout?
    var invalidationInfo: UnsafeMutableRawPointer?
    var previous: RequestPointer?
    var following: RequestPointer?

    static let slab = Slab(size: 128)
}

typealias RequestPointer = UnsafeMutablePointer<RequestStorage>

extension RequestPointer {
    /// Creates a request with one reference; nil with ENOMEM. Takes over the caller's reference to the data, unless it fails. Any thread
    /// that has a context.
    static func make(_ frame: Frame, _ data: DataPointer, from connection: ConnectionPointer) -> RequestPointer? {
        guard let threadContext = ThreadContextPointer.current,
            let memory = RequestStorage.slab.allocate(threadContext)
        else {
            systemError = ENOMEM
            return nil
        }
        if connection.pointee.role == .inProcess { connection.retain() }
        let request = memory.bindMemory(to: RequestStorage.self, capacity: 1)
        request.initialize(
            to: RequestStorage(
                header: ObjectHeader(.messagePortRequest), id: frame.id, message: frame.message, deadline: frame.deadline,
                data: data, connection: connection))
        return request
    }

    /// The request in an entry of a queue.
    init(_ queued: QueuedMessage) { self = queued.content.unsafelyUnwrapped.assumingMemoryBound(to: RequestStorage.self) }

    /// Sends the reply; false if the request has been answered. Retains the data as long as it has to. Any thread, without a lock; may
    /// call user code if the connection ends.
    func reply(_ data: DataPointer?) -> Bool {
        guard claimReply() else { return false }
        sendReply(data)
        return true
    }

    /// Sends the reply of a request that no other thread can answer, or whose answer the caller has claimed. `isDropped`: says that there
    /// will be none.
    @inline(never)
    func sendReply(_ data: DataPointer?, isDropped: Bool = false) {
        if pointee.id == 0 { return }
        if Probe.isSet { probeReply() }
        if isDropped || (data.map { $0.pointee.count > Frame.lengthLimit } ?? false) { return sendNoReply() }
        if let remote = pointee.connection.pointee.remote {
            let reply = data?.lastingCopy()
            if data != nil && reply == nil { return sendNoReply() }
            remote.complete(pointee.id, .success, reply)
        } else {
            pointee.connection.send(Frame(kind: .reply, id: pointee.id, message: pointee.message), data)
        }
    }

    /// Lets the client have the request beyond the call of the port's function, with one more reference. The thread of that function.
    func takeOver() {
        if !pointee.isTaken {
            pointee.isTaken = true
            if pointee.connection.pointee.role == .server {
                pointee.connection.retain()
                pointee.connection.countTaken(1, bytes: pointee.data.pointee.capacity)
            }
        }
        retain()
    }

    /// Tells the sender that there will be no reply.
    private func sendNoReply() {
        if let remote = pointee.connection.pointee.remote {
            remote.complete(pointee.id, .transportError, nil)
        } else {
            pointee.connection.sendDropped(pointee.id)
        }
    }

    /// Frees a request that could not be sent; its sender gets the error code instead of a reply.
    func cancelUnsent() {
        _ = claimReply()
        _ = release()
    }

    /// Claims the right to answer; false if the request has been answered. Also clears the invalidation callback, and uncounts a request
    /// that was taken over.
    private func claimReply() -> Bool {
        if pointee.answered.exchange(1, ordering: .sequentiallyConsistent) != 0 { return false }
        cancelInvalidation()
        if pointee.isTaken && pointee.connection.pointee.role == .server {
            pointee.connection.countTaken(-1, bytes: pointee.data.pointee.capacity)
        }
        return true
    }

    /// Adds a reference. Any thread, lock-free.
    @inline(__always)
    func retain() { pointee.header.retain() }

    /// Releases a reference; false if there was none. The last one tells the sender of an unanswered request that there will be no reply.
    /// Any thread, without a lock; may call user code if the connection ends.
    @inline(never)
    func release() -> Bool {
        if pointee.header.releaseUnlessLast() { return true }
        if pointee.header.references.load(ordering: .acquiring) == 0 { return false }
        if claimReply() { sendReply(nil, isDropped: true) }
        if pointee.header.release() { destroy() }
        return true
    }

    /// Frees the request, to which there is no reference any more.
    @inline(never)
    func destroy() {
        pointee.header.tag = 0
        pointee.data.release()
        if pointee.isTaken || pointee.connection.pointee.role == .inProcess { pointee.connection.release() }
        RequestStorage.slab.deallocate(self)
    }

    /// How many seconds the sender goes on waiting; 0 if it has stopped. Reads the clock, and makes a system call if the sender is
    /// another process. Any thread, without a lock.
    var remainingSeconds: Double {
        @inline(never) get {
            if pointee.id == 0 { return .infinity }
            let now = pointee.deadline == .never ? Instant.distantPast : Clock.now
            if now >= pointee.deadline || !isAwaited { return 0 }
            return pointee.deadline == .never ? .infinity : Double(pointee.deadline.nanoseconds - now.nanoseconds) * 1e-9
        }
    }

    /// Whether the sender may still wait for the reply. A system call if it is another process. Any thread, without a lock.
    private var isAwaited: Bool {
        if pointee.answered.load(ordering: .acquiring) != 0 { return false }
        let connection = pointee.connection
        if let remote = connection.pointee.remote { return remote.isAwaiting(pointee.id) }
        return connection.locked { connection.isConnected }
    }

    // MARK: the sender goes away

    /// RLMessagePortRequestSetInvalidationCallBack: sets the function to call if the sender goes away, in place of an earlier one; nil for
    /// none. Calls it at once if the sender is gone already. Neither sets nor calls it if the request has been answered. Any thread,
    /// without a lock.
    func setInvalidation(_ callout: PortStorage.InvalidationCallout?, _ info: UnsafeMutableRawPointer?) {
        guard let callout else { return cancelInvalidation() }
        let connection = pointee.connection
        let isSet = connection.locked { () -> Bool in
            stopWatching()
            if !connection.isConnected { return false }
            pointee.invalidation = callout
            pointee.invalidationInfo = info
            link(into: &connection.pointee.watchedRequests)
            pointee.isWatched.store(1, ordering: .sequentiallyConsistent)
            return true
        }
        // Either this thread sees that the request is answered, or the thread that answers it sees the function.
        let isAnswered = pointee.answered.load(ordering: .sequentiallyConsistent) != 0
        if isAnswered { return cancelInvalidation() }
        if isSet { return }
        retain()
        callInvalidation(callout, info)
    }

    /// Calls an invalidation function, which is not set any more, and releases a reference.
    fileprivate func callInvalidation(_ callout: PortStorage.InvalidationCallout, _ info: UnsafeMutableRawPointer?) {
        RUNLOOP_IS_CALLING_OUT_TO_A_PORT_INVALIDATION_FUNCTION(handle, info, callout)
        _ = release()
    }

    /// Cancels the call of the function. One load if there is none. Any thread, without a lock.
    private func cancelInvalidation() {
        if pointee.isWatched.load(ordering: .sequentiallyConsistent) != 0 { pointee.connection.locked { stopWatching() } }
    }

    /// Takes the request out of the list of those with an invalidation function, if it is in it. Under the mutex of the connection.
    @inline(never)
    fileprivate func stopWatching() {
        if pointee.isWatched.load(ordering: .relaxed) == 0 { return }
        unlink(from: &pointee.connection.pointee.watchedRequests)
        pointee.isWatched.store(0, ordering: .sequentiallyConsistent)
    }
}

extension ConnectionPointer {
    /// Calls the invalidation functions of its requests, since the sender is gone. Any thread, without a lock; calls user code.
    func callRequestInvalidations() {
        lock()
        while let request = pointee.watchedRequests, let callout = request.pointee.invalidation {
            request.retain()
            request.stopWatching()
            let info = request.pointee.invalidationInfo
            unlock()
            request.callInvalidation(callout, info)
            lock()
        }
        unlock()
    }

    /// Cancels those calls, in a child of fork().
    func cancelRequestInvalidations() { while let request = pointee.watchedRequests { request.stopWatching() } }

    /// Whether the other end is still there. A system call if it is another process. Under the mutex.
    fileprivate var isConnected: Bool { pointee.isOpen && (pointee.fd < 0 || Descriptor.poll(pointee.fd, for: []).isEmpty) }
}

// What a probe is told of requests. Any thread, without a lock; calls user code.

extension MessagePortPointer {
    /// Tells the probe of a request that a process sends to the port, or of its reply, at either end. `process` is 0 for this one.
    @inline(__always)
    func tell(_ part: Probe.Part, _ kind: Probe.Kind, _ id: UInt32, of process: Int32 = 0) {
        tell(Probe.topic(part, kind), id, of: process)
    }

    @inline(never)
    private func tell(_ topic: UInt, _ id: UInt32, of process: Int32) {
        let hash = locked { pointee.name?.hashValue32 ?? 0 }
        let sender = process == 0 ? PacketSocket.ownProcess : process
        let hasReply: UInt = id == 0 ? 0 : 1
        Probe.tell(topic | hasReply << 32, self, nil, Probe.flow(process: sender, id, nameHash: hash))
    }

    /// Tells the probe that this port is about to handle a request.
    func probeReceived(_ request: RequestPointer) {
        tell(.received, .messagePort, request.pointee.id, of: request.pointee.connection.pointee.credentials.process)
    }
}

extension RequestPointer {
    private func probeReply() {
        pointee.connection.pointee.port.tell(.sent, .reply, pointee.id, of: pointee.connection.pointee.credentials.process)
    }
}
