import CLinux
import Synchronization

/// How a request ended, with the values of the public header.
enum RequestResult: Int32 {
    case success = 0
    case sendTimeout = -1
    case receiveTimeout = -2
    case isInvalid = -3
    case transportError = -4
    case becameInvalid = -5
}

/// A request that waits for its reply, alone or with a thread that runs its loop meanwhile. Not on that thread's stack, which may end
/// before it does.
///
/// Guarded by the remote port's mutex.
struct PendingRequest: Linked, ~Copyable {
    typealias Callout = @convention(c) (OpaquePointer?, Int32, OpaquePointer?, UnsafeMutableRawPointer?) -> Void

    var id: UInt32 = 0
    let replySource: ReplySourcePointer
    private let completed = Atomic<UInt32>(0)
    var result = RequestResult.receiveTimeout
    /// Retained.
    var reply: DataPointer?
    /// nil for one that a thread waits for.
    var callout: Callout?
    var info: UnsafeMutableRawPointer?
    /// Fires when the reply has not come in time; retained.
    var timer: TimerPointer?
    /// Whom a request that a thread waits for goes to.
    var destination = Destination()
    var previous: PendingRequestPointer?
    var following: PendingRequestPointer?

    init(replySource: ReplySourcePointer, _ callout: Callout?, _ info: UnsafeMutableRawPointer?) {
        self.replySource = replySource
        self.callout = callout
        self.info = info
    }
}

extension PendingRequest {
    /// Whether there is a result. A look needs no mutex; what is in here is read under it.
    var isCompleted: Bool { completed.load(ordering: .acquiring) != 0 }

    /// After the result, and the reply.
    func markCompleted() { completed.store(1, ordering: .releasing) }
}

/// Whom a request goes to, one of the two.
struct Destination: BitwiseCopyable {
    /// Held.
    var local: MessagePortPointer?
    /// Retained.
    var connection: ConnectionPointer?

    /// Any thread, without a lock.
    func giveBack() {
        local?.unhold()
        connection?.release()
    }
}

typealias PendingRequestPointer = UnsafeMutablePointer<PendingRequest>

extension UnsafeMutablePointer where Pointee == MessagePortStorage {
    /// Numbers a request, and puts it where its reply will find it. False if the port has ended. Under the mutex.
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

    /// Under the mutex.
    @inline(never)
    func unlink(_ pending: PendingRequestPointer) {
        if pointee.lastPending == pending { pointee.lastPending = pending.pointee.previous }
        pending.unlink(from: &pointee.firstPending)
    }
}

extension UnsafeMutablePointer where Pointee == PendingRequest {
    /// The timer of a request that nobody waits for. The loop's thread.
    func timeOut() {
        let port = pointee.replySource.pointee.port
        let isMine = port.locked { () -> Bool in
            if pointee.isCompleted { return false }
            port.unlink(self)
            pointee.result = .receiveTimeout
            pointee.markCompleted()
            return true
        }
        if isMine { port.tell(self) }
    }
}
