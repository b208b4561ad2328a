import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit

// What becomes of the bytes that were to be written: the program is told that they were, that there is room again, or that they failed.
extension StreamPointer {
    /// Whether `tellWritten` has something to tell. Under the lock.
    var hasNews: Bool {
        if pointee.state.isDisjoint(with: [.tellsRoom, .hasCompletions]) { return false }
        return pointee.state.contains(.tellsRoom) || hasDueCompletion
    }

    private var hasDueCompletion: Bool {
        if !pointee.state.contains(.hasCompletions) || pointee.completions.isEmpty { return false }
        return pointee.state.contains(.writingFailed) || pointee.completions.isDue(pointee.queue.consumed)
    }

    /// The queue may have shrunk so far that the program is to be told. Under the lock.
    func noteLength() {
        if !pointee.state.contains(.full) || queued > pointee.highWaterMark / 2 { return }
        pointee.state.remove(.full)
        pointee.state.insert(.tellsRoom)
    }

    /// Calls the functions that are due now, then tells of room. Under the lock, which it releases meanwhile.
    func tellWritten() {
        var left = pointee.completions.count
        // If the stream was closed, the function that closes it calls the completions.
        while hasDueCompletion && !pointee.state.contains(.closed) {
            // A function may flush again: the loop serves others in between.
            if left == 0 {
                serveLater()
                break
            }
            left -= 1
            let isDue = pointee.completions.isDue(pointee.queue.consumed)
            guard let completion = pointee.completions.take() else { break }
            if pointee.completions.isEmpty { pointee.state.remove(.hasCompletions) }
            let failure = isDue ? Stream.Failure() : pointee.writeFailure
            unlock()
            RUNLOOP_IS_CALLING_OUT_TO_A_STREAM_FLUSH_CALLBACK_FUNCTION(
                completion.callout, source, failure.result, failure.error, completion.info)
            lock()
        }
        if pointee.state.remove(.tellsRoom) == nil { return }
        if pointee.feeder != nil { return resumeFeeder() }
        if !pointee.state.contains(.writingFailed) { tell(kRLStreamEventCanAcceptBytes) }
    }

    /// Calls the completions that a closed stream still has; `handle` is passed to them. Without the lock.
    func tellCancelled(_ handle: OpaquePointer?) {
        while true {
            lock()
            let isDue = pointee.completions.isDue(pointee.queue.consumed)
            let completion = pointee.completions.take()
            unlock()
            guard let completion else { return }
            let result = RLStreamResult(isDue ? kRLStreamSuccess : kRLStreamCancelled)
            RUNLOOP_IS_CALLING_OUT_TO_A_STREAM_FLUSH_CALLBACK_FUNCTION(
                completion.callout, handle, result, isDue ? 0 : ECANCELED, completion.info)
        }
    }

    /// Tells that writing has failed. Under the lock, which it releases meanwhile.
    func tellWriteFailure() {
        pointee.state.remove(.tellsWriteFailure)
        tell(kRLStreamEventErrorOccurred, pointee.writeFailure)
        closeWithPartner()
    }

    // MARK: failure

    /// Nothing can be written any more: the program is told by a loop. Leaves errno as it was. Under the lock.
    func failWriting(_ error: Int32) {
        if !pointee.state.contains(.writingFailed) { pointee.state.insert(.tellsWriteFailure) }
        refuseWriting(Stream.Failure(result: RLStreamResult(kRLStreamFailed), error: error))
        dropQueue()
        preservingSystemError { serveLater() }
    }

    /// Neither direction goes on. If reading has ended before, the failure is told as that of writing. Under the lock.
    func failBoth(_ failure: Stream.Failure) {
        if pointee.state.contains(.readingOver) && !pointee.state.contains(.writingFailed) { pointee.state.insert(.tellsWriteFailure) }
        overRead(failure)
        pointee.isUnread = false
        refuseWriting(failure)
    }

    /// Takes no more bytes from now on; `failure` is what completions are told. Under the lock.
    func refuseWriting(_ failure: Stream.Failure) {
        if pointee.state.insert(.writingFailed).inserted { pointee.writeFailure = failure }
    }

    /// Drops what was to be written, and lets the feeder go on. Under the lock.
    private func dropQueue() {
        pointee.queue.free()
        pointee.waiting.free()
        pointee.state.remove(.usesQueue)
        if pointee.state.contains(.awaitsReader) { noteReader() }
        pointee.state.subtract([.awaitingRoom, .flushLater, .full])
        if pointee.holdsFeeder { pointee.state.insert(.tellsRoom) }
    }

    /// Both directions have failed: the program is told by a loop. Under the lock.
    func fail(_ failure: Stream.Failure) {
        if pointee.state.contains(.closed) { return }
        pointee.state.remove(.connecting)
        endConnector()
        failBoth(failure)
        dropQueue()
        serveLater()
    }
}
