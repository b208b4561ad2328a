import CLinux
import Synchronization

// What clients do to a socket's descriptor. Any thread that has a loop; errno on failure.

extension SocketPointer {
    /// How a call went, with the values of the public header.
    enum Outcome: Int {
        case success = 0
        case error = -1
        case timedOut = -2
    }

    /// Runs `body` with the descriptor, which nobody closes meanwhile; `error` with EBADF if the socket is not valid.
    private func withDescriptor(_ body: (Int32) -> Outcome) -> Outcome {
        guard endpoint.beginUse() else {
            systemError = EBADF
            return .error
        }
        let outcome = body(endpoint.pointee.fd)
        preservingSystemError { endpoint.endUse() }
        return outcome
    }

    /// RLSocketSetAddress: bind and listen. A socket that cannot listen is bound only. What may listen takes over an address whose old connections
    /// are still being forgotten by the kernel, unless its flags say no.
    func setAddress(_ address: DataPointer) -> Outcome {
        withDescriptor { fd in
            if isStream && flags & SocketStorage.doesNotReuseAddress == 0 { Sockets.reuseAddress(fd) }
            do throws(SystemError) { try Sockets.bind(fd, address.bytes, address.pointee.count) } catch { return .error }
            Sockets.listen(fd)
            return .success
        }
    }

    /// RLSocketConnectToAddress: `seconds` negative: goes on in the background; 0: as long as it takes.
    func connect(to address: DataPointer, seconds: Double) -> Outcome {
        withDescriptor { fd in
            let wasBlocking = seconds != 0 && Sockets.setBlocking(fd, false)
            defer { if wasBlocking { _ = Sockets.setBlocking(fd, true) } }
            let outcome = connect(fd, address, seconds)
            if outcome == .success { rearmAfterConnect() }
            return outcome
        }
    }

    private func connect(_ fd: Int32, _ address: DataPointer, _ seconds: Double) -> Outcome {
        do throws(SystemError) {
            try Sockets.connect(fd, address.bytes, address.pointee.count)
            return .success
        } catch {
            if error.number != EINPROGRESS && error.number != EINTR { return .error }
        }
        if seconds < 0 { return .success }
        guard Descriptor.wait(fd, for: .writable, until: seconds == 0 ? .never : Instant.now(after: seconds)) else {
            systemError = ETIMEDOUT
            return .timedOut
        }
        guard let error = Sockets.takeError(fd) else { return .success }
        systemError = error.number
        return .error
    }

    /// The source may have been in a loop before: reading may have ended there, and the loop may be another thread's, which sleeps.
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

    /// RLSocketSendData: all of it, but for an error or a time-out on the way. `seconds` not positive: a blocking socket blocks, and another
    /// one sends what fits.
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
                    // A message goes as a whole.
                    isDone = !isStream || sent == data.pointee.count
                } catch {
                    if error.number == EAGAIN && (seconds > 0 || sent > 0) {
                        if seconds <= 0 || !Descriptor.wait(fd, for: .writable, until: deadline) {
                            systemError = ETIMEDOUT
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

    /// RLSocketSendBytes: how many bytes fitted, or -1 with errno. Never waits.
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

    /// RLSocketCopyAddress: what it is now, else what it was last; nil if that is not known. With a reference for the caller.
    var address: DataPointer? {
        withUnsafeMutablePointer(to: &pointee.lastAddress) { look({ Sockets.local(of: $0, &$1) }, $0) }
    }

    /// RLSocketCopyPeerAddress: the same of the other side, until the socket is invalidated.
    var peerAddress: DataPointer? {
        if !endpoint.state.isValid { return nil }
        return withUnsafeMutablePointer(to: &pointee.lastPeerAddress) { look({ Sockets.peer(of: $0, &$1) }, $0) }
    }

    private func look(_ body: (Int32, inout SocketAddress) -> Void, _ last: UnsafeMutablePointer<DataPointer?>) -> DataPointer? {
        var address = SocketAddress()
        let outcome = withDescriptor { fd in
            body(fd, &address)
            return .success
        }
        var new = outcome == .success && address.count > 0 ? address.data : nil
        Endpoints.mutex.lock()
        if new != nil { swap(&last.pointee, &new) }
        let result = last.pointee
        result?.pointee.header.retain()
        Endpoints.mutex.unlock()
        new?.release()
        return result
    }
}

extension SocketAddress {
    /// What `body` finds out, with a reference for the caller; nil if out of memory, and `body` was not called. So what comes with the
    /// address is not taken from the kernel before there is room for both.
    static func data(_ body: (inout SocketAddress) -> Void) -> DataPointer? {
        DataPointer.create(capacity: MemoryLayout<sockaddr_storage>.size) { bytes in
            var address = SocketAddress()
            body(&address)
            address.withBytes { _ = memcpy(bytes, $0, $1) }
            return address.count
        }
    }

    /// With a reference for the caller; nil if out of memory.
    var data: DataPointer? { withBytes { DataPointer.create($0, count: $1) } }
}
