import CLinux
import Testing

@testable import RunLoopCore

@Suite struct InstantTests {
    @Test func additionSaturates() {
        #expect(Instant(nanoseconds: 5).advanced(by: 7) == Instant(nanoseconds: 12))
        #expect(Instant(nanoseconds: .max - 1).advanced(by: 1) == .never)
        #expect(Instant(nanoseconds: .max - 1).advanced(by: 2) == .never)
        #expect(Instant.never.advanced(by: .max) == .never)
        #expect(Instant.distantPast.advanced(by: .max) == .never)
    }

    @Test func order() {
        #expect(Instant.distantPast < Clock.now)
        #expect(Clock.now < .never)
        #expect(Instant(nanoseconds: 1 << 63) > Instant(nanoseconds: 1), "unsigned")
    }

    @Test(arguments: [0, 1, 999_999_999, 1_000_000_000, 1_000_000_001, 123_456_789_012_345_678, .max] as [UInt64])
    func timespecOfDuration(nanoseconds: UInt64) {
        let time = Instant.timespec(nanoseconds)
        #expect(UInt64(time.tv_sec) == nanoseconds / 1_000_000_000)
        #expect(UInt64(time.tv_nsec) == nanoseconds % 1_000_000_000)
    }

    @Test func timespecAgreesWithTheKernel() {
        var before = CLinux.timespec()
        clock_gettime(CLOCK_MONOTONIC, &before)
        let time = Clock.now.timespec
        #expect((before.tv_sec, before.tv_nsec) <= (time.tv_sec, time.tv_nsec))
        #expect(time.tv_sec - before.tv_sec < 1000)
    }

    @Test func instantsBeforeBootAreZeroForTheKernel() {
        #expect(Instant.distantPast.timespec.tv_sec == 0)
        #expect(Clock.instant(ofDate: 0).timespec.tv_sec == 0)
        #expect(Clock.instant(ofDate: 0).timespec.tv_nsec == 0)
    }

    @Test func secondsFromNow() {
        #expect(Instant.now(after: 0) == .distantPast)
        #expect(Instant.now(after: -1) == .distantPast)
        #expect(Instant.now(after: -.infinity) == .distantPast)
        #expect(Instant.now(after: .infinity) == .never)
        #expect(Instant.now(after: 1e20) == .never)
        #expect(Instant.now(after: Clock.latestDate) == .never)
        let before = Clock.now
        let instant = Instant.now(after: 1.5)
        let after = Clock.now
        #expect(instant >= before.advanced(by: 1_500_000_000))
        #expect(instant <= after.advanced(by: 1_500_000_000))
        #expect(Instant.now(after: 1e-9) > before)
    }
}

@Suite struct DateLimitTests {
    /// A limit may take a date for an earlier one, but never for a later one.
    @Test(arguments: [1, 2] as [UInt64])
    func agreesWithDeadlines(seed: UInt64) {
        var random = Random(seed: seed)
        _ = Clock.currentDate
        for _ in 0..<scaled(200_000) {
            let deadline = Instant(nanoseconds: random.next() >> UInt64(1 + random.below(63)))
            let limit = DateLimit(deadline.nanoseconds)
            var scale = 1e-9
            for _ in 0..<random.below(16) { scale *= 10 }
            let date = Clock.clamped(Clock.date(of: deadline) + Double(random.below(2_000)) / 1_000 * scale - scale)
            let reached = Clock.instant(ofTimerDate: date)
            // Another test may sample the clocks at any time.
            if !limit.isCurrent { continue }
            if limit.isReached(by: date) { #expect(reached >= deadline, "\(date)") }
            if reached >= deadline.advanced(by: 20_000) { #expect(limit.isReached(by: date), "\(date)") }
            #expect(limit.instant(of: date) == reached)
        }
    }

    @Test func extremes() {
        #expect(DateLimit(0).isReached(by: -Clock.latestDate))
        #expect(!DateLimit(.max).isReached(by: Clock.latestDate))
    }
}

@Suite struct ClockTests {
    @Test func nowIsMonotonic() {
        var previous = Clock.now
        for _ in 0..<scaled(100_000) {
            let next = Clock.now
            if next < previous { Issue.record("\(next) after \(previous)") }
            previous = next
        }
    }

    @Test func currentDateIsTheWallClockSince2001() {
        let before = wallClock()
        let date = Clock.currentDate
        let after = wallClock()
        #expect(before <= date)
        #expect(date <= after)
    }

    /// Converting a date to an instant and back returns the date, unless the clocks were seen to move relative to each other in the
    /// meantime.
    @Test func dateSurvivesConversionToInstantAndBack() {
        var random = Random(seed: 1)
        var compared = 0
        for _ in 0..<1000 {
            let date = Clock.currentDate + Double(random.below(2_000_000)) * 1e-3 - 1000
            let witness = Clock.date(of: Instant(nanoseconds: 1 << 40))
            let back = Clock.date(of: Clock.instant(ofDate: date))
            if witness != Clock.date(of: Instant(nanoseconds: 1 << 40)) { continue }
            compared += 1
            // Two steps of a Double of this size, 119 ns each.
            if abs(back - date) > 2.5e-7 { Issue.record("\(date) comes back \((back - date) * 1e9) ns later") }
        }
        #expect(compared > 0)
    }

    @Test func instantSurvivesConversionToDateAndBack() {
        var compared = 0
        for step in 0..<1000 as Range<UInt64> {
            let instant = Clock.now.advanced(by: step * 7_654_321)
            let witness = Clock.date(of: Instant(nanoseconds: 1 << 40))
            let back = Clock.instant(ofDate: Clock.date(of: instant))
            if witness != Clock.date(of: Instant(nanoseconds: 1 << 40)) { continue }
            compared += 1
            let error = Int64(bitPattern: back.nanoseconds &- instant.nanoseconds)
            if abs(error) > 250 { Issue.record("\(error) ns") }
        }
        #expect(compared > 0)
    }

    /// A timer is due at its instant; by then the wall clock must have reached the date.
    @Test func instantIsNeverBeforeTheDate() {
        var random = Random(seed: 2)
        var early: [Double] = []
        for _ in 0..<scaled(20_000) {
            let date = Clock.currentDate + Double(random.below(8_000)) * 1e-9
            let instant = Clock.instant(ofDate: date)
            while Clock.now < instant {}
            let now = wallClock()
            if now < date { early.append((date - now) * 1e9) }
        }
        #expect(early == [], "nanoseconds too early")
    }

    /// A client that sets a timer to the time that it has just read expects it to be due when the loop runs.
    @Test func aDateThatHasJustBeenReadIsDue() {
        var early: [UInt64] = []
        for _ in 0..<scaled(20_000) {
            let instant = Clock.instant(ofDate: Clock.currentDate)
            let now = Clock.now
            if now < instant { early.append(instant.nanoseconds - now.nanoseconds) }
        }
        #expect(early == [], "nanoseconds still to wait")
    }

    /// A later date has a later instant, even before the machine was started.
    @Test(arguments: [1, 1e6, 2e9]) func laterDatesHaveLaterInstants(secondsAgo: Double) {
        let first = Clock.currentDate - secondsAgo
        var previous = Clock.instant(ofDate: first)
        for step in 1...1000 {
            let next = Clock.instant(ofDate: first + Double(step) * 0.01)
            if next <= previous { Issue.record("step \(step)") }
            previous = next
        }
    }

    @Test func farDatesAreClamped() {
        let latest = Clock.instant(ofDate: Clock.latestDate)
        #expect(latest < .never)
        #expect(latest > Clock.now.advanced(by: 1_000_000_000 * 86_400 * 365))
        for date in [Clock.latestDate * 2, 1e300, .greatestFiniteMagnitude, .infinity] {
            let instant = Clock.instant(ofDate: date)
            #expect(abs(Int64(bitPattern: instant.nanoseconds &- latest.nanoseconds)) < 1_000_000, "the clocks may have moved a little")
        }
        let earliest = Clock.instant(ofDate: -Clock.latestDate)
        #expect(earliest < Clock.instant(ofDate: 0))
        for date in [-Clock.latestDate * 2, -1e300, -.infinity] as [Double] { #expect(Clock.instant(ofDate: date) == earliest) }
    }

    @Test func nanosecondsAreClamped() {
        #expect(Clock.nanoseconds(0) == 0)
        #expect(Clock.nanoseconds(-1) == 0)
        #expect(Clock.nanoseconds(-.infinity) == 0)
        #expect(Clock.nanoseconds(1e-9) == 1)
        #expect(Clock.nanoseconds(0.25) == 250_000_000)
        #expect(Clock.nanoseconds(Clock.latestDate) == 4_039_289_856_000_000_000)
        #expect(Clock.nanoseconds(1e300) == 4_039_289_856_000_000_000)
        #expect(Clock.nanoseconds(.infinity) == 4_039_289_856_000_000_000)
    }

    @Test func onlyLaterInstantsAreCertainlyAhead() {
        #expect(!Clock.isCertainlyAhead(.distantPast))
        #expect(!Clock.isCertainlyAhead(Clock.now), "true would be a timer in the past that waits")
        #expect(Clock.isCertainlyAhead(Clock.now.advanced(by: 10_000_000_000)))
        #expect(Clock.isCertainlyAhead(.never))
    }

    private func wallClock() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Double((Int64(time.tv_sec) - 978_307_200) * 1_000_000_000 + Int64(time.tv_nsec)) / 1e9
    }
}
