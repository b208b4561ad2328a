import CLinux
import CRunLoop

// The functions that include/RunLoop/RLFileDescriptor.h declares and documents.

@inline(never)
private func borrow(_ f: OpaquePointer?, _ function: Name) -> FileDescriptorPointer? {
    Handle.borrow(f, function, "f")
}

@implementation @c
public func RLFileDescriptorGetTypeID() -> UInt { Kind.fileDescriptor.typeID }

@implementation @c
public func RLFileDescriptorCreate(
    _ allocator: OpaquePointer?, _ fd: Int32, _ closeOnInvalidate: UInt8,
    _ callout: (@convention(c) (OpaquePointer?, UInt, UnsafeMutableRawPointer?) -> Void)?,
    _ context: UnsafePointer<RLFileDescriptorContext>?
) -> OpaquePointer? {
    guard var client = loadContext(context, "RLFileDescriptorCreate") else { return nil }
    guard Descriptor.isOpen(fd) else {
        Misuse.report("RLFileDescriptorCreate", "fd", "not an open descriptor")
        return nil
    }
    guard let loop = Registry.current else { return nil }
    client.info = client.retained()
    guard let descriptor = FileDescriptorPointer.create(fd, closesOnInvalidate: closeOnInvalidate != 0, callout, client, loop.threadContext)
    else {
        preservingSystemError { client.released(client.info) }
        return nil
    }
    return descriptor.handle
}

@implementation @c
public func RLFileDescriptorGetNativeDescriptor(_ f: OpaquePointer?) -> Int32 {
    borrow(f, "RLFileDescriptorGetNativeDescriptor")?.endpoint.nativeDescriptor ?? -1
}

@implementation @c
public func RLFileDescriptorGetContext(_ f: OpaquePointer?, _ context: UnsafeMutablePointer<RLFileDescriptorContext>?) {
    guard let descriptor = borrow(f, "RLFileDescriptorGetContext") else { return }
    storeContext(context, "RLFileDescriptorGetContext") { descriptor.endpoint.state.isValid ? descriptor.endpoint.pointee.context : .empty }
}

@implementation @c
public func RLFileDescriptorEnableCallBacks(_ f: OpaquePointer?, _ callBackTypes: UInt) {
    guard let descriptor: FileDescriptorPointer = Handle.borrow(f, "RLFileDescriptorEnableCallBacks", "f") else { return }
    descriptor.enable(Events(callBackTypes: callBackTypes))
}

@implementation @c
public func RLFileDescriptorDisableCallBacks(_ f: OpaquePointer?, _ callBackTypes: UInt) {
    borrow(f, "RLFileDescriptorDisableCallBacks")?.disable(Events(callBackTypes: callBackTypes))
}

@implementation @c
public func RLFileDescriptorInvalidate(_ f: OpaquePointer?) {
    guard let descriptor = borrow(f, "RLFileDescriptorInvalidate"), Registry.current != nil else { return }
    descriptor.invalidate()
}

@implementation @c
public func RLFileDescriptorIsValid(_ f: OpaquePointer?) -> UInt8 {
    guard let descriptor = borrow(f, "RLFileDescriptorIsValid") else { return 0 }
    return descriptor.endpoint.state.isValid ? 1 : 0
}

@implementation @c
public func RLFileDescriptorCreateRunLoopSource(_ allocator: OpaquePointer?, _ f: OpaquePointer?, _ order: Int) -> OpaquePointer? {
    guard let descriptor = borrow(f, "RLFileDescriptorCreateRunLoopSource"), let loop = Registry.current else { return nil }
    return createdSource(descriptor.source(order: order, loop.threadContext), descriptor.endpoint)
}

/// Returns the handle of a new source. If there is none, returns nil with EBADF if the endpoint is invalid, else with ENOMEM, as only
/// memory can have been missing.
func createdSource(_ source: SourcePointer?, _ endpoint: EndpointPointer) -> OpaquePointer? {
    if source == nil { systemError = endpoint.state.isValid ? ENOMEM : EBADF }
    return source?.handle
}
