import CLinux
import Synchronization

// The list of all slabs, and where a thread has its cache of each. A pooled type declares its slab and nothing else: the first allocation
// assigns the slab its place among the caches of each thread. So this room does not need to know the types of the rooms that use it.

/// A thread's caches of all slabs. The context's thread only.
struct SlabCaches: ~Copyable {
    /// The number of caches. The first one belongs to no slab, so there can be 15 slabs.
    static var limit: Int { 16 }

    /// One cache for each slab, which knows its offset here. The first cache stays empty: it stands for slabs from which nothing has been
    /// allocated. Their number is `limit`, which has to be a literal here.
    private var caches = InlineArray<16, Slab.Cache> { _ in Slab.Cache() }
}

/// All slabs from which something has been allocated, linked through `Slab.next`. Slabs are constants of the process: none is removed.
enum SlabList {
    private static let first = Atomic<UInt>(0)
    private static let count = Atomic<Int>(0)
    /// Guards writing `first`, `count` and the links between slabs.
    private static let mutex = Mutex()

    /// Adds a slab, unless another thread has added it in the meantime. Any thread.
    static func add(_ slab: UnsafePointer<Slab>) {
        mutex.lock()
        if slab.pointee.cacheOffset == 0 {
            let number = count.load(ordering: .relaxed) + 1
            invariant(number < SlabCaches.limit)
            count.store(number, ordering: .relaxed)
            slab.pointee.setCacheOffset(
                number * MemoryLayout<Slab.Cache>.stride, next: UnsafePointer(bitPattern: first.load(ordering: .relaxed)))
            first.store(UInt(bitPattern: slab), ordering: .releasing)
        }
        mutex.unlock()
    }

    /// Calls `body` for each slab. Any thread.
    static func forEach(_ body: (UnsafePointer<Slab>) -> Void) {
        var next = UnsafePointer<Slab>(bitPattern: first.load(ordering: .acquiring))
        while let slab = next {
            body(slab)
            next = slab.pointee.next
        }
    }

    /// Locks the list and all slabs before fork(), so that the child finds them in a consistent state.
    static func lockBeforeFork() {
        mutex.lock()
        forEach { $0.pointee.lockBeforeFork() }
    }

    /// Unlocks the list and all slabs after fork(), in parent and child.
    static func unlockAfterFork() {
        forEach { $0.pointee.unlockAfterFork() }
        mutex.unlock()
    }
}

extension ThreadContextPointer {
    /// Returns the thread's cache of a slab. The context's thread only.
    fileprivate func cache(of slab: borrowing Slab) -> UnsafeMutablePointer<Slab.Cache> {
        let caches = withUnsafeMutablePointer(to: &pointee.caches) { UnsafeMutableRawPointer($0) }
        return (caches + slab.cacheOffset).assumingMemoryBound(to: Slab.Cache.self)
    }

    /// Moves the free addresses of all caches to the slabs when the thread ends. Memory that was never used stays: the context's next
    /// thread will use it.
    func trimCaches() { SlabList.forEach { $0.pointee.trim(&cache(of: $0.pointee).pointee) } }
}

extension Slab {
    /// Returns memory, as `allocate` with a cache does, from the cache of `context`, which is the calling thread's; nil if out of memory.
    /// O(1), a malloc for each chunk.
    @inline(__always)
    func allocate(_ context: ThreadContextPointer) -> UnsafeMutableRawPointer? { allocateCached(context) ?? allocateSlow(context) }

    /// Does what `allocate` does if the cache has memory; otherwise returns nil. `context` is the calling thread's. A slab that is not in
    /// the list yet has the first cache, which is empty. O(1), calls nothing.
    @inline(__always)
    func allocateCached(_ context: ThreadContextPointer) -> UnsafeMutableRawPointer? {
        allocateCached(&context.cache(of: self).pointee)
    }

    /// Does the rest of `allocate`. The first call for a slab assigns it its place among each thread's caches. The list keeps the slab's
    /// address, which stays valid because slabs are global constants.
    private func allocateSlow(_ context: ThreadContextPointer) -> UnsafeMutableRawPointer? {
        if cacheOffset == 0 { withUnsafePointer(to: self) { SlabList.add($0) } }
        return allocate(&context.cache(of: self).pointee)
    }

    /// Frees memory into the cache of `context`, which is the calling thread's. O(1).
    @inline(__always)
    func deallocate(_ memory: UnsafeMutableRawPointer, _ context: ThreadContextPointer) {
        deallocate(memory, &context.cache(of: self).pointee)
    }

    /// Does what `deallocate` does if the cache has room; otherwise returns false without a change. O(1), calls nothing.
    @inline(__always)
    func deallocateCached(_ memory: UnsafeMutableRawPointer, _ context: ThreadContextPointer) -> Bool {
        deallocateCached(memory, &context.cache(of: self).pointee)
    }

    /// Frees memory into the calling thread's cache, or without one if the thread has no context. Any thread. O(1).
    @inline(__always)
    func deallocate(_ memory: UnsafeMutableRawPointer) {
        if let context = ThreadContextPointer.current { deallocate(memory, context) } else { deallocateWithoutCache(memory) }
    }
}
