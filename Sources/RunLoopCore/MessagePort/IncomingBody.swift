import CLinux

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
    /// The bytes are not kept, because nothing waits for them or for want of memory.
    private var isSkipped = false

    init() {}

    /// Whether a payload is under way.
    var isUnderWay: Bool { frame != nil }

    /// Begins with a payload.
    mutating func begin(_ frame: Frame) {
        reset()
        self.frame = frame
        isSkipped = false
    }

    /// Keeps no bytes of the payload that this frame has announced, since nothing waits for it.
    mutating func skip(_ announcing: Frame) { if frame?.id == announcing.id { removeBytes() } }

    /// Where the next piece goes, and how much of it; nil if it is not to be kept.
    mutating func room() -> UnsafeMutableRawBufferPointer? {
        guard let frame, !isSkipped else { return nil }
        let wanted = min(Frame.pieceLimit, frame.length - count)
        if count + wanted > capacity {
            guard let memory = largerBlock(min(frame.length, max(PortLimits.unseenBytes, 2 * capacity)), frame) else {
                removeBytes()
                return nil
            }
            bytes = memory.baseAddress?.assumingMemoryBound(to: UInt8.self)
            capacity = memory.count
        }
        return bytes.map { UnsafeMutableRawBufferPointer(start: $0 + count, count: wanted) }
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
    }
}
