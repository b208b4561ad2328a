import CLinux
import Synchronization

/// A lock biased to one thread, the owner: it takes and gives the lock with plain stores, no locked
/// instruction and no fence; everybody else pays with membarrier(2), about a microsecond.
///
/// This is Dekker's handshake with the fence moved to the rare side:
///
///     owner                                 other (one at a time, holding `others`)
///     inside = 1                            contended = 1
///     -- compiler barrier --                -- membarrier: runs a full barrier on every thread --
///     contended == 0 ?  in                  inside == 0 ?  in, else sleep on `inside`
///     ...                                   ...
///     inside = 0                            contended = 0
///     contended != 0 ?  wake                give `others` back
///
/// Whatever instruction of the owner the barrier hits: either `inside = 1` was before it, then the other
/// sees it and waits, or the owner's look at `contended` comes after it, then the owner sees 1, takes
/// its claim back and queues at `others` like everybody else. Giving back is the same handshake, so no
/// sleeper is forgotten. `Tests/model/owner-lock.pml` checks this with store buffers, and that each of
/// the steps is needed. Every store that gives the lock away releases, every load that takes it acquires.
///
/// Where the kernel has no membarrier `contended` stays 1 for ever: the owner always queues.
///
/// Holders call no user code. Not recursive, not async-signal-safe.
struct OwnerLock: ~Copyable {
    /// 1 while the owner is inside by the fast path. Written by the owner only.
    private let inside: Atomic<UInt32>
    /// 1 while another thread is inside or about to be. Written by holders of `others` only.
    private let contended: Atomic<UInt32>
    /// Those who may not use the fast path queue here.
    private let others: Mutex
    /// The owner's own note of the way it came in. Owner only.
    private let ownerQueued: Atomic<UInt32>

    init() {
        inside = Atomic(0)
        contended = Atomic(Membarrier.isAvailable ? 0 : 1)
        others = Mutex()
        ownerQueued = Atomic(0)
    }

    /// The owner's way in, O(1). False: others are about, and `lockSlow` has to follow.
    @inline(__always)
    func tryLock() -> Bool {
        inside.store(1, ordering: .relaxed)
        linux_compiler_barrier()
        return contended.load(ordering: .acquiring) == 0
    }

    /// The owner's way out, O(1). False: there is more to do, and `unlockSlow` has to follow. An owner that has queued has taken
    /// its claim back already.
    @inline(__always)
    func tryUnlock() -> Bool {
        inside.store(0, ordering: .releasing)
        linux_compiler_barrier()
        return contended.load(ordering: .acquiring) | ownerQueued.load(ordering: .relaxed) == 0
    }

    /// The same for an owner who knows that `tryLock` let it in.
    @inline(__always)
    func tryUnlockUncontended() -> Bool {
        inside.store(0, ordering: .releasing)
        linux_compiler_barrier()
        return contended.load(ordering: .acquiring) == 0
    }

    /// The owner after a `tryLock` that failed, if it does not follow it with `lockSlow`.
    @inline(never)
    func retract() {
        inside.store(0, ordering: .releasing)
        linux_compiler_barrier()
        if Membarrier.isAvailable { Futex.wake(inside, count: 1) }
    }

    /// The owner who does not know whether it is inside, or whether somebody waits for it to come out: after a `tryLock` or an
    /// `tryUnlockUncontended` that failed, or neither.
    func stepOut() {
        if inside.load(ordering: .relaxed) | contended.load(ordering: .relaxed) != 0 { retract() }
    }

    /// The owner after `tryLock`, or any other thread: that costs one membarrier. Called from very many places, so
    /// both are one function.
    @inline(never)
    func lockSlow(asOwner: Bool) {
        if asOwner { queueAsOwner() } else { lockAsOther() }
    }

    /// Who came in: the owner after `tryUnlock`, or the thread that came in by `lockSlow` alone.
    @inline(never)
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
        others.lock()
        if !Membarrier.isAvailable { return }
        contended.store(1, ordering: .relaxed)
        Membarrier.run()
        while inside.load(ordering: .acquiring) != 0 { _ = Futex.wait(inside, while: 1, until: .never) }
    }

    private func unlockAsOther() {
        if Membarrier.isAvailable { contended.store(0, ordering: .releasing) }
        others.unlock()
    }

    /// Before fork(): keeps everybody out, the owner too, and leaves nothing of the lock in a state that only a
    /// thread that the child does not have could end. Any thread that is not inside.
    func lockForFork(asOwner: Bool) {
        if asOwner { others.lock() } else { lockAsOther() }
    }

    /// After it, in parent and child: the thread that called `lockForFork`.
    func unlockAfterFork(asOwner: Bool) {
        if asOwner { others.unlock() } else { unlockAsOther() }
    }

    private func queueAsOwner() {
        retract()
        others.lock()
        ownerQueued.store(1, ordering: .relaxed)
    }
}

/// membarrier(2), private expedited: runs a full memory barrier on every running thread of the process.
enum Membarrier {
    /// Asked for once, when the first lock is made; before that nobody holds one. Not used where a race detector watches: it would
    /// see nothing of locks that are taken by plain stores.
    static let isAvailable: Bool = {
        RaceDetector.look()
        return !RaceDetector.isWatching && linux_membarrier_register() == 0
    }()

    /// In a child of fork().
    static func registerAfterFork() { _ = linux_membarrier_register() }

    /// One system call, 0.3 µs alone and 0.8 µs when another thread runs. Leaves errno as it was.
    static func run() {
        let saved = systemError
        while linux_membarrier() != 0 {
            // Out of memory for a moment; or forbidden by a filter that came later.
            if systemError != ENOMEM {
                runWithout()
                break
            }
            linux_yield()
        }
        systemError = saved
    }

    /// A sandbox that came up late denies what was there when the locks were made, which can do nothing else: the other ways to make
    /// all threads execute a barrier, or the end. A tenth of a millisecond for two processors, more for more.
    @inline(never)
    private static func runWithout() {
        if linux_membarrier_global() == 0 || visitProcessors() { return }
        TextBuffer.build { text in
            text.append("runloop: membarrier(2) is denied now, and sched_setaffinity(2) too: a seccomp filter has to allow one of them\n")
            text.withBytes { StandardError.write($0, $1) }
        }
        abort()
    }

    /// Runs on each processor in turn. To let this thread in, whichever ran there was switched out, or had been before: that is a
    /// full barrier; and so is coming to a processor that was visited already. What this thread wrote before is visible by
    /// then, as it was switched out itself. False if that is not allowed. Threads that may not be interrupted (SCHED_FIFO) make it wait.
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
                // EINVAL: there is no such processor, or no thread of the process may run on it.
                visited = 0
                break
            }
        }
        _ = linux_set_affinity(&before, size)
        return visited > 0
    }
}
