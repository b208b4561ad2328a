import CLinux
import Synchronization

/// A point in time on the monotonic clock, in nanoseconds: the form of all deadlines. 0 means immediately, `.never` means without a
/// deadline.
///
/// The count begins long before the machine was started (`machineStart`), so that earlier dates have an order, too.
struct Instant: BitwiseCopyable, Comparable {
    var nanoseconds: UInt64

    static let never = Instant(nanoseconds: .max)
    static let distantPast = Instant(nanoseconds: 0)

    /// The time at which the machine was started, 109 years after `distantPast`. With this value the deadline of the latest date is
    /// less than 2^63 even if the wall clock says 1970, as it does on a machine without a battery.
    fileprivate static let machineStart: UInt64 = 3 << 60

    static func < (left: Instant, right: Instant) -> Bool { left.nanoseconds < right.nanoseconds }

    /// Returns a later instant; saturates at `never`. O(1).
    func advanced(by nanoseconds: UInt64) -> Instant {
        let (sum, overflow) = self.nanoseconds.addingReportingOverflow(nanoseconds)
        return overflow ? .never : Instant(nanoseconds: sum)
    }

    /// The instant on CLOCK_MONOTONIC's own scale; not for an instant before the machine was started. `never` becomes a value greater
    /// than `Int64.max`. O(1).
    var kernelNanoseconds: UInt64 { nanoseconds &- Self.machineStart }

    /// The instant as a timespec; an instant before the machine was started becomes that start. O(1).
    var timespec: CLinux.timespec { Self.timespec(sinceMachineStart) }

    /// The nanoseconds since the machine was started; 0 for an earlier instant. O(1).
    var sinceMachineStart: UInt64 { max(nanoseconds, Self.machineStart) - Self.machineStart }

    /// Returns a duration as a timespec. O(1).
    static func timespec(_ nanoseconds: UInt64) -> CLinux.timespec {
        CLinux.timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
    }
}

extension Instant {
    /// Creates an instant from a reading of one of the kernel's monotonic clocks.
    fileprivate init(_ time: CLinux.timespec) {
        nanoseconds = UInt64(bitPattern: Int64(time.tv_sec &* 1_000_000_000 &+ time.tv_nsec)) &+ Self.machineStart
    }
}

/// The wall clock, the monotonic clock, and the difference between them.
///
/// The API uses absolute dates (wall clock, seconds since 2001), but loops wait on the monotonic clock. A date is converted once, with the
/// most recently sampled difference of the clocks. The difference is sampled whenever a client reads the time and, at most once per tick,
/// when a loop begins to run or wakes. So creating a timer reads no clock.
enum Clock {
    /// The current `Instant` minus the wall clock (nanoseconds since 2001), or up to `jitter` more. Adding it to a date yields a deadline.
    /// 0 until the first sample. Any thread.
    fileprivate static let offset = Atomic<Int64>(0)

    /// When `sampleClocksOncePerTick` last sampled the clocks, as read from the coarse clock. Any thread.
    private static let lastSample = Atomic<UInt64>(0)

    /// A difference that is smaller by no more than this may be jitter between two clock reads, and is not stored, so that a date that
    /// was read survives conversion to a deadline and back unchanged. A larger one is always stored, so that no deadline is early.
    private static let jitter: Int64 = 250

    /// The beginning of 2129, to which dates and intervals are clamped, as in CFRunLoop. In seconds.
    static let latestDate = 4_039_289_856.0

    /// The nanoseconds from 1970 to 2001.
    private static let epoch: Int64 = 978_307_200_000_000_000

    /// The current instant. One clock read, 21 ns. Any thread, async-signal-safe. Not inlined: callers would need a stack slot for the
    /// time.
    @inline(never)
    static var now: Instant {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Instant(time)
    }

    /// Returns whether `instant` is certainly more than 100 ms ahead; false means that it may not be. Uses a clock that costs a quarter of
    /// `now` and lags by some milliseconds. Any thread.
    static func isCertainlyAhead(_ instant: Instant) -> Bool {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
        return instant.nanoseconds > Instant(time).nanoseconds &+ 100_000_000
    }

    /// Reads a clock on its own scale. Not inlined: callers would need a stack slot for the time.
    @inline(never)
    private static func read(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }

    /// Reads both clocks and stores their difference. Any thread.
    ///
    /// Uses the coarse clocks, which cost a quarter. The kernel updates both in one step, at each tick and when the clock is set, so their
    /// difference is exact unless a tick falls between the reads. If time has passed between the first and the last read, because of a tick
    /// or, where the coarse clocks are as fine as the others, an interruption, reads the clocks again, up to five times in all.
    static func sampleClocks() {
        var before: Int64
        var seen: Int64
        var after: Int64
        var tries = 5
        repeat {
            before = read(CLOCK_MONOTONIC_COARSE)
            seen = read(CLOCK_REALTIME_COARSE)
            after = read(CLOCK_MONOTONIC_COARSE)
            tries -= 1
        } while after &- before > 2_000 && tries > 0
        // Computed from the later reading: if time passed in between, deadlines are late rather than early. They must not be late by any
        // fixed amount: a timer whose date is the time that the client has just read has to be due when the loop runs.
        let new = after &+ Int64(Instant.machineStart) &- (seen &- epoch)
        let old = offset.load(ordering: .relaxed)
        if old == 0 || new > old || new < old &- jitter { offset.store(new, ordering: .relaxed) }
    }

    /// Samples the difference of the clocks, unless that was done in this tick of the kernel (1 to 10 ms). For callers that may call a
    /// hundred thousand times a second. Usually costs a quarter of a clock read. Any thread.
    static func sampleClocksOncePerTick() {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
        let tick = Instant(time).nanoseconds
        if lastSample.load(ordering: .relaxed) == tick { return }
        lastSample.store(tick, ordering: .relaxed)
        sampleClocks()
    }

    private static var knownOffset: Int64 {
        let known = offset.load(ordering: .relaxed)
        if known != 0 { return known }
        sampleClocks()
        return offset.load(ordering: .relaxed)
    }

    /// The seconds since 2001, for RLAbsoluteTimeGetCurrent. Also samples the difference of the clocks, so a timer with a date computed
    /// from this value is right even if the clock has just been set. Less than two clock reads. Any thread.
    static var currentDate: Double {
        sampleClocks()
        return date(ofNanoseconds: read(CLOCK_REALTIME) &- epoch)
    }

    /// Returns the deadline for a date, by the sampled difference of the clocks never early; `date` is not NaN. Reads no clock once the
    /// difference has been sampled. Any thread.
    static func instant(ofDate date: Double) -> Instant {
        _ = knownOffset
        return instant(ofTimerDate: clamped(date))
    }

    /// Returns the deadline for a clamped date: the first instant, give or take the step of a Double, at which `currentDate` is not before
    /// the date. So a date that has just been read is due at once, and no date is due early. The process must have sampled the clocks,
    /// which creating the first loop does. Fifteen instructions. Any thread.
    static func instant(ofTimerDate date: Double) -> Instant { instant(ofTimerDate: date, offset.load(ordering: .relaxed)) }

    /// Returns the deadline for a clamped date, given the difference of the clocks in the form of `offset`.
    fileprivate static func instant(ofTimerDate date: Double, _ offset: Int64) -> Instant {
        // Begins with the lowest value that may round to the date: until 2037, the step of nanoseconds as a Double is at most 128.
        var wall = linux_integer(date * 1e9) &- 63
        while Self.date(ofNanoseconds: wall) < date { wall &+= 128 }
        return Instant(nanoseconds: UInt64(bitPattern: max(wall &+ offset, 0)))
    }

    /// Returns the nearest date that a timer can have; `date` is not NaN.
    static func clamped(_ date: Double) -> Double { max(-latestDate, min(date, latestDate)) }

    /// Returns the date of an instant, by the sampled difference. Reads no clock once the difference has been sampled. Any thread.
    static func date(of instant: Instant) -> Double { date(ofNanoseconds: Int64(clamping: instant.nanoseconds) &- knownOffset) }

    /// Returns the date that is this many nanoseconds after the beginning of 2001. Divides, because 1e9 is exact as a Double and 1e-9 is
    /// not: with the additional error of that factor, many dates that were read from the clock would not survive conversion to a deadline
    /// and back.
    private static func date(ofNanoseconds nanoseconds: Int64) -> Double { Double(nanoseconds) / 1e9 }

    /// Returns a duration in nanoseconds, clamped to between 0 and `latestDate`; `seconds` is not NaN. O(1).
    @inline(never)
    static func nanoseconds(_ seconds: Double) -> UInt64 {
        seconds <= 0 ? 0 : UInt64(min(seconds, latestDate) * 1e9)
    }
}

/// A deadline in the form of a date, with which dates are compared without being converted.
struct DateLimit: BitwiseCopyable {
    /// No date from this one on has an earlier deadline than the limit.
    private let date: Double
    /// The difference of the clocks for which this is true.
    private let offset: Int64

    /// Creates the limit for a deadline, with the current difference of the clocks, or with that of `other`.
    init(_ deadline: UInt64, offsetOf other: DateLimit? = nil) {
        offset = other?.offset ?? Clock.offset.load(ordering: .relaxed)
        // Ten microseconds more than the deadline's date: more than all the rounding when dates become deadlines, and deadlines dates.
        let latest = deadline == .max ? Double.infinity : Double(Int64(clamping: deadline) &- offset) / 1e9 + 1e-5
        date = deadline == 0 ? -.infinity : latest
    }

    /// Whether the clocks still have the difference for which the limit is valid. Any thread.
    var isCurrent: Bool { Clock.offset.load(ordering: .relaxed) == offset }

    /// Whether a clamped date has a deadline that is not before the limit's. Returns false also for dates up to ten microseconds later than
    /// the limit, and for all dates if `isCurrent` is false. Any thread.
    func isReached(by date: Double) -> Bool { date >= self.date && isCurrent }

    /// Returns the deadline of a clamped date for the limit's difference of the clocks, even if that is no longer current.
    func instant(of date: Double) -> Instant { Clock.instant(ofTimerDate: date, offset) }
}

/// Hints to the processor that this thread is spinning. Async-signal-safe.
func pauseProcessor() { linux_pause() }
