import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit

// What stands between the stream and its descriptor. Its functions are called under the stream's lock, which is recursive.

extension StreamPointer {
    /// Puts a filter in front of the descriptor. False with errno if it is not taken. Any thread; calls the filter.
    func setFilter(_ filter: RLStreamFilter) -> Bool {
        lock()
        defer { leave() }
        if pointee.state.contains(.closed) || pointee.state.contains(.hasFilter) {
            systemError = pointee.state.contains(.closed) ? EBADF : EALREADY
            return false
        }
        pointee.filter = filter
        pointee.state.insert(.hasFilter)
        // The stream is open when the filter is.
        pointee.state.remove(.tellsOpen)
        // What was read and not delivered is the filter's.
        var unread = pointee.buffer
        pointee.buffer = ByteBuffer()
        pointee.state.remove(.usesBuffer)
        pointee.rule.restart()
        if let start = filter.start { start(source, filter.info) }
        if unread.count > 0, let bytes = unread.bytes {
            receive(bytes, unread.count)
            serveLater()
        }
        unread.free()
        return true
    }

    /// Any thread.
    func filterInfo(_ receive: UnsafeRawPointer) -> UnsafeMutableRawPointer? {
        lock()
        defer { leave() }
        guard pointee.state.contains(.hasFilter), let own = pointee.filter.receive else { return nil }
        return unsafeBitCast(own, to: UnsafeRawPointer.self) == receive ? pointee.filter.info : nil
    }

    // MARK: calling the filter

    /// Passes on what was read; a length of 0 is the end. Under the lock.
    func receive(_ bytes: UnsafePointer<UInt8>, _ length: Int) {
        guard let receive = pointee.filter.receive else { return }
        pointee.state.insert(.receiving)
        RUNLOOP_IS_CALLING_OUT_TO_A_STREAM_FILTER_FUNCTION(receive, source, length > 0 ? bytes : nil, length, pointee.filter.info)
        pointee.state.remove(.receiving)
        if length == 0 { overRead(Stream.Failure()) }
    }

    /// Passes on what the program writes, or keeps it until the filter is open. False with errno if they are not taken. Under the lock.
    func filter(_ bytes: UnsafePointer<UInt8>, _ length: Int, _ data: OpaquePointer?, later: Bool) -> Bool {
        let isOpen = pointee.state.contains(.filterOpen)
        if isOpen && !later {
            let flushes = pointee.state.remove(.flushLater) != nil
            passWaiting()
            passOn(bytes, length)
            if flushes { flushQueue() }
            if !pointee.state.contains(.writingFailed) { return true }
            systemError = pointee.writeFailure.number
            return false
        }
        let isQueued = if let data { pointee.waiting.append(data, from: 0) } else { pointee.waiting.append(bytes, length) }
        if isQueued && isOpen { flushNextPass() }
        return isQueued
    }

    private func passOn(_ bytes: UnsafePointer<UInt8>, _ length: Int) {
        guard let write = pointee.filter.write else { return }
        // What the program has written is no answer, even if the filter opens while it receives.
        let isReceiving = pointee.state.remove(.receiving) != nil
        RUNLOOP_IS_CALLING_OUT_TO_A_STREAM_FILTER_FUNCTION(write, source, bytes, length, pointee.filter.info)
        if isReceiving { pointee.state.insert(.receiving) }
    }

    /// Passes on what has waited in front of the filter. Under the lock.
    func passWaiting() {
        // The filter's functions do not reach it.
        var waiting = pointee.waiting
        pointee.waiting = WriteQueue()
        waiting.drain { bytes, length in passOn(bytes, length) }
        waiting.free()
        pointee.completions.settle(pointee.queue.position)
    }

    /// The program has ended writing: the filter may say so to its peer. Under the lock.
    func callFilterShutdown() {
        if let shutdown = pointee.filter.shutdown { shutdown(source, pointee.filter.info) }
    }

    // MARK: called by the filter

    /// Hands bytes to the program. Under the lock, as all of these.
    func deliverFiltered(_ bytes: UnsafePointer<UInt8>, _ length: Int) {
        lock()
        if pointee.state.isDisjoint(with: [.closed, .toldOver]) {
            pointee.state.insert(.usesBuffer)
            if pointee.buffer.append(bytes, length) {
                tellOfFilter()
            } else {
                fail(Stream.Failure(result: RLStreamResult(kRLStreamFailed), error: ENOMEM))
            }
        }
        leave()
    }

    /// Hands bytes to the descriptor. False with errno if that has failed.
    func sendFiltered(_ bytes: UnsafePointer<UInt8>, _ length: Int) -> Bool {
        lock()
        defer { leave() }
        if pointee.state.contains(.closed) || (pointee.state.contains(.writingFailed) && pointee.state.isDisjoint(with: .receiving)) {
            systemError = pointee.state.contains(.closed) ? EBADF : pointee.writeFailure.number
            return false
        }
        let position = pointee.queue.position
        if length > 0 && !send(bytes, length, later: false) { return false }
        if pointee.state.contains(.receiving) { noteAnswer(Int(pointee.queue.position - position)) }
        return true
    }

    /// How many answers may wait while the peer is read: one that asks and does not read would make the queue grow without bound.
    private static var mostAnswers: Int { 65_536 }

    /// The filter has answered, and so many bytes of that are queued. Under the lock.
    private func noteAnswer(_ length: Int) {
        pointee.queue.noteAnswer(length)
        if pointee.queue.answers > Self.mostAnswers { pointee.state.insert(.awaitsReader) }
    }

    /// The queue has shrunk, and there was too much in it to read the peer. Under the lock.
    func noteReader() {
        if pointee.queue.answers > Self.mostAnswers { return }
        pointee.state.remove(.awaitsReader)
        if pointee.state.contains(.inLoop) { arm() }
    }

    /// The filter and its peer have agreed.
    func openFilter() {
        lock()
        if pointee.state.contains(.hasFilter) && pointee.state.isDisjoint(with: [.filterOpen, .holdsWrites]) {
            pointee.state.insert(.tellsOpen)
            takeWrites()
        }
        leave()
    }

    /// The filter has to wait for its peer before it can be called with what the program writes, or need not wait any more.
    func holdWrites(_ holds: Bool) {
        lock()
        if holds {
            // After a shutdown there is nothing to hold back.
            if pointee.state.contains(.filterOpen) && !pointee.state.contains(.shutdown) {
                pointee.state.remove(.filterOpen)
                pointee.state.insert(.holdsWrites)
            }
        } else if pointee.state.remove(.holdsWrites) != nil && !pointee.state.contains(.closed) {
            takeWrites()
        }
        leave()
    }

    /// The filter is called with what has waited, and what is written from now on.
    private func takeWrites() {
        pointee.state.insert(.filterOpen)
        passWaiting()
        if pointee.state.contains(.shutdown) { callFilterShutdown() }
        finishShutdown()
        noteLength()
        serveLater()
    }

    /// The filter's peer will send nothing more (success), or the filter has failed.
    func endFilter(_ failure: Stream.Failure) {
        lock()
        if pointee.state.contains(.hasFilter) {
            if failure.result == RLStreamResult(kRLStreamSuccess) {
                overRead(failure)
            } else {
                failBoth(failure)
                // What has waited in front of the filter is never passed on; a stream that is forwarded to this one may rest because of it.
                pointee.waiting.free()
                noteLength()
            }
            tellOfFilter()
        }
        leave()
    }

    /// The program is to be told, unless that comes next anyway.
    private func tellOfFilter() { if !pointee.state.contains(.receiving) { serveLater() } }
}
