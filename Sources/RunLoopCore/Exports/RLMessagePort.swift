import CLinux
import CRunLoop

// The functions that include/RunLoop/RLMessagePort.h declares and documents.

@inline(never)
private func borrow(_ port: OpaquePointer?, _ function: Name) -> MessagePortPointer? { Handle.borrow(port, function, "port") }

/// Returns the string behind a handle if it can be a port's name. Otherwise returns nil, with ENAMETOOLONG if it is too long, else after a
/// diagnostic.
private func borrowName(_ name: OpaquePointer?, _ function: Name) -> StringPointer? {
    guard let name: StringPointer = Handle.borrow(name, function, "name") else { return nil }
    if name.count == 0 {
        Misuse.report(function, "name", "empty")
        return nil
    }
    if strlen(UnsafeRawPointer(name.pointee.bytes).assumingMemoryBound(to: CChar.self)) != name.count {
        Misuse.report(function, "name", "contains a NUL byte")
        return nil
    }
    if name.count > Frame.nameLimit {
        systemError = ENAMETOOLONG
        return nil
    }
    return name
}

@implementation @c
public func RLMessagePortGetTypeID() -> UInt { Kind.messagePort.typeID }

@implementation @c
public func RLMessagePortCreateLocal(
    _ allocator: OpaquePointer?, _ name: OpaquePointer?, _ callout: RLMessagePortCallBack?,
    _ context: UnsafeMutablePointer<RLMessagePortContext>?, _ shouldFreeInfo: UnsafeMutablePointer<UInt8>?
) -> OpaquePointer? {
    // Only a new port takes ownership of the info.
    shouldFreeInfo?.pointee = 1
    guard let callout else {
        Misuse.report("RLMessagePortCreateLocal", "callout", expected: "a function", got: nil)
        return nil
    }
    guard var client = loadContext(context, "RLMessagePortCreateLocal") else { return nil }
    var wanted: StringPointer?
    if name != nil {
        wanted = borrowName(name, "RLMessagePortCreateLocal")
        if wanted == nil { return nil }
    }
    guard Registry.current != nil else { return nil }
    if let wanted, let known = PortRegistry.namesMutex.locked({ MessagePortPointer.find(wanted, isRemote: false) }) {
        return known.handle
    }
    // The context's retain is user code, so it is called before the names' lock is acquired. The info is released below if no new port was
    // made.
    client.info = client.retained()
    var isNew = false
    let port = PortRegistry.namesMutex.locked { () -> MessagePortPointer? in
        if let wanted, let known = MessagePortPointer.find(wanted, isRemote: false) { return known }
        let new = MessagePortPointer.createLocal(wanted, callout, client)
        isNew = new != nil
        return new
    }
    if isNew { shouldFreeInfo?.pointee = 0 } else { preservingSystemError { client.released(client.info) } }
    return port?.handle
}

/// Returns the remote port for a name served by a process of `user`, found or created, with a reference for the client; nil after a
/// diagnostic or with errno set. Any thread. Call without a lock held. May call user code: the error handler, and the invalidation callback
/// of a port whose server has ended.
@inline(never)
private func remote(_ name: OpaquePointer?, of user: UInt32, _ function: Name) -> OpaquePointer? {
    guard let name = borrowName(name, function), Registry.current != nil else { return nil }
    while true {
        var local: MessagePortPointer?
        var isNew = false
        let port = PortRegistry.namesMutex.locked { () -> MessagePortPointer? in
            if let known = MessagePortPointer.find(name, isRemote: true, of: user) { return known }
            isNew = true
            return MessagePortPointer.createRemote(name, of: user, &local)
        }
        if let local { preservingSystemError { _ = local.release() } }
        guard let port else { return nil }
        if isNew || !port.isPeerGone { return port.handle }
        // The known port's server has ended, and no loop has noticed that. Another process may serve the name by now, so look it up again.
        port.invalidateAfterReplies()
        _ = port.release()
    }
}

@implementation @c
public func RLMessagePortCreateRemote(_ allocator: OpaquePointer?, _ name: OpaquePointer?) -> OpaquePointer? {
    remote(name, of: PacketSocket.own.user, "RLMessagePortCreateRemote")
}

@implementation @c
public func RLMessagePortCreateRemoteOfUser(_ allocator: OpaquePointer?, _ name: OpaquePointer?, _ uid: UInt32) -> OpaquePointer? {
    remote(name, of: uid, "RLMessagePortCreateRemoteOfUser")
}

@implementation @c
public func RLMessagePortGetNameOwner(_ name: OpaquePointer?) -> Int32 {
    guard let name = borrowName(name, "RLMessagePortGetNameOwner") else { return 0 }
    // The server may be a process of any user.
    guard let fd = try? NameServer.connect(name, of: nil) else { return 0 }
    let process = (try? PacketSocket.credentials(fd))?.process ?? 0
    PacketSocket.close(fd)
    return process
}

@implementation @c
public func RLMessagePortIsRemote(_ port: OpaquePointer?) -> UInt8 {
    borrow(port, "RLMessagePortIsRemote")?.pointee.isRemote == true ? 1 : 0
}

@implementation @c
public func RLMessagePortGetName(_ port: OpaquePointer?) -> OpaquePointer? {
    guard let port = borrow(port, "RLMessagePortGetName") else { return nil }
    return port.locked { port.pointee.name }?.handle
}

@implementation @c
public func RLMessagePortSetName(_ port: OpaquePointer?, _ name: OpaquePointer?) -> UInt8 {
    guard let port = borrow(port, "RLMessagePortSetName"), let name = borrowName(name, "RLMessagePortSetName"),
        Registry.current != nil
    else { return 0 }
    if port.pointee.isRemote {
        systemError = EINVAL
        return 0
    }
    var known: MessagePortPointer?
    let isDone = PortRegistry.namesMutex.locked { () -> Bool in
        if !port.base.isValid {
            systemError = EPIPE
            return false
        }
        known = MessagePortPointer.find(name, isRemote: false)
        if known == port { return true }
        if known == nil { return port.claimName(name) }
        systemError = EADDRINUSE
        return false
    }
    if let known { preservingSystemError { _ = known.release() } }
    return isDone ? 1 : 0
}

@implementation @c
public func RLMessagePortGetContext(_ port: OpaquePointer?, _ context: UnsafeMutablePointer<RLMessagePortContext>?) {
    guard let port = borrow(port, "RLMessagePortGetContext") else { return }
    storeContext(context, "RLMessagePortGetContext") { port.base.context }
}

@implementation @c
public func RLMessagePortInvalidate(_ port: OpaquePointer?) {
    guard let port = borrow(port, "RLMessagePortInvalidate"), Registry.current != nil else { return }
    port.base.invalidate()
}

@implementation @c
public func RLMessagePortIsValid(_ port: OpaquePointer?) -> UInt8 { borrow(port, "RLMessagePortIsValid")?.base.isValid == true ? 1 : 0 }

@implementation @c
public func RLMessagePortGetInvalidationCallBack(_ port: OpaquePointer?) -> RLMessagePortInvalidationCallBack? {
    borrow(port, "RLMessagePortGetInvalidationCallBack")?.base.invalidation
}

@implementation @c
public func RLMessagePortSetInvalidationCallBack(_ port: OpaquePointer?, _ callout: RLMessagePortInvalidationCallBack?) {
    borrow(port, "RLMessagePortSetInvalidationCallBack")?.base.setInvalidation(callout)
}

@implementation @c
public func RLMessagePortCreateRunLoopSource(_ allocator: OpaquePointer?, _ port: OpaquePointer?, _ order: Int) -> OpaquePointer? {
    guard let port = borrow(port, "RLMessagePortCreateRunLoopSource"), !port.pointee.isRemote, let loop = Registry.current else {
        return nil
    }
    return port.queue.source(of: port.base, order: order, loop.threadContext)?.handle
}

@implementation @c
public func RLMessagePortGetCapacity(_ port: OpaquePointer?) -> Int {
    Int(borrow(port, "RLMessagePortGetCapacity")?.queue.capacity ?? 0)
}

@implementation @c
public func RLMessagePortSetCapacity(_ port: OpaquePointer?, _ capacity: Int) {
    guard let port = borrow(port, "RLMessagePortSetCapacity"), Registry.current != nil else { return }
    setCapacity(of: port.queue, capacity, "RLMessagePortSetCapacity")
    // A capacity that is not positive has been reported, and the error handler may have released the port.
    if capacity > 0 { port.recheckUnanswered() }
}

@implementation @c
public func RLMessagePortAllowsOtherUsers(_ port: OpaquePointer?) -> UInt8 {
    guard let port = borrow(port, "RLMessagePortAllowsOtherUsers") else { return 0 }
    return port.locked { port.pointee.allowsOthers } ? 1 : 0
}

@implementation @c
public func RLMessagePortSetAllowsOtherUsers(_ port: OpaquePointer?, _ allows: UInt8) -> UInt8 {
    guard let port = borrow(port, "RLMessagePortSetAllowsOtherUsers"), Registry.current != nil else { return 0 }
    if port.pointee.isRemote || !port.base.isValid {
        systemError = port.pointee.isRemote ? EINVAL : EPIPE
        return 0
    }
    return port.setAllowsOthers(allows != 0) ? 1 : 0
}
