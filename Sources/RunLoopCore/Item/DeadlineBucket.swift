import CLinux

/// A bucket of a `DeadlineQueue`: timers with deadlines from `minimum` on, in no order. It has an array of slots, and a bitmap of those
/// that are taken. A timer is stored in a free slot, and is removed by clearing its bit. So cancelling one of a million timers touches that
/// timer and, sooner or later, the bitmap, which stays in the processor's cache, but neither the slot nor another timer.
///
/// The bits are cleared later: the slots of removed timers are noted in a list, until that is full or the bitmap is needed. Which bit to clear
/// is not known before the timer has been fetched from memory. A processor executes hardly anything beyond a store whose address it does
/// not know yet, so it would not fetch the timer that is cancelled next. The end of the list is always known.
///
/// Free slots are found by walking through the bitmap, 64 slots at a time. At the end of the bitmap, the walk starts over if more than a
/// quarter of the slots are free; otherwise the bucket grows.
///
/// Guarded by the loop's lock. Calls no user code.
struct DeadlineBucket: BitwiseCopyable {
    /// A timer as it is stored in a bucket.
    struct Entry: BitwiseCopyable {
        var deadline: UInt64
        var position: IndexedHeap<TimerKey>.Position
    }

    var minimum: UInt64
    /// The slots, followed in the same memory by `taken`. nil while the bucket has none.
    fileprivate(set) var entries: UnsafeMutablePointer<Entry>?
    /// The free slots that the walk has found: a bit for each of the 64 slots from `group` on.
    fileprivate var found: UInt64 = 0
    fileprivate var group = 0
    /// A bit for each slot, set if a timer is in it, or if the slot is in `found` or `removed`.
    fileprivate var taken: UnsafeMutablePointer<UInt64>?
    /// The slots of removed timers whose bits are still set: a list that follows `taken` in the same memory, with room for `mostRemoved`.
    fileprivate var removed: UnsafeMutablePointer<UInt32>?
    fileprivate var removedCount = 0
    /// The number of slots, and the number of slots that the walk has passed. Both are multiples of 64, except that between `fill` and
    /// `endFilling`, `passed` is the next slot to fill.
    fileprivate(set) var capacity = 0
    fileprivate var passed = 0

    /// The number of timers in the bucket, found by counting bits: O(number of slots / 64). It is needed too seldom to be kept up to date by
    /// each call.
    @inline(never)
    var count: Int {
        guard let taken else { return 0 }
        var count = -found.nonzeroBitCount &- removedCount
        for word in 0..<capacity &>> 6 { count &+= taken[word].nonzeroBitCount }
        return count
    }

    fileprivate static var mostRemoved: Int { 64 }

    /// The smallest capacity. A bucket of up to twice as many timers is opened without being split.
    static var small: Int { 64 }

    /// A position consists of an index, in this number of bits, and of 6 more bits that say into what it is an index: 0 stands for the heap
    /// of near timers, 1 + i for bucket i, 62 for the sorted timers. 63 stands for a timer in no queue.
    fileprivate static var indexBits: UInt32 { 26 }
    static var maximumIndex: UInt32 { 1 << indexBits - 1 }

    /// The position for an index into a heap or bucket with this number: see `indexBits`.
    static func position(_ number: Int, _ index: Int) -> UInt32 { UInt32(truncatingIfNeeded: number &<< Int(indexBits) | index) }

    /// The number of the heap or bucket that a position is in: see `indexBits`.
    static func number(of position: UInt32) -> Int { Int(position >> indexBits) }

    /// The index that is part of a position.
    static func index(of position: UInt32) -> Int { Int(position & maximumIndex) }

    /// How many bytes a bucket with this number of slots, a multiple of 64, takes.
    fileprivate static func size(capacity: Int) -> Int {
        capacity * MemoryLayout<Entry>.stride + capacity / 8 + mostRemoved * MemoryLayout<UInt32>.stride
    }

    init(minimum: UInt64) { self.minimum = minimum }
}

typealias DeadlineBucketPointer = UnsafeMutablePointer<DeadlineBucket>

extension DeadlineBucketPointer {
    /// Whether a free slot has been found, so that `put` may be called. O(1).
    var hasSlot: Bool { pointee.found != 0 }

    /// Adds a timer, which requires `hasSlot`, and returns its position, which the caller stores. `number`: the bucket's, as in positions.
    /// O(1).
    @inline(__always)
    func put(_ entry: DeadlineBucket.Entry, number: Int) -> UInt32 {
        let index = pointee.group | pointee.found.trailingZeroBitCount
        pointee.found &= pointee.found &- 1
        pointee.entries.unsafelyUnwrapped[index] = entry
        return DeadlineBucket.position(number, index)
    }

    /// Adds a timer like `put`, to refill a bucket that has no timers but enough memory. Uses the slots in order, from the first. After the
    /// last timer, `endFilling` must be called before anything else. O(1).
    func fill(_ entry: DeadlineBucket.Entry, number: Int) -> UInt32 {
        let index = pointee.passed
        pointee.passed = index &+ 1
        pointee.entries.unsafelyUnwrapped[index] = entry
        return DeadlineBucket.position(number, index)
    }

    /// Marks the slots used by `fill` as taken, and resets the walk to the last, partly used group, whose free slots it finds next.
    /// O(number of timers).
    func endFilling() {
        guard let taken = pointee.taken else { return }
        let (words, rest) = (pointee.passed &>> 6, UInt64(pointee.passed & 63))
        for word in 0..<words { taken[word] = .max }
        if rest != 0 { taken[words] = 1 &<< rest &- 1 }
        pointee.passed = words &<< 6
    }

    /// Removes the timer at an index. Returns false, without a change, if bits have to be cleared first: see `clearRemoved`. O(1).
    @inline(__always)
    func tryRemove(at index: UInt32) -> Bool {
        let count = pointee.removedCount
        if count == DeadlineBucket.mostRemoved { return false }
        pointee.removed.unsafelyUnwrapped[count] = index
        pointee.removedCount = count &+ 1
        return true
    }

    /// Removes the timer at an index. Amortized O(1).
    func remove(at index: Int) {
        if tryRemove(at: UInt32(truncatingIfNeeded: index)) { return }
        clearRemoved()
        _ = tryRemove(at: UInt32(truncatingIfNeeded: index))
    }

    /// Clears the bits of timers that have been removed. O(1).
    @inline(never)
    private func clearRemoved() {
        guard let taken = pointee.taken, let removed = pointee.removed else { return }
        for number in 0..<pointee.removedCount {
            let index = Int(removed[number])
            taken[index &>> 6] ^= 1 &<< UInt64(index & 63)
        }
        pointee.removedCount = 0
    }

    /// Sets the deadline of the timer at an index. O(1).
    func setDeadline(_ deadline: UInt64, at index: Int) { pointee.entries.unsafelyUnwrapped[index].deadline = deadline }

    /// Returns the deadline of the bucket's timer with this position. O(1).
    func deadline(at position: UInt32) -> UInt64 {
        pointee.entries.unsafelyUnwrapped[DeadlineBucket.index(of: position)].deadline
    }

    /// Finds a free slot, or makes some. Returns false if out of memory. O(1) on average. `spare`: as in `grow`.
    func findSlot(_ spare: inout UnsafeMutablePointer<DeadlineBucket.Entry>?) -> Bool {
        clearRemoved()
        if walk() { return true }
        let isNearlyFull = pointee.count >= pointee.capacity &- pointee.capacity / 4
        if isNearlyFull && grow(to: pointee.capacity &+ 1, &spare) && walk() { return true }
        pointee.passed = 0
        return walk()
    }

    /// Advances the walk to the next group of 64 slots with a free one. Returns false at the end. Call only if `hasSlot` is false.
    private func walk() -> Bool {
        while pointee.passed < pointee.capacity {
            let word = pointee.taken.unsafelyUnwrapped + pointee.passed &>> 6
            pointee.group = pointee.passed
            pointee.passed &+= 64
            if word.pointee == .max { continue }
            pointee.found = ~word.pointee
            word.pointee = .max
            return true
        }
        return false
    }

    /// Takes all timers out of the bucket, and returns how many there were. They belong to the caller, and are in the first slots until
    /// others are put there. O(number of slots).
    func takeAll() -> Int {
        if pointee.capacity == 0 { return 0 }
        clearRemoved()
        let (entries, taken) = (pointee.entries.unsafelyUnwrapped, pointee.taken.unsafelyUnwrapped)
        taken[pointee.group &>> 6] &= ~pointee.found
        var count = 0
        for word in 0..<pointee.capacity &>> 6 {
            var bits = taken[word]
            taken[word] = 0
            if bits == .max && count == word &<< 6 {
                count &+= 64
                continue
            }
            while bits != 0 {
                entries[count] = entries[word &<< 6 | bits.trailingZeroBitCount]
                count &+= 1
                bits &= bits &- 1
            }
        }
        (pointee.found, pointee.group, pointee.passed) = (0, 0, 0)
        return count
    }

    /// Makes room for `total` timers, and at least doubles the capacity. Returns false if out of memory. `spare`: memory for a small
    /// bucket, or nil.
    @inline(never)
    func grow(to total: Int, _ spare: inout UnsafeMutablePointer<DeadlineBucket.Entry>?) -> Bool {
        if pointee.entries == nil && total <= DeadlineBucket.small, let memory = spare {
            spare = nil
            use(memory, capacity: DeadlineBucket.small)
            return true
        }
        return resize(to: max(total, 2 &* pointee.capacity))
    }

    /// Frees memory that a bucket with few timers left does not need. Called after `endFilling`.
    func shrink() { _ = resize(to: max(pointee.count, 1)) }

    private func resize(to total: Int) -> Bool {
        clearRemoved()
        let capacity = (min(total, Int(DeadlineBucket.maximumIndex)) &+ 63) & ~63
        if capacity < pointee.capacity { use(pointee.entries.unsafelyUnwrapped, capacity: capacity) }
        guard let memory = realloc(pointee.entries, DeadlineBucket.size(capacity: capacity)) else {
            return false
        }
        use(memory.assumingMemoryBound(to: DeadlineBucket.Entry.self), capacity: capacity)
        return true
    }

    /// Makes the bucket use this memory, and moves the bitmap behind the slots.
    private func use(_ entries: UnsafeMutablePointer<DeadlineBucket.Entry>, capacity: Int) {
        let taken = UnsafeMutableRawPointer(entries + capacity)
        let kept = min(capacity, pointee.capacity) / 8
        memmove(taken, entries + pointee.capacity, kept)
        memset(taken + kept, 0, capacity / 8 &- kept)
        (pointee.entries, pointee.taken, pointee.capacity) = (entries, taken.assumingMemoryBound(to: UInt64.self), capacity)
        pointee.removed = (taken + capacity / 8).assumingMemoryBound(to: UInt32.self)
        pointee.passed = min(pointee.passed, capacity)
    }
}
