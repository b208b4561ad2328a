import CLinux
import Synchronization

/// What a thread that uses the library owns: the lock biased to it, and its caches of memory.
///
/// A thread context is the beginning of the thread's run loop (`RunLoopStorage`), has its address, and is all that the
/// rooms below the loop need to know of it. Its memory is never given back, only to another thread: a
/// pointer to a thread context can be used at any time, at worst to take the lock of a stranger.
struct ThreadContext: ~Copyable {
    var header: ObjectHeader
    /// The header is read by every thread that uses the loop, the lock written by the owner all the time.
    private let apart = CacheLine()
    /// Guards the loop and every item that names this thread context as its own.
    var lock: OwnerLock
    /// Owner's thread only.
    var caches = SlabCaches()
    /// Memory for what is looked at for a moment; nil if there is none yet, or none any more.
    private var scratchMemory: UnsafeMutableRawPointer?

    init() {
        header = ObjectHeader(.runLoop)
        lock = OwnerLock()
    }
}

extension ThreadContext {
    /// Of what `scratch` gives.
    static var scratchSize: Int { 33 * 1024 }

    /// `scratchSize` bytes that are good until the next call; nil if out of memory. The owner's thread. O(1), one malloc now
    /// and then.
    @inline(__always)
    mutating func scratch() -> UnsafeMutableRawPointer? { scratchMemory ?? makeScratch() }

    @inline(never)
    private mutating func makeScratch() -> UnsafeMutableRawPointer? {
        scratchMemory = malloc(Self.scratchSize)
        return scratchMemory
    }

    /// What `scratch` gave is the caller's from now on, who gives it back, here or at another thread's thread context, or frees it.
    mutating func keepScratch() { scratchMemory = nil }

    /// Nobody needs it any more. The owner's thread.
    mutating func giveScratchBack(_ memory: UnsafeMutableRawPointer) {
        free(scratchMemory)
        scratchMemory = memory
    }

    /// The owner's thread ends.
    mutating func freeScratch() {
        free(scratchMemory)
        scratchMemory = nil
    }
}

typealias ThreadContextPointer = UnsafeMutablePointer<ThreadContext>

extension ThreadContextPointer {
    /// The calling thread's; nil if it has not used the library yet.
    @inline(__always)
    static var current: ThreadContextPointer? { Thread.slot?.assumingMemoryBound(to: ThreadContext.self) }

    /// Two plain stores and a load on the owner's thread, a membarrier elsewhere.
    @inline(__always)
    func lockInlined() {
        if !isCurrent || !pointee.lock.tryLock() { lockSlow() }
    }

    /// The same where a call matters less than twenty bytes of code: everywhere but on hot paths.
    @inline(never)
    func lock() { lockInlined() }

    /// Takes the lock if this is the calling thread's and nobody else is about. False: nothing is locked.
    @inline(__always)
    func tryLock() -> Bool {
        if !isCurrent { return false }
        return pointee.lock.tryLock() || retract()
    }

    /// After `tryLock`.
    @inline(__always)
    func unlockAfterTryLock() {
        if !pointee.lock.tryUnlockUncontended() { unlockSlow() }
    }

    /// The same for who knows that this is the calling thread's.
    @inline(__always)
    func lockAsOwner() { if !pointee.lock.tryLock() { lockSlow() } }
    /// The other end of `lockAsOwner`.
    @inline(__always)
    func unlockAsOwner() { if !pointee.lock.tryUnlock() { unlockSlow() } }

    /// Around fork(): see `OwnerLock`.
    func lockBeforeFork() { pointee.lock.lockBeforeFork(asOwner: isCurrent) }
    /// After it, in parent and child.
    func unlockAfterFork() { pointee.lock.unlockAfterFork(asOwner: isCurrent) }

    /// The thread that called `lock` or `lockInlined`.
    @inline(__always)
    func unlockInlined() {
        if !isCurrent || !pointee.lock.tryUnlock() { unlockSlow() }
    }

    /// The same, not on hot paths.
    @inline(never)
    func unlock() { unlockInlined() }

    /// Whether this is the calling thread's.
    @inline(__always)
    var isCurrent: Bool { Thread.has(UnsafeMutableRawPointer(self)) }

    @inline(never)
    private func lockSlow() { pointee.lock.lockSlow(asOwner: isCurrent) }

    @inline(never)
    private func retract() -> Bool {
        pointee.lock.retract()
        return false
    }

    @inline(never)
    private func unlockSlow() { pointee.lock.unlockSlow(asOwner: isCurrent) }
}
