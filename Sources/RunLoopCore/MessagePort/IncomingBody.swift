import CLinux
import Synchronization

/// A large payload that is being received: the frame that announced it, and the bytes that have arrived so far. Memory grows with these
/// bytes, not with the length that the peer announces.
///
/// Guarded by the connection's mutex.
struct IncomingBody: ~Copyable {
    /// The frame that announced the payload; nil if none is under way.
    private(set) var frame: Frame?
    private var bytes: UnsafeMutablePointer<UInt8>?
    private var capacity = 0
    private var count = 0
    /// Server: the peer whose share of the process's memory for payloads this uses; nil at a client.
    let peer: PeerPointer?
    /// How many bytes of its peer's share this payload has reserved.
    private var reserved = 0
    /// Whether this is the one payload of the process that is exempt from the limit, and reserves nothing.
    private var isExempt = false
    /// `count` at the previous `enforceMinimumRate`.
    private var countBefore = 0
    /// In how many checks in a row a piece was in the socket, unread, while other payloads waited for memory.
    private var momentsUnread = 0
    /// When the payload began, as a number of `Peer.nextTurn`.
    private(set) var began: UInt64 = 0
    /// How many bytes the payload is behind the minimum rate, counted while others wait for memory. See `enforceMinimumRate`.
    private var late = 0
    /// Whether arriving bytes are not kept: nothing waits for them, memory ran out, or they came too slowly while others waited.
    private var isSkipped = false

    init(_ peer: PeerPointer?) { self.peer = peer }

    /// Whether a payload is under way.
    var isUnderWay: Bool { frame != nil }

    /// Begins a payload. None may be under way.
    @inline(never)
    mutating func begin(_ frame: Frame) {
        self.frame = frame
        began = Peer.nextTurn
        isSkipped = false
    }

    /// Client: keeps nothing of the reply to this request, because nothing waits for it.
    @inline(never)
    mutating func skip(_ request: UInt32) { if frame?.id == request { removeBytes() } }

    /// Makes room for the next piece. Returns false if the piece has to wait until there is memory for it.
    mutating func makeRoom() -> Bool {
        guard let frame, !isSkipped, capacity < min(count + Frame.pieceLimit, frame.length) else { return true }
        let size = min(frame.length, max(PortLimits.unseenBytes, 2 * capacity))
        if !isExempt && !reserve(size) { return false }
        // At most twice the payload: a small payload that the program keeps must not hold a large block.
        let memory =
            capacity == 0
            ? Memory.allocateLarge(size, atMost: 2 * frame.length)
            : realloc(bytes, size).map { UnsafeMutableRawBufferPointer(start: $0, count: size) }
        guard let memory else {
            removeBytes()
            return true
        }
        bytes = memory.baseAddress?.assumingMemoryBound(to: UInt8.self)
        capacity = memory.count
        return true
    }

    /// The memory for the next piece; nil if the piece is not to be kept.
    var room: UnsafeMutableRawBufferPointer? {
        guard let frame, let bytes else { return nil }
        return UnsafeMutableRawBufferPointer(start: bytes + count, count: min(Frame.pieceLimit, frame.length - count))
    }

    /// How many bytes have not arrived yet.
    var missing: Int { (frame?.length ?? 0) - count }

    /// Counts a piece that has arrived. Returns false if it is more than was announced.
    mutating func add(_ length: Int) -> Bool {
        guard let frame, length <= frame.length - count else { return false }
        count += length
        return true
    }

    /// Ends the payload and returns its frame, and its data with a reference for the caller; the data is nil if it was not kept. Returns nil
    /// if not all bytes have arrived.
    mutating func finish() -> (Frame, DataPointer?)? {
        guard let frame, frame.length == count else { return nil }
        let data = bytes.flatMap { DataPointer.create(around: $0, count: count, capacity: capacity, .large) }
        if data != nil { bytes = nil }
        reset()
        return (frame, data)
    }

    /// Drops the payload under way, if there is one.
    @inline(never)
    mutating func reset() {
        removeBytes()
        frame = nil
        count = 0
    }

    /// Frees the bytes and what was reserved for them, and keeps none that follow.
    mutating func removeBytes() {
        Memory.freeLarge(bytes, capacity)
        bytes = nil
        capacity = 0
        isSkipped = true
        countBefore = 0
        late = 0
        if reserved > 0 { reserve(more: -reserved) }
        giveUpExemption()
    }
}

// The memory for all payloads that the servers of this process are receiving. It has a limit, of which each peer gets a share. As in a
// switch whose ports share one buffer (dynamic thresholds), a peer may take a part of what is still free, so there is always something left
// for a peer that comes later.

extension IncomingBody {
    /// How many bytes all payloads of the process have reserved. Any thread.
    private static let allReserved = Atomic<Int>(0)
    /// Whether some payload is exempt from the limit. Any thread.
    private static let isExemptionTaken = Atomic<Bool>(false)
    /// Whether no payload is exempt. Any thread.
    static var isExemptionFree: Bool { !isExemptionTaken.load(ordering: .relaxed) }
    /// How many connections wait for memory. Any thread.
    static let waiting = Atomic<Int>(0)

    /// Reserves memory for `size` bytes in all. If that exceeds the peer's share at present, takes the exemption instead. Returns false if
    /// another payload has the exemption, or if other connections are already waiting for memory.
    private mutating func reserve(_ size: Int) -> Bool {
        let before = reserved
        if reserve(more: size - before) { return true }
        reserve(more: before - size)
        return Self.waiting.load(ordering: .relaxed) == 0 && takeExemption()
    }

    /// Exempts the payload from the limit. Returns false if none is under way, or if another one is exempt.
    mutating func takeExemption() -> Bool {
        if !isUnderWay || Self.isExemptionTaken.exchange(true, ordering: .acquiringAndReleasing) { return false }
        isExempt = true
        momentsUnread = 0
        reserve(more: -reserved)
        return true
    }

    /// Ends the exemption, if this payload has it, so that another one can take it.
    private mutating func giveUpExemption() {
        if !isExempt { return }
        isExempt = false
        // Puts the peer behind all others.
        peer?.pointee.turn.store(Peer.nextTurn, ordering: .relaxed)
        Self.isExemptionTaken.store(false, ordering: .releasing)
    }

    /// Reserves `more` bytes, or releases them if it is negative. Returns whether the peer is then within its share.
    @inline(never)
    @discardableResult
    private mutating func reserve(more: Int) -> Bool {
        reserved += more
        guard let peer else { return true }
        let all = Self.allReserved.wrappingAdd(more, ordering: .relaxed).newValue
        let own = peer.pointee.reserved.wrappingAdd(more, ordering: .relaxed).newValue
        return own <= (PortLimits.unfinishedBytes - all) / PortLimits.shareOfFree
    }

    /// Called once in each `PortLimits.moment` while others wait for memory. If this payload is exempt or over its peer's share, and has
    /// arrived too slowly for some time, frees its memory and keeps no more of it. The client is not at fault if more has arrived
    /// (`isHere`) but no loop has received it. Then the exemption ends after some time, and the payload keeps its memory if the limit
    /// allows that.
    mutating func enforceMinimumRate(isHere: () -> Bool) {
        if !isExempt && (reserved == 0 || reserve(more: 0)) { return }
        let came = count - countBefore
        countBefore = count
        if came > 0 || !isHere() {
            momentsUnread = 0
            late = max(0, late + PortLimits.leastBytesInMoment - came)
            if late >= PortLimits.mostBytesLate { removeBytes() }
            return
        }
        momentsUnread += 1
        if !isExempt || momentsUnread < PortLimits.mostMomentsUnread { return }
        reserve(more: capacity)
        giveUpExemption()
        if Self.allReserved.load(ordering: .relaxed) > PortLimits.unfinishedBytes { removeBytes() }
    }
}
