import CLinux
import CRunLoop
import Synchronization

/// The function that a server wants called if the client of a request goes away: RLMessagePortRequestSetInvalidationCallBack.
///
/// It is in a list of where the request came from: the connection or, within the process, the remote port, whose mutex guards it. The
/// thread that takes it out of the list frees it. That happens at the latest when the request is answered, so the request outlives it.
struct RequestInvalidation: Linked, ~Copyable {
    typealias Callout = PortStorage.InvalidationCallout

    let request: RequestPointer
    let callout: Callout
    let info: UnsafeMutableRawPointer?
    var previous: RequestInvalidationPointer?
    var following: RequestInvalidationPointer?
}

typealias RequestInvalidationPointer = UnsafeMutablePointer<RequestInvalidation>

extension RequestInvalidationPointer {
    /// Takes the first one out of a list, with a reference to its request for the caller; nil if the list is empty. Under the mutex.
    @inline(never)
    static func take(from first: inout RequestInvalidationPointer?) -> RequestInvalidationPointer? {
        guard let invalidation = first else { return nil }
        invalidation.pointee.request.retain()
        invalidation.unlink(from: &first)
        invalidation.pointee.request.pointee.invalidation.store(0, ordering: .sequentiallyConsistent)
        return invalidation
    }

    /// Calls the function and frees this, which is in no list, with the reference to the request. Without a lock.
    @inline(never)
    func call() {
        let request = pointee.request
        let (callout, info) = (pointee.callout, pointee.info)
        destroy()
        RUNLOOP_IS_CALLING_OUT_TO_A_PORT_INVALIDATION_FUNCTION(callout, request.handle, info)
        _ = request.release()
    }

    /// Frees one that is in no list.
    func destroy() {
        deinitialize(count: 1)
        free(self)
    }

    /// In a child of fork(): frees a list without calling the functions. Under the mutex.
    static func destroyAll(_ first: inout RequestInvalidationPointer?) {
        while let invalidation = first {
            invalidation.unlink(from: &first)
            invalidation.pointee.request.pointee.invalidation.store(0, ordering: .relaxed)
            invalidation.destroy()
        }
    }
}

extension ConnectionPointer {
    /// Calls the functions because the connection was closed. Any thread, without a lock; calls user code.
    func callRequestInvalidations() {
        while let invalidation = locked({ RequestInvalidationPointer.take(from: &pointee.requestInvalidations) }) { invalidation.call() }
    }

    /// Whether the client is still there. A system call. Under the mutex.
    fileprivate var isConnected: Bool { pointee.isOpen && Descriptor.poll(pointee.fd, for: []).isEmpty }
}

extension MessagePortPointer {
    /// Calls the functions because the remote port has become invalid. Any thread, without a lock; calls user code.
    func callRequestInvalidations() {
        while let invalidation = locked({ RequestInvalidationPointer.take(from: &pointee.requestInvalidations) }) { invalidation.call() }
    }

    /// Whether a request with this number waits for its reply. O(number of waiting requests). Any thread, without the mutex.
    @inline(never)
    func isAwaiting(_ id: UInt32) -> Bool {
        locked {
            var next = pointee.firstPending
            while let pending = next, pending.pointee.id != id { next = pending.pointee.following }
            return next != nil
        }
    }
}

extension RequestPointer {
    /// Sets the function to call if the client goes away, in place of an earlier one; nil for none. Calls it at once if the client is
    /// gone already. False with ENOMEM. Any thread, without a lock.
    func setInvalidation(_ callout: RequestInvalidation.Callout?, _ info: UnsafeMutableRawPointer?) -> Bool {
        guard let callout else {
            cancelInvalidation()
            return true
        }
        guard let memory = malloc(MemoryLayout<RequestInvalidation>.size) else {
            systemError = ENOMEM
            return false
        }
        let invalidation = memory.bindMemory(to: RequestInvalidation.self, capacity: 1)
        invalidation.initialize(to: RequestInvalidation(request: self, callout: callout, info: info))
        var old: RequestInvalidationPointer?
        let isLinked = lockedSender { () -> Bool in
            old = unlinkInvalidation()
            if !isSenderOpen { return false }
            if let connection = pointee.connection {
                invalidation.link(into: &connection.pointee.requestInvalidations)
            } else {
                invalidation.link(into: &pointee.remote.unsafelyUnwrapped.pointee.requestInvalidations)
            }
            pointee.invalidation.store(UInt(bitPattern: invalidation), ordering: .sequentiallyConsistent)
            return true
        }
        old?.destroy()
        let isAnswered = pointee.answered.load(ordering: .sequentiallyConsistent) != 0
        if isLinked {
            // Either this thread sees that the request is answered, or the thread that answers it sees the function.
            if isAnswered { cancelInvalidation() }
        } else if isAnswered {
            invalidation.destroy()
        } else {
            retain()
            invalidation.call()
        }
        return true
    }

    /// Cancels the call of the function. One load if there is none. Any thread, without a lock.
    func cancelInvalidation() {
        if pointee.invalidation.load(ordering: .sequentiallyConsistent) != 0 { lockedSender { unlinkInvalidation() }?.destroy() }
    }

    /// Whether the sender may still wait for the reply. A system call if it is another process. Any thread, without a lock.
    var isAwaited: Bool {
        if pointee.answered.load(ordering: .acquiring) != 0 { return false }
        guard let connection = pointee.connection else { return pointee.remote.unsafelyUnwrapped.isAwaiting(pointee.id) }
        return connection.locked { connection.isConnected }
    }

    /// Runs `body` under the mutex of where the request came from.
    private func lockedSender<Result>(_ body: () -> Result) -> Result {
        if let connection = pointee.connection { return connection.locked(body) }
        return pointee.remote.unsafelyUnwrapped.locked(body)
    }

    /// Whether the sender can still be reached. Under that mutex.
    private var isSenderOpen: Bool { pointee.connection?.isConnected ?? pointee.remote.unsafelyUnwrapped.pointee.isValid }

    /// Takes the function out of the list, for the caller to free. Under that mutex.
    private func unlinkInvalidation() -> RequestInvalidationPointer? {
        guard let invalidation = RequestInvalidationPointer(bitPattern: pointee.invalidation.load(ordering: .relaxed)) else { return nil }
        pointee.invalidation.store(0, ordering: .sequentiallyConsistent)
        if let connection = pointee.connection {
            invalidation.unlink(from: &connection.pointee.requestInvalidations)
        } else {
            invalidation.unlink(from: &pointee.remote.unsafelyUnwrapped.pointee.requestInvalidations)
        }
        return invalidation
    }
}
