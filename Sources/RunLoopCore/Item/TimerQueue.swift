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
/// Insert, remove and move are O(log n), O(1) on average for far deadlines. Guarded by the loop's lock.
struct TimerQueue: ~Copyable {
    private var precise = IndexedHeap<DeadlineKey>()
    private var tolerant = IndexedHeap<DeadlineKey>()
    private var tolerantByLatest = IndexedHeap<DeadlineKey>()

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

    /// Queues a timer that has no detail, where there is room.
    @inline(__always)
    mutating func insertPlain(_ timer: TimerPointer, at deadline: UInt64) {
        precise.insertReserved(DeadlineKey(deadline: deadline), timer.position)
    }

    /// Takes out a queued timer that has no detail.
    @inline(__always)
    mutating func removePlain(_ timer: TimerPointer) { precise.remove(timer.position) }

    /// A new deadline for a queued timer that has no detail.
    @inline(__always)
    mutating func movePlain(_ timer: TimerPointer, to deadline: UInt64) {
        precise.update(timer.position, to: DeadlineKey(deadline: deadline))
    }

    /// False if out of memory: then nothing has changed.
    @inline(__always)
    mutating func insert(_ timer: TimerPointer, at deadline: UInt64) -> Bool {
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
        if let detail = timer.pointee.detail, detail.position.pointee != IndexedHeap<DeadlineKey>.absent {
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
        if let detail = timer.pointee.detail, detail.position.pointee != IndexedHeap<DeadlineKey>.absent {
            moveTolerant(timer, detail, deadline)
        } else {
            precise.update(timer.position, to: DeadlineKey(deadline: deadline))
        }
    }

    @inline(never)
    private mutating func moveTolerant(_ timer: TimerPointer, _ detail: TimerDetailPointer, _ deadline: UInt64) {
        tolerant.updateSeldom(timer.position, to: DeadlineKey(deadline: deadline))
        tolerantByLatest.updateSeldom(detail.position, to: DeadlineKey(deadline: detail.latest(deadline)))
    }

    /// The first timer to become due and its deadline. O(1).
    @inline(__always)
    var first: (timer: TimerPointer, deadline: UInt64)? {
        guard let precise = precise.first else { return tolerant.first.map { (TimerPointer(queued: $0.position), $0.key.deadline) } }
        if let tolerant = tolerant.first, tolerant.key.deadline < precise.key.deadline {
            return (TimerPointer(queued: tolerant.position), tolerant.key.deadline)
        }
        return (TimerPointer(queued: precise.position), precise.key.deadline)
    }

    /// How long a loop may sleep at most: `.max` for ever. O(1).
    var latestWake: UInt64 {
        min(precise.first?.key.deadline ?? .max, tolerantByLatest.first?.key.deadline ?? .max)
    }

    /// The deadline a timer stands under; nil if it is not queued. O(1).
    func deadline(of timer: TimerPointer) -> UInt64? {
        if timer.position.pointee == IndexedHeap<DeadlineKey>.absent { return nil }
        if let detail = timer.pointee.detail, detail.position.pointee != IndexedHeap<DeadlineKey>.absent {
            return tolerant.key(at: timer.position).deadline
        }
        return precise.key(at: timer.position).deadline
    }

    /// Some queued timer, nil if there is none: for emptying the queue. O(1).
    var any: TimerPointer? { first?.timer }
}
