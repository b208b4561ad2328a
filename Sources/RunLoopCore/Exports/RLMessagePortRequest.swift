import CLinux
import CRunLoop

// The functions that include/RunLoop/RLMessagePortRequest.h declares and documents.

/// The checked arguments of a function that sends a request; nil, after a diagnostic, if one is wrong.
private struct Call {
    let port: MessagePortPointer
    let data: DataPointer?
    let loop: RunLoopPointer

    init?(
        _ remote: OpaquePointer?, _ data: OpaquePointer?, _ sendTimeout: Double, _ rcvTimeout: Double, _ function: Name
    ) {
        guard let port: MessagePortPointer = Handle.borrow(remote, function, "remote") else { return nil }
        var content: DataPointer?
        guard Handle.borrow(data, into: &content, function, "data") else { return nil }
        if sendTimeout.isNaN || rcvTimeout.isNaN {
            Misuse.report(function, sendTimeout.isNaN ? "sendTimeout" : "rcvTimeout", "not a number")
            return nil
        }
        if !port.pointee.isRemote {
            Misuse.report(function, "remote", "must be a remote port")
            return nil
        }
        guard let loop = Registry.current else { return nil }
        self.port = port
        self.data = content
        self.loop = loop
    }
}

/// Returns the mode in which a reply is awaited; nil, after a diagnostic, if the argument is not a single mode.
private func borrowMode(_ mode: OpaquePointer?, _ function: Name, _ parameter: Name) -> StringPointer? {
    guard let mode: StringPointer = Handle.borrow(mode, function, parameter) else { return nil }
    if !mode.isCommonModes { return mode }
    Misuse.report(function, parameter, "must be a single mode, not kRLRunLoopCommonModes")
    return nil
}

@implementation @c
public func RLMessagePortSendRequest(
    _ remote: OpaquePointer?, _ msgid: Int32, _ data: OpaquePointer?, _ sendTimeout: Double, _ rcvTimeout: Double,
    _ replyMode: OpaquePointer?, _ returnData: UnsafeMutablePointer<OpaquePointer?>?
) -> Int32 {
    guard let call = Call(remote, data, sendTimeout, rcvTimeout, "RLMessagePortSendRequest") else {
        return RequestResult.transportError.rawValue
    }
    if replyMode == nil {
        Probe.report(.sent, .messagePort, call.port, number: 0)
        if let result = call.port.sendOneWayAtOnce(msgid, call.data) { return result.rawValue }
    }
    let now = Clock.now
    let limit = now.sendLimit(after: sendTimeout)
    if replyMode == nil { return call.port.sendOneWay(msgid, call.data, until: limit).rawValue }
    guard let mode = borrowMode(replyMode, "RLMessagePortSendRequest", "replyMode") else {
        return RequestResult.transportError.rawValue
    }
    var reply: DataPointer?
    let result = call.port.sendRequest(
        msgid, call.data, until: limit, now.after(rcvTimeout), in: mode, call.loop, &reply)
    if result == .success, let returnData { returnData.pointee = reply?.handle } else { reply?.release() }
    return result.rawValue
}

@implementation @c
public func RLMessagePortSendRequestAsync(
    _ remote: OpaquePointer?, _ msgid: Int32, _ data: OpaquePointer?, _ sendTimeout: Double, _ rcvTimeout: Double,
    _ replyMode: OpaquePointer?, _ callout: RLMessagePortReplyCallBack?, _ info: UnsafeMutableRawPointer?
) -> Int32 {
    guard let call = Call(remote, data, sendTimeout, rcvTimeout, "RLMessagePortSendRequestAsync"),
        let mode = borrowMode(replyMode, "RLMessagePortSendRequestAsync", "replyMode")
    else { return RequestResult.transportError.rawValue }
    guard let callout else {
        Misuse.report("RLMessagePortSendRequestAsync", "callout", expected: "a function", got: nil)
        return RequestResult.transportError.rawValue
    }
    let limit = Clock.now.sendLimit(after: sendTimeout)
    return call.port.sendRequestAsync(msgid, call.data, until: limit, within: rcvTimeout, in: mode, call.loop, callout, info)
        .rawValue
}

@implementation @c
public func RLMessagePortResultGetText(_ result: Int32) -> UnsafePointer<CChar>! {
    let text: StaticString =
        switch RequestResult(rawValue: result) {
        case .success: "success"
        case .sendTimeout: "timed out waiting for room in the server's queue"
        case .receiveTimeout: "timed out waiting for a reply"
        case .isInvalid: "the server is gone"
        case .transportError: "request too large, system error, or the server will not reply"
        case .becameInvalid: "the server went away before replying"
        case nil: "unknown result"
        }
    return UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
}

@inline(never)
private func borrow(_ request: OpaquePointer?, _ function: Name) -> RequestPointer? {
    Handle.borrow(request, function, "request")
}

/// Returns the request that a local port's callback is handling on the calling thread; nil, after a diagnostic, outside of that callback.
private func current(_ local: OpaquePointer?, _ function: Name) -> RequestPointer? {
    guard let port: MessagePortPointer = Handle.borrow(local, function, "local") else { return nil }
    if let request = port.currentRequest { return request }
    Misuse.report(function, "local", "must be called from this port's callback")
    return nil
}

@implementation @c
public func RLMessagePortRequestGetTypeID() -> UInt { Kind.messagePortRequest.typeID }

@implementation @c
public func RLMessagePortCopyRequest(_ local: OpaquePointer?) -> OpaquePointer? {
    guard let request = current(local, "RLMessagePortCopyRequest") else { return nil }
    request.takeOver()
    return request.handle
}

@implementation @c
public func RLMessagePortRequestReply(_ request: OpaquePointer?, _ data: OpaquePointer?) -> UInt8 {
    guard let request = borrow(request, "RLMessagePortRequestReply") else { return 0 }
    var reply: DataPointer?
    guard Handle.borrow(data, into: &reply, "RLMessagePortRequestReply", "data"), Registry.current != nil else { return 0 }
    if request.reply(reply) { return 1 }
    Misuse.report("RLMessagePortRequestReply", "request", "already answered")
    return 0
}

@implementation @c
public func RLMessagePortRequestGetRemainingTime(_ request: OpaquePointer?) -> Double {
    borrow(request, "RLMessagePortRequestGetRemainingTime")?.remainingSeconds ?? 0
}

@implementation @c
public func RLMessagePortRequestSetInvalidationCallBack(
    _ request: OpaquePointer?, _ callout: RLMessagePortRequestInvalidationCallBack?, _ info: UnsafeMutableRawPointer?
) -> UInt8 {
    guard let request = borrow(request, "RLMessagePortRequestSetInvalidationCallBack"), Registry.current != nil else { return 0 }
    request.setInvalidation(callout, info)
    return 1
}

@implementation @c
public func RLMessagePortGetRemainingTime(_ local: OpaquePointer?) -> Double {
    current(local, "RLMessagePortGetRemainingTime")?.remainingSeconds ?? 0
}

@implementation @c
public func RLMessagePortGetPeerCredentials(
    _ local: OpaquePointer?, _ pid: UnsafeMutablePointer<Int32>?, _ uid: UnsafeMutablePointer<UInt32>?,
    _ gid: UnsafeMutablePointer<UInt32>?
) -> UInt8 {
    guard let request = current(local, "RLMessagePortGetPeerCredentials") else { return 0 }
    let peer = request.pointee.connection.pointee.credentials
    pid?.pointee = peer.process
    uid?.pointee = peer.user
    gid?.pointee = peer.group
    return 1
}
