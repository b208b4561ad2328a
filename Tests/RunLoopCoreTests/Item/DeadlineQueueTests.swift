import Testing

@testable import RunLoopCore

/// Compares the queue of buckets with a list that is always sorted.
@Suite struct DeadlineQueueTests {
    /// How a random walk distributes the deadlines.
    enum Spread: CaseIterable, Sendable {
        /// Within two hours from now, as timeouts typically are.
        case hours
        /// Within a millisecond.
        case close
        /// Five different deadlines.
        case few
        /// On all scales: from a nanosecond to a century ahead, and in the past.
        case everywhere
        /// Each after all others, or each before all others.
        case ascending, descending
        /// All due already, so that any number of them is sorted at the same time.
        case past
    }

    @Test(arguments: Spread.allCases, [1, 2] as [UInt64])
    func agreesWithSortedList(spread: Spread, seed: UInt64) {
        let problem = onThread { DeadlineWalk(seed: seed, timers: 500, spread: spread).run(steps: scaled(8_000)) }
        #expect(problem == nil)
    }

    @Test(arguments: [3, 4] as [UInt64])
    func agreesWithFewTimers(seed: UInt64) {
        let problem = onThread { DeadlineWalk(seed: seed, timers: 5, spread: .everywhere).run(steps: scaled(10_000)) }
        #expect(problem == nil)
    }

    /// More timers than fit into a bucket that is opened as a whole. They cannot be split, because they have the same deadline.
    @Test func thousandsOfEqualDeadlinesAreOrderedByArrival() {
        let inOrder = onThread { () -> Bool in
            let walk = DeadlineWalk(seed: 5, timers: 2_000, spread: .few)
            return walk.areOrderedByArrival()
        }
        #expect(inOrder)
    }

    /// Far timers are not sorted: all of them, however many, are in the farthest bucket.
    @Test func farTimersShareOneBucket() {
        let numbers = onThread { () -> Set<Int> in
            var queue = DeadlineQueue()
            let timers = DeadlineWalk.makeTimers(3_000)
            defer { for timer in timers { timer.destroy() } }
            guard queue.reserve(3_000) else { return [] }
            for (index, timer) in timers.enumerated() { queue.insert(timer, at: UInt64(1_000_000 - index)) }
            for timer in timers.prefix(2_000) { queue.remove(timer) }
            for timer in timers.prefix(2_000) { queue.insert(timer, at: 7) }
            return Set(timers.map { DeadlineBucket.number(of: $0.position.pointee) })
        }
        #expect(numbers == [1])
    }

    /// A large bucket is sorted as a whole if all its timers are due or have the same deadline; otherwise only its first part is examined.
    @Test(arguments: [true, false], [true, false])
    func largeBucketIsSortedIfItIsDue(isDue: Bool, isOneDeadline: Bool) {
        let sorted = onThread { () -> Int in
            var queue = DeadlineQueue()
            let timers = DeadlineWalk.makeTimers(3_000)
            defer { for timer in timers { timer.destroy() } }
            guard queue.reserve(3_000) else { return -1 }
            for (index, timer) in timers.enumerated() {
                queue.insert(timer, at: (isDue ? 1 : DeadlineWalk.ahead) + UInt64(isOneDeadline ? 0 : index))
            }
            guard queue.first()?.timer == timers.first else { return -1 }
            return timers.count { DeadlineBucket.number(of: $0.position.pointee) == SortedTimers.number }
        }
        #expect(sorted == (isDue || isOneDeadline ? 3_000 : 0))
    }

    /// Only timers that never fire are queued at `.max`: they stay behind all others.
    @Test func theLastPossibleDeadlineIsLast() {
        let seen = onThread { () -> [UInt64] in
            var queue = DeadlineQueue()
            let timers = DeadlineWalk.makeTimers(3)
            defer { for timer in timers { timer.destroy() } }
            guard queue.reserve(3) else { return [] }
            queue.insert(timers[0], at: .max)
            var seen = [queue.first()!.key.deadline]
            queue.insert(timers[1], at: .max)
            queue.insert(timers[2], at: 7)
            seen.append(queue.first()!.key.deadline)
            queue.remove(timers[2])
            queue.remove(timers[0])
            seen.append(queue.first()!.key.deadline)
            queue.remove(timers[1])
            return queue.first() == nil ? seen : []
        }
        #expect(seen == [.max, 7, .max])
    }
}

private struct DeadlineWalk {
    /// 73 years after the machine was started: never due, whatever the clock reads.
    static let ahead: UInt64 = 3 << 61

    private var random: Random
    private let timers: [TimerPointer]
    private let spread: DeadlineQueueTests.Spread
    private var now: UInt64 = ahead
    private var lowest: UInt64 = ahead
    private var highest: UInt64 = ahead
    private var arrivals: UInt = 0

    init(seed: UInt64, timers count: Int, spread: DeadlineQueueTests.Spread) {
        random = Random(seed: seed)
        timers = Self.makeTimers(count)
        self.spread = spread
        if spread == .past { now = 1 << 20 }
    }

    static func makeTimers(_ count: Int) -> [TimerPointer] {
        let threadContext = Registry.current!.threadContext
        return (0..<count).map { _ in TimerPointer.create(threadContext, date: 0, interval: 0, order: 0, { _, _ in }, .empty)! }
    }

    private mutating func deadline() -> UInt64 {
        switch spread {
        case .hours: return now + UInt64(random.below(7_200_000)) * 1_000_000
        case .close, .past: return now + UInt64(random.below(1_000_000))
        case .few: return now + UInt64(random.below(5)) << 32
        case .everywhere:
            let distance = random.next() >> UInt64(2 + random.below(62))
            if random.chance(5) { return random.chance(50) ? 0 : .max }
            return random.chance(20) ? now - min(distance, now) : now + distance
        case .ascending:
            highest += UInt64(random.below(1_000_000))
            return highest
        case .descending:
            lowest -= UInt64(random.below(1_000_000))
            return lowest
        }
    }

    /// Returns the first disagreement, or nil if there is none.
    func run(steps: Int) -> String? {
        var walk = self
        defer { for timer in timers { timer.destroy() } }
        return walk.walk(steps)
    }

    private mutating func walk(_ steps: Int) -> String? {
        var queue = DeadlineQueue()
        var model = SortedList(timers: timers.count)
        var count = 0
        for step in 0..<steps {
            let which = random.below(timers.count)
            let timer = timers[which]
            // Long phases of growing and of shrinking, so that all sizes occur.
            let isGrowing = step / 1_500 % 2 == 0
            if model.deadlines[which] != nil && random.chance(10) { changeDate(timer, &queue) }
            switch random.below(isGrowing ? 8 : 14) {
            case 0...4 where model.deadlines[which] == nil:
                arrive(timer)
                var deadline = deadline()
                count += 1
                let dated = Self.dated(deadline)
                if random.chance(50), let position = queue.tryInsert(timer, at: dated.date, count) {
                    timer.position.pointee = position
                    (timer.pointee.date, timer.pointee.isQueuedByDate) = (dated.date, true)
                    deadline = dated.deadline
                } else {
                    guard queue.reserve(count) else { return "out of memory" }
                    queue.insert(timer, at: deadline)
                }
                model.set(which, to: deadline, arrivals)
            case 0...4:
                var deadline = deadline()
                let dated = Self.dated(deadline)
                if random.chance(50), queue.tryMove(.queued(at: timer.position.pointee), to: dated.date) {
                    arrive(timer)
                    (timer.pointee.date, timer.pointee.isQueuedByDate) = (dated.date, true)
                    deadline = dated.deadline
                } else {
                    changeDate(timer, &queue)
                    arrive(timer)
                    queue.move(timer, to: deadline)
                }
                model.set(which, to: deadline, arrivals)
            case 5...7 where model.deadlines[which] != nil:
                if random.chance(50), queue.tryRemove(.queued(at: timer.position.pointee)) {
                    timer.position.pointee = IndexedHeap<TimerKey>.absent
                } else {
                    queue.remove(timer)
                }
                model.set(which, to: nil, 0)
                count -= 1
            case 8...:
                // The clock advances, sometimes by a large step, and timers that are due fire.
                now += spread == .past ? 1_000 : random.chance(2) ? 1 << 45 : UInt64(random.below(2_000_000))
                for _ in 0..<random.below(6) {
                    let found = queue.first()?.timer
                    guard let expected = model.first else {
                        if found != nil { return "step \(step): something is first" }
                        break
                    }
                    if found != timers[expected] { return "step \(step): timer \(expected) is not first" }
                    queue.remove(timers[expected])
                    model.set(expected, to: nil, 0)
                    count -= 1
                }
            default: break
            }
            if let known = model.deadlines[which], queue.deadline(of: timer) != known {
                return "step \(step): the deadline of timer \(which)"
            }
            if (model.deadlines[which] != nil) != timer.isQueued { return "step \(step): timer \(which) is queued: \(timer.isQueued)" }
            if step % 256 == 0, let problem = compare(&queue, model) { return "step \(step): \(problem)" }
        }
        return drain(&queue, &model)
    }

    private mutating func arrive(_ timer: TimerPointer) {
        arrivals += 2
        timer.pointee.arrival = arrivals
    }

    /// A date for about this deadline, and its exact deadline.
    private static func dated(_ deadline: UInt64) -> (date: Double, deadline: UInt64) {
        let date = Clock.clamped(Clock.date(of: Instant(nanoseconds: deadline)))
        return (date, Clock.instant(ofTimerDate: date).nanoseconds)
    }

    /// Sets another date, which must not change the deadline of a queued timer.
    private mutating func changeDate(_ timer: TimerPointer, _ queue: inout DeadlineQueue) {
        if timer.pointee.isQueuedByDate { queue.keepDeadline(of: timer) }
        timer.pointee.date = Double(random.below(1_000_000_000))
    }

    private func compare(_ queue: inout DeadlineQueue, _ model: SortedList) -> String? {
        for (index, deadline) in model.deadlines.enumerated() {
            if let deadline, queue.deadline(of: timers[index]) != deadline { return "the deadline of timer \(index)" }
        }
        return nil
    }

    private func drain(_ queue: inout DeadlineQueue, _ model: inout SortedList) -> String? {
        while let (timer, key) = queue.first() {
            guard let index = model.first, timers[index] == timer, model.deadlines[index] == key.deadline else {
                return "the order of the last ones"
            }
            queue.remove(timer)
            model.set(index, to: nil, 0)
        }
        return model.first == nil ? nil : "something is left over"
    }

    /// Gives all timers the same deadline, a third of them by moving them there later. Returns whether they come out in order of arrival.
    func areOrderedByArrival() -> Bool {
        var walk = self
        var queue = DeadlineQueue()
        defer { for timer in timers { timer.destroy() } }
        guard queue.reserve(timers.count) else { return false }
        for (index, timer) in timers.enumerated() {
            walk.arrive(timer)
            queue.insert(timer, at: index % 3 == 0 ? 9 : 8)
        }
        var expected = timers.indices.filter { $0 % 3 != 0 }
        for index in stride(from: 0, to: timers.count, by: 3) {
            walk.arrive(timers[index])
            queue.move(timers[index], to: 8)
            expected.append(index)
        }
        for index in expected {
            guard queue.first()?.timer == timers[index] else { return false }
            queue.remove(timers[index])
        }
        return queue.first() == nil
    }
}

/// The numbers of the queued timers, sorted by deadline and arrival.
private struct SortedList {
    /// Deadlines, indexed by timer number; nil if the timer is not queued.
    private(set) var deadlines: [UInt64?]
    private var arrivals: [UInt]
    private var order: [Int] = []

    init(timers: Int) {
        deadlines = Array(repeating: nil, count: timers)
        arrivals = Array(repeating: 0, count: timers)
    }

    var first: Int? { order.first }

    mutating func set(_ timer: Int, to deadline: UInt64?, _ arrival: UInt) {
        if let old = deadlines[timer] { order.remove(at: index(of: old, arrivals[timer])) }
        if let deadline { order.insert(timer, at: index(of: deadline, arrival)) }
        deadlines[timer] = deadline
        arrivals[timer] = arrival
    }

    /// Returns the position of the first timer that does not precede this deadline and arrival.
    private func index(of deadline: UInt64, _ arrival: UInt) -> Int {
        var (low, high) = (0, order.count)
        while low < high {
            let middle = (low + high) / 2
            let timer = order[middle]
            let isBefore = deadlines[timer]! < deadline || (deadlines[timer]! == deadline && arrivals[timer] < arrival)
            if isBefore { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
