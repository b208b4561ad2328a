import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit

extension StreamPointer {
    // MARK: called by a loop

    /// Serves the stream, as the watch has found its descriptor ready. Loop thread only; calls user code.
    func serveDescriptor(_ types: UInt) {
        lock()
        // The stream may have left its loops in the meantime, and its handle may have been freed.
        if !pointee.state.contains(.inLoop) { return unlock() }
        serveLocked(types, isOfHandle: false)
    }

    /// Serves the stream for reasons other than its descriptor, when the handle was signalled. Loop thread only; calls user code.
    func serve() {
        lock()
        serveLocked(0, isOfHandle: true)
    }

    /// Does everything that is to be done for the stream. `types` is what the watch has reported; with `isOfHandle`, the loop calls the
    /// handle, and has a reference to it. The caller holds the lock; this function releases it.
    private func serveLocked(_ types: UInt, isOfHandle: Bool) {
        if let service = StreamService.begin(self) {
            serve(service, types)
            StreamService.end()
        } else {
            var service = StreamService(self)
            serve(&service, types)
        }
        endService(references: isOfHandle ? 1 : 0)
    }

    /// The body of `serveLocked`. The caller holds the lock, which is released during callbacks.
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
            // What the peer sent earlier comes first, unless the peer keeps sending.
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

    /// Cleans up after a call that will never return, because the thread has ended in it. Call without the lock held.
    func abandon(_ service: StreamServicePointer) {
        lock()
        pointee.state.remove(.held)
        stopDelivering(service)
        arm()
        serveLater()
        endService(references: 0)
    }

    /// Ends a call by a loop: closes a stream in the state `closesNext`, and gives up the handle if it has left its loops in the meantime.
    /// `references` is the number of those that the loop has to the handle. The caller holds the lock; this function releases it.
    private func endService(references: Int) {
        if pointee.state.contains(.closesNext) {
            unlock()
            close()
            lock()
        }
        pointee.services -= 1
        if pointee.state.contains(.inLoop) { return unlock() }
        let handle = takeIdleHandle()
        unlock()
        if let handle { giveUp(handle, besides: references) }
    }

    // MARK: reading

    /// Whether the descriptor is to be read when it is ready. The caller holds the lock.
    var wantsToRead: Bool { wantsToRead(unless: [.closed, .connecting, .readingOver, .delivering, .awaitsReader]) }

    /// Whether the descriptor is to be read when it is ready, once no call is delivering. The caller holds the lock.
    var wantsToReadLater: Bool { wantsToRead(unless: [.closed, .connecting, .readingOver, .awaitsReader]) }

    @inline(__always)
    private func wantsToRead(unless states: Stream.State) -> Bool {
        if !pointee.state.isDisjoint(with: states) { return false }
        // A filter that holds back writes needs its peer's bytes. What it delivers waits until the program reads again.
        return pointee.state.isDisjoint(with: [.paused, .held, .stuck]) || pointee.state.contains(.holdsWrites)
    }

    /// Reads once. Returns whether bytes were read. The caller holds the lock; may call the filter.
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

    /// Ends reading because of `failure`, which is success at the end of the input. No effect if reading has ended. The caller holds the
    /// lock.
    func overRead(_ failure: Stream.Failure) {
        if pointee.state.insert(.readingOver).inserted { pointee.readFailure = failure }
    }

    // MARK: delivering

    /// Reports that the stream is open, calls the client with each complete chunk, then reports the end. Only one thread at a time does so,
    /// and no run that is nested in such a callback. The caller holds the lock, which is released during callbacks.
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
            // The program may have paused the stream in that callback.
            if isOver { tellOver() }
        }
        stopDelivering(service)
    }

    /// Whether it is time to report to the program that reading has ended or failed. The caller holds the lock.
    private var isOver: Bool {
        if !pointee.state.contains(.readingOver) || pointee.state.contains(.toldOver) { return false }
        // What a filter has delivered is passed on before its failure is reported.
        if hasFailedReading {
            let isReportedNow = pointee.readFailure.isOfStream || !pointee.state.contains(.hasFilter)
            return isReportedNow || bufferedCount == 0 || pointee.state.isDisjoint(with: [.paused, .held])
        }
        return bufferedCount == 0 && pointee.state.isDisjoint(with: [.paused, .stuck])
    }

    private var hasFailedReading: Bool { pointee.readFailure.result != RLStreamResult(kRLStreamSuccess) }

    /// The number of bytes in the buffer. The caller holds the lock.
    private var bufferedCount: Int { pointee.state.contains(.usesBuffer) ? pointee.buffer.count : 0 }

    /// Delivers the next chunk to the program, the target or a new filter. Returns false if nothing can be delivered. The caller holds the
    /// lock, which is released during callbacks.
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
            // What the target did not take goes to the program.
            service.pointee.restLength = length
        }
        if pointee.state.contains(.hasRule) { return deliverPieceByRule(service) }
        service.pointee.restLength = 0
        tell(kRLStreamEventHasBytesAvailable, Stream.Failure(), rest, length)
        return true
    }

    /// As `deliverPiece`, for a program that has set a rule. Also reports a chunk that is too long.
    @inline(never)
    private func deliverPieceByRule(_ service: StreamServicePointer) -> Bool {
        guard let rest = service.pointee.rest else { return false }
        let isAtEnd = pointee.state.contains(.readingOver) && !hasFailedReading && pointee.buffer.count == 0
        switch pointee.rule.next(rest, service.pointee.restLength, isAtEnd: isAtEnd) {
        case .incomplete:
            if pointee.buffer.count == 0 { return false }
            // A filter has delivered more in the meantime.
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

    /// Moves the buffer into the call that delivers, so that a chunk stays in place during the callback, even if more bytes arrive. The
    /// caller holds the lock.
    private func lendBuffer(to service: StreamServicePointer) {
        service.pointee.lent.free()
        service.pointee.lent = pointee.buffer
        service.pointee.isOfFilter = pointee.state.contains(.hasFilter)
        service.pointee.rest = service.pointee.lent.bytes
        service.pointee.restLength = service.pointee.lent.count
        pointee.buffer = ByteBuffer()
        pointee.state.remove(.usesBuffer)
    }

    /// Passes the undelivered rest to a filter that the program has set in the callback. The program has not seen these bytes. The caller
    /// holds the lock.
    private func receiveRest(_ service: StreamServicePointer) {
        guard service.pointee.restLength > 0, let rest = service.pointee.rest else { return }
        let length = service.pointee.restLength
        service.pointee.restLength = 0
        receive(rest, length)
    }

    /// Puts undelivered bytes back into the stream's buffer, in front of those that arrived in the meantime, or passes them to a new
    /// filter. The caller holds the lock.
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

    /// Keeps the undelivered rest and allows other calls to deliver. The caller holds the lock.
    private func stopDelivering(_ service: StreamServicePointer) {
        if service.pointee.restLength > 0 || service.pointee.lent.count > 0 { keepRest(service) }
        if !service.pointee.delivers { return }
        service.pointee.delivers = false
        pointee.state.remove(.delivering)
        if pointee.state.contains(.usesBuffer) {
            pointee.buffer.shrink()
            if pointee.buffer.count == 0 { pointee.state.remove(.usesBuffer) }
        }
        // After an error or the end, the callback or another thread may have requested what is left.
        if pointee.state.remove(.readsOn) != nil && pointee.state.contains(.toldOver) { readOn() }
    }

    /// Reports to the program that reading has ended or failed, and ends forwarding. The caller holds the lock, which is released
    /// meanwhile.
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

    /// Calls the client, unless the stream is closed. The caller holds the lock, which is released during the callback.
    func tell(_ type: Int, _ failure: Stream.Failure = Stream.Failure(), _ bytes: UnsafePointer<UInt8>? = nil, _ length: Int = 0) {
        guard let callout = pointee.callout, !pointee.state.contains(.closed) else { return }
        var event = RLStreamEvent(
            type: RLStreamEventType(type), result: failure.result, error: failure.error, bytes: bytes, length: length)
        let info = pointee.object.client.info
        unlock()
        RUNLOOP_IS_CALLING_OUT_TO_A_STREAM_CALLBACK_FUNCTION(callout, source, &event, info)
        lock()
    }

    // MARK: called by the program

    /// Stops reading and delivering until `resume`. Any thread.
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

    /// Calls `change` to change the rule for the next chunks, and returns its result; false means that the rule is unchanged. Any thread.
    func setRule(_ change: (inout ReadRule) -> Bool) -> Bool {
        lock()
        defer { unlock() }
        if !change(&pointee.rule) { return false }
        if pointee.rule.isWhatever { pointee.state.remove(.hasRule) } else { pointee.state.insert(.hasRule) }
        pointee.state.remove(.stuck)
        readOn()
        return true
    }

    /// Continues to read and deliver if nothing prevents it any longer. The caller holds the lock.
    func readOn() {
        if pointee.state.contains(.delivering) {
            pointee.state.insert(.readsOn)
            return
        }
        if bufferedCount > 0 || isOver { serveLater() } else if pointee.state.contains(.inLoop) { arm() }
    }
}
