import CLinux
import CRunLoop
import Synchronization

// The functions that include/RunLoop/RLRunLoop.h declares and documents.

/// Returns the loop behind an argument named rl; nil, after a diagnostic, if it is not a loop. Any thread.
@inline(never)
func borrowLoop(_ rl: OpaquePointer?, _ function: Name) -> RunLoopPointer? { Handle.borrow(rl, function, "rl") }

/// Returns the string behind an argument named mode; nil, after a diagnostic, if it is not a string. Any thread.
@inline(never)
func borrowMode(_ mode: OpaquePointer?, _ function: Name) -> StringPointer? { Handle.borrow(mode, function, "mode") }

@implementation @c
public func RLRunLoopGetTypeID() -> UInt { Kind.runLoop.typeID }

@implementation @c
public func RLRunLoopGetCurrent() -> OpaquePointer? { Registry.current?.handle }

@implementation @c
public func RLRunLoopGetMain() -> OpaquePointer? { Registry.mainLoop?.handle }

@implementation @c
public func RLRunLoopCopyCurrentMode(_ rl: OpaquePointer?) -> OpaquePointer? {
    guard let loop = borrowLoop(rl, "RLRunLoopCopyCurrentMode") else { return nil }
    return loop.locked {
        guard let name = StringPointer(bitPattern: loop.pointee.currentModeName.load(ordering: .acquiring)) else { return nil }
        name.retain()
        return name.handle
    }
}

@implementation @c
public func RLRunLoopCopyAllModes(_ rl: OpaquePointer?) -> OpaquePointer? {
    guard let loop = borrowLoop(rl, "RLRunLoopCopyAllModes") else { return nil }
    return loop.copyModeNames()?.handle
}

@implementation @c
public func RLRunLoopAddCommonMode(_ rl: OpaquePointer?, _ mode: OpaquePointer?) {
    guard let loop = borrowLoop(rl, "RLRunLoopAddCommonMode"), let name = borrowMode(mode, "RLRunLoopAddCommonMode") else { return }
    if name.isCommonModes { return Misuse.report("RLRunLoopAddCommonMode", "mode", "must be a single mode, not kRLRunLoopCommonModes") }
    loop.addCommonMode(name)
}

@implementation @c
public func RLRunLoopGetNextTimerFireDate(_ rl: OpaquePointer?, _ mode: OpaquePointer?) -> Double {
    guard let loop = borrowLoop(rl, "RLRunLoopGetNextTimerFireDate"),
        let name = borrowMode(mode, "RLRunLoopGetNextTimerFireDate")
    else { return 0 }
    return loop.nextFireDate(in: name)
}

@implementation @c
public func RLRunLoopRun() {
    run(asCF: false, "RLRunLoopRun")
    keepFrame()
}

@implementation @c
public func RLRunLoopRunAsCF() {
    run(asCF: true, "RLRunLoopRunAsCF")
    keepFrame()
}

/// Keeps the compiler from turning a function's last call into a jump, so that the function appears in backtraces. Called after that call.
func keepFrame() { linux_callout_barrier(0) }

private func run(asCF: Bool, _ function: Name) {
    guard let loop = Registry.current else { return warnOfFailedRun("cannot create this thread's loop: ", function) }
    while true {
        let result = loop.run(in: ModeName.default, seconds: .infinity, returnAfterSourceHandled: false, asCF: asCF)
        if result == .finished && systemError != 0 { warnOfFailedRun("cannot watch its descriptors: ", function) }
        if result == .stopped || result == .finished { return }
    }
}

/// Reports why a run was impossible, for RLRunLoopRun, which has no result that could tell the caller. Preserves errno. Not inlined: the
/// text buffer would take stack space in every run.
@inline(never)
private func warnOfFailedRun(_ problem: Name, _ function: Name) {
    let reason: Name =
        switch systemError {
        case EMFILE: "no descriptors left in this process (EMFILE)"
        case ENFILE: "no descriptors left in the system (ENFILE)"
        default: "out of memory (ENOMEM)"
        }
    Misuse.warn(function, "kRLRunLoopDefaultMode", problem, reason)
}

@implementation @c
public func RLRunLoopRunInMode(_ mode: OpaquePointer?, _ seconds: Double, _ returnAfterSourceHandled: UInt8) -> Int32 {
    let result = run(in: mode, seconds, returnAfterSourceHandled, asCF: false, "RLRunLoopRunInMode")
    keepFrame()
    return result.rawValue
}

@implementation @c
public func RLRunLoopRunInModeAsCF(_ mode: OpaquePointer?, _ seconds: Double, _ returnAfterSourceHandled: UInt8) -> Int32 {
    let result = run(in: mode, seconds, returnAfterSourceHandled, asCF: true, "RLRunLoopRunInModeAsCF")
    keepFrame()
    return result.rawValue
}

private func run(
    in mode: OpaquePointer?, _ seconds: Double, _ returnAfterSourceHandled: UInt8, asCF: Bool, _ function: Name
) -> RunResult {
    guard let name = borrowMode(mode, function) else { return .finished }
    if name.isCommonModes {
        Misuse.report(function, "mode", "must be a single mode, not kRLRunLoopCommonModes")
        return .finished
    }
    if seconds.isNaN { Misuse.report(function, "seconds", "not a number") }
    guard let loop = Registry.current else { return .finished }
    return loop.run(
        in: name, seconds: seconds.isNaN ? 0 : seconds, returnAfterSourceHandled: returnAfterSourceHandled != 0, asCF: asCF)
}

@implementation @c
public func RLRunLoopIsWaiting(_ rl: OpaquePointer?) -> UInt8 {
    guard let loop = borrowLoop(rl, "RLRunLoopIsWaiting") else { return 0 }
    return loop.pointee.wake.isSleeping ? 1 : 0
}

@implementation @c
public func RLRunLoopWakeUp(_ rl: OpaquePointer?) {
    guard let loop: RunLoopPointer = Handle.borrow(rl, "RLRunLoopWakeUp", "rl") else { return }
    if Probe.isSet { Probe.report(.sent, .wakeUp, loop) }
    loop.wakeUp()
}

@implementation @c
public func RLRunLoopStop(_ rl: OpaquePointer?) { borrowLoop(rl, "RLRunLoopStop")?.requestStop() }

@implementation @c
public func RLRunLoopSetSpinInterval(_ rl: OpaquePointer?, _ seconds: Double) {
    guard let loop = borrowLoop(rl, "RLRunLoopSetSpinInterval") else { return }
    if seconds.isNaN || seconds < 0 { return Misuse.report("RLRunLoopSetSpinInterval", "seconds", "negative or not a number") }
    loop.pointee.spinInterval.store(Clock.nanoseconds(min(seconds, 1)), ordering: .relaxed)
}

@implementation @c
public func RLRunLoopGetSpinInterval(_ rl: OpaquePointer?) -> Double {
    guard let loop = borrowLoop(rl, "RLRunLoopGetSpinInterval") else { return 0 }
    return Double(loop.pointee.spinInterval.load(ordering: .relaxed)) * 1e-9
}

// MARK: items

@implementation @c
public func RLRunLoopContainsSource(_ rl: OpaquePointer?, _ source: OpaquePointer?, _ mode: OpaquePointer?) -> UInt8 {
    guard let loop = borrowLoop(rl, "RLRunLoopContainsSource"),
        let source: SourcePointer = Handle.borrow(source, "RLRunLoopContainsSource", "source"),
        let name = borrowMode(mode, "RLRunLoopContainsSource")
    else { return 0 }
    return loop.contains(source, in: name) ? 1 : 0
}

@implementation @c
public func RLRunLoopAddSource(_ rl: OpaquePointer?, _ source: OpaquePointer?, _ mode: OpaquePointer?) {
    guard let loop = borrowLoop(rl, "RLRunLoopAddSource"),
        let source: SourcePointer = Handle.borrow(source, "RLRunLoopAddSource", "source"),
        let name = borrowMode(mode, "RLRunLoopAddSource"), Registry.current != nil
    else { return }
    if loop.add(source, in: name), source.hasDescriptor, loop.isBroken(source) {
        Misuse.report("RLRunLoopAddSource", "source", "its descriptor is not open or cannot be polled")
    }
}

@implementation @c
public func RLRunLoopRemoveSource(_ rl: OpaquePointer?, _ source: OpaquePointer?, _ mode: OpaquePointer?) {
    guard let loop = borrowLoop(rl, "RLRunLoopRemoveSource"),
        let source: SourcePointer = Handle.borrow(source, "RLRunLoopRemoveSource", "source"),
        let name = borrowMode(mode, "RLRunLoopRemoveSource"), Registry.current != nil
    else { return }
    loop.remove(source, from: name)
}

@implementation @c
public func RLRunLoopContainsObserver(_ rl: OpaquePointer?, _ observer: OpaquePointer?, _ mode: OpaquePointer?) -> UInt8 {
    guard let loop = borrowLoop(rl, "RLRunLoopContainsObserver"),
        let observer: ObserverPointer = Handle.borrow(observer, "RLRunLoopContainsObserver", "observer"),
        let name = borrowMode(mode, "RLRunLoopContainsObserver")
    else { return 0 }
    return loop.contains(observer, in: name) ? 1 : 0
}

@implementation @c
public func RLRunLoopAddObserver(_ rl: OpaquePointer?, _ observer: OpaquePointer?, _ mode: OpaquePointer?) {
    guard let loop = borrowLoop(rl, "RLRunLoopAddObserver"),
        let observer: ObserverPointer = Handle.borrow(observer, "RLRunLoopAddObserver", "observer"),
        let name = borrowMode(mode, "RLRunLoopAddObserver")
    else { return }
    loop.add(observer, in: name)
}

@implementation @c
public func RLRunLoopRemoveObserver(_ rl: OpaquePointer?, _ observer: OpaquePointer?, _ mode: OpaquePointer?) {
    guard let loop = borrowLoop(rl, "RLRunLoopRemoveObserver"),
        let observer: ObserverPointer = Handle.borrow(observer, "RLRunLoopRemoveObserver", "observer"),
        let name = borrowMode(mode, "RLRunLoopRemoveObserver")
    else { return }
    loop.remove(observer, from: name)
}

@implementation @c
public func RLRunLoopContainsTimer(_ rl: OpaquePointer?, _ timer: OpaquePointer?, _ mode: OpaquePointer?) -> UInt8 {
    guard let loop = borrowLoop(rl, "RLRunLoopContainsTimer"),
        let timer: TimerPointer = Handle.borrow(timer, "RLRunLoopContainsTimer", "timer"),
        let name = borrowMode(mode, "RLRunLoopContainsTimer")
    else { return 0 }
    return loop.contains(timer, in: name) ? 1 : 0
}

@_optimize(speed) @implementation @c
public func RLRunLoopAddTimer(_ rl: OpaquePointer?, _ timer: OpaquePointer?, _ mode: OpaquePointer?) {
    if let handle = UnsafeRawPointer(timer), RunLoopPointer.tryAdd(Handle.storage(handle), to: rl, in: mode) { return }
    addTimer(rl, timer, mode)
}

@inline(never)
private func addTimer(_ rl: OpaquePointer?, _ timer: OpaquePointer?, _ mode: OpaquePointer?) {
    ThreadContextPointer.stepOut()
    guard let loop = borrowLoop(rl, "RLRunLoopAddTimer"),
        let timer: TimerPointer = Handle.borrow(timer, "RLRunLoopAddTimer", "timer"),
        let name = borrowMode(mode, "RLRunLoopAddTimer")
    else { return }
    loop.add(timer, in: name)
}

@implementation @c
public func RLRunLoopRemoveTimer(_ rl: OpaquePointer?, _ timer: OpaquePointer?, _ mode: OpaquePointer?) {
    guard let loop = borrowLoop(rl, "RLRunLoopRemoveTimer"),
        let timer: TimerPointer = Handle.borrow(timer, "RLRunLoopRemoveTimer", "timer"),
        let name = borrowMode(mode, "RLRunLoopRemoveTimer")
    else { return }
    loop.remove(timer, from: name)
}
