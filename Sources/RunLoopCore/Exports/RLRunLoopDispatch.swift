import CRunLoop

// The functions that include/RunLoop/RLRunLoopDispatch.h declares and documents.

@implementation @c
public func RLRunLoopSetServicesDispatchMainQueue(_ serves: UInt8) -> UInt8 {
    // `MainQueue.serve` requires that the calling thread has a loop. That need not be the main loop.
    guard Registry.current != nil, let loop = Registry.mainLoop else { return 0 }
    if serves != 0 { return MainQueue.serve(by: loop) ? 1 : 0 }
    // 0 is no failure if the queue is not served anyway.
    if let source = MainQueue.detach() {
        RLRunLoopSourceInvalidate(source.handle)
        RLRelease(UnsafeRawPointer(source))
    }
    return 1
}
