import Testing

@testable import RunLoopCore

/// Compares the list with the standard library's array.
@Suite struct PlainListTests {
    @Test(arguments: [1, 2, 3] as [UInt64])
    func agreesWithArray(seed: UInt64) {
        let problem = compare(seed: seed, steps: scaled(20_000))
        #expect(problem == nil)
    }

    private func compare(seed: UInt64, steps: Int) -> String? {
        var random = Random(seed: seed)
        var list = PlainList<Int>()
        var array: [Int] = []
        for step in 0..<steps {
            let value = random.below(1_000_000)
            let isGrowing = step / 1_000 % 2 == 0
            switch random.below(isGrowing ? 7 : 12) {
            case 0...3:
                if !list.append(value) { return "append failed" }
                array.append(value)
            case 4...5:
                let index = random.below(array.count + 1)
                if !list.insert(value, at: index) { return "insert failed" }
                array.insert(value, at: index)
            case 6...8 where !array.isEmpty:
                let index = random.below(array.count)
                list.remove(at: index)
                array.remove(at: index)
            case 9 where random.chance(10):
                var others = PlainList<Int>()
                for number in 0..<random.below(20) { _ = others.append(number) }
                if !list.prepend(others) { return "prepend failed" }
                array.insert(contentsOf: 0..<others.count, at: 0)
            case 10 where !array.isEmpty:
                let index = random.below(array.count)
                list[index] = value
                array[index] = value
            case 11 where random.chance(2):
                let kept = random.below(array.count + 1)
                list.truncate(to: kept)
                array.removeLast(array.count - kept)
            default: break
            }
            if list.count != array.count || list.capacity < list.count {
                return "step \(step): count \(list.count), capacity \(list.capacity)"
            }
            if step % 16 == 0 {
                for index in 0..<array.count where list[index] != array[index] { return "step \(step): element \(index)" }
            }
        }
        return nil
    }

    @Test func insertAndRemoveAtTheEnds() {
        var list = PlainList<Int>()
        for value in [2, 1, 0] {
            let inserted = list.insert(value, at: 0)
            #expect(inserted)
        }
        let appended = list.insert(3, at: 3)
        #expect(appended)
        #expect((0..<4).map { list[$0] } == [0, 1, 2, 3])
        list.remove(at: 3)
        list.remove(at: 0)
        #expect((0..<2).map { list[$0] } == [1, 2])
    }

    @Test func reserveKeepsTheElements() {
        var list = PlainList<UInt8>()
        let appended = list.append(7)
        let reserved = list.reserve(10_000)
        #expect(appended && reserved)
        #expect(list.count == 1)
        #expect(list.capacity >= 10_000)
        #expect(list[0] == 7)
        let before = list.elements
        for value in 0..<9_000 { _ = list.append(UInt8(value & 0xFF)) }
        #expect(list.elements == before, "what is reserved is not moved again")
    }

    @Test func emptiedListCanBeReused() {
        var list = PlainList<Int>()
        for value in 0..<100 { _ = list.append(value) }
        list.removeAll()
        #expect(list.count == 0)
        #expect(list.capacity == 0)
        #expect(list.elements == nil)
        let appended = list.append(1)
        #expect(appended)
        #expect(list[0] == 1)
    }

    @Test(.enabled(if: Sanitizer.letsMallocFail)) func impossibleSizeIsRefused() {
        var list = PlainList<UInt64>()
        let appended = list.append(9)
        let reserved = list.reserve(Int.max / 16)
        #expect(appended)
        #expect(!reserved, "out of memory is an answer")
        #expect(list[0] == 9)
        #expect(list.count == 1)
    }
}
