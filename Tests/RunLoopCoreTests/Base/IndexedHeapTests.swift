import Testing

@testable import RunLoopCore

/// Compares the heap with a sorted array.
@Suite struct IndexedHeapTests {
    @Test(arguments: [1, 2, 3, 4, 5, 6] as [UInt64])
    func agreesWithSortedArray(seed: UInt64) {
        let problem = HeapRace(seed: seed, elements: 700, keys: 1_000_000).run(steps: scaled(20_000))
        #expect(problem == nil)
    }

    @Test(arguments: [7, 8, 9] as [UInt64])
    func agreesWhereNearlyAllKeysAreEqual(seed: UInt64) {
        let problem = HeapRace(seed: seed, elements: 300, keys: 4).run(steps: scaled(20_000))
        #expect(problem == nil)
    }

    /// The unused memory behind the elements contains the largest key, too.
    @Test(arguments: [12, 13] as [UInt64])
    func agreesWhereNearlyAllKeysAreTheLast(seed: UInt64) {
        let problem = HeapRace(seed: seed, elements: 300, keys: 2, from: .max - 1).run(steps: scaled(20_000))
        #expect(problem == nil)
    }

    @Test(arguments: [10, 11] as [UInt64])
    func agreesWithFewElements(seed: UInt64) {
        let problem = HeapRace(seed: seed, elements: 6, keys: 20).run(steps: scaled(20_000))
        #expect(problem == nil)
    }

    @Test func emptyHeap() {
        var heap = IndexedHeap<Number>()
        let isEmpty = heap.first == nil && heap.count == 0
        #expect(isEmpty)
        var position = IndexedHeap<Number>.absent
        let inserted = withUnsafeMutablePointer(to: &position) { place in
            let done = heap.insert(Number(value: 5), place)
            heap.remove(place)
            return done
        }
        #expect(inserted)
        #expect(position == IndexedHeap<Number>.absent)
        #expect(heap.count == 0)
    }

    @Test func reservedCapacityIsKept() {
        var heap = IndexedHeap<Number>()
        let reserved = heap.reserve(1000)
        #expect(reserved)
        let unreasonable = heap.reserve(Int(UInt32.max))
        #expect(!unreasonable, "positions have 32 bits")
    }
}

private struct Number: HeapKey {
    var value: Int
    static var last: Number { Number(value: .max) }
    static func precedes(_ left: Number, _ right: Number) -> Bool { left.value < right.value }
}

private struct HeapRace {
    private var random: Random
    private let elements: Int
    private let keys: Int
    private let from: Int

    init(seed: UInt64, elements: Int, keys: Int, from: Int = 0) {
        random = Random(seed: seed)
        self.elements = elements
        self.keys = keys
        self.from = from
    }

    /// Returns the first disagreement, or nil if there is none.
    func run(steps: Int) -> String? {
        var random = random
        var heap = IndexedHeap<Number>()
        var sorted: [Int] = []
        var keyOf = [Int?](repeating: nil, count: elements)
        let positions = UnsafeMutablePointer<UInt32>.allocate(capacity: elements)
        positions.initialize(repeating: IndexedHeap<Number>.absent, count: elements)
        defer { positions.deallocate() }

        func forget(_ element: Int) {
            sorted.remove(at: lowerBound(sorted, keyOf[element]!))
            keyOf[element] = nil
        }
        func note(_ element: Int, _ key: Int) {
            sorted.insert(key, at: lowerBound(sorted, key))
            keyOf[element] = key
        }
        for step in 0..<steps {
            let element = random.below(elements)
            let key = from + random.below(keys)
            // Long phases of growing and of shrinking, so that all sizes occur.
            let isGrowing = step / 2_000 % 2 == 0
            switch random.below(isGrowing ? 6 : 12) {
            case 0...3 where keyOf[element] == nil:
                if !heap.insert(Number(value: key), positions + element) { return "step \(step): out of memory" }
                note(element, key)
            case 0...4 where keyOf[element] != nil:
                heap.update(positions + element, to: Number(value: key))
                forget(element)
                note(element, key)
            case 5...8 where keyOf[element] != nil:
                heap.remove(positions + element)
                forget(element)
            case 9...:
                if let first = heap.first {
                    let popped = first.position - positions
                    if keyOf[popped] != first.key.value { return "step \(step): the first element has another key" }
                    heap.remove(first.position)
                    forget(popped)
                }
            default: break
            }
            if random.below(2_000) == 0 {
                heap.removeAll()
                for element in keyOf.indices where keyOf[element] != nil {
                    positions[element] = IndexedHeap<Number>.absent
                    forget(element)
                }
            }
            if heap.count != sorted.count { return "step \(step): \(heap.count) elements instead of \(sorted.count)" }
            if heap.first?.key.value != sorted.first { return "step \(step): first is \(String(describing: heap.first))" }
            if let known = keyOf[element] {
                if heap.key(at: positions + element).value != known { return "step \(step): element \(element) lost its key" }
            } else if positions[element] != IndexedHeap<Number>.absent {
                return "step \(step): an absent element has a position"
            }
            if step % 512 == 0, let problem = structure(heap) { return "step \(step): \(problem)" }
        }
        return drain(&heap, sorted)
    }

    private func structure(_ heap: borrowing IndexedHeap<Number>) -> String? {
        for index in 0..<heap.count {
            let entry = heap.entry(at: index)
            if entry.position.pointee != UInt32(index) { return "the position of entry \(index) is wrong" }
            if index > 0 && Number.precedes(entry.key, heap.entry(at: (index - 1) / 4).key) { return "entry \(index) precedes its parent" }
        }
        return nil
    }

    private func drain(_ heap: inout IndexedHeap<Number>, _ sorted: [Int]) -> String? {
        for expected in sorted {
            guard let first = heap.first, first.key.value == expected else { return "\(expected) does not come out in its turn" }
            heap.remove(first.position)
        }
        return heap.first == nil ? nil : "something is left over"
    }

    private func lowerBound(_ sorted: [Int], _ key: Int) -> Int {
        var (low, high) = (0, sorted.count)
        while low < high {
            let middle = (low + high) / 2
            if sorted[middle] < key { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
