import CLinux
import CRunLoop

// include/RunLoop/RLString.h

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
    return createString(bytes, Int(strlen(cString)), encoding, "RLStringCreateWithCString")
}

@implementation @c
public func RLStringCreateWithBytes(
    _ allocator: OpaquePointer?, _ bytes: UnsafePointer<UInt8>?, _ count: Int, _ encoding: UInt32,
    _ isExternalRepresentation: UInt8
) -> OpaquePointer? {
    guard isSane(bytes, count, "RLStringCreateWithBytes") else { return nil }
    return createString(bytes, count, encoding, "RLStringCreateWithBytes")
}

private func createString(
    _ bytes: UnsafePointer<UInt8>?, _ count: Int, _ encoding: UInt32, _ function: Name
) -> OpaquePointer? {
    guard isKnown(encoding, function) else { return nil }
    if let bytes {
        let isText = encoding == UInt32(kRLStringEncodingASCII) ? Bytes.isASCII(bytes, count) : Bytes.isUTF8(bytes, count)
        if !isText {
            systemError = EILSEQ
            return nil
        }
    }
    return StringPointer.create(bytes, count: count)?.handle
}

private func isKnown(_ encoding: UInt32, _ function: Name) -> Bool {
    if encoding == UInt32(kRLStringEncodingUTF8) || encoding == UInt32(kRLStringEncodingASCII) { return true }
    Misuse.report(function, "encoding", "neither kRLStringEncodingUTF8 nor kRLStringEncodingASCII")
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
        isKnown(encoding, "RLStringGetCStringPtr"), string.hasEncoding(encoding)
    else { return nil }
    return UnsafeRawPointer(string.pointee.bytes).assumingMemoryBound(to: CChar.self)
}

@implementation @c
public func RLStringGetCString(_ string: OpaquePointer?, _ buffer: UnsafeMutablePointer<CChar>?, _ bufferSize: Int, _ encoding: UInt32)
    -> UInt8
{
    guard let string = borrow(string, "RLStringGetCString"),
        isKnown(encoding, "RLStringGetCString")
    else { return 0 }
    guard let buffer else {
        Misuse.report("RLStringGetCString", "buffer", expected: "a buffer", got: nil)
        return 0
    }
    guard string.hasEncoding(encoding), string.count < bufferSize else {
        if bufferSize > 0 { buffer[0] = 0 }
        return 0
    }
    memcpy(buffer, string.pointee.bytes, string.count + 1)
    return 1
}

extension UnsafeMutablePointer where Pointee == StringStorage {
    fileprivate func hasEncoding(_ encoding: UInt32) -> Bool {
        encoding == UInt32(kRLStringEncodingUTF8)
            || (encoding == UInt32(kRLStringEncodingASCII) && Bytes.isASCII(pointee.bytes, count))
    }
}

@implementation @c
public func RLStringCompare(_ string1: OpaquePointer?, _ string2: OpaquePointer?, _ options: UInt) -> Int {
    guard let left = borrow(string1, "RLStringCompare", "string1"),
        let right: StringPointer = Handle.borrow(string2, "RLStringCompare", "string2")
    else { return 0 }
    if options != 0 { Misuse.report("RLStringCompare", "options", "must be 0") }
    return left.compare(right)
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
    return createString(data.bytes, data.pointee.count, encoding, function)
}

@implementation @c
public func RLStringCreateExternalRepresentation(
    _ allocator: OpaquePointer?, _ string: OpaquePointer?, _ encoding: UInt32, _ lossByte: UInt8
) -> OpaquePointer? {
    let function: Name = "RLStringCreateExternalRepresentation"
    guard let string = borrow(string, function), isKnown(encoding, function) else { return nil }
    if string.hasEncoding(encoding) { return DataPointer.create(string.pointee.bytes, count: string.count)?.handle }
    guard lossByte != 0 else {
        systemError = EILSEQ
        return nil
    }
    guard let data = DataPointer.create(nil, count: string.count) else { return nil }
    // One byte for each character: its first one.
    var size = 0
    for index in 0..<string.count {
        let byte = string.pointee.bytes[index]
        if byte & 0xC0 == 0x80 { continue }
        data.pointee.bytes[size] = byte < 0x80 ? byte : lossByte
        size += 1
    }
    data.pointee.count = size
    return data.handle
}

@implementation @c
public func RLStringGetMaximumSizeForEncoding(_ length: Int, _ encoding: UInt32) -> Int {
    let function: Name = "RLStringGetMaximumSizeForEncoding"
    guard isNotNegative(length, function, "length"), isKnown(encoding, function) else { return -1 }
    let (size, overflow) = length.multipliedReportingOverflow(by: encoding == UInt32(kRLStringEncodingASCII) ? 1 : 3)
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

/// As in CF the empty string is in none.
private func contains(_ string: StringPointer, _ part: StringPointer, at start: Int) -> UInt8 {
    guard part.count > 0, start >= 0, start + part.count <= string.count else { return 0 }
    return memcmp(string.pointee.bytes + start, part.pointee.bytes, part.count) == 0 ? 1 : 0
}

@implementation @c
public func RLStringGetIntValue(_ string: OpaquePointer?) -> Int32 {
    guard let string = borrow(string, "RLStringGetIntValue") else { return 0 }
    return Int32(clamping: strtol(UnsafeRawPointer(string.pointee.bytes).assumingMemoryBound(to: CChar.self), nil, 10))
}

@implementation @c
public func RLStringGetDoubleValue(_ string: OpaquePointer?) -> Double {
    guard let string = borrow(string, "RLStringGetDoubleValue") else { return 0 }
    return strtod(UnsafeRawPointer(string.pointee.bytes).assumingMemoryBound(to: CChar.self), nil)
}
