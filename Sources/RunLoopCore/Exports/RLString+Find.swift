import CLinux
import CRunLoop

// The functions that compare, find and split strings, and read numbers in them; include/RunLoop/RLString.h declares and documents them.

@inline(never)
private func borrow(_ string: OpaquePointer?, _ function: Name, _ name: Name = "string") -> StringPointer? {
    Handle.borrow(string, function, name)
}

extension StringPointer {
    /// Compares bytes and returns -1, 0 or 1. With `ignoresCase`, ASCII letters are compared without regard to case; with `numerically`,
    /// runs of digits are compared as numbers, of any length. O(n).
    fileprivate func compare(_ other: StringPointer, ignoresCase: Bool, numerically: Bool) -> Int {
        let (left, right) = (pointee.bytes, other.pointee.bytes)
        var (position, otherPosition) = (0, 0)
        while position < count && otherPosition < other.count {
            if numerically && Bytes.isDigit(left[position]) && Bytes.isDigit(right[otherPosition]) {
                let number = Self.number(in: left, &position)
                let otherNumber = Self.number(in: right, &otherPosition)
                let order =
                    number.count != otherNumber.count
                    ? number.count - otherNumber.count : Int(memcmp(number.digits, otherNumber.digits, number.count))
                if order != 0 { return order.signum() }
                continue
            }
            let (character, otherCharacter) = (left[position], right[otherPosition])
            let order =
                ignoresCase
                ? Int(Bytes.lower(character)) - Int(Bytes.lower(otherCharacter)) : Int(character) - Int(otherCharacter)
            if order != 0 { return order.signum() }
            position += 1
            otherPosition += 1
        }
        return (count - position - (other.count - otherPosition)).signum()
    }

    /// Returns the digits at `position`, without leading zeros, and moves `position` past them. The text ends with a 0 byte, which is no
    /// digit.
    private static func number(in text: UnsafePointer<UInt8>, _ position: inout Int) -> (digits: UnsafePointer<UInt8>, count: Int) {
        while text[position] == UInt8(ascii: "0") { position += 1 }
        let start = position
        while Bytes.isDigit(text[position]) { position += 1 }
        return (text + start, position - start)
    }

    /// Returns the offset of `part`, searched forwards or backwards from `start`, or only at `start` if `anchored`; nil if it is not found.
    /// O(n · m), usually O(n).
    fileprivate func find(
        _ part: StringPointer, from start: Int, backwards: Bool = false, anchored: Bool = false, ignoresCase: Bool = false
    ) -> Int? {
        let (bytes, wanted, size) = (pointee.bytes, part.pointee.bytes, part.count)
        var offset = start
        while offset >= 0 && offset <= count - size {
            var same = 0
            while same < size
                && (bytes[offset + same] == wanted[same]
                    || (ignoresCase && Bytes.lower(bytes[offset + same]) == Bytes.lower(wanted[same])))
            { same += 1 }
            if same == size { return offset }
            if anchored { return nil }
            offset += backwards ? -1 : 1
        }
        return nil
    }
}

@implementation @c
public func RLStringCompare(_ string1: OpaquePointer?, _ string2: OpaquePointer?, _ options: UInt) -> Int {
    guard let left = borrow(string1, "RLStringCompare", "string1"), let right = borrow(string2, "RLStringCompare", "string2") else {
        return 0
    }
    let special = UInt(kRLCompareCaseInsensitive | kRLCompareNumerically)
    if options & ~(special | UInt(kRLCompareNonliteral)) != 0 {
        Misuse.report("RLStringCompare", "options", "contains an unsupported option")
    }
    if options & special == 0 { return left.compare(right) }
    return left.compare(
        right, ignoresCase: options & UInt(kRLCompareCaseInsensitive) != 0, numerically: options & UInt(kRLCompareNumerically) != 0)
}

@implementation @c
public func RLStringFind(_ string: OpaquePointer?, _ stringToFind: OpaquePointer?, _ options: UInt) -> RLRange {
    let nothing = RLRange(location: Int(kRLNotFound), length: 0)
    guard let string = borrow(string, "RLStringFind"), let part = borrow(stringToFind, "RLStringFind", "stringToFind") else {
        return nothing
    }
    let known = UInt(kRLCompareCaseInsensitive | kRLCompareBackwards | kRLCompareAnchored | kRLCompareNonliteral)
    if options & ~known != 0 { Misuse.report("RLStringFind", "options", "contains an unsupported option") }
    let backwards = options & UInt(kRLCompareBackwards) != 0
    let start = backwards ? string.count - part.count : 0
    guard part.count > 0,
        let offset = string.find(
            part, from: start, backwards: backwards, anchored: options & UInt(kRLCompareAnchored) != 0,
            ignoresCase: options & UInt(kRLCompareCaseInsensitive) != 0)
    else { return nothing }
    return RLRange(
        location: Encoding.utf16Length(string.pointee.bytes, offset), length: Encoding.utf16Length(part.pointee.bytes, part.count))
}

@implementation @c
public func RLStringCreateArrayBySeparatingStrings(
    _ allocator: OpaquePointer?, _ string: OpaquePointer?, _ separatorString: OpaquePointer?
) -> OpaquePointer? {
    let function: Name = "RLStringCreateArrayBySeparatingStrings"
    guard let string = borrow(string, function), let separator = borrow(separatorString, function, "separatorString") else { return nil }
    var parts = PlainList<UnsafeRawPointer?>()
    defer { for index in 0..<parts.count { (Handle.storage(parts[index].unsafelyUnwrapped) as StringPointer).release() } }
    var start = 0
    while start <= string.count {
        let next = separator.count == 0 ? nil : string.find(separator, from: start)
        let end = next ?? string.count
        guard let part = StringPointer.create(string.pointee.bytes + start, count: end - start) else { return nil }
        if !parts.append(UnsafeRawPointer(part)) {
            part.release()
            return nil
        }
        start = next == nil ? string.count + 1 : end + separator.count
    }
    return ArrayPointer.create(parts.elements, count: parts.count, .ofObjects)?.handle
}

extension StringPointer {
    /// Returns the offset of the first character from `start` on that is not one of CF's spaces: control characters, U+0020, U+007F to
    /// U+00A0, U+2000 to U+200B and U+3000. O(n).
    fileprivate func skipSpaces(from start: Int) -> Int {
        var next = start
        while next < count {
            var index = next
            let character = Encoding.next(of: pointee.bytes, &index)
            switch character {
            case 0...0x20, 0x7F...0xA0, 0x2000...0x200B, 0x3000: next = index
            default: return next
            }
        }
        return next
    }
}

@implementation @c
public func RLStringGetIntValue(_ string: OpaquePointer?) -> Int32 {
    guard let string = borrow(string, "RLStringGetIntValue") else { return 0 }
    let bytes = string.pointee.bytes
    var index = string.skipSpaces(from: 0)
    let isNegative = bytes[index] == UInt8(ascii: "-")
    if isNegative || bytes[index] == UInt8(ascii: "+") { index = string.skipSpaces(from: index + 1) }
    var value = 0
    while Bytes.isDigit(bytes[index]) && value <= Int(UInt32.max) {
        value = value * 10 + Int(bytes[index] - UInt8(ascii: "0"))
        index += 1
    }
    return Int32(clamping: isNegative ? -value : value)
}

@implementation @c
public func RLStringGetDoubleValue(_ string: OpaquePointer?) -> Double {
    guard let string = borrow(string, "RLStringGetDoubleValue") else { return 0 }
    let number = UnsafeRawPointer(string.pointee.bytes + string.skipSpaces(from: 0))
    return strtod(number.assumingMemoryBound(to: CChar.self), nil)
}
