import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit

// include/RunLoopKit/RLListener.h

private func borrow(_ listener: OpaquePointer?, _ function: Name) -> ListenerPointer? { KitObject.borrow(listener, function, "listener") }

private func check(_ callout: RLListenerCallBack?, _ function: Name) -> RLListenerCallBack? {
    if callout == nil { Misuse.report(function, "callout", expected: "a function", got: "NULL") }
    return callout
}

@implementation @c
public func RLListenerCreate(
    _ allocator: OpaquePointer?, _ descriptor: Int32, _ closeOnInvalidate: UInt8, _ callout: RLListenerCallBack?,
    _ context: UnsafePointer<RLListenerContext>?
) -> OpaquePointer? {
    guard let callout = check(callout, "RLListenerCreate"), let client = ClientContext.load(context, "RLListenerCreate") else { return nil }
    if linux_is_listening(descriptor) == 0 {
        Misuse.report("RLListenerCreate", "descriptor", "not a stream socket that listens")
        return nil
    }
    return Listener.make(descriptor, closes: closeOnInvalidate != 0, callout, client)
}

@implementation @c
public func RLListenerCreateWithHost(
    _ allocator: OpaquePointer?, _ host: UnsafePointer<CChar>?, _ service: UnsafePointer<CChar>?, _ callout: RLListenerCallBack?,
    _ context: UnsafePointer<RLListenerContext>?
) -> OpaquePointer? {
    guard let callout = check(callout, "RLListenerCreateWithHost"), let client = ClientContext.load(context, "RLListenerCreateWithHost")
    else { return nil }
    return Listener.make(owning: ListeningSocket.open(host, service), callout, client)
}

@implementation @c
public func RLListenerCreateWithPath(
    _ allocator: OpaquePointer?, _ path: UnsafePointer<CChar>?, _ callout: RLListenerCallBack?, _ context: UnsafePointer<RLListenerContext>?
) -> OpaquePointer? {
    guard let path else {
        Misuse.report("RLListenerCreateWithPath", "path", expected: "a path", got: "NULL")
        return nil
    }
    guard let callout = check(callout, "RLListenerCreateWithPath"), let client = ClientContext.load(context, "RLListenerCreateWithPath")
    else { return nil }
    return Listener.make(owning: ListeningSocket.open(at: path), callout, client, at: path)
}

@implementation @c
public func RLListenerCopyAddress(_ listener: OpaquePointer?) -> OpaquePointer? {
    guard let listener = borrow(listener, "RLListenerCopyAddress") else { return nil }
    return withAddress(listener) { address, size in RLDataCreate(nil, address.assumingMemoryBound(to: UInt8.self), size) } ?? nil
}

@implementation @c
public func RLListenerGetPort(_ listener: OpaquePointer?) -> Int32 {
    guard let listener = borrow(listener, "RLListenerGetPort") else { return 0 }
    return withAddress(listener) { address, _ in linux_port(address) } ?? 0
}

/// Calls `body` with the listener's address and returns its result; nil if the listener is closed and has no address.
private func withAddress<Result>(_ listener: ListenerPointer, _ body: (UnsafeRawPointer, Int) -> Result) -> Result? {
    var address = sockaddr_storage()
    let size = linux_local_address(listener.openDescriptor, &address)
    return size > 0 ? withUnsafeBytes(of: &address) { body($0.baseAddress.unsafelyUnwrapped, Int(size)) } : nil
}

@implementation @c
public func RLListenerGetNativeDescriptor(_ listener: OpaquePointer?) -> Int32 {
    borrow(listener, "RLListenerGetNativeDescriptor")?.openDescriptor ?? -1
}

@implementation @c
public func RLListenerSetEnabled(_ listener: OpaquePointer?, _ enabled: UInt8) {
    borrow(listener, "RLListenerSetEnabled")?.setEnabled(enabled != 0)
}

@implementation @c
public func RLListenerIsEnabled(_ listener: OpaquePointer?) -> UInt8 {
    borrow(listener, "RLListenerIsEnabled")?.isEnabled == true ? 1 : 0
}

@implementation @c
public func RLListenerGetError(_ listener: OpaquePointer?) -> Int32 { borrow(listener, "RLListenerGetError")?.shortage ?? 0 }

@implementation @c
public func RLListenerClose(_ listener: OpaquePointer?) { borrow(listener, "RLListenerClose")?.close() }
