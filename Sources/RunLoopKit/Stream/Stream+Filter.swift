import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit

// The filter: a layer between the stream and its descriptor. Its functions are called with the stream's lock held, which is recursive;
// only its release is called without the lock.

extension StreamPointer {
    /// Sets the stream's filter. Returns false with errno if the stream is closed or already has one. Any thread; calls the filter.
    func setFilter(_ filter: RLStreamFilter) -> Bool {
        lock()
        defer { leave() }
        if pointee.state.contains(.closed) || pointee.state.contains(.hasFilter) {
            systemError = pointee.state.contains(.closed) ? EBADF : EALREADY
            return false
        }
        pointee.filter = filter
        pointee.state.insert(.hasFilter)
        // The stream counts as open when the filter is.
        pointee.state.remove(.tellsOpen)
        // What was read and not delivered goes to the filter.
        var unread = pointee.buffer
        pointee.buffer = ByteBuffer()
        pointee.state.remove(.usesBuffer)
        pointee.rule.restart()
        if let start = filter.start { start(source, filter.info) }
        noteFork()
        if unread.count > 0, let bytes = unread.bytes {
            receive(bytes, unread.count)
            serveLater()
        }
        unread.free()
        return true
    }

    /// Returns the info of the filter if `receive` is its function; otherwise nil. Any thread.
    func filterInfo(_ receive: UnsafeRawPointer) -> UnsafeMutableRawPointer? {
        lock()
        defer { leave() }
        guard pointee.state.contains(.hasFilter), let own = pointee.filter.receive else { return nil }
        return unsafeBitCast(own, to: UnsafeRawPointer.self) == receive ? pointee.filter.info : nil
    }

    // MARK: calling the filter

    /// Calls the filter with bytes that were read. A length of 0 stands for the end, and ends reading. The caller holds the lock.
    func receive(_ bytes: UnsafePointer<UInt8>, _ length: Int) {
        guard let receive = pointee.filter.receive else { return }
        pointee.state.insert(.receiving)
        RUNLOOP_IS_CALLING_OUT_TO_A_STREAM_FILTER_FUNCTION(receive, source, length > 0 ? bytes : nil, length, pointee.filter.info)
        noteFork()
        pointee.state.remove(.receiving)
        if length == 0 { overRead(Stream.Failure()) }
    }

    /// Calls the filter with bytes that the program writes, or queues them until the filter is open or, with `later`, until the next pass.
    /// Returns false with errno if the bytes are not taken. The caller holds the lock.
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

    /// Calls the filter with bytes that the program has written. The caller holds the lock.
    private func passOn(_ bytes: UnsafePointer<UInt8>, _ length: Int) {
        guard let write = pointee.filter.write else { return }
        // What the program has written is not an answer, even if the filter opens while it receives.
        let isReceiving = pointee.state.remove(.receiving) != nil
        RUNLOOP_IS_CALLING_OUT_TO_A_STREAM_FILTER_FUNCTION(write, source, bytes, length, pointee.filter.info)
        noteFork()
        if isReceiving { pointee.state.insert(.receiving) }
    }

    /// Calls the filter with the bytes that have waited for it. The caller holds the lock.
    func passWaiting() {
        // A separate queue, which the filter's functions cannot change meanwhile.
        var waiting = pointee.waiting
        pointee.waiting = WriteQueue()
        waiting.drain { bytes, length in passOn(bytes, length) }
        waiting.free()
        pointee.completions.settle(pointee.queue.position)
    }

    /// Calls the filter's shutdown, as the program has ended writing; the filter may notify its peer. The caller holds the lock.
    func callFilterShutdown() {
        if let shutdown = pointee.filter.shutdown { shutdown(source, pointee.filter.info) }
        noteFork()
    }

    /// Called when one of the filter's functions has returned. If it has forked and this is the child, marks the lock as held by this
    /// thread before anything changes the lock, because another thread may be about to recover it. The caller holds the lock.
    private func noteFork() {
        lock()
        unlock()
    }

    // MARK: called by the filter

    /// Delivers bytes to the program. Takes the lock, as do all functions of this section, because a filter may also call them while none
    /// of its own functions is running.
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

    /// Sends bytes to the descriptor. Returns false with errno if that fails.
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

    /// The maximum number of bytes of answers that may be queued while the peer is still read. A peer that sends requests and does not read
    /// would otherwise make the queue grow without limit.
    private static var mostAnswers: Int { 65_536 }

    /// Counts the last `length` queued bytes as the filter's answers. If there are too many, reading stops. The caller holds the lock.
    private func noteAnswer(_ length: Int) {
        pointee.queue.noteAnswer(length)
        if pointee.queue.answers > Self.mostAnswers { pointee.state.insert(.awaitsReader) }
    }

    /// Resumes reading if few enough answers are left after the queue has shrunk. The caller holds the lock.
    func noteReader() {
        if pointee.queue.answers > Self.mostAnswers { return }
        pointee.state.remove(.awaitsReader)
        if pointee.state.contains(.inLoop) { arm() }
    }

    /// Opens the filter, which has agreed with its peer.
    func openFilter() {
        lock()
        if pointee.state.contains(.hasFilter) && pointee.state.isDisjoint(with: [.filterOpen, .holdsWrites]) {
            pointee.state.insert(.tellsOpen)
            takeWrites()
        }
        leave()
    }

    /// Holds back what the program writes while the filter waits for its peer, or passes it on again.
    func holdWrites(_ holds: Bool) {
        lock()
        if holds {
            // After a shutdown there is nothing left to hold back.
            if pointee.state.contains(.filterOpen) && !pointee.state.contains(.shutdown) {
                pointee.state.remove(.filterOpen)
                pointee.state.insert(.holdsWrites)
            }
        } else if pointee.state.remove(.holdsWrites) != nil && !pointee.state.contains(.closed) {
            takeWrites()
        }
        leave()
    }

    /// Passes on to the filter what has waited, and from now on what is written. The caller holds the lock.
    private func takeWrites() {
        pointee.state.insert(.filterOpen)
        passWaiting()
        if pointee.state.contains(.shutdown) { callFilterShutdown() }
        finishShutdown()
        noteLength()
        serveLater()
    }

    /// Ends reading, as the filter's peer will send nothing more (success), or fails both directions, as the filter has failed.
    func endFilter(_ failure: Stream.Failure) {
        lock()
        if pointee.state.contains(.hasFilter) {
            if failure.result == RLStreamResult(kRLStreamSuccess) {
                overRead(failure)
            } else {
                failBoth(failure)
                // What has waited for the filter is dropped. A stream that is forwarded to this one may have rested because of it.
                pointee.waiting.free()
                noteLength()
            }
            tellOfFilter()
        }
        leave()
    }

    /// Has a loop report to the program what the filter has done. Not needed while the filter receives, because delivering follows anyway.
    private func tellOfFilter() { if !pointee.state.contains(.receiving) { serveLater() } }
}
