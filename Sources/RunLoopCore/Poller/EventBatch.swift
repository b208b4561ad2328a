import CLinux

/// Waits for descriptors and holds the events that the last wait fetched: one system call fetches many, and the loop takes them one by one.
///
/// epoll reports descriptors that stay ready in the same order each time. A loop that took the first event and dropped the rest would never
/// reach the other descriptors. Two rules give each descriptor its turn:
/// - A loop that will take only one event fetches only one: epoll then moves that descriptor behind all others.
/// - After events have been dropped, the next batches are turns: the loop begins each of them with a descriptor that has not had its turn
///   (`begin`).
///
/// Loop thread only, so it needs no lock. Calls no user code.
struct EventBatch: ~Copyable {
    private var batch: UnsafeMutablePointer<epoll_event>?
    /// The maximum number of events that epoll returns at a time. If more descriptors are ready, each batch begins where the previous one
    /// ended, and the loop takes turns within it.
    private static var capacity: Int { 256 }
    /// The number of events in the batch, and how many of them have been taken.
    private var count = 0
    private var taken = 0
    /// True until `begin` has been called for this batch: no event has been taken, and the events have not been sorted.
    private(set) var isFresh = false
    /// How many of the next batches are turns: as many as there were descriptors whose events were dropped.
    private var turnsOwed = 0
    /// How many descriptors have been registered again and so lost their position in epoll's order. For that many batches, the loop does
    /// not rely on that order.
    private var reregistrations = 0
    /// Whether the loop itself chooses which event goes first, and records which ones it took.
    private(set) var isTurn = false
    /// Whether the batch was fetched for a loop that takes one event.
    private var isForOne = false
    /// Whether only one event was requested, so that more descriptors may be ready.
    private(set) var isSingle = false
    /// Whether the batch has as many events as there was room for, so that more descriptors may be ready. False for a single event.
    private(set) var isFull = false
    private var random: UInt32 = 1
    /// The number of this batch. It changes with each batch and when events are dropped.
    private(set) var number: UInt32 = 0
    /// How many consecutive waits have reported a descriptor that is not watched. A single such wait needs no repair: a watch may have ended
    /// after its event was fetched.
    private var staleWaits = 0
    private var sawStaleEvent = false
    private var isBroken = false
    /// How many writes to the poller's wake descriptor have been made, or other threads have committed themselves to.
    private(set) var wakes: UInt64 = 0

    init() {}

    deinit { free(batch) }

    /// Counts a write to the wake descriptor that has been made, or that another thread has committed itself to.
    mutating func countWake() { wakes += 1 }

    /// Whether all events of the last `wait` have been taken.
    var isEmpty: Bool { taken == count }

    /// Drops the remaining events. They may be outdated, and epoll will report again what is still ready. Their descriptors are owed a
    /// turn.
    mutating func drop() {
        if taken == count { return }
        number &+= 1
        if !isForOne { turnsOwed = max(turnsOwed, count - taken) } else if isFresh { turnsOwed += 1 }
        taken = count
    }

    /// Records that a descriptor that may be ready has rejoined the epoll set, behind all others. This makes no difference to a loop that
    /// fetches all events. For a loop that would fetch a single event, the next batch is fetched as a whole.
    mutating func noteReregistration() { reregistrations = min(reregistrations + 1, 4 * Self.capacity) }

    /// Drops all events and turns. Called when the epoll and the wake descriptor are replaced or closed.
    mutating func reset() {
        drop()
        turnsOwed = 0
        reregistrations = 0
        wakes = 0
        staleWaits = 0
        sawStaleEvent = false
    }

    /// Begins a batch of one event without a system call: the descriptor with this tag is known to be readable. Returns false if there is
    /// no buffer. Never inlined: otherwise the compiler does so or not depending on the size of the pass, its only caller.
    @inline(never)
    mutating func begin(withReadable tag: UInt64) -> Bool {
        guard let batch else { return false }
        number &+= 1
        batch[0] = Epoll.event(tag: tag)
        batch[0].events = Events.readable.epoll
        count = 1
        taken = 0
        isFresh = false
        isTurn = false
        // If this event leads to no callback, the loop fetches all events. A batch of this kind does not end a round.
        isForOne = true
        isSingle = true
        return true
    }

    /// How many events to fetch.
    enum Extent {
        /// As many as fit.
        case all
        /// Only one: the loop will take one.
        case one
        /// As many as fit: the loop will take one, but has to choose which.
        case oneOfAll
    }

    /// What a wait waits for.
    struct Target {
        /// The epoll descriptor, or -1 if there is nothing to wait for.
        var epoll: Int32
        /// Whether the mode is interested in a watch that is always ready: then `wait` does not sleep.
        var alwaysReady: Bool
        /// Whether a watch is in the state `Poller.Trigger.edgeWithoutConnect`.
        var hasUnreportedConnects = false

        static let nothing = Target(epoll: -1, alwaysReady: false)

        var isNothing: Bool { epoll < 0 }
    }

    /// Sleeps until a descriptor is ready, the wake descriptor is written to, or `deadline` has passed. Returns immediately without events
    /// if out of memory. One system call; two if a wait for a single event that does not sleep finds only the wake descriptor. Reads the
    /// clock if there is a deadline and `now` is nil.
    mutating func wait(_ target: Target, until deadline: Instant, _ extent: Extent = .all, _ now: Instant? = nil) {
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
            let now = now ?? Clock.now
            timeout = now < deadline ? deadline.nanoseconds - now.nanoseconds : 0
        }
        isFresh = true
        isSingle = extent == .one && turnsOwed | reregistrations == 0 && !target.alwaysReady
        isForOne = extent != .all
        isTurn = isForOne || turnsOwed > 0
        if turnsOwed > 0 { turnsOwed -= 1 }
        if reregistrations > 0 { reregistrations -= 1 }
        let limit = isSingle ? 1 : isFull && isTurn ? shorterBatch() : Self.capacity
        count = wait(target.epoll, batch, limit, timeout)
        isFull = !isSingle && count == limit
        // The event of the wake descriptor is not dispatched, but it may have taken the place of one that is.
        if count == 1 && linux_epoll_tag(batch) == Poller.wakeTag {
            count = isSingle && timeout == 0 ? wait(target.epoll, batch, 1, 0) : 0
        }
        if target.alwaysReady { appendAlwaysReady(batch) }
    }

    /// Waits once and returns the number of events. Returns 0 and sets `isBroken` if the descriptor is not, or is no longer, an epoll.
    private mutating func wait(_ epoll: Int32, _ batch: UnsafeMutablePointer<epoll_event>, _ limit: Int, _ timeout: UInt64?) -> Int {
        let count =
            timeout == 0
            ? Epoll.poll(epoll, batch, capacity: Int32(limit)) : Epoll.wait(epoll, batch, capacity: Int32(limit), timeout: timeout)
        if let count { return count }
        isBroken = true
        return 0
    }

    /// Like `wait`, but wakes up in time to check sockets that another thread may connect without waking the loop: after 10 ms, then at
    /// growing intervals of up to 0.64 s. `sleepsBefore` is the number of sleeps of this pass that have already ended.
    mutating func sleep(_ target: Target, until limit: Instant, _ extent: Extent, _ now: Instant, sleepsBefore count: Int) {
        if !target.hasUnreportedConnects { return wait(target, until: limit, extent, now) }
        // Callers without a limit do not pass the time.
        let now = Clock.now
        let nextLook = now.advanced(by: 10_000_000 << UInt64(min(count, 6)))
        wait(target, until: min(limit, nextLook), extent, now)
    }

    /// Returns a pseudo-random size for a batch, from half the capacity up. Each batch begins where the previous one ended. With a constant
    /// size, every batch that is not dropped might begin with the same descriptors.
    private mutating func shorterBatch() -> Int {
        random = random &* 1_664_525 &+ 1_013_904_223
        return Self.capacity / 2 + Int(random >> 25)
    }

    /// Appends one event that stands for all always-ready watches, which epoll does not report.
    private mutating func appendAlwaysReady(_ batch: UnsafeMutablePointer<epoll_event>) {
        batch[count] = Epoll.event(tag: Poller.alwaysReadyTag)
        count += 1
    }

    /// Returns whether the program has closed the epoll, as some programs do with all descriptors that they do not know, and resets the
    /// flag.
    mutating func takeBroken() -> Bool {
        defer { isBroken = false }
        return isBroken
    }

    /// Allocates memory for a batch. Returns nil if out of memory.
    private static func makeBatch() -> UnsafeMutablePointer<epoll_event>? {
        calloc(capacity + 1, MemoryLayout<epoll_event>.stride)?.assumingMemoryBound(to: epoll_event.self)
    }

    /// Called before the first event of a fresh batch is taken. If the batch is a turn, moves the first event whose tag satisfies `isNext`
    /// to the front and returns the number of such events; otherwise returns nil. O(n).
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

    /// Moves the event whose tag has the greatest `age` to the front. O(n).
    mutating func begin(oldest age: (UInt64) -> UInt32) {
        guard let batch, count > 0 else { return }
        var oldest = 0
        for index in 1..<max(count, 1) where age(linux_epoll_tag(batch + index)) > age(linux_epoll_tag(batch + oldest)) {
            oldest = index
        }
        bringToFront(oldest, of: batch)
    }

    /// Moves one event to the front and keeps the order of the others. O(n).
    private func bringToFront(_ first: Int, of batch: UnsafeMutablePointer<epoll_event>) {
        let event = batch[first]
        memmove(batch + 1, batch, first * MemoryLayout<epoll_event>.stride)
        batch[0] = event
    }

    /// Calls `body` with the tag of each event that has been taken, unless none is left: after `drop` it is unknown which have been taken.
    func forEachTaken(_ body: (UInt64) -> Void) {
        if taken == count { return }
        for index in 0..<taken { body(linux_epoll_tag(batch.unsafelyUnwrapped + index)) }
    }

    /// Sorts a fresh batch by the `rank` of the tags. The sort is stable and takes O(n²), which is acceptable because most batches are
    /// small.
    mutating func sort(by rank: (UInt64) -> Int) {
        guard let batch, count > 1 else { return }
        for index in 1..<count {
            let event = batch[index]
            let eventRank = rank(linux_epoll_tag(batch + index))
            var hole = index
            while hole > 0 && rank(linux_epoll_tag(batch + (hole - 1))) > eventRank {
                batch[hole] = batch[hole - 1]
                hole -= 1
            }
            batch[hole] = event
        }
    }

    /// Takes the next event. Returns its tag, which may be `Poller.wakeTag` or `alwaysReadyTag`, and the events that epoll reported; nil if
    /// there are no more.
    mutating func take() -> (tag: UInt64, events: Events)? {
        if taken == count { return nil }
        let event = batch.unsafelyUnwrapped + taken
        taken &+= 1
        return (linux_epoll_tag(event), Events(epoll: event.pointee.events))
    }

    /// Records that the tag of an event matches no watch, unless it is the tag of the wake descriptor.
    mutating func noteStaleEvent(_ tag: UInt64) { if tag != Poller.wakeTag { sawStaleEvent = true } }

    /// Returns whether the only event that was fetched led to no callback, so that other descriptors may be ready. True at most once per
    /// wait.
    mutating func takeNeedsFullFetch() -> Bool {
        defer { isSingle = false }
        return isSingle && isEmpty && !isFresh
    }

    /// Returns whether the epoll instance has to be replaced, because three waits in a row have reported a descriptor that is not watched:
    /// see `Poller.rebuild`. Begins to count anew when it has returned true.
    mutating func takeNeedsRebuild() -> Bool {
        if staleWaits < 3 { return false }
        staleWaits = 0
        return true
    }
}
