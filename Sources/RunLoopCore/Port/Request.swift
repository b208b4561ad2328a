import CLinux
import CRunLoop
import Synchronization

/// RLMessagePortRequest: a request that a local port has received, until it is answered.
///
/// It is answered once: by what the port's function returns, by RLMessagePortRequestReply if the client took it over, or, when the
/// last reference goes, by telling the sender that there will be no answer. Nobody but its owner writes; `answered`
/// decides between threads.
struct RequestStorage: ObjectStorage, ~Copyable {
    static var kind: Kind { .messagePortRequest }

    var header: ObjectHeader
    /// Of the sender; 0 if it wants no reply.
    let id: UInt32
    let message: Int32
    /// Until when the sender waits.
    let deadline: Instant
    /// Retained.
    let data: DataPointer
    /// Where it came from, one of the two: retained once the request is taken, before that its source is being served; or held.
    let connection: ConnectionPointer?
    let remote: MessagePortPointer?
    /// 1 once somebody has answered. Any thread.
    let answered = Atomic<UInt32>(0)
    /// The address of its `RequestInvalidation`, 0 if there is none. Changed under the mutex of `connection` or `remote`, read by any thread.
    let invalidation = Atomic<UInt>(0)
    /// The client has it: what the port's function returns does not count. The thread of that function.
    var isTaken = false
    /// The thread whose function handles it, and what that thread, or another, handles besides. Under the port's mutex.
    var threadContext: ThreadContextPointer?
    var outer: RequestPointer?
}

typealias RequestPointer = UnsafeMutablePointer<RequestStorage>

extension RequestPointer {
    /// A request with one reference, which takes over the caller's reference to the data; nil with ENOMEM, and then it does not.
    @inline(never)
    static func make(_ frame: Frame, _ data: DataPointer, connection: ConnectionPointer?, remote: MessagePortPointer?) -> RequestPointer? {
        guard let threadContext = ThreadContextPointer.current,
            let memory = ThreadContext.requestSlab.allocate(&threadContext.pointee.requests)
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

    /// What a queue has in it.
    init(_ queued: QueuedMessage) { self = queued.content.unsafelyUnwrapped.assumingMemoryBound(to: RequestStorage.self) }

    /// Answers, unless somebody has: then false. Retains the data for as long as it needs it. Any thread.
    @inline(never)
    func answer(_ data: DataPointer?) -> Bool {
        guard claimAnswer() else { return false }
        respond(data)
        return true
    }

    /// The same for who alone has it.
    func respond(_ data: DataPointer?) {
        if pointee.id == 0 { return }
        if let data, data.pointee.count > Frame.lengthLimit { return refuse() }
        if let connection = pointee.connection {
            connection.sendInlined(
                Frame(
                    kind: .reply, payloadLocation: .absent, id: pointee.id, message: pointee.message, length: 0, deadline: .never),
                data)
        } else {
            let reply = data?.lastingCopy()
            if data != nil && reply == nil { return refuse() }
            pointee.remote.unsafelyUnwrapped.complete(pointee.id, .success, reply)
        }
    }

    /// It is the client's from now on, too. The thread whose function handles it.
    func take() {
        if !pointee.isTaken { pointee.connection?.retain() }
        pointee.isTaken = true
        retain()
    }

    /// Nobody is going to answer.
    private func drop() { if claimAnswer() && pointee.id != 0 { refuse() } }

    /// The sender hears that there is no answer.
    @inline(never)
    private func refuse() {
        if let connection = pointee.connection {
            connection.send(
                Frame(kind: .dropped, payloadLocation: .absent, id: pointee.id, message: 0, length: 0, deadline: .never), nil)
        } else {
            pointee.remote.unsafelyUnwrapped.complete(pointee.id, .transportError, nil)
        }
    }

    /// It was never sent: the sender knows.
    func cancelUnsent() {
        _ = claimAnswer()
        _ = release()
    }

    private func claimAnswer() -> Bool {
        if pointee.answered.exchange(1, ordering: .sequentiallyConsistent) != 0 { return false }
        cancelInvalidation()
        return true
    }

    /// One more reference. Any thread, lock-free.
    @inline(__always)
    func retain() { pointee.header.retain() }

    /// One reference less; without an answer the last tells the sender. Any thread. False if there was none.
    @inline(never)
    func release() -> Bool {
        if pointee.header.releaseUnlessLast() { return true }
        if pointee.header.references.load(ordering: .acquiring) == 0 { return false }
        drop()
        if pointee.header.release() { dispose() }
        return true
    }

    /// Nobody has it any more.
    @inline(never)
    func dispose() {
        pointee.header.tag = 0
        pointee.data.release()
        if pointee.isTaken { pointee.connection?.release() }
        pointee.remote?.releaseInternal()
        if let threadContext = ThreadContextPointer.current {
            ThreadContext.requestSlab.deallocate(self, &threadContext.pointee.requests)
        } else {
            ThreadContext.requestSlab.deallocateWithoutCache(self)
        }
    }

    /// For how long the sender waits still, in seconds; 0 if it does not any more. One clock read, and a system call if the sender is
    /// another process. Any thread.
    var remainingSeconds: Double {
        if pointee.id == 0 { return .infinity }
        let now = pointee.deadline == .never ? Instant.distantPast : Clock.now
        if now >= pointee.deadline || !isAwaited { return 0 }
        return pointee.deadline == .never ? .infinity : Double(pointee.deadline.nanoseconds - now.nanoseconds) * 1e-9
    }

    /// Who sent it. Any thread.
    var credentials: PacketSocket.Credentials { pointee.connection?.pointee.credentials ?? PacketSocket.own }
}
