import CLinux

extension ItemState {
    /// The index of a queued timer without a detail in the farthest bucket; greater than any index for every other timer.
    fileprivate var indexInFarthest: UInt64 { distance(from: .queued(at: DeadlineBucket.position(FarthestBucket.number, 0))) }
}

/// The farthest bucket of a `DeadlineQueue`. Most timers are added to this bucket and leave it before it is opened. So a timer that is
/// added or moved by a shortcut is queued by date (`TimerStorage.isQueuedByDate`): its deadline is computed when the bucket is opened, and
/// until then its slot has none, or an outdated one. So moving a timer does not touch the slot, which for one of a million timers would
/// have to be fetched from memory.
///
/// A date has to be converted with the difference of the clocks at the time the timer was added or moved. So all timers that are queued by
/// date were queued while the difference was that of `limit`. After it has changed, timers are queued by deadline until `followClocks` has
/// computed the missing deadlines, with the old difference.
///
/// Guarded by the loop's lock. Calls no user code.
struct FarthestBucket: BitwiseCopyable {
    private(set) var bucket = DeadlineBucket(minimum: 0)
    /// The bucket's minimum, with which dates are compared.
    private var limit = DateLimit(0)
    /// Whether there may be timers that are queued by date.
    private var hasDates = false
    /// How many calls have found the difference of the clocks changed since all deadlines were last computed: see `followClocks`.
    private var delayedCalls = 0

    /// The bucket's number in positions.
    static var number: Int { 1 }

    /// The address of `bucket`.
    var pointer: DeadlineBucketPointer {
        mutating get { withUnsafeMutablePointer(to: &bucket) { $0 } }
    }

    // MARK: shortcuts that call no function. Each returns nil or false, with nothing changed, if it does not apply, or would have to.

    /// Adds a timer with a far date. Returns the position, which the caller stores in the timer, together with the date and
    /// `isQueuedByDate`. O(1).
    @inline(__always)
    mutating func tryInsert(_ timer: TimerPointer, at date: Double) -> UInt32? {
        if !limit.isReached(by: date) || !pointer.hasSlot { return nil }
        hasDates = true
        return pointer.put(DeadlineBucket.Entry(deadline: 0, position: timer.position), number: Self.number)
    }

    /// Removes a timer that is in this bucket, given its state, which the caller then changes. O(1).
    @inline(__always)
    mutating func tryRemove(_ state: ItemState) -> Bool {
        let index = state.indexInFarthest
        return index <= DeadlineBucket.maximumIndex && pointer.tryRemove(at: UInt32(truncatingIfNeeded: index))
    }

    /// Moves a timer that stays in this bucket, given its state. The caller then sets the timer's date and `isQueuedByDate`. O(1).
    @inline(__always)
    mutating func tryMove(_ state: ItemState, to date: Double) -> Bool {
        if state.indexInFarthest > DeadlineBucket.maximumIndex || !limit.isReached(by: date) { return false }
        hasDates = true
        return true
    }

    // MARK: deadlines

    /// Returns the deadline of a timer that is queued by date. O(1).
    func deadline(ofDated timer: TimerPointer) -> UInt64 { limit.instant(of: timer.pointee.date).nanoseconds }

    /// Stores the deadline of a timer. Returns false if the timer is not in this bucket. O(1).
    mutating func setDeadline(_ deadline: UInt64, of timer: TimerPointer) -> Bool {
        let position = timer.position.pointee
        if DeadlineBucket.number(of: position) != Self.number { return false }
        pointer.setDeadline(deadline, at: DeadlineBucket.index(of: position))
        timer.pointee.isQueuedByDate = false
        return true
    }

    /// Takes all timers out of the bucket, as `DeadlineBucketPointer.takeAll` does, with their deadlines. O(number of slots).
    mutating func takeAll() -> Int {
        let count = pointer.takeAll()
        let mayHaveDates = hasDates
        hasDates = false
        guard mayHaveDates, let entries = bucket.entries else { return count }
        for index in 0..<count {
            linux_prefetch(entries[min(index &+ SortedTimers.ahead, count &- 1)].position)
            let timer = TimerPointer(queued: entries[index].position)
            if !timer.pointee.isQueuedByDate { continue }
            timer.pointee.isQueuedByDate = false
            entries[index].deadline = deadline(ofDated: timer)
        }
        return count
    }

    /// Lets timers be queued by date again after the difference of the clocks has changed. Called by each insertion and move that is not a
    /// shortcut. Computing the deadlines takes O(number of slots), so it is put off until there has been a call for every 16 slots; until
    /// then, timers are queued by deadline. So a call is amortized O(1) even if the difference changes all the time, as it may where the
    /// clocks are emulated.
    mutating func followClocks() {
        if limit.isCurrent { return }
        if hasDates {
            delayedCalls &+= 1
            if delayedCalls < bucket.capacity / 16 { return }
            storeDeadlines()
        }
        updateLimit()
    }

    /// Stores the deadlines of timers that are queued by date in their slots, computed with the limit's difference of the clocks, which is
    /// the one that has been replaced.
    @inline(never)
    private mutating func storeDeadlines() {
        delayedCalls = 0
        let count = takeAll()
        for index in 0..<count {
            let entry = bucket.entries.unsafelyUnwrapped[index]
            entry.position.pointee = pointer.fill(entry, number: Self.number)
        }
        pointer.endFilling()
    }

    /// To be called after the minimum has changed. O(1).
    mutating func updateLimit() { limit = DateLimit(bucket.minimum, offsetOf: hasDates ? limit : nil) }
}
