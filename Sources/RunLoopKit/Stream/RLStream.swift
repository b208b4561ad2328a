import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit

// include/RunLoopKit/RLStream.h

/// Returns the stream of a handle; nil, after a diagnostic, if the handle is not a stream's. Most calls are for the stream that the thread
/// is serving, whose handle needs no check.
@inline(__always)
private func borrow(_ stream: OpaquePointer?, _ function: Name, _ parameter: Name = "stream") -> StreamPointer? {
    if let served = StreamService.servedStream, served.source == stream { return served }
    return borrowOther(stream, function, parameter)
}

@inline(never)
private func borrowOther(_ stream: OpaquePointer?, _ function: Name, _ parameter: Name) -> StreamPointer? {
    KitObject.borrow(stream, function, parameter)
}

/// Whether `bytes` and `length` are valid: reports a negative length, and NULL with a length other than 0.
private func areThere(_ bytes: UnsafeRawPointer?, _ length: Int, _ function: Name) -> Bool {
    if length < 0 {
        Misuse.report(function, "length", "negative")
        return false
    }
    if bytes != nil || length == 0 { return true }
    Misuse.report(function, "bytes", expected: "bytes", got: "NULL")
    return false
}

@implementation @c
public func RLStreamResultGetText(_ result: RLStreamResult, _ error: Int32) -> UnsafePointer<CChar>! {
    if result == RLStreamResult(kRLStreamNotFound) { return gai_strerror(error) }
    if result == RLStreamResult(kRLStreamFailed), let text = linux_describe_error(error) { return text }
    let text: StaticString =
        switch Int(result) {
        case kRLStreamSuccess: "success"
        case kRLStreamTooLong: "chunk too long"
        case kRLStreamCancelled: "the stream was closed"
        case kRLStreamTruncated: "the stream was cut off"
        case kRLStreamRefused: "the peers could not agree"
        case kRLStreamNotTrusted: "the peer is not trusted"
        case kRLStreamFailed: "unknown error"
        default: "unknown result"
        }
    return UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
}

@implementation @c
public func RLStreamCreate(
    _ allocator: OpaquePointer?, _ descriptor: Int32, _ closeOnInvalidate: UInt8, _ callout: RLStreamCallBack?,
    _ context: UnsafePointer<RLStreamContext>?
) -> OpaquePointer? {
    guard let client = ClientContext.load(context, "RLStreamCreate") else { return nil }
    let kind = linux_stream_kind(descriptor)
    if kind == linux_not_open || kind == linux_other_socket {
        Misuse.report("RLStreamCreate", "descriptor", kind == linux_not_open ? "not open" : "not a stream socket")
        return nil
    }
    return Stream.make(descriptor, isSocket: kind == linux_stream_socket, closes: closeOnInvalidate != 0, callout, client)
}

@implementation @c
public func RLStreamCreateConnectedToAddress(
    _ allocator: OpaquePointer?, _ address: OpaquePointer?, _ callout: RLStreamCallBack?, _ context: UnsafePointer<RLStreamContext>?
) -> OpaquePointer? {
    guard let address else {
        Misuse.report("RLStreamCreateConnectedToAddress", "address", expected: "RLData", got: "NULL")
        return nil
    }
    guard RLGetTypeID(UnsafeRawPointer(address)) == RLDataGetTypeID(), RLDataGetLength(address) >= 2 else {
        Misuse.report("RLStreamCreateConnectedToAddress", "address", "not the data of a struct sockaddr")
        return nil
    }
    guard let client = ClientContext.load(context, "RLStreamCreateConnectedToAddress") else { return nil }
    return Stream.connect(address, callout, client)
}

@implementation @c
public func RLStreamCreateConnectedToHost(
    _ allocator: OpaquePointer?, _ host: UnsafePointer<CChar>?, _ service: UnsafePointer<CChar>?, _ workers: OpaquePointer?,
    _ timeout: Double, _ callout: RLStreamCallBack?, _ context: UnsafePointer<RLStreamContext>?
) -> OpaquePointer? {
    if host == nil && service == nil {
        Misuse.report("RLStreamCreateConnectedToHost", "host", "NULL, as is service")
        return nil
    }
    if timeout.isNaN {
        Misuse.report("RLStreamCreateConnectedToHost", "timeout", "not a number")
        return nil
    }
    var pool: WorkersPointer?
    if let workers {
        pool = KitObject.borrow(workers, "RLStreamCreateConnectedToHost", "workers")
        if pool == nil { return nil }
    }
    guard let client = ClientContext.load(context, "RLStreamCreateConnectedToHost") else { return nil }
    return Stream.connect(host, service, pool, timeout: timeout, callout, client)
}

@implementation @c
public func RLStreamGetNativeDescriptor(_ stream: OpaquePointer?) -> Int32 {
    borrow(stream, "RLStreamGetNativeDescriptor")?.openDescriptor ?? -1
}

@implementation @c
public func RLStreamSetReadCount(_ stream: OpaquePointer?, _ count: Int) {
    guard let stream = borrow(stream, "RLStreamSetReadCount") else { return }
    if count < 0 { return Misuse.report("RLStreamSetReadCount", "count", "negative") }
    _ = stream.setRule { rule in
        rule.set(count: count)
        return true
    }
}

@implementation @c
public func RLStreamSetReadDelimiter(
    _ stream: OpaquePointer?, _ delimiter: UnsafeRawPointer?, _ length: Int, _ longest: Int
) -> UInt8 {
    guard let stream = borrow(stream, "RLStreamSetReadDelimiter") else { return 0 }
    guard let delimiter, 1...ReadRule.longestDelimiter ~= length else {
        Misuse.report("RLStreamSetReadDelimiter", "delimiter", "must have from 1 to 128 bytes")
        return 0
    }
    if longest < length {
        Misuse.report("RLStreamSetReadDelimiter", "longest", "less than the delimiter's length")
        return 0
    }
    return stream.setRule { rule in rule.set(delimiter: delimiter, length, limit: longest) } ? 1 : 0
}

@implementation @c
public func RLStreamPauseReading(_ stream: OpaquePointer?) { borrow(stream, "RLStreamPauseReading")?.pause() }

@implementation @c
public func RLStreamResumeReading(_ stream: OpaquePointer?) { borrow(stream, "RLStreamResumeReading")?.resume() }

@implementation @c
public func RLStreamWrite(_ stream: OpaquePointer?, _ bytes: UnsafeRawPointer?, _ length: Int) -> UInt8 {
    guard let stream = borrow(stream, "RLStreamWrite"), areThere(bytes, length, "RLStreamWrite") else { return 0 }
    return stream.write(bytes?.assumingMemoryBound(to: UInt8.self), length, later: false) ? 1 : 0
}

@implementation @c
public func RLStreamWriteData(_ stream: OpaquePointer?, _ data: OpaquePointer?) -> UInt8 {
    guard let stream = borrow(stream, "RLStreamWriteData") else { return 0 }
    guard let data, RLGetTypeID(UnsafeRawPointer(data)) == RLDataGetTypeID() else {
        Misuse.report("RLStreamWriteData", "data", "not an RLData")
        return 0
    }
    return stream.write(RLDataGetBytePtr(data), RLDataGetLength(data), data, later: false) ? 1 : 0
}

@implementation @c
public func RLStreamAppend(_ stream: OpaquePointer?, _ bytes: UnsafeRawPointer?, _ length: Int) -> UInt8 {
    guard let stream = borrow(stream, "RLStreamAppend"), areThere(bytes, length, "RLStreamAppend") else { return 0 }
    return stream.write(bytes?.assumingMemoryBound(to: UInt8.self), length, later: true) ? 1 : 0
}

@implementation @c
public func RLStreamFlush(
    _ stream: OpaquePointer?, _ callout: RLStreamFlushCallBack?, _ info: UnsafeMutableRawPointer?
) -> UInt8 {
    guard let stream = borrow(stream, "RLStreamFlush") else { return 0 }
    guard let callout else {
        Misuse.report("RLStreamFlush", "callout", expected: "a function", got: "NULL")
        return 0
    }
    return stream.flush(callout, info) ? 1 : 0
}

@implementation @c
public func RLStreamForward(_ from: OpaquePointer?, _ to: OpaquePointer?) -> UInt8 {
    guard let from = borrow(from, "RLStreamForward", "from") else { return 0 }
    guard let to else { return from.forward(to: nil) ? 1 : 0 }
    guard let target = borrow(to, "RLStreamForward", "to") else { return 0 }
    return from.forward(to: target) ? 1 : 0
}

@implementation @c
public func RLStreamForwardBoth(_ stream: OpaquePointer?, _ other: OpaquePointer?) -> UInt8 {
    guard let stream = borrow(stream, "RLStreamForwardBoth"), let other = borrow(other, "RLStreamForwardBoth", "other") else { return 0 }
    return stream.forwardBoth(other) ? 1 : 0
}

@implementation @c
public func RLStreamGetQueuedLength(_ stream: OpaquePointer?) -> Int { borrow(stream, "RLStreamGetQueuedLength")?.queuedNow ?? 0 }

@implementation @c
public func RLStreamSetHighWaterMark(_ stream: OpaquePointer?, _ length: Int) {
    guard let stream = borrow(stream, "RLStreamSetHighWaterMark") else { return }
    if length < 1 { return Misuse.report("RLStreamSetHighWaterMark", "length", "not positive") }
    stream.setHighWaterMark(length)
}

@implementation @c
public func RLStreamSetIdleLimit(_ stream: OpaquePointer?, _ seconds: Double) {
    guard let stream = borrow(stream, "RLStreamSetIdleLimit") else { return }
    if seconds.isNaN || seconds < 0 { return Misuse.report("RLStreamSetIdleLimit", "seconds", "negative, or not a number") }
    stream.setIdleLimit(seconds)
}

@implementation @c
public func RLStreamCanAcceptBytes(_ stream: OpaquePointer?) -> UInt8 {
    borrow(stream, "RLStreamCanAcceptBytes")?.canAccept == true ? 1 : 0
}

@implementation @c
public func RLStreamShutdown(_ stream: OpaquePointer?) { borrow(stream, "RLStreamShutdown")?.shutdown() }

@implementation @c
public func RLStreamCloseWhenWritten(_ stream: OpaquePointer?) { borrow(stream, "RLStreamCloseWhenWritten")?.closeWhenWritten() }

@implementation @c
public func RLStreamClose(_ stream: OpaquePointer?) { borrow(stream, "RLStreamClose")?.close() }
