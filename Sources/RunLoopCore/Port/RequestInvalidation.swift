import CLinux
import CRunLoop
import Synchronization

/// A server's wish to hear that the client of a request is gone: RLMessagePortRequestSetInvalidationCallBack.
///
/// In a list of what the request came by: the connection or, within the process, the remote port. Guarded by the mutex of that. Whoever
/// takes it out of the list frees it, at the latest when the request is answered, so the request outlives it.
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
    /// Takes the first out of a list, with a reference to its request for the caller; nil if the list is empty. Under the mutex.
    static func take(from first: inout RequestInvalidationPointer?) -> RequestInvalidationPointer? {
        guard let invalidation = first else { return nil }
        invalidation.pointee.request.retain()
        invalidation.unlink(from: &first)
        invalidation.pointee.request.pointee.invalidation.store(0, ordering: .sequentiallyConsistent)
        return invalidation
    }

    /// Calls the client and frees one that was taken out. Without any lock.
    func tell() {
        let request = pointee.request
        let (callout, info) = (pointee.callout, pointee.info)
        dispose()
        RUNLOOP_IS_CALLING_OUT_TO_A_PORT_INVALIDATION_FUNCTION(callout, request.handle, info)
        _ = request.release()
    }

    /// Frees one that is in no list.
    func dispose() {
        deinitialize(count: 1)
        free(self)
    }

    /// In a child of fork(): nobody is told. Under the mutex.
    static func destroyAll(_ first: inout RequestInvalidationPointer?) {
        while let invalidation = first {
            invalidation.unlink(from: &first)
            invalidation.pointee.request.pointee.invalidation.store(0, ordering: .relaxed)
            invalidation.dispose()
        }
    }
}

extension ConnectionPointer {
    /// The connection has ended. Any thread; calls clients' functions.
    func callRequestInvalidations() {
        while let invalidation = locked({ RequestInvalidationPointer.take(from: &pointee.requestInvalidations) }) { invalidation.tell() }
    }

    /// Whether the client is there. A system call. Any thread.
    fileprivate var isConnected: Bool { locked { pointee.isOpen && Descriptor.poll(pointee.fd, for: []).isEmpty } }
}

extension MessagePortPointer {
    /// The remote port has ended. Any thread; calls clients' functions.
    func callRequestInvalidations() {
        while let invalidation = locked({ RequestInvalidationPointer.take(from: &pointee.requestInvalidations) }) { invalidation.tell() }
    }

    /// Whether somebody waits for the reply to a request. O(number of requests that wait). Any thread.
    fileprivate func waits(for id: UInt32) -> Bool {
        locked {
            var next = pointee.firstPending
            while let pending = next, pending.pointee.id != id { next = pending.pointee.following }
            return next != nil
        }
    }
}

extension RequestPointer {
    /// Whom to call when the client is gone, instead of whom was to be called so far; nil for nobody. At once if it is gone already. False
    /// with ENOMEM. Any thread.
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
        old?.dispose()
        let isAnswered = pointee.answered.load(ordering: .sequentiallyConsistent) != 0
        if isLinked {
            // Either this sees the answer, or the thread that answers sees the invalidation.
            if isAnswered { cancelInvalidation() }
        } else if isAnswered {
            invalidation.dispose()
        } else {
            retain()
            invalidation.tell()
        }
        return true
    }

    /// Nobody is called any more. A load if nobody was to be. Any thread.
    func cancelInvalidation() {
        if pointee.invalidation.load(ordering: .sequentiallyConsistent) != 0 { lockedSender { unlinkInvalidation() }?.dispose() }
    }

    /// Whether the sender may still wait for the answer. A system call if it is another process. Any thread.
    var isAwaited: Bool {
        if pointee.answered.load(ordering: .acquiring) != 0 { return false }
        return pointee.connection?.isConnected ?? pointee.remote.unsafelyUnwrapped.waits(for: pointee.id)
    }

    /// Runs `body` under the mutex of what the request came by.
    private func lockedSender<Result>(_ body: () -> Result) -> Result {
        if let connection = pointee.connection { return connection.locked(body) }
        return pointee.remote.unsafelyUnwrapped.locked(body)
    }

    /// Under that mutex.
    private var isSenderOpen: Bool { pointee.connection?.pointee.isOpen ?? pointee.remote.unsafelyUnwrapped.pointee.isValid }

    /// Under that mutex; the caller frees it.
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
