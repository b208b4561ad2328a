import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit

extension Stream {
    /// Creates a stream that connects to an address. Returns nil with errno if the system refuses. Any thread; calls user code.
    static func connect(_ address: OpaquePointer, _ callout: RLStreamCallBack?, _ client: ClientContext) -> OpaquePointer? {
        let descriptor = linux_connect(RLDataGetBytePtr(address), UInt32(RLDataGetLength(address)))
        if descriptor < 0 { return nil }
        guard let source = make(descriptor, isSocket: true, closes: true, callout, client) else {
            preservingSystemError { linux_close(descriptor) }
            return nil
        }
        StreamPointer(handle: source).noteConnecting()
        return source
    }

    /// Creates a stream that connects to a host. Returns nil with errno if the system refuses. Any thread; calls user code.
    static func connect(
        _ host: UnsafePointer<CChar>?, _ service: UnsafePointer<CChar>?, _ workers: WorkersPointer?, timeout: Double,
        _ callout: RLStreamCallBack?, _ client: ClientContext
    ) -> OpaquePointer? {
        guard let memory = malloc(MemoryLayout<Connector>.stride) else { return nil }
        let connector = memory.bindMemory(to: Connector.self, capacity: 1)
        connector.initialize(to: Connector(timeout: timeout))
        guard let source = make(-1, isSocket: true, closes: true, callout, client) else {
            CLinux.free(connector)
            return nil
        }
        if StreamPointer(handle: source).beginConnecting(connector, host, service, workers) { return source }
        preservingSystemError { RLRelease(UnsafeRawPointer(source)) }
        return nil
    }
}

extension StreamPointer {
    /// Begins to connect, after a look-up of the host unless it is a numeric address. Returns false with errno if no look-up can begin.
    /// Called before the program has the handle.
    fileprivate func beginConnecting(
        _ connector: ConnectorPointer, _ host: UnsafePointer<CChar>?, _ service: UnsafePointer<CChar>?, _ workers: WorkersPointer?
    ) -> Bool {
        lock()
        defer { unlock() }
        pointee.connector = connector
        pointee.state.insert(.connecting)
        let (addresses, error) = HostLookUp.inFigures(host, service)
        if addresses == nil && error == EAI_NONAME, let workers {
            connector.pointee.isLookingUp = true
            connector.pointee.lookUp = HostLookUp.submit(self, host, service, to: workers)
            return connector.pointee.lookUp != nil
        }
        take(addresses, error, systemError)
        checkTime()
        return true
    }

    /// Takes over the result of the look-up. Called on a worker, or on the thread that releases the workers.
    func lookUpEnded(_ addresses: UnsafeMutablePointer<addrinfo>?, _ error: Int32, _ systemError: Int32) {
        lock()
        take(addresses, error, systemError)
        // The handle exists as long as the stream is in a loop.
        if pointee.connector != nil && pointee.state.contains(.inLoop) { serveLater() }
        unlock()
    }

    /// Stores the host's addresses, or the error of getaddrinfo (with errno for EAI_SYSTEM), for `tryAddresses`. The caller holds the lock.
    private func take(_ addresses: UnsafeMutablePointer<addrinfo>?, _ error: Int32, _ systemError: Int32) {
        guard let connector = pointee.connector else {
            if let addresses { freeaddrinfo(addresses) }
            return
        }
        connector.pointee.isLookingUp = false
        if let addresses {
            connector.pointee.take(addresses)
        } else {
            let isOfSystem = error == EAI_SYSTEM
            connector.pointee.failure = Stream.Failure(
                result: RLStreamResult(isOfSystem ? kRLStreamFailed : kRLStreamNotFound), error: isOfSystem ? systemError : error)
        }
    }

    // MARK: attempts

    /// Tries the next address if it is due, and fails the stream if none is left or the time is up. Returns the number of seconds until the
    /// next call is due. The caller holds the lock.
    func tryAddresses() -> Double {
        guard let connector = pointee.connector else { return .infinity }
        let now = linux_monotonic_time()
        if now >= connector.pointee.deadline {
            fail(Stream.Failure(result: RLStreamResult(kRLStreamFailed), error: ETIMEDOUT))
            return .infinity
        }
        if !connector.pointee.isLookingUp {
            while connector.pointee.attempts == nil || now >= connector.pointee.nextStart {
                guard let address = connector.pointee.nextAddress() else { break }
                let isBegun = begin(address, connector)
                // The stream has failed, because memory ran out, and the connector has been freed.
                if pointee.connector == nil { return .infinity }
                if isBegun { connector.pointee.nextStart = now + Connector.headStart }
            }
            if connector.pointee.attempts == nil {
                fail(connector.pointee.failure)
                return .infinity
            }
        }
        return connector.pointee.delay(now)
    }

    /// Begins to connect to an address. Returns false if that fails immediately. May fail the stream, which frees the connector. The caller
    /// holds the lock.
    private func begin(_ address: UnsafeMutablePointer<addrinfo>, _ connector: ConnectorPointer) -> Bool {
        let descriptor = linux_connect(address.pointee.ai_addr, address.pointee.ai_addrlen)
        if descriptor >= 0 {
            var context = watchContext()
            let watch = DescriptorWatch.make(descriptor, &context) { watch, _, info in StreamPointer(info: info).attemptIsReady(watch) }
            if let watch, connector.pointee.add(descriptor, watch) {
                RLFileDescriptorEnableCallBacks(watch.watch, UInt(kRLFileDescriptorWriteCallBack))
                return followEverywhere(watch.source)
            }
            preservingSystemError {
                if let watch { watch.end() }
                linux_close(descriptor)
            }
        }
        connector.pointee.failure = Stream.Failure(result: RLStreamResult(kRLStreamFailed), error: systemError)
        return false
    }

    /// Completes an attempt that was connected or has failed, as its watch reports. Loop thread only.
    private func attemptIsReady(_ watch: OpaquePointer?) {
        lock()
        defer { leave() }
        guard pointee.state.contains(.inLoop), let connector = pointee.connector, let attempt = connector.pointee.find(watch) else {
            return
        }
        let error = linux_take_socket_error(attempt.pointee.descriptor)
        if error == 0 && linux_is_connecting(attempt.pointee.descriptor) != 0 {
            return RLFileDescriptorEnableCallBacks(attempt.pointee.watch.watch, UInt(kRLFileDescriptorWriteCallBack))
        }
        let descriptor = connector.pointee.take(attempt)
        if error == 0 {
            connected(descriptor)
        } else {
            linux_close(descriptor)
            connector.pointee.failure = Stream.Failure(result: RLStreamResult(kRLStreamFailed), error: error)
            connector.pointee.nextStart = 0
        }
        checkTime()
    }

    /// Makes a connected descriptor that of the stream, and ends all other attempts. The caller holds the lock.
    private func connected(_ descriptor: Int32) {
        endConnector()
        pointee.descriptor = descriptor
        if !makeWatch() {
            pointee.descriptor = -1
            preservingSystemError { linux_close(descriptor) }
            return fail(Stream.Failure(result: RLStreamResult(kRLStreamFailed), error: systemError))
        }
        pointee.state.remove(.connecting)
        if let watchSource = pointee.watchSource, !followEverywhere(watchSource) { return }
        if !pointee.state.contains(.hasFilter) { pointee.state.insert(.tellsOpen) }
        flushQueue()
        arm()
        serveLater()
    }

    /// Updates the attempts' watches after the handle was added to a mode of a loop or removed from one. The caller holds the lock.
    func followWithAttempts(_ loop: OpaquePointer, _ mode: OpaquePointer) {
        var next = pointee.connector?.pointee.attempts
        while let attempt = next {
            next = attempt.pointee.next
            if !DescriptorWatch.follow(source, attempt.pointee.watch.source, loop, mode) { return failWithoutMemory() }
            RLFileDescriptorEnableCallBacks(attempt.pointee.watch.watch, UInt(kRLFileDescriptorWriteCallBack))
        }
    }

    /// Adds the source of a watch to all modes that the handle is in. If out of memory, fails the stream and returns false. The caller
    /// holds the lock.
    private func followEverywhere(_ added: OpaquePointer) -> Bool {
        let isDone = pointee.loops.allSatisfy { link in
            var isFollowed = true
            let loop = link.pointee.loop
            return ServingLoops.forEachMode(loop, of: source) { mode in
                isFollowed = DescriptorWatch.follow(source, added, loop, mode) && isFollowed
            } && isFollowed
        }
        if !isDone { failWithoutMemory() }
        return isDone
    }

    /// Fails the stream with ENOMEM. The caller holds the lock.
    func failWithoutMemory() { fail(Stream.Failure(result: RLStreamResult(kRLStreamFailed), error: ENOMEM)) }

    /// Ends the look-up and all remaining attempts, and frees the connector. The caller holds the lock.
    func endConnector() {
        guard let connector = pointee.connector else { return }
        pointee.connector = nil
        connector.pointee.end()
        CLinux.free(connector)
    }
}
