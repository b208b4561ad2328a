import CLinux
import CRunLoop
import Testing

@testable import RunLoopCore

/// What the test's callbacks have seen. The tests of this suite run one after the other.
private nonisolated(unsafe) var owned: [UInt: Int] = [:]

private func key(_ number: Int) -> UnsafeRawPointer? { UnsafeRawPointer(bitPattern: UInt(number)) }

private func number(_ pointer: UnsafeRawPointer?) -> UInt { UInt(bitPattern: pointer) }

/// Callbacks for values that are numbers: equal if they are equal modulo 100, with many hash collisions.
private var counting: RLSetCallBacks {
    RLSetCallBacks(
        version: 0,
        retain: { _, value in
            owned[number(value), default: 0] += 1
            return value
        }, release: { _, value in owned[number(value), default: 0] -= 1 }, copyDescription: nil,
        equal: { number($0) % 100 == number($1) % 100 ? 1 : 0 }, hash: { number($0) % 100 / 7 })
}

@Suite(.serialized) struct CollectionTests {
    private func elements() -> ElementCalls { ElementCalls(counting) }

    private func allAreReleased() -> Bool { owned.values.allSatisfy { $0 == 0 } }

    @Test(arguments: [UInt64(1), 2, 3])
    func aDictionaryAgreesWithTheModel(seed: UInt64) {
        owned = [:]
        var random = Random(seed: seed)
        let table = TablePointer.create(.dictionary, isMutable: true, room: random.below(20), elements(), elements())!
        var model: [Int: (key: Int, value: Int)] = [:]
        for step in 0..<4000 {
            // Keys of two different hundreds: equal keys that are not the same pointer.
            let (wanted, value) = (random.below(100) + 100 * (1 + random.below(2)), 1 + random.below(1000))
            let old = model[wanted % 100]
            switch random.below(step < 3000 ? 7 : 4) {
            case 0, 1:
                table.remove(key(wanted))
                model[wanted % 100] = nil
            case 2:
                #expect(table.put(key(wanted), key(value), .replace))
                if old != nil { model[wanted % 100] = (wanted, value) }
            case 3: break
            case 4:
                #expect(table.put(key(wanted), key(value), .add))
                if old == nil { model[wanted % 100] = (wanted, value) }
            default:
                #expect(table.put(key(wanted), key(value), .set))
                model[wanted % 100] = (wanted, value)
            }
            if table.pointee.count != model.count { Issue.record("step \(step): count") }
            let found = table.find(key(wanted))
            if number(found?.value) != UInt(model[wanted % 100]?.value ?? 0) { Issue.record("step \(step): \(wanted)") }
        }
        for (member, pair) in model { #expect(number(table.find(key(member + 100))?.key) == UInt(pair.key)) }
        let copy = table.copy(isMutable: false)!
        #expect(copy.equals(table) && table.equals(copy))
        #expect(owned.values.reduce(0, +) == 4 * model.count, "the copy has retained")
        var (index, seen) = (0, Set<UInt>())
        while let place = copy.next(&index) { seen.insert(number(place.key)) }
        #expect(seen == Set(model.values.map { UInt($0.key) }))
        table.release()
        copy.release()
        #expect(allAreReleased())
    }

    @Test func replacingInASetStoresTheNewElement() {
        owned = [:]
        let set = TablePointer.create(.set, isMutable: true, room: 0, elements(), ElementCalls())!
        #expect(set.put(key(101), nil, .add) && set.put(key(201), nil, .add))
        #expect(number(set.find(key(301))?.key) == 101)
        #expect(set.put(key(201), nil, .replace) && set.put(key(102), nil, .replace))
        #expect(number(set.find(key(301))?.key) == 201)
        #expect(set.pointee.count == 1 && owned == [101: 0, 201: 1])
        #expect(set.put(key(201), nil, .set), "itself: not released before it is retained")
        set.removeAll()
        #expect(set.pointee.count == 0 && set.find(key(101)) == nil && allAreReleased())
        set.release()
    }

    /// Equal keys are deleted from long runs of collisions: the keys behind them must still be found.
    @Test func removalLeavesNoHole() {
        let same = ElementCalls(RLSetCallBacks(version: 0, retain: nil, release: nil, copyDescription: nil, equal: nil, hash: { _ in 5 }))
        for removed in 1...40 {
            let set = TablePointer.create(.set, isMutable: true, room: 0, same, ElementCalls())!
            for member in 1...40 { #expect(set.put(key(member), nil, .add)) }
            set.remove(key(removed))
            for member in 1...40 where (set.find(key(member)) == nil) != (member == removed) { Issue.record("\(removed): \(member)") }
            set.release()
        }
    }

    @Test(arguments: [UInt64(1), 2, 3])
    func anArrayAgreesWithTheModel(seed: UInt64) {
        owned = [:]
        var random = Random(seed: seed)
        let array = ArrayPointer.createMutable(capacity: 0, elements())!
        var model: [UInt] = []
        for step in 0..<1500 {
            let start = random.below(model.count + 1)
            let length = random.below(min(model.count - start, 40) + 1)
            let new = (0..<random.below(step % 7 == 0 ? 60 : 4)).map { _ in UInt(1 + random.below(1000)) }
            let pointers = new.map { UnsafeRawPointer(bitPattern: $0) }
            #expect(array.replace(start, length, with: pointers, count: new.count))
            model.replaceSubrange(start..<(start + length), with: new)
            if array.pointee.count != model.count { Issue.record("step \(step): count") }
        }
        #expect((0..<model.count).map { number(array[value: $0]) } == model)
        #expect(owned.values.reduce(0, +) == model.count)
        #expect(array[value: model.count] == nil && array[value: -1] == nil)
        let copy = array.immutableCopy()!
        #expect(copy.equals(array) && copy != array && copy.immutableCopy() == copy)
        copy.release()
        copy.release()
        array.release()
        #expect(allAreReleased())
    }

    @Test func sortingKeepsTheOrderOfEquals() {
        var random = Random(seed: 9)
        for count in [0, 1, 2, 3, 7, 8, 9, 100, 1000] {
            let values = (0..<count).map { UInt(1 + random.below(10) + 100 * $0) }
            let array = ArrayPointer.createMutable(capacity: 0, ElementCalls())!
            #expect(array.replace(0, 0, with: values.map { UnsafeRawPointer(bitPattern: $0) }, count: count))
            let byUnits: ElementComparator = { left, right, _ in Int(number(left) % 100) - Int(number(right) % 100) }
            let start = min(2, count)
            #expect(array.sort(start, count - start, byUnits, nil))
            let sorted = values[..<start] + values[start...].enumerated().sorted { ($0.1 % 100, $0.0) < ($1.1 % 100, $1.0) }.map(\.1)
            #expect((0..<count).map { number(array[value: $0]) } == Array(sorted))
            for wanted in 0...11 {
                let index = array.sortedIndex(of: key(wanted), start, count - start, byUnits, nil)
                #expect(index == start + sorted[start...].filter { $0 % 100 < wanted }.count)
            }
            array.release()
        }
    }

    /// A callback that changes its array, which is forbidden: nothing outside the array is read or written.
    @Test func aCallbackMayChangeItsArray() {
        var spoiler = RLArrayCallBacks()
        spoiler.equal = { left, _ in
            let array: ArrayPointer = Handle.storage(left.unsafelyUnwrapped)
            _ = array.replace(0, array.pointee.count, with: nil, count: 0)
            return 0
        }
        let array = ArrayPointer.createMutable(capacity: 0, ElementCalls(spoiler))!
        let selves = [UnsafeRawPointer?](repeating: UnsafeRawPointer(bitPattern: 8), count: 50)
        #expect(array.replace(0, 0, with: selves, count: 50))
        #expect(array.firstIndex(of: UnsafeRawPointer(array), from: 0, 50) == nil)
        #expect(array.pointee.count == 0)
        array.release()
    }
}
