import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit

/// A queue of bytes to be written: a list of blocks of memory, each called a `Chunk`. Under the stream's lock.
struct WriteQueue: BitwiseCopyable {
    /// One block of the queue. If it owns its bytes, they follow it in memory.
    private struct Chunk: BitwiseCopyable {
        var next: UnsafeMutablePointer<Chunk>?
        /// The program's data, retained, to which the bytes belong; nil if the block owns its bytes.
        var data: OpaquePointer?
        var bytes: UnsafeMutablePointer<UInt8>
        var begin: Int
        var end: Int
        var capacity: Int
        /// The number of bytes that are answers of a filter; an upper bound once the first bytes are written.
        var answers = 0
    }

    private typealias ChunkPointer = UnsafeMutablePointer<Chunk>

    private var first: ChunkPointer?
    private var last: ChunkPointer?
    /// An empty block of the usual size, so that a steady flow does not allocate.
    private var spare: ChunkPointer?
    /// The number of bytes in the queue.
    private(set) var count = 0
    /// The number of queued bytes that are answers of a filter; an upper bound.
    private(set) var answers = 0
    /// The total number of bytes that have been queued and then written. Bytes that were written without being queued do not count.
    private(set) var consumed: UInt64 = 0

    /// The usual capacity of a block, which has 4 KiB with its header.
    private static var usualCapacity: Int { 4096 - MemoryLayout<Chunk>.stride }

    init() {}

    /// The value of `consumed` when everything that is queued now will have been written.
    var position: UInt64 { consumed + UInt64(count) }

    /// Copies bytes to the end. Returns false if out of memory.
    mutating func append(_ bytes: UnsafePointer<UInt8>, _ length: Int) -> Bool {
        if length == 0 { return true }
        if last.map({ $0.pointee.data != nil || $0.pointee.capacity - $0.pointee.end < length }) ?? true {
            guard let chunk = Self.take(&spare, length) else { return false }
            link(chunk)
        }
        let chunk = last.unsafelyUnwrapped
        memcpy(chunk.pointee.bytes + chunk.pointee.end, bytes, length)
        chunk.pointee.end += length
        count += length
        return true
    }

    /// Retains `data` and queues its bytes from `begin` on, without copying them. Returns false if out of memory.
    mutating func append(_ data: OpaquePointer, from begin: Int) -> Bool {
        guard let memory = malloc(MemoryLayout<Chunk>.stride), let bytes = RLDataGetBytePtr(data) else { return false }
        let chunk = memory.bindMemory(to: Chunk.self, capacity: 1)
        let length = RLDataGetLength(data)
        RLRetain(UnsafeRawPointer(data))
        chunk.initialize(
            to: Chunk(next: nil, data: data, bytes: UnsafeMutablePointer(mutating: bytes), begin: begin, end: length, capacity: length))
        link(chunk)
        count += length - begin
        return true
    }

    /// Counts the last `length` bytes, which were queued by one call of `append`, as answers of a filter.
    mutating func noteAnswer(_ length: Int) {
        guard length > 0, let last else { return }
        last.pointee.answers += length
        answers += length
    }

    /// Adds a block to the end.
    private mutating func link(_ chunk: ChunkPointer) {
        if let last { last.pointee.next = chunk } else { first = chunk }
        last = chunk
    }

    /// Returns an empty block with room for `length` bytes, the spare one or a new one; nil if out of memory.
    private static func take(_ spare: inout ChunkPointer?, _ length: Int) -> ChunkPointer? {
        if length <= usualCapacity, let chunk = spare {
            spare = nil
            return chunk
        }
        let capacity = max(length, usualCapacity)
        guard let memory = malloc(MemoryLayout<Chunk>.stride + capacity) else { return nil }
        let chunk = memory.bindMemory(to: Chunk.self, capacity: 1)
        let bytes = (memory + MemoryLayout<Chunk>.stride).assumingMemoryBound(to: UInt8.self)
        chunk.initialize(to: Chunk(next: nil, data: nil, bytes: bytes, begin: 0, end: 0, capacity: capacity))
        return chunk
    }

    /// Fills `parts` with the first bytes of the queue. Returns the number of parts.
    func gather(_ parts: UnsafeMutableBufferPointer<iovec>) -> Int {
        var number = 0
        var chunk = first
        while let here = chunk, number < parts.count {
            parts[number] = iovec(
                iov_base: here.pointee.bytes + here.pointee.begin, iov_len: here.pointee.end - here.pointee.begin)
            number += 1
            chunk = here.pointee.next
        }
        return number
    }

    /// Empties the queue: calls `body` with the first bytes, then drops them, and so on. `body` must not use the queue.
    mutating func drain(_ body: (UnsafePointer<UInt8>, Int) -> Void) {
        while let chunk = first {
            let length = chunk.pointee.end - chunk.pointee.begin
            body(chunk.pointee.bytes + chunk.pointee.begin, length)
            drop(length)
        }
    }

    /// Removes the first bytes, which have been written.
    mutating func consume(_ length: Int) {
        consumed += UInt64(length)
        drop(length)
    }

    /// Removes bytes from the beginning.
    private mutating func drop(_ length: Int) {
        var left = length
        count -= length
        while let chunk = first {
            let size = chunk.pointee.end - chunk.pointee.begin
            if left < size {
                chunk.pointee.begin += left
                return limitAnswers(chunk, size - left)
            }
            left -= size
            limitAnswers(chunk, 0)
            first = chunk.pointee.next
            if first == nil { last = nil }
            recycle(chunk)
            if left == 0 { return }
        }
    }

    /// Limits the count of a block's answers to the `length` bytes that are left of it.
    private mutating func limitAnswers(_ chunk: ChunkPointer, _ length: Int) {
        let surplus = chunk.pointee.answers - length
        if surplus <= 0 { return }
        chunk.pointee.answers = length
        answers -= surplus
    }

    /// Frees a block or keeps it as the spare one.
    private mutating func recycle(_ chunk: ChunkPointer) {
        if let data = chunk.pointee.data {
            RLRelease(UnsafeRawPointer(data))
        } else if spare == nil && chunk.pointee.capacity == Self.usualCapacity {
            chunk.pointee.next = nil
            (chunk.pointee.begin, chunk.pointee.end) = (0, 0)
            spare = chunk
            return
        }
        CLinux.free(chunk)
    }

    /// Drops all bytes and frees the memory.
    mutating func free() {
        drop(count)
        CLinux.free(spare)
        spare = nil
    }
}

/// A list of functions, in order, each to be called once everything that was queued before it is written. Under the stream's lock.
struct Completions: BitwiseCopyable {
    struct Completion: BitwiseCopyable {
        fileprivate var next: UnsafeMutablePointer<Completion>?
        /// The value of `WriteQueue.consumed` at which the function becomes due.
        fileprivate var position: UInt64
        var callout: RLStreamFlushCallBack
        var info: UnsafeMutableRawPointer?
    }

    private typealias CompletionPointer = UnsafeMutablePointer<Completion>

    private var first: CompletionPointer?
    private var last: CompletionPointer?
    private var spare: CompletionPointer?
    private(set) var count = 0

    /// The position of a completion for bytes that the filter has not received yet.
    private static var unknownPosition: UInt64 { .max }

    init() {}

    var isEmpty: Bool { first == nil }

    /// Whether the first completion is due. `written` is the queue's `consumed`.
    func isDue(_ written: UInt64) -> Bool { first.map { $0.pointee.position <= written } ?? false }

    /// Adds a completion to the end. A nil position is set later, by `settle`. Returns false if out of memory.
    mutating func append(_ position: UInt64?, _ callout: @escaping RLStreamFlushCallBack, _ info: UnsafeMutableRawPointer?) -> Bool {
        guard
            let completion = spare
                ?? malloc(MemoryLayout<Completion>.stride)?.bindMemory(to: Completion.self, capacity: 1)
        else { return false }
        spare = nil
        completion.initialize(
            to: Completion(next: nil, position: position ?? Self.unknownPosition, callout: callout, info: info))
        if let last { last.pointee.next = completion } else { first = completion }
        last = completion
        count += 1
        return true
    }

    /// Sets the positions that were unknown.
    mutating func settle(_ position: UInt64) {
        var completion = first
        while let here = completion {
            if here.pointee.position == Self.unknownPosition { here.pointee.position = position }
            completion = here.pointee.next
        }
    }

    /// Removes and returns the first completion, if it is due.
    mutating func take(_ written: UInt64) -> Completion? {
        guard let completion = first, completion.pointee.position <= written else { return nil }
        let taken = completion.pointee
        count -= 1
        first = taken.next
        if first == nil { last = nil }
        if spare == nil { spare = completion } else { CLinux.free(completion) }
        return taken
    }

    /// Removes and returns the first completion, whether or not it is due.
    mutating func take() -> Completion? { take(.max) }

    /// Frees the spare memory, once no completion is left.
    mutating func free() {
        CLinux.free(spare)
        spare = nil
    }
}
