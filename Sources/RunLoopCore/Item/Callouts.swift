import CLinux
import CRunLoop

// The only place that calls performed functions and the callbacks of sources, timers, observers, ports, descriptors and sockets, always
// without a lock held. Functions of contexts, collections and notifications, and the error handler, are called from files of their own. The
// functions here are never inlined and have names like CFRunLoop's, so that a backtrace shows whose code is running and why. After each call
// there is a barrier or a static probe. Without it the compiler would make a tail call, which leaves no frame; and its number makes the
// functions differ, so that the linker does not fold two into one. The numbers of static probes are the kinds of RLRunLoopProbe.h.
//
// If the client has set a probe (`RLRunLoopSetProbe`), `Probe.call` makes the call instead, and the static probes are skipped. getPort,
// schedule and cancel are not reported to it. It gets each argument as a whole word, so those that the callback declares as 32 bits are passed
// here with 32 zeros before them.

@_silgen_name("RUNLOOP_IS_CALLING_OUT_TO_A_SOURCE_PERFORM_FUNCTION")
@inline(never)
func RUNLOOP_IS_CALLING_OUT_TO_A_SOURCE_PERFORM_FUNCTION(
    _ info: UnsafeMutableRawPointer?, _ perform: @convention(c) (UnsafeMutableRawPointer?) -> Void
) {
    if _slowPath(Probe.isSet) {
        Probe.call(.source, UInt(bitPattern: info), addressOfFunction(perform))
        return
    }
    linux_probe_call(1, addressOfFunction(perform), UnsafeRawPointer(info))
    perform(info)
    linux_probe_called(1)
}

/// Called on the thread that adds the source, before any lock is acquired. A negative result stands for no descriptor.
@_silgen_name("RUNLOOP_IS_CALLING_OUT_TO_A_SOURCE_GETPORT_FUNCTION")
@inline(never)
func RUNLOOP_IS_CALLING_OUT_TO_A_SOURCE_GETPORT_FUNCTION(
    _ info: UnsafeMutableRawPointer?, _ getPort: @convention(c) (UnsafeMutableRawPointer?) -> Int32
) -> Int32 {
    let port = getPort(info)
    linux_callout_barrier(2)
    return port
}

@_silgen_name("RUNLOOP_IS_CALLING_OUT_TO_A_SOURCE_SCHEDULE_OR_CANCEL_FUNCTION")
@inline(never)
func RUNLOOP_IS_CALLING_OUT_TO_A_SOURCE_SCHEDULE_OR_CANCEL_FUNCTION(
    _ function: @convention(c) (UnsafeMutableRawPointer?, OpaquePointer?, OpaquePointer?) -> Void, _ info: UnsafeMutableRawPointer?,
    _ loop: OpaquePointer, _ mode: OpaquePointer
) {
    function(info, loop, mode)
    linux_callout_barrier(3)
}

@_silgen_name("RUNLOOP_IS_CALLING_OUT_TO_A_TIMER_CALLBACK_FUNCTION")
@inline(never)
func RUNLOOP_IS_CALLING_OUT_TO_A_TIMER_CALLBACK_FUNCTION(
    _ timer: OpaquePointer, _ info: UnsafeMutableRawPointer?, _ callout: @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Void
) {
    if _slowPath(Probe.isSet) {
        Probe.call(.timer, UInt(bitPattern: timer), UInt(bitPattern: info), addressOfFunction(callout))
        return
    }
    linux_probe_call(2, addressOfFunction(callout), UnsafeRawPointer(timer))
    callout(timer, info)
    linux_probe_called(2)
}

@_silgen_name("RUNLOOP_IS_CALLING_OUT_TO_AN_OBSERVER_CALLBACK_FUNCTION")
@inline(never)
func RUNLOOP_IS_CALLING_OUT_TO_AN_OBSERVER_CALLBACK_FUNCTION(
    _ observer: OpaquePointer, _ activity: UInt, _ info: UnsafeMutableRawPointer?,
    _ callout: @convention(c) (OpaquePointer?, UInt, UnsafeMutableRawPointer?) -> Void
) {
    if _slowPath(Probe.isSet) {
        Probe.call(.observer, UInt(bitPattern: observer), activity, UInt(bitPattern: info), addressOfFunction(callout))
        return
    }
    linux_probe_call(3, addressOfFunction(callout), UnsafeRawPointer(observer))
    callout(observer, activity, info)
    linux_probe_called(3)
}

@_silgen_name("RUNLOOP_IS_CALLING_OUT_TO_A_PORT_CALLBACK_FUNCTION")
@inline(never)
func RUNLOOP_IS_CALLING_OUT_TO_A_PORT_CALLBACK_FUNCTION(
    _ port: OpaquePointer, _ message: OpaquePointer, _ info: UnsafeMutableRawPointer?,
    _ callout: @convention(c) (OpaquePointer?, OpaquePointer?, UnsafeMutableRawPointer?) -> Void
) {
    if _slowPath(Probe.isSet) {
        Probe.call(.port, UInt(bitPattern: port), UInt(bitPattern: message), UInt(bitPattern: info), addressOfFunction(callout))
        return
    }
    linux_probe_call(7, addressOfFunction(callout), UnsafeRawPointer(port))
    callout(port, message, info)
    linux_probe_called(7)
}

@_silgen_name("RUNLOOP_IS_CALLING_OUT_TO_A_PORT_INVALIDATION_FUNCTION")
@inline(never)
func RUNLOOP_IS_CALLING_OUT_TO_A_PORT_INVALIDATION_FUNCTION(
    _ port: OpaquePointer, _ info: UnsafeMutableRawPointer?, _ callout: @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Void
) {
    if _slowPath(Probe.isSet) {
        Probe.call(.invalidation, UInt(bitPattern: port), UInt(bitPattern: info), addressOfFunction(callout))
        return
    }
    linux_probe_call(10, addressOfFunction(callout), UnsafeRawPointer(port))
    callout(port, info)
    linux_probe_called(10)
}

@_silgen_name("RUNLOOP_IS_CALLING_OUT_TO_A_MESSAGE_PORT_CALLBACK_FUNCTION")
@inline(never)
func RUNLOOP_IS_CALLING_OUT_TO_A_MESSAGE_PORT_CALLBACK_FUNCTION(
    _ port: OpaquePointer, _ message: UInt, _ data: OpaquePointer, _ info: UnsafeMutableRawPointer?,
    _ callout: @convention(c) (OpaquePointer?, Int32, OpaquePointer?, UnsafeMutableRawPointer?) -> OpaquePointer?
) -> OpaquePointer? {
    if _slowPath(Probe.isSet) {
        return OpaquePointer(
            bitPattern: Probe.call(
                .messagePort, UInt(bitPattern: port), message, UInt(bitPattern: data), UInt(bitPattern: info),
                addressOfFunction(callout)))
    }
    linux_probe_call(8, addressOfFunction(callout), UnsafeRawPointer(port))
    let reply = callout(port, Int32(truncatingIfNeeded: message), data, info)
    linux_probe_called(8)
    return reply
}

@_silgen_name("RUNLOOP_IS_CALLING_OUT_TO_A_MESSAGE_PORT_REPLY_FUNCTION")
@inline(never)
func RUNLOOP_IS_CALLING_OUT_TO_A_MESSAGE_PORT_REPLY_FUNCTION(
    _ port: OpaquePointer, _ result: UInt, _ data: OpaquePointer?, _ info: UnsafeMutableRawPointer?,
    _ callout: @convention(c) (OpaquePointer?, Int32, OpaquePointer?, UnsafeMutableRawPointer?) -> Void
) {
    if _slowPath(Probe.isSet) {
        Probe.call(
            .reply, UInt(bitPattern: port), result, UInt(bitPattern: data), UInt(bitPattern: info),
            addressOfFunction(callout))
        return
    }
    linux_probe_call(9, addressOfFunction(callout), UnsafeRawPointer(port))
    callout(port, Int32(truncatingIfNeeded: result), data, info)
    linux_probe_called(9)
}

@_silgen_name("RUNLOOP_IS_CALLING_OUT_TO_A_PERFORMED_FUNCTION")
@inline(never)
func RUNLOOP_IS_CALLING_OUT_TO_A_PERFORMED_FUNCTION(
    _ info: UnsafeMutableRawPointer?, _ function: @convention(c) (UnsafeMutableRawPointer?) -> Void
) {
    if _slowPath(Probe.isSet) {
        Probe.call(.function, UInt(bitPattern: info), addressOfFunction(function))
        return
    }
    linux_probe_call(4, addressOfFunction(function), UnsafeRawPointer(info))
    function(info)
    linux_probe_called(4)
}

@_silgen_name("RUNLOOP_IS_CALLING_OUT_TO_A_FILE_DESCRIPTOR_CALLBACK_FUNCTION")
@inline(never)
func RUNLOOP_IS_CALLING_OUT_TO_A_FILE_DESCRIPTOR_CALLBACK_FUNCTION(
    _ descriptor: OpaquePointer, _ types: UInt, _ info: UnsafeMutableRawPointer?,
    _ callout: @convention(c) (OpaquePointer?, UInt, UnsafeMutableRawPointer?) -> Void
) {
    if _slowPath(Probe.isSet) {
        Probe.call(.fileDescriptor, UInt(bitPattern: descriptor), types, UInt(bitPattern: info), addressOfFunction(callout))
        return
    }
    linux_probe_call(5, addressOfFunction(callout), UnsafeRawPointer(descriptor))
    callout(descriptor, types, info)
    linux_probe_called(5)
}

@_silgen_name("RUNLOOP_IS_CALLING_OUT_TO_A_SOCKET_CALLBACK_FUNCTION")
@inline(never)
func RUNLOOP_IS_CALLING_OUT_TO_A_SOCKET_CALLBACK_FUNCTION(
    _ socket: OpaquePointer, _ type: UInt, _ address: OpaquePointer?, _ data: UnsafeRawPointer?, _ info: UnsafeMutableRawPointer?,
    _ callout: @convention(c) (OpaquePointer?, UInt, OpaquePointer?, UnsafeRawPointer?, UnsafeMutableRawPointer?) -> Void
) {
    if _slowPath(Probe.isSet) {
        Probe.callSocket(
            UInt(bitPattern: socket), type, UInt(bitPattern: address), UInt(bitPattern: data), UInt(bitPattern: info),
            addressOfFunction(callout))
        return
    }
    linux_probe_call(6, addressOfFunction(callout), UnsafeRawPointer(socket))
    callout(socket, type, address, data, info)
    linux_probe_called(6)
}
