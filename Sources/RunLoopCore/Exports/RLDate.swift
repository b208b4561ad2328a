import CLinux
import CRunLoop

// The functions that include/RunLoop/RLDate.h declares and documents.

@inline(never)
private func borrow(_ date: OpaquePointer?, _ function: Name, _ name: Name = "date") -> DatePointer? {
    Handle.borrow(date, function, name)
}

@implementation @c
public func RLDateGetTypeID() -> UInt { Kind.date.typeID }

@implementation @c
public func RLDateCreate(_ allocator: OpaquePointer?, _ at: Double) -> OpaquePointer? { DatePointer.create(at)?.handle }

@implementation @c
public func RLDateGetAbsoluteTime(_ date: OpaquePointer?) -> Double { borrow(date, "RLDateGetAbsoluteTime")?.pointee.time ?? 0 }

@implementation @c
public func RLDateGetTimeIntervalSinceDate(_ date: OpaquePointer?, _ otherDate: OpaquePointer?) -> Double {
    guard let date = borrow(date, "RLDateGetTimeIntervalSinceDate"),
        let other = borrow(otherDate, "RLDateGetTimeIntervalSinceDate", "otherDate")
    else { return 0 }
    return date.pointee.time - other.pointee.time
}

@implementation @c
public func RLDateCompare(_ date: OpaquePointer?, _ otherDate: OpaquePointer?, _ context: UnsafeMutableRawPointer?) -> Int {
    guard let date = borrow(date, "RLDateCompare"), let other = borrow(otherDate, "RLDateCompare", "otherDate") else { return 0 }
    return date.pointee.time < other.pointee.time ? -1 : date.pointee.time > other.pointee.time ? 1 : 0
}
