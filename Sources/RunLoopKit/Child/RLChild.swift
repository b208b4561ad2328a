import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit

// include/RunLoopKit/RLChild.h

private func borrow(_ child: OpaquePointer?, _ function: Name) -> ChildPointer? { KitObject.borrow(child, function, "child") }

/// Returns the callout; reports misuse and returns nil if it is NULL. Calls user code (the error handler).
private func checkedCallout(_ callout: RLChildCallBack?, _ function: Name) -> RLChildCallBack? {
    if callout == nil { Misuse.report(function, "callout", expected: "a function", got: "NULL") }
    return callout
}

@implementation @c
public func RLChildCreate(
    _ allocator: OpaquePointer?, _ process: Int32, _ callout: RLChildCallBack?, _ context: UnsafePointer<RLChildContext>?
) -> OpaquePointer? {
    guard process > 0 else {
        Misuse.report("RLChildCreate", "process", "not positive")
        return nil
    }
    guard let callout = checkedCallout(callout, "RLChildCreate"), let client = ClientContext.load(context, "RLChildCreate"),
        let child = Child.make(callout, client, ChildPipes())
    else { return nil }
    do throws(SystemError) {
        try child.attach(process)
        return child.pointee.object.source
    } catch {
        child.discard()
        return nil
    }
}

@implementation @c
public func RLChildCreateBySpawning(
    _ allocator: OpaquePointer?, _ options: UnsafePointer<RLChildSpawnOptions>?, _ callout: RLChildCallBack?,
    _ context: UnsafePointer<RLChildContext>?
) -> OpaquePointer? {
    guard let spawn = ChildSpawn(options, "RLChildCreateBySpawning"), let callout = checkedCallout(callout, "RLChildCreateBySpawning"),
        let client = ClientContext.load(context, "RLChildCreateBySpawning"), let child = Child.make(callout, client, ChildPipes())
    else { return nil }
    do throws(SystemError) {
        try spawn.start(child)
        return child.pointee.object.source
    } catch {
        child.discard()
        return nil
    }
}

@implementation @c
public func RLChildGetProcess(_ child: OpaquePointer?) -> Int32 {
    Int32(borrow(child, "RLChildGetProcess")?.pointee.object.number ?? 0)
}

@implementation @c
public func RLChildGetStatus(_ child: OpaquePointer?, _ status: UnsafeMutablePointer<RLChildStatus>?) -> UInt8 {
    guard let child = borrow(child, "RLChildGetStatus") else { return 0 }
    if let status, status.pointee.version != 0 {
        Misuse.report("RLChildGetStatus", "status", "version must be 0")
        return 0
    }
    guard let known = child.status else { return 0 }
    status?.pointee = known
    return 1
}

@implementation @c
public func RLChildSendSignal(_ child: OpaquePointer?, _ signal: Int32) -> UInt8 {
    guard let child = borrow(child, "RLChildSendSignal") else { return 0 }
    return (try? child.send(signal)) != nil ? 1 : 0
}

@implementation @c
public func RLChildCreatePipe(
    _ child: OpaquePointer?, _ descriptor: Int32, _ callout: RLFileDescriptorCallBack?, _ context: UnsafePointer<RLFileDescriptorContext>?
) -> OpaquePointer? {
    guard let child = borrow(child, "RLChildCreatePipe") else { return nil }
    guard 0...2 ~= descriptor else {
        Misuse.report("RLChildCreatePipe", "descriptor", "must be 0, 1 or 2")
        return nil
    }
    let end = child.pointee.pipes.take(descriptor)
    guard end >= 0 else {
        systemError = EBADF
        return nil
    }
    guard let object = RLFileDescriptorCreate(nil, end, 1, callout, context) else {
        child.pointee.pipes.put(descriptor, end)
        return nil
    }
    return object
}
