import CLinux
import CRunLoop
import CRunLoopKit

// include/RunLoopKit/RLWorkers.h

@implementation @c
public func RLWorkersCreate(_ allocator: OpaquePointer?, _ limit: Int) -> OpaquePointer? {
    guard 1...1024 ~= limit else {
        Misuse.report("RLWorkersCreate", "limit", "must be from 1 to 1024")
        return nil
    }
    return KitObject.prepare() ? Workers.create(limit) : nil
}

@implementation @c
public func RLWorkersGetLimit(_ workers: OpaquePointer?) -> Int {
    guard let workers: WorkersPointer = KitObject.borrow(workers, "RLWorkersGetLimit", "workers") else { return 0 }
    return workers.pointee.object.number
}

@implementation @c
public func RLWorkersSubmit(_ workers: OpaquePointer?, _ work: OpaquePointer?) -> UInt8 {
    guard let workers: WorkersPointer = KitObject.borrow(workers, "RLWorkersSubmit", "workers"),
        let work: WorkPointer = KitObject.borrow(work, "RLWorkersSubmit", "work")
    else { return 0 }
    do throws(SystemError) {
        try workers.pointee.pool.submit(work)
        return 1
    } catch {
        return 0
    }
}

@implementation @c
public func RLWorkCreate(
    _ allocator: OpaquePointer?, _ order: Int, _ function: RLWorkFunction?, _ callout: RLWorkCallBack?,
    _ context: UnsafePointer<RLWorkContext>?
) -> OpaquePointer? {
    guard let function else {
        Misuse.report("RLWorkCreate", "function", expected: "a function", got: "NULL")
        return nil
    }
    guard let client = ClientContext.load(context, "RLWorkCreate") else { return nil }
    return Work.create(order, function, callout, client)
}

@implementation @c
public func RLWorkCancel(_ work: OpaquePointer?) -> UInt8 {
    guard let work: WorkPointer = KitObject.borrow(work, "RLWorkCancel", "work") else { return 0 }
    return work.cancel() ? 1 : 0
}
