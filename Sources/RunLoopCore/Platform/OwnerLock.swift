import CLinux
import Synchronization

/// A lock biased towards one thread, the owner, which locks and unlocks with plain stores: no locked instruction, no fence. Other threads
/// pay for a membarrier(2), about a microsecond.
///
/// This is Dekker's algorithm with the fence moved to the rare side:
///
///     owner                                 other (one at a time, holding `others`)
///     inside = 1                            contended = 1
///     -- compiler barrier --                -- membarrier: runs a full barrier on every thread --
///     contended == 0 ?  locked              inside == 0 ?  locked, else sleep on `inside`
///     ...                                   ...
///     inside = 0                            contended = 0
///     contended != 0 ?  wake                unlock `others`
///
/// At least one of the two threads sees the other. If the membarrier takes effect in the owner after `inside = 1`, the other thread sees
/// the 1 and waits. If it takes effect before the owner reads `contended`, the owner sees the 1, retracts its claim and queues at `others`
/// like any other thread. If it takes effect in between, both happen, and the retraction wakes the other thread. Unlocking is the same
/// handshake, so no sleeper is forgotten. `Tests/model/owner-lock.pml` checks this with store buffers, and that each step is needed. Stores
/// that release the lock are releasing, loads that acquire it are acquiring.
///
/// If the kernel has no membarrier, or under a race detector, `contended` is always 1 and the owner always queues.
///
/// The lock does not know which thread is its owner: callers state whether they are, and at most one thread at a time may be. Holders call
/// no user code. Not recursive, not async-signal-safe.
struct OwnerLock: ~Copyable {
    /// 1 while the owner holds the lock by the fast path, or claims it. Written by the owner only.
    private let inside: Atomic<UInt32>
    /// 1 while another thread holds the lock or is about to; always 1 if the fast path is not used. Written by other threads, while they
    /// hold `others`.
    private let contended: Atomic<UInt32>
    /// The mutex at which threads queue that cannot use the fast path.
    private let others: Mutex
    /// 1 while the owner holds the lock through `others`. Owner only.
    private let ownerQueued: Atomic<UInt32>
    /// 0: the owner does not wait. 1: the owner waits at `others`. 2: the owner waits, and other threads sleep on this word until it has
    /// had its turn. Any thread.
    let ownerWaits: Atomic<UInt32>

    init() {
        inside = Atomic(0)
        contended = Atomic(Membarrier.isAvailable ? 0 : 1)
        others = Mutex()
        ownerQueued = Atomic(0)
        ownerWaits = Atomic(0)
    }

    /// Claims the lock as the owner. Returns true if that has acquired it. A result of false means that another thread holds the lock or is
    /// about to. The claim stands, and that thread sleeps until it is retracted, so the caller must then call `lockSlow` or `retract`.
    /// O(1). Owner only.
    func tryLock() -> Bool {
        inside.store(1, ordering: .relaxed)
        linux_compiler_barrier()
        return contended.load(ordering: .acquiring) == 0
    }

    /// Releases the lock as the owner. After a result of false, `unlockSlow` must follow: the owner has queued and still holds `others`, or
    /// another thread waits. O(1). Owner only.
    func tryUnlock() -> Bool {
        inside.store(0, ordering: .releasing)
        linux_compiler_barrier()
        return contended.load(ordering: .acquiring) | ownerQueued.load(ordering: .relaxed) == 0
    }

    /// Releases the lock as the owner after `tryLock` returned true. After a result of false, `unlockSlow` must follow: another thread
    /// waits. O(1).
    func tryUnlockUncontended() -> Bool {
        inside.store(0, ordering: .releasing)
        linux_compiler_barrier()
        return contended.load(ordering: .acquiring) == 0
    }

    /// Reports to ThreadSanitizer that the calling thread has acquired the lock. Called by the holder, after any of the functions that
    /// acquire it.
    func noteLock() { RaceDetector.noteLock(inside) }

    /// Reports to ThreadSanitizer that the calling thread is about to release the lock. Called by the holder.
    func noteUnlock() { RaceDetector.noteUnlock(inside) }

    /// Retracts the owner's claim after `tryLock` returned false. Owner only.
    @inline(never)
    func retract() {
        inside.store(0, ordering: .releasing)
        linux_compiler_barrier()
        if Membarrier.isAvailable { Futex.wake(inside, count: 1) }
    }

    /// Leaves the fast path: afterwards the owner does not hold the lock, and threads that waited for that are awake. May be called in any
    /// state that `tryLock` and `tryUnlockUncontended` can leave. Owner only.
    func stepOut() {
        // A thread that waits for the owner has set `contended` first, so `tryUnlockUncontended` has seen it.
        if !tryUnlockUncontended() { retract() }
    }

    /// Acquires the lock: called by the owner after `tryLock` returned false, or by any other thread, which pays for a membarrier. Both
    /// cases are in one function, because many places call it.
    func lockSlow(asOwner: Bool) {
        if asOwner { queueAsOwner() } else { lockAsOther() }
    }

    /// Releases the lock: called by the owner after `tryUnlock` returned false, or by another thread that locked it by `lockSlow`.
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

    /// How long another thread lets the owner go first, in nanoseconds: long enough for a thread that was woken to run. Limited, because an
    /// owner of low priority may not get a processor for seconds.
    static var turnTimeout: UInt64 { 1_000_000 }

    /// Threads that use the lock without pause would lock it again before an owner that they have woken can run. So while the owner waits,
    /// other threads sleep here until it has had the lock or `turnTimeout` has passed.
    private func letOwnerPass() {
        if ownerWaits.load(ordering: .relaxed) == 0 { return }
        _ = ownerWaits.compareExchange(expected: 1, desired: 2, ordering: .relaxed)
        _ = Futex.wait(ownerWaits, while: 2, until: Clock.now.advanced(by: Self.turnTimeout))
    }

    private func unlockAsOther() {
        if Membarrier.isAvailable { contended.store(0, ordering: .releasing) }
        others.unlock()
    }

    /// Excludes all threads, the owner included, before fork(). Any thread that does not hold the lock.
    func lockBeforeFork(asOwner: Bool) {
        if asOwner { others.lock() } else { lockAsOther() }
    }

    /// Releases the lock after fork(), in parent and child. Called by the thread that called `lockBeforeFork`.
    func unlockAfterFork(asOwner: Bool) {
        if asOwner { others.unlock() } else { unlockAsOther() }
    }

    /// Resets what the owner had stored on its way to the lock, in a child of fork() in which the owner does not exist. Called between
    /// `lockBeforeFork` and `unlockAfterFork`.
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

/// membarrier(2), private expedited: executes a full memory barrier on every running thread of the process.
enum Membarrier {
    /// Whether locks use their fast paths. Decided when the first lock is created, so that no lock is held at that moment. False without
    /// membarrier(2), and under a race detector, which cannot see locks that are acquired by plain stores.
    static let isAvailable: Bool = {
        RaceDetector.detect()
        return !RaceDetector.isWatching && linux_membarrier_register() == 0
    }()

    /// Registers the process again, as a child of fork() has to.
    static func registerAfterFork() { _ = linux_membarrier_register() }

    /// Runs the barrier. One system call: 0.3 µs alone, 0.8 µs while another thread runs. Any thread. Preserves errno.
    static func run() {
        let saved = systemError
        while linux_membarrier() != 0 {
            // The kernel is out of memory at the moment, or a seccomp filter has been installed in the meantime.
            if systemError != ENOMEM {
                runWithout()
                break
            }
            linux_yield()
        }
        systemError = saved
    }

    /// Executes a barrier on all threads by other means, or aborts. Needed if a seccomp filter is installed after locks have been created
    /// that rely on membarrier. Takes a tenth of a millisecond with two processors, longer with more.
    private static func runWithout() {
        if linux_membarrier_global() == 0 || visitProcessors() { return }
        TextBuffer.build { text in
            text.append("runloop: a seccomp filter denies both membarrier(2) and visits of all processors: allow membarrier; aborting\n")
            text.withBytes { StandardError.write($0, $1) }
        }
        abort()
    }

    /// Runs on each processor in turn. Returns false if that is not permitted, or if another thread may run where this one may not, because
    /// the threads of the process are in control groups with different processors. If /proc cannot be read, it is assumed that they are not.
    ///
    /// Before this thread could run on a processor, the thread that ran there was switched out; a thread that moves there later is switched
    /// in. Both are full barriers. Threads with SCHED_FIFO are not preempted, so this has to wait for them.
    private static func visitProcessors() -> Bool {
        var before = linux_processors()
        let size = linux_get_affinity(&before)
        if size <= 0 { return false }
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        var visited = linux_processors()
        var isPermitted = true
        for processor in 0..<Int32(size) * 8 where isPermitted {
            // EINVAL: there is no such processor, or this thread may not use it.
            if linux_run_on(processor) == 0 { linux_note_processor(&visited, processor) } else { isPermitted = systemError == EINVAL }
        }
        _ = linux_set_affinity(&before, size)
        return isPermitted && linux_threads_are_within(&visited) != 0
    }
}
