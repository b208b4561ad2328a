import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit

// include/RunLoopKit/RLFileWatch.h

@implementation @c
public func RLFileWatchCreate(
    _ allocator: OpaquePointer?, _ paths: UnsafePointer<UnsafePointer<CChar>?>?, _ latency: Double, _ flags: UInt,
    _ callout: RLFileWatchCallBack?, _ context: UnsafePointer<RLFileWatchContext>?
) -> OpaquePointer? {
    guard let paths, hasOnlyPaths(paths) else {
        Misuse.report("RLFileWatchCreate", "paths", "NULL, empty, or contains an empty path")
        return nil
    }
    guard latency >= 0 else {
        Misuse.report("RLFileWatchCreate", "latency", "negative or not a number")
        return nil
    }
    guard flags & ~UInt(kRLFileWatchNoDefer | kRLFileWatchNotRecursive) == 0 else {
        Misuse.report("RLFileWatchCreate", "flags", "unknown flag")
        return nil
    }
    guard let callout else {
        Misuse.report("RLFileWatchCreate", "callout", expected: "a function", got: "NULL")
        return nil
    }
    guard let client = ClientContext.load(context, "RLFileWatchCreate") else { return nil }
    return FileWatch.create(paths, UInt64(min(latency, 1e9) * 1e9), flags, callout, client)
}

/// Whether there is at least one path and none is empty.
private func hasOnlyPaths(_ paths: UnsafePointer<UnsafePointer<CChar>?>) -> Bool {
    var next = paths
    while let path = next.pointee {
        if path.pointee == 0 { return false }
        next += 1
    }
    return next != paths
}

@implementation @c
public func RLFileWatchGetWatchCount(_ watch: OpaquePointer?) -> Int {
    guard let watch: FileWatchPointer = KitObject.borrow(watch, "RLFileWatchGetWatchCount", "watch") else { return 0 }
    return watch.watchCount
}
