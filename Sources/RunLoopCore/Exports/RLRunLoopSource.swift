import CLinux
import CRunLoop

// The functions that include/RunLoop/RLRunLoopSource.h declares and documents.

@inline(never)
private func borrow(_ source: OpaquePointer?, _ function: Name) -> SourcePointer? {
    Handle.borrow(source, function, "source")
}

@implementation @c
public func RLRunLoopSourceGetTypeID() -> UInt { Kind.source.typeID }

@implementation @c
public func RLRunLoopSourceCreate(
    _ allocator: OpaquePointer?, _ order: Int, _ context: UnsafeMutablePointer<RLRunLoopSourceContext>?
) -> OpaquePointer? {
    guard let context else {
        Misuse.report("RLRunLoopSourceCreate", "context", expected: "a context", got: nil)
        return nil
    }
    var copy: RLRunLoopSourceContext
    var getPort: SourceStorage.GetPort?
    switch context.pointee.version {
    case 0: copy = context.pointee
    case 1:
        let version1 = UnsafeRawPointer(context).assumingMemoryBound(to: RLRunLoopSourceContext1.self).pointee
        copy = RLRunLoopSourceContext(
            version: 1, info: version1.info, retain: version1.retain, release: version1.release,
            copyDescription: version1.copyDescription, equal: version1.equal, hash: version1.hash, schedule: nil, cancel: nil,
            perform: version1.perform)
        getPort = version1.getPort
        if getPort == nil {
            Misuse.report("RLRunLoopSourceCreate", "context", "version 1 requires getPort")
            return nil
        }
    default:
        Misuse.report("RLRunLoopSourceCreate", "context", "version must be 0 or 1")
        return nil
    }
    guard let loop = Registry.current else { return nil }
    let client = ClientContext(info: copy.info, retain: copy.retain, release: copy.release, copyDescription: copy.copyDescription)
    let info = client.retained()
    let detail = SourceDetail(
        retain: copy.retain, release: copy.release, copyDescription: copy.copyDescription, equal: copy.equal, hash: copy.hash,
        schedule: copy.schedule, cancel: copy.cancel)
    guard let source = SourcePointer.create(loop.threadContext, order: order, info: info, perform: copy.perform, getPort: getPort, detail)
    else {
        client.released(info)
        systemError = ENOMEM
        return nil
    }
    // So signals sent before the source is added to this loop are already ordered among the loop's.
    loop.expect(source)
    return source.handle
}

@implementation @c
public func RLRunLoopSourceGetOrder(_ source: OpaquePointer?) -> Int { borrow(source, "RLRunLoopSourceGetOrder")?.pointee.order ?? 0 }

@implementation @c
public func RLRunLoopSourceInvalidate(_ source: OpaquePointer?) {
    guard let source = borrow(source, "RLRunLoopSourceInvalidate"), Registry.current != nil else { return }
    RunLoopPointer.invalidate(source)
}

@implementation @c
public func RLRunLoopSourceIsValid(_ source: OpaquePointer?) -> UInt8 {
    guard let source = borrow(source, "RLRunLoopSourceIsValid") else { return 0 }
    return source.pointee.item.has(.valid) ? 1 : 0
}

@implementation @c
public func RLRunLoopSourceSetKeepsModeRunning(_ source: OpaquePointer?, _ keeps: UInt8) {
    guard let source = borrow(source, "RLRunLoopSourceSetKeepsModeRunning") else { return }
    RunLoopPointer.setUnreferenced(source, keeps == 0)
}

@implementation @c
public func RLRunLoopSourceGetContext(_ source: OpaquePointer?, _ context: UnsafeMutablePointer<RLRunLoopSourceContext>?) {
    guard let source = borrow(source, "RLRunLoopSourceGetContext") else { return }
    guard let context else { return Misuse.report("RLRunLoopSourceGetContext", "context", expected: "a context", got: nil) }
    let asked = context.pointee.version
    guard asked == 0 || asked == 1 else { return Misuse.report("RLRunLoopSourceGetContext", "context", "version must be 0 or 1") }
    // The functions in the context of an internal source are hidden from clients; its info is not.
    let isInternal = source.pointee.item.has(.isInternal)
    let own = isInternal ? SourceDetail() : source.pointee.detail?.pointee ?? SourceDetail()
    let perform = isInternal ? nil : source.pointee.function.perform
    // As in CF, the version that the client requests determines only the size of its struct.
    let size = asked == 0 ? MemoryLayout<RLRunLoopSourceContext>.size : MemoryLayout<RLRunLoopSourceContext1>.size
    memset(context, 0, size)
    if source.version == 1 {
        var copy = RLRunLoopSourceContext1(
            version: 1, info: source.pointee.info, retain: own.retain, release: own.release, copyDescription: own.copyDescription,
            equal: own.equal, hash: own.hash, getPort: source.getPort, perform: perform)
        memcpy(context, &copy, MemoryLayout<RLRunLoopSourceContext1>.size)
        return
    }
    var copy = RLRunLoopSourceContext(
        version: 0, info: source.pointee.info, retain: own.retain, release: own.release, copyDescription: own.copyDescription,
        equal: own.equal, hash: own.hash, schedule: own.schedule, cancel: own.cancel, perform: perform)
    memcpy(context, &copy, size)
}

@implementation @c
public func RLRunLoopSourceSignal(_ source: OpaquePointer?) {
    // Inlined, unlike `borrow`: programs signal often.
    guard let source: SourcePointer = Handle.borrow(source, "RLRunLoopSourceSignal", "source") else { return }
    source.signalIfValid()
}

@implementation @c
public func RLRunLoopSourceIsSignalled(_ source: OpaquePointer?) -> UInt8 {
    guard let source = borrow(source, "RLRunLoopSourceIsSignalled") else { return 0 }
    return source.isSignalled ? 1 : 0
}

extension SourcePointer {
    /// Signals the source, except where that has no effect: on sources with a descriptor, and on invalid ones.
    fileprivate func signalIfValid() {
        if !isSignallable { return }
        if Probe.isSet { Probe.report(.sent, .source, self, function: addressOfFunction(pointee.function.perform), info: pointee.info) }
        signal()
    }
}
