import CLinux
import Testing

@testable import RunLoopCore

@Suite struct TextBufferTests {
    /// Returns the contents of the buffer after `fill`.
    private func text(_ fill: (inout TextBuffer) -> Void) -> String {
        TextBuffer.build { text in
            fill(&text)
            return text.withBytes { String(decoding: UnsafeBufferPointer(start: $0, count: $1), as: UTF8.self) }
        }
    }

    @Test func startsEmpty() { #expect(text { _ in } == "") }

    @Test func appendsInOrder() {
        let made = text {
            $0.append("runloop: ")
            $0.append(UInt8(ascii: "x"))
            $0.append([0x79, 0x7A, 0x21], 2)
        }
        #expect(made == "runloop: xyz")
    }

    @Test(arguments: [0, 1, 9, 10, 99, 100, 12345, -1, -10, .max, .min, .min + 1])
    func decimals(value: Int) { #expect(text { $0.append(decimal: value) } == String(value)) }

    @Test(arguments: [0, 1, 0xF, 0x10, 0x7FFF_DEAD_BEE0, .max] as [UInt])
    func addresses(value: UInt) {
        #expect(text { $0.append(address: UnsafeRawPointer(bitPattern: value)) } == "0x" + String(value, radix: 16))
    }

    @Test(arguments: [(0, "0.000"), (1.5, "1.500"), (-0.25, "-0.250"), (2.0004, "2.000"), (1e6, "1000000.000")])
    func seconds(value: Double, expected: String) { #expect(text { $0.append(seconds: value) } == expected) }

    @Test(arguments: [(0, "0"), (1.5, "1.5"), (-0.1, "-0.10000000000000001"), (1e300, "1.0000000000000001e+300")])
    func doubles(value: Double, expected: String) { #expect(text { $0.append(double: value) } == expected) }

    @Test func hugeSecondsAreTruncated() {
        let made = text { $0.append(seconds: 1e300) }
        #expect(made.count == 63)
        #expect(made.filter(\.isNumber) == made)
    }

    @Test func textThatDoesNotFitIsTruncated() {
        let block = [UInt8](repeating: UInt8(ascii: "a"), count: 999)
        let made = text {
            $0.append(block, 999)
            $0.append("bcd")
            $0.append("e")
            $0.append(UInt8(ascii: "f"))
            $0.append(decimal: -12)
        }
        #expect(made == String(repeating: "a", count: 999) + "b")
    }

    /// "é" is two bytes, "€" three, "😀" four.
    @Test(arguments: ["é", "€", "😀"], [0, 1, 2, 3])
    func noCharacterIsSplit(character: String, before: Int) {
        let block = Array((String(repeating: "a", count: before) + String(repeating: character, count: 1000)).utf8)
        let made = text { $0.append(block, block.count) }
        #expect(made.utf8.count > 1000 - 4)
        #expect(made.dropFirst(before).allSatisfy { String($0) == character })
    }

    @Test(arguments: [0, 1, 999, 1000, 1001, 5000])
    func bytesBeyondTheCapacityAreOmitted(count: Int) {
        let made = text { for _ in 0..<count { $0.append(UInt8(ascii: "q")) } }
        #expect(made.count == min(count, 1000))
    }

    @Test(arguments: [0, 5, 1000, 1200])
    func isZeroTerminatedForC(count: Int) {
        let length = TextBuffer.build { text in
            for _ in 0..<count { text.append(UInt8(ascii: "q")) }
            var length = -1
            text.withCString { length = Int(strlen($0)) }
            return length
        }
        #expect(length == min(count, 1000))
    }
}
