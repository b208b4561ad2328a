import CLinux
import Synchronization

/// What each thread that uses the library owns: a lock that is biased to it, and caches of memory.
///
/// A context is the first field of the thread's run loop (`RunLoopStorage`), so both have one address; it is all that `Object` and the
/// other folders below `Loop` know of a loop. Its memory is never freed, only reused for another thread's loop. So a stale pointer to a
/// context is harmless: at worst the wrong lock is taken and released.
struct ThreadContext: ~Copyable {
    var header: ObjectHeader
    /// Keeps the header, which every thread that uses the loop reads, out of the cache line of the lock, which the owner writes all
    /// the time.
    private let apart = CacheLine()
    /// Guards the loop and every item that has this context as its owner.
    var lock: OwnerLock
    /// The context's thread only.
    var caches = SlabCaches()
    /// See `scratch`; nil if it is not allocated, or was taken over. The context's thread only.
    private var scratchMemory: UnsafeMutableRawPointer?

    init() {
        header = ObjectHeader(.runLoop)
        lock = OwnerLock()
    }
}

extension ThreadContext {
    /// The number of bytes that `scratch` returns.
    static var scratchSize: Int { 33 * 1024 }

    /// Returns `scratchSize` bytes of temporary memory, valid until the next call; nil if out of memory. The context's thread.
    /// O(1); allocates if the last memory was taken over (`keepScratch`).
    mutating func scratch() -> UnsafeMutableRawPointer? { scratchMemory ?? makeScratch() }

    @inline(never)
    private mutating func makeScratch() -> UnsafeMutableRawPointer? {
        scratchMemory = malloc(Self.scratchSize)
        return scratchMemory
    }

    /// Leaves the memory that `scratch` has returned to the caller, which frees it later or passes it to `giveScratchBack`, on any thread.
    mutating func keepScratch() { scratchMemory = nil }

    /// Takes memory of `scratchSize` bytes for the next `scratch`. The context's thread.
    mutating func giveScratchBack(_ memory: UnsafeMutableRawPointer) {
        free(scratchMemory)
        scratchMemory = memory
    }

    /// Frees the temporary memory, when the thread ends.
    mutating func freeScratch() {
        free(scratchMemory)
        scratchMemory = nil
    }
}

typealias ThreadContextPointer = UnsafeMutablePointer<ThreadContext>

extension ThreadContextPointer {
    /// The calling thread's context; nil if the thread has not used the library yet.
    static var current: ThreadContextPointer? { Thread.slot?.assumingMemoryBound(to: ThreadContext.self) }

    /// Locks the context. Any thread: one plain store and one load on the context's own thread, a membarrier(2) on another.
    @inline(__always)
    func lockInlined() {
        if !isCurrent || !pointee.lock.tryLock() { lockSlow() }
    }

    /// `lockInlined`, not inlined: for everything but hot paths.
    @inline(never)
    func lock() { lockInlined() }

    /// Begins a shortcut: locks the calling thread's context and returns it. nil if the thread has none, or if another thread uses the
    /// lock. A shortcut that has done its work calls `unlockAfterTryLock`. If the shortcut does not apply (also after nil), it calls
    /// `stepOut`, locked or not, and then the general function. As a tail call, that saves it from spilling registers.
    static func tryLockCurrent() -> ThreadContextPointer? {
        guard let own = current, own.pointee.lock.tryLock() else { return nil }
        return own
    }

    /// Unlocks what `tryLockCurrent` has locked.
    func unlockAfterTryLock() {
        if !pointee.lock.tryUnlockUncontended() { Self.stepOut() }
    }

    /// Ends what `tryLockCurrent` began, whether that has locked or not.
    @inline(never)
    static func stepOut() { current?.pointee.lock.stepOut() }

    /// `lockInlined` if this is known to be the calling thread's context.
    func lockAsOwner() { if !pointee.lock.tryLock() { lockSlow() } }

    /// Unlocks what `lockAsOwner` has locked.
    @inline(__always)
    func unlockAsOwner() { if !pointee.lock.tryUnlock() { unlockSlow() } }

    /// See `OwnerLock.lockBeforeFork`.
    func lockBeforeFork() { pointee.lock.lockBeforeFork(asOwner: isCurrent) }

    /// In the parent and in the child of fork(): unlocks what `lockBeforeFork` has locked.
    func unlockAfterFork() { pointee.lock.unlockAfterFork(asOwner: isCurrent) }

    /// Unlocks what `lock` or `lockInlined` has locked. The same thread.
    @inline(__always)
    func unlockInlined() {
        if !isCurrent || !pointee.lock.tryUnlock() { unlockSlow() }
    }

    /// `unlockInlined`, not inlined: for everything but hot paths.
    @inline(never)
    func unlock() { unlockInlined() }

    /// Whether this is the calling thread's context.
    var isCurrent: Bool { Thread.has(UnsafeMutableRawPointer(self)) }

    @inline(never)
    private func lockSlow() { pointee.lock.lockSlow(asOwner: isCurrent) }

    @inline(never)
    private func unlockSlow() { pointee.lock.unlockSlow(asOwner: isCurrent) }
}
