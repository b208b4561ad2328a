import CLinux
import CRunLoop

// The functions that include/RunLoop/RLData.h declares and documents.

/// Returns the data object behind a handle; otherwise reports the mistake and returns nil.
@inline(never)
private func borrow(_ data: OpaquePointer?, _ function: Name) -> DataPointer? { Handle.borrow(data, function, "data") }

/// Returns the data object behind a handle if it is mutable; otherwise reports the mistake and returns nil.
@inline(never)
private func borrowMutable(_ data: OpaquePointer?, _ function: Name) -> DataPointer? {
    guard let data = borrow(data, function) else { return nil }
    if data.pointee.payloadLocation == .growing { return data }
    Misuse.report(function, "data", "not mutable")
    return nil
}

@implementation @c
public func RLDataGetTypeID() -> UInt { Kind.data.typeID }

@implementation @c
public func RLDataCreate(_ allocator: OpaquePointer?, _ bytes: UnsafePointer<UInt8>?, _ length: Int) -> OpaquePointer? {
    guard checkBuffer(bytes, length, "RLDataCreate", "length") else { return nil }
    return DataPointer.create(bytes, count: length)?.handle
}

@implementation @c
public func RLDataCreateWithBytesNoCopy(
    _ allocator: OpaquePointer?, _ bytes: UnsafePointer<UInt8>?, _ length: Int, _ bytesDeallocator: OpaquePointer?
) -> OpaquePointer? {
    guard checkBuffer(bytes, length, "RLDataCreateWithBytesNoCopy", "length") else { return nil }
    guard let bytes else { return DataPointer.create(nil, count: 0)?.handle }
    return DataPointer.create(
        around: UnsafeMutablePointer(mutating: bytes), count: length, bytesDeallocator == kRLAllocatorNull ? .noCopy : .adopted)?.handle
}

@implementation @c
public func RLDataCreateCopy(_ allocator: OpaquePointer?, _ data: OpaquePointer?) -> OpaquePointer? {
    borrow(data, "RLDataCreateCopy")?.lastingCopy()?.handle
}

@implementation @c
public func RLDataCreateMutable(_ allocator: OpaquePointer?, _ capacity: Int) -> OpaquePointer? {
    guard checkNotNegative(capacity, "RLDataCreateMutable", "capacity") else { return nil }
    return DataPointer.createMutable(capacity: capacity)?.handle
}

@implementation @c
public func RLDataCreateMutableCopy(_ allocator: OpaquePointer?, _ capacity: Int, _ data: OpaquePointer?) -> OpaquePointer? {
    guard let data = borrow(data, "RLDataCreateMutableCopy"), checkNotNegative(capacity, "RLDataCreateMutableCopy", "capacity"),
        let copy = DataPointer.createMutable(capacity: max(capacity, data.pointee.count))
    else { return nil }
    _ = copy.replace(0, 0, with: data.bytes, count: data.pointee.count)
    return copy.handle
}

@implementation @c
public func RLDataGetLength(_ data: OpaquePointer?) -> Int { borrow(data, "RLDataGetLength")?.pointee.count ?? 0 }

@implementation @c
public func RLDataGetBytePtr(_ data: OpaquePointer?) -> UnsafePointer<UInt8>? { borrow(data, "RLDataGetBytePtr")?.bytes }

@implementation @c
public func RLDataGetMutableBytePtr(_ data: OpaquePointer?) -> UnsafeMutablePointer<UInt8>? {
    borrowMutable(data, "RLDataGetMutableBytePtr")?.pointee.bytes
}

@implementation @c
public func RLDataGetBytes(_ data: OpaquePointer?, _ range: RLRange, _ buffer: UnsafeMutablePointer<UInt8>?) {
    guard let data = borrow(data, "RLDataGetBytes"), checkRange(range, data.pointee.count, "RLDataGetBytes") else { return }
    guard let buffer else {
        if range.length > 0 { Misuse.report("RLDataGetBytes", "buffer", expected: "a buffer", got: nil) }
        return
    }
    memcpy(buffer, data.bytes + range.location, range.length)
}

@implementation @c
public func RLDataSetLength(_ data: OpaquePointer?, _ length: Int) {
    guard let data = borrowMutable(data, "RLDataSetLength"), checkNotNegative(length, "RLDataSetLength", "length") else { return }
    let count = data.pointee.count
    if length < count { data.pointee.count = length } else { _ = data.replace(count, 0, with: nil, count: length - count) }
}

@implementation @c
public func RLDataIncreaseLength(_ data: OpaquePointer?, _ extraLength: Int) {
    guard let data = borrowMutable(data, "RLDataIncreaseLength"), checkNotNegative(extraLength, "RLDataIncreaseLength", "extraLength")
    else { return }
    _ = data.replace(data.pointee.count, 0, with: nil, count: extraLength)
}

@implementation @c
public func RLDataAppendBytes(_ data: OpaquePointer?, _ bytes: UnsafePointer<UInt8>?, _ length: Int) {
    guard let data = borrowMutable(data, "RLDataAppendBytes"), checkBuffer(bytes, length, "RLDataAppendBytes", "length") else { return }
    _ = data.replace(data.pointee.count, 0, with: bytes, count: length)
}

@implementation @c
public func RLDataReplaceBytes(_ data: OpaquePointer?, _ range: RLRange, _ newBytes: UnsafePointer<UInt8>?, _ newLength: Int) {
    guard let data = borrowMutable(data, "RLDataReplaceBytes"), checkNotNegative(newLength, "RLDataReplaceBytes", "newLength"),
        checkRange(range, data.pointee.count, "RLDataReplaceBytes")
    else { return }
    // Unlike in `RLDataAppendBytes`, NULL is valid here: it stands for `newLength` bytes with the value 0.
    _ = data.replace(range.location, range.length, with: newBytes, count: newLength)
}

@implementation @c
public func RLDataDeleteBytes(_ data: OpaquePointer?, _ range: RLRange) {
    guard let data = borrowMutable(data, "RLDataDeleteBytes"), checkRange(range, data.pointee.count, "RLDataDeleteBytes") else { return }
    _ = data.replace(range.location, range.length, with: nil, count: 0)
}

@implementation @c
public func RLDataFind(_ data: OpaquePointer?, _ dataToFind: OpaquePointer?, _ searchRange: RLRange, _ options: UInt) -> RLRange {
    guard let data = borrow(data, "RLDataFind"), let pattern: DataPointer = Handle.borrow(dataToFind, "RLDataFind", "dataToFind"),
        checkRange(searchRange, data.pointee.count, "RLDataFind", "searchRange"),
        let offset = data.find(
            pattern, from: searchRange.location, searchRange.length,
            backwards: options & UInt(kRLDataSearchBackwards) != 0, anchored: options & UInt(kRLDataSearchAnchored) != 0)
    else { return RLRange(location: -1, length: 0) }
    return RLRange(location: offset, length: pattern.pointee.count)
}
