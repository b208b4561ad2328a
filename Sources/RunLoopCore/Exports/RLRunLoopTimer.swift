import CLinux
import CRunLoop

// The functions that include/RunLoop/RLRunLoopTimer.h declares and documents.

@inline(never)
private func borrow(_ timer: OpaquePointer?, _ function: Name) -> TimerPointer? { Handle.borrow(timer, function, "timer") }

@implementation @c
public func RLRunLoopTimerGetTypeID() -> UInt { Kind.timer.typeID }

@_optimize(speed) @implementation @c
public func RLRunLoopTimerCreate(
    _ allocator: OpaquePointer?, _ fireDate: Double, _ interval: Double, _ flags: UInt, _ order: Int,
    _ callout: (@convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Void)?,
    _ context: UnsafeMutablePointer<RLRunLoopTimerContext>?
) -> OpaquePointer? {
    // The common case: a one-shot timer of order 0 without functions in its context.
    if let callout, !fireDate.isNaN, interval.bitPattern | UInt64(bitPattern: Int64(order)) == 0, context?.pointee.hasOnlyInfo ?? true,
        let threadContext = ThreadContextPointer.current,
        let timer = TimerPointer.tryCreate(threadContext, date: Clock.clamped(fireDate), callout, context?.pointee.info)
    {
        return timer.handle
    }
    return create(fireDate, clampedInterval(interval), order, callout ?? doNothing, context, "RLRunLoopTimerCreate")
}

/// The callout of a timer that was created with NULL, as CF allows.
private func doNothing(_ timer: OpaquePointer?, _ info: UnsafeMutableRawPointer?) {}

extension RLRunLoopTimerContext {
    /// Whether no field but `info` is set.
    fileprivate var hasOnlyInfo: Bool { version == 0 && retain == nil && release == nil && copyDescription == nil }
}

@implementation @c
public func RLRunLoopTimerCreateWithDelay(
    _ allocator: OpaquePointer?, _ delay: Double, _ interval: Double,
    _ callout: (@convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Void)?,
    _ context: UnsafeMutablePointer<RLRunLoopTimerContext>?
) -> OpaquePointer? {
    let name: Name = "RLRunLoopTimerCreateWithDelay"
    if delay.isNaN {
        Misuse.report(name, "delay", "not a number")
        return nil
    }
    return create(date(after: delay), clampedInterval(interval), 0, callout, context, name)
}

@implementation @c
public func RLRunLoopTimerCreateRearmable(
    _ allocator: OpaquePointer?, _ callout: (@convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Void)?,
    _ context: UnsafeMutablePointer<RLRunLoopTimerContext>?
) -> OpaquePointer? {
    create(.infinity, TimerDetail.untilArmed, 0, callout, context, "RLRunLoopTimerCreateRearmable")
}

/// Returns an interval clamped to the longest that a timer can have; NaN stays NaN.
private func clampedInterval(_ interval: Double) -> Double { interval > Clock.latestDate ? Clock.latestDate : interval }

/// Returns the date `delay` seconds from now; `delay` is not NaN.
private func date(after delay: Double) -> Double { delay > 0 ? Clock.currentDate + delay : Clock.currentDate }

@inline(never)
private func create(
    _ fireDate: Double, _ interval: Double, _ order: Int,
    _ callout: (@convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Void)?,
    _ context: UnsafeMutablePointer<RLRunLoopTimerContext>?, _ name: Name
) -> OpaquePointer? {
    guard let callout else {
        Misuse.report(name, "callout", expected: "a function", got: nil)
        return nil
    }
    if fireDate.isNaN || interval.isNaN {
        Misuse.report(name, fireDate.isNaN ? "fireDate" : "interval", "not a number")
        return nil
    }
    guard var client = loadContext(context, name), let loop = Registry.current else { return nil }
    client.info = client.retained()
    let date = Clock.clamped(fireDate)
    guard let timer = TimerPointer.create(loop.threadContext, date: date, interval: max(interval, 0), order: order, callout, client) else {
        client.released(client.info)
        systemError = ENOMEM
        return nil
    }
    return timer.handle
}

@implementation @c
public func RLRunLoopTimerGetNextFireDate(_ timer: OpaquePointer?) -> Double {
    guard let timer = borrow(timer, "RLRunLoopTimerGetNextFireDate") else { return 0 }
    let owner = timer.item.lock()
    defer { owner.unlock() }
    return timer.pointee.item.has(.valid) ? timer.pointee.date : 0
}

@_optimize(speed) @implementation @c
public func RLRunLoopTimerSetNextFireDate(_ timer: OpaquePointer?, _ fireDate: Double) {
    if let handle = UnsafeRawPointer(timer), !fireDate.isNaN,
        (Handle.storage(handle) as TimerPointer).trySetNextFireDate(Clock.clamped(fireDate))
    {
        return
    }
    setNextFireDate(timer, fireDate)
}

@inline(never)
private func setNextFireDate(_ timer: OpaquePointer?, _ date: Double) {
    ThreadContextPointer.stepOut()
    guard let timer = borrow(timer, "RLRunLoopTimerSetNextFireDate") else { return }
    if date.isNaN { return Misuse.report("RLRunLoopTimerSetNextFireDate", "fireDate", "not a number") }
    timer.setNextFireDate(Clock.clamped(date))
}

@implementation @c
public func RLRunLoopTimerSetNextFireDelay(_ timer: OpaquePointer?, _ delay: Double) {
    guard let timer = borrow(timer, "RLRunLoopTimerSetNextFireDelay") else { return }
    if delay.isNaN { return Misuse.report("RLRunLoopTimerSetNextFireDelay", "delay", "not a number") }
    timer.setNextFireDate(Clock.clamped(date(after: delay)))
}

@implementation @c
public func RLRunLoopTimerGetInterval(_ timer: OpaquePointer?) -> Double {
    borrow(timer, "RLRunLoopTimerGetInterval")?.detail { $0.clientInterval } ?? 0
}

@implementation @c
public func RLRunLoopTimerDoesRepeat(_ timer: OpaquePointer?) -> UInt8 {
    (borrow(timer, "RLRunLoopTimerDoesRepeat")?.detail { $0.clientInterval } ?? 0) > 0 ? 1 : 0
}

@implementation @c
public func RLRunLoopTimerGetOrder(_ timer: OpaquePointer?) -> Int { borrow(timer, "RLRunLoopTimerGetOrder")?.detail { $0.order } ?? 0 }

@_optimize(speed) @implementation @c
public func RLRunLoopTimerInvalidate(_ timer: OpaquePointer?) {
    if let handle = UnsafeRawPointer(timer), (Handle.storage(handle) as TimerPointer).tryInvalidate() { return }
    invalidate(timer)
}

@inline(never)
private func invalidate(_ timer: OpaquePointer?) {
    ThreadContextPointer.stepOut()
    if let timer = borrow(timer, "RLRunLoopTimerInvalidate") { RunLoopPointer.invalidate(timer) }
}

@implementation @c
public func RLRunLoopTimerIsValid(_ timer: OpaquePointer?) -> UInt8 {
    guard let timer = borrow(timer, "RLRunLoopTimerIsValid") else { return 0 }
    return timer.pointee.item.has(.valid) ? 1 : 0
}

@implementation @c
public func RLRunLoopTimerSetKeepsModeRunning(_ timer: OpaquePointer?, _ keeps: UInt8) {
    borrow(timer, "RLRunLoopTimerSetKeepsModeRunning")?.setUnreferenced(keeps == 0)
}

@implementation @c
public func RLRunLoopTimerGetContext(_ timer: OpaquePointer?, _ context: UnsafeMutablePointer<RLRunLoopTimerContext>?) {
    guard let timer = borrow(timer, "RLRunLoopTimerGetContext") else { return }
    storeContext(context, "RLRunLoopTimerGetContext") {
        let owner = timer.item.lock()
        defer { owner.unlock() }
        var own = timer.detail?.pointee.context ?? .empty
        own.info = timer.info
        return own
    }
}

@implementation @c
public func RLRunLoopTimerGetTolerance(_ timer: OpaquePointer?) -> Double {
    borrow(timer, "RLRunLoopTimerGetTolerance")?.detail { $0.tolerance } ?? 0
}

@implementation @c
public func RLRunLoopTimerSetTolerance(_ timer: OpaquePointer?, _ tolerance: Double) {
    guard let timer = borrow(timer, "RLRunLoopTimerSetTolerance") else { return }
    if tolerance.isNaN { Misuse.report("RLRunLoopTimerSetTolerance", "tolerance", "not a number") }
    guard Registry.current != nil else { return }
    if !timer.setTolerance(tolerance > 0 ? min(tolerance, Clock.latestDate) : 0) { systemError = ENOMEM }
}

extension TimerPointer {
    /// Returns a value from the timer's detail, read under the lock; nil if the timer has no detail.
    fileprivate func detail(_ part: (borrowing TimerDetail) -> Double) -> Double? {
        let owner = item.lock()
        defer { owner.unlock() }
        return detail.map { part($0.pointee) }
    }

    fileprivate func detail(_ part: (borrowing TimerDetail) -> Int) -> Int? {
        let owner = item.lock()
        defer { owner.unlock() }
        return detail.map { part($0.pointee) }
    }
}
