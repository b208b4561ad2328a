import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit

/// What a loop does with a stream in one call: kept apart from the stream, as the thread may end in it.
struct StreamService: BitwiseCopyable {
    let stream: StreamPointer
    /// What the watch has reported.
    let types: UInt
    /// What was read and not delivered yet; nil: it is in the stream's buffer.
    var scratch: UnsafeMutablePointer<UInt8>?
    var rest: UnsafePointer<UInt8>?
    var restLength = 0
    /// This call is the one that delivers.
    var delivers = false
}

typealias StreamServicePointer = UnsafeMutablePointer<StreamService>

extension StreamPointer {
    // MARK: called by a loop

    /// The watch has found the descriptor ready. On the loop's thread; calls the client.
    func serveDescriptor(_ types: UInt) {
        lock()
        // The stream may have left its loops meanwhile, and its handle may be gone.
        if pointee.state.contains(.closed) || pointee.loops.isEmpty { return unlock() }
        RLRetain(UnsafeRawPointer(source))
        serveLocked(types)
        RLRelease(UnsafeRawPointer(source))
    }

    /// Does what there is to do, but for what the watch reports. On the loop's thread; calls the client.
    func serve() {
        lock()
        serveLocked(0)
    }

    /// Does what there is to do. `types`: what the watch has reported. Under the lock, which it releases.
    private func serveLocked(_ types: UInt) {
        var service = StreamService(stream: self, types: types)
        linux_call_until_end(
            { argument in
                let service = argument.unsafelyUnwrapped.assumingMemoryBound(to: StreamService.self)
                service.pointee.stream.serve(service)
            },
            { argument in
                let service = argument.unsafelyUnwrapped.assumingMemoryBound(to: StreamService.self)
                service.pointee.stream.threadEnds(service)
            }, &service)
    }

    private func serve(_ service: StreamServicePointer) {
        if service.pointee.types & UInt(kRLFileDescriptorWriteCallBack) != 0 { roomIsThere() }
        flushAppended()
        noteLength()
        var foundBytes = false
        if service.pointee.types & UInt(kRLFileDescriptorReadCallBack) != 0 || pointee.state.contains(.tellsWriteFailure) {
            foundBytes = read(service)
        }
        deliver(service)
        tellWritten()
        if pointee.state.contains(.tellsWriteFailure) {
            // What the peer has sent before comes first.
            if foundBytes { serveLater() } else { tellWriteFailure() }
        }
        arm()
        leave()
    }

    /// The thread ends in a function of the client's.
    private func threadEnds(_ service: StreamServicePointer) {
        lock()
        stopDelivering(service)
        arm()
        serveLater()
        let isOfWatch = service.pointee.types != 0
        leave()
        if isOfWatch { RLRelease(UnsafeRawPointer(source)) }
    }

    // MARK: reading

    /// Whether the descriptor is to be read when it is ready. Under the lock.
    var wantsToRead: Bool {
        pointee.state.isDisjoint(with: [.closed, .connecting, .paused, .stuck, .readingOver, .delivering])
    }

    /// Reads once. True if bytes have come. Under the lock; may call the filter.
    private func read(_ service: StreamServicePointer) -> Bool {
        if !wantsToRead { return false }
        let hasFilter = pointee.filter.version == 0
        var room: UnsafeMutableBufferPointer<UInt8>?
        if pointee.buffer.count == 0 || hasFilter {
            service.pointee.scratch = ReadScratch.take()
            room = service.pointee.scratch.map { UnsafeMutableBufferPointer(start: $0, count: ReadScratch.capacity) }
        } else {
            room = pointee.buffer.room(min(max(pointee.rule.missing(pointee.buffer.count), 4096), 1 << 20))
        }
        guard let room, let start = room.baseAddress else {
            fail(Stream.Failure(result: RLStreamResult(kRLStreamFailed), error: ENOMEM))
            return false
        }
        let isSocket: Int32 = pointee.isSocket ? 1 : 0
        var count = linux_stream_read(pointee.descriptor, isSocket, start, room.count)
        while count < 0 && systemError == EINTR { count = linux_stream_read(pointee.descriptor, isSocket, start, room.count) }
        if count < 0 && systemError == EAGAIN { return false }
        if count < 0 {
            overRead(Stream.Failure(result: RLStreamResult(kRLStreamFailed), error: systemError))
        } else if hasFilter {
            receive(start, count)
        } else if count == 0 {
            overRead(Stream.Failure())
        } else if service.pointee.scratch != nil {
            service.pointee.rest = UnsafePointer(start)
            service.pointee.restLength = count
        } else {
            pointee.buffer.extend(count)
        }
        return count > 0
    }

    /// The descriptor is read no more. Under the lock.
    func overRead(_ failure: Stream.Failure) {
        if pointee.state.insert(.readingOver).inserted { pointee.readFailure = failure }
    }

    // MARK: delivering

    /// Tells that the stream is open, calls the client with each piece that is complete, then tells of the end. One thread at a time, and
    /// not in a run that is nested in such a call. Under the lock, which it releases meanwhile.
    private func deliver(_ service: StreamServicePointer) {
        if pointee.state.contains(.delivering) { return releaseScratch(service) }
        pointee.state.insert(.delivering)
        pointee.deliverer = linux_this_thread()
        service.pointee.delivers = true
        repeat {
            if pointee.state.remove(.tellsOpen) != nil { tell(kRLStreamEventOpenCompleted) }
        } while pointee.state.isDisjoint(with: [.closed, .paused, .stuck]) && deliverPiece(service)
        keepRest(service)
        if isOver { tellOver() }
        stopDelivering(service)
    }

    /// Whether the end is to be told now, or why there is none. Under the lock.
    private var isOver: Bool {
        if !pointee.state.contains(.readingOver) || pointee.state.contains(.toldOver) { return false }
        // What a filter has delivered comes before its failure.
        if hasFailedReading { return pointee.filter.version != 0 || !pointee.state.contains(.paused) }
        return pointee.buffer.count == 0 && pointee.state.isDisjoint(with: [.paused, .stuck])
    }

    private var hasFailedReading: Bool { pointee.readFailure.result != RLStreamResult(kRLStreamSuccess) }

    /// False if there is no piece.
    private func deliverPiece(_ service: StreamServicePointer) -> Bool {
        let isInScratch = service.pointee.restLength > 0
        let count = isInScratch ? service.pointee.restLength : pointee.buffer.count
        guard count > 0, let bytes = isInScratch ? service.pointee.rest : pointee.buffer.bytes else { return false }
        let isAtEnd = pointee.state.contains(.readingOver) && !hasFailedReading
        switch pointee.rule.next(bytes, count, isAtEnd: isAtEnd) {
        case .incomplete: return false
        case .tooLong:
            pointee.state.insert(.stuck)
            tell(kRLStreamEventErrorOccurred, Stream.Failure(result: RLStreamResult(kRLStreamTooLong), error: EMSGSIZE))
            return true
        case .complete(let length):
            if isInScratch {
                service.pointee.rest = bytes + length
                service.pointee.restLength -= length
            } else {
                pointee.buffer.consume(length)
            }
            let hadFilter = pointee.filter.version == 0
            tell(kRLStreamEventHasBytesAvailable, Stream.Failure(), bytes, length)
            // What comes behind is the filter's: the program has not seen it.
            if !hadFilter && pointee.filter.version == 0 { receiveRest(service) }
            return true
        }
    }

    private func receiveRest(_ service: StreamServicePointer) {
        guard service.pointee.restLength > 0, let rest = service.pointee.rest else { return }
        let length = service.pointee.restLength
        service.pointee.restLength = 0
        receive(rest, length)
    }

    /// Keeps what was not delivered in the stream's buffer.
    private func keepRest(_ service: StreamServicePointer) {
        if service.pointee.restLength > 0, let rest = service.pointee.rest, !pointee.state.contains(.closed),
            !pointee.buffer.append(rest, service.pointee.restLength)
        {
            fail(Stream.Failure(result: RLStreamResult(kRLStreamFailed), error: ENOMEM))
        }
        service.pointee.restLength = 0
        releaseScratch(service)
    }

    private func releaseScratch(_ service: StreamServicePointer) {
        if let scratch = service.pointee.scratch { ReadScratch.release(scratch) }
        service.pointee.scratch = nil
    }

    private func stopDelivering(_ service: StreamServicePointer) {
        keepRest(service)
        if !service.pointee.delivers { return }
        service.pointee.delivers = false
        pointee.state.remove(.delivering)
        pointee.buffer.shrink()
    }

    /// The end, or why there is none. An error of writing comes first.
    private func tellOver() {
        if pointee.state.contains(.tellsWriteFailure) { tellWriteFailure() }
        pointee.state.insert(.toldOver)
        if !hasFailedReading { return tell(kRLStreamEventEndEncountered) }
        tell(kRLStreamEventErrorOccurred, pointee.readFailure)
    }

    /// Calls the client, unless the stream was closed. Under the lock, which it releases meanwhile.
    func tell(_ type: Int, _ failure: Stream.Failure = Stream.Failure(), _ bytes: UnsafePointer<UInt8>? = nil, _ length: Int = 0) {
        guard let callout = pointee.callout, !pointee.state.contains(.closed) else { return }
        var event = RLStreamEvent(
            type: RLStreamEventType(type), result: failure.result, error: failure.error, bytes: bytes, length: length)
        unlock()
        RUNLOOP_IS_CALLING_OUT_TO_A_STREAM_CALLBACK_FUNCTION(callout, source, &event, pointee.object.client.info)
        lock()
    }

    // MARK: what the program asks for

    /// Any thread.
    func pause() {
        lock()
        pointee.state.insert(.paused)
        if let watch = pointee.watch { RLFileDescriptorDisableCallBacks(watch, UInt(kRLFileDescriptorReadCallBack)) }
        unlock()
    }

    /// Any thread.
    func resume() {
        lock()
        if pointee.state.remove(.paused) != nil { readOn() }
        unlock()
    }

    /// Changes the rule for the next pieces, if `change` returns true. Any thread.
    func setRule(_ change: (inout ReadRule) -> Bool) -> Bool {
        lock()
        defer { unlock() }
        if !change(&pointee.rule) { return false }
        pointee.state.remove(.stuck)
        readOn()
        return true
    }

    /// What keeps it from reading may be gone. Under the lock.
    private func readOn() {
        if pointee.state.contains(.delivering) { return }
        if pointee.buffer.count > 0 || isOver { serveLater() } else if !pointee.loops.isEmpty { arm() }
    }
}
