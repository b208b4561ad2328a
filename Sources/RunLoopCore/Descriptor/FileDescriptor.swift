import CLinux
import CRunLoop
import Synchronization

/// RLFileDescriptor: calls its callback once each time the callback is enabled.
struct FileDescriptorStorage: ObjectStorage, CallbackInfo, ~Copyable {
    static var kind: Kind { .fileDescriptor }

    var endpoint: Endpoint
    let closesOnInvalidate: Bool

    /// The `SourceDetail` that the sources of all descriptor objects share; 0 until the first source is made.
    fileprivate static let sourceDetail = Atomic<UInt>(0)
}

typealias FileDescriptorPointer = UnsafeMutablePointer<FileDescriptorStorage>

extension FileDescriptorPointer {
    var endpoint: EndpointPointer { UnsafeMutableRawPointer(self).assumingMemoryBound(to: Endpoint.self) }

    /// Creates a descriptor object with one reference. Returns nil with ENOMEM if out of memory. The caller has retained `context.info`.
    /// `threadContext` is the calling thread's.
    static func create(
        _ fd: Int32, closesOnInvalidate: Bool, _ callout: EndpointCallout.OfDescriptor?, _ context: ClientContext,
        _ threadContext: ThreadContextPointer
    ) -> FileDescriptorPointer? {
        Endpoints.prepare()
        guard let memory = EndpointPointer.allocate(threadContext) else { return nil }
        let descriptor = memory.bindMemory(to: FileDescriptorStorage.self, capacity: 1)
        descriptor.initialize(
            to: FileDescriptorStorage(
                endpoint: Endpoint(
                    .fileDescriptor, fd: fd, EndpointCallout(callout), context: context, EndpointState(EndpointState.valid), threadContext),
                closesOnInvalidate: closesOnInvalidate))
        return descriptor
    }

    /// Releases a reference; the last one invalidates the object, which may call the context's release, and frees it. Any thread that has a
    /// loop; call without a lock held.
    func release() {
        if !endpoint.pointee.item.object.release() { return }
        invalidate()
        endpoint.destroy()
    }

    /// RLFileDescriptorInvalidate. Any thread that has a loop; call without a lock held. Calls the context's release.
    func invalidate() { _ = endpoint.invalidate(closes: pointee.closesOnInvalidate) }

    /// RLFileDescriptorCreateRunLoopSource. Returns nil if the object is invalid, or if out of memory. `threadContext` is the calling
    /// thread's.
    func source(order: Int, _ threadContext: ThreadContextPointer) -> SourcePointer? {
        let common = SourceDetail(release: { FileDescriptorPointer($0).release() })
        guard let detail = SourceDetailPointer.shared(FileDescriptorStorage.sourceDetail, common) else { return nil }
        return endpoint.source(
            order: order,
            eventHandler: { FileDescriptorPointer($0).handleEvents(Events(rawValue: $1), reported: Events(rawValue: $2)).rawValue },
            detail, threadContext)
    }

    /// The event handler of the object's source; see `SourceFunction.EventHandler`. Calls user code.
    private func handleEvents(_ ready: Events, reported: Events) -> DispatchResult {
        if reported.isEmpty { return endpoint.cancelCall() }
        let fired = endpoint.beginCall(ready)
        if fired.isEmpty {
            endpoint.updateInterestSlow()
            return .unwanted
        }
        if let callout = endpoint.pointee.callout.ofDescriptor {
            let info = endpoint.pointee.context.info
            RUNLOOP_IS_CALLING_OUT_TO_A_FILE_DESCRIPTOR_CALLBACK_FUNCTION(handle, fired.callBackTypes, info, callout)
        }
        endpoint.endCall { _ in }
        return .handled
    }

    /// RLFileDescriptorEnableCallBacks. Any thread; plain stores on that of the object's owner, if the events are registered already.
    func enable(_ events: Events) {
        guard Registry.current != nil else { return }
        let now = endpoint.update { state in
            if state.isValid { state.arm(events) }
            return state.isValid
        }
        if let now { endpoint.updateInterest(now) }
    }

    /// RLFileDescriptorDisableCallBacks. Any thread. epoll is updated only when it next reports such an event.
    func disable(_ events: Events) {
        _ = endpoint.update { state in
            state.disarm(events)
            return true
        }
    }
}
