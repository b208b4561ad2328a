import CLinux
import CRunLoop

// include/RunLoop/RLString.h

@implementation @_cdecl("RLStringGetTypeID")
public func RLStringGetTypeID() -> UInt { Kind.string.typeID }

@implementation @_cdecl("RLStringCreateWithCString")
public func RLStringCreateWithCString(_ allocator: OpaquePointer?, _ cString: UnsafePointer<CChar>?, _ encoding: UInt32) -> OpaquePointer? {
    guard let cString else {
        Misuse.report("RLStringCreateWithCString", "cString", expected: "a C string", got: nil)
        return nil
    }
    let bytes = UnsafeRawPointer(cString).assumingMemoryBound(to: UInt8.self)
    return createString(bytes, Int(strlen(cString)), encoding, "RLStringCreateWithCString")
}

@implementation @_cdecl("RLStringCreateWithBytes")
public func RLStringCreateWithBytes(
    _ allocator: OpaquePointer?, _ bytes: UnsafePointer<UInt8>?, _ count: Int, _ encoding: UInt32,
    _ isExternalRepresentation: UInt8
) -> OpaquePointer? {
    guard isSane(bytes, count, "RLStringCreateWithBytes") else { return nil }
    return createString(bytes, count, encoding, "RLStringCreateWithBytes")
}

private func createString(
    _ bytes: UnsafePointer<UInt8>?, _ count: Int, _ encoding: UInt32, _ function: StaticString
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

private func isKnown(_ encoding: UInt32, _ function: StaticString) -> Bool {
    if encoding == UInt32(kRLStringEncodingUTF8) || encoding == UInt32(kRLStringEncodingASCII) { return true }
    Misuse.report(function, "encoding", "neither kRLStringEncodingUTF8 nor kRLStringEncodingASCII")
    return false
}

@implementation @_cdecl("RLStringMakeConstant")
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

@implementation @_cdecl("RLStringGetLength")
public func RLStringGetLength(_ string: OpaquePointer?) -> Int {
    let string: StringPointer? = Handle.borrow(string, "RLStringGetLength", "string")
    return string?.utf16Length ?? 0
}

@implementation @_cdecl("RLStringGetByteCount")
public func RLStringGetByteCount(_ string: OpaquePointer?) -> Int {
    let string: StringPointer? = Handle.borrow(string, "RLStringGetByteCount", "string")
    return string?.count ?? 0
}

@implementation @_cdecl("RLStringGetCStringPtr")
public func RLStringGetCStringPtr(_ string: OpaquePointer?, _ encoding: UInt32) -> UnsafePointer<CChar>? {
    guard let string: StringPointer = Handle.borrow(string, "RLStringGetCStringPtr", "string"),
        isKnown(encoding, "RLStringGetCStringPtr"), string.hasEncoding(encoding)
    else { return nil }
    return UnsafeRawPointer(string.pointee.bytes).assumingMemoryBound(to: CChar.self)
}

@implementation @_cdecl("RLStringGetCString")
public func RLStringGetCString(_ string: OpaquePointer?, _ buffer: UnsafeMutablePointer<CChar>?, _ bufferSize: Int, _ encoding: UInt32)
    -> UInt8
{
    guard let string: StringPointer = Handle.borrow(string, "RLStringGetCString", "string"),
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

@implementation @_cdecl("RLStringCompare")
public func RLStringCompare(_ string1: OpaquePointer?, _ string2: OpaquePointer?, _ options: UInt) -> Int {
    guard let left: StringPointer = Handle.borrow(string1, "RLStringCompare", "string1"),
        let right: StringPointer = Handle.borrow(string2, "RLStringCompare", "string2")
    else { return 0 }
    if options != 0 { Misuse.report("RLStringCompare", "options", "must be 0") }
    return left.compare(right)
}
