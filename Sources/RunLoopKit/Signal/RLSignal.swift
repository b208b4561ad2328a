import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit

// include/RunLoopKit/RLSignal.h

/// Returns why a signal cannot be watched; nil if it can.
private func refusal(_ number: Int32) -> Name? {
    switch number {
    case SIGKILL, SIGSTOP: "SIGKILL and SIGSTOP cannot be caught"
    case SIGCHLD: "one SIGCHLD may stand for several children; use RLChildCreate"
    case SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS: "a synchronous signal: the faulting instruction would be executed again"
    case SIGABRT: "abort() terminates the process even if a handler returns"
    case 32..<linux_first_realtime_signal(): "reserved by the C library"
    case 1...linux_last_signal(): nil
    default: "not a signal number"
    }
}

@implementation @c
public func RLSignalCreate(
    _ allocator: OpaquePointer?, _ number: Int32, _ order: Int, _ callout: RLSignalCallBack?, _ context: UnsafePointer<RLSignalContext>?
) -> OpaquePointer? {
    if let refusal = refusal(number) {
        Misuse.report("RLSignalCreate", "number", refusal)
        return nil
    }
    guard let callout else {
        Misuse.report("RLSignalCreate", "callout", expected: "a function", got: "NULL")
        return nil
    }
    guard let client = ClientContext.load(context, "RLSignalCreate") else { return nil }
    return SignalWatch.create(number, order, callout, client)
}

@implementation @c
public func RLSignalGetNumber(_ signal: OpaquePointer?) -> Int32 {
    guard let watch: SignalWatchPointer = KitObject.borrow(signal, "RLSignalGetNumber", "signal") else { return 0 }
    return Int32(watch.pointee.object.number)
}
