import CRunLoop
import Testing

@testable import RunLoopCore

/// A timer's own arithmetic, without running a loop.
@Suite struct TimerTests {
    private static func withTimer<Result>(
        date: Double, interval: Double, _ body: @escaping (TimerPointer) -> Result
    ) -> Result {
        onThread {
            let timer = TimerPointer.create(Registry.current!.threadContext, date: date, interval: interval, order: 0, { _, _ in }, .empty)!
            defer { timer.destroy() }
            return body(timer)
        }
    }

    @Test func simpleTimersHaveNoDetail() {
        #expect(Self.withTimer(date: 1, interval: 0) { $0.detail == nil && !$0.pointee.item.has(.repeats) })
        #expect(Self.withTimer(date: 1, interval: 1) { $0.detail != nil && $0.pointee.item.has(.repeats) })
    }

    /// A timer that ends while clients hold two references is released under the lock, whichever thread releases last.
    @Test(arguments: [true, false]) func onlyATimerWithOneReferenceIsReleasedWithoutTheLock(fires: Bool) {
        let seen = onThread {
            [1, 2].map { (references: Int) -> Bool in
                let date = fires ? 0 : Clock.currentDate + 1000
                let handle = RLRunLoopTimerCreate(nil, date, 0, 0, 0, { _, _ in }, nil)!
                if references == 2 { _ = RLRetain(UnsafeRawPointer(handle)) }
                RLRunLoopAddTimer(RLRunLoopGetCurrent(), handle, kRLRunLoopDefaultMode)
                if fires { _ = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0) } else { RLRunLoopTimerInvalidate(handle) }
                let isEnded = Handle.item(UnsafeRawPointer(handle)).pointee.has(.ended)
                for _ in 0..<references { RLRelease(UnsafeRawPointer(handle)) }
                return isEnded && Handle.kind(of: UnsafeRawPointer(handle)) == nil
            }
        }
        #expect(seen == [fires || Membarrier.isAvailable, false])
    }

    @Test func oneShotDeadlineIsThatOfTheDate() {
        for date in [Clock.currentDate + 1000, -5] {
            let seen = Self.withTimer(date: date, interval: 0) { ($0.deadline, Clock.instant(ofDate: date).nanoseconds) }
            #expect(abs(Int64(bitPattern: seen.0 &- seen.1)) < 1_000_000, "the clocks may have moved a little")
        }
    }

    @Test func aPastFirstDateCountsAsNow() {
        let before = Clock.now
        let deadline = Self.withTimer(date: 5, interval: 10) { $0.deadline }
        #expect(deadline >= before.nanoseconds)
        #expect(deadline <= Clock.now.nanoseconds)
    }

    /// The next point of the grid is the first one after `now`, however many were missed.
    @Test func gridAgreesWithSearch() {
        let problems = onThread { () -> [String] in
            var random = Random(seed: 3)
            var problems: [String] = []
            for _ in 0..<300 {
                let interval = UInt64(1 + random.below(5_000))
                let timer = TimerPointer.create(
                    Registry.current!.threadContext, date: Clock.currentDate + 1000, interval: Double(interval) * 1e-6, order: 0,
                    { _, _ in }, .empty
                )!
                let step = timer.detail!.pointee.intervalNanoseconds
                let start = timer.deadline
                let now = start &- 20_000_000 &+ UInt64(random.below(40_000_000))
                var expected = start + step
                while expected <= now { expected += step }
                timer.advanceGrid(past: Instant(nanoseconds: now))
                let grid = timer.detail!.pointee.gridDeadline
                if grid != expected { problems.append("start \(start) step \(step) now \(now): \(grid) instead of \(expected)") }
                // The timer is due when its date is reached, which is rounded.
                if expected &- timer.deadline > 128 { problems.append("due at \(timer.deadline) instead of \(expected)") }
                timer.destroy()
            }
            return problems
        }
        #expect(problems == [])
    }

    @Test func gridSaturates() {
        let deadline = Self.withTimer(date: Clock.latestDate, interval: Clock.latestDate) { timer -> UInt64 in
            for _ in 0..<5 { timer.advanceGrid(past: Instant(nanoseconds: .max - 5)) }
            return timer.deadline
        }
        #expect(deadline == .max)
    }

    @Test func dateFollowsTheGrid() {
        let seen = Self.withTimer(date: Clock.currentDate + 100, interval: 2.5) { timer -> Double in
            let before = timer.pointee.date
            timer.advanceGrid(past: .distantPast)
            return timer.pointee.date - before
        }
        #expect(abs(seen - 2.5) < 1e-3)
    }

    /// A client that waits for the date of the next grid point finds the timer due at that time, and not before.
    @Test func repeatingTimerIsDueWhenItsDateIsReached() {
        let errors = Self.withTimer(date: Clock.currentDate + 100, interval: 0.123_456_789) { timer -> [Int64] in
            var errors: [Int64] = []
            for _ in 0..<1000 {
                timer.advanceGrid(past: .distantPast)
                let reached = Clock.instant(ofDate: timer.pointee.date).nanoseconds
                let late = Int64(bitPattern: timer.deadline &- reached)
                if abs(late) > 1 { errors.append(late) }
            }
            return errors
        }
        #expect(errors == [])
    }

    @Test func newDateStartsANewGrid() {
        let date = Clock.currentDate + 500
        let seen = Self.withTimer(date: Clock.currentDate + 100, interval: 1) { timer -> [UInt64] in
            timer.setDate(date)
            return [timer.deadline, Clock.instant(ofDate: date).nanoseconds]
        }
        #expect(abs(Int64(bitPattern: seen[0] &- seen[1])) < 1_000_000)
    }

    @Test func tinyIntervalsAreOneNanosecond() {
        #expect(Self.withTimer(date: 0, interval: 1e-12) { $0.detail!.pointee.intervalNanoseconds } == 1)
    }

    @Test func invalidationReleasesOnce() {
        let releases = Pinned(0)
        let raw = UnsafeMutableRawPointer(releases.pointer)
        onThread {
            let context = ClientContext(
                info: raw, retain: nil,
                release: { UnsafeMutableRawPointer(mutating: $0!).assumingMemoryBound(to: Int.self).pointee += 1 }, copyDescription: nil)
            let threadContext = Registry.current!.threadContext
            let invalidated = TimerPointer.create(threadContext, date: 0, interval: 0, order: 0, { _, _ in }, context)!
            invalidated.invalidate()
            invalidated.invalidate()
            if invalidated.item.release() == .dead { invalidated.destroy() }
            let forgotten = TimerPointer.create(threadContext, date: 0, interval: 0, order: 0, { _, _ in }, context)!
            if forgotten.item.release() == .dead { forgotten.destroy() }
        }
        #expect(releases.pointer.pointee == 2, "one for each")
    }

    /// The shortcut invalidates a timer only if clients hold exactly one reference, which any thread can then release without the lock.
    @Test(.enabled(if: Membarrier.isAvailable))
    func lastReferenceToAnEndedTimerIsReleasedWithoutTheLock() {
        let seen = onThread { () -> [Bool] in
            let loop = Registry.current!
            let timer = TimerPointer.create(loop.threadContext, date: 1e9, interval: 0, order: 0, { _, _ in }, .empty)!
            var seen = [timer.tryRelease]
            loop.add(timer, in: ModeName.default)
            let isInvalidatedWithTwo = { () -> Bool in
                timer.pointee.item.object.retain()
                return timer.tryInvalidate()
            }
            seen += [timer.tryRelease, isInvalidatedWithTwo, { timer.item.release() == .alive }]
            seen += [timer.tryInvalidate, { timer.item.state == .ended }, timer.tryInvalidate]
            let results = seen.map { step in
                let result = step()
                if !result { ThreadContextPointer.stepOut() }
                return result
            }
            let isReleased = { () -> Bool in
                // A thread that has released a timer reuses its memory for the next timer.
                TimerPointer.create(Registry.current!.threadContext, date: 0, interval: 0, order: 0, { _, _ in }, .empty)!.destroy()
                // While the thread lives, no other thread gets the memory.
                return timer.tryRelease() && timer.pointee.item.object.tag == 0
            }
            return results + [onThread(isReleased)]
        }
        #expect(seen == [false, false, false, true, true, true, false, true])
    }

    /// A timer that only its loop refers to is destroyed when it is invalidated: the shortcut would leave it without a reference.
    @Test(.enabled(if: Membarrier.isAvailable))
    func timerOwnedByItsLoopIsInvalidatedUnderTheLock() {
        let seen = onThread { () -> [Bool] in
            let loop = Registry.current!
            let timer = TimerPointer.create(loop.threadContext, date: 1e9, interval: 0, order: 0, { _, _ in }, .empty)!
            loop.add(timer, in: ModeName.default)
            let isAlive = timer.item.release() == .alive
            let isInvalid = timer.tryInvalidate()
            if !isInvalid { ThreadContextPointer.stepOut() }
            RunLoopPointer.invalidate(timer)
            return [isAlive, isInvalid, timer.pointee.item.object.tag == 0]
        }
        #expect(seen == [true, false, true])
    }
}
