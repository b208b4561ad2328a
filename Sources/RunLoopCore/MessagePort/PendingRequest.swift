import CLinux
import Synchronization

/// How a request ended, with the values of the public header, which describes them.
enum RequestResult: Int32 {
    case success = 0
    case sendTimeout = -1
    case receiveTimeout = -2
    case isInvalid = -3
    case transportError = -4
    case becameInvalid = -5
}

/// A request that waits for its reply. Either a thread waits with it (`callout` is nil), or a function is to be called. It never lies on
/// the stack of that thread, which may end first.
///
/// Guarded by the remote port's mutex.
struct PendingRequest: Linked, ~Copyable {
    typealias Callout = @convention(c) (OpaquePointer?, Int32, OpaquePointer?, UnsafeMutableRawPointer?) -> Void

    /// Unique among the requests of the port; the reply has it.
    var id: UInt32 = 0
    /// Where the reply is delivered: a loop and a mode.
    let replySource: ReplySourcePointer
    private let completed = Atomic<UInt32>(0)
    var result = RequestResult.receiveTimeout
    /// The reply, with data. Retained.
    var reply: DataPointer?
    /// The function to call with the reply; nil if a thread waits.
    var callout: Callout?
    var info: UnsafeMutableRawPointer?
    /// Fires when the reply has not come in time; nil if a thread waits, or without a deadline. Retained.
    var timer: TimerPointer?
    /// Where a request that a thread waits for goes. Retained.
    var connection: ConnectionPointer?
    var previous: PendingRequestPointer?
    var following: PendingRequestPointer?

    static let slab = Slab(size: 128)

    init(replySource: ReplySourcePointer, _ callout: Callout?, _ info: UnsafeMutableRawPointer?) {
        self.replySource = replySource
        self.callout = callout
        self.info = info
    }
}

extension PendingRequest {
    /// Whether there is a result. Any thread, without the mutex; the result itself is read under it.
    var isCompleted: Bool { completed.load(ordering: .acquiring) != 0 }

    /// Announces the result, which is complete. Under the mutex.
    func markCompleted() { completed.store(1, ordering: .releasing) }
}

typealias PendingRequestPointer = UnsafeMutablePointer<PendingRequest>

extension MessagePortPointer {
    /// Gives a request its number and puts it into the list in which its reply finds it. False if the port is invalid. Under the mutex.
    @inline(never)
    func enqueueLocked(_ pending: PendingRequestPointer) -> Bool {
        if !pointee.isValid { return false }
        pointee.lastID = pointee.lastID == .max ? 1 : pointee.lastID + 1
        pending.pointee.id = pointee.lastID
        pending.pointee.previous = pointee.lastPending
        pointee.lastPending?.pointee.following = pending
        pointee.lastPending = pending
        if pointee.firstPending == nil { pointee.firstPending = pending }
        return true
    }

    /// Removes a request from that list. Under the mutex.
    @inline(never)
    func unlink(_ pending: PendingRequestPointer) {
        if pointee.lastPending == pending { pointee.lastPending = pending.pointee.previous }
        pending.unlink(from: &pointee.firstPending)
    }
}

extension PendingRequestPointer {
    /// The function of the timer: completes the request without a reply. The loop's thread; calls the request's function.
    func timeOut() {
        let port = pointee.replySource.pointee.port
        let wasPending = port.locked { () -> Bool in
            if pointee.isCompleted { return false }
            port.unlink(self)
            pointee.result = .receiveTimeout
            pointee.markCompleted()
            port.pointee.runningCalls += 1
            return true
        }
        if wasPending { port.callBack(self) }
    }
}
