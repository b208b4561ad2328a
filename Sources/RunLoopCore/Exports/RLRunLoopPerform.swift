import CLinux
import CRunLoop

// include/RunLoop/RLRunLoopPerform.h

public typealias PerformFunction = @convention(c) (UnsafeMutableRawPointer?) -> Void

/// What the arguments of these functions stand for.
private struct Call {
    let loop: RunLoopPointer
    let modes: UnsafeRawPointer
    let function: PerformFunction
}

/// nil with EINVAL and a diagnostic if an argument is wrong.
@inline(__always)
private func check(_ rl: OpaquePointer?, _ modes: UnsafeRawPointer?, _ function: PerformFunction?, _ name: StaticString) -> Call? {
    guard let loop: RunLoopPointer = Handle.borrow(rl, name, "rl"), let modes = checkModes(modes, name) else { return nil }
    if let function { return Call(loop: loop, modes: modes, function: function) }
    Misuse.report(name, "function", expected: "a function", got: nil)
    return nil
}

@inline(__always)
private func checkModes(_ modes: UnsafeRawPointer?, _ name: StaticString) -> UnsafeRawPointer? {
    let kind = Handle.kind(of: modes)
    if kind == .string { return modes }
    if kind == .array { return isArrayOfModes(Handle.storage(modes.unsafelyUnwrapped), name) ? modes : nil }
    Misuse.report(name, "modes", expected: "RLString or RLArray", got: modes)
    return nil
}

@inline(never)
private func isArrayOfModes(_ array: ArrayPointer, _ name: StaticString) -> Bool {
    if array.pointee.count == 0 {
        Misuse.report(name, "modes", "an array without a mode")
        return false
    }
    for index in 0..<array.pointee.count where Handle.kind(of: array[value: index]) != .string {
        Misuse.report(name, "modes", expected: "RLArray of RLString", got: array[value: index])
        return false
    }
    return true
}

@implementation @_cdecl("RLRunLoopPerformFunction")
public func RLRunLoopPerformFunction(
    _ rl: OpaquePointer?, _ modes: UnsafeRawPointer?, _ function: PerformFunction?, _ info: UnsafeMutableRawPointer?
) -> UInt8 {
    guard let call = check(rl, modes, function, "RLRunLoopPerformFunction") else { return 0 }
    return call.loop.leave(PerformRequest(call.modes, call.function, info), wakes: false) ? 1 : 0
}

@implementation @_cdecl("RLRunLoopPerformFunctionWithRelease")
public func RLRunLoopPerformFunctionWithRelease(
    _ rl: OpaquePointer?, _ modes: UnsafeRawPointer?, _ function: PerformFunction?, _ info: UnsafeMutableRawPointer?,
    _ release: PerformFunction?
) -> UInt8 {
    guard let call = check(rl, modes, function, "RLRunLoopPerformFunctionWithRelease"),
        let request = PerformRequest(call.modes, call.function, info, release: release, ticket: nil)
    else { return 0 }
    return call.loop.leave(request, wakes: false) ? 1 : 0
}

@implementation @_cdecl("RLRunLoopPostFunction")
public func RLRunLoopPostFunction(
    _ rl: OpaquePointer?, _ modes: UnsafeRawPointer?, _ function: PerformFunction?, _ info: UnsafeMutableRawPointer?
) -> UInt8 {
    guard let call = check(rl, modes, function, "RLRunLoopPostFunction") else { return 0 }
    return call.loop.leave(PerformRequest(call.modes, call.function, info), wakes: true) ? 1 : 0
}

@implementation @_cdecl("RLRunLoopPerformFunctionAndWait")
public func RLRunLoopPerformFunctionAndWait(
    _ rl: OpaquePointer?, _ modes: UnsafeRawPointer?, _ function: PerformFunction?, _ info: UnsafeMutableRawPointer?,
    _ timeout: Double
) -> UInt8 {
    let name: StaticString = "RLRunLoopPerformFunctionAndWait"
    guard let call = check(rl, modes, function, name), isNumber(timeout, name, "timeout") else { return 0 }
    if call.loop == Registry.current {
        RUNLOOP_IS_CALLING_OUT_TO_A_PERFORMED_FUNCTION(call.function, info)
        return 1
    }
    return call.loop.performAndWait(call.modes, call.function, info, seconds: timeout) ? 1 : 0
}

@implementation @_cdecl("RLRunLoopPerformFunctionAfterDelay")
public func RLRunLoopPerformFunctionAfterDelay(
    _ rl: OpaquePointer?, _ modes: UnsafeRawPointer?, _ function: PerformFunction?, _ info: UnsafeMutableRawPointer?,
    _ delay: Double
) -> UInt8 {
    let name: StaticString = "RLRunLoopPerformFunctionAfterDelay"
    guard let call = check(rl, modes, function, name), isNumber(delay, name, "delay"), let current = Registry.current else { return 0 }
    return call.loop.perform(after: delay, PerformRequest(call.modes, call.function, info), current.home) ? 1 : 0
}

private func isNumber(_ seconds: Double, _ name: StaticString, _ parameter: StaticString) -> Bool {
    if !seconds.isNaN { return true }
    Misuse.report(name, parameter, "not a number")
    systemError = EINVAL
    return false
}

@implementation @_cdecl("RLRunLoopCancelPerformFunction")
public func RLRunLoopCancelPerformFunction(_ rl: OpaquePointer?, _ function: PerformFunction?, _ info: UnsafeMutableRawPointer?) -> Int {
    borrowLoop(rl, "RLRunLoopCancelPerformFunction")?.cancel(function, info) ?? 0
}
