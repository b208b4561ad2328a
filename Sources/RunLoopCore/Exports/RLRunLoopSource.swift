import CLinux
import CRunLoop

// include/RunLoop/RLRunLoopSource.h

@inline(__always)
private func borrow(_ source: OpaquePointer?, _ function: StaticString) -> SourcePointer? {
    Handle.borrow(source, function, "source")
}

@implementation @_cdecl("RLRunLoopSourceGetTypeID")
public func RLRunLoopSourceGetTypeID() -> UInt { Kind.source.typeID }

@implementation @_cdecl("RLRunLoopSourceCreate")
public func RLRunLoopSourceCreate(
    _ allocator: OpaquePointer?, _ order: Int, _ context: UnsafeMutablePointer<RLRunLoopSourceContext>?
) -> OpaquePointer? {
    guard let context else {
        Misuse.report("RLRunLoopSourceCreate", "context", expected: "a context", got: nil)
        return nil
    }
    var copy: RLRunLoopSourceContext
    var getPort: (@convention(c) (UnsafeMutableRawPointer?) -> Int32)?
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
            Misuse.report("RLRunLoopSourceCreate", "context", "version 1 without getPort")
            return nil
        }
    default:
        Misuse.report("RLRunLoopSourceCreate", "context", "version must be 0 or 1")
        return nil
    }
    guard let loop = Registry.current else { return nil }
    let client = ClientContext(
        info: copy.info, retain: copy.retain, release: copy.release, copyDescription: copy.copyDescription)
    copy.info = client.retained()
    guard let source = SourcePointer.create(loop.home, order: order, copy, getPort) else {
        client.released(copy.info)
        systemError = ENOMEM
        return nil
    }
    return source.handle
}

@implementation @_cdecl("RLRunLoopSourceGetOrder")
public func RLRunLoopSourceGetOrder(_ source: OpaquePointer?) -> Int { borrow(source, "RLRunLoopSourceGetOrder")?.pointee.order ?? 0 }

@implementation @_cdecl("RLRunLoopSourceInvalidate")
public func RLRunLoopSourceInvalidate(_ source: OpaquePointer?) {
    guard let source = borrow(source, "RLRunLoopSourceInvalidate"), Registry.current != nil else { return }
    RunLoopPointer.invalidate(source)
}

@implementation @_cdecl("RLRunLoopSourceIsValid")
public func RLRunLoopSourceIsValid(_ source: OpaquePointer?) -> UInt8 {
    guard let source = borrow(source, "RLRunLoopSourceIsValid") else { return 0 }
    return source.pointee.item.has(ItemHeader.valid) ? 1 : 0
}

@implementation @_cdecl("RLRunLoopSourceGetContext")
public func RLRunLoopSourceGetContext(_ source: OpaquePointer?, _ context: UnsafeMutablePointer<RLRunLoopSourceContext>?) {
    guard let source = borrow(source, "RLRunLoopSourceGetContext") else { return }
    guard let context else { return Misuse.report("RLRunLoopSourceGetContext", "context", expected: "a context", got: nil) }
    guard context.pointee.version == source.pointee.version else {
        return Misuse.report("RLRunLoopSourceGetContext", "context", "version is not the source's")
    }
    let own = source.pointee.context
    if own.version == 0 {
        context.pointee = own
        return
    }
    UnsafeMutableRawPointer(context).assumingMemoryBound(to: RLRunLoopSourceContext1.self).pointee = RLRunLoopSourceContext1(
        version: 1, info: own.info, retain: own.retain, release: own.release, copyDescription: own.copyDescription,
        equal: own.equal, hash: own.hash, getPort: source.pointee.getPort, perform: own.perform)
}

@implementation @_cdecl("RLRunLoopSourceSignal")
public func RLRunLoopSourceSignal(_ source: OpaquePointer?) { borrow(source, "RLRunLoopSourceSignal")?.signalIfValid() }

@implementation @_cdecl("RLRunLoopSourceIsSignalled")
public func RLRunLoopSourceIsSignalled(_ source: OpaquePointer?) -> UInt8 {
    guard let source = borrow(source, "RLRunLoopSourceIsSignalled") else { return 0 }
    return source.isSignalled ? 1 : 0
}

extension UnsafeMutablePointer where Pointee == SourceStorage {
    /// Version-1 sources have nothing to signal, invalid ones nobody to hear it.
    @inline(__always)
    fileprivate func signalIfValid() {
        if pointee.version == 0 && pointee.item.has(ItemHeader.valid) { signal() }
    }
}
