import CLinux
import CRunLoop

// The functions that include/RunLoop/RLPortMessage.h declares and documents.

@inline(never)
private func borrow(_ message: OpaquePointer?, _ function: Name) -> PortMessagePointer? {
    Handle.borrow(message, function, "message")
}

@implementation @c
public func RLPortMessageGetTypeID() -> UInt { Kind.portMessage.typeID }

@implementation @c
public func RLPortMessageCreate(
    _ allocator: OpaquePointer?, _ sendPort: OpaquePointer?, _ receivePort: OpaquePointer?, _ components: OpaquePointer?
) -> OpaquePointer? {
    guard let sendPort: PortPointer = Handle.borrow(sendPort, "RLPortMessageCreate", "sendPort") else { return nil }
    var replyPort: PortPointer?
    guard Handle.borrow(receivePort, into: &replyPort, "RLPortMessageCreate", "receivePort") else { return nil }
    var parts: ArrayPointer?
    guard Handle.borrow(components, into: &parts, "RLPortMessageCreate", "components") else { return nil }
    if let parts, !checkComponents(parts) { return nil }
    guard let loop = Registry.current else { return nil }
    var copy: ArrayPointer?
    if let changing = parts, changing.pointee.isMutable {
        copy = changing.immutableCopy()
        if copy == nil { return nil }
        parts = copy
    }
    defer { copy?.release() }
    return PortMessagePointer.create(loop.threadContext, sendPort: sendPort, receivePort: replyPort, parts)?.handle
}

/// Checks that every element is data or a port: see `Arguments.swift`. Reports the first one that is not.
private func checkComponents(_ components: ArrayPointer) -> Bool {
    for index in 0..<components.pointee.count {
        let kind = Handle.kind(of: components[value: index])
        if kind == .data || kind == .port { continue }
        Misuse.report("RLPortMessageCreate", "components", expected: "RLData or RLPort", got: components[value: index])
        return false
    }
    return true
}

@implementation @c
public func RLPortMessageGetMessageID(_ message: OpaquePointer?) -> UInt32 {
    borrow(message, "RLPortMessageGetMessageID")?.pointee.id ?? 0
}

@implementation @c
public func RLPortMessageSetMessageID(_ message: OpaquePointer?, _ messageID: UInt32) {
    borrow(message, "RLPortMessageSetMessageID")?.pointee.id = messageID
}

@implementation @c
public func RLPortMessageGetSendPort(_ message: OpaquePointer?) -> OpaquePointer? {
    borrow(message, "RLPortMessageGetSendPort")?.pointee.sendPort?.handle
}

@implementation @c
public func RLPortMessageGetReceivePort(_ message: OpaquePointer?) -> OpaquePointer? {
    borrow(message, "RLPortMessageGetReceivePort")?.pointee.receivePort?.handle
}

@implementation @c
public func RLPortMessageGetComponents(_ message: OpaquePointer?) -> OpaquePointer? {
    borrow(message, "RLPortMessageGetComponents")?.pointee.components?.handle
}

@implementation @c
public func RLPortMessageSendBeforeDate(_ message: OpaquePointer?, _ limit: Double) -> UInt8 {
    guard let message = borrow(message, "RLPortMessageSendBeforeDate") else { return 0 }
    guard let port = message.pointee.sendPort else {
        Misuse.report("RLPortMessageSendBeforeDate", "message", "has no send port")
        return 0
    }
    if limit.isNaN {
        Misuse.report("RLPortMessageSendBeforeDate", "limit", "not a number")
        return 0
    }
    if Registry.current == nil { return 0 }
    if Probe.isSet { Probe.report(.sent, .port, port) }
    let queued = QueuedMessage(message.pointee.components, replyPort: message.pointee.receivePort, id: message.pointee.id)
    queued.retain()
    let error = port.queue.put(queued, until: limit >= Clock.latestDate ? .never : Clock.instant(ofDate: limit))
    if error == 0 { return 1 }
    Probe.report(.dropped, .port, port)
    queued.release()
    systemError = error
    return 0
}
