import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit

extension StreamPointer {
    // MARK: called by a loop

    /// The watch has found the descriptor ready. On the loop's thread; calls the client.
    func serveDescriptor(_ types: UInt) {
        lock()
        // The stream may have left its loops meanwhile, and its handle may be gone.
        if !pointee.state.contains(.inLoop) { return unlock() }
        serveLocked(types)
    }

    /// Does what there is to do, but for what the watch reports. On the loop's thread; calls the client.
    func serve() {
        lock()
        serveLocked(0)
    }

    /// Does what there is to do. `types`: what the watch has reported. Under the lock, which it releases.
    private func serveLocked(_ types: UInt) {
        if let service = StreamService.begin(self) {
            serve(service, types)
            StreamService.end()
        } else {
            var service = StreamService(self)
            serve(&service, types)
        }
        endService()
    }

    /// The body of `serveLocked`. Under the lock, which it releases meanwhile.
    private func serve(_ service: StreamServicePointer, _ types: UInt) {
        pointee.services += 1
        if types & UInt(kRLFileDescriptorWriteCallBack) != 0 { roomIsThere() }
        if !pointee.state.isDisjoint(with: [.flushLater, .full, .connecting]) {
            if pointee.state.contains(.connecting) { checkTime() }
            flushAppended()
            noteLength()
        }
        var foundBytes = false
        if types & UInt(kRLFileDescriptorReadCallBack) != 0 || pointee.state.contains(.tellsWriteFailure) {
            foundBytes = read(service)
        }
        deliver(service)
        if hasNews { tellWritten() }
        if pointee.state.contains(.tellsWriteFailure) {
            // What the peer has sent before comes first, unless it sends on and on.
            if foundBytes && pointee.failureDelay > 0 {
                pointee.failureDelay -= 1
                serveLater()
            } else {
                tellWriteFailure()
            }
        }
        if pointee.state.contains(.writingFailed) && pointee.closesWhenWritten && !pointee.state.contains(.tellsWriteFailure) && !isOver {
            pointee.state.insert(.closesNext)
        }
        arm()
    }

    /// Cleans up after a call that will never return, since the thread has ended in it. Without the lock.
    func abandon(_ service: StreamServicePointer) {
        lock()
        pointee.state.remove(.held)
        stopDelivering(service)
        arm()
        serveLater()
        endService()
    }

    /// Ends a call: closes the stream in the state `closesNext`, and gives up the handle if it has left its loops meanwhile. Under the
    /// lock, which it releases.
    private func endService() {
        if pointee.state.contains(.closesNext) {
            unlock()
            close()
            lock()
        }
        pointee.services -= 1
        if pointee.state.contains(.inLoop) { return unlock() }
        let handle = takeIdleHandle()
        unlock()
        if let handle { RLRelease(UnsafeRawPointer(handle)) }
    }

    // MARK: reading

    /// Whether the descriptor is to be read when it is ready. Under the lock.
    var wantsToRead: Bool { wantsToRead(unless: [.closed, .connecting, .readingOver, .delivering, .awaitsReader]) }

    /// Whether the descriptor is to be read when it is ready, after the call that delivers. Under the lock.
    var wantsToReadLater: Bool { wantsToRead(unless: [.closed, .connecting, .readingOver, .awaitsReader]) }

    @inline(__always)
    private func wantsToRead(unless states: Stream.State) -> Bool {
        if !pointee.state.isDisjoint(with: states) { return false }
        // A filter that holds writes back needs its peer's bytes: what it delivers waits for the program.
        return pointee.state.isDisjoint(with: [.paused, .held, .stuck]) || pointee.state.contains(.holdsWrites)
    }

    /// Reads once. True if bytes have come. Under the lock; may call the filter.
    private func read(_ service: StreamServicePointer) -> Bool {
        if !wantsToRead { return false }
        let hasFilter = pointee.state.contains(.hasFilter)
        let isIntoScratch = bufferedCount == 0 || hasFilter
        let room =
            isIntoScratch ? service.scratch : pointee.buffer.room(min(max(pointee.rule.missing(pointee.buffer.count), 4096), 1 << 20))
        guard let room, let start = room.baseAddress else {
            fail(Stream.Failure(result: RLStreamResult(kRLStreamFailed), error: ENOMEM))
            return false
        }
        let isSocket: Int32 = pointee.isSocket ? 1 : 0
        var count = linux_stream_read(pointee.descriptor, isSocket, start, room.count)
        while count < 0 && systemError == EINTR { count = linux_stream_read(pointee.descriptor, isSocket, start, room.count) }
        if count < 0 && systemError == EAGAIN { return false }
        if pointee.state.contains(.hasIdleLimit) { noteActivity() }
        if count < 0 {
            overRead(Stream.Failure(result: RLStreamResult(kRLStreamFailed), error: systemError))
        } else if hasFilter {
            receive(start, count)
        } else if count == 0 {
            overRead(Stream.Failure())
        } else if isIntoScratch {
            service.pointee.rest = UnsafePointer(start)
            service.pointee.restLength = count
        } else {
            pointee.buffer.extend(count)
        }
        return count > 0
    }

    /// Ends reading; `failure` says why, with success for the end of the input. No effect if reading has ended. Under the lock.
    func overRead(_ failure: Stream.Failure) {
        if pointee.state.insert(.readingOver).inserted { pointee.readFailure = failure }
    }

    // MARK: delivering

    /// Tells that the stream is open, calls the client with each piece that is complete, then tells of the end. One thread at a time, and
    /// not in a run that is nested in such a call. Under the lock, which it releases meanwhile.
    private func deliver(_ service: StreamServicePointer) {
        if pointee.state.contains(.delivering) { return }
        pointee.state.insert(.delivering)
        pointee.deliverer = linux_this_stream_thread()
        service.pointee.delivers = true
        repeat {
            if pointee.state.remove(.tellsOpen) != nil { tell(kRLStreamEventOpenCompleted) }
        } while pointee.state.isDisjoint(with: [.closed, .paused, .held, .stuck]) && deliverPiece(service)
        if pointee.state.contains(.readingOver) {
            keepRest(service)
            if isOver && pointee.state.contains(.tellsWriteFailure) { tellWriteFailure() }
            // The program may have paused the stream in that call.
            if isOver { tellOver() }
        }
        stopDelivering(service)
    }

    /// Whether it is time to tell the program that reading has ended or failed. Under the lock.
    private var isOver: Bool {
        if !pointee.state.contains(.readingOver) || pointee.state.contains(.toldOver) { return false }
        // What a filter has delivered comes before its failure.
        if hasFailedReading {
            return bufferedCount == 0 || !pointee.state.contains(.hasFilter) || pointee.state.isDisjoint(with: [.paused, .held])
        }
        return bufferedCount == 0 && pointee.state.isDisjoint(with: [.paused, .stuck])
    }

    private var hasFailedReading: Bool { pointee.readFailure.result != RLStreamResult(kRLStreamSuccess) }

    /// How many bytes are in the buffer.
    private var bufferedCount: Int { pointee.state.contains(.usesBuffer) ? pointee.buffer.count : 0 }

    /// Delivers the next piece to the program, the target or a new filter. False if nothing can be delivered. Under the lock, which it
    /// releases meanwhile.
    private func deliverPiece(_ service: StreamServicePointer) -> Bool {
        if service.pointee.restLength == 0 && bufferedCount > 0 { lendBuffer(to: service) }
        guard service.pointee.restLength > 0, let rest = service.pointee.rest else { return false }
        if pointee.state.contains(.hasFilter) && !service.pointee.isOfFilter {
            receiveRest(service)
            return true
        }
        let length = service.pointee.restLength
        if pointee.state.contains(.forwards) {
            service.pointee.restLength = 0
            if pass(rest, length) || pointee.state.contains(.closed) { return true }
            // What was not taken is the program's.
            service.pointee.restLength = length
        }
        if pointee.state.contains(.hasRule) { return deliverPieceByRule(service) }
        service.pointee.restLength = 0
        tell(kRLStreamEventHasBytesAvailable, Stream.Failure(), rest, length)
        return true
    }

    /// `deliverPiece` for a program that has set a rule; also tells it if a piece is too long.
    @inline(never)
    private func deliverPieceByRule(_ service: StreamServicePointer) -> Bool {
        guard let rest = service.pointee.rest else { return false }
        let isAtEnd = pointee.state.contains(.readingOver) && !hasFailedReading && pointee.buffer.count == 0
        switch pointee.rule.next(rest, service.pointee.restLength, isAtEnd: isAtEnd) {
        case .incomplete:
            if pointee.buffer.count == 0 { return false }
            // A filter has delivered more meanwhile.
            keepRest(service)
        case .tooLong:
            pointee.state.insert(.stuck)
            tell(kRLStreamEventErrorOccurred, Stream.Failure(result: RLStreamResult(kRLStreamTooLong), error: EMSGSIZE))
        case .complete(let length):
            service.pointee.rest = rest + length
            service.pointee.restLength -= length
            tell(kRLStreamEventHasBytesAvailable, Stream.Failure(), rest, length)
        }
        return true
    }

    /// Moves the buffer into the call that delivers, so that a piece stays in place while the client has it, whatever comes meanwhile.
    private func lendBuffer(to service: StreamServicePointer) {
        service.pointee.lent.free()
        service.pointee.lent = pointee.buffer
        service.pointee.isOfFilter = pointee.state.contains(.hasFilter)
        service.pointee.rest = service.pointee.lent.bytes
        service.pointee.restLength = service.pointee.lent.count
        pointee.buffer = ByteBuffer()
        pointee.state.remove(.usesBuffer)
    }

    /// Passes the undelivered rest to a filter that the program has set in the call: the program has not seen these bytes.
    private func receiveRest(_ service: StreamServicePointer) {
        guard service.pointee.restLength > 0, let rest = service.pointee.rest else { return }
        let length = service.pointee.restLength
        service.pointee.restLength = 0
        receive(rest, length)
    }

    /// Keeps what was not delivered in the stream's buffer, before what has come meanwhile; a new filter gets it instead.
    private func keepRest(_ service: StreamServicePointer) {
        if service.pointee.restLength > 0 && pointee.state.contains(.hasFilter) && !service.pointee.isOfFilter { receiveRest(service) }
        let length = service.pointee.restLength
        service.pointee.restLength = 0
        var lent = service.pointee.lent
        service.pointee.lent = ByteBuffer()
        if pointee.state.contains(.closed) { return lent.free() }
        if length > 0 || lent.count > 0 { pointee.state.insert(.usesBuffer) }
        if lent.count > 0 && pointee.buffer.count == 0 {
            lent.consume(lent.count - length)
            swap(&lent, &pointee.buffer)
        } else if length > 0, let rest = service.pointee.rest, !pointee.buffer.prepend(rest, length) {
            fail(Stream.Failure(result: RLStreamResult(kRLStreamFailed), error: ENOMEM))
        }
        lent.free()
    }

    /// Keeps the undelivered rest, and lets other calls deliver. Under the lock.
    private func stopDelivering(_ service: StreamServicePointer) {
        if service.pointee.restLength > 0 || service.pointee.lent.count > 0 { keepRest(service) }
        if !service.pointee.delivers { return }
        service.pointee.delivers = false
        pointee.state.remove(.delivering)
        if pointee.state.contains(.usesBuffer) {
            pointee.buffer.shrink()
            if pointee.buffer.count == 0 { pointee.state.remove(.usesBuffer) }
        }
        // After an error, or the end, the call or another thread may have asked for what is left.
        if pointee.state.remove(.readsOn) != nil && pointee.state.contains(.toldOver) { readOn() }
    }

    /// Tells the program that reading has ended or failed, and ends the forwarding. Under the lock, which it releases meanwhile.
    private func tellOver() {
        pointee.state.insert(.toldOver)
        if let target = pointee.target {
            unlock()
            endForwarding(to: target, shutsDown: !hasFailedReading)
            lock()
        }
        if hasFailedReading {
            tell(kRLStreamEventErrorOccurred, pointee.readFailure)
        } else {
            tell(kRLStreamEventEndEncountered)
        }
        closeWithPartner()
    }

    /// Calls the client, unless the stream was closed. Under the lock, which it releases meanwhile.
    func tell(_ type: Int, _ failure: Stream.Failure = Stream.Failure(), _ bytes: UnsafePointer<UInt8>? = nil, _ length: Int = 0) {
        guard let callout = pointee.callout, !pointee.state.contains(.closed) else { return }
        var event = RLStreamEvent(
            type: RLStreamEventType(type), result: failure.result, error: failure.error, bytes: bytes, length: length)
        let info = pointee.object.client.info
        unlock()
        RUNLOOP_IS_CALLING_OUT_TO_A_STREAM_CALLBACK_FUNCTION(callout, source, &event, info)
        lock()
    }

    // MARK: what the program asks for

    /// Delivers no more until `resume`. Any thread.
    func pause() {
        lock()
        pointee.state.insert(.paused)
        if let watch = pointee.watch, !wantsToRead {
            RLFileDescriptorDisableCallBacks(watch, UInt(kRLFileDescriptorReadCallBack))
        }
        unlock()
    }

    /// Ends `pause`. Any thread.
    func resume() {
        lock()
        if pointee.state.remove(.paused) != nil { readOn() }
        unlock()
    }

    /// Calls `change` to change the rule for the next pieces. Returns its result; false: the rule is as it was. Any thread.
    func setRule(_ change: (inout ReadRule) -> Bool) -> Bool {
        lock()
        defer { unlock() }
        if !change(&pointee.rule) { return false }
        if pointee.rule.isWhatever { pointee.state.remove(.hasRule) } else { pointee.state.insert(.hasRule) }
        pointee.state.remove(.stuck)
        readOn()
        return true
    }

    /// Continues to read and deliver if nothing prevents that any more. Under the lock.
    func readOn() {
        if pointee.state.contains(.delivering) {
            pointee.state.insert(.readsOn)
            return
        }
        if bufferedCount > 0 || isOver { serveLater() } else if pointee.state.contains(.inLoop) { arm() }
    }
}
