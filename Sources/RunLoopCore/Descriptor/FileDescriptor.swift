import CLinux
import CRunLoop
import Synchronization

/// RLFileDescriptor: calls back once for each time that it is enabled.
struct FileDescriptorStorage: ObjectStorage, ~Copyable {
    static var kind: Kind { .fileDescriptor }

    typealias Callout = @convention(c) (OpaquePointer?, UInt, UnsafeMutableRawPointer?) -> Void

    var endpoint: Endpoint
    let callout: Callout?
    let closesOnInvalidate: Bool

    /// What to wait for, of the public header's numbers: 1 to read, 2 to write. O(1).
    @inline(__always)
    static func events(_ types: UInt) -> Events { Events(rawValue: UInt16(truncatingIfNeeded: types & 1 | (types & 2) << 1)) }

    /// The other way round. O(1).
    @inline(__always)
    static func types(_ events: Events) -> UInt { UInt(events.rawValue & 1 | (events.rawValue & 4) >> 1) }

    /// What all their sources have in common.
    fileprivate static let sourceDetail = Atomic<UInt>(0)
}

typealias FileDescriptorPointer = UnsafeMutablePointer<FileDescriptorStorage>

extension UnsafeMutablePointer where Pointee == FileDescriptorStorage {
    /// The object that is the info of its source. O(1).
    @inline(__always)
    init(info: UnsafeMutableRawPointer?) { self = info.unsafelyUnwrapped.assumingMemoryBound(to: FileDescriptorStorage.self) }

    @inline(__always)
    var endpoint: EndpointPointer { UnsafeMutableRawPointer(self).assumingMemoryBound(to: Endpoint.self) }

    /// With one reference; nil with ENOMEM. `context.info` is retained already. Any thread.
    static func create(_ fd: Int32, closesOnInvalidate: Bool, _ callout: FileDescriptorStorage.Callout?, _ context: ClientContext)
        -> FileDescriptorPointer?
    {
        Endpoints.prepare()
        guard let memory = malloc(MemoryLayout<FileDescriptorStorage>.size) else {
            systemError = ENOMEM
            return nil
        }
        let descriptor = memory.bindMemory(to: FileDescriptorStorage.self, capacity: 1)
        descriptor.initialize(
            to: FileDescriptorStorage(
                endpoint: Endpoint(.fileDescriptor, fd: fd, context: context, EndpointState(EndpointState.valid)), callout: callout,
                closesOnInvalidate: closesOnInvalidate))
        return descriptor
    }

    /// Any thread that has a loop; the last reference invalidates.
    func release() {
        if !endpoint.pointee.header.release() { return }
        invalidate()
        pointee.endpoint.header.tag = 0
        free(self)
    }

    /// RLFileDescriptorInvalidate. A thread that has a loop; calls the context's release.
    func invalidate() { _ = endpoint.invalidate(closes: pointee.closesOnInvalidate) }

    /// RLFileDescriptorCreateRunLoopSource. `home`: the calling thread's.
    func source(order: Int, _ home: HomePointer) -> SourcePointer? {
        let common = SourceDetail(release: { FileDescriptorPointer(info: UnsafeMutableRawPointer(mutating: $0)).release() })
        guard let detail = SourceDetailPointer.shared(FileDescriptorStorage.sourceDetail, common) else { return nil }
        return endpoint.source(
            order: order, serve: { FileDescriptorPointer(info: $0).serve(Events(rawValue: $1), reported: Events(rawValue: $2)).rawValue },
            detail, home)
    }

    /// RLFileDescriptorEnableCallBacks. One atomic change, if epoll knows already. Any thread that has a loop.
    func enable(_ events: Events) {
        let now = endpoint.update { state in
            if state.isValid { state.arm(events) }
            return state.isValid
        }
        if let now { endpoint.tellSource(now) }
    }

    /// RLFileDescriptorDisableCallBacks. One atomic change. Any thread.
    func disable(_ events: Events) {
        _ = endpoint.update { state in
            state.disarm(events)
            return true
        }
    }

    /// What is ready of what it waits for: that is disarmed, and the client called. The loop's thread; calls user code.
    @inline(__always)
    private func serve(_ ready: Events, reported: Events) -> Served {
        if reported.isEmpty { return endpoint.abandon() }
        var fired: Events = []
        let begun = endpoint.update { state in
            fired = ready.intersection(state.armed)
            if !state.isValid || fired.isEmpty { return false }
            state.disarm(fired)
            state.bits &+= EndpointState.user
            return true
        }
        guard begun != nil else {
            endpoint.bringSourceUpToDate()
            return .unwanted
        }
        if let callout = pointee.callout {
            let types = FileDescriptorStorage.types(fired)
            RUNLOOP_IS_CALLING_OUT_TO_A_FILE_DESCRIPTOR_CALLBACK_FUNCTION(callout, handle, types, endpoint.pointee.context.info)
        }
        endpoint.leave()
        return .handled
    }
}
