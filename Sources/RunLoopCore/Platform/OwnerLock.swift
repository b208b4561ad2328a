import CLinux
import Synchronization

/// A lock biased towards one thread, the owner, which locks and unlocks with plain stores: no locked instruction, no fence. Other threads
/// pay with membarrier(2), about a microsecond.
///
/// This is Dekker's algorithm with the fence moved to the rare side:
///
///     owner                                 other (one at a time, holding `others`)
///     inside = 1                            contended = 1
///     -- compiler barrier --                -- membarrier: runs a full barrier on every thread --
///     contended == 0 ?  in                  inside == 0 ?  in, else sleep on `inside`
///     ...                                   ...
///     inside = 0                            contended = 0
///     contended != 0 ?  wake                unlock `others`
///
/// The barrier hits the owner either after `inside = 1`: then the other thread sees that and waits. Or before the owner reads `contended`:
/// then the owner sees 1, retracts its claim and queues at `others` like any other thread. Unlocking is the same handshake, so no sleeper
/// is forgotten. `Tests/model/owner-lock.pml` checks this with store buffers, and that each step is needed. Stores that hand the lock over
/// are releasing, loads that take it acquiring.
///
/// If the kernel has no membarrier, `contended` is always 1 and the owner always queues.
///
/// Holders call no user code. Not recursive, not async-signal-safe.
struct OwnerLock: ~Copyable {
    /// 1 while the owner is inside by the fast path. Written by the owner only.
    private let inside: Atomic<UInt32>
    /// 1 while another thread is inside or about to be. Written by holders of `others` only.
    private let contended: Atomic<UInt32>
    /// Where threads queue that cannot use the fast path.
    private let others: Mutex
    /// 1 if the owner holds the lock through `others`. Owner only.
    private let ownerQueued: Atomic<UInt32>
    /// 0: the owner does not wait. 1: the owner waits at `others`. 2: it waits, and other threads sleep on this word until it has had its
    /// turn. Any thread.
    let ownerWaits: Atomic<UInt32>

    init() {
        inside = Atomic(0)
        contended = Atomic(Membarrier.isAvailable ? 0 : 1)
        others = Mutex()
        ownerQueued = Atomic(0)
        ownerWaits = Atomic(0)
    }

    /// Locks as the owner. If it returns false, another thread has the lock or is about to take it, and the caller must call `lockSlow` or
    /// `retract`. O(1).
    func tryLock() -> Bool {
        inside.store(1, ordering: .relaxed)
        linux_compiler_barrier()
        return contended.load(ordering: .acquiring) == 0
    }

    /// Unlocks as the owner. False: `unlockSlow` must follow, as the owner has queued, or another thread waits for it. O(1).
    func tryUnlock() -> Bool {
        inside.store(0, ordering: .releasing)
        linux_compiler_barrier()
        return contended.load(ordering: .acquiring) | ownerQueued.load(ordering: .relaxed) == 0
    }

    /// Unlocks as the owner after `tryLock` returned true. False: `unlockSlow` must follow, as another thread waits. O(1).
    func tryUnlockUncontended() -> Bool {
        inside.store(0, ordering: .releasing)
        linux_compiler_barrier()
        return contended.load(ordering: .acquiring) == 0
    }

    /// Retracts the owner's claim after `tryLock` returned false.
    @inline(never)
    func retract() {
        inside.store(0, ordering: .releasing)
        linux_compiler_barrier()
        if Membarrier.isAvailable { Futex.wake(inside, count: 1) }
    }

    /// Leaves the fast path: afterwards the owner is not inside, and threads that waited for that are awake. May be called in any state of
    /// `tryLock` and `tryUnlockUncontended`. The owner.
    func stepOut() {
        // A thread that waits for the owner has set `contended` first, so `tryUnlockUncontended` has seen it.
        if !tryUnlockUncontended() { retract() }
    }

    /// Locks: the owner after `tryLock` returned false, or any other thread, which pays for a membarrier. One function, because it is
    /// called from many places.
    func lockSlow(asOwner: Bool) {
        if asOwner { queueAsOwner() } else { lockAsOther() }
    }

    /// Unlocks: the owner after `tryUnlock` returned false, or another thread that locked by `lockSlow`.
    func unlockSlow(asOwner: Bool) {
        if !asOwner {
            unlockAsOther()
        } else if ownerQueued.load(ordering: .relaxed) != 0 {
            ownerQueued.store(0, ordering: .relaxed)
            others.unlock()
        } else {
            Futex.wake(inside, count: 1)
        }
    }

    private func lockAsOther() {
        letOwnerPass()
        others.lock()
        if !Membarrier.isAvailable { return }
        contended.store(1, ordering: .relaxed)
        Membarrier.run()
        while inside.load(ordering: .acquiring) != 0 { _ = Futex.wait(inside, while: 1, until: .never) }
    }

    /// How long another thread lets the owner go first, in nanoseconds: enough for a thread that was woken to run. Limited, because an
    /// owner of low priority may not get a processor for seconds.
    static var turnTimeout: UInt64 { 1_000_000 }

    /// Threads that use the lock without pause would take it again before an owner that they have woken gets to run. So while the owner
    /// waits, other threads sleep here until it has had the lock or `turnTimeout` has passed.
    private func letOwnerPass() {
        if ownerWaits.load(ordering: .relaxed) == 0 { return }
        _ = ownerWaits.compareExchange(expected: 1, desired: 2, ordering: .relaxed)
        _ = Futex.wait(ownerWaits, while: 2, until: Clock.now.advanced(by: Self.turnTimeout))
    }

    private func unlockAsOther() {
        if Membarrier.isAvailable { contended.store(0, ordering: .releasing) }
        others.unlock()
    }

    /// Before fork(): excludes all threads, the owner too. Any thread that does not hold the lock.
    func lockBeforeFork(asOwner: Bool) {
        if asOwner { others.lock() } else { lockAsOther() }
    }

    /// After fork(), in parent and child: the thread that called `lockBeforeFork`.
    func unlockAfterFork(asOwner: Bool) {
        if asOwner { others.unlock() } else { unlockAsOther() }
    }

    /// In a child of fork() without the owner, between `lockBeforeFork` and `unlockAfterFork`: undoes what the missing owner had stored on
    /// its way to the lock.
    func resetOwnerAfterFork() {
        inside.store(0, ordering: .relaxed)
        ownerWaits.store(0, ordering: .relaxed)
    }

    private func queueAsOwner() {
        retract()
        ownerWaits.store(1, ordering: .relaxed)
        others.lock()
        if ownerWaits.exchange(0, ordering: .relaxed) == 2 { Futex.wake(ownerWaits, count: .max) }
        ownerQueued.store(1, ordering: .relaxed)
    }
}

/// membarrier(2), private expedited: runs a full memory barrier on every running thread of the process.
enum Membarrier {
    /// Whether the fast path is used. Decided when the first lock is made, when none can be held. Not used under a race detector, which
    /// cannot see locks that are taken by plain stores.
    static let isAvailable: Bool = {
        RaceDetector.look()
        return !RaceDetector.isWatching && linux_membarrier_register() == 0
    }()

    /// A child of fork() has to register again.
    static func registerAfterFork() { _ = linux_membarrier_register() }

    /// Runs the barrier. One system call: 0.3 µs alone, 0.8 µs while another thread runs.
    static func run() {
        let saved = systemError
        while linux_membarrier() != 0 {
            // The kernel is out of memory for a moment, or a seccomp filter was installed since.
            if systemError != ENOMEM {
                runWithout()
                break
            }
            linux_yield()
        }
        systemError = saved
    }

    /// Executes a barrier on all threads by other means, or aborts. Needed if a seccomp filter was installed after locks were made that
    /// rely on membarrier. Takes a tenth of a millisecond with two processors, more with more.
    private static func runWithout() {
        if linux_membarrier_global() == 0 || visitProcessors() { return }
        TextBuffer.build { text in
            text.append("runloop: membarrier(2) is denied now, and sched_setaffinity(2) too: a seccomp filter has to allow one of them\n")
            text.withBytes { StandardError.write($0, $1) }
        }
        abort()
    }

    /// Runs on each processor in turn. False if that is not allowed.
    ///
    /// Before this thread could run on a processor, the thread there was switched out; one that moves there later is switched in. Both are
    /// full barriers. Threads with SCHED_FIFO are not preempted, and make this wait.
    private static func visitProcessors() -> Bool {
        var before = linux_processors()
        let size = linux_get_affinity(&before)
        if size <= 0 { return false }
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        var visited = 0
        for processor in 0..<size * 8 {
            if linux_run_on(Int32(processor)) == 0 {
                visited += 1
            } else if systemError != EINVAL {
                // EINVAL: there is no such processor, or this process may not use it.
                visited = 0
                break
            }
        }
        _ = linux_set_affinity(&before, size)
        return visited > 0
    }
}
