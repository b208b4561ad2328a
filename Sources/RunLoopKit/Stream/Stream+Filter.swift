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
        if pointee.state.contains(.closed) || pointee.filter.version == 0 {
            systemError = pointee.state.contains(.closed) ? EBADF : EALREADY
            return false
        }
        pointee.filter = filter
        if let start = filter.start { start(source, filter.info) }
        // What was read and not delivered is the filter's.
        var unread = pointee.buffer
        pointee.buffer = ByteBuffer()
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
        guard pointee.filter.version == 0, let own = pointee.filter.receive else { return nil }
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
            pointee.state.remove(.flushLater)
            passWaiting()
            passOn(bytes, length)
            if !pointee.state.contains(.writingFailed) { return true }
            systemError = pointee.writeFailure.error
            return false
        }
        let isQueued = if let data { pointee.waiting.append(data, from: 0) } else { pointee.waiting.append(bytes, length) }
        if isQueued && isOpen { flushNextPass() }
        return isQueued
    }

    private func passOn(_ bytes: UnsafePointer<UInt8>, _ length: Int) {
        guard let write = pointee.filter.write else { return }
        RUNLOOP_IS_CALLING_OUT_TO_A_STREAM_FILTER_FUNCTION(write, source, bytes, length, pointee.filter.info)
    }

    /// Passes on what has waited in front of the filter. Under the lock.
    func passWaiting() {
        // The filter's functions do not reach it.
        var waiting = pointee.waiting
        pointee.waiting = WriteQueue()
        waiting.drain { bytes, length in passOn(bytes, length) }
        waiting.free()
        pointee.completions.settle(pointee.accepted)
    }

    /// The program has ended writing: the filter may say so to its peer. Under the lock.
    func callFilterShutdown() {
        if let shutdown = pointee.filter.shutdown { shutdown(source, pointee.filter.info) }
    }

    // MARK: called by the filter

    /// Hands bytes to the program. Under the lock, as all of these.
    func deliverFiltered(_ bytes: UnsafePointer<UInt8>, _ length: Int) {
        lock()
        if !pointee.state.contains(.closed) {
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
            systemError = pointee.state.contains(.closed) ? EBADF : pointee.writeFailure.error
            return false
        }
        return length == 0 || send(bytes, length, later: false)
    }

    /// The filter and its peer have agreed.
    func openFilter() {
        lock()
        if pointee.filter.version == 0 && pointee.state.insert(.filterOpen).inserted {
            pointee.state.insert(.tellsOpen)
            passWaiting()
            if pointee.state.contains(.shutdown) { callFilterShutdown() }
            finishShutdown()
            noteLength()
            serveLater()
        }
        leave()
    }

    /// The filter's peer will send nothing more (success), or the filter has failed.
    func endFilter(_ failure: Stream.Failure) {
        lock()
        if pointee.filter.version == 0 {
            overRead(failure)
            if failure.result != RLStreamResult(kRLStreamSuccess) { refuseWriting(failure) }
            tellOfFilter()
        }
        leave()
    }

    /// The program is to be told, unless that comes next anyway.
    private func tellOfFilter() { if !pointee.state.contains(.receiving) { serveLater() } }
}
