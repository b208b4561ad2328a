import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit

// The outcome of writing, as reported to the program: bytes were written, there is room again, or writing has failed.
extension StreamPointer {
    /// Whether `tellWritten` has something to report. The caller holds the lock.
    var hasNews: Bool {
        if pointee.state.isDisjoint(with: [.tellsRoom, .hasCompletions]) { return false }
        return pointee.state.contains(.tellsRoom) || hasDueCompletion
    }

    private var hasDueCompletion: Bool {
        if !pointee.state.contains(.hasCompletions) || pointee.completions.isEmpty { return false }
        return pointee.state.contains(.writingFailed) || pointee.completions.isDue(pointee.queue.consumed)
    }

    /// Checks whether the queue has shrunk so far that the program is to be notified. The caller holds the lock.
    func noteLength() {
        if !pointee.state.contains(.full) || queued > pointee.highWaterMark / 2 { return }
        pointee.state.remove(.full)
        pointee.state.insert(.tellsRoom)
    }

    /// Calls the completions that are due now, then reports room in the queue. The caller holds the lock, which is released during
    /// callbacks.
    func tellWritten() {
        var left = pointee.completions.count
        // If the stream was closed, the function that closed it calls the completions.
        while hasDueCompletion && !pointee.state.contains(.closed) {
            // A completion may flush again: it is called in the next pass, after the loop has served others.
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

    /// Calls the completions that a closed stream still has, and passes them `handle`. Call without the lock held.
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

    /// Reports that writing has failed. The caller holds the lock, which is released during the callback.
    func tellWriteFailure() {
        pointee.state.remove(.tellsWriteFailure)
        tell(kRLStreamEventErrorOccurred, pointee.writeFailure)
        closeWithPartner()
    }

    // MARK: failure

    /// Fails writing, and has a loop report it to the program. Preserves errno. The caller holds the lock.
    func failWriting(_ error: Int32) {
        if !pointee.state.contains(.writingFailed) { pointee.state.insert(.tellsWriteFailure) }
        refuseWriting(Stream.Failure(result: RLStreamResult(kRLStreamFailed), error: error))
        dropQueue()
        preservingSystemError { serveLater() }
    }

    /// Fails both directions. If reading had already ended, the failure is reported as that of writing. The caller holds the lock.
    func failBoth(_ failure: Stream.Failure) {
        if pointee.state.contains(.readingOver) && !pointee.state.contains(.writingFailed) { pointee.state.insert(.tellsWriteFailure) }
        overRead(failure)
        pointee.isUnread = false
        refuseWriting(failure)
    }

    /// Refuses writes from now on, and passes `failure` to completions. The caller holds the lock.
    func refuseWriting(_ failure: Stream.Failure) {
        if pointee.state.insert(.writingFailed).inserted { pointee.writeFailure = failure }
    }

    /// Drops what was to be written, and lets the feeder continue. The caller holds the lock.
    private func dropQueue() {
        pointee.queue.free()
        pointee.waiting.free()
        pointee.state.remove(.usesQueue)
        if pointee.state.contains(.awaitsReader) { noteReader() }
        pointee.state.subtract([.awaitingRoom, .flushLater, .full])
        if pointee.holdsFeeder { pointee.state.insert(.tellsRoom) }
    }

    /// Fails both directions, and has a loop report it to the program. No effect on a closed stream. The caller holds the lock.
    func fail(_ failure: Stream.Failure) {
        if pointee.state.contains(.closed) { return }
        pointee.state.remove(.connecting)
        endConnector()
        failBoth(Stream.Failure(result: failure.result, error: failure.error, isOfStream: true))
        dropQueue()
        serveLater()
    }
}
