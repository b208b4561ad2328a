import CLinux

/// Waiting for descriptors, and what it brought. Many reports come in one system call; the loop takes them one by one.
///
/// epoll reports descriptors that stay ready in the same order each time, so a loop that took the first report and dropped the
/// rest would never get to the others. Two rules give each descriptor its turn:
/// - A loop that will take only one report fetches only one: epoll then moves that descriptor behind all others.
/// - After reports were dropped, the next batches are turns: the loop begins each with one that was not taken since (`begin`).
///
/// The loop's thread only, so without the lock. Calls no user code.
struct EventBatch: ~Copyable {
    /// Behind the reports there is room for that of the watches that are always ready, and for `tag(ahead:)` to read.
    private static var spare: Int { 3 }

    private var batch: UnsafeMutablePointer<epoll_event>?
    /// How many reports of epoll have room. If more are ready, each batch begins behind the last one, and turns are taken within it.
    private static var capacity: Int { 256 }
    private var count = 0
    private var taken = 0
    /// Nothing has been taken of this batch, and it has not been sorted.
    private(set) var isFresh = false
    /// So many of the next batches are turns: descriptors have been passed over, or have lost their place in epoll's order.
    private var turnsOwed = 0
    /// The loop has to choose with which report it begins, and to remember which it took.
    private(set) var isTurn = false
    /// The batch was fetched for a loop that takes one report ...
    private var isForOne = false
    /// ... and is no larger: more descriptors may be ready.
    private(set) var isSingle = false
    /// The batch is as large as a batch can be: more descriptors may be ready.
    private(set) var isPartial = false
    private var random: UInt32 = 1
    /// Another one for each batch, and after reports were dropped.
    private(set) var number: UInt32 = 0
    /// How many waits in a row have reported something that is not watched any more. Once may be a coincidence.
    private var staleWaits = 0
    private var sawStaleEvent = false
    private var isBroken = false
    /// Kicks made or on their way through the poller's kick descriptor.
    private(set) var wakes: UInt64 = 0

    init() {}

    deinit { free(batch) }

    /// A kick was made for the sleep that just ended.
    mutating func countWake() { wakes += 1 }

    /// Whether reports of the last `wait` are left.
    @inline(__always)
    var isEmpty: Bool { taken == count }

    /// Forgets the reports that are left: what they say may be old by now, and epoll will say it again. They are owed a turn.
    mutating func drop() {
        if taken == count { return }
        number &+= 1
        if !isForOne { turnsOwed = max(turnsOwed, count - taken) } else if isFresh { turnsOwed += 1 }
        taken = count
    }

    /// A descriptor that may be ready has come into epoll's set anew, behind all others: it is owed a turn.
    mutating func oweTurn() { turnsOwed = min(turnsOwed + 1, 4 * Self.capacity) }

    /// Begins anew with another epoll and kick descriptor, or with none.
    mutating func reset() {
        drop()
        turnsOwed = 0
        wakes = 0
        staleWaits = 0
        sawStaleEvent = false
    }

    /// Which reports to fetch.
    enum Extent {
        /// All there are.
        case all
        /// The loop will take one.
        case one
        /// The loop will take one, and has to choose it among all.
        case oneOfAll
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

    /// Sleeps until a descriptor is ready, a kick comes or `deadline` has passed. One system call, or two if it only looks and finds a
    /// kick. Out of memory: reports nothing.
    /// `now` is asked for if there is a deadline.
    mutating func wait(
        _ target: Target, until deadline: Instant, _ extent: Extent = .all, _ now: @autoclosure () -> Instant = Clock.now
    ) {
        drop()
        number &+= 1
        taken = 0
        count = 0
        staleWaits = sawStaleEvent ? staleWaits + 1 : 0
        sawStaleEvent = false
        if batch == nil { batch = Self.makeBatch() }
        guard let batch else { return }
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
        isSingle = extent == .one && turnsOwed == 0 && !target.alwaysReady
        isForOne = extent != .all
        isTurn = isForOne || turnsOwed > 0
        if turnsOwed > 0 { turnsOwed -= 1 }
        let limit = isSingle ? 1 : isPartial && isTurn ? shorterBatch() : Self.capacity
        count = wait(target.epoll, batch, limit, timeout)
        isPartial = !isSingle && count == limit
        // A kick alone is nothing to deliver, but may have taken the place of what is.
        if count == 1 && linux_epoll_tag(batch) == Poller.wakeTag {
            count = isSingle && timeout == 0 ? wait(target.epoll, batch, 1, 0) : 0
        }
        if target.alwaysReady { appendAlwaysReady(batch) }
    }

    private mutating func wait(_ epoll: Int32, _ batch: UnsafeMutablePointer<epoll_event>, _ limit: Int, _ timeout: UInt64?) -> Int {
        if let count = Epoll.wait(epoll, batch, capacity: Int32(limit), timeout: timeout) { return count }
        isBroken = true
        return 0
    }

    /// epoll begins each batch behind the last one. If they were all of one size, and some of them are dropped, the same descriptors might
    /// be first in those that are not, for ever.
    private mutating func shorterBatch() -> Int {
        random = random &* 1_664_525 &+ 1_013_904_223
        return Self.capacity / 2 + Int(random >> 25)
    }

    /// One report for all watches that are always ready, which epoll does not report.
    private mutating func appendAlwaysReady(_ batch: UnsafeMutablePointer<epoll_event>) {
        batch[count] = Epoll.event(tag: Poller.alwaysReadyTag)
        count += 1
    }

    /// Whether the epoll turned out to be gone (a program that closes all descriptors it does not know). Once.
    mutating func takeBroken() -> Bool {
        defer { isBroken = false }
        return isBroken
    }

    private static func makeBatch() -> UnsafeMutablePointer<epoll_event>? {
        calloc(capacity + spare, MemoryLayout<epoll_event>.stride)?.assumingMemoryBound(to: epoll_event.self)
    }

    /// Before the first report of a fresh batch is taken. Of a turn, the first that `isNext` (a tag) comes to the front. How many
    /// are; nil if it is no turn. O(n).
    mutating func begin(_ isNext: (UInt64) -> Bool) -> Int? {
        isFresh = false
        guard isTurn, let batch, count > 0 else { return nil }
        var first: Int?
        var total = 0
        for index in 0..<count where isNext(linux_epoll_tag(batch + index)) {
            first = first ?? index
            total += 1
        }
        if let first { bringToFront(first, of: batch) }
        return total
    }

    /// Instead, the one with the greatest `age` (of a tag) comes to the front. O(n).
    mutating func begin(oldest age: (UInt64) -> UInt32) {
        guard let batch, count > 0 else { return }
        var oldest = 0
        for index in 1..<max(count, 1) where age(linux_epoll_tag(batch + index)) > age(linux_epoll_tag(batch + oldest)) {
            oldest = index
        }
        bringToFront(oldest, of: batch)
    }

    private func bringToFront(_ first: Int, of batch: UnsafeMutablePointer<epoll_event>) {
        let report = batch[first]
        memmove(batch + 1, batch, first * MemoryLayout<epoll_event>.stride)
        batch[0] = report
    }

    /// The tags of the reports that were taken of the batch, if some are left.
    func forEachTaken(_ body: (UInt64) -> Void) {
        if taken == count { return }
        for index in 0..<taken { body(linux_epoll_tag(batch.unsafelyUnwrapped + index)) }
    }

    /// Brings a fresh batch into ascending order of `rank`, of its tags. O(n²), which most are too small for to matter.
    mutating func sort(by rank: (UInt64) -> Int) {
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

    /// The tag of a report that will be taken soon, 0 for the next; behind the last of them an older one, or 0. Up to 1.
    @inline(__always)
    func tag(ahead index: Int) -> UInt64 { linux_epoll_tag(batch.unsafelyUnwrapped + (taken &+ index)) }

    /// A report was about no watch: about one that is not watched any more, unless it is the kick.
    mutating func noteStaleEvent(_ tag: UInt64) { if tag != Poller.wakeTag { sawStaleEvent = true } }

    /// Whether what was fetched for one report turned out to be nobody's: there may be others. Once per wait.
    mutating func takeSingleWasUnwanted() -> Bool {
        defer { isSingle = false }
        return isSingle && isEmpty && !isFresh
    }

    /// Whether epoll keeps on reporting what is not watched any more: see `Poller.rebuild`. Once per three waits.
    mutating func takeNeedsRebuild() -> Bool {
        if staleWaits < 3 { return false }
        staleWaits = 0
        return true
    }
}
