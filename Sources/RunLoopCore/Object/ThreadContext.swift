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
    static var scratchSize: Int { 65 * 1024 }

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

    /// Locks the context, and notifies a race detector of that. Any thread: one plain store and one load on the context's own thread, a
    /// membarrier(2) on another.
    @inline(never)
    func lock() {
        if !isCurrent || !pointee.lock.tryLock() { lockSlow() }
        pointee.lock.noteLock()
    }

    /// Begins a fast path: locks the calling thread's context and returns it; nil if the thread has none, or if another thread holds the
    /// lock or is about to. A fast path that has done its work calls `unlockAfterTryLock`. One that does not apply, with or without the
    /// lock, calls `stepOut` and then the general function. That is a tail call, so the fast path need not spill registers.
    static func tryLockCurrent() -> ThreadContextPointer? {
        guard let own = current, own.pointee.lock.tryLock() else { return nil }
        return own
    }

    /// Unlocks the context that `tryLockCurrent` locked.
    func unlockAfterTryLock() {
        if !pointee.lock.tryUnlockUncontended() { Self.stepOut() }
    }

    /// Undoes the store `inside = 1` (see `OwnerLock`) that `tryLockCurrent` has made, whether or not it has acquired the lock: unlocks the
    /// context if it was locked, and wakes the threads that wait for the lock. May also be called after an unlock that found a waiting
    /// thread. Without a context, does nothing.
    @inline(never)
    static func stepOut() { current?.pointee.lock.stepOut() }

    /// Excludes all threads before fork(), the owner included: see `OwnerLock.lockBeforeFork`.
    func lockBeforeFork() { pointee.lock.lockBeforeFork(asOwner: isCurrent) }

    /// Unlocks the context that `lockBeforeFork` locked, in the parent and in the child of fork().
    func unlockAfterFork() { pointee.lock.unlockAfterFork(asOwner: isCurrent) }

    /// Unlocks the context that `lock` locked, and notifies a race detector of that. Called by the thread that holds the lock.
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
