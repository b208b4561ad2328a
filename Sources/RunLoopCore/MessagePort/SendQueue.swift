import CLinux
import Synchronization

/// Frames that did not fit into the socket buffer. At a server: replies to a client that does not read them, since a server waits for clients
/// only before it ends. While there are any, no further request of that client is handled, so the queue does not grow while the client does
/// not read. At a client: the rest of one large request, or the notice that it will not follow.
///
/// Guarded by the connection's mutex.
struct SendQueue: ~Copyable {
    fileprivate var frames = PlainList<OutgoingFrame>()
    /// The number of the frame at the front, modulo 2³². Once this has changed, that frame has left the queue.
    fileprivate(set) var ticket: UInt32 = 0
    /// The peer is gone, and frames have left the queue unsent.
    fileprivate var isGone = false

    /// How many nanoseconds a thread that waits for room sleeps before it receives requests for its own ports.
    fileprivate static var pollInterval: UInt64 { 2_000_000 }

    /// Whether nothing is queued, so that a frame may be sent immediately.
    var isEmpty: Bool { frames.count == 0 }

    /// Makes sure that a frame can be queued. Returns false if out of memory.
    mutating func reserve() -> Bool { frames.reserve(frames.count + 1) }

    /// Removes and releases all frames, sent or not.
    mutating func removeAll() { removeFirst(frames.count) }

    /// Removes and releases the first `count` frames.
    fileprivate mutating func removeFirst(_ count: Int) {
        for index in 0..<count { frames[index].data?.release() }
        frames.removeFirst(count)
        ticket &+= UInt32(truncatingIfNeeded: count)
    }
}

extension ConnectionPointer {
    /// Queues what is left of a frame. Returns false if out of memory. The caller holds the mutex.
    @inline(never)
    func enqueueLocked(_ outgoing: OutgoingFrame) -> Bool {
        var waiting = outgoing
        if !pointee.sendQueue.reserve() { return false }
        waiting.data = outgoing.data?.lastingCopy()
        if waiting.data == nil && outgoing.data != nil { return false }
        _ = pointee.sendQueue.frames.append(waiting)
        set(.hasBacklog, to: .hasBacklog)
        return true
    }

    /// Client: replaces what is left of a request by the notice that it will not follow. There must be room in the queue. The caller holds the
    /// mutex.
    func abandonLocked() {
        pointee.sendQueue.removeAll()
        _ = enqueueLocked(OutgoingFrame(Frame(kind: .abandoned), nil))
    }

    /// Client: waits until there may be room for a request in the socket, or in the ring. Returns false at the deadline. Meanwhile sends
    /// what is queued; receives replies, since a server that has no room for a reply reads no requests; and receives requests for ports of
    /// the thread's own loop, since the server may be waiting to send these. Any thread; call without the mutex held. May call user code if
    /// a connection ends.
    @inline(never)
    func waitForRoom(until deadline: Instant, inRing: Bool = false) -> Bool {
        guard let threadContext = ThreadContextPointer.current else { return false }
        if deadline <= Clock.now {
            if locked({ pointee.sendQueue.isEmpty }) { return false }
            _ = flush()
            return locked { pointee.sendQueue.isEmpty }
        }
        let limit = Swift.min(deadline, Clock.now.advanced(by: SendQueue.pollInterval))
        let ready = Descriptor.wait(pointee.fd, for: inRing ? .readable : [.writable, .readable], until: limit)
        if ready.isEmpty { MessagePortPointer.receiveAhead(on: RunLoopPointer(threadContext), until: deadline) }
        if ready.contains(.readable) { _ = receiveReply(on: RunLoopPointer(threadContext)) }
        // Sending is stuck, behind another thread's large request or for lack of kernel memory. No event reports when that ends.
        if ready.contains(.writable) && !flush() { _ = Descriptor.poll(pointee.fd, for: [], within: 100_000) }
        return true
    }

    /// Client: waits until the rest of a large request was sent and has left the queue. At the deadline, abandons the request. Any thread;
    /// call without the mutex held. May call user code if the connection ends.
    func finishSending(_ ticket: UInt32, until deadline: Instant) -> RequestResult {
        let limit = Swift.max(deadline, Clock.now.advanced(by: PortLimits.graceForPieces))
        var isOverdue = false
        while true {
            let result = locked { () -> RequestResult? in
                if !pointee.isOpen || pointee.sendQueue.isGone { return .isInvalid }
                if pointee.sendQueue.ticket != ticket { return .success }
                if !isOverdue { return nil }
                abandonLocked()
                return .sendTimeout
            }
            if result == .sendTimeout { _ = flush() }
            if let result { return result }
            isOverdue = !waitForRoom(until: limit)
        }
    }

    /// Sends what is queued, because the socket has room. Returns false if nothing could be sent. Any thread; call without the mutex held.
    /// May call user code if it closes the connection.
    @inline(never)
    func flush() -> Bool {
        var budget = PortLimits.bytesPerTurn
        var outcome = locked { flushLocked(&budget) }
        // A client's request stays queued: there may be memory again before its time is up.
        if outcome == .failed && pointee.role == .client { outcome = .full }
        if outcome == .failed { close() } else { updateInterest() }
        return outcome != .full || budget < PortLimits.bytesPerTurn
    }

    /// Sends what is queued, but little more than `budget` bytes. Returns what the last attempt has brought; `done` if nothing is left. The
    /// caller holds the mutex.
    private func flushLocked(_ budget: inout Int) -> PacketSocket.Sent {
        var outcome = PacketSocket.Sent.done
        var sent = 0
        while pointee.isOpen, outcome == .done, sent < pointee.sendQueue.frames.count {
            outcome = sendLocked(&pointee.sendQueue.frames[sent], &budget)
            if outcome == .done { sent += 1 }
        }
        pointee.sendQueue.removeFirst(sent)
        // What the peer sent before it went away is still to be read.
        if outcome == .gone {
            pointee.sendQueue.isGone = true
            pointee.sendQueue.removeAll()
        }
        set(.hasBacklog, to: pointee.sendQueue.isEmpty ? [] : .hasBacklog)
        return outcome
    }

    /// Server: sends one packet of what is queued, or several small ones. Returns false if there is no room, and nil if nothing is queued or
    /// can be sent. The caller holds the mutex.
    func sendLastLocked() -> Bool? {
        if !pointee.isOpen || pointee.sendQueue.isEmpty { return nil }
        var budget = 1
        let outcome = flushLocked(&budget)
        return budget < 1 ? true : outcome == .full ? false : nil
    }

    /// Makes the source watch for the events that the conditions call for. Any thread; call without the mutex held.
    @inline(never)
    func updateInterest() {
        guard let source = sharedSource else { return }
        // Not under the connection's mutex, because this takes the lock of a loop.
        RunLoopPointer.setInterest(of: source) { conditions.interest(isServer: pointee.role == .server) }
        source.release()
    }
}
