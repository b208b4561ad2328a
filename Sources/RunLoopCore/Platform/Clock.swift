import CLinux
import Synchronization

/// Nanoseconds on the scale of CLOCK_MONOTONIC: what deadlines are kept in. 0 is "at once", `.never` is "not at all".
///
/// Counted from long before the machine was started, so that dates before its start have an order, too.
struct Instant: BitwiseCopyable, Comparable {
    var nanoseconds: UInt64

    static let never = Instant(nanoseconds: .max)
    static let distantPast = Instant(nanoseconds: 0)

    /// The start of the machine, 146 years after `distantPast`: an instant is at most that late and dates end in 2128.
    fileprivate static let machineStart: UInt64 = 1 << 62

    @inline(__always)
    static func < (left: Instant, right: Instant) -> Bool { left.nanoseconds < right.nanoseconds }

    /// Saturates at `never`. O(1).
    @inline(__always)
    func advanced(by nanoseconds: UInt64) -> Instant {
        let (sum, overflow) = self.nanoseconds.addingReportingOverflow(nanoseconds)
        return overflow ? .never : Instant(nanoseconds: sum)
    }

    /// As the kernel wants it, for which there is nothing before its start. O(1).
    var timespec: CLinux.timespec { Self.timespec(max(nanoseconds, Self.machineStart) - Self.machineStart) }

    /// A duration as the kernel wants it. O(1).
    static func timespec(_ nanoseconds: UInt64) -> CLinux.timespec {
        CLinux.timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
    }
}

extension Instant {
    /// What a monotonic clock of the kernel says.
    @inline(__always)
    fileprivate init(_ time: CLinux.timespec) {
        nanoseconds = UInt64(bitPattern: Int64(time.tv_sec &* 1_000_000_000 &+ time.tv_nsec)) &+ Self.machineStart
    }
}

/// The two clocks and what lies between them.
///
/// The API speaks of absolute dates (wall clock, seconds since 2001), the loop waits on the monotonic
/// clock. A date is converted once, with the difference of the clocks as it was last seen; that
/// difference is looked at whenever somebody asks for the time, and, once per tick, whenever a loop begins to run or
/// wakes, so creating a timer reads no clock.
enum Clock {
    /// Monotonic clock minus wall clock in nanoseconds since 2001, and `jitter`: what makes a deadline of a date. 0: not
    /// looked at yet. Any thread.
    private static let offset = Atomic<Int64>(0)

    /// When `sampleClocksOncePerTick` last looked, by the coarse clock. Any thread.
    private static let lastLook = Atomic<UInt64>(0)

    /// Differences closer than this may be the jitter of two clock reads and are not stored, so that a date
    /// that went in comes out again. Every deadline is later by as much: never early.
    private static let jitter: Int64 = 250

    /// CFRunLoop's own limit, the year 2128: what a date or an interval is clamped to, in seconds.
    static let latestDate = 4_039_289_856.0

    /// Nanoseconds from 1970 to 2001.
    private static let epoch: Int64 = 978_307_200_000_000_000

    /// One clock read, 21 ns. Any thread, async-signal-safe. A function of its own: callers would get a place for the time on
    /// their stack, and the compiler's guard of it.
    @inline(never)
    static var now: Instant {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Instant(time)
    }

    /// Whether `instant` lies ahead, judged by a clock that costs a quarter of `now` and lags by some
    /// milliseconds: false means "perhaps not". Any thread.
    @inline(never)
    static func isCertainlyAhead(_ instant: Instant) -> Bool {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
        return instant.nanoseconds > Instant(time).nanoseconds &+ 100_000_000
    }

    /// What a clock says. A function of its own, as `now`.
    @inline(never)
    private static func nanoseconds(of clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }

    /// Looks at both clocks and remembers their difference. Any thread.
    ///
    /// At their coarse readings, which cost a fifth. The kernel moves both in one step, at each tick and when the clock is
    /// set: their difference is that of the clocks, to the nanosecond, if no tick came between. Where the coarse readings
    /// are as fine as the others they are looked at again if the thread was interrupted.
    static func sampleClocks() {
        var before: Int64
        var seen: Int64
        var after: Int64
        var tries = 5
        repeat {
            before = nanoseconds(of: CLOCK_MONOTONIC_COARSE)
            seen = nanoseconds(of: CLOCK_REALTIME_COARSE)
            after = nanoseconds(of: CLOCK_MONOTONIC_COARSE)
            tries -= 1
        } while after &- before > 2_000 && tries > 0
        // Against the later look: if time went by between them, deadlines come out late, not early.
        let new = after &+ Int64(Instant.machineStart) &- (seen &- epoch) &+ jitter
        let old = offset.load(ordering: .relaxed)
        if old == 0 || (new &- old).magnitude > UInt64(jitter) { offset.store(new, ordering: .relaxed) }
    }

    /// As `sampleClocks`, unless that was done in this tick of the kernel (1 to 10 ms): for what may be done a hundred
    /// thousand times a second. A quarter of a clock read then. Any thread.
    @inline(never)
    static func sampleClocksOncePerTick() {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
        let tick = Instant(time).nanoseconds
        if lastLook.load(ordering: .relaxed) == tick { return }
        lastLook.store(tick, ordering: .relaxed)
        sampleClocks()
    }

    private static var knownOffset: Int64 {
        let known = offset.load(ordering: .relaxed)
        if known != 0 { return known }
        sampleClocks()
        return offset.load(ordering: .relaxed)
    }

    /// Seconds since 2001, as RLAbsoluteTimeGetCurrent answers. Any thread. One clock read and half of one: a timer whose
    /// date comes from here knows the clocks as they are, even if somebody has just set them.
    static var currentDate: Double {
        sampleClocks()
        return Double(nanoseconds(of: CLOCK_REALTIME) &- epoch) * 1e-9
    }

    /// The first instant at which it is no longer before `date`; `date` is not NaN. Reads no clock. Any thread.
    static func instant(ofDate date: Double) -> Instant {
        _ = knownOffset
        return instant(ofTimerDate: clamped(date))
    }

    /// The same for a date that was clamped, in a process that has looked at the clocks: it did when it made its first
    /// loop. Ten instructions.
    @inline(__always)
    static func instant(ofTimerDate date: Double) -> Instant {
        let wall = linux_integer(date * 1e9) &+ 1
        return Instant(nanoseconds: UInt64(bitPattern: max(wall &+ offset.load(ordering: .relaxed), 0)))
    }

    /// A date that is not NaN, as near as it can be to what timers have.
    @inline(__always)
    static func clamped(_ date: Double) -> Double { max(-latestDate, min(date, latestDate)) }

    /// The date of an instant. Reads no clock. Any thread.
    static func date(of instant: Instant) -> Double { Double(Int64(clamping: instant.nanoseconds) &- knownOffset) * 1e-9 }

    /// `seconds` from 0 up to the latest date, as nanoseconds; `seconds` is not NaN. O(1).
    @inline(never)
    static func nanoseconds(_ seconds: Double) -> UInt64 {
        seconds <= 0 ? 0 : UInt64(min(seconds, latestDate) * 1e9)
    }
}

/// For spin loops. Async-signal-safe.
@inline(__always)
func pauseProcessor() { linux_pause() }
