import CLinux
import CRunLoop

// include/RunLoop/RLString.h: finding and splitting

@inline(never)
private func borrow(_ string: OpaquePointer?, _ function: Name, _ name: Name = "string") -> StringPointer? {
    Handle.borrow(string, function, name)
}

extension StringPointer {
    /// The offset of `part`, searched forwards or backwards from `start`; nil if it is not there. O(n · m), usually O(n).
    fileprivate func find(_ part: StringPointer, from start: Int, backwards: Bool, ignoresCase: Bool) -> Int? {
        let (bytes, wanted, size) = (pointee.bytes, part.pointee.bytes, part.count)
        var offset = start
        while offset >= 0 && offset <= count - size {
            var same = 0
            while same < size
                && (bytes[offset + same] == wanted[same]
                    || (ignoresCase && Bytes.lower(bytes[offset + same]) == Bytes.lower(wanted[same])))
            { same += 1 }
            if same == size { return offset }
            offset += backwards ? -1 : 1
        }
        return nil
    }
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
        let offset = string.find(part, from: start, backwards: backwards, ignoresCase: options & UInt(kRLCompareCaseInsensitive) != 0),
        options & UInt(kRLCompareAnchored) == 0 || offset == start
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
        let next = separator.count == 0 ? nil : string.find(separator, from: start, backwards: false, ignoresCase: false)
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
