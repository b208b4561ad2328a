import CLinux
import CRunLoop

/// An RLFileDescriptor and its source, which an object uses internally beside its handle. The source follows the handle into every mode.
struct DescriptorWatch: BitwiseCopyable {
    /// The RLFileDescriptor. Retained.
    let watch: OpaquePointer
    /// The run loop source of the RLFileDescriptor. Retained.
    let source: OpaquePointer

    /// Creates a watch whose callbacks are disabled, and which never closes the descriptor. Returns nil with errno if the system refuses.
    /// Any thread.
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
        // Only the handle keeps its modes from being empty, and the client may have turned that off.
        RLRunLoopSourceSetKeepsModeRunning(source, 0)
        return DescriptorWatch(watch: watch, source: source)
    }

    /// Invalidates the watch and drops the references. The descriptor may be closed afterwards. Any thread.
    func end() {
        RLRelease(UnsafeRawPointer(source))
        RLFileDescriptorInvalidate(watch)
        RLRelease(UnsafeRawPointer(watch))
    }

    /// Adds `source` to a mode of a loop if the handle is in that mode; otherwise removes it. The current state decides, because two
    /// threads that add and remove the handle may report in either order. Returns false if out of memory. The caller holds the object's
    /// lock.
    static func follow(_ handle: OpaquePointer?, _ source: OpaquePointer, _ loop: OpaquePointer, _ mode: OpaquePointer) -> Bool {
        if RLRunLoopContainsSource(loop, handle, mode) == 0 {
            RLRunLoopRemoveSource(loop, source, mode)
            return true
        }
        RLRunLoopAddSource(loop, source, mode)
        return RLRunLoopContainsSource(loop, source, mode) != 0 || RLRunLoopSourceIsValid(handle) == 0
    }
}
