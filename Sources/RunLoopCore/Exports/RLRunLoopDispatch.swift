import CRunLoop

// The functions that include/RunLoop/RLRunLoopDispatch.h declares and documents.

@implementation @c
public func RLRunLoopSetServicesDispatchMainQueue(_ serves: UInt8) -> UInt8 {
    guard Registry.current != nil, let loop = Registry.mainLoop else { return 0 }
    if serves != 0 { return MainQueue.serve(by: loop) ? 1 : 0 }
    if let source = MainQueue.detach() {
        RLRunLoopSourceInvalidate(source.handle)
        RLRelease(UnsafeRawPointer(source))
    }
    return 1
}
