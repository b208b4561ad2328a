import CLinux
import CRunLoop

// include/RunLoop/RLData.h

@implementation @_cdecl("RLDataGetTypeID")
public func RLDataGetTypeID() -> UInt { Kind.data.typeID }

@implementation @_cdecl("RLDataCreate")
public func RLDataCreate(_ allocator: OpaquePointer?, _ bytes: UnsafePointer<UInt8>?, _ length: Int) -> OpaquePointer? {
    guard isSane(bytes, length, "RLDataCreate", "length") else { return nil }
    return DataPointer.create(bytes, count: length)?.handle
}

@implementation @_cdecl("RLDataGetLength")
public func RLDataGetLength(_ data: OpaquePointer?) -> Int {
    let data: DataPointer? = Handle.borrow(data, "RLDataGetLength", "data")
    return data?.pointee.count ?? 0
}

@implementation @_cdecl("RLDataGetBytePtr")
public func RLDataGetBytePtr(_ data: OpaquePointer?) -> UnsafePointer<UInt8>? {
    let data: DataPointer? = Handle.borrow(data, "RLDataGetBytePtr", "data")
    return data?.bytes
}

@implementation @_cdecl("RLDataGetBytes")
public func RLDataGetBytes(_ data: OpaquePointer?, _ range: RLRange, _ buffer: UnsafeMutablePointer<UInt8>?) {
    guard let data: DataPointer = Handle.borrow(data, "RLDataGetBytes", "data"),
        isInside(range, data.pointee.count, "RLDataGetBytes")
    else { return }
    guard let buffer else {
        if range.length > 0 { Misuse.report("RLDataGetBytes", "buffer", expected: "a buffer", got: nil) }
        return
    }
    memcpy(buffer, data.bytes + range.location, range.length)
}
