import CLinux
import CRunLoop
import Synchronization

// The functions that include/RunLoop/RLSocket.h declares and documents. Those that need the calling thread to have a loop check
// `Registry.current`, which creates the loop if necessary and is nil, with errno set, if that fails.

public typealias SocketCallout =
    @convention(c) (OpaquePointer?, UInt, OpaquePointer?, UnsafeRawPointer?, UnsafeMutableRawPointer?) -> Void

/// Returns the socket behind a handle; otherwise, also for NULL, reports the mistake and returns nil.
@inline(never)
private func borrow(_ s: OpaquePointer?, _ function: Name) -> SocketPointer? { Handle.borrow(s, function, "s") }

/// Returns the data object behind an argument, which is an address or a payload; nil, after a diagnostic, if it is not a data object.
private func borrowData(_ data: OpaquePointer?, _ function: Name, _ parameter: Name) -> DataPointer? {
    Handle.borrow(data, function, parameter)
}

/// Checks that a time limit is not NaN: see `Arguments.swift`.
private func checkNumber(_ timeout: Double, _ function: Name) -> Bool {
    if timeout.isNaN { Misuse.report(function, "timeout", "not a number") }
    return !timeout.isNaN
}

@implementation @c
public func RLSocketGetTypeID() -> UInt { Kind.socket.typeID }

// MARK: creating

@implementation @c
public func RLSocketCreate(
    _ allocator: OpaquePointer?, _ protocolFamily: Int32, _ socketType: Int32, _ protocolNumber: Int32, _ callBackTypes: UInt,
    _ callout: SocketCallout?, _ context: UnsafePointer<RLSocketContext>?
) -> OpaquePointer? {
    guard let client = loadContext(context, "RLSocketCreate") else { return nil }
    return createWithNewDescriptor(protocolFamily, socketType, protocolNumber, callBackTypes, callout, client, "RLSocketCreate")?.handle
}

@implementation @c
public func RLSocketCreateWithNative(
    _ allocator: OpaquePointer?, _ sock: Int32, _ callBackTypes: UInt, _ callout: SocketCallout?,
    _ context: UnsafePointer<RLSocketContext>?
) -> OpaquePointer? {
    guard let client = loadContext(context, "RLSocketCreateWithNative"), Registry.current != nil else { return nil }
    // The table of sockets (`Endpoints`) is indexed by descriptor. A huge number that is not an open descriptor is rejected, so that the
    // table need not grow that far.
    if sock >= 1 << 20 && !Descriptor.isOpen(sock) {
        Misuse.report("RLSocketCreateWithNative", "sock", "not an open descriptor")
        return nil
    }
    let socket = SocketPointer.existing(on: sock, "RLSocketCreateWithNative") ?? create(on: sock, callBackTypes, callout, client)
    return socket?.handle
}

@implementation @c
public func RLSocketCreateWithSocketSignature(
    _ allocator: OpaquePointer?, _ signature: UnsafePointer<RLSocketSignature>?, _ callBackTypes: UInt, _ callout: SocketCallout?,
    _ context: UnsafePointer<RLSocketContext>?
) -> OpaquePointer? {
    create(by: signature, "RLSocketCreateWithSocketSignature", callBackTypes, callout, context, connectWithin: nil)
}

@implementation @c
public func RLSocketCreateConnectedToSocketSignature(
    _ allocator: OpaquePointer?, _ signature: UnsafePointer<RLSocketSignature>?, _ callBackTypes: UInt, _ callout: SocketCallout?,
    _ context: UnsafePointer<RLSocketContext>?, _ timeout: Double
) -> OpaquePointer? {
    guard checkNumber(timeout, "RLSocketCreateConnectedToSocketSignature") else { return nil }
    return create(by: signature, "RLSocketCreateConnectedToSocketSignature", callBackTypes, callout, context, connectWithin: timeout)
}

/// Creates a socket on a new descriptor. As in CFSocket, a family that is not positive means PF_INET; only PF_INET has a default type and a
/// default protocol. `function` is the exported function that the client has called.
private func createWithNewDescriptor(
    _ family: Int32, _ type: Int32, _ protocolNumber: Int32, _ callBackTypes: UInt, _ callout: SocketCallout?,
    _ client: ClientContext, _ function: Name
) -> SocketPointer? {
    guard Registry.current != nil else { return nil }
    let family = family <= 0 ? PF_INET : family
    let type = type <= 0 && family == PF_INET ? Sockets.stream : type
    guard let fd = try? Sockets.create(family, type, family == PF_INET ? max(protocolNumber, 0) : protocolNumber) else { return nil }
    // The kernel has just assigned this number. If a socket object is still registered for it, the client has closed that object's
    // descriptor without invalidating the object.
    Endpoints.socket(on: fd)?.invalidateClosed(function)
    guard let socket = create(on: fd, callBackTypes, callout, client) else {
        Descriptor.close(fd)
        return nil
    }
    return socket
}

/// Creates a socket on a descriptor. The lower 4 bits of `callBackTypes` are the types; the lower 8, without connect and write, are the
/// initial flags, to which close-on-invalidate is added.
private func create(on fd: Int32, _ callBackTypes: UInt, _ callout: SocketCallout?, _ client: ClientContext) -> SocketPointer? {
    let types = SocketCallBacks(rawValue: UInt8(truncatingIfNeeded: callBackTypes & 0xF))
    let flags = UInt32(truncatingIfNeeded: callBackTypes & 0xFF & ~0xC) | SocketStorage.closesOnInvalidate
    return SocketPointer.create(fd, types, flags: flags, callout, client)
}

/// Creates a socket that is bound to the signature's address or, with `connectWithin`, connected to it.
@inline(never)
private func create(
    by signature: UnsafePointer<RLSocketSignature>?, _ function: Name, _ callBackTypes: UInt, _ callout: SocketCallout?,
    _ context: UnsafePointer<RLSocketContext>?, connectWithin seconds: Double?
) -> OpaquePointer? {
    guard let signature = signature?.pointee else {
        Misuse.report(function, "signature", expected: "a signature", got: nil)
        return nil
    }
    guard let client = loadContext(context, function), let address = borrowData(signature.address, function, "signature->address"),
        let socket = createWithNewDescriptor(
            signature.protocolFamily, signature.socketType, signature.protocol, callBackTypes, callout, client, function)
    else { return nil }
    let outcome = seconds.map { socket.connect(to: address, seconds: $0) } ?? socket.setAddress(address)
    if outcome == .success { return socket.handle }
    preservingSystemError {
        socket.invalidate()
        socket.release()
    }
    return nil
}

// MARK: addresses, connecting, sending

@implementation @c
public func RLSocketSetAddress(_ s: OpaquePointer?, _ address: OpaquePointer?) -> Int {
    guard let socket = borrow(s, "RLSocketSetAddress"), let address = borrowData(address, "RLSocketSetAddress", "address"),
        Registry.current != nil
    else { return SocketPointer.Outcome.error.rawValue }
    return socket.setAddress(address).rawValue
}

@implementation @c
public func RLSocketConnectToAddress(_ s: OpaquePointer?, _ address: OpaquePointer?, _ timeout: Double) -> Int {
    guard let socket = borrow(s, "RLSocketConnectToAddress"),
        let address = borrowData(address, "RLSocketConnectToAddress", "address"), checkNumber(timeout, "RLSocketConnectToAddress"),
        Registry.current != nil
    else { return SocketPointer.Outcome.error.rawValue }
    return socket.connect(to: address, seconds: timeout).rawValue
}

/// Sets `receiver` to the destination address. If the argument is NULL or empty, `receiver` stays nil, which means the connection's peer.
/// Returns false, after a diagnostic, if the argument is not a data object.
private func borrowReceiver(_ address: OpaquePointer?, _ function: Name, _ receiver: inout DataPointer?) -> Bool {
    if address == nil { return true }
    guard let borrowed = borrowData(address, function, "address") else { return false }
    receiver = borrowed.pointee.count > 0 ? borrowed : nil
    return true
}

@implementation @c
public func RLSocketSendBytes(_ s: OpaquePointer?, _ address: OpaquePointer?, _ bytes: UnsafePointer<UInt8>?, _ length: Int) -> Int {
    guard let socket = borrow(s, "RLSocketSendBytes") else { return -1 }
    var receiver: DataPointer?
    if !borrowReceiver(address, "RLSocketSendBytes", &receiver) { return -1 }
    if length < 0 || bytes == nil && length > 0 {
        Misuse.report("RLSocketSendBytes", length < 0 ? "length" : "bytes", length < 0 ? "negative" : "NULL")
        return -1
    }
    if Registry.current == nil { return -1 }
    let empty: UInt8 = 0
    return withUnsafePointer(to: empty) { socket.send(bytes ?? $0, count: length, to: receiver) }
}

@implementation @c
public func RLSocketSendData(_ s: OpaquePointer?, _ address: OpaquePointer?, _ data: OpaquePointer?, _ timeout: Double) -> Int {
    let failure = SocketPointer.Outcome.error.rawValue
    guard let socket = borrow(s, "RLSocketSendData"), let data = borrowData(data, "RLSocketSendData", "data"),
        checkNumber(timeout, "RLSocketSendData"), Registry.current != nil
    else { return failure }
    var receiver: DataPointer?
    if !borrowReceiver(address, "RLSocketSendData", &receiver) { return failure }
    return socket.send(data, to: receiver, seconds: timeout).rawValue
}

@implementation @c
public func RLSocketCopyAddress(_ s: OpaquePointer?) -> OpaquePointer? { borrow(s, "RLSocketCopyAddress")?.address?.handle }

@implementation @c
public func RLSocketCopyPeerAddress(_ s: OpaquePointer?) -> OpaquePointer? { borrow(s, "RLSocketCopyPeerAddress")?.peerAddress?.handle }

// MARK: life and state

@implementation @c
public func RLSocketInvalidate(_ s: OpaquePointer?) {
    guard let socket = borrow(s, "RLSocketInvalidate"), Registry.current != nil else { return }
    socket.invalidate()
}

@implementation @c
public func RLSocketIsValid(_ s: OpaquePointer?) -> UInt8 {
    guard let socket = borrow(s, "RLSocketIsValid") else { return 0 }
    return socket.endpoint.state.isValid ? 1 : 0
}

@implementation @c
public func RLSocketGetContext(_ s: OpaquePointer?, _ context: UnsafeMutablePointer<RLSocketContext>?) {
    guard let socket = borrow(s, "RLSocketGetContext") else { return }
    storeContext(context, "RLSocketGetContext") { socket.endpoint.state.isValid ? socket.endpoint.pointee.context : .empty }
}

@implementation @c
public func RLSocketGetNative(_ s: OpaquePointer?) -> Int32 {
    // As in CFSocket, NULL is no mistake here.
    if s == nil { return -1 }
    return borrow(s, "RLSocketGetNative")?.endpoint.nativeDescriptor ?? -1
}

@implementation @c
public func RLSocketCreateRunLoopSource(_ allocator: OpaquePointer?, _ s: OpaquePointer?, _ order: Int) -> OpaquePointer? {
    guard let socket = borrow(s, "RLSocketCreateRunLoopSource"), let loop = Registry.current else { return nil }
    return createdSource(socket.source(order: order, loop.threadContext), socket.endpoint)
}

@implementation @c
public func RLSocketGetSocketFlags(_ s: OpaquePointer?) -> UInt { UInt(borrow(s, "RLSocketGetSocketFlags")?.flags ?? 0) }

@implementation @c
public func RLSocketSetSocketFlags(_ s: OpaquePointer?, _ flags: UInt) {
    borrow(s, "RLSocketSetSocketFlags")?.setFlags(UInt32(truncatingIfNeeded: flags & 0xFF))
}

@implementation @c
public func RLSocketDisableCallBacks(_ s: OpaquePointer?, _ callBackTypes: UInt) {
    borrow(s, "RLSocketDisableCallBacks")?.disable(SocketCallBacks(rawValue: UInt8(truncatingIfNeeded: callBackTypes & 0xF)))
}

@implementation @c
public func RLSocketEnableCallBacks(_ s: OpaquePointer?, _ callBackTypes: UInt) {
    guard let socket = borrow(s, "RLSocketEnableCallBacks"), Registry.current != nil else { return }
    socket.enable(SocketCallBacks(rawValue: UInt8(truncatingIfNeeded: callBackTypes & 0xF)))
}
