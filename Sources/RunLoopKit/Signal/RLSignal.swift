import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit

// include/RunLoopKit/RLSignal.h

/// Returns why a signal cannot be watched; nil if it can.
private func refusal(_ number: Int32) -> Name? {
    switch number {
    case SIGKILL, SIGSTOP: "a signal that cannot be caught"
    case SIGCHLD: "several ends of children make one SIGCHLD: use RLChildCreate"
    case SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS: "a signal of the instruction that is executed: it would be executed again"
    case SIGABRT: "abort() ends the process whatever a handler does"
    case 32..<linux_first_realtime_signal(): "a signal that the C library uses"
    case 1...linux_last_signal(): nil
    default: "no signal"
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
