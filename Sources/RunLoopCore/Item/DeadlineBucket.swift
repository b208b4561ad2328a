import CLinux

/// Far timers of a `DeadlineQueue`, with deadlines from `minimum` on, in no order. A timer is appended; it leaves by changing places with
/// the last. Neither looks at another timer's deadline, and both take the same time whether there are ten timers or a million.
///
/// Guarded by the loop's lock. Calls no user code.
struct DeadlineBucket: BitwiseCopyable {
    /// A timer as it lies in a bucket.
    struct Entry: BitwiseCopyable {
        var deadline: UInt64
        var position: IndexedHeap<TimerKey>.Position
    }

    var minimum: UInt64
    fileprivate(set) var entries: UnsafeMutablePointer<Entry>?
    fileprivate(set) var count = 0
    fileprivate(set) var capacity = 0

    /// The least capacity, and the most timers that are opened as a whole.
    static var small: Int { 64 }

    /// A position has 26 bits for the index and 6 for what the index is of: 0 for the heap of near timers, 1 + i for the bucket number i;
    /// 63 is in no queue.
    fileprivate static var indexBits: UInt32 { 26 }
    static var maximumIndex: UInt32 { 1 << indexBits - 1 }

    /// What the index in a position is of: see `indexBits`.
    static func number(of position: UInt32) -> Int { Int(position >> indexBits) }

    /// The index in a position.
    static func index(of position: UInt32) -> Int { Int(position & maximumIndex) }

    init(minimum: UInt64) { self.minimum = minimum }
}

typealias DeadlineBucketPointer = UnsafeMutablePointer<DeadlineBucket>

extension DeadlineBucketPointer {
    var isFull: Bool { pointee.count == pointee.capacity }

    /// `number`: as in positions. Where there is room. O(1).
    func put(_ entry: DeadlineBucket.Entry, number: Int) {
        let index = pointee.count
        pointee.entries.unsafelyUnwrapped[index] = entry
        pointee.count = index &+ 1
        entry.position.pointee = UInt32(truncatingIfNeeded: number &<< Int(DeadlineBucket.indexBits) | index)
    }

    /// The bucket's last timer comes to the place of the one that leaves. O(1).
    @inline(__always)
    func take(_ timer: TimerPointer, at position: UInt32) {
        let entries = pointee.entries.unsafelyUnwrapped
        let count = pointee.count &- 1
        pointee.count = count
        let last = entries[count]
        // The timer that will be the last after the next removals: its position is about to be written.
        linux_prefetch(entries[max(count &- 4, 0)].position)
        entries[DeadlineBucket.index(of: position)] = last
        last.position.pointee = position
        timer.position.pointee = IndexedHeap<TimerKey>.absent
    }

    /// A timer of the bucket gets another deadline. O(1).
    func setDeadline(_ deadline: UInt64, at position: UInt32) {
        pointee.entries.unsafelyUnwrapped[DeadlineBucket.index(of: position)].deadline = deadline
    }

    /// The deadline of a timer of the bucket. O(1).
    func deadline(at position: UInt32) -> UInt64 {
        pointee.entries.unsafelyUnwrapped[DeadlineBucket.index(of: position)].deadline
    }

    /// Makes room for `total` timers, at least twice as many as there was; false if out of memory. `spare`: memory for a small bucket, or
    /// nil.
    @inline(never)
    func grow(to total: Int, _ spare: inout UnsafeMutablePointer<DeadlineBucket.Entry>?) -> Bool {
        if pointee.entries == nil && total <= DeadlineBucket.small, let memory = spare {
            spare = nil
            pointee.entries = memory
            pointee.capacity = DeadlineBucket.small
            return true
        }
        return resize(to: max(total, 2 * pointee.capacity, DeadlineBucket.small))
    }

    /// Frees memory that a bucket with few timers left does not need.
    func shrink() { _ = resize(to: max(pointee.count, DeadlineBucket.small)) }

    private func resize(to capacity: Int) -> Bool {
        guard let memory = realloc(pointee.entries, capacity * MemoryLayout<DeadlineBucket.Entry>.stride) else { return false }
        pointee.entries = memory.assumingMemoryBound(to: DeadlineBucket.Entry.self)
        pointee.capacity = capacity
        return true
    }

    /// Keeps the first `kept` timers; the others are the caller's.
    func truncate(to kept: Int) { pointee.count = kept }
}
