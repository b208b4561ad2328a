import CLinux
import Testing

@testable import RunLoopCore

@Suite struct SlabTests {
    /// An object that holds its own address as a stamp while it is allocated: two owners would overwrite each other's stamp.
    private struct Stamped {
        let memory: UnsafeMutableRawPointer

        init(_ memory: UnsafeMutableRawPointer) {
            self.memory = memory
            memory.storeBytes(of: 0xA11E_D000, as: UInt32.self)
            memory.storeBytes(of: UInt(bitPattern: memory) ^ 0x5555, toByteOffset: 8, as: UInt.self)
        }

        var isIntact: Bool {
            memory.load(as: UInt32.self) == 0xA11E_D000
                && memory.load(fromByteOffset: 8, as: UInt.self) == UInt(bitPattern: memory) ^ 0x5555
        }
    }

    @Test(arguments: [(1, 64), (2, 64), (3, 24), (4, 104)] as [(UInt64, Int)])
    func randomUse(seed: UInt64, size: Int) {
        let slab = Pinned(Slab(size: size))
        let problem = use(slab.pointer, seed: seed, size: size, steps: scaled(80_000))
        #expect(problem == nil)
    }

    private func use(_ slab: UnsafeMutablePointer<Slab>, seed: UInt64, size: Int, steps: Int) -> String? {
        var random = Random(seed: seed)
        var cache = Slab.Cache()
        var alive: [Stamped] = []
        var addresses = Set<UnsafeMutableRawPointer>()
        for step in 0..<steps {
            // At the peaks there are more objects than a cache has room for.
            let isGrowing = step / 10_000 % 2 == 0
            if random.chance(isGrowing ? 70 : 30) {
                guard let memory = slab.pointee.allocate(&cache) else { return "step \(step): out of memory" }
                if UInt(bitPattern: memory) % 8 != 0 { return "step \(step): not aligned" }
                if !addresses.insert(memory).inserted { return "step \(step): an address that is in use" }
                alive.append(Stamped(memory))
            } else if !alive.isEmpty {
                alive.swapAt(random.below(alive.count), alive.count - 1)
                let object = alive.removeLast()
                if !object.isIntact { return "step \(step): somebody wrote into an object" }
                addresses.remove(object.memory)
                if random.chance(5) {
                    slab.pointee.deallocateWithoutCache(object.memory)
                } else {
                    slab.pointee.deallocate(object.memory, &cache)
                }
                if object.memory.load(as: UInt32.self) != 0 { return "step \(step): the tag of a dead object" }
            }
        }
        let sorted = addresses.map { UInt(bitPattern: $0) }.sorted()
        for (left, right) in zip(sorted, sorted.dropFirst()) where right - left < size { return "objects overlap" }
        return alive.allSatisfy { $0.isIntact } ? nil : "an object was overwritten"
    }

    /// Objects allocated by one thread are freed by another, like a source that is created on one thread and released on another.
    @Test(arguments: [2, 4])
    func threadsExchangeObjects(threads: Int) {
        let slab = Pinned(Slab(size: 64))
        let p = slab.pointer
        let market = Guarded<[Stamped]>([])
        let alive = Guarded(Set<UnsafeMutableRawPointer>())
        let problems = Guarded<[String]>([])
        let steps = scaled(30_000)
        inParallel(threads) { number in
            var random = Random(seed: UInt64(number) + 100)
            var cache = Slab.Cache()
            for step in 0..<steps {
                let isGrowing = (step / 2_000 + number) % 2 == 0
                if random.chance(isGrowing ? 65 : 35) {
                    guard let memory = p.pointee.allocate(&cache) else { continue }
                    if !alive.with({ $0.insert(memory).inserted }) { problems.with { $0.append("handed out twice") } }
                    market.with { $0.append(Stamped(memory)) }
                } else if let object = market.with({ $0.isEmpty ? nil : $0.remove(at: random.below($0.count)) }) {
                    if !object.isIntact { problems.with { $0.append("overwritten") } }
                    _ = alive.with { $0.remove(object.memory) }
                    if random.chance(3) {
                        p.pointee.deallocateWithoutCache(object.memory)
                    } else {
                        p.pointee.deallocate(object.memory, &cache)
                    }
                }
            }
            p.pointee.trim(&cache)
        }
        #expect(problems.with { $0 } == [])
    }

    @Test func freedMemoryIsReused() {
        let slab = Pinned(Slab(size: 64))
        var cache = Slab.Cache()
        let first = take(slab.pointer, &cache, sevenChunks)
        for memory in first { slab.pointer.pointee.deallocate(memory, &cache) }
        let second = take(slab.pointer, &cache, sevenChunks)
        #expect(first == second)
    }

    /// Whatever the order in which objects are freed, the slab hands out their memory in the order of the addresses.
    @Test func memoryIsHandedOutInOrder() {
        let slab = Pinned(Slab(size: 64))
        var cache = Slab.Cache()
        var random = Random(seed: 1)
        var objects = Array(take(slab.pointer, &cache, eightChunks))
        for last in (1..<objects.count).reversed() { objects.swapAt(last, random.below(last + 1)) }
        for memory in objects { slab.pointer.pointee.deallocate(memory, &cache) }
        slab.pointer.pointee.trim(&cache)
        var again: [UnsafeMutableRawPointer] = []
        for _ in objects { again.append(slab.pointer.pointee.allocate(&cache)!) }
        #expect(Set(again) == Set(objects))
        #expect(zip(again, again.dropFirst()).count(where: { $1 - $0 == 64 }) > 8_000)
    }

    /// A thread that exits leaves its memory to other threads: whole chunks here, so that another cache needs no new one.
    @Test func trimmedMemoryIsAvailableToOtherCaches() {
        let slab = Pinned(Slab(size: 64))
        var cache = Slab.Cache()
        let first = take(slab.pointer, &cache, sevenChunks)
        for memory in first { slab.pointer.pointee.deallocate(memory, &cache) }
        slab.pointer.pointee.trim(&cache)
        var other = Slab.Cache()
        #expect(take(slab.pointer, &other, sevenChunks) == first)
    }

    /// Slabs that were used in a thread's context stay in the list permanently, so these two are never freed.
    @Test func contextHasACacheForEachSlab() {
        let slabs = UnsafeMutablePointer<Slab>.allocate(capacity: 2)
        slabs.initialize(to: Slab(size: 64))
        (slabs + 1).initialize(to: Slab(size: 128))
        let first = onThread { () -> [UnsafeMutableRawPointer] in
            let context = Registry.current!.threadContext
            let memory = (0..<2).map { slabs[$0].allocate(context)! }
            for number in 0..<2 { slabs[number].deallocate(memory[number]) }
            let again = (0..<2).map { slabs[$0].allocate(context)! }
            for number in 0..<2 { slabs[number].deallocate(again[number], context) }
            return memory == again ? memory : []
        }
        #expect(first.count == 2)
        #expect(slabs[0].cacheOffset != slabs[1].cacheOffset)
        // The exited thread's memory is in the slabs. A thread that has used up its chunk gets it.
        let second = onThread { () -> [Set<UnsafeMutableRawPointer>] in
            (0..<2).map { number in Set((0..<40).map { _ in slabs[number].allocate(Registry.current!.threadContext)! }) }
        }
        #expect(second[0].contains(first[0]) && second[1].contains(first[1]))
    }

    @Test func memoryFreedWithoutCacheIsReused() {
        let slab = Pinned(Slab(size: 64))
        var cache = Slab.Cache()
        let first = take(slab.pointer, &cache, fiveChunks)
        for memory in first { slab.pointer.pointee.deallocateWithoutCache(memory) }
        #expect(take(slab.pointer, &cache, fiveChunks) == first)
    }

    /// A thread with one object of a kind takes a page or less for it, not a chunk for thousands.
    @Test func firstChunkIsSmall() {
        let slab = Pinned(Slab(size: 64, isZeroAtFirst: true))
        var cache = Slab.Cache()
        let objects = take(slab.pointer, &cache, 32).map { UInt(bitPattern: $0) }
        #expect(objects.max()! - objects.min()! == 31 * 64)
        #expect(take(slab.pointer, &cache, 1).allSatisfy { UInt(bitPattern: $0) != objects.max()! + 64 })
    }

    /// This many objects of 64 bytes fill 5, 7 and 8 chunks: the first has 2 kB, and each is twice as large as the one before. No memory is
    /// left.
    private let fiveChunks = 32 + 64 + 128 + 256 + 512
    private let sevenChunks = 32 + 64 + 128 + 256 + 512 + 1024 + 2048
    private let eightChunks = 32 + 64 + 128 + 256 + 512 + 1024 + 2048 + 4096

    private func take(_ slab: UnsafeMutablePointer<Slab>, _ cache: inout Slab.Cache, _ count: Int) -> Set<UnsafeMutableRawPointer> {
        var taken = Set<UnsafeMutableRawPointer>()
        for _ in 0..<count {
            if let memory = slab.pointee.allocate(&cache) { taken.insert(memory) }
        }
        #expect(taken.count == count)
        return taken
    }
}
