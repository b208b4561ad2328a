import Synchronization

/// Waking a loop: one atomic word that says whether the loop is awake, and a system call only if it sleeps.
///
///     awake ──wakeUp──▶ pending          the loop takes it (→ awake) before it looks for work, or
///       │                                instead of going to sleep
///       ├─adjust──▶ adjusting            the same, but the loop only looks again what to sleep for
///       └─goToSleep─▶ sleeping ──wakeUp──▶ pending   and the waker ends the sleep
///                        └──────adjust──▶ adjusting  and the waker ends the sleep
///
/// There are two ways to sleep, on the word itself and in epoll, and a value for each, so that the value that a waker
/// replaces tells it how to end the sleep, however late it gets to it.
///
/// No wake-up is lost: all changes of the word are atomic read-modify-writes, so they have one order.
/// A `wakeUp` that precedes `goToSleep` in this order makes it fail; one that follows finds `sleeping` and ends the
/// sleep. What the waker wrote before is visible to the loop, because the waker's exchange releases and the loop's next
/// exchange, which reads the waker's value or a later one, acquires. A sleep is ended by one system call at most: the first to
/// replace `sleeping` makes it. `Tests/model/wake.pml` checks this, and that each step is needed.
///
/// Everything but `goToSleep` and `wakeFromSleep` is async-signal-safe: no lock, no allocation, errno kept.
struct WakeWord: ~Copyable {
    /// Also the futex word, and so 32 bits.
    private let word = Atomic<UInt32>(0)
    /// The eventfd by which a sleep in epoll is ended. Written by the loop before it sleeps.
    private let wakeDescriptor = Atomic<Int32>(-1)

    private static var awake: UInt32 { 0 }
    private static var pending: UInt32 { 1 }
    private static var sleepingOnWord: UInt32 { 2 }
    private static var sleepingInEpoll: UInt32 { 3 }
    private static var adjusting: UInt32 { 4 }

    /// How far from the beginning of a loop its wake word is: nothing but a line lies between it and the thread context, which is first.
    private static var offsetInLoop: Int { MemoryLayout<ThreadContext>.size + MemoryLayout<CacheLine>.size }

    init() {}

    /// Makes the loop begin another pass, at once if it sleeps. One atomic exchange; one system call if it sleeps. Any thread.
    @inline(__always)
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

    /// Takes a pending wake-up, if there is one: whatever it announced is visible afterwards. The loop's thread.
    func takePending() -> Bool {
        guard isPending && word.exchange(Self.awake, ordering: .acquiringAndReleasing) == Self.pending else { return false }
        RaceDetector.happensAfter(word)
        return true
    }

    /// Goes to sleep. False if a wake-up or an adjustment came first: then the loop must not sleep, and `wakeFromSleep` returns which.
    /// `inEpoll`: the eventfd that is in the epoll; nil to sleep on the word. The loop's thread.
    func goToSleep(inEpoll descriptor: Int32?) -> Bool {
        if let descriptor { wakeDescriptor.store(descriptor, ordering: .relaxed) }
        let asleep = descriptor == nil ? Self.sleepingOnWord : Self.sleepingInEpoll
        return word.compareExchange(expected: Self.awake, desired: asleep, ordering: .acquiringAndReleasing).exchanged
    }

    /// The loop's thread has ended, or does not exist in this child of fork(): from now on wake-ups make no system call.
    func reset() { _ = word.exchange(Self.awake, ordering: .acquiringAndReleasing) }

    /// In a child of fork(): a thread that was about to wake the loop may not exist there, so the wake-up is made for it.
    func restorePending() { word.store(Self.pending, ordering: .relaxed) }

    /// What ended a sleep, other than the loop itself.
    enum Reason: UInt32 { case nothing, adjusted, wokenUp }

    /// Ends the sleep, or takes what kept the loop from sleeping, and returns what ended it. After a sleep, anything but `nothing` means that
    /// a thread has made a system call to wake the loop, or is about to. The loop's thread.
    func wakeFromSleep() -> Reason {
        let before = word.exchange(Self.awake, ordering: .acquiringAndReleasing)
        RaceDetector.happensAfter(word)
        return switch before {
        case Self.pending: .wokenUp
        case Self.adjusting: .adjusted
        default: .nothing
        }
    }

    /// Ends a sleep for which the thread itself does not wait (`RunLoop+Guest.swift`). A wake-up or an adjustment stays in the word. True if
    /// there has been one: a system call to end the sleep has been made, or is about to be. The loop's thread.
    func endSleepOfHost() -> Bool { !exchange(Self.sleepingInEpoll, for: Self.awake) }

    /// Takes an adjustment; false if there is none. The loop's thread, awake.
    func takeAdjustment() -> Bool { exchange(Self.adjusting, for: Self.awake) }

    /// Replaces the value `expected`; false, and no change, if the word has another.
    private func exchange(_ expected: UInt32, for desired: UInt32) -> Bool {
        word.compareExchange(expected: expected, desired: desired, ordering: .acquiringAndReleasing).exchanged
    }

    /// Sleeps on the word itself. The loop's thread, between `goToSleep(inEpoll: nil)` and `wakeFromSleep`.
    func sleepOnWord(until deadline: Instant) { _ = Futex.wait(word, while: Self.sleepingOnWord, until: deadline) }

    /// Spins until the word changes or `deadline` has come. The loop's thread.
    func spin(until deadline: Instant) {
        while word.load(ordering: .relaxed) == Self.awake {
            for _ in 0..<16 where word.load(ordering: .relaxed) == Self.awake { pauseProcessor() }
            if Clock.now >= deadline { return }
        }
    }

    /// Ends the sleep that the word had stated. One system call; any thread, async-signal-safe.
    @inline(never)
    private func signalSleeper(_ before: UInt32) {
        Probe.tell(.sent, .wake, withUnsafePointer(to: self) { UnsafeRawPointer($0) } - Self.offsetInLoop)
        if before == Self.sleepingOnWord {
            Futex.wake(word, count: 1)
        } else {
            EventDescriptor.signal(wakeDescriptor.load(ordering: .relaxed))
        }
    }
}
