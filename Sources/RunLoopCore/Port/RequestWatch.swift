import CLinux
import CRunLoop
import Synchronization

/// A server's wish to hear that the client of a request is gone: RLMessagePortRequestSetInvalidationCallBack.
///
/// In a list of what the request came by: the connection or, within the process, the remote port. Guarded by the mutex of that. Whoever
/// takes it out of the list frees it, at the latest when the request is answered, so the request outlives it.
struct RequestWatch: Linked, ~Copyable {
    typealias Callout = PortStorage.InvalidationCallout

    let request: RequestPointer
    let callout: Callout
    let info: UnsafeMutableRawPointer?
    var previous: RequestWatchPointer?
    var following: RequestWatchPointer?
}

typealias RequestWatchPointer = UnsafeMutablePointer<RequestWatch>

extension UnsafeMutablePointer where Pointee == RequestWatch {
    /// Takes the first out of a list, with a reference to its request for the caller; nil if the list is empty. Under the mutex.
    static func take(from first: inout RequestWatchPointer?) -> RequestWatchPointer? {
        guard let watch = first else { return nil }
        watch.pointee.request.retain()
        watch.unlink(from: &first)
        watch.pointee.request.pointee.watch.store(0, ordering: .sequentiallyConsistent)
        return watch
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
    static func forgetAll(_ first: inout RequestWatchPointer?) {
        while let watch = first {
            watch.unlink(from: &first)
            watch.pointee.request.pointee.watch.store(0, ordering: .relaxed)
            watch.dispose()
        }
    }
}

extension UnsafeMutablePointer where Pointee == Wire {
    /// The connection has ended. Any thread; calls clients' functions.
    func tellWatches() {
        while let watch = locked({ RequestWatchPointer.take(from: &pointee.watches) }) { watch.tell() }
    }

    /// Whether the client is there. A system call. Any thread.
    fileprivate var isConnected: Bool { locked { pointee.isOpen && Descriptor.look(pointee.fd, for: 0) == 0 } }
}

extension UnsafeMutablePointer where Pointee == MessagePortStorage {
    /// The remote port has ended. Any thread; calls clients' functions.
    func tellWatches() {
        while let watch = locked({ RequestWatchPointer.take(from: &pointee.watches) }) { watch.tell() }
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

extension UnsafeMutablePointer where Pointee == RequestStorage {
    /// Whom to call when the client is gone, instead of whom was to be called so far; nil for nobody. At once if it is gone already. False
    /// with ENOMEM. Any thread.
    func setInvalidation(_ callout: RequestWatch.Callout?, _ info: UnsafeMutableRawPointer?) -> Bool {
        guard let callout else {
            forgetWatch()
            return true
        }
        guard let memory = malloc(MemoryLayout<RequestWatch>.size) else {
            systemError = ENOMEM
            return false
        }
        let watch = memory.bindMemory(to: RequestWatch.self, capacity: 1)
        watch.initialize(to: RequestWatch(request: self, callout: callout, info: info))
        var old: RequestWatchPointer?
        let isLinked = lockedSender { () -> Bool in
            old = unlinkWatch()
            if !isSenderOpen { return false }
            if let wire = pointee.wire {
                watch.link(into: &wire.pointee.watches)
            } else {
                watch.link(into: &pointee.remote.unsafelyUnwrapped.pointee.watches)
            }
            pointee.watch.store(UInt(bitPattern: watch), ordering: .sequentiallyConsistent)
            return true
        }
        old?.dispose()
        let isAnswered = pointee.answered.load(ordering: .sequentiallyConsistent) != 0
        if isLinked {
            // Either this sees the answer, or the thread that answers sees the watch.
            if isAnswered { forgetWatch() }
        } else if isAnswered {
            watch.dispose()
        } else {
            retain()
            watch.tell()
        }
        return true
    }

    /// Nobody is called any more. A load if nobody was to be. Any thread.
    func forgetWatch() {
        if pointee.watch.load(ordering: .sequentiallyConsistent) != 0 { lockedSender { unlinkWatch() }?.dispose() }
    }

    /// Whether the sender may still wait for the answer. A system call if it is another process. Any thread.
    var isAwaited: Bool {
        if pointee.answered.load(ordering: .acquiring) != 0 { return false }
        return pointee.wire?.isConnected ?? pointee.remote.unsafelyUnwrapped.waits(for: pointee.id)
    }

    /// Runs `body` under the mutex of what the request came by.
    private func lockedSender<Result>(_ body: () -> Result) -> Result {
        if let wire = pointee.wire { return wire.locked(body) }
        return pointee.remote.unsafelyUnwrapped.locked(body)
    }

    /// Under that mutex.
    private var isSenderOpen: Bool { pointee.wire?.pointee.isOpen ?? pointee.remote.unsafelyUnwrapped.pointee.isValid }

    /// Under that mutex; the caller frees it.
    private func unlinkWatch() -> RequestWatchPointer? {
        guard let watch = RequestWatchPointer(bitPattern: pointee.watch.load(ordering: .relaxed)) else { return nil }
        pointee.watch.store(0, ordering: .sequentiallyConsistent)
        if let wire = pointee.wire {
            watch.unlink(from: &wire.pointee.watches)
        } else {
            watch.unlink(from: &pointee.remote.unsafelyUnwrapped.pointee.watches)
        }
        return watch
    }
}
