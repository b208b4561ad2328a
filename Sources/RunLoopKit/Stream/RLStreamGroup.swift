import CLinux
import CRunLoop
import CRunLoopKit

// include/RunLoopKit/RLStreamGroup.h

private func borrow(_ group: OpaquePointer?, _ function: Name) -> StreamGroupPointer? { KitObject.borrow(group, function, "group") }

private func borrow(_ stream: OpaquePointer?, _ function: Name, _ parameter: Name) -> StreamPointer? {
    KitObject.borrow(stream, function, parameter)
}

@implementation @c
public func RLStreamGroupCreate(_ allocator: OpaquePointer?) -> OpaquePointer? { KitObject.prepare() ? StreamGroup.create() : nil }

@implementation @c
public func RLStreamGroupAdd(_ group: OpaquePointer?, _ stream: OpaquePointer?) -> Int {
    guard let group = borrow(group, "RLStreamGroupAdd"), let stream = borrow(stream, "RLStreamGroupAdd", "stream") else { return 0 }
    return group.add(stream)
}

@implementation @c
public func RLStreamGroupRemove(_ group: OpaquePointer?, _ stream: OpaquePointer?) -> UInt8 {
    guard let group = borrow(group, "RLStreamGroupRemove"), let stream = borrow(stream, "RLStreamGroupRemove", "stream") else { return 0 }
    return group.remove(stream) ? 1 : 0
}

@implementation @c
public func RLStreamGroupGetCount(_ group: OpaquePointer?) -> Int { borrow(group, "RLStreamGroupGetCount")?.countNow ?? 0 }

@implementation @c
public func RLStreamGroupWrite(_ group: OpaquePointer?, _ bytes: UnsafeRawPointer?, _ length: Int, _ except: OpaquePointer?) -> Int {
    guard let group = borrow(group, "RLStreamGroupWrite") else { return 0 }
    var skipped: StreamPointer?
    if except != nil {
        skipped = borrow(except, "RLStreamGroupWrite", "except")
        if skipped == nil { return 0 }
    }
    if length < 0 {
        Misuse.report("RLStreamGroupWrite", "length", "negative")
        return 0
    }
    if length == 0 { return 0 }
    guard let bytes else {
        Misuse.report("RLStreamGroupWrite", "bytes", expected: "bytes", got: "NULL")
        return 0
    }
    return group.write(bytes.assumingMemoryBound(to: UInt8.self), length, except: skipped)
}
