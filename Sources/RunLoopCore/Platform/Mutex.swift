import CLinux
import Synchronization

/// A mutex of four bytes, which is a futex word: 0 if free, 1 if held, 2 if held while other threads may sleep.
///
/// Uncontended, locking and unlocking execute one locked instruction each. Critical sections are a few instructions without user code, so a
/// waiting thread spins briefly before it sleeps. Not recursive, not fair, not async-signal-safe.
struct Mutex: ~Copyable {
    private let word: Atomic<UInt32>

    init() { word = Atomic(0) }

    /// Locks the mutex. O(1). Any thread.
    @inline(never)
    func lock() {
        if !word.compareExchange(expected: 0, desired: 1, successOrdering: .acquiring, failureOrdering: .relaxed).exchanged {
            lockSlow()
        }
        RaceDetector.happensAfter(word)
        RaceDetector.noteLock(word)
    }

    /// Runs `body` with the mutex held, unless a thread holds it, even this one. Returns whether `body` was run. O(1). Any thread.
    func tryLocked(_ body: () -> Void) -> Bool {
        if !word.compareExchange(expected: 0, desired: 1, successOrdering: .acquiring, failureOrdering: .relaxed).exchanged { return false }
        RaceDetector.happensAfter(word)
        RaceDetector.noteLock(word)
        body()
        unlock()
        return true
    }

    /// Unlocks the mutex. O(1). Called by the thread that holds it.
    @inline(never)
    func unlock() {
        RaceDetector.noteUnlock(word)
        RaceDetector.happensBefore(word)
        if word.exchange(0, ordering: .releasing) == 2 { Futex.wake(word, count: 1) }
    }

    /// Runs `body` with the mutex held. Any thread.
    @inline(__always)
    func locked<Result>(_ body: () -> Result) -> Result {
        lock()
        let result = body()
        unlock()
        return result
    }

    /// Unlocks the mutex in a child of fork(), where the thread that held it may not exist.
    func reset() {
        RaceDetector.noteUnlock(word)
        word.store(0, ordering: .relaxed)
    }

    /// Spins briefly, then sleeps until the mutex is free.
    private func lockSlow() {
        for _ in 0..<16 {
            linux_pause()
            if word.load(ordering: .relaxed) == 0
                && word.compareExchange(expected: 0, desired: 1, successOrdering: .acquiring, failureOrdering: .relaxed)
                    .exchanged
            {
                return
            }
        }
        while word.exchange(2, ordering: .acquiring) != 0 { _ = Futex.wait(word, while: 2, until: .never) }
    }
}

/// Sleeping on a 32-bit word. Preserves errno.
enum Futex {
    /// Why a sleep ended.
    enum Outcome { case woken, timedOut }

    /// Sleeps while `word` holds `value`, until a wake-up, `deadline`, or a signal. A signal counts as a wake-up, so callers test the word
    /// again. One system call. Any thread.
    @inline(never)
    static func wait(_ word: borrowing Atomic<UInt32>, while value: UInt32, until deadline: Instant) -> Outcome {
        let saved = systemError
        defer { systemError = saved }
        let address = unsafeAddress(of: word)
        if deadline == .never {
            _ = linux_futex_wait(address, value, nil)
            return .woken
        }
        var time = deadline.timespec
        return linux_futex_wait(address, value, &time) != 0 && systemError == ETIMEDOUT ? .timedOut : .woken
    }

    /// Wakes up to `count` sleepers. One system call. Any thread, async-signal-safe.
    @inline(never)
    static func wake(_ word: borrowing Atomic<UInt32>, count: Int32) {
        let saved = systemError
        linux_futex_wake(unsafeAddress(of: word), count)
        systemError = saved
    }

    /// Returns the address of an atomic. Swift does not offer it, but the library's atomics are in memory that never moves, so it is
    /// stable.
    private static func unsafeAddress(of word: borrowing Atomic<UInt32>) -> UnsafeRawPointer {
        withUnsafePointer(to: word) { UnsafeRawPointer($0) }
    }
}
