import CLinux
import Synchronization

/// Memory for the objects of which there are many. One slab per type; memory is never given to another
/// type and never unmapped, so a late look at a dead object reads valid memory of its own type (tag 0).
///
/// A thread takes from and gives to a cache of its own without any lock; caches trade whole magazines
/// with the slab. Addresses lie in the magazines, not in the free memory itself: taking one does not
/// wait for a cache miss on it.
struct Slab: ~Copyable {
    static var magazineSize: Int { 256 }
    /// Most threads have a few objects. Each chunk is twice as large as the one before, up to so many objects: a thread that needs
    /// more, half a megabyte of timers or more than a megabyte of sources, takes huge pages, of which one byte takes all.
    private static var firstChunk: Int { 2048 }
    private static var mostInSmallPages: Int { 4096 }
    /// So many objects ahead memory is fetched into the processor's cache.
    private static var ahead: Int { 3 }

    /// Addresses on their way from one thread's cache to another's.
    private struct Magazine: ~Copyable {
        var next: UnsafeMutablePointer<Magazine>?
        var count: Int
        // The addresses follow.
    }

    private let size: Int
    private let isZeroAtFirst: Bool
    private let mutex = Mutex()
    /// The first of the magazines, by address. Guarded by `mutex`; atomic for a look without it.
    private let magazines = Atomic<UInt>(0)
    /// Where a thread has its cache of this slab: the offset in `SlabCaches`, in bytes; 0 until the first allocation. Written under
    /// the mutex of `SlabList`; any thread.
    private let offsetOfCache = Atomic<Int>(0)
    /// The address of the next slab of `SlabList`. Written with `offsetOfCache`; any thread.
    private let nextAddress = Atomic<UInt>(0)

    /// `size` in bytes, a multiple of 8. `isZeroAtFirst`: memory that was nobody's yet is zero, for types that keep something in it from
    /// one object to the next.
    init(size: Int, isZeroAtFirst: Bool = false) {
        self.size = size
        self.isZeroAtFirst = isZeroAtFirst
    }

    /// See `offsetOfCache`.
    @inline(__always)
    var cacheOffset: Int { offsetOfCache.load(ordering: .relaxed) }

    /// See `nextAddress`.
    var next: UnsafePointer<Slab>? { UnsafePointer(bitPattern: nextAddress.load(ordering: .relaxed)) }

    /// For `SlabList.add`.
    func setCacheOffset(_ offset: Int, next: UnsafePointer<Slab>?) {
        nextAddress.store(UInt(bitPattern: next), ordering: .relaxed)
        offsetOfCache.store(offset, ordering: .releasing)
    }

    /// In the child of fork(), where a thread that had locked the mutex does not exist. The magazines are whole: each change of them
    /// is one store.
    func resetAfterFork() { mutex.reset() }

    /// One thread's share of a slab.
    struct Cache: ~Copyable {
        fileprivate var free: UnsafeMutablePointer<UnsafeMutableRawPointer>?
        fileprivate var count = 0
        fileprivate var fresh: UnsafeMutableRawPointer?
        fileprivate var freshCount = 0
        fileprivate var doublings = 0
    }

    /// Uninitialised memory, nil if out of memory. The cache's thread. O(1), a malloc for each chunk.
    @inline(__always)
    func allocate(_ cache: inout Cache) -> UnsafeMutableRawPointer? { allocateCached(&cache) ?? allocateSlow(&cache) }

    /// The same as far as the cache has some; nil if not. The cache's thread. O(1), calls nothing.
    @inline(__always)
    func allocateCached(_ cache: inout Cache) -> UnsafeMutableRawPointer? {
        if cache.count > 0 {
            cache.count &-= 1
            let free = cache.free.unsafelyUnwrapped
            // For those who come next: the last memory to be given back is in the cache, the rest is cold.
            linux_prefetch(free[max(cache.count &- Self.ahead, 0)])
            return free[cache.count]
        }
        if cache.freshCount == 0 { return nil }
        let memory = cache.fresh.unsafelyUnwrapped
        cache.fresh = memory + size
        cache.freshCount &-= 1
        return memory
    }

    /// The cache's thread. O(1).
    @inline(__always)
    func deallocate(_ memory: UnsafeMutableRawPointer, _ cache: inout Cache) {
        memory.storeBytes(of: 0, as: UInt32.self)
        guard cache.count < 2 * Self.magazineSize, let free = cache.free else { return deallocateSlow(memory, &cache) }
        free[cache.count] = memory
        cache.count &+= 1
    }

    /// For a thread that has no cache. O(1), one malloc.
    func deallocateWithoutCache(_ memory: UnsafeMutableRawPointer) {
        memory.storeBytes(of: 0, as: UInt32.self)
        var address = memory
        give(&address, 1)
    }

    /// A thread ends: its cache goes to the others, all but what was never used, which the next owner of the
    /// cache's thread context finds there.
    func trim(_ cache: inout Cache) {
        while cache.count > 0 {
            let some = min(cache.count, Self.magazineSize)
            cache.count -= some
            give(cache.free.unsafelyUnwrapped + cache.count, some)
        }
    }

    @inline(never)
    private func allocateSlow(_ cache: inout Cache) -> UnsafeMutableRawPointer? {
        if !take(&cache) {
            let doubled = Self.firstChunk << cache.doublings
            let chunk = doubled <= size * Self.mostInSmallPages ? doubled : Memory.hugePage
            if chunk == doubled { cache.doublings += 1 }
            cache.fresh = isZeroAtFirst ? Memory.allocateZero(chunk) : Memory.allocate(chunk)
            if cache.fresh == nil { return nil }
            cache.freshCount = chunk / size
        }
        return allocateCached(&cache)
    }

    /// Out of memory here loses a few objects' memory; nothing else can be done while giving back.
    @inline(never)
    private func deallocateSlow(_ memory: UnsafeMutableRawPointer, _ cache: inout Cache) {
        guard prepare(&cache) else { return }
        let free = cache.free.unsafelyUnwrapped
        if cache.count == 2 * Self.magazineSize {
            cache.count -= Self.magazineSize
            give(free + cache.count, Self.magazineSize)
        }
        free[cache.count] = memory
        cache.count += 1
    }

    private func prepare(_ cache: inout Cache) -> Bool {
        if cache.free == nil {
            cache.free = malloc(2 * Self.magazineSize * MemoryLayout<UnsafeMutableRawPointer>.stride)?
                .assumingMemoryBound(to: UnsafeMutableRawPointer.self)
        }
        return cache.free != nil
    }

    /// Fills an empty cache from a magazine. False if there is none, also if one comes at this moment.
    private func take(_ cache: inout Cache) -> Bool {
        if magazines.load(ordering: .relaxed) == 0 { return false }
        guard prepare(&cache) else { return false }
        mutex.lock()
        guard let magazine = UnsafeMutablePointer<Magazine>(bitPattern: magazines.load(ordering: .relaxed)) else {
            mutex.unlock()
            return false
        }
        magazines.store(UInt(bitPattern: magazine.pointee.next), ordering: .relaxed)
        mutex.unlock()
        cache.count = magazine.pointee.count
        memcpy(cache.free.unsafelyUnwrapped, magazine + 1, cache.count * MemoryLayout<UnsafeMutableRawPointer>.stride)
        free(magazine)
        return true
    }

    private func give(_ addresses: UnsafePointer<UnsafeMutableRawPointer>, _ count: Int) {
        let bytes = count * MemoryLayout<UnsafeMutableRawPointer>.stride
        guard let memory = malloc(MemoryLayout<Magazine>.stride + bytes) else { return }
        let magazine = memory.bindMemory(to: Magazine.self, capacity: 1)
        magazine.initialize(to: Magazine(next: nil, count: count))
        memcpy(magazine + 1, addresses, bytes)
        mutex.lock()
        magazine.pointee.next = UnsafeMutablePointer(bitPattern: magazines.load(ordering: .relaxed))
        magazines.store(UInt(bitPattern: magazine), ordering: .relaxed)
        mutex.unlock()
    }
}
