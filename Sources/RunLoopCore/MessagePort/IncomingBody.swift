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
    /// Server: the peer that sends; nil at a client.
    let peer: PeerPointer?
    /// How many bytes of the memory for its peer's payloads this one has reserved.
    private var reserved = 0
    /// Whether this is the one payload of its peer that is exempt from the limit, and reserves nothing.
    private var isExempt = false
    /// Whether the client is gone. Then nothing more will come than the socket contains, so payloads reserve no more memory and end soon.
    private var isClientGone = false
    /// Set when memory or the exemption was released, so that payloads of the peer that wait may continue.
    private var hasReleased = false
    /// Whether arriving bytes are not kept: nothing waits for them, memory ran out, or the rest will never come.
    private var isSkipped = false

    init(_ peer: PeerPointer?) { self.peer = peer }

    /// Whether a payload is under way.
    var isUnderWay: Bool { frame != nil }

    /// Begins a payload. None may be under way.
    @inline(never)
    mutating func begin(_ frame: Frame) {
        self.frame = frame
        isSkipped = false
    }

    /// Client: keeps nothing of the reply to this request, because nothing waits for it.
    @inline(never)
    mutating func skip(_ request: UInt32) { if frame?.id == request { removeBytes() } }

    /// Makes room for the next piece. Returns false if the piece has to wait until there is memory for it.
    mutating func makeRoom() -> Bool {
        guard let frame, !isSkipped, capacity < min(count + Frame.pieceLimit, frame.length) else { return true }
        let size = min(frame.length, max(PortLimits.unseenBytes, 2 * capacity))
        if !isExempt && !isClientGone && !reserve(size) { return false }
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
        release()
    }

    // MARK: the limit of a peer

    /// Server: the client is gone, and has left `bytes` bytes in the socket. If these do not complete the payload, nothing of it is kept, since
    /// it may take long until the socket is read.
    mutating func noteHangUp(_ bytes: Int) {
        isClientGone = true
        if let frame, frame.length - count > bytes { removeBytes() }
    }

    /// Reserves memory for `size` bytes in all. If that exceeds what the peer's payloads may take, takes the peer's exemption instead. Returns
    /// false if another payload has that.
    private mutating func reserve(_ size: Int) -> Bool {
        guard let peer else { return true }
        var all = peer.pointee.reserved.load(ordering: .relaxed)
        // Never more than the limit, not even for a moment in which another payload would find too little.
        while all - reserved + size <= PortLimits.unfinishedBytes {
            let (isDone, now) = peer.pointee.reserved.compareExchange(expected: all, desired: all - reserved + size, ordering: .relaxed)
            if isDone {
                reserved = size
                return true
            }
            all = now
        }
        if peer.pointee.isExemptionTaken.exchange(true, ordering: .relaxed) { return false }
        release()
        isExempt = true
        return true
    }

    /// Releases what the payload has reserved, and its exemption.
    private mutating func release() {
        guard let peer, reserved > 0 || isExempt else { return }
        peer.pointee.reserved.wrappingSubtract(reserved, ordering: .relaxed)
        if isExempt { peer.pointee.isExemptionTaken.store(false, ordering: .relaxed) }
        reserved = 0
        isExempt = false
        hasReleased = true
    }

    /// Returns whether something was released since the last call.
    mutating func takeReleased() -> Bool {
        defer { hasReleased = false }
        return hasReleased
    }
}
