import CLinux
import Synchronization

/// Makes a loop that has taken a burst of posts wait a little before it checks its inbox again or goes to sleep.
///
/// While other threads post one function after the other, a loop that checks immediately finds only a few posts and takes the cache lines
/// away from the threads that write to them. A loop that immediately goes to sleep has to be woken immediately, by a system call of a
/// posting thread. So after many posts the loop waits until 4 µs have passed since it took them, and then finds a hundred. Each post
/// becomes two to four times cheaper.
///
/// After a few posts there is no wait, and after a burst it amounts to at most half a microsecond per post. No client can observe it, as
/// the next posts could as well have been made later. Requests of the loop's own thread do not count, nor do those that a thread waits for:
/// they do not announce further posts.
///
/// Loop thread only: in steps 4 and 9, before the loop takes requests, and in step 7.
struct PostBackoff: BitwiseCopyable {
    /// How many posts taken at the same time count as a burst.
    private static var burst: Int { 8 }
    private static var nanoseconds: UInt64 { 4_000 }

    /// The end of the wait; `.distantPast` if there was no burst.
    private var end = Instant.distantPast

    /// Whether a burst was taken and the loop has not waited since.
    var isDue: Bool { end != .distantPast }

    /// Records that the loop has taken a batch with this many posts of other threads.
    @inline(__always)
    mutating func noteTaken(posts: Int) {
        if posts >= Self.burst && Thread.maySpin { end = Clock.now.advanced(by: Self.nanoseconds) }
    }

    /// Waits, but not past `limit`, before the loop checks the inbox or goes to sleep. Returns immediately unless a burst was taken a
    /// moment ago.
    mutating func wait(until limit: Instant = .never) {
        if isDue { spin(until: limit) }
    }

    /// Spins until the wait is over or `limit` has passed.
    @inline(never)
    private mutating func spin(until limit: Instant) {
        let stop = min(end, limit)
        while Clock.now < stop {
            for _ in 0..<8 { pauseProcessor() }
        }
        end = .distantPast
    }
}
