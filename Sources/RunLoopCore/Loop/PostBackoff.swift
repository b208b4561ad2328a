import CLinux
import Synchronization

/// How soon a loop looks into its inbox again, or goes to sleep, after it has taken a burst of posts out.
///
/// While other threads post one function after the other, a loop that looks at once finds a few, and takes the cache
/// lines from those who write them; and one that goes to sleep at once has to be woken at once, by a system call of a
/// poster. So after many posts the loop rests until 4 µs have passed since it took them, away from those lines, and then finds
/// a hundred. Each post gets two to four times cheaper.
///
/// What that costs: nothing after few posts, else half a microsecond for each at most. Nobody can observe it, the next
/// posts could as well have come later. The loop's own requests do not count: there is nobody to wait for.
///
/// The loop's thread, while it runs.
struct PostBackoff: BitwiseCopyable {
    /// So many posts at once are the middle of a burst.
    private static var burst: Int { 8 }
    private static var nanoseconds: UInt64 { 4_000 }

    /// `.distantPast` if there is nothing to rest from.
    private var end = Instant.distantPast

    /// Whether a burst was taken and there was no rest yet.
    @inline(__always)
    var isDue: Bool { end != .distantPast }

    /// The loop took a batch with so many posts of other threads in it.
    @inline(__always)
    mutating func noteTaken(posts: Int) {
        if posts >= Self.burst && Thread.maySpin { end = Clock.now.advanced(by: Self.nanoseconds) }
    }

    /// Before the next look, or a sleep until `limit`. Returns at once unless a burst was taken a moment ago.
    @inline(__always)
    mutating func wait(until limit: Instant = .never) {
        if isDue { spin(until: limit) }
    }

    @inline(never)
    private mutating func spin(until limit: Instant) {
        let stop = min(end, limit)
        while Clock.now < stop {
            for _ in 0..<8 { pauseProcessor() }
        }
        end = .distantPast
    }
}
