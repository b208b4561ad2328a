import Testing

@testable import RunLoopCore

/// Compares the queue with a list that is searched from end to end.
@Suite struct TimerQueueTests {
    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func agreesWithModel(seed: UInt64) {
        let problem = onThread { Self.run(seed: seed, timers: 60, deadlines: 100_000, steps: scaled(8_000)) }
        #expect(problem == nil)
    }

    @Test(arguments: [5, 6] as [UInt64])
    func agreesWhereDeadlinesAreEqual(seed: UInt64) {
        let problem = onThread { Self.run(seed: seed, timers: 40, deadlines: 5, steps: scaled(8_000)) }
        #expect(problem == nil)
    }

    private struct Queued {
        var deadline: UInt64
        var latest: UInt64
        var arrival: UInt
    }

    private static func run(seed: UInt64, timers count: Int, deadlines: Int, steps: Int) -> String? {
        var random = Random(seed: seed)
        let threadContext = Registry.current!.threadContext
        // Every second timer has a detail, and therefore can have a tolerance.
        let timers = (0..<count).map { TimerPointer.create(threadContext, date: 0, interval: 0, order: $0 % 2, { _, _ in }, .empty)! }
        defer { for timer in timers { timer.destroy() } }
        var queue = TimerQueue()
        var model = [Queued?](repeating: nil, count: count)
        var arrivals: UInt = 1

        func arrive(_ timer: TimerPointer) {
            arrivals += 2
            timer.pointee.arrival = arrivals
        }
        func expected(_ which: Int, _ deadline: UInt64) -> Queued {
            let tolerance = timers[which].detail?.pointee.tolerance ?? 0
            let (latest, overflow) = deadline.addingReportingOverflow(UInt64(tolerance * 1e9))
            return Queued(deadline: deadline, latest: overflow ? .max : latest, arrival: timers[which].pointee.arrival)
        }

        for step in 0..<steps {
            let which = random.below(count)
            let timer = timers[which]
            let deadline = random.chance(1) ? UInt64.max - 1 : UInt64(random.below(deadlines)) * 1_000
            switch random.below(10) {
            case 0...3 where model[which] == nil:
                arrive(timer)
                guard queue.reserve(count, for: timer) else { return "out of memory" }
                queue.insert(timer, at: deadline)
                model[which] = expected(which, deadline)
            case 0...2:
                arrive(timer)
                queue.move(timer, to: deadline)
                model[which] = expected(which, deadline)
            case 3...5:
                queue.remove(timer)
                model[which] = nil
            case 6...7:
                // As RLRunLoopTimerSetTolerance does it: removed, changed and inserted again, with the same arrival.
                guard let detail = timer.detail else { break }
                let queued = model[which]
                queue.remove(timer)
                detail.pointee.tolerance = random.chance(40) ? 0 : Double(random.below(200)) * 1e-6
                guard let queued else { break }
                guard queue.reserve(count, for: timer) else { return "out of memory" }
                queue.insert(timer, at: queued.deadline)
                model[which] = expected(which, queued.deadline)
            default:
                // Several timers begin to fire, so that timers with the same deadline are firing while everything else happens.
                for _ in 0..<random.below(4) {
                    guard let first = queue.first()?.timer else { break }
                    guard let index = timers.firstIndex(of: first) else { return "step \(step): a stranger is first" }
                    if index != firstOf(model) { return "step \(step): timer \(index) is first instead of \(firstOf(model) ?? -1)" }
                    queue.remove(first)
                    model[index] = nil
                }
            }
            if let problem = compare(&queue, model, timers) { return "step \(step): \(problem)" }
        }
        while let timer = queue.first()?.timer {
            model[timers.firstIndex(of: timer)!] = nil
            queue.remove(timer)
        }
        return model.allSatisfy { $0 == nil } ? nil : "not all came out"
    }

    private static func firstOf(_ model: [Queued?]) -> Int? {
        model.indices.filter { model[$0] != nil }.min {
            (model[$0]!.deadline, model[$0]!.arrival) < (model[$1]!.deadline, model[$1]!.arrival)
        }
    }

    private static func compare(_ queue: inout TimerQueue, _ model: [Queued?], _ timers: [TimerPointer]) -> String? {
        let first = firstOf(model).map { timers[$0] }
        if queue.first()?.timer != first { return "first is \(String(describing: queue.first())) instead of \(String(describing: first))" }
        let latest = model.compactMap { $0?.latest }.min() ?? .max
        if queue.latestWake() != latest { return "latest wake \(queue.latestWake()) instead of \(latest)" }
        for (index, expected) in model.enumerated() {
            let isQueued = timers[index].isQueued
            if isQueued != (expected != nil) { return "timer \(index) is queued: \(isQueued)" }
            if let expected, queue.deadline(of: timers[index]) != expected.deadline { return "deadline of timer \(index)" }
        }
        return nil
    }

    @Test func emptyQueueHasNoLimit() {
        var queue = TimerQueue()
        let isEmpty = queue.first() == nil && queue.latestWake() == .max
        #expect(isEmpty)
    }

    /// One wake-up serves several timers: the loop sleeps until the first window closes, and then all timers with an open window fire.
    @Test func wakeLimitIsThatOfTheEarliestToleranceWindow() {
        let seen = onThread { () -> [UInt64] in
            let threadContext = Registry.current!.threadContext
            var queue = TimerQueue()
            let timers = [0.003, 0, 0.001].map { tolerance -> TimerPointer in
                let timer = TimerPointer.create(threadContext, date: 0, interval: 0, order: 1, { _, _ in }, .empty)!
                timer.detail!.pointee.tolerance = tolerance
                return timer
            }
            _ = queue.reserve(3, for: timers[0])
            queue.insert(timers[0], at: 1_000_000)
            let alone = queue.latestWake()
            _ = queue.reserve(3, for: timers[1])
            queue.insert(timers[1], at: 2_000_000)
            let withPrecise = queue.latestWake()
            _ = queue.reserve(3, for: timers[2])
            queue.insert(timers[2], at: 500_000)
            let withSmall = queue.latestWake()
            for timer in timers {
                queue.remove(timer)
                timer.destroy()
            }
            return [alone, withPrecise, withSmall]
        }
        #expect(seen == [4_000_000, 2_000_000, 1_500_000])
    }
}
