import Testing

@testable import RunLoopCore

@Suite struct FreeMapTests {
    /// Compares a map with a set. The addresses are in many regions, some of them far apart, so the hash table grows. Nothing is stored at the
    /// addresses.
    @Test(arguments: [(1, 64), (2, 24), (3, 128), (4, 104)] as [(UInt64, Int)])
    func hasTheAddressesOfASet(seed: UInt64, size: Int) {
        var random = Random(seed: seed)
        let map = FreeMap.create(size: size)!
        let wanted = 100
        let room = UnsafeMutablePointer<UnsafeMutableRawPointer>.allocate(capacity: wanted + 63)
        defer { room.deallocate() }
        var model = Set<UnsafeMutableRawPointer>()
        for step in 0..<scaled(800) {
            if random.chance(step / 200 % 2 == 0 ? 70 : 30) {
                let area = (random.below(40) + 1) << (random.chance(50) ? 21 : 34)
                let new = Set((0..<random.below(300)).map { _ in pointer(area + random.below(20_000) * size) }).subtracting(model)
                #expect(map.pointee.insert(Array(new), new.count) == new.count)
                model.formUnion(new)
            } else if !model.isEmpty {
                let count = map.pointee.take(wanted, to: room)
                let taken = (0..<count).map { room[$0] }
                #expect(count > 0 && count < wanted + 64 && Set(taken).count == count && model.isSuperset(of: taken))
                #expect(taken == taken.sorted(by: >))
                model.subtract(taken)
            }
        }
        while !model.isEmpty {
            let count = map.pointee.take(wanted, to: room)
            for index in 0..<count { #expect(model.remove(room[index]) != nil) }
            if count == 0 { break }
        }
        #expect(model.isEmpty)
    }

    private func pointer(_ address: Int) -> UnsafeMutableRawPointer { UnsafeMutableRawPointer(bitPattern: address)! }
}
