import CLinux

/// Timers of a `DeadlineQueue` in exact order: those of a large bucket that is not worth splitting, stored in the memory of that bucket. In
/// a heap, each of them would be moved several times, and its position changed each time.
///
/// Guarded by the loop's lock. Calls no user code.
struct SortedTimers: BitwiseCopyable {
    typealias Entry = DeadlineBucket.Entry

    /// The slots of the bucket; nil if there are no timers.
    private(set) var entries: UnsafeMutablePointer<Entry>?
    /// The slot of the timer that fires first; `end` if there is none.
    private(set) var next = 0
    private(set) var end = 0
    /// The latest deadline; 0 if there are no timers.
    private(set) var latest: UInt64 = 0

    /// The bucket number in the positions of these timers.
    static var number: Int { 62 }
    /// The position stored in a slot whose timer has been removed: an address that no timer has.
    private static var none: DeadlineQueue.Position { DeadlineQueue.Position(bitPattern: 64).unsafelyUnwrapped }
    /// How many slots ahead timers are prefetched.
    static var ahead: Int { 8 }

    init() {}

    /// Sorts the first `count` slots of a bucket, at least one, and stores the positions of their timers. The memory then belongs to the
    /// sorted timers, and is freed with the last of them. Returns nil, with nothing changed, if out of memory. O(count).
    @inline(never)
    init?(_ entries: UnsafeMutablePointer<Entry>, count: Int) {
        guard let scratch = malloc(count &* MemoryLayout<Entry>.stride)?.assumingMemoryBound(to: Entry.self) else { return nil }
        (self.entries, end) = (entries, count)
        Self.sort(entries, count, scratch, byArrival: false)
        // Timers with equal deadlines keep their order in the bucket. That is the order of arrival, unless slots were reused, dates were
        // set, or the timers came from the heap.
        if !storePositions() {
            Self.sort(entries, count, scratch, byArrival: true)
            Self.sort(entries, count, scratch, byArrival: false)
            _ = storePositions()
        }
        latest = entries[count &- 1].deadline
        free(scratch)
    }

    var isEmpty: Bool { next == end }

    /// An upper bound on the number of timers: slots behind the first timer count even if their timers have been removed.
    var count: Int { end &- next }

    /// The timer that fires first. Call only if `isEmpty` is false. O(1).
    var first: Entry { entries.unsafelyUnwrapped[next] }

    /// Returns the deadline of the timer with this position. O(1).
    func deadline(at position: UInt32) -> UInt64 { entries.unsafelyUnwrapped[DeadlineBucket.index(of: position)].deadline }

    /// Removes the timer with this position, and frees the memory with the last one. The caller changes the position. O(1) on average.
    @inline(__always)
    mutating func remove(at position: UInt32) {
        let entries = entries.unsafelyUnwrapped
        let slot = DeadlineBucket.index(of: position)
        entries[slot].position = Self.none
        if slot != next { return }
        repeat {
            next &+= 1
            if next == end { return clear() }
        } while entries[next].position == Self.none
        linux_prefetch(entries[min(next &+ Self.ahead, end &- 1)].position)
    }

    @inline(never)
    private mutating func clear() {
        free(entries)
        self = SortedTimers()
    }

    /// Stores the positions of all timers, and returns whether the timers are in exact order.
    private func storePositions() -> Bool {
        let entries = entries.unsafelyUnwrapped
        var isInOrder = true
        var last = TimerKey(deadline: 0, arrival: 0)
        for slot in 0..<end {
            linux_prefetch(entries[min(slot &+ Self.ahead, end &- 1)].position)
            entries[slot].position.pointee = DeadlineBucket.position(Self.number, slot)
            let key = entries[slot].key
            if TimerKey.precedes(key, last) { isInOrder = false }
            last = key
        }
        return isInOrder
    }

    /// Sorts the slots by deadline or by arrival, with a stable radix sort. `scratch`: memory for `count` entries. O(count) for each 10
    /// bits of the range of keys.
    private static func sort(
        _ entries: UnsafeMutablePointer<Entry>, _ count: Int, _ scratch: UnsafeMutablePointer<Entry>, byArrival: Bool
    ) {
        func value(_ entry: Entry) -> UInt64 { byArrival ? UInt64(entry.key.arrival) : entry.deadline }
        var (least, most) = (UInt64.max, UInt64.min)
        for slot in 0..<count {
            let value = value(entries[slot])
            (least, most) = (min(least, value), max(most, value))
        }
        var (from, to) = (entries, scratch)
        var shift: UInt64 = 0
        while (most &- least) &>> shift != 0 {
            func digit(_ entry: Entry) -> Int { Int(truncatingIfNeeded: (value(entry) &- least) &>> shift) & 1023 }
            var ends = InlineArray<1024, UInt32>(repeating: 0)
            for slot in 0..<count { ends[digit(from[slot])] &+= 1 }
            for digit in 1..<1024 { ends[digit] &+= ends[digit &- 1] }
            for slot in (0..<count).reversed() {
                let entry = from[slot]
                let digit = digit(entry)
                ends[digit] &-= 1
                to[Int(ends[digit])] = entry
            }
            swap(&from, &to)
            shift &+= 10
            if shift > 63 { break }
        }
        if from != entries { memcpy(entries, from, count &* MemoryLayout<Entry>.stride) }
    }
}

extension DeadlineBucket.Entry {
    /// The key by which the timer is ordered among others.
    var key: TimerKey { TimerKey(deadline: deadline, arrival: TimerPointer(queued: position).pointee.arrival) }
}
