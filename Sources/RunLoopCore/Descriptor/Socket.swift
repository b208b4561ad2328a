import CLinux
import CRunLoop
import Synchronization

/// Callback types of a socket. The values are those of RLSocket.h. Read, accept and data exclude each other.
struct SocketCallBacks: OptionSet, BitwiseCopyable {
    let rawValue: UInt8

    static let read = SocketCallBacks(rawValue: 1)
    static let accept = SocketCallBacks(rawValue: 2)
    static let data = SocketCallBacks(rawValue: 3)
    static let connect = SocketCallBacks(rawValue: 4)
    static let write = SocketCallBacks(rawValue: 8)

    /// Read, accept or data; empty if it is none of them.
    var reading: SocketCallBacks { intersection(.data) }
    var connects: Bool { contains(.connect) }
    var writes: Bool { contains(.write) }
}

/// RLSocket. `Socket+Events.swift` handles its events; `Socket+Connect.swift` contains the operations that clients perform on the
/// descriptor.
struct SocketStorage: ObjectStorage, CallbackInfo, ~Copyable {
    static var kind: Kind { .socket }

    var endpoint: Endpoint
    let callBacks: SocketCallBacks
    /// A `Transport`, determined at the first use. Any thread.
    fileprivate let transport: Atomic<UInt8>
    /// Whether `Endpoints.files` contains the socket's file. Guarded by `Endpoints.mutex`.
    var isFileKnown = false
    /// The identity of the file when the socket was created: see `Descriptor.identity`.
    let identity: UInt32
    /// The flags of RLSocketSetSocketFlags. Any thread.
    let flags: Atomic<UInt32>
    /// How many modes, over all loops, contain the source. Any thread.
    let scheduleCount = Atomic<Int32>(0)
    /// The addresses that were last returned. Guarded by `Endpoints.mutex`.
    var lastAddress: DataPointer?
    var lastPeerAddress: DataPointer?

    static var doesNotReuseAddress: UInt32 { 16 }
    static var leavesErrors: UInt32 { 64 }
    static var closesOnInvalidate: UInt32 { 128 }

    /// The `SourceDetail` that the sources of all sockets share; 0 until the first is made.
    fileprivate static let sourceDetail = Atomic<UInt>(0)
}

/// Whether a descriptor is a stream socket, if that is known.
private enum Transport: UInt8 {
    case unknown
    case stream
    case other
}

typealias SocketPointer = UnsafeMutablePointer<SocketStorage>

extension SocketPointer {
    var endpoint: EndpointPointer { UnsafeMutableRawPointer(self).assumingMemoryBound(to: Endpoint.self) }

    /// RLSocketCreateWithNative, for a descriptor that has no socket object (see `existing`): returns a new socket, with a reference for
    /// the caller. If another thread creates one for the same descriptor meanwhile, both return that one. Returns nil with ENOMEM if out of
    /// memory. A negative descriptor makes a socket that is not valid. One or two system calls. Any thread that has a loop; call without a
    /// lock held. Calls the context's retain, and its release if the new socket is not used.
    static func create(
        _ fd: Int32, _ callBacks: SocketCallBacks, flags: UInt32, _ callout: EndpointCallout.OfSocket?, _ context: ClientContext
    ) -> SocketPointer? {
        Endpoints.prepare()
        guard let threadContext = ThreadContextPointer.current, let memory = EndpointPointer.allocate(threadContext) else { return nil }
        var context = context
        context.info = context.retained()
        var transport = Transport.unknown
        var state = EndpointState(fd >= 0 ? EndpointState.valid : 0)
        // A listening socket does not wait for a connection, and neither does a datagram socket.
        if callBacks.reading == .accept {
            state.set(EndpointState.connected)
        } else if callBacks.connects {
            transport = Sockets.type(of: fd) == Sockets.stream ? .stream : .other
            if transport == .other { state.set(EndpointState.connected) }
        }
        let socket = memory.bindMemory(to: SocketStorage.self, capacity: 1)
        socket.initialize(
            to: SocketStorage(
                endpoint: Endpoint(
                    .socket, fd: fd, EndpointCallout(callout), context: context, state, threadContext),
                callBacks: callBacks, transport: Atomic(transport.rawValue), identity: Descriptor.identity(fd), flags: Atomic(flags)))
        if fd < 0 { return socket }
        switch Endpoints.add(socket) {
        case .added: return socket
        case .found(let other):
            socket.destroyWithContext()
            return other
        case .outOfMemory:
            socket.destroyWithContext()
            systemError = ENOMEM
            return nil
        }
    }

    /// Returns the valid socket on a descriptor, with a reference for the caller; nil if there is none. A socket whose descriptor was
    /// closed before it was invalidated, so that the number belongs to another file by now, is reported and invalidated. At most two system
    /// calls, besides invalidating a stale socket. Any thread that has a loop; call without a lock held. May call the error handler and the
    /// old context's release.
    static func existing(on fd: Int32, _ function: Name) -> SocketPointer? {
        guard let known = Endpoints.socket(on: fd) else { return nil }
        if Descriptor.identity(fd) == known.pointee.identity && !Endpoints.hasLostFile(known) { return known }
        known.invalidateClosed(function)
        return nil
    }

    /// Reports a socket whose descriptor number belongs to another file by now, invalidates the socket, and releases a reference. Call
    /// without a lock held. May call the error handler and the context's release.
    func invalidateClosed(_ function: Name) {
        Misuse.report(
            function, "socket", "descriptor was closed while another socket used it; invalidate a socket before closing its descriptor")
        invalidate(closes: false)
        release()
    }

    /// Whether this is a stream socket. The first call may make a system call. Any thread.
    var isStream: Bool {
        let known = pointee.transport.load(ordering: .relaxed)
        if known != Transport.unknown.rawValue { return known == Transport.stream.rawValue }
        let isStream = Sockets.type(of: endpoint.pointee.fd) == Sockets.stream
        pointee.transport.store((isStream ? Transport.stream : Transport.other).rawValue, ordering: .relaxed)
        return isStream
    }

    /// Destroys a socket that was not returned to any client, or was never valid. Leaves its descriptor open. Calls the context's release.
    private func destroyWithContext() {
        pointee.endpoint.context.released(pointee.endpoint.context.info)
        destroy()
    }

    /// Frees a socket without references.
    private func destroy() {
        pointee.lastAddress?.release()
        pointee.lastPeerAddress?.release()
        endpoint.destroy()
    }

    /// Releases a reference; the last one frees the socket, and calls the context's release if the socket was never valid. Any thread that
    /// has a loop; call without a lock held.
    func release() {
        if !endpoint.pointee.item.object.release() { return }
        // A socket with a negative descriptor was never valid, so its context's release is still to be called.
        if endpoint.pointee.fd < 0 { destroyWithContext() } else { destroy() }
    }

    /// RLSocketInvalidate. Any thread that has a loop; call without a lock held. Calls the context's release.
    func invalidate() { invalidate(closes: flags & SocketStorage.closesOnInvalidate != 0) }

    /// Invalidates the socket, and closes the descriptor if `closes`. Any thread that has a loop; call without a lock held. Calls the
    /// context's release.
    @inline(never)
    func invalidate(closes: Bool) {
        let wasKnown = Endpoints.remove(self)
        _ = endpoint.invalidate(closes: closes)
        if wasKnown { release() }
    }

    /// The flags of RLSocketSetSocketFlags. Any thread.
    var flags: UInt32 { pointee.flags.load(ordering: .relaxed) }

    /// RLSocketSetSocketFlags. Any thread.
    func setFlags(_ flags: UInt32) { pointee.flags.store(flags, ordering: .relaxed) }

    /// RLSocketCreateRunLoopSource. Returns nil if the socket is invalid, or if out of memory. `threadContext` is the calling thread's.
    func source(order: Int, _ threadContext: ThreadContextPointer) -> SourcePointer? {
        let common = SourceDetail(
            release: { SocketPointer($0).release() },
            schedule: { info, _, _ in SocketPointer(info).schedule() },
            cancel: { info, _, _ in SocketPointer(info).cancel() })
        guard let detail = SourceDetailPointer.shared(SocketStorage.sourceDetail, common) else { return nil }
        return endpoint.source(
            order: order,
            eventHandler: { SocketPointer($0).handleEvents(Events(rawValue: $1), reported: Events(rawValue: $2)).rawValue }, detail,
            threadContext)
    }

    // MARK: enabling

    /// The schedule function of the socket's source, which was added to a mode. If it was in none before, enables all callbacks, even
    /// disabled ones.
    fileprivate func schedule() {
        if pointee.scheduleCount.wrappingAdd(1, ordering: .relaxed).newValue == 1 { enable(pointee.callBacks) }
    }

    /// The cancel function of the socket's source, which was removed from a mode.
    fileprivate func cancel() { pointee.scheduleCount.wrappingSubtract(1, ordering: .relaxed) }

    /// RLSocketEnableCallBacks; has no effect while the source is in no mode. Any thread that has a loop.
    func enable(_ wanted: SocketCallBacks) {
        let types = wanted.intersection(pointee.callBacks)
        if pointee.scheduleCount.load(ordering: .relaxed) <= 0 { return }
        let now = endpoint.update { state in
            if !state.isValid { return false }
            if !types.reading.isEmpty {
                state.clear(EndpointState.readDisabled)
                state.arm(.readable)
            }
            if types.writes { state.clear(EndpointState.writeDisabled) }
            if types.connects { state.clear(EndpointState.connectDisabled) }
            if affectsWritable(types, state) { state.arm(.writable) }
            return true
        }
        if let now { endpoint.updateInterest(now) }
    }

    /// RLSocketDisableCallBacks; has no effect while the source is in no mode. Any thread.
    func disable(_ wanted: SocketCallBacks) {
        let types = wanted.intersection(pointee.callBacks)
        if pointee.scheduleCount.load(ordering: .relaxed) <= 0 { return }
        _ = endpoint.update { state in
            if !types.reading.isEmpty {
                state.set(EndpointState.readDisabled)
                state.disarm(.readable)
            }
            if types.writes { state.set(EndpointState.writeDisabled) }
            if types.connects { state.set(EndpointState.connectDisabled) }
            if affectsWritable(types, state) { state.disarm(.writable) }
            return true
        }
    }

    /// Whether enabling or disabling these types arms or disarms `writable`, by CFSocket's rule: write always does, connect only until the
    /// socket is connected. Since both come with the same event, enabling either one arms both, and disabling either one disarms both.
    private func affectsWritable(_ types: SocketCallBacks, _ state: EndpointState) -> Bool {
        types.writes || types.connects && !state.has(EndpointState.connected)
    }

    /// Whether a writable socket is reported to the client: if write is enabled, or if connect is and its bit is not set in the flags.
    func notifiesWritable(_ state: EndpointState) -> Bool {
        pointee.callBacks.writes && !state.has(EndpointState.writeDisabled)
            || pointee.callBacks.connects && !state.has(EndpointState.connectDisabled)
                && flags & UInt32(SocketCallBacks.connect.rawValue) == 0
    }

    /// Whether the client is still to be called for the connection.
    func isConnecting(_ state: EndpointState) -> Bool { pointee.callBacks.connects && !state.has(EndpointState.connected) }
}
