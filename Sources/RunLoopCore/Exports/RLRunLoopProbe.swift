import CLinux
import CRunLoop

// The functions that include/RunLoop/RLRunLoopProbe.h declares and documents.

@implementation @c
public func RLRunLoopSetProbe(_ probe: UnsafePointer<RLRunLoopProbe>?) -> UInt8 {
    if let probe, probe.pointee.version != 0 { return 0 }
    linux_set_probe(probe)
    return 1
}
