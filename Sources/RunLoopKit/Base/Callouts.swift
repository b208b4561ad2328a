import CLinuxKit
import CRunLoop
import CRunLoopKit

// Clients' functions are called from here only (except those of contexts: ClientContext.swift), and never with the lock held. As in
// librunloop, a backtrace shows by these names whose code runs and why.

@_silgen_name("RUNLOOP_IS_CALLING_OUT_TO_A_SIGNAL_CALLBACK_FUNCTION")
@inline(never)
func RUNLOOP_IS_CALLING_OUT_TO_A_SIGNAL_CALLBACK_FUNCTION(
    _ callout: RLSignalCallBack, _ signal: OpaquePointer?, _ information: UnsafePointer<RLSignalInfo>, _ info: UnsafeMutableRawPointer?
) {
    callout(signal, information, info)
    linux_kit_callout_barrier(1)
}
