import CLinux
import CRunLoop
import Synchronization

// How a socket handles the events of its descriptor. Loop thread only; called without a lock held. Calls user code.
//
// An event is delivered only while it is armed, and delivering it disarms it. After the callback it is armed again, if the flags of
// RLSocketSetSocketFlags say so for this type of callback and the client has not disabled the type meanwhile.

extension SocketPointer {
    /// What to do about the events. This is decided before the first callback: if that one disables another type of callback, the other is
    /// still called this time, as in CFSocket.
    private struct Plan {
        var reads = false
        var writes = false
        /// The connection is established, or has failed.
        var connects = false
        /// From getsockopt(SO_ERROR); 0 if there is none.
        var error: Int32 = 0
        /// There is nothing to read or to accept, and never will be, so the callback is not armed again.
        var isAtEnd = false
    }

    /// The event handler of the socket's source; see `SourceFunction.EventHandler`.
    func handleEvents(_ ready: Events, reported: Events) -> DispatchResult {
        // This is how the loop reports that the thread exits inside a callback of this source.
        if reported.isEmpty { return endpoint.cancelCall() }
        var plan = Plan()
        if !begin(ready, reported, &plan) { return .unwanted }
        let context = endpoint.pointee.context
        let outcome = context.retain == nil ? callPlanned(&plan, context.info) : callRetaining(&plan, context)
        end(plan)
        return outcome
    }

    /// Calls the callbacks, with the info retained meanwhile.
    private func callRetaining(_ plan: inout Plan, _ context: ClientContext) -> DispatchResult {
        let info = context.retained()
        let loop = RunLoopPointer(ThreadContextPointer.current.unsafelyUnwrapped)
        let cleanup = CleanupHandler(function: { socket, _, info in releaseInfo(socket, info) }, object: self, info: info)
        let outcome = loop.withCleanup(cleanup) { callPlanned(&plan, info) }
        context.released(info)
        return outcome
    }

    /// Plans the callbacks for the events, and disarms these events. Returns false if there is nothing to do. Otherwise `end` must follow.
    private func begin(_ ready: Events, _ reported: Events, _ plan: inout Plan) -> Bool {
        guard disarm(ready, &plan) else {
            endpoint.updateInterestSlow()
            return false
        }
        // Reading the error clears it. So it is read only for a connect callback, which receives it, and not if the flags leave it to the
        // client.
        if plan.connects && flags & SocketStorage.leavesErrors == 0 { plan.error = Sockets.takeError(endpoint.pointee.fd)?.number ?? 0 }
        if plan.reads && !reported.isDisjoint(with: [.peerClosed, .hangUp]) && !reported.contains(.error) {
            plan.isAtEnd = Sockets.readableBytes(endpoint.pointee.fd) ?? 0 == 0
        }
        return true
    }

    /// Disarms the events that are about to be delivered, and counts a callback: until `end`, the descriptor stays open even if the socket
    /// is invalidated. Returns false, without counting, if none of the events is armed.
    @inline(__always)
    private func disarm(_ ready: Events, _ plan: inout Plan) -> Bool {
        endpoint.adopt()
        return endpoint.update { state in
            let fired = ready.intersection(state.armed)
            if !state.isValid || fired.isEmpty { return false }
            plan.reads = fired.contains(.readable)
            plan.writes = fired.contains(.writable) && notifiesWritable(state)
            if plan.writes {
                plan.connects = isConnecting(state)
                state.set(EndpointState.connected)
            }
            state.disarm(fired)
            state.bits &+= EndpointState.callUnit
            return true
        } != nil
    }

    /// Whether the flags of RLSocketSetSocketFlags say that events for callbacks of this type are armed again after each call. The lower
    /// bits of the flags are those of `SocketCallBacks`. The type data consists of two bits, those of read and accept, and one suffices.
    /// False for an empty type.
    private func reenables(_ type: SocketCallBacks) -> Bool { UInt8(truncatingIfNeeded: flags) & type.rawValue != 0 }

    /// Ends the call that `disarm` has counted. Reads the flags only now, because the callbacks may have changed them, and arms events again
    /// if they say so. If the socket was invalidated meanwhile and no other call is in progress, closes the descriptor.
    @inline(__always)
    private func end(_ plan: Plan) {
        let rereads = plan.reads && !plan.isAtEnd && reenables(pointee.callBacks.reading)
        let rewrites = plan.writes && reenables(.write) && pointee.callBacks.writes
        endpoint.endCall { state in
            if rereads && !state.has(EndpointState.readDisabled) { state.arm(.readable) }
            if rewrites && !state.has(EndpointState.writeDisabled) { state.arm(.writable) }
        }
    }

    /// Calls the callback for each planned type, as long as the one before has not invalidated the socket.
    @inline(never)
    private func callPlanned(_ plan: inout Plan, _ info: UnsafeMutableRawPointer?) -> DispatchResult {
        var outcome = DispatchResult.unwanted
        if plan.connects {
            var error = plan.error
            withUnsafePointer(to: &error) { callClient(.connect, nil, plan.error == 0 ? nil : UnsafeRawPointer($0), info) }
            outcome = .handled
        }
        if plan.reads && endpoint.state.isValid {
            let read = read(&plan, info)
            if outcome != .handled { outcome = read }
        }
        if plan.writes && plan.error == 0 && pointee.callBacks.writes && endpoint.state.isValid {
            callClient(.write, nil, nil, info)
            outcome = .handled
        }
        return outcome
    }

    /// Calls the client's callback, if there is one.
    @inline(__always)
    private func callClient(_ type: SocketCallBacks, _ address: DataPointer?, _ data: UnsafeRawPointer?, _ info: UnsafeMutableRawPointer?) {
        guard let callout = endpoint.pointee.callout.ofSocket else { return }
        RUNLOOP_IS_CALLING_OUT_TO_A_SOCKET_CALLBACK_FUNCTION(handle, UInt(type.rawValue), address?.handle, data, info, callout)
    }

    /// Calls the client for what the socket reads: read, data or accept.
    @inline(__always)
    private func read(_ plan: inout Plan, _ info: UnsafeMutableRawPointer?) -> DispatchResult {
        switch pointee.callBacks.reading {
        case .data: return readData(info)
        case .accept:
            var isAtEnd = plan.isAtEnd
            defer { plan.isAtEnd = isAtEnd }
            return acceptClient(&isAtEnd, info)
        default:
            callClient(.read, nil, nil, info)
            return .handled
        }
    }

    // MARK: data

    /// How much is read from a stream at once, as in CFSocket.
    private static var chunkSize: Int { 32 * 1024 }
    /// The most that is read of one message.
    private static var largestMessage: Int { 64 * 1024 }

    /// Reads one chunk of a stream, or one message, and passes it to the client. The end of a stream, or an error, is passed as data of
    /// length 0, after which a stream is invalidated.
    private func readData(_ info: UnsafeMutableRawPointer?) -> DispatchResult {
        var count = 0
        var failure: SystemError?
        var data: DataPointer?
        let capacity = isStream ? Self.chunkSize : Self.largestMessage
        let address = SocketAddress.data { sender in
            data = DataPointer.create(capacity: capacity) { bytes in
                do throws(SystemError) { count = try Sockets.receive(endpoint.pointee.fd, bytes, capacity, &sender) } catch {
                    failure = error
                }
                return count
            }
            if data == nil || failure?.isTemporary == true { return }
            if sender.count == 0 && isStream { try? Sockets.address(of: endpoint.pointee.fd, ofPeer: true, &sender) }
        }
        guard let address else { return .retryLater }
        defer { address.release() }
        guard let data else { return .retryLater }
        defer { data.release() }
        if failure?.isTemporary == true { return .unwanted }
        let loop = RunLoopPointer(ThreadContextPointer.current.unsafelyUnwrapped)
        let cleanup = CleanupHandler(function: { data, address, _ in releaseData(data, address) }, object: data, part: address)
        loop.withCleanup(cleanup) { callClient(.data, address, UnsafeRawPointer(data), info) }
        if count == 0 && isStream && endpoint.state.isValid { invalidate() }
        return .handled
    }

    // MARK: clients

    /// Accepts one client. If the process has no descriptor left, this is repeated a little later, while the client waits in the kernel's
    /// queue. Sets `isAtEnd` if the socket does not listen, so that it is not armed again.
    private func acceptClient(_ isAtEnd: inout Bool, _ info: UnsafeMutableRawPointer?) -> DispatchResult {
        var fd: Int32 = -1
        var failure: SystemError?
        let address = SocketAddress.data { client in
            do throws(SystemError) { fd = try Sockets.accept(endpoint.pointee.fd, &client) } catch { failure = error }
        }
        guard let address else { return .retryLater }
        defer { address.release() }
        if let failure {
            isAtEnd = failure.meansNotListening
            return failure.isShortage ? .retryLater : .unwanted
        }
        guard let callout = endpoint.pointee.callout.ofSocket else {
            // There is no callback to pass the accepted descriptor to.
            Descriptor.close(fd)
            return .handled
        }
        let loop = RunLoopPointer(ThreadContextPointer.current.unsafelyUnwrapped)
        loop.withCleanup(CleanupHandler(function: { address, _, _ in releaseData(address, nil) }, object: address)) {
            withUnsafePointer(to: &fd) {
                RUNLOOP_IS_CALLING_OUT_TO_A_SOCKET_CALLBACK_FUNCTION(
                    handle, UInt(SocketCallBacks.accept.rawValue), address.handle, UnsafeRawPointer($0), info, callout)
            }
        }
        return .handled
    }
}

// Cleanup handlers, for a thread that exits inside a socket's callback.

/// Releases the info that was retained for the call.
private func releaseInfo(_ socket: UnsafeMutableRawPointer, _ info: UnsafeMutableRawPointer?) {
    SocketPointer(socket).pointee.endpoint.context.released(info)
}

/// Releases what was passed to the callback: data, and an address if there is one.
private func releaseData(_ data: UnsafeMutableRawPointer, _ address: UnsafeMutableRawPointer?) {
    let data: DataPointer = Handle.storage(UnsafeRawPointer(data))
    data.release()
    let address: DataPointer? = address.map { Handle.storage(UnsafeRawPointer($0)) }
    address?.release()
}
