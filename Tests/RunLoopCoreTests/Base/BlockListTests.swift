import Testing

@testable import RunLoopCore

/// Compares the list with the standard library's array.
@Suite struct BlockListTests {
    @Test(arguments: [1, 2, 3] as [UInt64])
    func agreesWithArray(seed: UInt64) {
        let problem = compare(seed: seed, steps: scaled(20_000))
        #expect(problem == nil)
    }

    private func compare(seed: UInt64, steps: Int) -> String? {
        var random = Random(seed: seed)
        var list = BlockList<Int>()
        var array: [Int] = []
        for step in 0..<steps {
            let value = random.below(1_000_000)
            let isGrowing = step / 1_000 % 2 == 0
            switch random.below(isGrowing ? 5 : 9) {
            case 0...2:
                if !list.append(value) { return "append failed" }
                array.append(value)
            case 3 where !array.isEmpty:
                let index = random.below(array.count)
                list[index] = value
                array[index] = value
            case 4:
                if !list.reserve(list.count + random.below(200)) { return "reserve failed" }
            case 5...7:
                if list.removeLast() != array.popLast() { return "step \(step): the last" }
            case 8 where random.chance(1):
                list.removeAll()
                array = []
            default: break
            }
            if list.count != array.count { return "step \(step): count \(list.count)" }
            if step % 16 == 0 {
                for index in 0..<array.count where list[index] != array[index] { return "step \(step): element \(index)" }
            }
        }
        return nil
    }

    @Test func removingTheLastOfAnEmptyListReturnsNil() {
        var list = BlockList<UInt8>()
        #expect(list.removeLast() == nil)
        #expect(list.append(7) == true)
        #expect(list.removeLast() == 7)
        #expect(list.removeLast() == nil)
        #expect(list.count == 0)
    }
}
