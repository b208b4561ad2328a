import Testing

@testable import RunLoopCore

@Suite struct BytesTests {
    /// Compares the result with that of the standard library, which is the model.
    private func disagrees(_ bytes: [UInt8]) -> Bool {
        Bytes.isUTF8(bytes, bytes.count) != (String(validating: bytes, as: UTF8.self) != nil)
    }

    /// The bytes at which the rules of UTF-8 change.
    private static let edges: [UInt8] = [0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC2, 0xE0, 0xFF]

    @Test func allSequencesOfOneAndTwoBytes() {
        var wrong: [[UInt8]] = []
        for first in UInt8.min...UInt8.max {
            if disagrees([first]) { wrong.append([first]) }
            for second in UInt8.min...UInt8.max where disagrees([first, second]) { wrong.append([first, second]) }
        }
        #expect(wrong == [])
    }

    @Test func boundariesOfThreeByteSequences() {
        var wrong: [[UInt8]] = []
        for first in UInt8.min...UInt8.max {
            for second in Self.edges {
                for third in Self.edges where disagrees([first, second, third]) { wrong.append([first, second, third]) }
            }
        }
        #expect(wrong == [])
    }

    @Test func boundariesOfFourByteSequences() {
        var wrong: [[UInt8]] = []
        let firsts: [UInt8] = Array(0xE0...0xFF)
        for first in firsts {
            for second in Self.edges {
                for third in Self.edges {
                    for fourth in Self.edges where disagrees([first, second, third, fourth]) {
                        wrong.append([first, second, third, fourth])
                    }
                }
            }
        }
        #expect(wrong == [])
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func damagedTextsAreJudgedAsBySwift(seed: UInt64) {
        var random = Random(seed: seed)
        let text = Array("a\u{7F}\u{80}é\u{7FF}\u{800}€\u{D7FF}\u{E000}\u{FFFF}\u{10000}😀\u{10FFFF}z".utf8)
        var wrong: [[UInt8]] = []
        for _ in 0..<scaled(20_000) {
            var bytes = text
            for _ in 0..<random.below(3) {
                bytes[random.below(bytes.count)] = random.chance(50) ? Self.edges.randomElement(using: &random)! : UInt8(random.below(256))
            }
            let start = random.below(bytes.count)
            bytes = Array(bytes[start..<(start + random.below(bytes.count - start + 1))])
            if disagrees(bytes) { wrong.append(bytes) }
        }
        #expect(wrong == [])
    }

    @Test func emptyTextIsValid() {
        #expect(Bytes.isUTF8([], 0))
        #expect(Bytes.isASCII([], 0))
    }

    @Test func asciiEndsAt7F() {
        for byte in UInt8.min...UInt8.max where Bytes.isASCII([0x41, byte, 0x42], 3) != (byte < 0x80) { Issue.record("\(byte)") }
    }

    /// The published 32-bit FNV-1a values.
    @Test(arguments: [("", 0x811C_9DC5), ("a", 0xE40C_292C), ("b", 0xE70C_2DE5), ("foobar", 0xBF9C_F968)] as [(String, UInt32)])
    func hashIsFNV1a(text: String, hash: UInt32) {
        let bytes = Array(text.utf8)
        #expect(Bytes.hash(bytes, bytes.count) == hash)
    }

    /// The published first values of splitmix64 with seed 0; `mix` is the last step of splitmix64.
    @Test func mixIsSplitMix() {
        #expect(Bytes.mix(0x9E37_79B9_7F4A_7C15) == 0xE220_A839_7B1D_CDAF)
        #expect(Bytes.mix(0x3C6E_F372_FE94_F82A) == 0x6E78_9E6A_A1B9_65F4)
        #expect(Bytes.mix(0) == 0)
    }

    @Test func mixSpreadsAddresses() {
        // Objects of a slab are a multiple of 64 bytes apart, so their low bits must differ after mixing.
        var used = Set<UInt>()
        for index in 0..<4096 as Range<UInt> { used.insert(Bytes.mix(0x7F00_0000_0000 + index * 64) & 4095) }
        #expect(used.count > 2400, "as many as random numbers would hit: 63 %")
    }

    @Test func utf16IsEncodedAsSwiftDoes() {
        var random = Random(seed: 7)
        for _ in 0..<2000 {
            let units = (0..<random.below(8)).map { _ -> UInt16 in
                let around = [0x40, 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xD800, 0xDBFF, 0xDC00, 0xDFFF, 0xE000, 0xFFFF]
                return UInt16(around[random.below(around.count)])
            }
            let expected = Array(String(decoding: units, as: UTF16.self).utf8)
            var bytes = [UInt8](repeating: 0xEE, count: 3 * units.count + 1)
            let size = Bytes.encode(units, units.count, into: &bytes)
            if Array(bytes[..<size]) != expected || bytes[size] != 0 { Issue.record("\(units)") }
        }
    }
}
