import CLinux
import Synchronization

/// A packet, or an entry of the ring, that has come to a connection.
struct ReceivedPacket: BitwiseCopyable {
    /// Why nothing follows. `full`: only for now, as other payloads hold the memory.
    enum Ending: UInt8 { case none, closed, violation, full }

    var frame = Frame(kind: .dropped)
    /// The payload, with a reference for the receiver; nil also for want of memory.
    var data: DataPointer?
    var ending = Ending.none

    fileprivate var length: Int { data?.pointee.capacity ?? 0 }
}

/// Packets that were received before the loop could deliver them. Two processes that send each other large requests at the same time, each
/// from the thread that also receives, would wait for each other without end. So a thread that waits for room in a send goes on receiving
/// for the ports that its own loop serves, and calls no port's function; the loop delivers what has come, in order, when it runs.
///
/// Guarded by the connection's mutex.
struct ReceivedAhead: ~Copyable {
    private(set) var packets = PlainList<ReceivedPacket>()
    /// Index of the oldest packet.
    private var next = 0
    private var bytes = 0
    /// A thread is receiving ahead, so that no other changes the order.
    private var isBusy = false
    /// The bytes of all connections of the process. Any thread.
    private static let allBytes = Atomic<Int>(0)

    private var isEmpty: Bool { next == packets.count }
    fileprivate var conditions: Connection.Conditions { !isEmpty ? .hasAhead : isBusy ? .receivesAhead : [] }

    /// Whether another packet may be received, for which there is then memory. If so, `finish` follows.
    mutating func begin() -> Bool {
        if packets.count == packets.capacity && next >= packets.count / 2 { closeGap() }
        // Each connection may have one packet, whatever others have: a process that sends to this one does not wait because of them.
        let isFull = bytes >= PortLimits.bytesAhead || bytes > 0 && Self.allBytes.load(ordering: .relaxed) >= PortLimits.allBytesAhead
        if isBusy || isFull || !packets.reserve(packets.count + 1) { return false }
        isBusy = isEmpty || packets[packets.count - 1].ending == .none
        return isBusy
    }

    /// Comes after `begin`: adds a packet, if one has come.
    mutating func finish(_ packet: ReceivedPacket?) {
        isBusy = false
        guard let packet else { return }
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

    /// Moves the packets to the start of the list, which was full: amortized O(1), as at least half of it has been taken.
    private mutating func closeGap() {
        guard let elements = packets.elements else { return }
        let count = packets.count - next
        memmove(elements, elements + next, count * MemoryLayout<ReceivedPacket>.stride)
        packets.truncate(to: count)
        next = 0
    }

    /// Small packets take more memory than their bytes.
    private static func cost(_ packet: ReceivedPacket) -> Int { packet.length + 256 }

    /// Forgets all packets.
    @inline(never)
    mutating func removeAll() {
        for index in next..<packets.count { packets[index].data?.releaseSlow() }
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
    /// Whether there is something to deliver, and no reply or unanswered request in the way.
    var mayDeliverAhead: Bool { conditions.intersection([.hasAhead, .hasBacklog, .isFull]) == .hasAhead }

    /// Under the mutex, whenever `ahead` has changed.
    private func noteAheadState() { set([.hasAhead, .receivesAhead], to: pointee.ahead.conditions) }

    /// Takes the oldest packet that was received ahead; false if there is none, a reply to the client waits to be sent, or the client has
    /// too many unanswered requests. Any thread, without the mutex.
    func takeAhead(_ packet: inout ReceivedPacket, _ budget: inout Int) -> Bool {
        has([.hasAhead, .receivesAhead]) && takeFirstAhead(&packet, &budget)
    }

    private func takeFirstAhead(_ packet: inout ReceivedPacket, _ budget: inout Int) -> Bool {
        let taken = locked { () -> ReceivedPacket? in
            let taken = !has(.isFull) && pointee.sendQueue.isEmpty ? pointee.ahead.takeFirst() : nil
            noteAheadState()
            return taken
        }
        if !has(.hasAhead) { updateInterest() }
        guard let taken else { return false }
        packet = taken
        budget -= taken.length
        return true
    }

    /// A listening connection accepts one client. Any other receives what the client has sent, as far as the limits allow, for the loop to
    /// deliver. Calls user code only if there is no memory to send on.
    fileprivate func receiveAhead(_ threadContext: ThreadContextPointer) {
        if pointee.role == .inProcess { return }
        if pointee.role == .listener {
            _ = accept()
            return
        }
        if has(.hasBacklog) { _ = flush() }
        var budget = PortLimits.bytesPerTurn
        var hasMore = !has(.isFull)
        while hasMore && budget > 0 && beginAhead() {
            var packet = ReceivedPacket()
            hasMore = receive(threadContext, &packet, &budget, isAhead: true)
            budget -= 4096
            if packet.frame.kind == .hello { SilentClients.remove(self) }
            if packet.ending == .full { waitForMemory() }
            // The loop will find the end of the connection for itself.
            let isKept = hasMore || packet.ending == .violation
            locked {
                pointee.ahead.finish(isKept ? packet : nil)
                if !pointee.isOpen { pointee.ahead.removeAll() }
                noteAheadState()
            }
        }
        updateInterest()
    }

    private func beginAhead() -> Bool {
        locked {
            let hasBegun = pointee.isOpen && pointee.ahead.begin()
            noteAheadState()
            return hasBegun
        }
    }
}

extension MessagePortPointer {
    /// Receives ahead for all ports that a loop serves. The loop's thread, without a lock; may call user code if a connection ends.
    static func receiveAhead(on loop: RunLoopPointer, until deadline: Instant) {
        var port: MessagePortPointer?
        while let next = next(after: &port) {
            if !next.queue.isServed(by: loop) { continue }
            var connection: ConnectionPointer?
            while let next = next.nextConnection(&connection) { if Clock.now < deadline { next.receiveAhead(loop.threadContext) } }
        }
    }
}
