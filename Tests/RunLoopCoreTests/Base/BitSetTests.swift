import Testing

@testable import RunLoopCore

/// Compares the bit set with the standard library's set.
@Suite struct BitSetTests {
    @Test(arguments: [1, 2, 3] as [UInt64])
    func agreesWithSet(seed: UInt64) {
        let problem = compare(seed: seed, steps: scaled(6_000))
        #expect(problem == nil)
    }

    private func compare(seed: UInt64, steps: Int) -> String? {
        var random = Random(seed: seed)
        var left = BitSet()
        var right = BitSet()
        var leftModel: Set<Int> = []
        var rightModel: Set<Int> = []
        for step in 0..<steps {
            let member = random.chance(50) ? random.below(70) : random.below(400)
            switch random.below(20) {
            case 0...6:
                if !left.insert(member) { return "out of memory" }
                leftModel.insert(member)
            case 7...10:
                if !right.insert(member) { return "out of memory" }
                rightModel.insert(member)
            case 11...14:
                left.remove(member)
                leftModel.remove(member)
            case 15...17:
                right.remove(member)
                rightModel.remove(member)
            case 18 where random.chance(20):
                if !left.formUnion(right) { return "out of memory" }
                leftModel.formUnion(rightModel)
            case 19 where random.chance(40):
                left.subtract(right)
                leftModel.subtract(rightModel)
            default: break
            }
            if left.isEmpty != leftModel.isEmpty { return "step \(step): isEmpty" }
            if left.equals(right) != (leftModel == rightModel) { return "step \(step): equals" }
            if left.contains(member) != leftModel.contains(member) { return "step \(step): contains \(member)" }
            if step % 8 == 0 {
                for other in 0..<450 where left.contains(other) != leftModel.contains(other) { return "step \(step): \(other)" }
            }
        }
        return nil
    }

    @Test(arguments: [0, 1, 62, 63, 64, 65, 127, 128, 1000])
    func oneMember(member: Int) {
        var set = BitSet()
        let inserted = set.insert(member)
        #expect(inserted)
        for other in 0..<1100 {
            let isThere = set.contains(other)
            if isThere != (other == member) { Issue.record("\(other) of a set with \(member)") }
        }
        set.remove(member)
        #expect(set.isEmpty == true)
    }

    @Test func sizesDoNotMatterForEquality() {
        var small = BitSet()
        var large = BitSet()
        let inserted = small.insert(3) && large.insert(3) && large.insert(500)
        #expect(inserted)
        var areEqual = small.equals(large) || large.equals(small)
        #expect(!areEqual)
        large.remove(500)
        areEqual = small.equals(large) && large.equals(small)
        #expect(areEqual)
    }

    @Test func removingBeyondTheEndDoesNothing() {
        var set = BitSet()
        set.remove(1_000_000)
        #expect(set.isEmpty == true)
        let isThere = set.contains(1_000_000)
        #expect(!isThere)
    }
}
