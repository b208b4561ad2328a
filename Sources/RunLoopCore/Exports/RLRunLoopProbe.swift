import CRunLoop

// include/RunLoop/RLRunLoopProbe.h

@implementation @c
public func RLRunLoopSetProbe(_ probe: UnsafePointer<RLRunLoopProbe>?) -> UInt8 {
    if let probe, probe.pointee.version != 0 {
        Misuse.report("RLRunLoopSetProbe", "probe", "version must be 0")
        return 0
    }
    // Any address will do for a loop, as nothing is read there.
    guard let loop = RunLoopPointer(bitPattern: 1 << 12) else { return 0 }
    let wakeWord = withUnsafePointer(to: loop.pointee.wake) { UnsafeRawPointer($0) }
    Probe.set(probe, offsetOfLoop: UnsafeRawPointer(loop) - wakeWord)
    return 1
}
