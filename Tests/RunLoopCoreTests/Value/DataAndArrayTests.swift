import CLinux
import CRunLoop
import Testing

@testable import RunLoopCore

@Suite struct DataTests {
    @Test(arguments: [0, 1, 7, 8, 9, 100_000])
    func keepsItsBytes(count: Int) {
        let source = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let data = DataPointer.create(source, count: count)!
        #expect(data.pointee.count == count)
        #expect(Array(UnsafeBufferPointer(start: data.bytes, count: count)) == source)
        #expect(Handle.kind(of: UnsafeRawPointer(data)) == .data)
        data.release()
    }

    /// The bytes stay unchanged when the unused capacity is freed.
    @Test(arguments: [0, 1, 479, 4095, 4096, 4097, 100_000])
    func isFilledInPlace(count: Int) {
        let filled = DataPointer.create(capacity: count + 5000) {
            memset($0, 7, count)
            return count
        }!
        #expect(filled.pointee.count == count && (0..<count).allSatisfy { filled.bytes[$0] == 7 })
        filled.release()
    }

    /// What limits the memory of received requests relies on `capacity`.
    @Test(arguments: [1, 16 * 1024, 17 * 1024, 64 * 1024])
    func receivedDataKnowsHowMuchMemoryItTakes(count: Int) {
        let isRight = onThread { () -> Bool in
            let threadContext = Registry.current!.threadContext
            let memory = DataPointer.receivingMemory(threadContext)!
            let data = DataPointer.createReceived(memory, count: count, threadContext)!
            defer { data.release() }
            let isCopied = data.bytes != UnsafePointer(memory.assumingMemoryBound(to: UInt8.self))
            return data.pointee.capacity == (isCopied ? count : DataPointer.receivedLimit) && data.pointee.capacity <= max(4 * count, 1)
        }
        #expect(isRight)
    }

    @Test func equality() {
        let all = [[], [0], [1], [0, 0], [0, 1], [0, 1, 2]] as [[UInt8]]
        for left in all {
            for right in all {
                let a = DataPointer.create(left, count: left.count)!
                let b = DataPointer.create(right, count: right.count)!
                if a.equals(b) != (left == right) { Issue.record("\(left) and \(right)") }
                a.release()
                b.release()
            }
        }
    }
}

@Suite struct ArrayTests {
    private func strings(_ texts: [String]) -> [StringPointer] {
        texts.map { StringPointer.create(Array($0.utf8), count: $0.utf8.count)! }
    }

    private func array(of strings: [StringPointer]) -> ArrayPointer {
        let values = strings.map { UnsafeRawPointer($0) as UnsafeRawPointer? }
        return ArrayPointer.create(values, count: values.count, .ofObjects)!
    }

    private func references(_ string: StringPointer) -> UInt32 { string.pointee.header.references.load(ordering: .relaxed) }

    @Test func retainsAndReleasesItsValues() {
        let members = strings(["one", "two", "three"])
        let array = array(of: members)
        #expect(members.map(references) == [2, 2, 2])
        #expect(array.pointee.count == 3)
        for (index, member) in members.enumerated() { #expect(array[value: index] == UnsafeRawPointer(member)) }
        array.release()
        #expect(members.map(references) == [1, 1, 1])
        for member in members { member.release() }
    }

    private func has(_ array: ArrayPointer, _ value: UnsafeRawPointer?, _ start: Int, _ length: Int) -> Bool {
        array.firstIndex(of: value, from: start, length) != nil
    }

    @Test func containsByEquality() {
        let members = strings(["one", "two", "three"])
        let others = strings(["two", "four"])
        let array = array(of: members)
        #expect(has(array, UnsafeRawPointer(others[0]), 0, 3))
        #expect(has(array, UnsafeRawPointer(others[0]), 1, 1))
        #expect(!has(array, UnsafeRawPointer(others[0]), 2, 1))
        #expect(!has(array, UnsafeRawPointer(others[0]), 0, 1))
        #expect(!has(array, UnsafeRawPointer(others[0]), 0, 0))
        #expect(!has(array, UnsafeRawPointer(others[1]), 0, 3))
        array.release()
        for string in members + others { string.release() }
    }

    @Test func equality() {
        let all = [[], ["a"], ["b"], ["a", "b"], ["b", "a"]]
        for left in all {
            for right in all {
                let (l, r) = (strings(left), strings(right))
                let (a, b) = (array(of: l), array(of: r))
                if a.equals(b) != (left == right) { Issue.record("\(left) and \(right)") }
                a.release()
                b.release()
                for string in l + r { string.release() }
            }
        }
    }

    @Test func withoutCallBacksValuesAreComparedBitwise() {
        let values: [UnsafeRawPointer?] = [nil, UnsafeRawPointer(bitPattern: 3), UnsafeRawPointer(bitPattern: 5)]
        let array = ArrayPointer.create(values, count: 3, ElementCalls())!
        #expect(has(array, UnsafeRawPointer(bitPattern: 3), 0, 3))
        #expect(has(array, nil, 0, 3))
        #expect(!has(array, UnsafeRawPointer(bitPattern: 4), 0, 3))
        array.release()
    }

    @Test func impossibleSizeIsRefused() {
        let seen = onThread { () -> Bool in
            systemError = 0
            return ArrayPointer.create(nil, count: .max / 4, ElementCalls()) == nil && systemError == ENOMEM
        }
        #expect(seen)
    }
}
