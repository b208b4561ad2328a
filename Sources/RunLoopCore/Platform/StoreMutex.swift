import CLinux
import Synchronization

/// A mutex with one locked instruction instead of two: unlocking is a plain store and a plain load. Instead, a thread that does not get the
/// mutex for a while pays for a membarrier(2), about a microsecond.
///
///     lock                                  unlock
///     exchange(word, 1) == 0 ?  locked      word = 0
///     ... otherwise repeat:                 -- compiler barrier --
///     wanted = 1                            wanted == 0 ?  done
///     -- membarrier --                      wanted = 0
///     exchange(word, 1) == 0 ?  locked      wake one sleeper
///     sleep while wanted == 1
///
/// Even uncontended, a locked instruction takes 10 ns, more than the rest of a short critical section, and waits until all earlier stores
/// are in the cache. So this mutex is for what is locked millions of times, such as `PerformInbox`.
///
/// No sleeper is forgotten. If the membarrier takes effect before the unlocking thread reads `wanted`, that thread sees 1. If it takes
/// effect afterwards, `word = 0` is visible to the locking thread. Each `wanted = 0` is followed by a wake-up, and the woken thread sets
/// `wanted` again on behalf of those still asleep. `Tests/model/store-mutex.pml` checks this with store buffers, and that each step is
/// needed.
///
/// If the kernel has no membarrier, `wanted` is never 0 and both sides execute a fence.
///
/// Holders call no user code. Not recursive, not fair, not async-signal-safe.
struct StoreMutex: ~Copyable {
    /// 1 while the mutex is locked.
    private let word = Atomic<UInt32>(0)
    /// Whether a thread may have to be woken; also the futex word. Bit 0: a thread sleeps, is about to, or did. Bit 1: there is no
    /// membarrier.
    private let wanted = Atomic<UInt32>(Membarrier.isAvailable ? 0 : 2)

    init() {}

    /// Locks the mutex. O(1). Any thread.
    func lock() {
        if word.exchange(1, ordering: .acquiring) != 0 { lockSlow() }
        RaceDetector.noteLock(word)
    }

    /// Unlocks the mutex. O(1). Called by the thread that holds it.
    func unlock() {
        RaceDetector.noteUnlock(word)
        word.store(0, ordering: .releasing)
        linux_compiler_barrier()
        if wanted.load(ordering: .relaxed) != 0 { wakeOne() }
    }

    /// Spins for a while, as critical sections are short, then sleeps. The pauses grow, because each attempt takes the cache line away from
    /// the holder, or from a thread that locks the mutex over and over.
    @inline(never)
    private func lockSlow() {
        var pauses = 4
        while pauses <= 32 {
            for _ in 0..<pauses { linux_pause() }
            if word.load(ordering: .relaxed) == 0 && word.exchange(1, ordering: .acquiring) == 0 { return }
            pauses *= 2
        }
        let asleep: UInt32 = Membarrier.isAvailable ? 1 : 3
        while true {
            wanted.store(asleep, ordering: .relaxed)
            if Membarrier.isAvailable { Membarrier.run() } else { atomicMemoryFence(ordering: .sequentiallyConsistent) }
            if word.exchange(1, ordering: .acquiring) == 0 { return }
            _ = Futex.wait(wanted, while: asleep, until: .never)
        }
    }

    /// Wakes one sleeper if a thread is asleep or about to sleep.
    @inline(never)
    private func wakeOne() {
        if !Membarrier.isAvailable {
            atomicMemoryFence(ordering: .sequentiallyConsistent)
            if wanted.load(ordering: .relaxed) & 1 == 0 { return }
        }
        wanted.store(Membarrier.isAvailable ? 0 : 2, ordering: .relaxed)
        Futex.wake(wanted, count: 1)
    }
}
