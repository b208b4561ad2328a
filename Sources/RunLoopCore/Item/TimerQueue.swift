/// A deadline as a key of a heap.
struct DeadlineKey: HeapKey {
    var deadline: UInt64

    static var last: DeadlineKey { DeadlineKey(deadline: .max) }

    @inline(__always)
    static func precedes(_ left: DeadlineKey, _ right: DeadlineKey) -> Bool { left.deadline < right.deadline }
}

/// The timers of one mode set, by deadline.
///
/// Timers with a tolerance may fire anywhere between their deadline and deadline + tolerance. They are kept
/// in two orders: by deadline, to know which may fire now, and by the latest time, to know how long the
/// loop may sleep; so one wake-up serves all whose windows overlap. Timers without, nearly all, are kept once.
///
/// Timers with the same deadline fire in the order of their arrival, of which these heaps know nothing. When the first
/// deadline turns out to be that of several timers as they are to fire (`firstArrived`), they all are moved to a queue of their
/// own, in which they wait for their turns. All other timers pay nothing for that.
///
/// Insert, remove and move are O(log n), O(1) on average for far deadlines. Guarded by the loop's lock.
struct TimerQueue: ~Copyable {
    private var precise = IndexedHeap<DeadlineKey>()
    private var tolerant = IndexedHeap<DeadlineKey>()
    private var tolerantByLatest = IndexedHeap<DeadlineKey>()
    /// Timers with the deadline `tiedDeadline`, of either kind, or none. In no heap.
    private var tied = ArrivalQueue()
    private var tiedDeadline: UInt64 = 0
    /// Some timers may stand under other deadlines than their own, until `restoreDeadlines`.
    var hasDisplaced = false

    init() {}

    /// Makes room for `total` timers, of which `timer` is to be one, so that queueing them cannot fail.
    @inline(__always)
    mutating func reserve(_ total: Int, for timer: TimerPointer) -> Bool {
        guard precise.reserve(total) else { return false }
        guard let detail = timer.pointee.detail, detail.pointee.tolerance > 0 else { return true }
        return tolerant.reserve(total) && tolerantByLatest.reserve(total)
    }

    /// Whether `total` timers without a detail have room.
    @inline(__always)
    func hasRoom(for total: Int) -> Bool { precise.hasRoom(for: total) }

    /// Whether a queued timer without a detail can be taken out and moved plainly: not while several with one deadline wait for
    /// their turns.
    @inline(__always)
    var isPlain: Bool { tied.count == 0 }

    /// Queues a timer that has no detail and arrives now, where there is room.
    @inline(__always)
    mutating func insertPlain(_ timer: TimerPointer, at deadline: UInt64) {
        precise.insertReserved(DeadlineKey(deadline: deadline), timer.position)
    }

    /// Takes out a queued timer that has no detail, if the queue `isPlain`.
    @inline(__always)
    mutating func removePlain(_ timer: TimerPointer) { precise.remove(timer.position) }

    /// A new deadline for a queued timer that has no detail, if the queue `isPlain`.
    @inline(__always)
    mutating func movePlain(_ timer: TimerPointer, to deadline: UInt64) {
        precise.update(timer.position, to: DeadlineKey(deadline: deadline))
    }

    /// False if out of memory: then nothing has changed.
    @inline(__always)
    mutating func insert(_ timer: TimerPointer, at deadline: UInt64) -> Bool {
        // It may have arrived before them.
        if tied.count > 0 && deadline == tiedDeadline { untie() }
        return insertUntied(timer, at: deadline)
    }

    @inline(__always)
    private mutating func insertUntied(_ timer: TimerPointer, at deadline: UInt64) -> Bool {
        if let detail = timer.pointee.detail, detail.pointee.tolerance > 0 { return insertTolerant(timer, detail, deadline) }
        return precise.insert(DeadlineKey(deadline: deadline), timer.position)
    }

    @inline(never)
    private mutating func insertTolerant(_ timer: TimerPointer, _ detail: TimerDetailPointer, _ deadline: UInt64) -> Bool {
        guard tolerantByLatest.reserve(tolerant.count + 1), tolerant.insertSeldom(DeadlineKey(deadline: deadline), timer.position)
        else { return false }
        return tolerantByLatest.insertSeldom(DeadlineKey(deadline: detail.latest(deadline)), detail.position)
    }

    /// No effect if the timer is not queued (it is firing).
    @inline(__always)
    mutating func remove(_ timer: TimerPointer) {
        if timer.position.pointee == IndexedHeap<DeadlineKey>.absent { return }
        if tied.contains(timer.position) {
            tied.remove(timer.position)
        } else if let detail = timer.pointee.detail, detail.position.pointee != IndexedHeap<DeadlineKey>.absent {
            removeTolerant(timer, detail)
        } else {
            precise.remove(timer.position)
        }
    }

    /// The same for callers that do it seldom: compiled once.
    @inline(never)
    mutating func removeSeldom(_ timer: TimerPointer) { remove(timer) }

    @inline(never)
    private mutating func removeTolerant(_ timer: TimerPointer, _ detail: TimerDetailPointer) {
        tolerantByLatest.removeSeldom(detail.position)
        tolerant.removeSeldom(timer.position)
    }

    /// A new deadline for a queued timer.
    @inline(__always)
    mutating func move(_ timer: TimerPointer, to deadline: UInt64) {
        if tied.contains(timer.position) {
            moveTied(timer, to: deadline)
        } else if let detail = timer.pointee.detail, detail.position.pointee != IndexedHeap<DeadlineKey>.absent {
            moveTolerant(timer, detail, deadline)
        } else {
            precise.update(timer.position, to: DeadlineKey(deadline: deadline))
        }
    }

    /// Where it was before it came to these there is room.
    @inline(never)
    private mutating func moveTied(_ timer: TimerPointer, to deadline: UInt64) {
        tied.remove(timer.position)
        _ = insert(timer, at: deadline)
    }

    @inline(never)
    private mutating func moveTolerant(_ timer: TimerPointer, _ detail: TimerDetailPointer, _ deadline: UInt64) {
        tolerant.updateSeldom(timer.position, to: DeadlineKey(deadline: deadline))
        tolerantByLatest.updateSeldom(detail.position, to: DeadlineKey(deadline: detail.latest(deadline)))
    }

    /// The first timer to become due and its deadline. Of several it is any of them, if `isFirstShared`. O(1).
    @inline(__always)
    var first: (timer: TimerPointer, deadline: UInt64)? {
        var first: (timer: TimerPointer, deadline: UInt64)?
        if let precise = precise.first { first = (TimerPointer(queued: precise.position), precise.key.deadline) }
        if let tolerant = tolerant.first, first.map({ tolerant.key.deadline < $0.deadline }) ?? true {
            first = (TimerPointer(queued: tolerant.position), tolerant.key.deadline)
        }
        if let tied = tied.first, first.map({ tiedDeadline <= $0.deadline }) ?? true { first = (TimerPointer(queued: tied), tiedDeadline) }
        return first
    }

    /// Whether another timer than `first`, whose deadline this is, may have to come before it, because it has the same. O(1).
    @inline(__always)
    func isFirstShared(_ deadline: UInt64) -> Bool {
        if tied.count > 0 { return deadline != tiedDeadline }
        return tolerant.count > 0 || precise.isFirstShared
    }

    /// As `first`, and of several timers the one that arrived first. O(1); O(n log n) the first time that there are n of them. Out of memory
    /// it is any of them.
    @inline(never)
    mutating func firstArrived() -> TimerPointer? {
        guard let (timer, deadline) = first else { return nil }
        if tied.count > 0 {
            if deadline == tiedDeadline { return timer }
            untie()
        }
        tie(deadline)
        return tied.first.map { TimerPointer(queued: $0) } ?? timer
    }

    /// Moves those with the first deadline to the tied ones, of which there are none.
    private mutating func tie(_ deadline: UInt64) {
        tiedDeadline = deadline
        if precise.first?.key.deadline == deadline && !precise.takeFirsts(&tied) { return }
        if tolerant.first?.key.deadline == deadline { tieTolerant() }
        tied.sort { TimerPointer(queued: $0).arrival }
    }

    /// Out of memory they come after those without a tolerance.
    private mutating func tieTolerant() {
        let start = tied.unsortedCount
        if !tolerant.takeFirsts(&tied) { return }
        for number in start..<tied.unsortedCount {
            let detail = TimerPointer(queued: tied.position(ofUnsorted: number)).pointee.detail.unsafelyUnwrapped
            tolerantByLatest.removeSeldom(detail.position)
        }
    }

    /// Moves all back. There is room where they were before.
    @inline(never)
    private mutating func untie() {
        while let position = tied.first {
            tied.remove(position)
            _ = insertUntied(TimerPointer(queued: position), at: tiedDeadline)
        }
    }

    /// How long a loop may sleep at most: `.max` for ever. O(1).
    var latestWake: UInt64 {
        let latest = min(precise.first?.key.deadline ?? .max, tolerantByLatest.first?.key.deadline ?? .max)
        return tied.count > 0 ? min(latest, tiedDeadline) : latest
    }

    /// The deadline a timer stands under; nil if it is not queued. O(1).
    func deadline(of timer: TimerPointer) -> UInt64? {
        if timer.position.pointee == IndexedHeap<DeadlineKey>.absent { return nil }
        if tied.contains(timer.position) { return tiedDeadline }
        if let detail = timer.pointee.detail, detail.position.pointee != IndexedHeap<DeadlineKey>.absent {
            return tolerant.key(at: timer.position).deadline
        }
        return precise.key(at: timer.position).deadline
    }

    /// Puts those that were displaced, to deadlines up to `limit`, under their own. `list`: empty before and after. O(k log n) for k timers
    /// with deadlines up to there. Out of memory they stay where they are.
    @inline(never)
    mutating func restoreDeadlines(upTo limit: UInt64, _ list: inout PlainList<IndexedHeap<DeadlineKey>.Position>) {
        hasDisplaced = false
        if tied.count > 0 { untie() }
        let key = DeadlineKey(deadline: limit)
        if precise.list(upTo: key, &list) && tolerant.list(upTo: key, &list) {
            for index in 0..<list.count {
                let timer = TimerPointer(queued: list[index])
                let own = timer.deadline
                if deadline(of: timer) != own { move(timer, to: own) }
            }
        }
        list.truncate(to: 0)
    }

    /// Some queued timer, nil if there is none: for emptying the queue. O(1).
    var any: TimerPointer? { first?.timer }
}
