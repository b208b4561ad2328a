import CLinux
import CRunLoop
import Testing

@testable import RunLoopCore

@Suite struct MutableDataTests {
    @Test(arguments: [UInt64(1), 2, 3])
    func agreesWithModel(seed: UInt64) {
        var random = Random(seed: seed)
        let data = DataPointer.createMutable(capacity: random.below(30))!
        var model: [UInt8] = []
        for _ in 0..<1500 {
            let start = random.below(model.count + 1)
            let length = random.below(min(model.count - start, 50) + 1)
            let count = random.below(40)
            if random.chance(20) && count <= model.count {
                // A part of the data itself.
                let from = random.below(model.count - count + 1)
                let piece = Array(model[from..<(from + count)])
                #expect(data.replace(start, length, with: data.bytes + from, count: count))
                model.replaceSubrange(start..<(start + length), with: piece)
            } else if random.chance(20) {
                #expect(data.replace(start, length, with: nil, count: count))
                model.replaceSubrange(start..<(start + length), with: [UInt8](repeating: 0, count: count))
            } else {
                let bytes = (0..<count).map { _ in UInt8(random.below(256)) }
                #expect(data.replace(start, length, with: bytes, count: count))
                model.replaceSubrange(start..<(start + length), with: bytes)
            }
        }
        #expect(Array(UnsafeBufferPointer(start: data.bytes, count: data.pointee.count)) == model)
        let same = DataPointer.create(model, count: model.count)!
        #expect(same.equals(data))
        same.release()
        data.release()
    }

    @Test func findsOccurrences() {
        let data = DataPointer.create(Array("abcabcab".utf8), count: 8)!
        func find(_ text: String, _ start: Int, _ length: Int, backwards: Bool = false, anchored: Bool = false) -> Int? {
            let pattern = DataPointer.create(Array(text.utf8), count: text.utf8.count)!
            defer { pattern.release() }
            return data.find(pattern, from: start, length, backwards: backwards, anchored: anchored)
        }
        #expect(find("abc", 0, 8) == 0)
        #expect(find("abc", 1, 7) == 3)
        #expect(find("abc", 0, 8, backwards: true) == 3)
        #expect(find("abc", 0, 5, backwards: true) == 0)
        #expect(find("ab", 0, 8, backwards: true, anchored: true) == 6)
        #expect(find("abc", 0, 8, backwards: true, anchored: true) == nil)
        #expect(find("bc", 0, 8, anchored: true) == nil)
        #expect(find("", 0, 8) == nil)
        #expect(find("abcabcabc", 0, 8) == nil)
        data.release()
    }

    @Test func impossibleLengthIsRefused() {
        let refused = onThread { () -> Bool in
            let data = DataPointer.createMutable(capacity: 0)!
            defer { data.release() }
            guard data.replace(0, 0, with: nil, count: 10) else { return false }
            systemError = 0
            return !data.replace(10, 0, with: nil, count: .max - 5) && systemError == ENOMEM && data.pointee.count == 10
        }
        #expect(refused)
    }
}

@Suite struct NumberTests {
    private static let integers: [Int64] = [
        0, 1, -1, 127, 128, -128, -129, 255, 32767, 32768, 2_147_483_647, 2_147_483_648, 1 << 53, 1 << 53 + 1, .max, .max - 1, .min,
    ]
    private static let doubles: [Double] = [
        0, -0.0, 1, -1, 0.5, 127, 128.5, 0x1p53, 0x1p62, 0x1p63, -0x1p63, -0x1.8p63, 1e300, -1e300, .infinity, -.infinity, .nan,
    ]

    private func make(_ value: Int64) -> NumberPointer { withUnsafeBytes(of: value) { NumberPointer.create(.int64, $0.baseAddress!)! } }
    private func make(_ value: Double) -> NumberPointer { withUnsafeBytes(of: value) { NumberPointer.create(.float64, $0.baseAddress!)! } }

    private func written<Value>(_ number: NumberPointer, _ type: NumberType, _ empty: Value) -> (Value, Bool) {
        var value = empty
        let exact = withUnsafeMutableBytes(of: &value) { number.write(type, to: $0.baseAddress!) }
        return (value, exact)
    }

    @Test(arguments: integers)
    func integersConvert(value: Int64) {
        let number = make(value)
        #expect(written(number, .int8, Int8(0)) == (Int8(truncatingIfNeeded: value), Int8(exactly: value) != nil))
        #expect(written(number, .int16, Int16(0)) == (Int16(truncatingIfNeeded: value), Int16(exactly: value) != nil))
        #expect(written(number, .int32, Int32(0)) == (Int32(truncatingIfNeeded: value), Int32(exactly: value) != nil))
        #expect(written(number, .int64, Int64(0)) == (value, true))
        #expect(written(number, .float64, 0.0) == (Double(value), Double(exactly: value) != nil))
        #expect(written(number, .float32, Float(0)) == (Float(Double(value)), Float(exactly: value) != nil))
        number.release()
    }

    @Test(arguments: doubles)
    func doublesConvert(value: Double) {
        let number = make(value)
        let (whole, isWhole) = written(number, .int64, Int64(0))
        #expect(isWhole == (Int64(exactly: value) != nil))
        if value.isFinite { #expect(whole == Int64(exactly: value.rounded(.towardZero)) ?? (value > 0 ? .max : .min)) }
        #expect(written(number, .int8, Int8(0)).1 == (Int8(exactly: value) != nil))
        #expect(written(number, .float64, 0.0).0.bitPattern == value.bitPattern)
        #expect(written(number, .float32, Float(0)).1 == (value.isNaN || Float(exactly: value) != nil))
        number.release()
    }

    /// Numbers are compared exactly, by value: rounding would show in doubles near 2^53 and 2^63. Equal numbers have equal hashes.
    @Test func orderIsNumeric() {
        for integer in Self.integers {
            for double in Self.doubles where !double.isNaN && !(double == 0 && double.sign == .minus) {
                let (left, right) = (make(integer), make(double))
                let expected = double >= 0x1p63 ? -1 : double < -0x1p63 ? 1 : 0
                var order = expected
                if expected == 0 {
                    let whole = Int64(double.rounded(.down))
                    order = integer < whole ? -1 : integer > whole ? 1 : double > double.rounded(.down) ? -1 : 0
                }
                if left.compare(right) != order || right.compare(left) != -order { Issue.record("\(integer) and \(double)") }
                if order == 0 && left.hash != right.hash { Issue.record("hash of \(integer)") }
                left.release()
                right.release()
            }
        }
    }

    @Test func orderOfZeroesAndNaN() {
        let (zero, minusZero, nan, one, minusOne) = (make(0.0), make(-0.0), make(.nan), make(1.0), make(-1.0))
        #expect(minusZero.compare(zero) == -1 && zero.compare(minusZero) == 1)
        #expect(nan.compare(nan) == 0 && nan.compare(one) == -1 && nan.compare(minusOne) == 1)
        #expect(one.compare(nan) == 1 && minusOne.compare(nan) == -1)
        for number in [zero, minusZero, nan, one, minusOne] { number.release() }
    }

    @Test func constantsAreNumbers() {
        let infinity: NumberPointer = Handle.storage(UnsafeRawPointer(kRLNumberPositiveInfinity!))
        let own = make(Double.infinity)
        #expect(infinity.compare(own) == 0 && infinity.type == .float64)
        own.release()
        let truth: TruthPointer = Handle.storage(UnsafeRawPointer(kRLBooleanTrue!))
        #expect(truth.pointee.header.tag == Kind.boolean.rawValue && truth.pointee.value == 1)
    }
}

/// The notifications that observers have received.
private nonisolated(unsafe) var heard: [String] = []
private nonisolated(unsafe) var laterCallback: NotificationCallback?

@Suite(.serialized) struct NotificationTests {
    private let center = RLNotificationCenterGetLocalCenter()
    private let name = InternedStrings.string(Array("a name".utf8), count: 6)!
    private let other = InternedStrings.string(Array("another".utf8), count: 7)!
    private let one = UnsafeRawPointer(bitPattern: 0x10)
    private let two = UnsafeRawPointer(bitPattern: 0x20)

    private let note: NotificationCallback = { _, observer, _, object, _ in
        heard.append("\(UInt(bitPattern: observer) / 16) \(UInt(bitPattern: object))")
    }

    private func post(_ name: StringPointer, _ object: Int) -> [String] {
        heard = []
        Observances.post(center, name, UnsafeRawPointer(bitPattern: object), nil)
        return heard
    }

    @Test func matchesNameAndObject() {
        #expect(Observances.add(one, note, name, nil))
        #expect(Observances.add(two, note, nil, UnsafeRawPointer(bitPattern: 5)))
        #expect(Observances.add(one, note, name, UnsafeRawPointer(bitPattern: 5)))
        #expect(post(name, 5) == ["1 5", "2 5", "1 5"])
        #expect(post(name, 6) == ["1 6"])
        #expect(post(other, 5) == ["2 5"])
        Observances.remove(one, name, UnsafeRawPointer(bitPattern: 5))
        #expect(post(name, 5) == ["1 5", "2 5"])
        Observances.remove(one, other, nil)
        #expect(post(name, 6) == ["1 6"])
        Observances.remove(one, nil, nil)
        Observances.remove(two, nil, nil)
        #expect(post(name, 5) == [])
    }

    @Test func removalAndAdditionDuringAPost() {
        laterCallback = { _, _, _, _, _ in heard.append("late") }
        let first: NotificationCallback = { _, _, _, _, _ in
            heard.append("first")
            Observances.remove(UnsafeRawPointer(bitPattern: 0x20), nil, nil)
            _ = Observances.add(UnsafeRawPointer(bitPattern: 0x30), laterCallback!, nil, nil)
        }
        #expect(Observances.add(one, first, name, nil))
        #expect(Observances.add(two, note, name, nil))
        #expect(post(name, 1) == ["first"])
        #expect(post(name, 1) == ["first", "late"])
        Observances.remove(one, nil, nil)
        Observances.remove(UnsafeRawPointer(bitPattern: 0x30), nil, nil)
        #expect(post(name, 1) == [])
    }
}
