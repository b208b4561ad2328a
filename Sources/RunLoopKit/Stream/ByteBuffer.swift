import CLinux
import CLinuxKit

/// Bytes that were read and not delivered yet, contiguous in memory. Under the stream's lock.
struct ByteBuffer: BitwiseCopyable {
    private var memory: UnsafeMutablePointer<UInt8>?
    private var capacity = 0
    private var begin = 0
    private var end = 0

    /// Memory up to this size is kept while the buffer is empty, so that chunks that arrive in parts do not allocate each time.
    private static var keptCapacity: Int { 32_768 }
    private static var smallestCapacity: Int { 1024 }

    /// Creates an empty buffer without memory.
    init() {}

    var count: Int { end - begin }
    /// The first byte; nil without memory. Valid until the buffer changes.
    var bytes: UnsafePointer<UInt8>? { memory.map { UnsafePointer($0 + begin) } }

    /// Returns free memory after the last byte, at least `wanted` bytes of it; nil if out of memory. O(count) at worst.
    mutating func room(_ wanted: Int) -> UnsafeMutableBufferPointer<UInt8>? {
        if capacity - end < wanted && !makeRoom(wanted) { return nil }
        return UnsafeMutableBufferPointer(start: memory.unsafelyUnwrapped + end, count: capacity - end)
    }

    private mutating func makeRoom(_ wanted: Int) -> Bool {
        if let memory, begin > 0 {
            memmove(memory, memory + begin, count)
            (begin, end) = (0, count)
        }
        if capacity - end >= wanted { return true }
        let (needed, isTooMuch) = end.addingReportingOverflow(wanted)
        if isTooMuch { return false }
        let size = max(needed, min(capacity, .max / 2) * 2, Self.smallestCapacity)
        guard let larger = realloc(memory, size) else { return false }
        memory = larger.assumingMemoryBound(to: UInt8.self)
        capacity = size
        return true
    }

    /// Adds the first `added` bytes of `room`, which the caller has filled.
    mutating func extend(_ added: Int) { end += added }

    /// Copies bytes to the end. Returns false if out of memory.
    mutating func append(_ bytes: UnsafePointer<UInt8>, _ length: Int) -> Bool {
        if length == 0 { return true }
        guard let free = room(length)?.baseAddress else { return false }
        memcpy(free, bytes, length)
        end += length
        return true
    }

    /// Copies bytes to the beginning. Returns false if out of memory. O(count).
    mutating func prepend(_ bytes: UnsafePointer<UInt8>, _ length: Int) -> Bool {
        guard room(length) != nil, let start = memory.map({ $0 + begin }) else { return false }
        memmove(start + length, start, count)
        memcpy(start, bytes, length)
        end += length
        return true
    }

    /// Removes bytes from the beginning. They stay in memory until the buffer is filled again.
    mutating func consume(_ length: Int) { begin += length }

    /// Frees the memory if the buffer is empty and has more than `keptCapacity`.
    mutating func shrink() {
        if count > 0 { return }
        (begin, end) = (0, 0)
        if capacity > Self.keptCapacity { free() }
    }

    /// Drops all bytes and frees the memory.
    mutating func free() {
        CLinux.free(memory)
        self = ByteBuffer()
    }
}
