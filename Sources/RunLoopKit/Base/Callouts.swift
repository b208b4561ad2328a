import CLinuxKit
import CRunLoop
import CRunLoopKit

// The kit calls clients' callbacks and filter functions only from here. Exceptions: the functions of contexts, a filter's start, shutdown
// and release, and signal handlers that the kit's own has replaced. The kit's lock is never held during a call; a filter's functions run
// with their stream's lock held. As in librunloop, these names show in a backtrace whose code runs and why.

@_silgen_name("RUNLOOP_IS_CALLING_OUT_TO_A_SIGNAL_CALLBACK_FUNCTION")
@inline(never)
func RUNLOOP_IS_CALLING_OUT_TO_A_SIGNAL_CALLBACK_FUNCTION(
    _ callout: RLSignalCallBack, _ signal: OpaquePointer?, _ information: UnsafePointer<RLSignalInfo>, _ info: UnsafeMutableRawPointer?
) {
    callout(signal, information, info)
    linux_kit_callout_barrier(1)
}

@_silgen_name("RUNLOOP_IS_CALLING_OUT_TO_A_CHILD_CALLBACK_FUNCTION")
@inline(never)
func RUNLOOP_IS_CALLING_OUT_TO_A_CHILD_CALLBACK_FUNCTION(
    _ callout: RLChildCallBack, _ child: OpaquePointer?, _ status: UnsafePointer<RLChildStatus>, _ info: UnsafeMutableRawPointer?
) {
    callout(child, status, info)
    linux_kit_callout_barrier(2)
}

@_silgen_name("RUNLOOP_IS_CALLING_OUT_TO_A_WORK_FUNCTION")
@inline(never)
func RUNLOOP_IS_CALLING_OUT_TO_A_WORK_FUNCTION(_ function: RLWorkFunction, _ work: OpaquePointer?, _ info: UnsafeMutableRawPointer?) {
    function(work, info)
    linux_kit_callout_barrier(3)
}

@_silgen_name("RUNLOOP_IS_CALLING_OUT_TO_A_WORK_COMPLETION_FUNCTION")
@inline(never)
func RUNLOOP_IS_CALLING_OUT_TO_A_WORK_COMPLETION_FUNCTION(
    _ callout: RLWorkCallBack, _ work: OpaquePointer?, _ info: UnsafeMutableRawPointer?
) {
    callout(work, info)
    linux_kit_callout_barrier(4)
}

@_silgen_name("RUNLOOP_IS_CALLING_OUT_TO_A_HOST_RESOLVE_CALLBACK_FUNCTION")
@inline(never)
func RUNLOOP_IS_CALLING_OUT_TO_A_HOST_RESOLVE_CALLBACK_FUNCTION(
    _ callout: RLHostResolveCallBack, _ resolve: OpaquePointer?, _ addresses: OpaquePointer?, _ error: Int32,
    _ info: UnsafeMutableRawPointer?
) {
    callout(resolve, addresses, error, info)
    linux_kit_callout_barrier(5)
}

@_silgen_name("RUNLOOP_IS_CALLING_OUT_TO_A_STREAM_CALLBACK_FUNCTION")
@inline(never)
func RUNLOOP_IS_CALLING_OUT_TO_A_STREAM_CALLBACK_FUNCTION(
    _ callout: RLStreamCallBack, _ stream: OpaquePointer?, _ event: UnsafePointer<RLStreamEvent>, _ info: UnsafeMutableRawPointer?
) {
    callout(stream, event, info)
    linux_kit_callout_barrier(6)
}

@_silgen_name("RUNLOOP_IS_CALLING_OUT_TO_A_STREAM_FLUSH_CALLBACK_FUNCTION")
@inline(never)
func RUNLOOP_IS_CALLING_OUT_TO_A_STREAM_FLUSH_CALLBACK_FUNCTION(
    _ callout: RLStreamFlushCallBack, _ stream: OpaquePointer?, _ result: RLStreamResult, _ error: Int32, _ info: UnsafeMutableRawPointer?
) {
    callout(stream, result, error, info)
    linux_kit_callout_barrier(7)
}

@_silgen_name("RUNLOOP_IS_CALLING_OUT_TO_A_STREAM_FILTER_FUNCTION")
@inline(never)
func RUNLOOP_IS_CALLING_OUT_TO_A_STREAM_FILTER_FUNCTION(
    _ function: RLStreamFilterFunction, _ stream: OpaquePointer?, _ bytes: UnsafePointer<UInt8>?, _ length: Int,
    _ info: UnsafeMutableRawPointer?
) {
    function(stream, bytes, length, info)
    linux_kit_callout_barrier(8)
}

@_silgen_name("RUNLOOP_IS_CALLING_OUT_TO_A_FILE_WATCH_CALLBACK_FUNCTION")
@inline(never)
func RUNLOOP_IS_CALLING_OUT_TO_A_FILE_WATCH_CALLBACK_FUNCTION(
    _ callout: RLFileWatchCallBack, _ watch: OpaquePointer?, _ count: Int, _ events: UnsafePointer<RLFileWatchEvent>?,
    _ info: UnsafeMutableRawPointer?
) {
    callout(watch, count, events, info)
    linux_kit_callout_barrier(9)
}

@_silgen_name("RUNLOOP_IS_CALLING_OUT_TO_A_LISTENER_CALLBACK_FUNCTION")
@inline(never)
func RUNLOOP_IS_CALLING_OUT_TO_A_LISTENER_CALLBACK_FUNCTION(
    _ callout: RLListenerCallBack, _ listener: OpaquePointer?, _ descriptor: Int32, _ info: UnsafeMutableRawPointer?
) {
    callout(listener, descriptor, info)
    linux_kit_callout_barrier(10)
}

@_silgen_name("RUNLOOP_IS_CALLING_OUT_TO_A_SERVER_CALLBACK_FUNCTION")
@inline(never)
func RUNLOOP_IS_CALLING_OUT_TO_A_SERVER_CALLBACK_FUNCTION(
    _ callout: RLServerCallBack, _ server: OpaquePointer?, _ stream: OpaquePointer?, _ info: UnsafeMutableRawPointer?
) {
    callout(server, stream, info)
    linux_kit_callout_barrier(11)
}
