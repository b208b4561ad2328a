import CLinux
import CRunLoop
import CRunLoopKit

// include/RunLoopKit/RLSchedule.h

@implementation @c
public func RLScheduleSource(_ source: OpaquePointer?) -> OpaquePointer? {
    guard let source else { return nil }
    let object = UnsafeRawPointer(source)
    if RLGetTypeID(object) != RLRunLoopSourceGetTypeID() {
        Misuse.report("RLScheduleSource", "source", "not a source")
        return nil
    }
    let loop = RLRunLoopGetCurrent()
    RLRunLoopAddSource(loop, source, kRLRunLoopDefaultMode)
    // Checked before the release, which may free a source that the loop has not retained.
    let isKept = RLRunLoopContainsSource(loop, source, kRLRunLoopDefaultMode) != 0
    let error = RLRunLoopSourceIsValid(source) != 0 ? ENOMEM : EINVAL
    preservingSystemError { RLRelease(object) }
    if isKept { return source }
    systemError = error
    return nil
}
