import CLinux
import CRunLoop

// The functions that include/RunLoop/RLPort.h declares and documents.

@inline(never)
private func borrow(_ port: OpaquePointer?, _ function: Name) -> PortPointer? { Handle.borrow(port, function, "port") }

@implementation @c
public func RLPortGetTypeID() -> UInt { Kind.port.typeID }

@implementation @c
public func RLPortCreate(
    _ allocator: OpaquePointer?, _ callout: RLPortCallBack?, _ context: UnsafeMutablePointer<RLPortContext>?,
    _ shouldFreeInfo: UnsafeMutablePointer<UInt8>?
) -> OpaquePointer? {
    shouldFreeInfo?.pointee = 1
    guard let callout else {
        Misuse.report("RLPortCreate", "callout", expected: "a function", got: nil)
        return nil
    }
    guard var client = loadContext(context, "RLPortCreate") else { return nil }
    client.info = client.retained()
    guard let port = PortPointer.create(callout, client) else {
        preservingSystemError { client.released(client.info) }
        return nil
    }
    shouldFreeInfo?.pointee = 0
    return port.handle
}

@implementation @c
public func RLPortCreateRunLoopSource(_ allocator: OpaquePointer?, _ port: OpaquePointer?, _ order: Int) -> OpaquePointer? {
    guard let port = borrow(port, "RLPortCreateRunLoopSource"), let loop = Registry.current else { return nil }
    return port.queue.source(of: port.base, order: order, loop.threadContext)?.handle
}

@implementation @c
public func RLPortGetContext(_ port: OpaquePointer?, _ context: UnsafeMutablePointer<RLPortContext>?) {
    guard let port = borrow(port, "RLPortGetContext") else { return }
    storeContext(context, "RLPortGetContext") { port.base.context }
}

@implementation @c
public func RLPortInvalidate(_ port: OpaquePointer?) {
    guard let port = borrow(port, "RLPortInvalidate"), Registry.current != nil else { return }
    preservingSystemError { port.base.invalidate() }
}

@implementation @c
public func RLPortIsValid(_ port: OpaquePointer?) -> UInt8 { borrow(port, "RLPortIsValid")?.base.isValid == true ? 1 : 0 }

@implementation @c
public func RLPortGetInvalidationCallBack(_ port: OpaquePointer?) -> RLPortInvalidationCallBack? {
    borrow(port, "RLPortGetInvalidationCallBack")?.base.invalidation
}

@implementation @c
public func RLPortSetInvalidationCallBack(_ port: OpaquePointer?, _ callout: RLPortInvalidationCallBack?) {
    borrow(port, "RLPortSetInvalidationCallBack")?.base.setInvalidation(callout)
}

@implementation @c
public func RLPortGetCapacity(_ port: OpaquePointer?) -> Int { Int(borrow(port, "RLPortGetCapacity")?.queue.capacity ?? 0) }

@implementation @c
public func RLPortSetCapacity(_ port: OpaquePointer?, _ capacity: Int) {
    setCapacity(of: borrow(port, "RLPortSetCapacity")?.queue, capacity, "RLPortSetCapacity")
}
