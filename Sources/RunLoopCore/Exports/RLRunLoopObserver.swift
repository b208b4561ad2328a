import CLinux
import CRunLoop

// The functions that include/RunLoop/RLRunLoopObserver.h declares and documents.

@inline(never)
private func borrow(_ observer: OpaquePointer?, _ function: Name) -> ObserverPointer? {
    Handle.borrow(observer, function, "observer")
}

@implementation @c
public func RLRunLoopObserverGetTypeID() -> UInt { Kind.observer.typeID }

@implementation @c
public func RLRunLoopObserverCreate(
    _ allocator: OpaquePointer?, _ activities: UInt, _ repeats: UInt8, _ order: Int,
    _ callout: (@convention(c) (OpaquePointer?, UInt, UnsafeMutableRawPointer?) -> Void)?,
    _ context: UnsafeMutablePointer<RLRunLoopObserverContext>?
) -> OpaquePointer? {
    guard var client = loadContext(context, "RLRunLoopObserverCreate"), let loop = Registry.current else { return nil }
    client.info = client.retained()
    guard
        let observer = ObserverPointer.create(
            loop.threadContext, activities: activities, repeats: repeats != 0, order: order, callout ?? doNothing, client)
    else {
        client.released(client.info)
        systemError = ENOMEM
        return nil
    }
    return observer.handle
}

/// The callout of an observer that was created with NULL, as CF allows.
private func doNothing(_ observer: OpaquePointer?, _ activity: UInt, _ info: UnsafeMutableRawPointer?) {}

@implementation @c
public func RLRunLoopObserverGetActivities(_ observer: OpaquePointer?) -> UInt {
    borrow(observer, "RLRunLoopObserverGetActivities")?.pointee.activities ?? 0
}

@implementation @c
public func RLRunLoopObserverDoesRepeat(_ observer: OpaquePointer?) -> UInt8 {
    guard let observer = borrow(observer, "RLRunLoopObserverDoesRepeat") else { return 0 }
    return observer.pointee.item.has(.repeats) ? 1 : 0
}

@implementation @c
public func RLRunLoopObserverGetOrder(_ observer: OpaquePointer?) -> Int {
    borrow(observer, "RLRunLoopObserverGetOrder")?.pointee.order ?? 0
}

@implementation @c
public func RLRunLoopObserverInvalidate(_ observer: OpaquePointer?) { borrow(observer, "RLRunLoopObserverInvalidate")?.invalidate() }

@implementation @c
public func RLRunLoopObserverIsValid(_ observer: OpaquePointer?) -> UInt8 {
    guard let observer = borrow(observer, "RLRunLoopObserverIsValid") else { return 0 }
    return observer.pointee.item.has(.valid) ? 1 : 0
}

@implementation @c
public func RLRunLoopIsIdleInMode(_ mode: OpaquePointer?) -> UInt8 {
    guard let name = borrowMode(mode, "RLRunLoopIsIdleInMode"), let loop = Registry.current else { return 0 }
    return loop.isIdle(in: name) ? 1 : 0
}

@implementation @c
public func RLRunLoopObserverGetContext(_ observer: OpaquePointer?, _ context: UnsafeMutablePointer<RLRunLoopObserverContext>?) {
    guard let observer = borrow(observer, "RLRunLoopObserverGetContext") else { return }
    storeContext(context, "RLRunLoopObserverGetContext") {
        let owner = observer.item.lock()
        defer { owner.unlock() }
        return observer.pointee.context
    }
}
