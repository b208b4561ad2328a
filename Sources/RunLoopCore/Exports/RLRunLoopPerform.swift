import CLinux
import CRunLoop

// include/RunLoop/RLRunLoopPerform.h

public typealias PerformFunction = @convention(c) (UnsafeMutableRawPointer?) -> Void

/// What the arguments of these functions stand for.
private struct Call {
    let loop: RunLoopPointer
    let modes: UnsafeRawPointer
    let function: PerformFunction
    /// The modes, if they came in an array, which may change while the request waits, or not hold them: one of our own.
    let copy: ArrayPointer?

    /// The request, if there is one, has retained what it needs.
    @inline(__always)
    func end() { copy?.release() }
}

/// nil with EINVAL and a diagnostic if an argument is wrong.
@inline(__always)
private func check(_ rl: OpaquePointer?, _ modes: UnsafeRawPointer?, _ function: PerformFunction?, _ name: Name) -> Call? {
    guard let loop: RunLoopPointer = Handle.borrowInline(rl, name, "rl") else { return nil }
    guard let function else {
        Misuse.report(name, "function", expected: "a function", got: nil)
        return nil
    }
    if let modes, Handle.isKind(.string, modes) { return Call(loop: loop, modes: modes, function: function, copy: nil) }
    guard let array = arrayOfModes(modes, name) else { return nil }
    return Call(loop: loop, modes: UnsafeRawPointer(array), function: function, copy: array)
}

/// The same for callers that are called seldom: compiled once.
@inline(never)
private func checkSeldom(_ rl: OpaquePointer?, _ modes: UnsafeRawPointer?, _ function: PerformFunction?, _ name: Name) -> Call? {
    check(rl, modes, function, name)
}

/// The caller releases it.
@inline(never)
private func arrayOfModes(_ modes: UnsafeRawPointer?, _ name: Name) -> ArrayPointer? {
    guard let modes, Handle.isKind(.array, modes) else {
        Misuse.report(name, "modes", expected: "RLString or RLArray", got: modes)
        return nil
    }
    let array: ArrayPointer = Handle.storage(modes)
    if array.pointee.count == 0 {
        Misuse.report(name, "modes", "an array without a mode")
        return nil
    }
    for index in 0..<array.pointee.count {
        if let mode = array[value: index], Handle.isKind(.string, mode) { continue }
        Misuse.report(name, "modes", expected: "RLArray of RLString", got: array[value: index])
        return nil
    }
    if !array.pointee.isMutable && array.pointee.elements.holdsObjects { return array.immutableCopy() }
    return ArrayPointer.create(array.pointee.values, count: array.pointee.count, .ofObjects)
}

@implementation @c
public func RLRunLoopPerformFunction(
    _ rl: OpaquePointer?, _ modes: UnsafeRawPointer?, _ function: PerformFunction?, _ info: UnsafeMutableRawPointer?
) -> UInt8 {
    guard let call = check(rl, modes, function, "RLRunLoopPerformFunction") else { return 0 }
    defer { call.end() }
    return call.loop.leaveSeldom(PerformRequest(call.modes, call.function, info), wakes: false) ? 1 : 0
}

@implementation @c
public func RLRunLoopPerformFunctionWithRelease(
    _ rl: OpaquePointer?, _ modes: UnsafeRawPointer?, _ function: PerformFunction?, _ info: UnsafeMutableRawPointer?,
    _ release: PerformFunction?
) -> UInt8 {
    guard let call = checkSeldom(rl, modes, function, "RLRunLoopPerformFunctionWithRelease") else { return 0 }
    defer { call.end() }
    guard let request = PerformRequest(call.modes, call.function, info, release: release, ticket: nil) else { return 0 }
    return call.loop.leaveSeldom(request, wakes: false) ? 1 : 0
}

@implementation @c
public func RLRunLoopPostFunction(
    _ rl: OpaquePointer?, _ modes: UnsafeRawPointer?, _ function: PerformFunction?, _ info: UnsafeMutableRawPointer?
) -> UInt8 {
    guard let call = check(rl, modes, function, "RLRunLoopPostFunction") else { return 0 }
    defer { call.end() }
    return call.loop.leave(PerformRequest(call.modes, call.function, info), wakes: true) ? 1 : 0
}

@implementation @c
public func RLRunLoopPerformFunctionAndWait(
    _ rl: OpaquePointer?, _ modes: UnsafeRawPointer?, _ function: PerformFunction?, _ info: UnsafeMutableRawPointer?,
    _ timeout: Double
) -> UInt8 {
    let name: Name = "RLRunLoopPerformFunctionAndWait"
    guard isNumber(timeout, name, "timeout"), let call = checkSeldom(rl, modes, function, name) else { return 0 }
    defer { call.end() }
    if call.loop == Registry.current {
        RUNLOOP_IS_CALLING_OUT_TO_A_PERFORMED_FUNCTION(call.function, info)
        return 1
    }
    return call.loop.performAndWait(call.modes, call.function, info, seconds: timeout) ? 1 : 0
}

@implementation @c
public func RLRunLoopPerformFunctionAfterDelay(
    _ rl: OpaquePointer?, _ modes: UnsafeRawPointer?, _ function: PerformFunction?, _ info: UnsafeMutableRawPointer?,
    _ delay: Double
) -> UInt8 {
    let name: Name = "RLRunLoopPerformFunctionAfterDelay"
    guard isNumber(delay, name, "delay"), let current = Registry.current, let call = checkSeldom(rl, modes, function, name) else {
        return 0
    }
    defer { call.end() }
    return call.loop.perform(after: delay, PerformRequest(call.modes, call.function, info), current.home) ? 1 : 0
}

private func isNumber(_ seconds: Double, _ name: Name, _ parameter: Name) -> Bool {
    if !seconds.isNaN { return true }
    Misuse.report(name, parameter, "not a number")
    systemError = EINVAL
    return false
}

@implementation @c
public func RLRunLoopCancelPerformFunction(_ rl: OpaquePointer?, _ function: PerformFunction?, _ info: UnsafeMutableRawPointer?) -> Int {
    borrowLoop(rl, "RLRunLoopCancelPerformFunction")?.cancel(function, info) ?? 0
}
