import CLinux
import Synchronization

/// Nanoseconds on the scale of CLOCK_MONOTONIC: what deadlines are kept in. 0 is "at once", `.never` is "not at all".
///
/// Counted from long before the machine was started, so that earlier dates have an order, too.
struct Instant: BitwiseCopyable, Comparable {
    var nanoseconds: UInt64

    static let never = Instant(nanoseconds: .max)
    static let distantPast = Instant(nanoseconds: 0)

    /// When the machine was started: 109 years after `distantPast`. The latest date is less than 2^63 then, even where the wall clock says
    /// 1970, as it does without a battery.
    fileprivate static let machineStart: UInt64 = 3 << 60

    static func < (left: Instant, right: Instant) -> Bool { left.nanoseconds < right.nanoseconds }

    /// Saturates at `never`. O(1).
    func advanced(by nanoseconds: UInt64) -> Instant {
        let (sum, overflow) = self.nanoseconds.addingReportingOverflow(nanoseconds)
        return overflow ? .never : Instant(nanoseconds: sum)
    }

    /// The instant on CLOCK_MONOTONIC's own scale; not for one before the start of the machine. `never` stays `never`. O(1).
    var kernelNanoseconds: UInt64 { self == .never ? nanoseconds : nanoseconds &- Self.machineStart }

    /// The instant in the kernel's form; one before the start of the machine becomes the start. O(1).
    var timespec: CLinux.timespec { Self.timespec(sinceMachineStart) }

    /// Nanoseconds since the start of the machine; 0 for an earlier instant. O(1).
    var sinceMachineStart: UInt64 { max(nanoseconds, Self.machineStart) - Self.machineStart }

    /// A duration in the kernel's form. O(1).
    static func timespec(_ nanoseconds: UInt64) -> CLinux.timespec {
        CLinux.timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
    }
}

extension Instant {
    /// A reading of one of the kernel's monotonic clocks.
    fileprivate init(_ time: CLinux.timespec) {
        nanoseconds = UInt64(bitPattern: Int64(time.tv_sec &* 1_000_000_000 &+ time.tv_nsec)) &+ Self.machineStart
    }
}

/// The wall clock, the monotonic clock, and the difference between them.
///
/// The API uses absolute dates (wall clock, seconds since 2001); loops wait on the monotonic clock. A date is converted once, by the
/// difference of the clocks that was sampled last. The difference is sampled whenever the time is asked for and, at most once per tick, when
/// a loop begins to run or wakes; so creating a timer reads no clock.
enum Clock {
    /// The monotonic clock minus the wall clock (nanoseconds since 2001), plus `jitter`: added to a date it makes a deadline. 0: not
    /// sampled yet. Any thread.
    private static let offset = Atomic<Int64>(0)

    /// When `sampleClocksOncePerTick` last read the clocks, by the coarse clock. Any thread.
    private static let lastLook = Atomic<UInt64>(0)

    /// Changes of the difference smaller than this may be the jitter of two clock reads and are not stored, so that a date converted to a
    /// deadline and back stays the same. Every deadline is later by as much, so never early.
    private static let jitter: Int64 = 250

    /// The year 2128, to which dates and intervals are clamped, as in CFRunLoop. In seconds.
    static let latestDate = 4_039_289_856.0

    /// Nanoseconds from 1970 to 2001.
    private static let epoch: Int64 = 978_307_200_000_000_000

    /// One clock read, 21 ns. Any thread, async-signal-safe. Not inlined: its callers would need a stack slot for the time.
    @inline(never)
    static var now: Instant {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Instant(time)
    }

    /// Whether `instant` is more than 100 ms ahead, by a clock that costs a quarter of `now` and lags by some milliseconds; false means
    /// "perhaps not". Any thread.
    static func isCertainlyAhead(_ instant: Instant) -> Bool {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
        return instant.nanoseconds > Instant(time).nanoseconds &+ 100_000_000
    }

    /// Reads a clock, from its own zero on. Not inlined: its callers would need a stack slot for the time.
    @inline(never)
    private static func read(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }

    /// Reads both clocks and stores their difference. Any thread.
    ///
    /// Uses the coarse clocks, which cost a fifth. The kernel updates both in one step, at each tick and when the clock is set, so unless
    /// a tick comes between the reads, their difference is exact. Where the coarse clocks are as fine as the others, they are read again
    /// if the thread was interrupted.
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
        // With the later reading: if time passed in between, deadlines come out late, not early.
        let new = after &+ Int64(Instant.machineStart) &- (seen &- epoch) &+ jitter
        let old = offset.load(ordering: .relaxed)
        if old == 0 || (new &- old).magnitude > UInt64(jitter) { offset.store(new, ordering: .relaxed) }
    }

    /// Stores the difference of the clocks unless that was done in this tick of the kernel (1 to 10 ms): for callers that may call a hundred
    /// thousand times a second. Usually costs a quarter of a clock read. Any thread.
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

    /// Seconds since 2001, for RLAbsoluteTimeGetCurrent. Also samples the difference of the clocks: a timer with a date computed from this
    /// is right even if the clock has just been set. One and a half clock reads. Any thread.
    static var currentDate: Double {
        sampleClocks()
        return Double(read(CLOCK_REALTIME) &- epoch) * 1e-9
    }

    /// The deadline of a date, never early; `date` is not NaN. Reads no clock. Any thread.
    static func instant(ofDate date: Double) -> Instant {
        _ = knownOffset
        return instant(ofTimerDate: clamped(date))
    }

    /// The deadline of a clamped date, in a process that has sampled the clocks: making the first loop does. Ten instructions. Any thread.
    static func instant(ofTimerDate date: Double) -> Instant {
        let wall = linux_integer(date * 1e9) &+ 1
        return Instant(nanoseconds: UInt64(bitPattern: max(wall &+ offset.load(ordering: .relaxed), 0)))
    }

    /// The nearest date that timers can have; `date` is not NaN.
    static func clamped(_ date: Double) -> Double { max(-latestDate, min(date, latestDate)) }

    /// The date of an instant, by the sampled difference. Reads no clock. Any thread.
    static func date(of instant: Instant) -> Double { Double(Int64(clamping: instant.nanoseconds) &- knownOffset) * 1e-9 }

    /// Clamps a duration to between 0 and `latestDate`, in nanoseconds; `seconds` is not NaN. O(1).
    @inline(never)
    static func nanoseconds(_ seconds: Double) -> UInt64 {
        seconds <= 0 ? 0 : UInt64(min(seconds, latestDate) * 1e9)
    }
}

/// Tells the processor that this thread spins. Async-signal-safe.
func pauseProcessor() { linux_pause() }
