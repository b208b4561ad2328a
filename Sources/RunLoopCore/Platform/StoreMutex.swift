import CLinux
import Synchronization

/// A mutex with one locked instruction instead of two: unlocking is a plain store and a plain load. A thread that finds it locked for long
/// pays instead, with membarrier(2), about a microsecond.
///
///     lock                                  unlock
///     word was 0, and is 1 now?  in         word = 0
///     ... else, until then:                 -- compiler barrier --
///     wanted = 1                            wanted == 0 ?  done
///     -- membarrier --                      wanted = 0
///     word was 0, and is 1 now?  in         wake one sleeper
///     sleep while wanted == 1
///
/// Even uncontended, a locked instruction takes 10 ns, more than the rest of a short critical section, and waits until all earlier stores
/// are in the cache. So this mutex is for what is locked millions of times, such as `PerformInbox`.
///
/// No sleeper is forgotten. The membarrier interrupts the unlocking thread either before it reads `wanted`, and then it sees 1; or after
/// that, and then `word = 0` is visible to the locking thread. Each `wanted = 0` is followed by a wake-up, and the woken thread sets it
/// again on behalf of those still asleep. `Tests/model/store-mutex.pml` checks this with store buffers, and that each step is needed.
///
/// If the kernel has no membarrier, `wanted` is never 0 and both sides execute a fence.
///
/// Holders call no user code. Not recursive, not fair, not async-signal-safe.
struct StoreMutex: ~Copyable {
    /// 1 while locked.
    private let word = Atomic<UInt32>(0)
    /// Also the futex word. Bit 0: a thread sleeps, is about to, or did. Bit 1: there is no membarrier.
    private let wanted = Atomic<UInt32>(Membarrier.isAvailable ? 0 : 2)

    init() {}

    /// Locks. O(1). Any thread.
    func lock() {
        if word.exchange(1, ordering: .acquiring) != 0 { lockSlow() }
    }

    /// Unlocks. O(1). The thread that holds it.
    func unlock() {
        word.store(0, ordering: .releasing)
        linux_compiler_barrier()
        if wanted.load(ordering: .relaxed) != 0 { wakeOne() }
    }

    /// Spins for a while, as critical sections are short, then sleeps. The pauses grow, as each attempt takes the cache line away from the
    /// holder, or from a thread that locks again and again.
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

    /// Wakes one sleeper, if a thread is asleep or about to be.
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
