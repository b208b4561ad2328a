import CLinux
import CRunLoop
import Synchronization

/// RLMessagePortRequest: a request that a local port has received, until it is answered.
///
/// A request is answered once: with the result of the port's callback; by RLMessagePortRequestReply, if the callback has taken the request
/// over (RLMessagePortCopyRequest); or, when the last reference is released, by reporting to the sender that there will be no reply.
/// `answered` decides which thread answers. Each other field states what guards it.
struct RequestStorage: ObjectStorage, Linked, CallbackInfo, ~Copyable {
    static var kind: Kind { .messagePortRequest }

    var header: ObjectHeader
    /// The request's ID, in the lower half, and the process that sent it, for the probe.
    let number: UInt64
    let messageID: Int32
    /// When the sender stops waiting.
    let deadline: Instant
    /// The payload, retained.
    let data: DataPointer
    /// The connection by which the request arrived. Retained.
    let connection: ConnectionPointer
    /// 1 once the request has been answered. Any thread.
    let answered = Atomic<UInt32>(0)
    /// The request was taken over, so the result of the port's callback is not its answer, and the program has a handle. Written only by the
    /// thread of that callback, before the program has the handle.
    var isTaken = false
    /// The next outer request that a callback is handling on the same thread, which alone touches this.
    var outer: RequestPointer?
    // Guarded by the connection's mutex: what to call if the sender goes away, and the links of the list of requests with such a callback,
    // in which the request is if it has one.
    var invalidation: PortHeader.InvalidationCallout?
    var invalidationInfo: UnsafeMutableRawPointer?
    var previous: RequestPointer?
    var following: RequestPointer?

    static let slab = Slab(size: 128)

    /// Chosen by the sender; 0 if it wants no reply.
    var id: UInt32 { UInt32(truncatingIfNeeded: number) }
}

typealias RequestPointer = UnsafeMutablePointer<RequestStorage>

extension RequestPointer {
    /// Creates a request with one reference. Returns nil with ENOMEM if out of memory. Takes over the caller's reference to the data,
    /// unless it fails. Any thread that has a context.
    static func make(_ frame: Frame, _ data: DataPointer, from connection: ConnectionPointer) -> RequestPointer? {
        guard let threadContext = ThreadContextPointer.current,
            let memory = RequestStorage.slab.allocate(threadContext)
        else {
            systemError = ENOMEM
            return nil
        }
        connection.retain()
        let sender = UInt64(UInt32(bitPattern: connection.pointee.credentials.process))
        let request = memory.bindMemory(to: RequestStorage.self, capacity: 1)
        request.initialize(
            to: RequestStorage(
                header: ObjectHeader(.messagePortRequest), number: sender << 32 | UInt64(frame.id), messageID: frame.messageID,
                deadline: frame.deadline, data: data, connection: connection))
        return request
    }

    /// Answers the request with `data`, which is retained as long as necessary. If `isDropped`, or if the data is too large or cannot be
    /// copied, reports that there will be no reply. If the sender wants none, sends nothing. Returns false if the request was answered
    /// before. Otherwise also clears the invalidation callback, and ends the counting of a request that was taken over. Any thread; call
    /// without a lock held. May call user code if the connection ends.
    @inline(never)
    func reply(_ data: DataPointer?, isDropped: Bool = false) -> Bool {
        if pointee.answered.exchange(1, ordering: .sequentiallyConsistent) != 0 { return false }
        let connection = pointee.connection
        if pointee.isTaken {
            connection.locked { cancelInvalidation() }
            connection.countUnanswered(-1, bytes: pointee.data.pointee.capacity)
        }
        if pointee.id == 0 { return true }
        Probe.report(.sent, .reply, connection.pointee.port, number: UInt(pointee.number))
        let isDropped = isDropped || (data.map { $0.pointee.count > Frame.lengthLimit } ?? false)
        if let remote = connection.pointee.remote {
            let reply = isDropped ? nil : data?.lastingCopy()
            let isLost = isDropped || data != nil && reply == nil
            _ = remote.locked { remote.completeLocked(pointee.id, isLost ? .transportError : .success, reply) }
        } else if isDropped {
            connection.send(Frame(kind: .dropped, id: pointee.id), nil)
        } else {
            connection.send(Frame(kind: .reply, id: pointee.id, messageID: pointee.messageID), data)
        }
        return true
    }

    /// RLMessagePortCopyRequest: keeps the request beyond the call of the port's callback, whose result is then not the answer, and adds a
    /// reference. Only the thread of that callback.
    func takeOver() {
        if !pointee.isTaken {
            pointee.isTaken = true
            pointee.connection.countUnanswered(1, bytes: pointee.data.pointee.capacity)
        }
        retain()
    }

    /// Adds a reference. Any thread, lock-free.
    func retain() { pointee.header.retain() }

    /// Releases a reference. Returns false if there was none. The last one reports to the sender of an unanswered request that there will
    /// be no reply. Any thread; call without a lock held. May call user code if the connection ends.
    @inline(never)
    func release() -> Bool {
        if pointee.header.releaseUnlessLast() { return true }
        if pointee.header.references.load(ordering: .acquiring) == 0 { return false }
        // For a request that was taken over, this also clears the invalidation callback and ends the counting.
        if pointee.id != 0 || pointee.isTaken { _ = reply(nil, isDropped: true) }
        if !pointee.header.releaseUnlisted() { return true }
        pointee.header.tag = 0
        pointee.data.release()
        pointee.connection.release()
        RequestStorage.slab.deallocate(self)
        return true
    }

    /// How many seconds the sender will still wait: 0 if it has stopped, infinity if it waits without limit or wants no reply. Reads the
    /// clock, and makes a system call if the sender is another process. Any thread; call without a lock held.
    var remainingSeconds: Double {
        if pointee.id == 0 { return .infinity }
        let now = pointee.deadline == .never ? Instant.distantPast : Clock.now
        if now >= pointee.deadline || pointee.answered.load(ordering: .acquiring) != 0 { return 0 }
        let (connection, id) = (pointee.connection, pointee.id)
        let isAwaited =
            connection.pointee.remote.map { remote in remote.locked { remote.pending(id) != nil } }
            ?? connection.locked { connection.isConnected }
        if !isAwaited { return 0 }
        return pointee.deadline == .never ? .infinity : Double(pointee.deadline.nanoseconds - now.nanoseconds) * 1e-9
    }

    // MARK: the sender goes away

    /// RLMessagePortRequestSetInvalidationCallBack: sets the callback for when the sender goes away, replacing any other; nil for none. If
    /// the sender is gone already, calls it immediately. If the request has been answered, neither sets nor calls it. Any thread; call
    /// without a lock held.
    func setInvalidation(_ callout: PortHeader.InvalidationCallout?, _ info: UnsafeMutableRawPointer?) {
        let connection = pointee.connection
        let mustCall = connection.locked { () -> Bool in
            cancelInvalidation()
            // Either this thread sees that the request is answered, or the thread that answers it sees the callback.
            if callout == nil || pointee.answered.load(ordering: .acquiring) != 0 { return false }
            if !connection.isConnected { return true }
            pointee.invalidation = callout
            pointee.invalidationInfo = info
            link(into: &connection.pointee.requestsWithInvalidation)
            return false
        }
        guard let callout, mustCall else { return }
        retain()
        callInvalidation(callout, info)
    }

    /// Calls an invalidation callback that is not set in the request, or not anymore, and releases a reference. Call without a lock held.
    fileprivate func callInvalidation(_ callout: PortHeader.InvalidationCallout, _ info: UnsafeMutableRawPointer?) {
        RUNLOOP_IS_CALLING_OUT_TO_A_PORT_INVALIDATION_FUNCTION(handle, info, callout)
        _ = release()
    }

    /// Clears the invalidation callback, if there is one, so that it is not called. The caller holds the connection's mutex.
    @inline(never)
    func cancelInvalidation() {
        if pointee.invalidation == nil { return }
        pointee.invalidation = nil
        unlink(from: &pointee.connection.pointee.requestsWithInvalidation)
    }
}

extension ConnectionPointer {
    /// Calls the invalidation callbacks of the connection's requests, because their sender is gone. Any thread; call without a lock held.
    /// Calls user code.
    func callRequestInvalidations() {
        pointee.mutex.lock()
        while let request = pointee.requestsWithInvalidation, let callout = request.pointee.invalidation {
            request.retain()
            request.cancelInvalidation()
            let info = request.pointee.invalidationInfo
            pointee.mutex.unlock()
            request.callInvalidation(callout, info)
            pointee.mutex.lock()
        }
        pointee.mutex.unlock()
    }
}
