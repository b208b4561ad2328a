import CLinux
import Synchronization

/// Memory for one type of object of which there are many. The memory is never used for another type and never unmapped. So a late access to
/// a destroyed object reads memory of its own type, with the tag 0 until the memory is used again.
///
/// Each thread allocates from its own cache, without a lock. A cache stores the addresses of free objects. When it is full, it gives some of
/// them to the slab, and when it is empty, it takes some from there (`FreeMap`). The free memory itself contains no links, so allocating does
/// not wait for a cache miss on that memory.
struct Slab: ~Copyable {
    /// The number of addresses that a full cache gives to the slab. An empty cache takes about as many from there.
    private static var portion: Int { 256 }
    /// The number of addresses for which a cache has room at most; its first stack has room for two portions.
    private static var mostCached: Int { 2048 }
    /// The size of a thread's first chunk, in bytes. Most threads have few objects, so the first chunk is small, and each chunk is twice as
    /// large as the one before, up to `mostInSmallPages` objects. Only a thread that has used up all of these (half a megabyte of timers, a
    /// megabyte of sources) gets chunks of one huge page, since the kernel allocates all of a huge page when its first byte is used.
    private static var firstChunk: Int { 2048 }
    private static var mostInSmallPages: Int { 4096 }
    /// Each allocation prefetches the memory that the thread will allocate this many allocations later.
    private static var ahead: Int { 16 }

    private let size: Int
    private let isZeroAtFirst: Bool
    /// Guards `freeMap` and what it points to, and `freeCount`.
    private let mutex = Mutex()
    /// The address of a `FreeMap`, the free memory that no cache has; 0 until there is some.
    private let freeMap = Atomic<UInt>(0)
    /// The number of objects in the map. Atomic, so that a thread can see without the mutex that there are none. Written under the mutex.
    private let freeCount = Atomic<Int>(0)
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

    /// Locks the slab before fork(), so that the child finds its map in a consistent state.
    func lockBeforeFork() { mutex.lock() }

    /// Unlocks the slab after fork(), in parent and child.
    func unlockAfterFork() { mutex.unlock() }

    /// One thread's share of a slab. That thread only.
    struct Cache: ~Copyable {
        /// The addresses of free objects form a stack in separate memory:
        ///
        ///     free                                top                                 limit
        ///     | `ahead` words that are 0 | address | ... | last address | room ...
        ///
        /// `free` is the beginning of the block, so that leak checkers find it. The stored `top` and `limit` are `ahead` words below the
        /// places in the picture. So they can be compared with `free`: the stack is empty if `top` equals `free`, and full if it equals
        /// `limit`. And the word at the stored `top` can be read, to prefetch what it points to, without checking whether there are that
        /// many addresses. All three are 0 until the cache first holds an address. They are integers, since comparing optional pointers
        /// checks for nil first.
        fileprivate var free: UInt = 0
        fileprivate var top: UInt = 0
        fileprivate var limit: UInt = 0
        /// The rest of the last chunk: room for `freshCount` objects that has never been allocated.
        fileprivate var fresh: UnsafeMutableRawPointer?
        fileprivate var freshCount = 0
        /// How many times the size of a chunk has been doubled.
        fileprivate var doublings = 0
    }

    /// Returns memory; nil if out of memory. Memory that was used before has the tag 0 and is otherwise uninitialized. Memory that is
    /// allocated for the first time is zero with `isZeroAtFirst`, otherwise uninitialized. The cache's thread only. O(1), a malloc for each
    /// chunk.
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

    /// Frees memory on a thread that has no cache, and clears the object's tag. Any thread. O(1); rarely a malloc, for the map.
    func deallocateWithoutCache(_ memory: UnsafeMutableRawPointer) {
        memory.storeBytes(of: 0, as: UInt32.self)
        var address = memory
        give(&address, 1)
    }

    /// Moves all free addresses of a cache to the slab when its thread ends. The rest of the last chunk stays in the cache, whose next
    /// owner will use it.
    func trim(_ cache: inout Cache) {
        if cache.top != cache.free { giveTop(&cache, Int(cache.top - cache.free) / Self.addressSize) }
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

    /// Fills an empty cache from the slab or with a new chunk, and allocates from it. Returns nil if out of memory.
    private func allocateSlow(_ cache: inout Cache) -> UnsafeMutableRawPointer? {
        if !take(&cache) {
            let doubled = Self.firstChunk << cache.doublings
            let chunk = doubled <= size * Self.mostInSmallPages ? doubled : Memory.hugePage
            cache.fresh = Memory.allocate(chunk, isZero: isZeroAtFirst)
            if cache.fresh == nil { return nil }
            if chunk == doubled { cache.doublings += 1 }
            cache.freshCount = chunk / size
        }
        return allocateCached(&cache)
    }

    /// Does the rest of `deallocate`. If memory runs out before the cache has a stack, the object's memory is lost, because a caller that
    /// frees cannot handle a failure.
    @inline(never)
    private func deallocateSlow(_ memory: UnsafeMutableRawPointer, _ cache: inout Cache) {
        memory.storeBytes(of: 0, as: UInt32.self)
        if !growStack(&cache) {
            if cache.free == 0 { return }
            giveTop(&cache, Self.portion)
        }
        _ = deallocateCached(memory, &cache)
    }

    /// Gives the cache a stack for the addresses of free objects, or doubles the one that it has. Returns false if it is as large as it may
    /// be, or if out of memory.
    private func growStack(_ cache: inout Cache) -> Bool {
        let (room, used) = (Int(cache.limit - cache.free), cache.top - cache.free)
        if room == Self.mostCached * Self.addressSize { return false }
        let (ahead, newRoom) = (Self.ahead * Self.addressSize, max(2 * room, 2 * Self.portion * Self.addressSize))
        guard let memory = realloc(UnsafeMutableRawPointer(bitPattern: cache.free), ahead + newRoom) else { return false }
        if cache.free == 0 { memset(memory, 0, ahead) }
        let free = UInt(bitPattern: memory)
        (cache.free, cache.top, cache.limit) = (free, free + used, free + UInt(newRoom))
        return true
    }

    /// Fills an empty cache with free memory from the slab. Returns false if there is none, or if out of memory. May miss memory that
    /// another thread gives at this moment.
    private func take(_ cache: inout Cache) -> Bool {
        if freeCount.load(ordering: .relaxed) == 0 { return false }
        if cache.free == 0 && !growStack(&cache) { return false }
        mutex.lock()
        let known = freeCount.load(ordering: .relaxed)
        var count = 0
        if known > 0, let map = UnsafeMutablePointer<FreeMap>(bitPattern: freeMap.load(ordering: .relaxed)) {
            count = map.pointee.take(Self.portion, to: Self.words(cache.free) + Self.ahead)
            freeCount.store(known - count, ordering: .relaxed)
        }
        mutex.unlock()
        cache.top = cache.free + UInt(count * Self.addressSize)
        return count > 0
    }

    /// Adds free memory to the slab. Memory that the map has no room for, because memory runs out, is lost.
    private func give(_ addresses: UnsafePointer<UnsafeMutableRawPointer>, _ count: Int) {
        mutex.lock()
        if freeMap.load(ordering: .relaxed) == 0 {
            freeMap.store(UInt(bitPattern: FreeMap.create(size: size)), ordering: .relaxed)
        }
        if let map = UnsafeMutablePointer<FreeMap>(bitPattern: freeMap.load(ordering: .relaxed)) {
            let added = map.pointee.insert(addresses, count)
            freeCount.store(freeCount.load(ordering: .relaxed) + added, ordering: .relaxed)
        }
        mutex.unlock()
    }
}
