import CLinux

/// When a timer fires: by deadline; of several with one deadline, the one that arrived first.
struct TimerKey: HeapKey {
    var deadline: UInt64
    var arrival: UInt

    static var last: TimerKey { TimerKey(deadline: .max, arrival: .max) }

    static func precedes(_ left: TimerKey, _ right: TimerKey) -> Bool {
        UInt128(_low: UInt64(left.arrival), _high: left.deadline) < UInt128(_low: UInt64(right.arrival), _high: right.deadline)
    }
}

extension ItemState {
    /// The index in the farthest bucket of a queued timer without a detail; more than any index for every other timer.
    @inline(__always)
    fileprivate var indexInFarthest: UInt64 { distance(from: .queued(at: DeadlineBucket.position(1, 0))) }
}

/// Timers in exact order, of which most are never looked at: nearly all timers are cancelled or moved before they are sorted.
///
///     near, sorted        buckets, the farthest first
///     in exact order      buckets[n - 1]  ...         buckets[1]         buckets[0]
///     |-------------------|---------------|-----------|------------------|------------------> deadline
///                         minimum         minimum     minimum            minimum
///
/// A bucket has the timers with deadlines from its `minimum` up to that of the next farther one, in no order. Those before the minimum of
/// the nearest bucket are in exact order: in `near`, a heap, or in `sorted`, an array.
///
/// Only when there are none of these, and the first timer is asked for, is the nearest bucket opened: a small one is poured into `near`, a
/// large one is first split into up to thirty smaller ones of equal width, unless all its timers are due: then it is sorted as a whole. If
/// `near` itself gets many timers, they become a bucket. So a timer is moved only when a small part of the time until it is due is left,
/// and of that again, and the heap stays so small that it lies in the processor's nearest cache.
///
/// Invariants:
/// 1. The minimums descend from `buckets[0]`, which always exists, to the last bucket. The deadlines in a bucket are at least its minimum
///    and below that of the next farther bucket; those in `near` and `sorted` are below all minimums, or `.max`.
/// 2. A timer's `position` is its index in `near`, `sorted` or its bucket, together with which of these it is (`DeadlineBucket.number`).
/// 3. `near` has room for all timers (`reserve`). Where there is no memory for a bucket, it is opened instead: correct, only slower.
///
/// Guarded by the loop's lock. Calls no user code.
struct DeadlineQueue: ~Copyable {
    typealias Position = IndexedHeap<TimerKey>.Position

    private var near = IndexedHeap<TimerKey>()
    /// What is left of a large bucket that was opened. Timers that come later and belong between these go into `near`.
    private var sorted = SortedTimers()
    /// With more timers than this, `near` becomes a bucket.
    private var nearLimit = 2 * DeadlineBucket.small
    /// nil until there is room for a timer. The farthest bucket has the minimum 0 at first, and again whenever the queue is found empty, so
    /// that all timers go there. While it is open: behind the sorted timers, or `.max` if `near` has its timers.
    private var buckets: DeadlineBucketPointer?
    private var bucketCount = 0
    /// Memory of a small bucket that was opened, for the next one.
    private var spare: UnsafeMutablePointer<DeadlineBucket.Entry>?

    /// The memory for more timers is freed when the queue is found empty.
    private static var mostKept: Int { 1024 }
    private static var maximumBuckets: Int { SortedTimers.number - 1 }

    init() {}

    deinit {
        for number in 0..<bucketCount { free(bucket(number).pointee.entries) }
        free(buckets)
        free(spare)
        free(sorted.entries)
    }

    /// Makes room for `total` timers, so that queueing them cannot fail; false if out of memory. Amortised O(1).
    mutating func reserve(_ total: Int) -> Bool { near.hasRoom(for: total) || reserveMore(total) }

    private mutating func reserveMore(_ total: Int) -> Bool {
        if buckets == nil {
            guard let memory = malloc(Self.maximumBuckets * MemoryLayout<DeadlineBucket>.stride) else { return false }
            buckets = memory.assumingMemoryBound(to: DeadlineBucket.self)
            addBucket(minimum: 0)
        }
        return total < Int(DeadlineBucket.maximumIndex) && near.reserve(total)
    }

    // MARK: shortcuts that call nothing. Each returns nil or false, and has changed nothing, if it would have to call something.

    /// `reserve` and `insert` for a far deadline: O(1). Returns the position, which the caller stores in the timer.
    @inline(__always)
    mutating func tryInsert(_ timer: TimerPointer, at deadline: UInt64, _ total: Int) -> UInt32? {
        guard near.hasRoom(for: total) else { return nil }
        let farthest = bucket(0)
        if deadline < farthest.pointee.minimum || !farthest.hasSlot { return nil }
        return farthest.put(DeadlineBucket.Entry(deadline: deadline, position: timer.position), number: 1)
    }

    /// `remove` for a timer in the farthest bucket, by its state, which the caller then changes: O(1).
    @inline(__always)
    func tryRemove(_ state: ItemState) -> Bool {
        let index = state.indexInFarthest
        if index > DeadlineBucket.maximumIndex { return false }
        bucket(0).remove(at: Int(truncatingIfNeeded: index))
        return true
    }

    /// `move` for a timer that stays in the farthest bucket, by its state: O(1).
    @inline(__always)
    func tryMove(_ state: ItemState, to deadline: UInt64) -> Bool {
        let index = state.indexInFarthest
        let farthest = bucket(0)
        if index > DeadlineBucket.maximumIndex || deadline < farthest.pointee.minimum { return false }
        farthest.setDeadline(deadline, at: Int(truncatingIfNeeded: index))
        return true
    }

    // MARK: inserting, removing and moving

    /// Queues a timer that is not queued; there is room for it. O(1) for a far deadline, O(log n) for a near one.
    @inline(never)
    mutating func insert(_ timer: TimerPointer, at deadline: UInt64) {
        let entry = DeadlineBucket.Entry(deadline: deadline, position: timer.position)
        for number in 0..<bucketCount where deadline >= bucket(number).pointee.minimum {
            if append(entry, to: number) { return }
            while bucketCount > number && bucket(number).pointee.minimum <= deadline && deadline < .max { openNearest() }
            break
        }
        insertNear(entry)
        if near.count > nearLimit { spill() }
    }

    /// Removes a queued timer. O(1), O(log n) for one in `near`.
    mutating func remove(_ timer: TimerPointer) {
        let position = timer.position.pointee
        let number = DeadlineBucket.number(of: position)
        if number == 0 { return near.remove(timer.position) }
        if number == SortedTimers.number {
            sorted.remove(at: position)
        } else {
            bucket(number - 1).remove(at: DeadlineBucket.index(of: position))
        }
        timer.position.pointee = IndexedHeap<TimerKey>.absent
    }

    /// Gives a queued timer, which has a new arrival, a new deadline. O(1) within the farthest bucket, else as `remove` and `insert`.
    @inline(never)
    mutating func move(_ timer: TimerPointer, to deadline: UInt64) {
        if tryMove(.queued(at: timer.position.pointee), to: deadline) { return }
        remove(timer)
        insert(timer, at: deadline)
    }

    // MARK: queries

    /// The timer that fires first, and when; nil if none is queued. O(1) on average.
    @inline(never)
    mutating func first() -> (timer: TimerPointer, key: TimerKey)? {
        if sorted.isEmpty && near.count == 0 { openUntilNear() }
        let first = near.first
        if sorted.isEmpty { return first.map { (TimerPointer(queued: $0.position), $0.key) } }
        let key = sorted.first.key
        if let first, TimerKey.precedes(first.key, key) { return (TimerPointer(queued: first.position), first.key) }
        return (TimerPointer(queued: sorted.first.position), key)
    }

    /// The deadline that a queued timer was queued for. O(1).
    func deadline(of timer: TimerPointer) -> UInt64 {
        let position = timer.position.pointee
        let number = DeadlineBucket.number(of: position)
        if number == 0 { return near.key(at: timer.position).deadline }
        return number == SortedTimers.number ? sorted.deadline(at: position) : bucket(number - 1).deadline(at: position)
    }

    // MARK: buckets

    private func bucket(_ number: Int) -> DeadlineBucketPointer { buckets.unsafelyUnwrapped + number }

    private mutating func addBucket(minimum: UInt64) {
        bucket(bucketCount).initialize(to: DeadlineBucket(minimum: minimum))
        bucketCount += 1
    }

    /// False if out of memory.
    @inline(never)
    private mutating func append(_ entry: DeadlineBucket.Entry, to number: Int) -> Bool {
        let bucket = bucket(number)
        if !bucket.hasSlot && !bucket.findSlot(&spare) { return false }
        entry.position.pointee = bucket.put(entry, number: number &+ 1)
        return true
    }

    @inline(never)
    private mutating func insertNear(_ entry: DeadlineBucket.Entry) {
        near.insertReserved(entry.key, entry.position)
    }

    // MARK: opening

    /// If no timer is in exact order: opens buckets until one is, or all are open.
    @inline(never)
    private mutating func openUntilNear() {
        if bucketCount == 0 { return }
        while near.count == 0 && sorted.isEmpty && (bucketCount > 1 || bucket(0).pointee.count > 0) { openNearest() }
        if near.count > 0 || !sorted.isEmpty { return }
        let farthest = bucket(0)
        if farthest.pointee.capacity <= Self.mostKept { return farthest.pointee.minimum = 0 }
        free(farthest.pointee.entries)
        farthest.initialize(to: DeadlineBucket(minimum: 0))
    }

    /// Opens the nearest bucket.
    private mutating func openNearest() {
        let count = bucket(bucketCount - 1).takeAll()
        if count <= 2 * DeadlineBucket.small || !splitNearest(count) { pourNearest(count) }
    }

    /// Brings the timers of the nearest bucket into exact order. `count`: how many `takeAll` returned.
    private mutating func pourNearest(_ count: Int) {
        let number = bucketCount - 1
        let nearest = bucket(number).pointee
        if count > 2 * DeadlineBucket.small && sorted.isEmpty, let timers = SortedTimers(nearest.entries.unsafelyUnwrapped, count: count) {
            sorted = timers
        } else if let entries = nearest.entries {
            for index in 0..<count { insertNear(entries[index]) }
            if spare == nil && nearest.capacity == DeadlineBucket.small { spare = entries } else { free(entries) }
        }
        if number > 0 {
            bucketCount = number
        } else {
            let isOnlySorted = near.count == 0 && !sorted.isEmpty
            bucket(0).initialize(to: DeadlineBucket(minimum: isOnlySorted ? max(sorted.latest, sorted.latest &+ 1) : .max))
        }
        nearLimit = 2 * max(DeadlineBucket.small, near.count)
    }

    /// Splits the nearest bucket into parts of equal width, with about `DeadlineBucket.small` timers each if these are spread evenly; the
    /// farthest part stays in it. False if all are due or have one deadline, there are too many buckets, or memory is out: then nothing has
    /// changed.
    /// `count`: as in `pourNearest`.
    private mutating func splitNearest(_ count: Int) -> Bool {
        let number = bucketCount - 1
        let source = bucket(number)
        let entries = source.pointee.entries.unsafelyUnwrapped
        var (earliest, latest) = (UInt64.max, UInt64.min)
        for index in 0..<count {
            earliest = min(earliest, entries[index].deadline)
            latest = max(latest, entries[index].deadline)
        }
        if latest <= Clock.now.nanoseconds { return false }
        // Half of the buckets that are left: the first part may have most of the timers, and is split next.
        let most = UInt64(min(count / DeadlineBucket.small, (Self.maximumBuckets - bucketCount) / 2))
        if earliest == latest || most == 0 { return false }
        // A part is 1 << width nanoseconds wide.
        var width: UInt64 = 0
        while (latest - earliest) >> width > most { width += 1 }
        let last = Int((latest - earliest) >> width)
        // Counted first, so that each bucket gets just the memory it needs. Then the numbers of the buckets.
        var parts = InlineArray<64, Int>(repeating: 0)
        for index in 0..<count { parts[Int((entries[index].deadline &- earliest) &>> width)] += 1 }
        parts[last] = number
        for part in (0..<last).reversed() where parts[part] > 0 {
            addBucket(minimum: earliest + UInt64(part) << width)
            if bucket(bucketCount - 1).grow(to: parts[part], &spare) {
                parts[part] = bucketCount - 1
                continue
            }
            while bucketCount > number + 1 {
                bucketCount -= 1
                free(bucket(bucketCount).pointee.entries)
            }
            return false
        }
        source.pointee.minimum = earliest + UInt64(last) << width
        for index in 0..<count {
            let entry = entries[index]
            linux_prefetch(entries[min(index &+ 8, count &- 1)].position)
            let part = parts[Int((entry.deadline &- earliest) &>> width)]
            entry.position.pointee = bucket(part).fill(entry, number: part &+ 1)
        }
        for filled in number..<bucketCount { bucket(filled).endFilling() }
        source.shrink()
        return true
    }

    // MARK: closing

    /// Moves all timers that are in exact order into a bucket, unless more are sorted than in `near`. Its next opening brings the first
    /// ones back.
    private mutating func spill() {
        nearLimit = 2 * near.count
        if sorted.count > near.count { return }
        while !sorted.isEmpty {
            let entry = sorted.first
            sorted.remove(at: entry.position.pointee)
            insertNear(entry)
        }
        let count = near.count
        if !makeNearest(near.entry(at: 0).key.deadline, for: count) { return }
        for index in 0..<count {
            let entry = near.entry(at: index)
            _ = append(DeadlineBucket.Entry(deadline: entry.key.deadline, position: entry.position), to: bucketCount - 1)
        }
        near.removeAll()
        nearLimit = 2 * DeadlineBucket.small
    }

    /// Makes room for `count` more timers with deadlines from `minimum` on in the nearest bucket, or in a new one if that has very many: the
    /// more buckets there are, the more it may have, so that there are never many. False if out of memory: then nothing has changed.
    private mutating func makeNearest(_ minimum: UInt64, for count: Int) -> Bool {
        let needsBucket = bucket(bucketCount - 1).pointee.count > DeadlineBucket.small << min(bucketCount, 30)
        if needsBucket && bucketCount == Self.maximumBuckets { return false }
        if needsBucket { addBucket(minimum: minimum) }
        let nearest = bucket(bucketCount - 1)
        let total = nearest.pointee.count + count
        if total > nearest.pointee.capacity && !nearest.grow(to: total, &spare) {
            if needsBucket { bucketCount -= 1 }
            return false
        }
        nearest.pointee.minimum = minimum
        return true
    }
}
