import CLinux
import CRunLoop
import Testing

@testable import RunLoopCore

@Suite struct StringTests {
    private static let texts = [
        "", "a", "kCFRunLoopDefaultMode", "naïve", "€uro", "😀", "a\u{301}", "日本語", "\u{10FFFF}\u{FFFF}\u{0}x",
        String(repeating: "x", count: 5000),
    ]

    private func make(_ text: String) -> StringPointer {
        let bytes = Array(text.utf8)
        return StringPointer.create(bytes, count: bytes.count)!
    }

    @Test(arguments: texts)
    func keepsItsBytes(text: String) {
        let string = make(text)
        #expect(string.count == text.utf8.count)
        #expect(Array(UnsafeBufferPointer(start: string.pointee.bytes, count: string.count)) == Array(text.utf8))
        #expect(string.pointee.bytes[string.count] == 0, "a C string")
        #expect(string.utf16Length == text.utf16.count)
        string.release()
    }

    @Test func randomTextsHaveTheLengthSwiftCounts() {
        var random = Random(seed: 1)
        for _ in 0..<500 {
            var text = ""
            for _ in 0..<random.below(40) {
                let value = UInt32(random.below([0x80, 0x800, 0x1_0000, 0x11_0000].randomElement(using: &random)!))
                if let scalar = Unicode.Scalar(value) { text.unicodeScalars.append(scalar) }
            }
            let string = make(text)
            if string.utf16Length != text.utf16.count { Issue.record("\(Array(text.utf8))") }
            string.release()
        }
    }

    @Test func equalityIsOfBytes() {
        for left in Self.texts {
            for right in Self.texts {
                let (a, b) = (make(left), make(right))
                let isSame = Array(left.utf8) == Array(right.utf8)
                if a.equals(b) != isSame || (a.compare(b) == 0) != isSame { Issue.record("\(left) and \(right)") }
                if isSame && a.hashValue32 != b.hashValue32 { Issue.record("hash of \(left)") }
                a.release()
                b.release()
            }
        }
        let (composed, decomposed) = (make("é"), make("e\u{301}"))
        #expect(!composed.equals(decomposed), "no normalisation: names are bytes")
        composed.release()
        decomposed.release()
    }

    @Test func orderIsOfCodePoints() {
        let sorted = ["", "a", "aa", "ab", "b", "é", "€", "\u{FFFF}", "\u{10000}"]
        for (i, left) in sorted.enumerated() {
            for (j, right) in sorted.enumerated() {
                let (a, b) = (make(left), make(right))
                if a.compare(b) != (i - j).signum() { Issue.record("\(left) and \(right)") }
                a.release()
                b.release()
            }
        }
    }

    @Test func hashIsCachedAndNeverZero() {
        let string = make("some text")
        #expect(string.pointee.hash.load(ordering: .relaxed) == 0)
        let hash = string.hashValue32
        #expect(hash == Bytes.hash(Array("some text".utf8), 9))
        #expect(string.pointee.hash.load(ordering: .relaxed) == hash)
        #expect(string.hashValue32 == hash)
        string.release()
    }

    @Test func lastReleaseFreesTheString() {
        let string = make("x")
        string.retain()
        string.release()
        #expect(Handle.kind(of: UnsafeRawPointer(string)) == .string)
        string.release()
    }

    @Test func tooLongIsRefused() {
        let seen = onThread { () -> Bool in
            systemError = 0
            return StringPointer.create(nil, count: Int(UInt32.max)) == nil && systemError == EOVERFLOW
        }
        #expect(seen)
    }
}

@Suite struct InternedStringTests {
    private func intern(_ text: String) -> StringPointer? {
        let bytes = Array(text.utf8)
        return InternedStrings.string(bytes, count: bytes.count)
    }

    @Test func sameTextIsInternedOnce() {
        var known: [String: StringPointer] = [:]
        // Exceeds several sizes of the table.
        for index in 0..<2_000 { known["interned \(index)"] = intern("interned \(index)") }
        #expect(Set(known.values.map { UInt(bitPattern: $0) }).count == 2_000)
        for (text, string) in known {
            if intern(text) != string || string.count != text.utf8.count { Issue.record("\(text)") }
        }
    }

    @Test func prefixesAreDifferentObjects() {
        #expect(intern("prefix") != intern("prefixes"))
        #expect(intern("") == intern(""))
        #expect(intern("") != intern("x"))
    }

    @Test func internedStringsAreNeverFreed() {
        let string = intern("immortal")!
        for _ in 0..<10 { string.release() }
        #expect(intern("immortal") == string)
        #expect(string.pointee.header.references.load(ordering: .relaxed) >= ObjectHeader.immortal)
    }

    @Test func threadsInternTheSameObjects() {
        let results = Guarded<[[UInt]]>([])
        inParallel(4) { number in
            var mine: [UInt] = []
            for index in 0..<scaled(800) {
                let bytes = Array("raced \(index)".utf8)
                mine.append(UInt(bitPattern: InternedStrings.string(bytes, count: bytes.count)))
            }
            results.with { $0.append(mine) }
        }
        #expect(Set(results.with { $0 }).count == 1)
    }
}

/// The layout is declared twice, in Swift and in `Sources/CRunLoop/Constants.c`.
@Suite struct ConstantTests {
    private let constants: [(OpaquePointer?, String)] = [
        (kRLRunLoopDefaultMode, "kCFRunLoopDefaultMode"), (kRLRunLoopCommonModes, "kCFRunLoopCommonModes"),
        (kRLRunLoopConnectionReplyMode, "NSConnectionReplyMode"), (kRLRunLoopModalPanelMode, "NSModalPanelRunLoopMode"),
        (kRLRunLoopEventTrackingMode, "NSEventTrackingRunLoopMode"),
    ]

    @Test func constantsAreStrings() {
        for (handle, text) in constants {
            guard let string: StringPointer = Handle.borrow(handle, "test", "constant") else { continue }
            #expect(string.count == text.utf8.count)
            #expect(string.pointee.bytes[string.count] == 0)
            let twin = StringPointer.create(Array(text.utf8), count: text.utf8.count)!
            #expect(string.equals(twin))
            #expect(string.hashValue32 == twin.hashValue32)
            twin.release()
        }
    }

    @Test func constantsAreNeverFreed() {
        for (handle, _) in constants {
            let string: StringPointer = Handle.storage(UnsafeRawPointer(handle!))
            for _ in 0..<5 { string.release() }
            string.retain()
            #expect(string.pointee.header.references.load(ordering: .relaxed) == ObjectHeader.immortal)
            #expect(Handle.kind(of: UnsafeRawPointer(handle)) == .string)
        }
    }

    @Test func fieldsHaveTheOffsetsThatCDeclares() {
        #expect(MemoryLayout<StringStorage>.size == 32)
        let string = StringPointer.create(Array("four".utf8), count: 4)!
        let raw = UnsafeRawPointer(string)
        let hash = string.hashValue32
        #expect(raw.load(as: UInt32.self) == 0x524C_0001)
        #expect(raw.load(fromByteOffset: 4, as: UInt32.self) == 1)
        #expect(raw.load(fromByteOffset: 8, as: UInt32.self) == 0x7C8)
        #expect(raw.load(fromByteOffset: 12, as: UInt32.self) == hash)
        #expect(raw.load(fromByteOffset: 16, as: UnsafePointer<UInt8>.self) == string.pointee.bytes)
        #expect(raw.load(fromByteOffset: 24, as: Int.self) == 4)
        string.release()
    }

    /// Strings as clang compiles CFSTR with characters that are not ASCII.
    @Test(arguments: ["é", "naïve", "日本語", "😀", "\u{FFFF}\u{0}x"])
    func constantInUTF16IsReadAsUTF8(text: String) {
        let units = UnsafeMutablePointer<UInt16>.allocate(capacity: text.utf16.count + 1)
        for (index, unit) in text.utf16.enumerated() { units[index] = unit }
        units[text.utf16.count] = 0
        let constant = UnsafeMutableRawPointer.allocate(byteCount: 32, alignment: 8)
        constant.storeBytes(of: 0x8000_0000_524C_0001, as: UInt64.self)
        constant.storeBytes(of: 0x7D0, toByteOffset: 8, as: UInt64.self)
        constant.storeBytes(of: UnsafePointer(units), toByteOffset: 16, as: UnsafePointer<UInt16>.self)
        constant.storeBytes(of: text.utf16.count, toByteOffset: 24, as: Int.self)
        let string: StringPointer = Handle.storage(constant)
        let twin = StringPointer.create(Array(text.utf8), count: text.utf8.count)!
        #expect(Handle.kind(of: constant) == .string)
        #expect(string.hashValue32 == twin.hashValue32)
        #expect(string.equals(twin) && twin.equals(string))
        #expect(string.count == text.utf8.count)
        #expect(string.pointee.bytes[string.count] == 0)
        #expect(string.utf16Length == text.utf16.count)
        string.release()
        #expect(Handle.kind(of: constant) == .string, "immortal")
        twin.release()
        // A program's constant is never freed; this one is.
        free(UnsafeMutableRawPointer(mutating: string.pointee.bytes))
        constant.deallocate()
        units.deallocate()
    }

    @Test func modeNamesAreTheConstants() {
        #expect(ModeName.default == Handle.storage(UnsafeRawPointer(kRLRunLoopDefaultMode!)))
        #expect(ModeName.common.isCommonModes)
        #expect(!ModeName.default.isCommonModes)
    }
}
