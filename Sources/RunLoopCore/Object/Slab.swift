import CLinux
import Synchronization

/// Memory for one type of object of which there are many. The memory is never used for another type and never unmapped. So a late access to
/// a destroyed object reads memory of its own type, with the tag 0.
///
/// Each thread allocates from its own cache, without a lock. Caches exchange magazines, which are lists of free addresses, with the slab.
/// The addresses are stored in the magazines rather than in the free memory, so that allocating does not wait for a cache miss on that
/// memory.
struct Slab: ~Copyable {
    /// The number of addresses in a full magazine.
    static var magazineSize: Int { 256 }
    /// The size of a thread's first chunk, in bytes. Most threads have few objects, so the first chunk is small, and each chunk is twice as
    /// large as the one before. Only a thread that needs more than `mostInSmallPages` objects (half a megabyte of timers, more than a
    /// megabyte of sources) gets chunks of one huge page, since the kernel allocates all of a huge page when its first byte is used.
    private static var firstChunk: Int { 2048 }
    private static var mostInSmallPages: Int { 4096 }
    /// Each allocation prefetches the memory that the thread will allocate this many allocations later.
    private static var ahead: Int { 16 }

    /// Free addresses on their way from one thread's cache to another's.
    private struct Magazine: ~Copyable {
        var next: UnsafeMutablePointer<Magazine>?
        var count: Int
        // The addresses follow.
    }

    private let size: Int
    private let isZeroAtFirst: Bool
    private let mutex = Mutex()
    /// The address of the first magazine. Guarded by `mutex`; atomic, so that a thread can see without the mutex that there is none.
    private let magazines = Atomic<UInt>(0)
    /// Where each thread has its cache of this slab: the offset in `SlabCaches`, in bytes; 0 until the first allocation. Written under the
    /// mutex of `SlabList`; read by any thread.
    private let offsetOfCache = Atomic<Int>(0)
    /// The address of the next slab in `SlabList`. Written together with `offsetOfCache`; read by any thread.
    private let nextAddress = Atomic<UInt>(0)

    /// Creates a slab for objects of `size` bytes, a multiple of 8. With `isZeroAtFirst`, memory is zero when it is allocated for the first
    /// time, for types that keep a field from one object to the next in the same memory.
    init(size: Int, isZeroAtFirst: Bool = false) {
        self.size = size
        self.isZeroAtFirst = isZeroAtFirst
    }

    /// The value of `offsetOfCache`. Any thread.
    var cacheOffset: Int { offsetOfCache.load(ordering: .relaxed) }

    /// The slab at `nextAddress`, or nil. Any thread.
    var next: UnsafePointer<Slab>? { UnsafePointer(bitPattern: nextAddress.load(ordering: .relaxed)) }

    /// Stores where each thread has its cache of this slab, and which slab is next. Called once, by `SlabList.add`, under that list's
    /// mutex.
    func setCacheOffset(_ offset: Int, next: UnsafePointer<Slab>?) {
        nextAddress.store(UInt(bitPattern: next), ordering: .relaxed)
        offsetOfCache.store(offset, ordering: .releasing)
    }

    /// In the child of fork(): unlocks the mutex, which may have been locked by a thread that does not exist here. The list of magazines is
    /// intact, since each change of it is one store.
    func resetAfterFork() { mutex.reset() }

    /// One thread's share of a slab. That thread only.
    struct Cache: ~Copyable {
        /// The addresses of free objects form a stack in separate memory:
        ///
        ///     free                                top                                 limit
        ///     | `ahead` words that are 0 | address | ... | last address | room ...
        ///
        /// `free` is the beginning of the block, so that leak checkers find it. `top` and `limit` are stored as `ahead` words less than what
        /// the picture shows, so each of the three differs by `ahead` words from where the addresses begin, end, or have to end. The word
        /// at the stored `top` can therefore be read, to prefetch what it points to, without checking whether there are that many
        /// addresses. All three are 0 until the cache first holds an address. They are integers, since comparing optional pointers checks
        /// for nil first.
        fileprivate var free: UInt = 0
        fileprivate var top: UInt = 0
        fileprivate var limit: UInt = 0
        /// The rest of the last chunk: room for `freshCount` objects that has never been allocated.
        fileprivate var fresh: UnsafeMutableRawPointer?
        fileprivate var freshCount = 0
        /// How many times the size of a chunk has been doubled.
        fileprivate var doublings = 0
    }

    /// Returns memory that is uninitialized, except for the tag 0 if it was used before; nil if out of memory. The cache's thread only.
    /// O(1), a malloc for each chunk.
    @inline(__always)
    func allocate(_ cache: inout Cache) -> UnsafeMutableRawPointer? { allocateCached(&cache) ?? allocateSlow(&cache) }

    /// Does what `allocate` does if the cache has memory; otherwise returns nil. The cache's thread only. O(1), calls nothing that is not
    /// inlined.
    @inline(__always)
    func allocateCached(_ cache: inout Cache) -> UnsafeMutableRawPointer? {
        if cache.top != cache.free {
            cache.top &-= UInt(Self.addressSize)
            // What was freed long ago has left the processor's cache, so it is fetched before its turn comes.
            linux_prefetch(Self.words(cache.top).pointee)
            return Self.words(cache.top)[Self.ahead]
        }
        if cache.freshCount == 0 { return nil }
        let memory = cache.fresh.unsafelyUnwrapped
        cache.fresh = memory + size
        cache.freshCount &-= 1
        return memory
    }

    /// Frees memory into the cache and clears the object's tag. The cache's thread only. O(1).
    @inline(__always)
    func deallocate(_ memory: UnsafeMutableRawPointer, _ cache: inout Cache) {
        if !deallocateCached(memory, &cache) { deallocateSlow(memory, &cache) }
    }

    /// Does what `deallocate` does if the cache has room; otherwise returns false without a change. The cache's thread only. O(1), calls
    /// nothing.
    @inline(__always)
    func deallocateCached(_ memory: UnsafeMutableRawPointer, _ cache: inout Cache) -> Bool {
        if cache.top == cache.limit { return false }
        memory.storeBytes(of: 0, as: UInt32.self)
        Self.words(cache.top)[Self.ahead] = memory
        cache.top &+= UInt(Self.addressSize)
        return true
    }

    /// Frees memory on a thread that has no cache, and clears the object's tag. Any thread. O(1), one malloc.
    func deallocateWithoutCache(_ memory: UnsafeMutableRawPointer) {
        memory.storeBytes(of: 0, as: UInt32.self)
        var address = memory
        give(&address, 1)
    }

    /// Moves all free addresses of a cache to the slab when its thread ends. The rest of the last chunk stays in the cache, whose next
    /// owner will use it.
    func trim(_ cache: inout Cache) {
        while cache.top != cache.free { giveTop(&cache, min(Int(cache.top - cache.free) / Self.addressSize, Self.magazineSize)) }
    }

    /// Moves the last `count` free addresses of a cache to the slab.
    private func giveTop(_ cache: inout Cache, _ count: Int) {
        cache.top -= UInt(count * Self.addressSize)
        give(Self.words(cache.top) + Self.ahead, count)
    }

    private static var addressSize: Int { MemoryLayout<UnsafeMutableRawPointer>.stride }

    /// Returns a pointer into the stack of free addresses, for a position in it.
    private static func words(_ address: UInt) -> UnsafeMutablePointer<UnsafeMutableRawPointer> {
        UnsafeMutablePointer(bitPattern: address).unsafelyUnwrapped
    }

    /// Fills an empty cache from a magazine or with a new chunk, and allocates from it. Returns nil if out of memory.
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

    /// Does the rest of `deallocate`. If memory runs out, the object's memory is lost, because a caller that frees cannot handle a failure.
    @inline(never)
    private func deallocateSlow(_ memory: UnsafeMutableRawPointer, _ cache: inout Cache) {
        memory.storeBytes(of: 0, as: UInt32.self)
        guard prepare(&cache) else { return }
        if cache.top == cache.limit { giveTop(&cache, Self.magazineSize) }
        _ = deallocateCached(memory, &cache)
    }

    /// Gives the cache its stack for the addresses of free objects, unless it has one. Returns false if out of memory.
    private func prepare(_ cache: inout Cache) -> Bool {
        if cache.free == 0, let memory = calloc(Self.ahead + 2 * Self.magazineSize, Self.addressSize) {
            let free = UInt(bitPattern: memory)
            (cache.free, cache.top, cache.limit) = (free, free, free + UInt(2 * Self.magazineSize * Self.addressSize))
        }
        return cache.free != 0
    }

    /// Fills an empty cache from a magazine. Returns false if there is no magazine, or if out of memory. May miss a magazine that another
    /// thread adds at this moment.
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
        let count = magazine.pointee.count
        memcpy(Self.words(cache.free) + Self.ahead, magazine + 1, count * Self.addressSize)
        cache.top = cache.free + UInt(count * Self.addressSize)
        free(magazine)
        return true
    }

    /// Adds a magazine with these addresses to the slab. If memory runs out, they are lost.
    private func give(_ addresses: UnsafePointer<UnsafeMutableRawPointer>, _ count: Int) {
        let bytes = count * Self.addressSize
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
