import CLinux
import CRunLoop
import Synchronization

/// What a socket calls back for, with the values of the public header. Read, accept and data exclude each other.
struct SocketCallBacks: OptionSet, BitwiseCopyable {
    let rawValue: UInt8

    static let read = SocketCallBacks(rawValue: 1)
    static let accept = SocketCallBacks(rawValue: 2)
    static let data = SocketCallBacks(rawValue: 3)
    static let connect = SocketCallBacks(rawValue: 4)
    static let write = SocketCallBacks(rawValue: 8)

    /// One of read, accept and data, or nothing.
    var reading: SocketCallBacks { intersection(.data) }
    var connects: Bool { contains(.connect) }
    var writes: Bool { contains(.write) }
}

/// RLSocket. `Socket+Serve.swift` is what happens when it is ready, `Socket+Connect.swift` what it does to its descriptor.
struct SocketStorage: ObjectStorage, ~Copyable {
    static var kind: Kind { .socket }

    var endpoint: Endpoint
    let callBacks: SocketCallBacks
    /// Whether it is a connection over which bytes flow, not messages: found out when somebody asks for the first time. Any thread.
    fileprivate let transport: Atomic<UInt8>
    /// Of the file that the descriptor stood for when the socket was made: see `Descriptor.identity`.
    let identity: UInt32
    /// As SetSocketFlags stores them; those that concern reading are in the endpoint's state, too. Changed with that, read by any thread.
    let flags: Atomic<UInt32>
    /// In how many modes of how many loops the source is. Any thread.
    let scheduleCount = Atomic<Int32>(0)
    /// What the client was told last. Guarded by `Endpoints.mutex`.
    var lastAddress: DataPointer?
    var lastPeerAddress: DataPointer?

    static var doesNotReuseAddress: UInt32 { 16 }
    static var leavesErrors: UInt32 { 64 }
    static var closesOnInvalidate: UInt32 { 128 }

    /// What all their sources have in common.
    fileprivate static let sourceDetail = Atomic<UInt>(0)
}

/// What kind of socket a descriptor is, as far as it is known.
private enum Transport: UInt8 {
    case unknown
    case stream
    case other
}

typealias SocketPointer = UnsafeMutablePointer<SocketStorage>

extension SocketPointer {
    /// The socket that is the info of its source. O(1).
    @inline(__always)
    init(info: UnsafeMutableRawPointer?) { self = info.unsafelyUnwrapped.assumingMemoryBound(to: SocketStorage.self) }

    @inline(__always)
    var endpoint: EndpointPointer { UnsafeMutableRawPointer(self).assumingMemoryBound(to: Endpoint.self) }

    /// RLSocketCreateWithNative: the socket that the descriptor has already, or a new one; nil with ENOMEM. A negative number makes
    /// a socket that is not valid. One or two system calls. Any thread that has a loop; calls the context's retain. The descriptor has no
    /// other socket, unless another thread is making one: see `existing`.
    static func create(
        _ fd: Int32, _ callBacks: SocketCallBacks, flags: UInt32, _ callout: EndpointCallout.OfSocket?, _ context: ClientContext
    ) -> SocketPointer? {
        Endpoints.prepare()
        guard let threadContext = ThreadContextPointer.current, let memory = EndpointPointer.allocate(threadContext) else { return nil }
        var context = context
        context.info = context.retained()
        var transport = Transport.unknown
        var state = EndpointState(fd >= 0 ? EndpointState.valid : 0)
        if callBacks.reading == .accept {
            state.set(EndpointState.connected)
        } else if callBacks.connects {
            transport = Sockets.type(of: fd) == Sockets.stream ? .stream : .other
            if transport == .other { state.set(EndpointState.connected) }
        }
        state.setRearmsReading(flags)
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
            socket.discard()
            return other
        case .outOfMemory:
            socket.discard()
            systemError = ENOMEM
            return nil
        }
    }

    /// The socket that a descriptor has already, with a reference for the caller; nil if there is none, or if its descriptor was closed before it was
    /// invalidated, so that the number is another file's now: that is reported, and the old socket invalidated. A system call if
    /// there is one. Any thread that has a loop; may call the error handler and the old context's release.
    static func existing(on fd: Int32, _ function: Name) -> SocketPointer? {
        guard let known = Endpoints.socket(on: fd) else { return nil }
        if Descriptor.identity(fd) == known.pointee.identity { return known }
        known.invalidateClosed(function)
        return nil
    }

    /// Of a socket whose number is another file's by now. Gives back a reference. May call the error handler and the context's release.
    func invalidateClosed(_ function: Name) {
        Misuse.report(function, "socket", "another socket had this descriptor, which was closed before that socket was invalidated")
        invalidate(closes: false)
        release()
    }

    /// Whether it is a connection over which bytes flow, not messages. At the first time it may cost a system call. Any thread.
    var isStream: Bool {
        let known = pointee.transport.load(ordering: .relaxed)
        if known != Transport.unknown.rawValue { return known == Transport.stream.rawValue }
        let isStream = Sockets.type(of: endpoint.pointee.fd) == Sockets.stream
        pointee.transport.store((isStream ? Transport.stream : Transport.other).rawValue, ordering: .relaxed)
        return isStream
    }

    /// A socket that nobody has seen, or that was never valid. Its descriptor stays open.
    private func discard() {
        pointee.endpoint.context.released(pointee.endpoint.context.info)
        destroy()
    }

    private func destroy() {
        pointee.lastAddress?.release()
        pointee.lastPeerAddress?.release()
        endpoint.destroy()
    }

    /// Any thread that has a loop.
    func release() {
        if !endpoint.pointee.item.object.release() { return }
        // One with a bad number was never valid, and nobody has called its context's release.
        if endpoint.pointee.fd < 0 { discard() } else { destroy() }
    }

    /// RLSocketInvalidate. A thread that has a loop; calls the context's release.
    func invalidate() { invalidate(closes: flags & SocketStorage.closesOnInvalidate != 0) }

    /// The same, with or without closing the descriptor.
    @inline(never)
    func invalidate(closes: Bool) {
        let wasKnown = Endpoints.remove(self)
        _ = endpoint.invalidate(closes: closes)
        if wasKnown { release() }
    }

    /// Any thread.
    var flags: UInt32 { pointee.flags.load(ordering: .relaxed) }

    /// RLSocketSetSocketFlags. Any thread.
    func setFlags(_ flags: UInt32) {
        _ = endpoint.update { state in
            pointee.flags.store(flags, ordering: .relaxed)
            state.setRearmsReading(flags)
            return true
        }
    }

    /// RLSocketCreateRunLoopSource. `threadContext`: the calling thread's.
    func source(order: Int, _ threadContext: ThreadContextPointer) -> SourcePointer? {
        let common = SourceDetail(
            release: { SocketPointer(info: UnsafeMutableRawPointer(mutating: $0)).release() },
            schedule: { info, _, _ in SocketPointer(info: info).schedule() },
            cancel: { info, _, _ in SocketPointer(info: info).cancel() })
        guard let detail = SourceDetailPointer.shared(SocketStorage.sourceDetail, common) else { return nil }
        return endpoint.source(
            order: order, callsClient: pointee.callBacks.reading == .read && pointee.endpoint.context.retain == nil,
            eventHandler: { SocketPointer(info: $0).handleEvents(Events(rawValue: $1), reported: Events(rawValue: $2)).rawValue }, detail,
            threadContext)
    }

    // MARK: enabling

    /// Its source has come into a mode: with the first, everything is enabled, whatever was disabled before.
    fileprivate func schedule() {
        if pointee.scheduleCount.wrappingAdd(1, ordering: .relaxed).newValue == 1 { enable(pointee.callBacks) }
    }

    fileprivate func cancel() { pointee.scheduleCount.wrappingSubtract(1, ordering: .relaxed) }

    /// RLSocketEnableCallBacks: nothing while its source is in no mode. Any thread that has a loop.
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

    /// RLSocketDisableCallBacks: nothing while its source is in no mode. Any thread.
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

    /// Whether enabling or disabling these types decides if the socket waits for room, by CFSocket's rule: connect does so only until it has
    /// come, and then write alone. So each of the two waits for both, as they come together, and each stops both.
    @inline(__always)
    private func affectsWritable(_ types: SocketCallBacks, _ state: EndpointState) -> Bool {
        types.writes || types.connects && !state.has(EndpointState.connected)
    }

    /// Whether the client hears of room: one of the two types must be enabled, and then both come.
    @inline(__always)
    func notifiesWritable(_ state: EndpointState) -> Bool {
        pointee.callBacks.writes && !state.has(EndpointState.writeDisabled)
            || pointee.callBacks.connects && !state.has(EndpointState.connectDisabled)
                && flags & UInt32(SocketCallBacks.connect.rawValue) == 0
    }

    /// Whether the client is to be told when the connection stands.
    @inline(__always)
    func isConnecting(_ state: EndpointState) -> Bool { pointee.callBacks.connects && !state.has(EndpointState.connected) }
}

extension EndpointState {
    /// What `flags` say of reading.
    fileprivate mutating func setRearmsReading(_ flags: UInt32) {
        clear(Self.rearmsReading)
        if flags & UInt32(SocketCallBacks.read.rawValue) != 0 { set(Self.rearmsReading) }
    }
}
