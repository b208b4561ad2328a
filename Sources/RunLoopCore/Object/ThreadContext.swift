import CLinux
import Synchronization

/// What each thread that uses the library owns: a lock that is biased towards it, and memory caches.
///
/// A context is the first field of the thread's run loop (`RunLoopStorage`), so both have one address. The context is all that `Object` and
/// the other rooms beneath `Loop` know of a loop. Its memory is never freed, only reused for another thread's loop. So a stale pointer to a
/// context is harmless: at worst, the wrong lock is acquired and released.
struct ThreadContext: ~Copyable {
    var header: ObjectHeader
    /// Padding that keeps the header, which every thread that uses the loop reads, out of the lock's cache line, which the owner writes all
    /// the time.
    private let apart = CacheLine()
    /// Guards the loop and every item whose owner is this context.
    var lock: OwnerLock
    /// Memory for objects that come from slabs. The context's thread only.
    var caches = SlabCaches()
    /// The memory that `scratch` returns; nil if there is none, or if a caller kept it. The context's thread only.
    private var scratchMemory: UnsafeMutableRawPointer?

    init() {
        header = ObjectHeader(.runLoop)
        lock = OwnerLock()
    }
}

extension ThreadContext {
    /// The number of bytes that `scratch` returns.
    static var scratchSize: Int { 33 * 1024 }

    /// Returns `scratchSize` bytes of temporary memory, valid until the next call; nil if out of memory. O(1); allocates if a caller kept
    /// the last memory (`detachScratch`). The context's thread only.
    mutating func scratch() -> UnsafeMutableRawPointer? { scratchMemory ?? makeScratch() }

    @inline(never)
    private mutating func makeScratch() -> UnsafeMutableRawPointer? {
        scratchMemory = malloc(Self.scratchSize)
        return scratchMemory
    }

    /// Leaves the memory that `scratch` returned to the caller, which later frees it or passes it to `recycleScratch`, possibly on another
    /// thread and so to another context. The context's thread only.
    mutating func detachScratch() { scratchMemory = nil }

    /// Takes over memory of `scratchSize` bytes for the next `scratch`. The context's thread only.
    mutating func recycleScratch(_ memory: UnsafeMutableRawPointer) {
        free(scratchMemory)
        scratchMemory = memory
    }

    /// Frees the temporary memory when the thread ends.
    mutating func freeScratch() {
        free(scratchMemory)
        scratchMemory = nil
    }
}

typealias ThreadContextPointer = UnsafeMutablePointer<ThreadContext>

extension ThreadContextPointer {
    /// The calling thread's context; nil if the thread has not used the library.
    static var current: ThreadContextPointer? { Thread.slot?.assumingMemoryBound(to: ThreadContext.self) }

    /// Locks the context. Any thread: one plain store and one load on the context's own thread, a membarrier(2) on another.
    @inline(never)
    func lock() {
        if !isCurrent || !pointee.lock.tryLock() { lockSlow() }
        pointee.lock.noteLock()
    }

    /// Begins a fast path: locks the calling thread's context and returns it. Returns nil if the thread has none, or if another thread
    /// holds the lock or is about to. A failed attempt leaves its store `inside = 1` in the lock (see `OwnerLock`), as a successful one
    /// does. A fast path that has done its work calls `unlockAfterTryLock`. If the fast path does not apply, or the result was nil, it
    /// calls `stepOut` and then the general function. Because the general function is then a tail call, the fast path need not spill
    /// registers.
    static func tryLockCurrent() -> ThreadContextPointer? {
        guard let own = current, own.pointee.lock.tryLock() else { return nil }
        return own
    }

    /// Unlocks the context that `tryLockCurrent` locked.
    func unlockAfterTryLock() {
        if !pointee.lock.tryUnlockUncontended() { Self.stepOut() }
    }

    /// Undoes the store `inside = 1` of `tryLockCurrent`, which also unlocks the context if it was locked, and wakes the threads that wait
    /// for that. May be called whether or not `tryLockCurrent` acquired the lock, and after an unlock that found a waiting thread. Without
    /// a context, does nothing.
    @inline(never)
    static func stepOut() { current?.pointee.lock.stepOut() }

    /// Excludes all threads before fork(), the owner included: see `OwnerLock.lockBeforeFork`.
    func lockBeforeFork() { pointee.lock.lockBeforeFork(asOwner: isCurrent) }

    /// Unlocks the context that `lockBeforeFork` locked, in the parent and in the child of fork().
    func unlockAfterFork() { pointee.lock.unlockAfterFork(asOwner: isCurrent) }

    /// Unlocks the context that `lock` locked. Called by the thread that holds the lock.
    @inline(never)
    func unlock() {
        pointee.lock.noteUnlock()
        if !isCurrent || !pointee.lock.tryUnlock() { unlockSlow() }
    }

    /// Whether this is the calling thread's context.
    var isCurrent: Bool { Thread.has(UnsafeMutableRawPointer(self)) }

    @inline(never)
    private func lockSlow() { pointee.lock.lockSlow(asOwner: isCurrent) }

    @inline(never)
    private func unlockSlow() { pointee.lock.unlockSlow(asOwner: isCurrent) }
}
