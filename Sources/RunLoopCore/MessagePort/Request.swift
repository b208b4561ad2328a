import CLinux
import CRunLoop
import Synchronization

/// RLMessagePortRequest: a request that a local port has received, until it is answered.
///
/// It is answered once: by the result of the port's function; by RLMessagePortRequestReply, if the client has taken the request over; or,
/// when the last reference is released, by telling the sender that there will be no reply. `answered` decides between threads; the other
/// fields are written as they say.
struct RequestStorage: ObjectStorage, ~Copyable {
    static var kind: Kind { .messagePortRequest }

    var header: ObjectHeader
    /// Chosen by the sender; 0 if it wants no reply.
    let id: UInt32
    let message: Int32
    /// How long the sender waits.
    let deadline: Instant
    /// The payload, retained.
    let data: DataPointer
    /// Where the request came from, one of the two. A connection is retained once the client has taken the request over; before, its
    /// source, which is being dispatched, keeps it. A remote port of this process is kept by an internal reference.
    let connection: ConnectionPointer?
    let remote: MessagePortPointer?
    /// 1 once the request has been answered. Any thread.
    let answered = Atomic<UInt32>(0)
    /// The address of its `RequestInvalidation`, 0 if there is none. Changed under the mutex of `connection` or `remote`, read by any thread.
    let invalidation = Atomic<UInt>(0)
    /// The client has taken the request over, so the result of the port's function does not answer it. The thread of that function.
    var isTaken = false
    /// The thread that handles the request, and the next in the list of requests that the port is handling. Under the port's mutex.
    var threadContext: ThreadContextPointer?
    var outer: RequestPointer?

    static let slab = Slab(size: 128)
}

typealias RequestPointer = UnsafeMutablePointer<RequestStorage>

extension RequestPointer {
    /// Creates a request with one reference; nil with ENOMEM. Takes over the caller's reference to the data, unless it fails. Any thread
    /// that has a context.
    static func make(_ frame: Frame, _ data: DataPointer, connection: ConnectionPointer?, remote: MessagePortPointer?) -> RequestPointer? {
        guard let threadContext = ThreadContextPointer.current,
            let memory = RequestStorage.slab.allocate(threadContext)
        else {
            systemError = ENOMEM
            return nil
        }
        remote?.retainInternal()
        let request = memory.bindMemory(to: RequestStorage.self, capacity: 1)
        request.initialize(
            to: RequestStorage(
                header: ObjectHeader(.messagePortRequest), id: frame.id, message: frame.message, deadline: frame.deadline,
                data: data, connection: connection, remote: remote))
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

    /// Sends the reply of a request that no other thread can answer, or whose answer the caller has claimed.
    func sendReply(_ data: DataPointer?) {
        if pointee.id == 0 { return }
        if let data, data.pointee.count > Frame.lengthLimit { return sendNoReply() }
        if let connection = pointee.connection {
            connection.sendInlined(
                Frame(
                    kind: .reply, payloadLocation: .absent, id: pointee.id, message: pointee.message, length: 0, deadline: .never),
                data)
        } else {
            let reply = data?.lastingCopy()
            if data != nil && reply == nil { return sendNoReply() }
            pointee.remote.unsafelyUnwrapped.complete(pointee.id, .success, reply)
        }
    }

    /// Lets the client have the request beyond the call of the port's function, with one more reference. The thread of that function.
    func takeOver() {
        if !pointee.isTaken {
            pointee.isTaken = true
            pointee.connection?.retain()
            pointee.connection?.countTaken(1, bytes: pointee.data.pointee.capacity)
        }
        retain()
    }

    /// Tells the sender, if the request is unanswered, that there will be no reply.
    private func dropUnanswered() { if claimReply() && pointee.id != 0 { sendNoReply() } }

    /// Tells the sender that there will be no reply.
    private func sendNoReply() {
        if let connection = pointee.connection {
            connection.send(
                Frame(kind: .dropped, payloadLocation: .absent, id: pointee.id, message: 0, length: 0, deadline: .never), nil)
        } else {
            pointee.remote.unsafelyUnwrapped.complete(pointee.id, .transportError, nil)
        }
    }

    /// Frees a request that could not be sent, as its sender reports itself.
    func cancelUnsent() {
        _ = claimReply()
        _ = release()
    }

    /// Marks the request as answered; false if it was.
    private func claimReply() -> Bool {
        if pointee.answered.exchange(1, ordering: .sequentiallyConsistent) != 0 { return false }
        cancelInvalidation()
        if pointee.isTaken { pointee.connection?.countTaken(-1, bytes: pointee.data.pointee.capacity) }
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
        dropUnanswered()
        if pointee.header.release() { destroy() }
        return true
    }

    /// Frees the request, to which there is no reference any more.
    @inline(never)
    func destroy() {
        pointee.header.tag = 0
        pointee.data.release()
        if pointee.isTaken { pointee.connection?.release() }
        pointee.remote?.releaseInternal()
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

    /// The process and user that sent the request. Any thread.
    var credentials: PacketSocket.Credentials { pointee.connection?.pointee.credentials ?? PacketSocket.own }
}
