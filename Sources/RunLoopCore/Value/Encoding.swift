import CRunLoop

/// The encodings of RLString.h; strings are stored in UTF-8. Conversion does not use iconv(3), which needs modules that a static program or
/// a small container lacks.
enum Encoding {
    case ascii, utf8, latin1, macRoman
    /// Written in the machine's byte order; read in the order that `resolvingMark` determines.
    case utf16, utf32
    case utf16Big, utf16Little, utf32Big, utf32Little

    /// Creates the encoding with this constant; nil if RLString.h has no such encoding.
    init?(_ constant: UInt32) {
        switch constant {
        case UInt32(kRLStringEncodingASCII): self = .ascii
        case UInt32(kRLStringEncodingUTF8): self = .utf8
        case UInt32(kRLStringEncodingISOLatin1): self = .latin1
        case UInt32(kRLStringEncodingMacRoman): self = .macRoman
        case UInt32(kRLStringEncodingUTF16): self = .utf16
        case UInt32(kRLStringEncodingUTF16BE): self = .utf16Big
        case UInt32(kRLStringEncodingUTF16LE): self = .utf16Little
        case UInt32(kRLStringEncodingUTF32): self = .utf32
        case UInt32(kRLStringEncodingUTF32BE): self = .utf32Big
        case UInt32(kRLStringEncodingUTF32LE): self = .utf32Little
        default: return nil
        }
    }

    /// The number of bytes of a code unit.
    var width: Int {
        switch self {
        case .ascii, .utf8, .latin1, .macRoman: 1
        case .utf16, .utf16Big, .utf16Little: 2
        case .utf32, .utf32Big, .utf32Little: 4
        }
    }

    /// The largest number of bytes needed for one UTF-16 code unit.
    var largest: Int { self == .utf8 ? 3 : width }

    /// Whether ASCII text has the same bytes as in UTF-8.
    var includesASCII: Bool { width == 1 }

    private var isBigEndian: Bool { self == .utf16Big || self == .utf32Big }

    /// Returns the encoding in which to read bytes, and adds the size of a byte order mark to `skip`. If the encoding's name has no byte
    /// order (UTF-16, UTF-32), the mark at the beginning determines it, and without a mark it is big-endian. As in CF, UTF-16 without
    /// `isExternal` is an exception: it is in the machine's order, and a mark is a character.
    func resolvingMark(_ bytes: UnsafePointer<UInt8>, _ count: Int, _ isExternal: Bool, _ skip: inout Int) -> Encoding {
        guard (self == .utf16 && isExternal) || self == .utf32, count >= width else { return self }
        let little: Encoding = self == .utf16 ? .utf16Little : .utf32Little
        let big: Encoding = self == .utf16 ? .utf16Big : .utf32Big
        let isLittle = little.unit(bytes) == 0xFEFF
        if !isLittle && big.unit(bytes) != 0xFEFF { return big }
        skip += width
        return isLittle ? little : big
    }

    /// Returns the code unit at an address, in this encoding's byte order.
    private func unit(_ bytes: UnsafePointer<UInt8>) -> UInt32 {
        var value: UInt32 = 0
        for index in 0..<width { value = value << 8 | UInt32(bytes[isBigEndian ? index : width - 1 - index]) }
        return value
    }

    /// Returns 3 if the text begins with the byte order mark in UTF-8, which CF skips, otherwise 0.
    static func markLength(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> Int {
        count >= 3 && bytes[0] == 0xEF && bytes[1] == 0xBB && bytes[2] == 0xBF ? 3 : 0
    }

    /// Decodes the character at `index`, where there is at least one code unit, and advances `index`. Returns nil if the bytes there are not
    /// a character of this encoding. As in CF, bytes of ASCII text from 0x80 on are characters of Latin 1. Not for UTF-8.
    private func decode(_ bytes: UnsafePointer<UInt8>, _ count: Int, _ index: inout Int) -> UInt32? {
        let first = unit(bytes + index)
        index += width
        switch self {
        case .macRoman: return first < 0x80 ? first : Self.roman(first)
        case .utf16, .utf16Big, .utf16Little:
            if first & 0xF800 != 0xD800 { return first }
            guard first < 0xDC00, count - index >= 2 else { return nil }
            let second = unit(bytes + index)
            index += 2
            return second & 0xFC00 == 0xDC00 ? 0x10000 + (first & 0x3FF) << 10 + second & 0x3FF : nil
        case .utf32, .utf32Big, .utf32Little: return first < 0x110000 && first & 0xFFFFF800 != 0xD800 ? first : nil
        default: return first
        }
    }

    /// Writes a character as up to four bytes. Returns the number of bytes; 0 if the encoding does not have the character.
    func encode(_ character: UInt32, _ bytes: inout InlineArray<4, UInt8>) -> Int {
        switch self {
        case .ascii, .latin1:
            if character >= (self == .ascii ? 0x80 : 0x100) { return 0 }
            bytes[0] = UInt8(character)
            return 1
        case .macRoman:
            bytes[0] = character < 0x80 ? UInt8(character) : Self.roman(of: character)
            return character > 0 && bytes[0] == 0 ? 0 : 1
        case .utf8:
            if character < 0x80 {
                bytes[0] = UInt8(character)
                return 1
            }
            let more = character < 0x800 ? 1 : character < 0x10000 ? 2 : 3
            bytes[0] = UInt8(truncatingIfNeeded: 0xFF00 >> UInt32(more + 1) | character >> UInt32(6 * more))
            for index in 1...more { bytes[index] = UInt8(0x80 | character >> UInt32(6 * (more - index)) & 0x3F) }
            return more + 1
        default:
            if width == 4 || character < 0x10000 {
                put(character, at: 0, &bytes)
                return width
            }
            put(0xD7C0 + character >> 10, at: 0, &bytes)
            put(0xDC00 + character & 0x3FF, at: 2, &bytes)
            return 4
        }
    }

    /// Writes a code unit in this encoding's byte order.
    private func put(_ unit: UInt32, at start: Int, _ bytes: inout InlineArray<4, UInt8>) {
        for index in 0..<width {
            let shift = UInt32(8 * (isBigEndian ? width - 1 - index : index))
            bytes[start + index] = UInt8(truncatingIfNeeded: unit >> shift)
        }
    }

    /// The characters of Mac Roman from 0x80 on.
    private static let roman: StaticString =
        "ÄÅÇÉÑÖÜáàâäãåçéèêëíìîïñóòôöõúùûü†°¢£§•¶ß®©™´¨≠ÆØ∞±≤≥¥µ∂∑∏π∫ªºΩæø¿¡¬√ƒ≈∆«»… ÀÃÕŒœ–—“”‘’÷◊ÿŸ⁄€‹›ﬁﬂ‡·‚„‰ÂÊÁËÈÍÎÏÌÓÔÒÚÛÙıˆ˜¯˘˙˚¸˝˛ˇ"

    /// Returns the character of a Mac Roman byte of 0x80 or more. O(n).
    private static func roman(_ byte: UInt32) -> UInt32? {
        var (index, character): (Int, UInt32) = (0, 0)
        for _ in 0x80...byte { character = next(of: roman.utf8Start, &index) }
        return character
    }

    /// Returns the Mac Roman byte of a character that is not ASCII; 0 if there is none. O(n).
    private static func roman(of character: UInt32) -> UInt8 {
        var index = 0
        for byte in 0x80...0xFF where next(of: roman.utf8Start, &index) == character { return UInt8(byte) }
        return 0
    }

    /// Returns the character at `index` of well-formed UTF-8, and advances `index`.
    static func next(of bytes: UnsafePointer<UInt8>, _ index: inout Int) -> UInt32 {
        let first = UInt32(bytes[index])
        index += 1
        if first < 0x80 { return first }
        let more = first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3
        var character = first & (0x3F >> UInt32(more))
        for _ in 0..<more {
            character = character << 6 | UInt32(bytes[index] & 0x3F)
            index += 1
        }
        return character
    }

    /// Returns the number of UTF-16 code units of UTF-8 text. O(n).
    static func utf16Length(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> Int {
        var length = 0
        for index in 0..<count where bytes[index] & 0xC0 != 0x80 { length += bytes[index] >= 0xF0 ? 2 : 1 }
        return length
    }

    /// Converts text to UTF-8, and stores it in `output` unless that is nil. As in CF, an incomplete code unit at the end is ignored. Returns
    /// the number of bytes; nil if the text is not valid in this encoding, or consists of nothing but an incomplete code unit. O(n). Any
    /// thread.
    func convert(_ bytes: UnsafePointer<UInt8>, _ count: Int, _ isExternal: Bool, into output: UnsafeMutablePointer<UInt8>?) -> Int? {
        var (index, size) = (0, 0)
        let encoding = resolvingMark(bytes, count, isExternal, &index)
        var unit = InlineArray<4, UInt8>(repeating: 0)
        if count > 0 && count < width { return nil }
        while count - index >= width {
            guard let character = encoding.decode(bytes, count, &index) else { return nil }
            let used = Encoding.utf8.encode(character, &unit)
            if let output { for offset in 0..<used { output[size + offset] = unit[offset] } }
            size += used
        }
        return size
    }
}
