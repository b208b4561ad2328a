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
