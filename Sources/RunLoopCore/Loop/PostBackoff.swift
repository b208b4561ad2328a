import CLinux
import Synchronization

/// How long a loop waits, after it has taken a burst of posts, before it looks into its inbox again or goes to sleep.
///
/// While other threads post one function after the other, a loop that looks at once finds only a few, and takes the cache lines
/// away from the threads that write them; and one that goes to sleep at once has to be woken at once, by a system call of a
/// poster. So after many posts the loop waits until 4 µs have passed since it took them, and then finds a hundred. Each post gets
/// two to four times cheaper.
///
/// That costs nothing after few posts, and otherwise half a microsecond for each post at most. No client can observe it, as the
/// next posts could as well have come later. The loop's own requests do not count: no other thread is about to post more.
///
/// The loop's thread, in steps 4 and 9, before it takes requests, and in step 7.
struct PostBackoff: BitwiseCopyable {
    /// This many posts at once count as a burst.
    private static var burst: Int { 8 }
    private static var nanoseconds: UInt64 { 4_000 }

    /// Until when to wait; `.distantPast` if there was no burst.
    private var end = Instant.distantPast

    /// Whether a burst was taken and the loop has not waited since.
    var isDue: Bool { end != .distantPast }

    /// The loop took a batch with this many posts of other threads.
    @inline(__always)
    mutating func noteTaken(posts: Int) {
        if posts >= Self.burst && Thread.maySpin { end = Clock.now.advanced(by: Self.nanoseconds) }
    }

    /// Waits, before the next look or a sleep until `limit`. Returns at once unless a burst was taken a moment ago.
    mutating func wait(until limit: Instant = .never) {
        if isDue { spin(until: limit) }
    }

    /// Spins until the time is over or `limit` has come.
    @inline(never)
    private mutating func spin(until limit: Instant) {
        let stop = min(end, limit)
        while Clock.now < stop {
            for _ in 0..<8 { pauseProcessor() }
        }
        end = .distantPast
    }
}
