import CLinux
import CRunLoop

// The functions that include/RunLoop/RLString.h declares and documents.

@inline(never)
private func borrow(_ string: OpaquePointer?, _ function: Name, _ name: Name = "string") -> StringPointer? {
    Handle.borrow(string, function, name)
}

@implementation @c
public func RLStringGetTypeID() -> UInt { Kind.string.typeID }

@implementation @c
public func RLStringCreateWithCString(_ allocator: OpaquePointer?, _ cString: UnsafePointer<CChar>?, _ encoding: UInt32) -> OpaquePointer? {
    guard let cString else {
        Misuse.report("RLStringCreateWithCString", "cString", expected: "a C string", got: nil)
        return nil
    }
    let bytes = UnsafeRawPointer(cString).assumingMemoryBound(to: UInt8.self)
    return createString(bytes, Int(strlen(cString)), encoding, false, "RLStringCreateWithCString")
}

@implementation @c
public func RLStringCreateWithBytes(
    _ allocator: OpaquePointer?, _ bytes: UnsafePointer<UInt8>?, _ count: Int, _ encoding: UInt32,
    _ isExternalRepresentation: UInt8
) -> OpaquePointer? {
    guard checkBuffer(bytes, count, "RLStringCreateWithBytes") else { return nil }
    return createString(bytes, count, encoding, isExternalRepresentation != 0, "RLStringCreateWithBytes")
}

@implementation @c
public func RLStringCreateWithBytesNoCopy(
    _ allocator: OpaquePointer?, _ bytes: UnsafePointer<UInt8>?, _ count: Int, _ encoding: UInt32,
    _ isExternalRepresentation: UInt8, _ contentsDeallocator: OpaquePointer?
) -> OpaquePointer? {
    guard checkBuffer(bytes, count, "RLStringCreateWithBytesNoCopy") else { return nil }
    let string = createString(bytes, count, encoding, isExternalRepresentation != 0, "RLStringCreateWithBytesNoCopy")
    if string != nil && contentsDeallocator != kRLAllocatorNull { free(UnsafeMutableRawPointer(mutating: bytes)) }
    return string
}

private func createString(
    _ bytes: UnsafePointer<UInt8>?, _ count: Int, _ encoding: UInt32, _ isExternal: Bool, _ function: Name
) -> OpaquePointer? {
    guard let known = Encoding(encoding) else {
        reportEncoding(function)
        return nil
    }
    guard let bytes else { return StringPointer.create(nil, count: 0)?.handle }
    if known == .ascii && Bytes.isASCII(bytes, count) { return StringPointer.create(bytes, count: count)?.handle }
    if known == .utf8 && Bytes.isUTF8(bytes, count) {
        let skipped = Encoding.markLength(bytes, count)
        return StringPointer.create(bytes + skipped, count: count - skipped)?.handle
    }
    guard known != .utf8, let size = known.convert(bytes, count, isExternal, into: nil) else {
        systemError = EILSEQ
        return nil
    }
    guard let string = StringPointer.create(nil, count: size) else { return nil }
    _ = known.convert(bytes, count, isExternal, into: UnsafeMutablePointer(mutating: string.pointee.bytes))
    return string.handle
}

@inline(never)
private func reportEncoding(_ function: Name) { Misuse.report(function, "encoding", "not one of the kRLStringEncoding constants") }

/// Checks that an encoding is one of the constants: see `Arguments.swift`.
private func checkEncoding(_ encoding: UInt32, _ function: Name) -> Bool {
    if Encoding(encoding) != nil { return true }
    reportEncoding(function)
    return false
}

@implementation @c
public func RLStringMakeConstant(_ cString: UnsafePointer<CChar>?) -> OpaquePointer? {
    guard let cString else {
        Misuse.report("RLStringMakeConstant", "cString", expected: "a C string", got: nil)
        return nil
    }
    let count = Int(strlen(cString))
    let bytes = UnsafeRawPointer(cString).assumingMemoryBound(to: UInt8.self)
    guard Bytes.isUTF8(bytes, count) else {
        systemError = EILSEQ
        return nil
    }
    // fork() has to acquire the table's lock, whether or not there is a loop.
    guard Registry.prepare() else { return nil }
    return InternedStrings.string(bytes, count: count)?.handle
}

@implementation @c
public func RLStringGetLength(_ string: OpaquePointer?) -> Int {
    let string = borrow(string, "RLStringGetLength")
    return string?.utf16Length ?? 0
}

@implementation @c
public func RLStringGetByteCount(_ string: OpaquePointer?) -> Int {
    let string = borrow(string, "RLStringGetByteCount")
    return string?.count ?? 0
}

@implementation @c
public func RLStringGetCStringPtr(_ string: OpaquePointer?, _ encoding: UInt32) -> UnsafePointer<CChar>? {
    guard let string = borrow(string, "RLStringGetCStringPtr"),
        checkEncoding(encoding, "RLStringGetCStringPtr"), string.bytesAreIn(encoding)
    else { return nil }
    return UnsafeRawPointer(string.pointee.bytes).assumingMemoryBound(to: CChar.self)
}

/// Returns the text of a format, for Format.c; nil, after a diagnostic that names `function`, if the handle is not that of a string.
@c(runloop_format)
public func textOfFormat(_ format: OpaquePointer?, _ function: UnsafePointer<CChar>) -> UnsafePointer<CChar>? {
    let string = borrow(format, Name(function), "format")
    return string.map { UnsafeRawPointer($0.pointee.bytes).assumingMemoryBound(to: CChar.self) }
}

@implementation @c
public func RLStringGetCString(_ string: OpaquePointer?, _ buffer: UnsafeMutablePointer<CChar>?, _ bufferSize: Int, _ encoding: UInt32)
    -> UInt8
{
    guard let string = borrow(string, "RLStringGetCString"),
        checkEncoding(encoding, "RLStringGetCString")
    else { return 0 }
    guard let buffer else {
        Misuse.report("RLStringGetCString", "buffer", expected: "a buffer", got: nil)
        return 0
    }
    guard string.bytesAreIn(encoding) else {
        let bytes = UnsafeMutableRawPointer(buffer).assumingMemoryBound(to: UInt8.self)
        var copied = Copied()
        if bufferSize > 0 { copied = string.copy(from: 0, .max, to: encoding, loss: 0, mark: false, bytes, room: bufferSize - 1) }
        if bufferSize > 0 { buffer[copied.isComplete ? copied.bytes : 0] = 0 }
        return copied.isComplete && bufferSize > 0 ? 1 : 0
    }
    guard string.count < bufferSize else {
        if bufferSize > 0 { buffer[0] = 0 }
        return 0
    }
    memcpy(buffer, string.pointee.bytes, string.count + 1)
    return 1
}

extension StringPointer {
    /// Whether the string's bytes, which are UTF-8, are also its bytes in `encoding`, so that they can be copied without conversion.
    fileprivate func bytesAreIn(_ encoding: UInt32) -> Bool {
        encoding == UInt32(kRLStringEncodingUTF8)
            || (Encoding(encoding)?.includesASCII == true && Bytes.isASCII(pointee.bytes, count))
    }
}

/// How much of a string has been converted into a buffer.
private struct Copied {
    /// The number of UTF-16 code units that have been converted.
    var units = 0
    var bytes = 0
    /// Whether everything that was requested has been converted.
    var isComplete = false
}

extension StringPointer {
    /// Converts `length` UTF-16 code units from `start` on into an encoding. Stops at the first character that does not fit, or that the
    /// encoding lacks if `loss` is 0; otherwise the byte `loss` replaces each code unit of such a character, in Mac Roman the character.
    /// Where the range cuts a surrogate pair, the half is kept in UTF-16, stops a conversion to UTF-8, as in CF, and is replaced in other
    /// encodings. With `mark`, a byte order mark comes first in UTF-16 and UTF-32 without a named byte order. If `buffer` is nil, only
    /// counts. O(n).
    fileprivate func copy(
        from start: Int, _ length: Int, to encoding: UInt32, loss: UInt8, mark: Bool, _ buffer: UnsafeMutablePointer<UInt8>?, room: Int
    ) -> Copied {
        var copied = Copied()
        guard let encoding = Encoding(encoding) else { return copied }
        var encoded = InlineArray<4, UInt8>(repeating: 0)
        /// Appends the encoded bytes. Returns false if nothing was encoded, or if it does not fit.
        func write(_ size: Int) -> Bool {
            if let buffer {
                if size > room - copied.bytes { return false }
                for index in 0..<size { buffer[copied.bytes + index] = encoded[index] }
            }
            copied.bytes += size
            return size > 0
        }
        if mark && (encoding == .utf16 || encoding == .utf32) && !write(encoding.encode(0xFEFF, &encoded)) { return copied }
        var (byteIndex, position) = (0, 0)
        while byteIndex < count && copied.units < length {
            let character = Encoding.next(of: pointee.bytes, &byteIndex)
            let units = character < 0x10000 ? 1 : 2
            let begin = position
            position += units
            if position <= start { continue }
            if encoding.width != 2 && begin >= start && copied.units + units <= length {
                var size = encoding.encode(character, &encoded)
                if size == 0 && loss != 0 && encoding == .macRoman { size = encoding.encode(UInt32(loss), &encoded) }
                if size > 0 {
                    if !write(size) { return copied }
                    copied.units += units
                    continue
                }
            }
            for unit in max(begin, start)..<position where copied.units < length {
                let half = units == 1 ? character : unit == begin ? 0xD7C0 + character >> 10 : 0xDC00 + character & 0x3FF
                let replacement = encoding.width == 2 ? half : encoding == .utf8 ? 0 : UInt32(loss)
                if replacement == 0 && encoding.width != 2 || !write(encoding.encode(replacement, &encoded)) { return copied }
                copied.units += 1
            }
        }
        copied.isComplete = true
        return copied
    }
}

@implementation @c
public func RLStringGetBytes(
    _ string: OpaquePointer?, _ range: RLRange, _ encoding: UInt32, _ lossByte: UInt8, _ isExternalRepresentation: UInt8,
    _ buffer: UnsafeMutablePointer<UInt8>?, _ maxBufLen: Int, _ usedBufLen: UnsafeMutablePointer<Int>?
) -> Int {
    let function: Name = "RLStringGetBytes"
    usedBufLen?.pointee = 0
    guard let string = borrow(string, function), checkEncoding(encoding, function),
        checkRange(range, string.utf16Length, function), buffer == nil || checkNotNegative(maxBufLen, function, "maxBufLen")
    else { return 0 }
    let copied = string.copy(
        from: range.location, range.length, to: encoding, loss: lossByte, mark: isExternalRepresentation != 0, buffer, room: maxBufLen)
    usedBufLen?.pointee = copied.bytes
    return copied.units
}

@implementation @c
public func RLStringCreateCopy(_ allocator: OpaquePointer?, _ string: OpaquePointer?) -> OpaquePointer? {
    guard let string = borrow(string, "RLStringCreateCopy") else { return nil }
    string.retain()
    return string.handle
}

@implementation @c
public func RLStringCreateWithCStringNoCopy(
    _ allocator: OpaquePointer?, _ cString: UnsafePointer<CChar>?, _ encoding: UInt32, _ contentsDeallocator: OpaquePointer?
) -> OpaquePointer? {
    let string = RLStringCreateWithCString(allocator, cString, encoding)
    if string != nil && contentsDeallocator != kRLAllocatorNull { free(UnsafeMutableRawPointer(mutating: cString)) }
    return string
}

@implementation @c
public func RLStringCreateFromExternalRepresentation(_ allocator: OpaquePointer?, _ data: OpaquePointer?, _ encoding: UInt32)
    -> OpaquePointer?
{
    let function: Name = "RLStringCreateFromExternalRepresentation"
    guard let data: DataPointer = Handle.borrow(data, function, "data") else { return nil }
    return createString(data.bytes, data.pointee.count, encoding, true, function)
}

@implementation @c
public func RLStringCreateExternalRepresentation(
    _ allocator: OpaquePointer?, _ string: OpaquePointer?, _ encoding: UInt32, _ lossByte: UInt8
) -> OpaquePointer? {
    let function: Name = "RLStringCreateExternalRepresentation"
    guard let string = borrow(string, function), checkEncoding(encoding, function) else { return nil }
    if string.bytesAreIn(encoding) { return DataPointer.create(string.pointee.bytes, count: string.count)?.handle }
    let needed = string.copy(from: 0, .max, to: encoding, loss: lossByte, mark: true, nil, room: 0)
    guard needed.isComplete else {
        systemError = EILSEQ
        return nil
    }
    guard let data = DataPointer.create(nil, count: needed.bytes) else { return nil }
    _ = string.copy(from: 0, .max, to: encoding, loss: lossByte, mark: true, data.pointee.bytes, room: needed.bytes)
    return data.handle
}

@implementation @c
public func RLStringGetMaximumSizeForEncoding(_ length: Int, _ encoding: UInt32) -> Int {
    let function: Name = "RLStringGetMaximumSizeForEncoding"
    guard checkNotNegative(length, function, "length"), checkEncoding(encoding, function) else { return -1 }
    let (size, overflow) = length.multipliedReportingOverflow(by: Encoding(encoding)?.largest ?? 1)
    return overflow ? -1 : size
}

@implementation @c
public func RLStringGetSystemEncoding() -> UInt32 { UInt32(kRLStringEncodingUTF8) }

@implementation @c
public func RLStringHasPrefix(_ string: OpaquePointer?, _ prefix: OpaquePointer?) -> UInt8 {
    guard let string = borrow(string, "RLStringHasPrefix"),
        let prefix = borrow(prefix, "RLStringHasPrefix", "prefix")
    else { return 0 }
    return contains(string, prefix, at: 0)
}

@implementation @c
public func RLStringHasSuffix(_ string: OpaquePointer?, _ suffix: OpaquePointer?) -> UInt8 {
    guard let string = borrow(string, "RLStringHasSuffix"),
        let suffix = borrow(suffix, "RLStringHasSuffix", "suffix")
    else { return 0 }
    return contains(string, suffix, at: string.count - suffix.count)
}

/// Returns whether a string contains `part` at the byte `start`. As in CF, no string contains the empty string.
private func contains(_ string: StringPointer, _ part: StringPointer, at start: Int) -> UInt8 {
    guard part.count > 0, start >= 0, start + part.count <= string.count else { return 0 }
    return memcmp(string.pointee.bytes + start, part.pointee.bytes, part.count) == 0 ? 1 : 0
}
