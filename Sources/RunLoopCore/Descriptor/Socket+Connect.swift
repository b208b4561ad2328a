import CLinux
import Synchronization

// What clients do with a socket's descriptor. Any thread that has a run loop; call without a lock held. Failures set errno.

extension SocketPointer {
    /// The result of an operation. The values are those of RLSocket.h.
    enum Outcome: Int {
        case success = 0
        case error = -1
        case timedOut = -2
    }

    /// Calls `body` with the descriptor, which stays open while `body` runs. Returns `.error` with EBADF if the socket is invalid.
    private func withDescriptor(_ body: (Int32) -> Outcome) -> Outcome {
        guard endpoint.beginUse() else {
            systemError = EBADF
            return .error
        }
        let outcome = body(endpoint.pointee.fd)
        preservingSystemError { endpoint.endUse() }
        return outcome
    }

    /// RLSocketSetAddress: binds the socket, and listens if it can. A stream socket may bind an address that closed connections still
    /// occupy, unless its flags forbid that.
    func setAddress(_ address: DataPointer) -> Outcome {
        withDescriptor { fd in
            if isStream && flags & SocketStorage.doesNotReuseAddress == 0 { Sockets.reuseAddress(fd) }
            do throws(SystemError) { try Sockets.bind(fd, address.bytes, address.pointee.count) } catch { return .error }
            Sockets.listen(fd)
            return .success
        }
    }

    /// RLSocketConnectToAddress. If `seconds` is negative, connects in the background; if it is 0, waits without limit.
    func connect(to address: DataPointer, seconds: Double) -> Outcome {
        withDescriptor { fd in
            let wasBlocking = seconds != 0 && Sockets.setBlocking(fd, false)
            defer { if wasBlocking { _ = Sockets.setBlocking(fd, true) } }
            let outcome = connect(fd, address, seconds)
            if outcome == .success { rearmAfterConnect() }
            return outcome
        }
    }

    /// The rest of `connect`, on a descriptor that does not block unless `seconds` is 0.
    private func connect(_ fd: Int32, _ address: DataPointer, _ seconds: Double) -> Outcome {
        do throws(SystemError) {
            try Sockets.connect(fd, address.bytes, address.pointee.count)
            return .success
        } catch {
            if error.number != EINPROGRESS && error.number != EINTR { return .error }
        }
        if seconds < 0 { return .success }
        guard !Descriptor.wait(fd, for: .writable, until: seconds == 0 ? .never : Instant.now(after: seconds)).isEmpty else {
            systemError = ETIMEDOUT
            return .timedOut
        }
        guard let error = Sockets.takeError(fd) else { return .success }
        systemError = error.number
        return .error
    }

    /// Arms reading again, which may have been disarmed if the source was in a loop before the socket was connected. Then makes sleeping
    /// loops of other threads check the socket.
    private func rearmAfterConnect() {
        if pointee.scheduleCount.load(ordering: .relaxed) <= 0 { return }
        let now = endpoint.update { state in
            if !state.isValid { return false }
            if !pointee.callBacks.reading.isEmpty && !state.has(EndpointState.readDisabled) { state.arm(.readable) }
            return true
        }
        guard let now else { return }
        endpoint.updateInterest(now)
        endpoint.recheck()
    }

    /// RLSocketSendData: sends all of `data`, unless there is an error or the time runs out. If `seconds` is not positive, a blocking
    /// socket blocks, and a non-blocking one sends what fits. For lack of room, returns `.error`, with EAGAIN if nothing was sent and
    /// ETIMEDOUT if a part was.
    func send(_ data: DataPointer, to address: DataPointer?, seconds: Double) -> Outcome {
        withDescriptor { fd in
            if isStream && data.pointee.count == 0 {
                systemError = EINVAL
                return .error
            }
            let deadline = seconds > 0 ? Instant.now(after: seconds) : .distantPast
            var sent = 0
            var isDone = false
            repeat {
                do throws(SystemError) {
                    sent += try Sockets.send(
                        fd, data.bytes + sent, data.pointee.count - sent, to: address?.bytes, address?.pointee.count ?? 0,
                        waits: seconds <= 0)
                    // A datagram is sent whole or not at all, so one successful call is enough.
                    isDone = !isStream || sent == data.pointee.count
                } catch {
                    if error.number == EAGAIN && (seconds > 0 || sent > 0) {
                        if seconds <= 0 || Descriptor.wait(fd, for: .writable, until: deadline).isEmpty {
                            systemError = sent > 0 ? ETIMEDOUT : EAGAIN
                            return .error
                        }
                    } else if error.number != EINTR {
                        return .error
                    }
                }
            } while !isDone
            return .success
        }
    }

    /// RLSocketSendBytes. Returns how many bytes were sent, or -1 with errno. Never waits.
    func send(_ bytes: UnsafePointer<UInt8>, count: Int, to address: DataPointer?) -> Int {
        var result = -1
        _ = withDescriptor { fd in
            while true {
                do throws(SystemError) {
                    result = try Sockets.send(fd, bytes, count, to: address?.bytes, address?.pointee.count ?? 0, waits: false)
                    return .success
                } catch { if error.number != EINTR { return .error } }
            }
        }
        return result
    }

    /// RLSocketCopyAddress: the current address, or else the last known one; nil with errno if there is none. The caller owns a reference
    /// to the result.
    var address: DataPointer? { withUnsafeMutablePointer(to: &pointee.lastAddress) { refresh($0, ofPeer: false) } }

    /// RLSocketCopyPeerAddress: the current address of the peer, or else the last known one; nil with errno if there is none, or if the
    /// socket is invalid. The caller owns a reference to the result.
    var peerAddress: DataPointer? {
        if !endpoint.state.isValid {
            systemError = EBADF
            return nil
        }
        return withUnsafeMutablePointer(to: &pointee.lastPeerAddress) { refresh($0, ofPeer: true) }
    }

    /// Returns the socket's current address, or its peer's, and remembers it in `last`. If there is none at present, returns `last`. The
    /// caller owns a reference to the result.
    private func refresh(_ last: UnsafeMutablePointer<DataPointer?>, ofPeer: Bool) -> DataPointer? {
        var address = SocketAddress()
        let error = systemError
        let outcome = withDescriptor { fd in
            do throws(SystemError) {
                try Sockets.address(of: fd, ofPeer: ofPeer, &address)
            } catch { return .error }
            return .success
        }
        var new = outcome == .success && address.count > 0 ? address.data : nil
        Endpoints.mutex.lock()
        if new != nil { swap(&last.pointee, &new) }
        let result = last.pointee
        result?.pointee.header.retain()
        Endpoints.mutex.unlock()
        if result != nil { systemError = error }
        new?.release()
        return result
    }
}

extension SocketAddress {
    /// Returns the address that `body` fills in as data; the caller owns a reference. Memory is allocated before `body` calls the kernel,
    /// so that nothing that comes with an address (a connection, a datagram) is taken and then lost. If out of memory, returns nil without
    /// calling `body`.
    static func data(_ body: (inout SocketAddress) -> Void) -> DataPointer? {
        DataPointer.create(capacity: MemoryLayout<sockaddr_storage>.size) { bytes in
            var address = SocketAddress()
            body(&address)
            address.withBytes { _ = memcpy(bytes, $0, $1) }
            return address.count
        }
    }

    /// The address as data, with a reference for the caller; nil if out of memory.
    var data: DataPointer? { withBytes { DataPointer.create($0, count: $1) } }
}
