import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit

// include/RunLoopKit/RLServer.h

/// The context of the streams; nil after a diagnostic, or with errno, if there is none. A server without any callback would be of no use.
private func load(
    _ accepted: RLServerCallBack?, _ callout: RLStreamCallBack?, _ context: UnsafePointer<RLStreamContext>?, _ function: Name
) -> ClientContext? {
    if accepted == nil && callout == nil {
        Misuse.report(function, "callout", expected: "a function", got: "NULL")
        return nil
    }
    return ClientContext.load(context, function)
}

@implementation @c
public func RLServerCreate(
    _ allocator: OpaquePointer?, _ descriptor: Int32, _ closeOnInvalidate: UInt8, _ accepted: RLServerCallBack?,
    _ callout: RLStreamCallBack?, _ context: UnsafePointer<RLStreamContext>?
) -> OpaquePointer? {
    guard let client = load(accepted, callout, context, "RLServerCreate") else { return nil }
    if linux_is_listening(descriptor) == 0 {
        Misuse.report("RLServerCreate", "descriptor", "not a stream socket that listens")
        return nil
    }
    return Server.make(accepted, callout, client) { Listener.make(descriptor, closes: closeOnInvalidate != 0, $0, $1, named: $2) }
}

@implementation @c
public func RLServerCreateWithHost(
    _ allocator: OpaquePointer?, _ host: UnsafePointer<CChar>?, _ service: UnsafePointer<CChar>?, _ accepted: RLServerCallBack?,
    _ callout: RLStreamCallBack?, _ context: UnsafePointer<RLStreamContext>?
) -> OpaquePointer? {
    guard let client = load(accepted, callout, context, "RLServerCreateWithHost") else { return nil }
    return Server.make(accepted, callout, client) { Listener.make(owning: ListeningSocket.open(host, service), $0, $1, named: $2) }
}

@implementation @c
public func RLServerCreateWithPath(
    _ allocator: OpaquePointer?, _ path: UnsafePointer<CChar>?, _ accepted: RLServerCallBack?, _ callout: RLStreamCallBack?,
    _ context: UnsafePointer<RLStreamContext>?
) -> OpaquePointer? {
    guard let path else {
        Misuse.report("RLServerCreateWithPath", "path", expected: "a path", got: "NULL")
        return nil
    }
    guard let client = load(accepted, callout, context, "RLServerCreateWithPath") else { return nil }
    return Server.make(accepted, callout, client) { Listener.make(owning: ListeningSocket.open(at: path), $0, $1, named: $2, at: path) }
}
