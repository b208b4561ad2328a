import CLinux
import CRunLoop

// The functions that include/RunLoop/RLRunLoopPerform.h declares and documents.

public typealias PerformFunction = @convention(c) (UnsafeMutableRawPointer?) -> Void

/// The checked arguments of a function that queues a function.
private struct Call {
    let loop: RunLoopPointer
    let modes: UnsafeRawPointer
    let function: PerformFunction
    /// The modes, if the client has passed an array or a set: a copy, because the original may change while the request waits, or not
    /// retain them.
    let copy: ArrayPointer?

    /// Releases the copy. A request has retained what it needs.
    func release() { copy?.release() }
}

/// Returns the loop behind a handle if `modes` is a single mode, as it nearly always is. Otherwise returns nil without a diagnostic: the
/// caller then uses `check`.
private func loop(_ rl: OpaquePointer?, ifOneMode modes: UnsafeRawPointer) -> RunLoopPointer? {
    guard let rl = rl.map(UnsafeRawPointer.init), Handle.isKind(.runLoop, rl), Handle.isKind(.string, modes) else { return nil }
    return Handle.storage(rl)
}

/// Checks the arguments. Returns nil with EINVAL, after a diagnostic, if one is wrong, or with ENOMEM if there is no memory to copy an
/// array.
private func check(_ rl: OpaquePointer?, _ modes: UnsafeRawPointer?, _ function: PerformFunction?, _ name: Name) -> Call? {
    guard let loop = borrowLoop(rl, name) else { return nil }
    guard let function else {
        Misuse.report(name, "function", expected: "a function", got: nil)
        return nil
    }
    if let modes, Handle.isKind(.string, modes) { return Call(loop: loop, modes: modes, function: function, copy: nil) }
    guard let array = arrayOfModes(modes, name) else { return nil }
    return Call(loop: loop, modes: UnsafeRawPointer(array), function: function, copy: array)
}

/// Returns the modes as an array with a reference for the caller: an immutable copy of an array or of a set of strings. Returns nil, after
/// a diagnostic, if they are anything else, or nil with ENOMEM.
private func arrayOfModes(_ modes: UnsafeRawPointer?, _ name: Name) -> ArrayPointer? {
    if let modes, Handle.isKind(.set, modes) { return arrayOfModes((Handle.storage(modes) as SetPointer).table, name) }
    guard let modes, Handle.isKind(.array, modes) else {
        Misuse.report(name, "modes", expected: "RLString, RLArray or RLSet", got: modes)
        return nil
    }
    let array: ArrayPointer = Handle.storage(modes)
    guard checkModes(array.pointee.values, array.pointee.count, name) else { return nil }
    if !array.pointee.isMutable && array.pointee.elementCalls.holdsObjects { return array.immutableCopy() }
    return ArrayPointer.create(array.pointee.values, count: array.pointee.count, .ofObjects)
}

/// Returns the modes of a set as an array. CF also accepts a set, although its documentation mentions only arrays.
private func arrayOfModes(_ set: TablePointer, _ name: Name) -> ArrayPointer? {
    // First make a list of plain pointers, which retains nothing: an element may not be an object.
    guard let list = ArrayPointer.createMutable(capacity: set.pointee.count, ElementCalls()) else { return nil }
    defer { list.release() }
    set.list(list.pointee.values, nil)
    return checkModes(list.pointee.values, set.pointee.count, name)
        ? ArrayPointer.create(list.pointee.values, count: set.pointee.count, .ofObjects) : nil
}

/// Checks that a list of modes is not empty and contains only strings: see `Arguments.swift`.
private func checkModes(_ values: UnsafePointer<UnsafeRawPointer?>, _ count: Int, _ name: Name) -> Bool {
    if count == 0 { Misuse.report(name, "modes", "empty") }
    for index in 0..<count where Handle.kind(of: values[index]) != .string {
        Misuse.report(name, "modes", expected: "only RLString elements", got: values[index])
        return false
    }
    return count > 0
}

@implementation @c
public func RLRunLoopPerformFunction(
    _ rl: OpaquePointer?, _ modes: UnsafeRawPointer?, _ function: PerformFunction?, _ info: UnsafeMutableRawPointer?
) -> UInt8 {
    if let function, let modes, let loop = loop(rl, ifOneMode: modes) {
        return loop.enqueue(PerformRequest(modes, function, info), wakes: false) ? 1 : 0
    }
    return enqueue(rl, modes, function, info, wakes: false, "RLRunLoopPerformFunction")
}

@implementation @c
public func RLRunLoopPerformFunctionWithRelease(
    _ rl: OpaquePointer?, _ modes: UnsafeRawPointer?, _ function: PerformFunction?, _ info: UnsafeMutableRawPointer?,
    _ release: PerformFunction?
) -> UInt8 {
    enqueueReleasing(rl, modes, function, info, release, wakes: false, "RLRunLoopPerformFunctionWithRelease")
}

@implementation @c
public func RLRunLoopPostFunction(
    _ rl: OpaquePointer?, _ modes: UnsafeRawPointer?, _ function: PerformFunction?, _ info: UnsafeMutableRawPointer?
) -> UInt8 {
    if let function, let modes, let loop = loop(rl, ifOneMode: modes), _fastPath(!Probe.isSet) {
        return loop.enqueueUnreported(PerformRequest(modes, function, info), wakes: true) ? 1 : 0
    }
    return enqueue(rl, modes, function, info, wakes: true, "RLRunLoopPostFunction")
}

@implementation @c
public func RLRunLoopPostFunctionWithRelease(
    _ rl: OpaquePointer?, _ modes: UnsafeRawPointer?, _ function: PerformFunction?, _ info: UnsafeMutableRawPointer?,
    _ release: PerformFunction?
) -> UInt8 {
    enqueueReleasing(rl, modes, function, info, release, wakes: true, "RLRunLoopPostFunctionWithRelease")
}

/// Checks the arguments and queues a request that has no release function.
@inline(never)
private func enqueue(
    _ rl: OpaquePointer?, _ modes: UnsafeRawPointer?, _ function: PerformFunction?, _ info: UnsafeMutableRawPointer?, wakes: Bool,
    _ name: Name
) -> UInt8 {
    guard let call = check(rl, modes, function, name) else { return 0 }
    defer { call.release() }
    return call.loop.enqueue(PerformRequest(call.modes, call.function, info), wakes: wakes) ? 1 : 0
}

private func enqueueReleasing(
    _ rl: OpaquePointer?, _ modes: UnsafeRawPointer?, _ function: PerformFunction?, _ info: UnsafeMutableRawPointer?,
    _ release: PerformFunction?, wakes: Bool, _ name: Name
) -> UInt8 {
    guard let call = check(rl, modes, function, name) else { return 0 }
    defer { call.release() }
    guard let request = PerformRequest(call.modes, call.function, info, release: release, ticket: nil) else { return 0 }
    return call.loop.enqueue(request, wakes: wakes) ? 1 : 0
}

@implementation @c
public func RLRunLoopPerformFunctionAndWait(
    _ rl: OpaquePointer?, _ modes: UnsafeRawPointer?, _ function: PerformFunction?, _ info: UnsafeMutableRawPointer?,
    _ timeout: Double
) -> UInt8 {
    let name: Name = "RLRunLoopPerformFunctionAndWait"
    guard checkNumber(timeout, name, "timeout"), let call = check(rl, modes, function, name) else { return 0 }
    defer { call.release() }
    if call.loop == Registry.current {
        RUNLOOP_IS_CALLING_OUT_TO_A_PERFORMED_FUNCTION(info, call.function)
        return 1
    }
    return call.loop.performAndWait(call.modes, call.function, info, seconds: timeout) ? 1 : 0
}

@implementation @c
public func RLRunLoopPerformFunctionAfterDelay(
    _ rl: OpaquePointer?, _ modes: UnsafeRawPointer?, _ function: PerformFunction?, _ info: UnsafeMutableRawPointer?,
    _ delay: Double
) -> UInt8 {
    perform(rl, modes, function, info, delay, nil, "RLRunLoopPerformFunctionAfterDelay")
}

@implementation @c
public func RLRunLoopPerformFunctionAfterDelayWithRelease(
    _ rl: OpaquePointer?, _ modes: UnsafeRawPointer?, _ function: PerformFunction?, _ info: UnsafeMutableRawPointer?,
    _ delay: Double, _ release: PerformFunction?
) -> UInt8 {
    perform(rl, modes, function, info, delay, release, "RLRunLoopPerformFunctionAfterDelayWithRelease")
}

private func perform(
    _ rl: OpaquePointer?, _ modes: UnsafeRawPointer?, _ function: PerformFunction?, _ info: UnsafeMutableRawPointer?,
    _ delay: Double, _ release: PerformFunction?, _ name: Name
) -> UInt8 {
    guard checkNumber(delay, name, "delay"), let current = Registry.current, let call = check(rl, modes, function, name) else {
        return 0
    }
    defer { call.release() }
    var request = PerformRequest(call.modes, call.function, info)
    if release != nil {
        guard let owning = PerformRequest(call.modes, call.function, info, release: release, ticket: nil) else { return 0 }
        request = owning
    }
    return call.loop.perform(after: delay, request, current.threadContext) ? 1 : 0
}

/// Checks that a time is not NaN: see `Arguments.swift`. Sets errno to EINVAL if it is.
private func checkNumber(_ seconds: Double, _ name: Name, _ parameter: Name) -> Bool {
    if !seconds.isNaN { return true }
    Misuse.report(name, parameter, "not a number")
    systemError = EINVAL
    return false
}

@implementation @c
public func RLRunLoopCancelPerformFunction(_ rl: OpaquePointer?, _ function: PerformFunction?, _ info: UnsafeMutableRawPointer?) -> Int {
    borrowLoop(rl, "RLRunLoopCancelPerformFunction")?.cancel(function, info) ?? 0
}
