import CLinux
import CRunLoop

// include/RunLoop/RLArray.h

@implementation @_cdecl("RLArrayGetTypeID")
public func RLArrayGetTypeID() -> UInt { Kind.array.typeID }

@implementation @_cdecl("RLArrayCreate")
public func RLArrayCreate(
    _ allocator: OpaquePointer?, _ values: UnsafeMutablePointer<UnsafeRawPointer?>?, _ count: Int,
    _ callBacks: UnsafePointer<RLArrayCallBacks>?
) -> OpaquePointer? {
    if count < 0 {
        Misuse.report("RLArrayCreate", "count", "negative")
        return nil
    }
    if values == nil && count > 0 {
        Misuse.report("RLArrayCreate", "values", expected: "values", got: nil)
        return nil
    }
    if let callBacks, callBacks.pointee.version != 0 {
        Misuse.report("RLArrayCreate", "callBacks", "version must be 0")
        return nil
    }
    return ArrayPointer.create(UnsafePointer(values), count: count, callBacks?.pointee ?? RLArrayCallBacks())?.handle
}

@implementation @_cdecl("RLArrayGetCount")
public func RLArrayGetCount(_ array: OpaquePointer?) -> Int {
    let array: ArrayPointer? = Handle.borrow(array, "RLArrayGetCount", "array")
    return array?.pointee.count ?? 0
}

@implementation @_cdecl("RLArrayGetValueAtIndex")
public func RLArrayGetValueAtIndex(_ array: OpaquePointer?, _ index: Int) -> UnsafeRawPointer? {
    guard let array: ArrayPointer = Handle.borrow(array, "RLArrayGetValueAtIndex", "array") else { return nil }
    guard index >= 0 && index < array.pointee.count else {
        Misuse.report("RLArrayGetValueAtIndex", "index", "out of bounds")
        return nil
    }
    return array[value: index]
}

@implementation @_cdecl("RLArrayContainsValue")
public func RLArrayContainsValue(_ array: OpaquePointer?, _ range: RLRange, _ value: UnsafeRawPointer?) -> UInt8 {
    guard let array: ArrayPointer = Handle.borrow(array, "RLArrayContainsValue", "array"),
        isInside(range, array.pointee.count, "RLArrayContainsValue")
    else { return 0 }
    return array.contains(value, from: range.location, range.length) ? 1 : 0
}
