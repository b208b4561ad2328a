import CLinux
import CRunLoop

// The functions that include/RunLoop/RLRunLoopGuest.h declares and documents.

/// Returns the string behind the argument `mode`, which must be the name of a single mode; otherwise reports the mistake and returns nil.
@inline(never)
private func borrowSingleMode(_ mode: OpaquePointer?, _ function: Name) -> StringPointer? {
    guard let name = borrowMode(mode, function) else { return nil }
    if !name.isCommonModes { return name }
    Misuse.report(function, "mode", "must be a single mode, not kRLRunLoopCommonModes")
    return nil
}

@implementation @c
public func RLRunLoopPrepareGuest(_ mode: OpaquePointer?, _ options: UInt, _ state: UnsafeMutablePointer<RLRunLoopGuestState>?) -> UInt8 {
    guard let name = borrowSingleMode(mode, "RLRunLoopPrepareGuest") else { return 0 }
    guard let state, state.pointee.version == 0,
        options & ~UInt(kRLRunLoopGuestTimerInDescriptor | kRLRunLoopGuestNew) == 0
    else {
        Misuse.report("RLRunLoopPrepareGuest", "state", "must not be NULL and must have version 0, and options must have no unknown bits")
        return 0
    }
    guard let loop = Registry.current else { return 0 }
    if options & UInt(kRLRunLoopGuestNew) != 0 && loop.pointee.guest.isOn {
        systemError = EBUSY
        return 0
    }
    let withTimer = options & UInt(kRLRunLoopGuestTimerInDescriptor) != 0
    guard let seconds = loop.prepareGuest(in: name, withTimer: withTimer) else { return 0 }
    state.pointee.fd = loop.pointee.poller.host.epoll
    state.pointee.events = Int16(POLLIN)
    state.pointee.timeout = seconds
    return 1
}

@implementation @c
public func RLRunLoopDispatchGuest(_ mode: OpaquePointer?) -> Int32 {
    guard let name = borrowSingleMode(mode, "RLRunLoopDispatchGuest"), let loop = Registry.current else {
        return RunResult.finished.rawValue
    }
    let result = loop.dispatchGuest(in: name)
    keepFrame()
    return result.rawValue
}

@implementation @c
public func RLRunLoopLeaveGuest() { Registry.current?.leaveGuest() }
