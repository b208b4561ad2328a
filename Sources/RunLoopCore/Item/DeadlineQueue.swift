import CLinux

/// The order in which timers fire: by deadline; those with equal deadlines, by arrival.
struct TimerKey: HeapKey {
    var deadline: UInt64
    var arrival: UInt

    static var last: TimerKey { TimerKey(deadline: .max, arrival: .max) }

    static func precedes(_ left: TimerKey, _ right: TimerKey) -> Bool {
        UInt128(_low: UInt64(left.arrival), _high: left.deadline) < UInt128(_low: UInt64(right.arrival), _high: right.deadline)
    }
}

/// Timers in exact order, most of which are never examined: nearly all timers are cancelled or moved before they are sorted.
///
///     near, sorted        buckets, the farthest first
///     in exact order      buckets[n - 1]  ...         buckets[1]         buckets[0]
///     |-------------------|---------------|-----------|------------------|------------------> deadline
///                         minimum         minimum     minimum            minimum
///
/// A bucket holds the timers with deadlines from its `minimum` up to that of the next farther bucket, in no order. The timers before the
/// minimum of the nearest bucket are in exact order: in `near`, a heap, or in `sorted`, an array.
///
/// The nearest bucket is opened only when these two are empty and the first timer is requested, or if there is no memory to put a timer
/// into a bucket. A small bucket is poured into `near`. A large one is first split into up to 31 smaller ones of equal width or, if all its
/// timers are due or have the same deadline, sorted as a whole. If `near` itself accumulates many timers, they become a bucket. So a timer
/// is moved only when a small part of the time until it is due is left, and again when a small part of that is left; and the heap stays so
/// small that it fits into the processor's first-level cache.
///
/// Invariants:
/// 1. The minimums descend from `buckets[0]`, which always exists, to the last bucket. The deadlines in a bucket are at least its minimum
///    and below that of the next farther bucket. The deadlines in `near` and `sorted` are below all minimums, or `.max`.
/// 2. A timer's `position` is its index in `near`, `sorted` or its bucket, combined with a number that tells which of these it is in
///    (`DeadlineBucket.number`).
/// 3. `near` has room for all timers (`reserve`). If there is no memory for a bucket, the bucket is opened instead: correct, but slower.
///
/// Guarded by the loop's lock. Calls no user code.
struct DeadlineQueue: ~Copyable {
    typealias Position = IndexedHeap<TimerKey>.Position

    private var near = IndexedHeap<TimerKey>()
    /// What is left of a large bucket that was opened. Timers that are queued later and belong between these go into `near`.
    private var sorted = SortedTimers()
    /// If `near` has more timers than this, they become a bucket.
    private var nearLimit = 2 * DeadlineBucket.small
    /// The farthest bucket, `buckets[0]` above. Stored in the struct, because nearly all calls use it. The minimum is 0 at first, and again
    /// whenever the queue is found empty, so that all timers go there. When it has been split, the minimum is where its last part begins;
    /// when it has been emptied, it is just behind the sorted timers, or `.max` if `near` has its timers.
    private var farthest = FarthestBucket()
    /// The other buckets, from `buckets[1]` on; nil until `reserve` has made room for a timer.
    private var nearer: DeadlineBucketPointer?
    private var bucketCount = 1
    /// The memory of a small bucket that was opened, kept for the next one.
    private var spare: UnsafeMutablePointer<DeadlineBucket.Entry>?

    /// If the farthest bucket has memory for more timers than this, the memory is freed when the queue is found empty.
    private static var mostKept: Int { 1024 }
    private static var maximumBuckets: Int { SortedTimers.number - 1 }

    init() {}

    deinit {
        free(farthest.bucket.entries)
        for number in 1..<bucketCount { free(nearer.unsafelyUnwrapped[number - 1].entries) }
        free(nearer)
        free(spare)
        free(sorted.entries)
    }

    /// Makes room for `total` timers, so that queueing them cannot fail. Returns false if out of memory. Amortized O(1).
    mutating func reserve(_ total: Int) -> Bool { near.hasRoom(for: total) || reserveMore(total) }

    private mutating func reserveMore(_ total: Int) -> Bool {
        if nearer == nil {
            guard let memory = malloc((Self.maximumBuckets - 1) * MemoryLayout<DeadlineBucket>.stride) else { return false }
            nearer = memory.assumingMemoryBound(to: DeadlineBucket.self)
        }
        return total < Int(DeadlineBucket.maximumIndex) && near.reserve(total)
    }

    // MARK: shortcuts. Each returns nil or false, with nothing changed, if it cannot be done inline.

    /// Does what `reserve` and `insert` do, for a far date: see `FarthestBucket.tryInsert`.
    @inline(__always)
    mutating func tryInsert(_ timer: TimerPointer, at date: Double, _ total: Int) -> UInt32? {
        near.hasRoom(for: total) ? farthest.tryInsert(timer, at: date) : nil
    }

    /// Does what `remove` does, for a timer in the farthest bucket: see `FarthestBucket.tryRemove`.
    @inline(__always)
    mutating func tryRemove(_ state: ItemState) -> Bool { farthest.tryRemove(state) }

    /// Does what `move` does, for a timer that stays in the farthest bucket: see `FarthestBucket.tryMove`.
    @inline(__always)
    mutating func tryMove(_ state: ItemState, to date: Double) -> Bool { farthest.tryMove(state, to: date) }

    // MARK: inserting, removing and moving

    /// Queues a timer that is not queued, and for which there is room. O(1) for a far deadline, O(log n) for a near one.
    @inline(never)
    mutating func insert(_ timer: TimerPointer, at deadline: UInt64) {
        farthest.followClocks()
        let entry = DeadlineBucket.Entry(deadline: deadline, position: timer.position)
        for number in 0..<bucketCount where deadline >= bucket(number).pointee.minimum {
            if append(entry, to: number) { return }
            openBuckets(upTo: deadline)
            break
        }
        insertNear(entry)
        if near.count > nearLimit { spill() }
    }

    /// Removes a queued timer. O(1); O(log n) for one in `near`.
    mutating func remove(_ timer: TimerPointer) {
        let position = timer.position.pointee
        let number = DeadlineBucket.number(of: position)
        timer.pointee.isQueuedByDate = false
        if number == 0 { return near.remove(timer.position) }
        if number == SortedTimers.number {
            sorted.remove(at: position)
        } else {
            bucket(number - 1).remove(at: DeadlineBucket.index(of: position))
        }
        timer.position.pointee = IndexedHeap<TimerKey>.absent
    }

    /// Gives a queued timer, which has a new arrival, a new deadline. O(1) within the farthest bucket, otherwise as `remove` and `insert`.
    @inline(never)
    mutating func move(_ timer: TimerPointer, to deadline: UInt64) {
        if bucket(0).pointee.minimum <= deadline && farthest.setDeadline(deadline, of: timer) { return farthest.followClocks() }
        remove(timer)
        insert(timer, at: deadline)
    }

    // MARK: queries

    /// Returns the timer that fires first, with its key; nil if none is queued. O(1) on average.
    @inline(never)
    mutating func first() -> (timer: TimerPointer, key: TimerKey)? {
        if sorted.isEmpty && near.count == 0 { openUntilNear() }
        let first = near.first
        if sorted.isEmpty { return first.map { (TimerPointer(queued: $0.position), $0.key) } }
        let key = sorted.first.key
        if let first, TimerKey.precedes(first.key, key) { return (TimerPointer(queued: first.position), first.key) }
        return (TimerPointer(queued: sorted.first.position), key)
    }

    /// Returns the deadline for which a queued timer is queued. O(1).
    mutating func deadline(of timer: TimerPointer) -> UInt64 {
        let position = timer.position.pointee
        let number = DeadlineBucket.number(of: position)
        if number == 0 { return near.key(at: timer.position).deadline }
        if timer.pointee.isQueuedByDate { return farthest.deadline(ofDated: timer) }
        return number == SortedTimers.number ? sorted.deadline(at: position) : bucket(number - 1).deadline(at: position)
    }

    /// Keeps the deadline of a timer that is queued by date, before its date is changed. O(1).
    mutating func keepDeadline(of timer: TimerPointer) { _ = farthest.setDeadline(farthest.deadline(ofDated: timer), of: timer) }

    // MARK: buckets

    private mutating func bucket(_ number: Int) -> DeadlineBucketPointer {
        if number == 0 { return farthest.pointer }
        return nearer.unsafelyUnwrapped + (number - 1)
    }

    private mutating func addBucket(minimum: UInt64) {
        bucket(bucketCount).initialize(to: DeadlineBucket(minimum: minimum))
        bucketCount += 1
    }

    /// Puts a timer into a bucket. Returns false if out of memory.
    @inline(never)
    private mutating func append(_ entry: DeadlineBucket.Entry, to number: Int) -> Bool {
        let bucket = bucket(number)
        if !bucket.hasSlot && !bucket.findSlot(&spare) { return false }
        entry.position.pointee = bucket.put(entry, number: number &+ 1)
        return true
    }

    private mutating func insertNear(_ entry: DeadlineBucket.Entry) {
        near.insertReserved(entry.key, entry.position)
    }

    // MARK: opening

    /// Opens buckets until some timer is in exact order, or all buckets are open. If the queue turns out to be empty, resets the farthest
    /// bucket.
    private mutating func openUntilNear() {
        while near.count == 0 && sorted.isEmpty && (bucketCount > 1 || bucket(0).pointee.count > 0) { openNearest() }
        if near.count == 0 && sorted.isEmpty {
            bucket(0).pointee.minimum = 0
            if farthest.bucket.capacity > Self.mostKept {
                free(farthest.bucket.entries)
                bucket(0).initialize(to: DeadlineBucket(minimum: 0))
            }
        }
        farthest.updateLimit()
    }

    /// Opens all buckets in which there may be timers with deadlines up to this one, because there is no memory to put another timer there.
    private mutating func openBuckets(upTo deadline: UInt64) {
        while bucket(bucketCount - 1).pointee.minimum <= deadline && (bucketCount > 1 || bucket(0).pointee.count > 0) { openNearest() }
        // If only the farthest bucket is left, it is empty, so its minimum may be raised.
        if bucketCount == 1 && bucket(0).pointee.minimum <= deadline { bucket(0).pointee.minimum = .max }
        farthest.updateLimit()
    }

    /// Opens the nearest bucket: brings its timers into exact order, or splits it.
    private mutating func openNearest() {
        let count = bucketCount > 1 ? bucket(bucketCount - 1).takeAll() : farthest.takeAll()
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

    /// Splits the nearest bucket into parts of equal width, with about `DeadlineBucket.small` timers each if these are spread evenly. The
    /// farthest part stays in the bucket. Returns false, with nothing changed, if all timers are due or have the same deadline, if there
    /// are too many buckets, or if memory runs out. `count`: how many `takeAll` returned.
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
        // At most half of the buckets that are left, as the first part may have most of the timers, and is split next.
        let most = UInt64(min(count / DeadlineBucket.small, (Self.maximumBuckets - bucketCount) / 2))
        if earliest == latest || most == 0 { return false }
        // A part is 1 << width nanoseconds wide.
        var width: UInt64 = 0
        while (latest - earliest) >> width > most { width += 1 }
        let last = Int((latest - earliest) >> width)
        // First the number of timers in each part, so that each bucket gets exactly the memory it needs; then the number of its bucket.
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
            let part = parts[Int((entry.deadline &- earliest) &>> width)]
            entry.position.pointee = bucket(part).fill(entry, number: part &+ 1)
        }
        for filled in number..<bucketCount { bucket(filled).endFilling() }
        source.shrink()
        return true
    }

    // MARK: closing

    /// Moves all timers that are in exact order into a bucket, unless there are more in `sorted` than in `near`. The next time this bucket
    /// is opened, the first of them return.
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

    /// Makes room for `count` more timers with deadlines from `minimum` on in the nearest bucket, or in a new one if that has very many.
    /// What counts as very many grows with the number of buckets, so that there are never many buckets. Returns false, with nothing
    /// changed, if there are too many, or if out of memory.
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
        farthest.updateLimit()
        return true
    }
}
