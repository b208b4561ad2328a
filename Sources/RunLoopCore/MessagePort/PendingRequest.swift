import CLinux
import CRunLoop
import Synchronization

/// How a request ended. The values are those of RLMessagePortRequest.h, which describes them.
enum RequestResult: Int32 {
    case success = 0
    case sendTimeout = -1
    case receiveTimeout = -2
    case isInvalid = -3
    case transportError = -4
    case becameInvalid = -5
}

/// A request that a remote port sends, and that waits for its reply. Either a thread waits with it (RLMessagePortSendRequest), or the loop
/// is to call a callback (RLMessagePortSendRequestAsync). It is never on the stack of the thread that waits, because that thread may end
/// first.
///
/// Guarded by the remote port's mutex. Once it is completed no other thread changes it, so the loop's thread then uses it without.
struct PendingRequest: Linked, CallbackInfo, ~Copyable {
    typealias Callout = @convention(c) (OpaquePointer?, Int32, OpaquePointer?, UnsafeMutableRawPointer?) -> Void

    /// The remote port. Holds an internal reference and, with a callback, one of the program's kind, until that has returned.
    let port: MessagePortPointer
    /// Where the thread waits, or the callback is to be called. The mode is retained.
    let loop: RunLoopPointer
    let mode: StringPointer
    /// The callback for the reply; nil if a thread waits.
    let callout: Callout?
    let info: UnsafeMutableRawPointer?
    /// Unique among the requests of the port. The reply repeats it.
    var id: UInt32 = 0
    /// 1 once the request has a result or was withdrawn: no other thread changes the result or the reply afterwards. Any thread.
    let completed = Atomic<UInt32>(0)
    var result = RequestResult.receiveTimeout
    /// The reply's data, if it has any. Retained.
    var reply: DataPointer?
    /// A run loop source that calls the callback, signalled when the request is completed. It keeps the mode from being empty. Only the
    /// loop holds a reference to the source. The source's release function frees the request. nil if a thread waits.
    var source: SourcePointer?
    /// Fires if no reply arrives in time; nil if a thread waits, or if there is no deadline. Retained.
    var timer: TimerPointer?
    /// The connection by which the request is sent. Retained, since another thread may invalidate the port. nil once a request
    /// with a callback was sent; until then the loop does not call the callback, which would free the request while its sender uses it:
    /// sending may call user code that runs the loop. Loop thread only.
    var connection: ConnectionPointer?
    var previous: PendingRequestPointer?
    var following: PendingRequestPointer?

    /// Rounded up to two cache lines, so that no two requests share one.
    static let slab = Slab(size: 128)
}

typealias PendingRequestPointer = UnsafeMutablePointer<PendingRequest>

extension MessagePortPointer {
    /// Creates a request that waits for its reply: listed, with its number and its connection, which the loop watches. `callout` is nil if
    /// the calling thread waits. Returns nil if the port is invalid, if out of memory, or if the loop cannot watch the connection. The
    /// thread of `loop`; call without a lock held.
    @inline(never)
    func begin(
        _ loop: RunLoopPointer, _ mode: StringPointer, _ callout: PendingRequest.Callout?, _ info: UnsafeMutableRawPointer?
    ) -> PendingRequestPointer? {
        guard let memory = PendingRequest.slab.allocate(loop.threadContext) else { return nil }
        let pending = memory.assumingMemoryBound(to: PendingRequest.self)
        base.retainInternal()
        if callout != nil { retain() }
        mode.retain()
        pending.initialize(to: PendingRequest(port: self, loop: loop, mode: mode, callout: callout, info: info))
        // Before another thread can complete the request.
        if callout != nil && !pending.makeSource() { return nil }
        let connection = locked { () -> ConnectionPointer? in
            guard pointee.base.isValid, let connection = pointee.connection else { return nil }
            connection.retain()
            pending.pointee.connection = connection
            pointee.lastID = pointee.lastID == .max ? 1 : pointee.lastID + 1
            pending.pointee.id = pointee.lastID
            pointee.pending.append(pending)
            return connection
        }
        let source = connection?.sharedSource
        defer { source?.release() }
        // If the mode has the source already, adding it changes nothing.
        if connection != nil && source.map({ loop.add($0, in: mode) }) != false {
            Probe.report(.sent, .messagePort, self, number: UInt(pending.pointee.id))
            return pending
        }
        pending.finish()
        return nil
    }

    /// Completes the request with this number. Takes over the caller's reference to the reply. Returns true if the calling thread waits for
    /// the request, false also if there is no such request. Any thread; the caller holds the mutex. Calls no user code.
    func completeLocked(_ id: UInt32, _ result: RequestResult, _ reply: DataPointer?) -> Bool {
        guard let pending = pending(id) else {
            reply?.release()
            return false
        }
        pending.pointee.reply = reply
        // If the port was just invalidated, a failure gets the result that the invalidating thread gives to all other requests.
        pending.complete(with: result == .success || pointee.base.isValid ? result : .becameInvalid)
        return pending.pointee.callout == nil && pending.pointee.loop.isCurrent
    }

    /// The request with this number; nil if it has timed out or was completed. O(number of waiting requests). Any thread; the caller holds
    /// the mutex.
    func pending(_ id: UInt32) -> PendingRequestPointer? { pointee.pending.first?.first { $0.pointee.id == id } }
}

// How a pending request ends: by a reply, by its time limit, because it could not be sent, or because the port becomes invalid. Called on
// the loop's thread, without the mutex held, unless stated otherwise.

extension PendingRequestPointer {
    /// Whether the request has a result or was withdrawn. Any thread.
    var isCompleted: Bool { pointee.completed.load(ordering: .acquiring) != 0 }

    /// Removes a request from the list, publishes its result, and makes the loop end its wait or call the callback. Any thread; the caller
    /// holds the mutex, which keeps the request and its loop alive.
    @inline(never)
    func complete(with result: RequestResult) {
        pointee.result = result
        leaveListLocked()
        signalAndWake()
    }

    /// Removes the request from the list, and discards the part of a large reply that has arrived. The caller holds the mutex.
    private func leaveListLocked() {
        let port = pointee.port
        port.pointee.pending.remove(self)
        pointee.completed.store(1, ordering: .releasing)
        if let connection = port.pointee.connection { connection.locked { connection.pointee.incoming.skip(pointee.id) } }
    }

    /// Makes the loop notice that the request is completed. If the request has a source, this also wakes the calling thread's own loop: the
    /// caller may be an observer of BeforeWaiting, after which a loop does not check for signals again before it sleeps. Any thread; the caller
    /// holds the mutex.
    func signalAndWake() {
        pointee.source?.signal()
        if pointee.source != nil || pointee.loop.maySleep { pointee.loop.wakeUp() }
    }

    /// Removes the request from the list without a reply. Returns false if it was completed before.
    @inline(never)
    func withdraw() -> Bool {
        pointee.port.locked {
            if isCompleted { return false }
            leaveListLocked()
            return true
        }
    }

    /// Creates the source of a request that has a callback, and adds it to the mode. If out of memory, frees the request and returns false.
    fileprivate func makeSource() -> Bool {
        let source = SourcePointer.create(
            pointee.loop.threadContext, order: -100, info: self, perform: { PendingRequestPointer($0).callBack() }, getPort: nil,
            SourceDetail(release: { PendingRequestPointer($0).destroy() }))
        guard let source else {
            destroy()
            return false
        }
        pointee.source = source
        let isAdded = pointee.loop.add(source, in: pointee.mode)
        source.release()
        return isAdded
    }

    /// The callback of the timer: ends the request without a reply, with the result that it has from the beginning, unless it is completed
    /// already; and calls its callback unless the request is still being sent.
    func timeOut() {
        _ = withdraw()
        callBack()
    }

    /// The perform function of the source: ends a completed request that is not being sent, and calls its callback. Calls user code.
    fileprivate func callBack() {
        let port = pointee.port
        let isDue = port.locked { () -> Bool in
            if !isCompleted || pointee.connection != nil { return false }
            port.base.countCall()
            return true
        }
        guard let callout = pointee.callout, let source = pointee.source, isDue else { return }
        // Keeps the request until its callback has returned.
        source.pointee.item.object.retain()
        cancelTimer()
        finish()
        let cleanup = CleanupHandler(
            function: { port, pending, _ in
                PortHeaderPointer(port).endCall()
                PendingRequestPointer(pending).pointee.source?.release()
            }, object: port, part: self)
        Probe.report(.received, .reply, port, number: UInt(pointee.id))
        pointee.loop.withCleanup(cleanup) {
            RUNLOOP_IS_CALLING_OUT_TO_A_MESSAGE_PORT_REPLY_FUNCTION(
                port.handle, UInt(UInt32(bitPattern: pointee.result.rawValue)), pointee.reply?.handle, pointee.info, callout)
        }
        port.base.endCall()
        source.release()
    }

    /// Ends the request, in whatever state it is, without calling its callback. Frees the request, or has it freed with the last reference
    /// to its source. That may free the port, too.
    @inline(never)
    func finish() { if let source = pointee.source { RunLoopPointer.invalidate(source) } else { destroy() } }

    /// Cancels the timer, if there is one.
    private func cancelTimer() {
        guard let timer = pointee.timer else { return }
        pointee.timer = nil
        timer.invalidate()
        timer.release()
    }

    /// Frees the request, after removing it from the list, and releases the port. Also the release function of the source, which is called
    /// when the loop ends. Calls user code if that was the last reference to the port.
    @inline(never)
    func destroy() {
        let (port, retainsPort) = (pointee.port, pointee.callout != nil)
        _ = withdraw()
        cancelTimer()
        // nil if the request has a callback, unless the thread has ended while sending the request.
        pointee.connection?.release()
        pointee.reply?.release()
        pointee.mode.release()
        deinitialize(count: 1)
        PendingRequest.slab.deallocate(self)
        port.base.releaseInternal()
        // Last, since a callback may end the thread.
        if retainsPort { _ = port.release() }
    }
}
