import CLinux
import CRunLoop

/// An RLFileDescriptor and its source, which an object has beside its handle and which follow that into every mode.
struct DescriptorWatch: BitwiseCopyable {
    /// The RLFileDescriptor. Retained.
    let watch: OpaquePointer
    /// The run loop source of the RLFileDescriptor. Retained.
    let source: OpaquePointer

    /// A watch whose callbacks are disabled, and which never closes the descriptor; nil with errno if the system refuses. Any thread.
    static func make(
        _ descriptor: Int32, _ context: inout RLFileDescriptorContext, _ callout: @escaping RLFileDescriptorCallBack
    ) -> DescriptorWatch? {
        guard let watch = RLFileDescriptorCreate(nil, descriptor, 0, callout, &context) else { return nil }
        guard let source = RLFileDescriptorCreateRunLoopSource(nil, watch, 0) else {
            preservingSystemError {
                RLFileDescriptorInvalidate(watch)
                RLRelease(UnsafeRawPointer(watch))
            }
            return nil
        }
        // Only the handle keeps its modes from being empty, and the program may have told it not to.
        RLRunLoopSourceSetKeepsModeRunning(source, 0)
        return DescriptorWatch(watch: watch, source: source)
    }

    /// Ends the watch; after that the descriptor may be closed. Any thread.
    func end() {
        RLRelease(UnsafeRawPointer(source))
        RLFileDescriptorInvalidate(watch)
        RLRelease(UnsafeRawPointer(watch))
    }

    /// Adds a source to a mode of a loop if the handle is in it, and otherwise removes it: of two threads that add and remove the handle
    /// either may say so first, and what counts is where it is now. False if out of memory. Under the object's lock.
    static func follow(_ handle: OpaquePointer?, _ source: OpaquePointer, _ loop: OpaquePointer, _ mode: OpaquePointer) -> Bool {
        if RLRunLoopContainsSource(loop, handle, mode) == 0 {
            RLRunLoopRemoveSource(loop, source, mode)
            return true
        }
        RLRunLoopAddSource(loop, source, mode)
        return RLRunLoopContainsSource(loop, source, mode) != 0 || RLRunLoopSourceIsValid(handle) == 0
    }
}
