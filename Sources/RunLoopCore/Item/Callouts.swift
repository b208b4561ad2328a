import CLinux
import CRunLoop

// Clients' functions are called from here only (except those of contexts: `Object/ClientContext.swift`), and never with a lock held.
// The functions are never inlined, and have names like CFRunLoop's, so that a backtrace shows whose code runs and why. The barrier after
// each call keeps the compiler from making it a tail call, which leaves no frame; its number keeps the linker from folding two functions
// into one.

@_silgen_name("RUNLOOP_IS_CALLING_OUT_TO_A_SOURCE_PERFORM_FUNCTION")
@inline(never)
func RUNLOOP_IS_CALLING_OUT_TO_A_SOURCE_PERFORM_FUNCTION(
    _ info: UnsafeMutableRawPointer?, _ perform: @convention(c) (UnsafeMutableRawPointer?) -> Void
) {
    perform(info)
    linux_callout_barrier(1)
}

@_silgen_name("RUNLOOP_IS_CALLING_OUT_TO_A_SOURCE_GETPORT_FUNCTION")
@inline(never)
func RUNLOOP_IS_CALLING_OUT_TO_A_SOURCE_GETPORT_FUNCTION(
    _ getPort: @convention(c) (UnsafeMutableRawPointer?) -> Int32, _ info: UnsafeMutableRawPointer?
) -> Int32 {
    let port = getPort(info)
    linux_callout_barrier(2)
    return port
}

@_silgen_name("RUNLOOP_IS_CALLING_OUT_TO_A_SOURCE_SCHEDULE_OR_CANCEL_FUNCTION")
@inline(never)
func RUNLOOP_IS_CALLING_OUT_TO_A_SOURCE_SCHEDULE_OR_CANCEL_FUNCTION(
    _ function: @convention(c) (UnsafeMutableRawPointer?, OpaquePointer?, OpaquePointer?) -> Void,
    _ info: UnsafeMutableRawPointer?, _ loop: OpaquePointer, _ mode: OpaquePointer
) {
    function(info, loop, mode)
    linux_callout_barrier(3)
}

@_silgen_name("RUNLOOP_IS_CALLING_OUT_TO_A_TIMER_CALLBACK_FUNCTION")
@inline(never)
func RUNLOOP_IS_CALLING_OUT_TO_A_TIMER_CALLBACK_FUNCTION(
    _ callout: @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Void, _ timer: OpaquePointer,
    _ info: UnsafeMutableRawPointer?
) {
    callout(timer, info)
    linux_callout_barrier(4)
}

@_silgen_name("RUNLOOP_IS_CALLING_OUT_TO_AN_OBSERVER_CALLBACK_FUNCTION")
@inline(never)
func RUNLOOP_IS_CALLING_OUT_TO_AN_OBSERVER_CALLBACK_FUNCTION(
    _ callout: @convention(c) (OpaquePointer?, UInt, UnsafeMutableRawPointer?) -> Void, _ observer: OpaquePointer,
    _ activity: UInt, _ info: UnsafeMutableRawPointer?
) {
    callout(observer, activity, info)
    linux_callout_barrier(5)
}

@_silgen_name("RUNLOOP_IS_CALLING_OUT_TO_A_PORT_CALLBACK_FUNCTION")
@inline(never)
func RUNLOOP_IS_CALLING_OUT_TO_A_PORT_CALLBACK_FUNCTION(
    _ callout: @convention(c) (OpaquePointer?, OpaquePointer?, UnsafeMutableRawPointer?) -> Void, _ port: OpaquePointer,
    _ message: OpaquePointer, _ info: UnsafeMutableRawPointer?
) {
    callout(port, message, info)
    linux_callout_barrier(11)
}

@_silgen_name("RUNLOOP_IS_CALLING_OUT_TO_A_PORT_INVALIDATION_FUNCTION")
@inline(never)
func RUNLOOP_IS_CALLING_OUT_TO_A_PORT_INVALIDATION_FUNCTION(
    _ callout: @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Void, _ port: OpaquePointer,
    _ info: UnsafeMutableRawPointer?
) {
    callout(port, info)
    linux_callout_barrier(12)
}

@_silgen_name("RUNLOOP_IS_CALLING_OUT_TO_A_MESSAGE_PORT_CALLBACK_FUNCTION")
@inline(never)
func RUNLOOP_IS_CALLING_OUT_TO_A_MESSAGE_PORT_CALLBACK_FUNCTION(
    _ callout: @convention(c) (OpaquePointer?, Int32, OpaquePointer?, UnsafeMutableRawPointer?) -> OpaquePointer?,
    _ port: OpaquePointer, _ message: Int32, _ data: OpaquePointer, _ info: UnsafeMutableRawPointer?
) -> OpaquePointer? {
    let reply = callout(port, message, data, info)
    linux_callout_barrier(13)
    return reply
}

@_silgen_name("RUNLOOP_IS_CALLING_OUT_TO_A_MESSAGE_PORT_REPLY_FUNCTION")
@inline(never)
func RUNLOOP_IS_CALLING_OUT_TO_A_MESSAGE_PORT_REPLY_FUNCTION(
    _ callout: @convention(c) (OpaquePointer?, Int32, OpaquePointer?, UnsafeMutableRawPointer?) -> Void, _ port: OpaquePointer,
    _ result: Int32, _ data: OpaquePointer?, _ info: UnsafeMutableRawPointer?
) {
    callout(port, result, data, info)
    linux_callout_barrier(14)
}

@_silgen_name("RUNLOOP_IS_CALLING_OUT_TO_A_PERFORMED_FUNCTION")
@inline(never)
func RUNLOOP_IS_CALLING_OUT_TO_A_PERFORMED_FUNCTION(
    _ function: @convention(c) (UnsafeMutableRawPointer?) -> Void, _ info: UnsafeMutableRawPointer?
) {
    function(info)
    linux_callout_barrier(6)
}

@_silgen_name("RUNLOOP_IS_CALLING_OUT_TO_A_FILE_DESCRIPTOR_CALLBACK_FUNCTION")
@inline(never)
func RUNLOOP_IS_CALLING_OUT_TO_A_FILE_DESCRIPTOR_CALLBACK_FUNCTION(
    _ descriptor: OpaquePointer, _ types: UInt, _ info: UnsafeMutableRawPointer?,
    _ callout: @convention(c) (OpaquePointer?, UInt, UnsafeMutableRawPointer?) -> Void
) {
    callout(descriptor, types, info)
    linux_callout_barrier(7)
}

@_silgen_name("RUNLOOP_IS_CALLING_OUT_TO_A_SOCKET_CALLBACK_FUNCTION")
@inline(never)
func RUNLOOP_IS_CALLING_OUT_TO_A_SOCKET_CALLBACK_FUNCTION(
    _ socket: OpaquePointer, _ type: UInt, _ address: OpaquePointer?, _ data: UnsafeRawPointer?, _ info: UnsafeMutableRawPointer?,
    _ callout: @convention(c) (OpaquePointer?, UInt, OpaquePointer?, UnsafeRawPointer?, UnsafeMutableRawPointer?) -> Void
) {
    callout(socket, type, address, data, info)
    linux_callout_barrier(8)
}
