/// The timers of one mode set.
///
/// Timers with a tolerance may fire at any time between their deadline and deadline + tolerance. They are kept in two orders: by deadline,
/// to know which of them may fire now, and by the latest time, to know how long the loop may sleep. So one wake-up serves all timers whose
/// windows overlap. Timers without a tolerance, which nearly all are, are kept in one order only.
///
/// Inserting, removing and moving are O(1) for timers without a tolerance and with far deadlines, otherwise O(log n). Guarded by the loop's
/// lock.
struct TimerQueue: ~Copyable {
    typealias Position = IndexedHeap<TimerKey>.Position

    private var precise = DeadlineQueue()
    private var tolerant = IndexedHeap<TimerKey>()
    /// The timers with a tolerance by their latest time, equal times in any order. The positions are in `TimerDetail`.
    private var tolerantByLatest = IndexedHeap<TimerKey>()
    /// Whether some timers may be queued for deadlines other than their own, until `restoreDeadlines`.
    var hasDisplaced = false

    init() {}

    // MARK: shortcuts for timers without a detail. Those that can fail return nil or false, with nothing changed, if they cannot be
    // done inline.

    /// Does what `reserve` and `insert` do. The caller stores the position, the date and `isQueuedByDate`. O(1).
    @inline(__always)
    mutating func tryInsert(_ timer: TimerPointer, at date: Double, _ total: Int) -> UInt32? {
        precise.tryInsert(timer, at: date, total)
    }

    /// Removes the timer with this state if it is `queued`. The caller then updates the state. O(1).
    @inline(__always)
    mutating func tryRemove(_ state: ItemState) -> Bool { precise.tryRemove(state) }

    /// Does what `move` does for the timer with this state, if that is `queued`. The caller then sets its date and `isQueuedByDate`.
    /// O(1).
    @inline(__always)
    mutating func tryMove(_ state: ItemState, to date: Double) -> Bool { precise.tryMove(state, to: date) }

    /// Keeps the deadline of a timer that is queued by date, before its date is changed. O(1).
    mutating func keepDeadline(of timer: TimerPointer) { precise.keepDeadline(of: timer) }

    /// Removes a queued timer without a detail. O(1) for a far one, otherwise O(log n).
    mutating func removeSimple(_ timer: TimerPointer) { precise.remove(timer) }

    // MARK: for all timers

    /// Makes room for `total` timers, one of which is to be `timer`, so that queueing them cannot fail. Returns false if out of memory.
    mutating func reserve(_ total: Int, for timer: TimerPointer) -> Bool {
        precise.reserve(total) && (!timer.hasTolerance || (tolerant.reserve(total) && tolerantByLatest.reserve(total)))
    }

    /// Queues a timer that is not queued, and for which there is room.
    mutating func insert(_ timer: TimerPointer, at deadline: UInt64) {
        if timer.hasTolerance { insertTolerant(timer, deadline) } else { precise.insert(timer, at: deadline) }
    }

    private mutating func insertTolerant(_ timer: TimerPointer, _ deadline: UInt64) {
        let detail = timer.knownDetail
        tolerant.insertReserved(TimerKey(deadline: deadline, arrival: timer.pointee.arrival), timer.position)
        tolerantByLatest.insertReserved(TimerKey(deadline: detail.latest(deadline), arrival: 0), detail.position)
    }

    /// Removes a timer. No effect on a timer that is not queued because it is firing.
    mutating func remove(_ timer: TimerPointer) {
        if timer.isQueuedByLatest {
            tolerantByLatest.remove(timer.knownDetail.position)
            tolerant.remove(timer.position)
        } else if timer.isQueued {
            precise.remove(timer)
        }
    }

    /// Gives a queued timer a new deadline.
    mutating func move(_ timer: TimerPointer, to deadline: UInt64) {
        if timer.isQueuedByLatest {
            remove(timer)
            insertTolerant(timer, deadline)
        } else {
            precise.move(timer, to: deadline)
        }
    }

    /// Returns the timer that fires first, with its key; nil if none is queued. O(1) on average.
    mutating func first() -> (timer: TimerPointer, key: TimerKey)? {
        let first = precise.first()
        guard let tolerant = tolerant.first else { return first }
        if let first, TimerKey.precedes(first.key, tolerant.key) { return first }
        return (TimerPointer(queued: tolerant.position), tolerant.key)
    }

    /// Returns the time until which a loop may sleep; `.max` if there is no limit. O(1) on average.
    mutating func latestWake() -> UInt64 {
        min(precise.first()?.key.deadline ?? .max, tolerantByLatest.first?.key.deadline ?? .max)
    }

    /// Returns the deadline for which a timer is queued; nil if it is not queued. O(1).
    mutating func deadline(of timer: TimerPointer) -> UInt64? {
        if !timer.isQueued { return nil }
        return timer.isQueuedByLatest ? tolerant.key(at: timer.position).deadline : precise.deadline(of: timer)
    }

    /// Queues displaced timers for their own deadlines again, after a pass has queued them for deadlines up to `limit`. `list` is empty
    /// before and after. O(k log n) for the k timers with deadlines up to `limit`. If memory runs out, some timers stay where they are.
    mutating func restoreDeadlines(upTo limit: UInt64, _ list: inout PlainList<Position>) {
        hasDisplaced = false
        while let first = first(), first.key.deadline <= limit, list.append(first.timer.position) { remove(first.timer) }
        for index in 0..<list.count {
            let timer = TimerPointer(queued: list[index])
            // A date that was up to `limit` stays so if the clock has been set back since. A stored deadline does not depend on the clock.
            let isStored = timer.pointee.item.has([.repeats, .keepsDeadline])
            insert(timer, at: isStored ? timer.deadline : min(timer.deadline, limit))
        }
        list.truncate(to: 0)
    }
}

extension TimerPointer {
    /// Whether the timer is in a queue. The caller holds the lock.
    var isQueued: Bool { position.pointee != IndexedHeap<TimerKey>.absent }

    /// Whether the timer is also queued by its latest time, among those with a tolerance. The caller holds the lock.
    fileprivate var isQueuedByLatest: Bool { hasDetail && knownDetail.position.pointee != IndexedHeap<TimerKey>.absent }

    /// Whether the timer has a tolerance. The caller holds the lock.
    fileprivate var hasTolerance: Bool { hasDetail && knownDetail.pointee.tolerance > 0 }
}
