import Synchronization

/// Wakes a loop: one atomic word holds whether the loop is awake, and waking takes a system call only if the loop sleeps.
///
///     awake ──wakeUp──▶ pending          the loop takes it (→ awake) before it looks for work, or
///       │                                instead of going to sleep
///       ├─adjust──▶ adjusting            as pending, but the loop only computes again how long to sleep
///       │                                and on what
///       └─goToSleep─▶ sleeping ──wakeUp──▶ pending   and the waker ends the sleep
///                        └──────adjust──▶ adjusting  and the waker ends the sleep
///
/// There are two ways to sleep, on the word itself and in epoll, with a value for each. So the value that a waker replaces
/// determines how to end the sleep, however late the waker gets to it.
///
/// No wake-up is lost: all changes of the word are atomic read-modify-writes, so they have one order (but for `restorePending`,
/// in a process with a single thread). A `wakeUp` that precedes
/// `goToSleep` in this order makes it fail; one that follows finds `sleeping` and ends the sleep. What the waker wrote before is
/// visible to the loop, because the waker's exchange releases, and the loop's next exchange, which reads the waker's value or a
/// later one, acquires. At most one system call ends a sleep: the first thread to replace `sleeping` makes it.
/// `Tests/model/wake.pml` checks this, and that each step is needed.
///
/// The functions that any thread may call are async-signal-safe: no lock, no allocation, errno preserved.
struct WakeWord: ~Copyable {
    /// The state of the loop. Also the futex word, and therefore 32 bits.
    private let word = Atomic<UInt32>(0)
    /// The eventfd that ends a sleep in epoll. The loop stores it before it sleeps.
    private let wakeDescriptor = Atomic<Int32>(-1)

    private static var awake: UInt32 { 0 }
    private static var pending: UInt32 { 1 }
    private static var sleepingOnWord: UInt32 { 2 }
    private static var sleepingInEpoll: UInt32 { 3 }
    private static var adjusting: UInt32 { 4 }

    /// The offset of the wake word in its loop. The thread context is the loop's first field, and only a cache line of padding separates
    /// the two.
    private static var offsetInLoop: Int { MemoryLayout<ThreadContext>.size + MemoryLayout<CacheLine>.size }

    init() {}

    /// Makes the loop begin another pass, immediately if it sleeps. One atomic exchange, and one system call if the loop sleeps. Any
    /// thread.
    @inline(never)
    func wakeUp() {
        RaceDetector.happensBefore(word)
        let before = word.exchange(Self.pending, ordering: .acquiringAndReleasing)
        if before == Self.sleepingOnWord || before == Self.sleepingInEpoll { signalSleeper(before) }
    }

    /// Makes a loop that sleeps, or is about to, compute again how long and on what to sleep, without a pass. Any thread.
    func adjust() {
        var before = word.load(ordering: .relaxed)
        while before != Self.pending && before != Self.adjusting {
            let (done, now) = word.compareExchange(
                expected: before, desired: Self.adjusting, successOrdering: .acquiringAndReleasing, failureOrdering: .relaxed)
            if done {
                if before != Self.awake { signalSleeper(before) }
                return
            }
            before = now
        }
    }

    /// Whether a wake-up is pending. One load. Any thread.
    var isPending: Bool { word.load(ordering: .relaxed) == Self.pending }

    /// Whether the loop sleeps, on the word or in epoll. One load. Any thread.
    var isSleeping: Bool {
        let now = word.load(ordering: .relaxed)
        return now == Self.sleepingOnWord || now == Self.sleepingInEpoll
    }

    /// Takes a pending wake-up, if there is one, and returns whether there was: everything that it announced is then visible. Loop thread
    /// only.
    func takePending() -> Bool {
        guard isPending && word.exchange(Self.awake, ordering: .acquiringAndReleasing) == Self.pending else { return false }
        RaceDetector.happensAfter(word)
        return true
    }

    /// Enters the sleeping state. Returns false if a wake-up or an adjustment came first: the loop must then not sleep, and `wakeFromSleep`
    /// returns which of them it was. `descriptor` is the eventfd in the epoll set, or nil to sleep on the word. Loop thread only.
    func goToSleep(inEpoll descriptor: Int32?) -> Bool {
        if let descriptor { wakeDescriptor.store(descriptor, ordering: .relaxed) }
        let asleep = descriptor == nil ? Self.sleepingOnWord : Self.sleepingInEpoll
        return word.compareExchange(expected: Self.awake, desired: asleep, ordering: .acquiringAndReleasing).exchanged
    }

    /// Called when the loop's thread has ended, or does not exist in this child of fork(): wake-ups make no system call from here on.
    func reset() { _ = word.exchange(Self.awake, ordering: .acquiringAndReleasing) }

    /// Makes a wake-up pending in a child of fork(), on behalf of a thread that was about to wake the loop and may not exist there.
    func restorePending() { word.store(Self.pending, ordering: .relaxed) }

    /// What ended a sleep; `nothing` stands for an event, the deadline, or a Unix signal.
    enum Reason: UInt32 { case nothing, adjusted, wokenUp }

    /// Ends the sleep, or takes what kept the loop from sleeping, and returns what ended it. After a sleep, any result but `nothing` means
    /// that a thread has made a system call to wake the loop, or is about to. Loop thread only.
    func wakeFromSleep() -> Reason {
        let before = word.exchange(Self.awake, ordering: .acquiringAndReleasing)
        RaceDetector.happensAfter(word)
        return switch before {
        case Self.pending: .wokenUp
        case Self.adjusting: .adjusted
        default: .nothing
        }
    }

    /// Ends a sleep during which a host waits in place of the thread (`RunLoop+Guest.swift`). A wake-up or an adjustment stays in the word.
    /// Returns true if there was one: a system call to end the sleep has been made, or is about to be. Loop thread only.
    func endSleepOfHost() -> Bool { !exchange(Self.sleepingInEpoll, for: Self.awake) }

    /// Takes a pending adjustment and returns whether there was one. Loop thread only, while the loop is awake.
    func takeAdjustment() -> Bool { exchange(Self.adjusting, for: Self.awake) }

    /// Replaces the value `expected` by `desired`. Returns false, without a change, if the word has another value.
    private func exchange(_ expected: UInt32, for desired: UInt32) -> Bool {
        word.compareExchange(expected: expected, desired: desired, ordering: .acquiringAndReleasing).exchanged
    }

    /// Sleeps on the word itself. Loop thread only, between `goToSleep(inEpoll: nil)` and `wakeFromSleep`.
    func sleepOnWord(until deadline: Instant) { _ = Futex.wait(word, while: Self.sleepingOnWord, until: deadline) }

    /// Spins until the word changes or `deadline` has passed. Loop thread only.
    func spin(until deadline: Instant) {
        while word.load(ordering: .relaxed) == Self.awake {
            for _ in 0..<16 where word.load(ordering: .relaxed) == Self.awake { pauseProcessor() }
            if Clock.now >= deadline { return }
        }
    }

    /// Ends the sleep: `before` is the value of the word that the caller replaced. One system call. Any thread, async-signal-safe.
    @inline(never)
    private func signalSleeper(_ before: UInt32) {
        Probe.report(.sent, .wake, withUnsafePointer(to: self) { UnsafeRawPointer($0) } - Self.offsetInLoop)
        if before == Self.sleepingOnWord {
            Futex.wake(word, count: 1)
        } else {
            EventDescriptor.signal(wakeDescriptor.load(ordering: .relaxed))
        }
    }
}
