import CLinux

/// Waiting for descriptors, and what it brought. Many reports come in one system call; the loop takes them one by one.
///
/// The loop's thread only, so without the lock. Calls no user code.
struct Reports: ~Copyable {
    private static var capacity: Int { 256 }
    private static var ahead: Int { 2 }

    private var batch: UnsafeMutablePointer<epoll_event>?
    private var count = 0
    private var taken = 0
    /// Nothing has been taken of this batch, and it has not been sorted.
    private(set) var isFresh = false
    /// It is the turn of watches that are always ready, which epoll does not report.
    private(set) var isAlwaysReadyTurn = false
    /// How many waits in a row have reported something that is not watched any more. Once may be a coincidence.
    private var strayWaits = 0
    private var sawStray = false
    private var isBroken = false
    /// Kicks made or on their way through the poller's kick descriptor.
    private(set) var kicks: UInt64 = 0

    init() {}

    deinit { free(batch) }

    /// A kick was made for the sleep that just ended.
    mutating func countKick() { kicks += 1 }

    /// Whether reports of the last `wait` are left.
    @inline(__always)
    var isEmpty: Bool { taken == count && !isAlwaysReadyTurn }

    /// Forgets the reports that are left: what they say may be old by now, and epoll will say it again.
    @inline(__always)
    mutating func drop() {
        taken = count
        isAlwaysReadyTurn = false
    }

    /// Begins anew with another epoll and kick descriptor, or with none.
    mutating func reset() {
        drop()
        kicks = 0
        strayWaits = 0
        sawStray = false
    }

    /// What there is to wait for.
    struct Target {
        /// -1: nothing.
        var epoll: Int32
        /// Somebody wants a watch that is always ready: then `wait` does not sleep.
        var alwaysReady: Bool
        /// See `Poller.Trigger.edgeWithoutConnect`.
        var hasUnreportedConnects = false

        static let nothing = Target(epoll: -1, alwaysReady: false)

        @inline(__always)
        var isNothing: Bool { epoll < 0 }
    }

    /// Sleeps until a descriptor is ready, a kick comes or `deadline` has passed. One system call. Out of memory: reports nothing.
    /// `now` is asked for if there is a deadline.
    mutating func wait(_ target: Target, until deadline: Instant, _ now: @autoclosure () -> Instant = Clock.now) {
        taken = 0
        count = 0
        isAlwaysReadyTurn = target.alwaysReady
        strayWaits = sawStray ? strayWaits + 1 : 0
        sawStray = false
        guard let batch = batch ?? makeBatch() else { return }
        let timeout: UInt64?
        if target.alwaysReady || deadline == .distantPast {
            timeout = 0
        } else if deadline == .never {
            timeout = nil
        } else {
            let now = now()
            timeout = now < deadline ? deadline.nanoseconds - now.nanoseconds : 0
        }
        isFresh = true
        count = Epoll.wait(target.epoll, batch, capacity: Int32(Self.capacity), timeout: timeout)
        if count < 0 {
            count = 0
            isBroken = true
        }
        // A kick alone is nothing to deliver.
        if count == 1 && linux_epoll_tag(batch) == Poller.kickTag { count = 0 }
    }

    /// Whether the epoll turned out to be gone (a program that closes all descriptors it does not know). Once.
    mutating func takeBroken() -> Bool {
        defer { isBroken = false }
        return isBroken
    }

    private mutating func makeBatch() -> UnsafeMutablePointer<epoll_event>? {
        batch = calloc(Self.capacity + Self.ahead, MemoryLayout<epoll_event>.stride)?.assumingMemoryBound(to: epoll_event.self)
        return batch
    }

    /// Brings a fresh batch into ascending order of `rank`, of its tags. O(n²), which most are too small for to matter.
    mutating func sort(by rank: (UInt64) -> Int) {
        isFresh = false
        guard let batch, count > 1 else { return }
        for index in 1..<count {
            let report = batch[index]
            let itsRank = rank(linux_epoll_tag(batch + index))
            var hole = index
            while hole > 0 && rank(linux_epoll_tag(batch + (hole - 1))) > itsRank {
                batch[hole] = batch[hole - 1]
                hole -= 1
            }
            batch[hole] = report
        }
    }

    /// The tag of the next report, which may be the kick's, and what epoll said; nil when there are no more.
    @inline(__always)
    mutating func take() -> (tag: UInt64, events: Events)? {
        if taken == count { return nil }
        let report = batch.unsafelyUnwrapped + taken
        taken &+= 1
        return (linux_epoll_tag(report), Events(epoll: report.pointee.events))
    }

    /// The tag of the report that is left, if it is the only one.
    mutating func takeOnly() -> UInt64? { count - taken == 1 && !isAlwaysReadyTurn ? take()?.tag : nil }

    /// Takes the report that is left if it is the only one of epoll's and has this tag.
    mutating func takeOnly(_ tag: UInt64?) -> Bool {
        if count &- taken != 1 || linux_epoll_tag(batch.unsafelyUnwrapped + taken) != tag { return false }
        taken = count
        return true
    }

    /// The tag of a report that will be taken soon, 0 for the next; behind the last of them an older one, or 0. Up to `ahead`.
    @inline(__always)
    func tag(ahead index: Int) -> UInt64 { linux_epoll_tag(batch.unsafelyUnwrapped + (taken &+ index)) }

    /// Once per wait.
    mutating func endAlwaysReadyTurn() { isAlwaysReadyTurn = false }

    /// A report was about no watch: about one that is not watched any more, unless it is the kick.
    mutating func noteStray(_ tag: UInt64) { if tag != Poller.kickTag { sawStray = true } }

    /// Whether epoll keeps on reporting what is not watched any more: see `Poller.rebuild`. Once per three waits.
    mutating func isHaunted() -> Bool {
        if strayWaits < 3 { return false }
        strayWaits = 0
        return true
    }
}
