import CLinux

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
    /// Whether arriving bytes are not kept: nothing waits for them, memory ran out, or the rest will never come.
    private var isSkipped = false

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

    /// Server: the client is gone, and has left `bytes` bytes in the socket. If these cannot complete the payload, nothing of it is kept, since
    /// it may take long until the socket is read. Returns whether that is so.
    mutating func noteHangUp(_ bytes: Int) -> Bool {
        guard let frame, frame.length - count > bytes else { return false }
        removeBytes()
        return true
    }

    /// Returns the memory for the next piece; nil if the piece is not to be kept.
    mutating func room() -> UnsafeMutableRawBufferPointer? {
        guard let frame, !isSkipped else { return nil }
        if capacity < min(count + Frame.pieceLimit, frame.length) && !grow(frame.length) {
            removeBytes()
            return nil
        }
        return bytes.map { UnsafeMutableRawBufferPointer(start: $0 + count, count: min(Frame.pieceLimit, frame.length - count)) }
    }

    /// Gets more memory for a payload of `length` bytes. Returns false if there is none.
    private mutating func grow(_ length: Int) -> Bool {
        let size = min(length, max(PortLimits.unseenBytes, 2 * capacity))
        // At most twice the payload: a small payload that the program keeps must not hold a large block.
        let memory =
            capacity == 0
            ? Memory.allocateLarge(size, atMost: 2 * length)
            : realloc(bytes, size).map { UnsafeMutableRawBufferPointer(start: $0, count: size) }
        guard let memory else { return false }
        bytes = memory.baseAddress?.assumingMemoryBound(to: UInt8.self)
        capacity = memory.count
        return true
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

    /// Frees the bytes, and keeps none that follow.
    mutating func removeBytes() {
        Memory.freeLarge(bytes, capacity)
        bytes = nil
        capacity = 0
        isSkipped = true
    }
}
