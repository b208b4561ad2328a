import CLinux
import Synchronization

/// A large payload on its way in: the frame that announced it, and the bytes that have come so far. Memory grows with them, not with what
/// the peer announces.
///
/// Guarded by the connection's mutex.
struct IncomingBody: ~Copyable {
    /// The frame that announced the payload; nil if none is under way.
    private(set) var frame: Frame?
    private var bytes: UnsafeMutablePointer<UInt8>?
    private var capacity = 0
    private var count = 0
    /// Server: the client, whose share of the process's memory this takes from.
    let peer: PeerPointer?
    /// How much it has taken of that.
    private var reserved = 0
    /// This is the one payload of the process that takes nothing from the share.
    private var isExempt = false
    /// `count` at the previous `noteOthersWait`.
    private var countBefore = 0
    /// For how many checks in a row a piece has lain unread in the socket while others waited.
    private var momentsUnread = 0
    /// When the payload began, as a number of `Peer.turns`.
    private(set) var began: UInt64 = 0
    /// How many bytes behind the minimum rate it is, while others had to wait. See `noteOthersWait`.
    private var late = 0
    /// The bytes are not kept, because nothing waits for them, memory ran out, or they came too slowly while others waited.
    private var isSkipped = false

    init(_ peer: PeerPointer?) { self.peer = peer }

    /// Whether a payload is under way.
    var isUnderWay: Bool { frame != nil }

    /// Begins with a payload.
    @inline(never)
    mutating func begin(_ frame: Frame) {
        reset()
        self.frame = frame
        began = Peer.nextTurn
        isSkipped = false
    }

    /// Client: keeps no bytes of the reply to this request, which nothing waits for.
    @inline(never)
    mutating func skip(_ request: UInt32) { if frame?.id == request { removeBytes() } }

    /// Makes room for the next piece. False if that has to wait until other payloads have come.
    mutating func makeRoom() -> Bool {
        guard let frame, !isSkipped, capacity < min(count + Frame.pieceLimit, frame.length) else { return true }
        let size = min(frame.length, max(PortLimits.unseenBytes, 2 * capacity))
        if !isExempt && !reserve(size) { return false }
        guard let memory = largerBlock(size, frame) else {
            removeBytes()
            return true
        }
        bytes = memory.baseAddress?.assumingMemoryBound(to: UInt8.self)
        capacity = memory.count
        return true
    }

    /// Where the next piece goes, and how much of it; nil if it is not to be kept.
    var room: UnsafeMutableRawBufferPointer? {
        guard let frame, let bytes else { return nil }
        return UnsafeMutableRawBufferPointer(start: bytes + count, count: min(Frame.pieceLimit, frame.length - count))
    }

    private func largerBlock(_ size: Int, _ frame: Frame) -> UnsafeMutableRawBufferPointer? {
        // A small payload that is kept must not keep a large block.
        if capacity == 0 { return Memory.allocateLarge(size, atMost: 2 * frame.length) }
        return realloc(bytes, size).map { UnsafeMutableRawBufferPointer(start: $0, count: size) }
    }

    /// Counts a piece that has come; false if it is more than was announced. `isComplete` is then up to date.
    mutating func add(_ length: Int) -> Bool {
        guard let frame, length <= frame.length - count else { return false }
        count += length
        return true
    }

    /// Whether all bytes have come.
    var isComplete: Bool { frame.map { $0.length == count } ?? false }

    /// Ends with a complete payload: returns its frame, and the data with a reference for the caller, nil if it was not kept.
    mutating func finish() -> (Frame, DataPointer?)? {
        guard let frame else { return nil }
        let data = bytes.flatMap { DataPointer.create(around: $0, count: count, capacity: capacity, .large) }
        if data != nil { bytes = nil }
        reset()
        return (frame, data)
    }

    /// Ends without a payload.
    @inline(never)
    mutating func reset() {
        removeBytes()
        frame = nil
        count = 0
    }

    /// Frees the bytes, and keeps none that follow.
    private mutating func removeBytes() {
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

// The memory of all payloads under way that the servers of the process receive. It has a limit, of which a client gets a share: as in
// a switch whose ports share one buffer (dynamic thresholds), each may take a part of what is still free. So there is always something
// left for a client that comes later.

extension IncomingBody {
    /// The memory that is taken, by all payloads of the process. Any thread.
    private static let allReserved = Atomic<Int>(0)
    /// Some payload is exempt from the limit. Any thread.
    private static let isExemptionTaken = Atomic<Bool>(false)
    /// Whether no payload is exempt. Any thread.
    static var isExemptionFree: Bool { !isExemptionTaken.load(ordering: .relaxed) }
    /// How many clients wait for memory. Any thread.
    private static let waiting = Atomic<Int>(0)

    /// Adds to the number of clients that wait; negative: they no longer do. Any thread.
    static func countWaiting(_ more: Int) { waiting.wrappingAdd(more, ordering: .relaxed) }

    /// Takes memory for `size` bytes in all. False if that is more than the client's share is now, and the exemption is taken, or others
    /// are ahead in line for it.
    private mutating func reserve(_ size: Int) -> Bool {
        let before = reserved
        if reserve(more: size - before) { return true }
        reserve(more: before - size)
        return Self.waiting.load(ordering: .relaxed) == 0 && takeExemption()
    }

    /// Exempts the payload from the limit; false if another one is exempt.
    mutating func takeExemption() -> Bool {
        if !isUnderWay || Self.isExemptionTaken.exchange(true, ordering: .acquiringAndReleasing) { return false }
        isExempt = true
        momentsUnread = 0
        reserve(more: -reserved)
        return true
    }

    private mutating func giveUpExemption() {
        if !isExempt { return }
        isExempt = false
        peer?.noteTurn()
        Self.isExemptionTaken.store(false, ordering: .releasing)
    }

    /// Takes memory, or gives it back. Whether the client has no more than its share then.
    @inline(never)
    @discardableResult
    private mutating func reserve(more: Int) -> Bool {
        reserved += more
        guard let peer else { return true }
        let all = Self.allReserved.wrappingAdd(more, ordering: .relaxed).newValue
        let own = peer.pointee.reserved.wrappingAdd(more, ordering: .relaxed).newValue
        return own <= (PortLimits.unfinishedBytes - all) / PortLimits.shareOfFree
    }

    /// Others have been waiting for memory for a moment. If this payload is exempt or over its share, and has come too slowly for some
    /// time, frees its memory and keeps no more of it. That is no fault of the client if more `isHere` and no loop has received it; then
    /// the exemption goes to another payload, and this one keeps its memory, if the limit allows that.
    mutating func noteOthersWait(isHere: () -> Bool) {
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
