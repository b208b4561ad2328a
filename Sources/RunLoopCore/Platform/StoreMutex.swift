import CLinux
import Synchronization

/// A mutex with one locked instruction instead of two: it is given back by a plain store and a plain load. Who finds it
/// held for long pays instead, with membarrier(2), about a microsecond.
///
///     lock                                  unlock
///     word was 0, and is 1 now?  in         word = 0
///     ... else for ever:                    -- compiler barrier --
///     wanted = 1                            wanted == 0 ?  done
///     -- membarrier --                      wanted = 0
///     word was 0, and is 1 now?  in         wake one sleeper
///     sleep while wanted == 1
///
/// A locked instruction takes 10 ns even if nobody else wants the line, more than all the rest of a short critical
/// section, and waits until everything written before has arrived in the cache. So this is for what is done under it by the million: `PerformInbox`.
///
/// No sleeper is forgotten: the membarrier cuts the program of whoever gives back. Cut before the look at `wanted`, it
/// sees 1; cut behind it, `word = 0` is visible to the one who wants in. Each `wanted = 0` is followed by a wake, and who is woken
/// sets it again, for those who sleep on. `Tests/model/store-mutex.pml` checks this with store buffers, and that each step is needed.
///
/// Where the kernel has no membarrier `wanted` is never 0, and both sides execute a fence.
///
/// Holders call no user code. Not recursive, not fair, not async-signal-safe.
struct StoreMutex: ~Copyable {
    /// 1 while somebody is inside.
    private let word = Atomic<UInt32>(0)
    /// Bit 0: somebody sleeps, or is about to, or did; also the futex word. Bit 1: there is no membarrier.
    private let wanted = Atomic<UInt32>(Membarrier.isAvailable ? 0 : 2)

    init() {}

    /// O(1). Any thread.
    @inline(__always)
    func lock() {
        if word.exchange(1, ordering: .acquiring) != 0 { lockSlow() }
    }

    /// O(1). The thread that holds it.
    @inline(__always)
    func unlock() {
        word.store(0, ordering: .releasing)
        linux_compiler_barrier()
        if wanted.load(ordering: .relaxed) != 0 { wakeOne() }
    }

    /// Holders do a few instructions, so it looks again for a short while, less and less often: each look takes the line
    /// away from the holder, and from a thread that takes the mutex again and again.
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
