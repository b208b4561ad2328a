import CLinux
import Synchronization

/// Packets that were received before the loop could deliver them. Two processes that send each other large one-way requests at the same
/// time, each from the thread that also receives, would otherwise wait for each other forever. So a thread that waits for room in a send
/// receives for the ports that its own loop serves, but calls no port's callback. The loop delivers the packets, in order, when it runs.
///
/// Guarded by the connection's mutex.
struct ReceivedAhead: ~Copyable {
    private(set) var packets = PlainList<ReceivedPacket>()
    /// Index of the oldest packet.
    private var next = 0
    private var bytes = 0
    /// How many bytes all connections of the process have received ahead. Any thread.
    private static let allBytes = Atomic<Int>(0)

    var isEmpty: Bool { next == packets.count }

    /// Whether another packet may be received ahead, or one more piece of a payload that has begun; if so, there is room for it in the list.
    /// A payload is finished whatever the limits are, since meanwhile it holds memory for which others may wait.
    mutating func hasRoom(toFinish isUnderWay: Bool) -> Bool {
        // Amortized O(1), since at least half of the list was taken.
        if packets.count == packets.capacity && next >= packets.count / 2 {
            packets.removeFirst(next)
            next = 0
        }
        // Each connection may have one packet whatever others have, so that a process that sends to this one does not wait because of
        // others.
        let isFull = bytes >= PortLimits.bytesAhead || bytes > 0 && Self.allBytes.load(ordering: .relaxed) >= PortLimits.allBytesAhead
        return (!isFull || isUnderWay) && packets.reserve(packets.count + 1)
    }

    /// Adds a packet, for which `hasRoom` has made room.
    mutating func append(_ packet: ReceivedPacket) {
        count(Self.cost(packet))
        _ = packets.append(packet)
    }

    /// Takes the oldest packet; nil if there is none.
    mutating func takeFirst() -> ReceivedPacket? {
        if isEmpty { return nil }
        let packet = packets[next]
        next += 1
        count(-Self.cost(packet))
        if isEmpty { removeAll() }
        return packet
    }

    /// How many bytes a packet counts for.
    private static func cost(_ packet: ReceivedPacket) -> Int { packet.length + PortLimits.costOfRequest }

    /// Releases and removes all packets.
    mutating func removeAll() {
        for index in next..<packets.count { packets[index].data?.release() }
        packets.removeAll()
        next = 0
        count(-bytes)
    }

    private mutating func count(_ added: Int) {
        bytes += added
        Self.allBytes.wrappingAdd(added, ordering: .relaxed)
    }
}

extension ConnectionPointer {
    /// Keeps what was received ahead for the loop. Under the mutex under which it was received, since otherwise another thread could
    /// receive the next packet and keep or deliver that one first. The caller holds the mutex.
    @inline(never)
    func keepAheadLocked(_ progress: Progress, _ packet: ReceivedPacket) {
        // The loop will notice the end of the connection itself.
        if progress != .complete && progress != .violation { return }
        pointee.ahead.append(progress == .complete ? packet : ReceivedPacket())
        set(.hasAhead, to: .hasAhead)
    }

    /// Takes the oldest packet that was received ahead, and its bytes from the budget. Returns false if there is none, if a reply to the
    /// client is queued, or if the client has too many unanswered requests. Any thread; call without the mutex held.
    func takeAhead(_ reception: inout Reception) -> Bool {
        let taken = locked { () -> ReceivedPacket? in
            if has(.isFull) || !pointee.sendQueue.isEmpty { return nil }
            let first = pointee.ahead.takeFirst()
            if pointee.ahead.isEmpty { set(.hasAhead, to: []) }
            return first
        }
        if !has(.hasAhead) { updateInterest() }
        guard let taken else { return false }
        reception.packet = taken
        reception.budget -= taken.length
        return true
    }

    /// Receives what the client has sent until `deadline`, as far as the limits allow, for the loop to deliver; a listener accepts one client
    /// instead. Any thread that has a loop; call without a lock held. May call user code if it closes a connection.
    fileprivate func receiveAhead(_ threadContext: ThreadContextPointer, until deadline: Instant) {
        if pointee.role == .listener { _ = accept() }
        if pointee.role != .server { return }
        if has(.hasBacklog) { _ = flush() }
        var progress = Progress.complete
        // So many that the thread checks soon whether it has room.
        for _ in 0..<1024 where progress == .complete && Clock.now < deadline {
            var reception = Reception(threadContext: threadContext, isAhead: true)
            progress = receive(&reception)
            if progress == .complete && reception.packet.frame.kind == .hello { SilentClients.remove(self) }
        }
        updateInterest()
    }
}

extension MessagePortPointer {
    /// Receives ahead for all ports that a loop serves, until `deadline`. Loop thread only; call without a lock held. May call user code if
    /// a connection ends.
    static func receiveAhead(on loop: RunLoopPointer, until deadline: Instant) {
        walk { port in
            if !port.queue.isServed(by: loop) { return }
            port.walkConnections { $0.receiveAhead(loop.threadContext, until: deadline) }
        }
    }
}
