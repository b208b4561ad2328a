import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit

extension StreamPointer {
    /// The number of bytes that wait to be written. The caller holds the lock.
    var queued: Int { pointee.queue.count + pointee.waiting.count }

    /// The number of bytes that wait to be written. Any thread.
    var queuedNow: Int {
        lock()
        defer { leave() }
        return queued
    }

    // MARK: called by the program

    /// Writes bytes, or with `later` only queues them; without bytes, writes what `later` has queued. If the bytes are those of `data`, it
    /// is retained instead of copying them. Returns false with errno if they are not taken. Any thread.
    func write(_ bytes: UnsafePointer<UInt8>?, _ length: Int, _ data: OpaquePointer? = nil, later: Bool) -> Bool {
        lock()
        if let bytes, length > 0, !later, pointee.state.isDisjoint(with: .mattersToWriting) {
            let isTaken = send(bytes, length, data, later: false)
            unlock()
            return isTaken
        }
        defer { leave() }
        if let error = refusal {
            systemError = error
            return false
        }
        var isTaken = true
        if let bytes, length > 0 {
            isTaken =
                pointee.state.contains(.hasFilter) ? filter(bytes, length, data, later: later) : send(bytes, length, data, later: later)
        } else {
            flushAppended()
        }
        noteLength()
        if hasNews { serveLater() }
        return isTaken
    }

    /// The errno value that says why nothing can be written; nil if bytes can be written. The caller holds the lock.
    var refusal: Int32? {
        if pointee.state.contains(.closed) { return EBADF }
        if pointee.state.contains(.writingFailed) { return pointee.writeFailure.number }
        return pointee.state.contains(.shutdown) ? EPIPE : nil
    }

    /// Whether bytes can be written. Any thread.
    var canBeWritten: Bool {
        lock()
        defer { leave() }
        return refusal == nil
    }

    /// Has `callout` called once everything that the program has written so far is written to the descriptor, or cannot be. Returns false
    /// with errno if it will not be called. Any thread.
    func flush(_ callout: @escaping RLStreamFlushCallBack, _ info: UnsafeMutableRawPointer?) -> Bool {
        lock()
        defer { leave() }
        if let error = refusal, error != EPIPE || pointee.state.contains(.writingFailed) {
            systemError = error
            return false
        }
        flushAppended()
        noteLength()
        if !pointee.completions.append(pointee.waiting.count > 0 ? nil : pointee.queue.position, callout, info) { return false }
        pointee.state.insert(.hasCompletions)
        if hasNews { serveLater() }
        return true
    }

    /// Ends writing once everything is written. Any thread.
    func shutdown() {
        lock()
        if refusal == nil {
            flushAppended()
            pointee.state.insert(.shutdown)
            if pointee.state.contains(.filterOpen) { callFilterShutdown() }
            finishShutdown()
            noteLength()
            if hasNews { serveLater() }
        }
        leave()
    }

    /// Ends writing, and closes the stream once everything is written, or nothing can be. Any thread. If the thread already holds the lock,
    /// the outer call closes the stream at its end.
    func closeWhenWritten() {
        lock()
        if !pointee.state.contains(.closed) {
            pointee.closesWhenWritten = true
            shutdown()
            if !pointee.state.isDisjoint(with: [.shutdownDone, .writingFailed]) { pointee.state.insert(.closesNext) }
        }
        leave()
    }

    /// Sets the high-water mark. Any thread.
    func setHighWaterMark(_ length: Int) {
        lock()
        pointee.highWaterMark = length
        noteLength()
        if hasNews { serveLater() }
        unlock()
    }

    /// Whether the queue is below its high-water mark; false also if nothing can be written any more. If the queue is not below the mark,
    /// the program is notified when it has shrunk. Any thread.
    var canAccept: Bool {
        lock()
        defer { leave() }
        if pointee.state.isDisjoint(with: .mattersToWriting) { return true }
        if refusal != nil { return false }
        if queued < pointee.highWaterMark { return true }
        awaitRoomInQueue()
        return false
    }

    // MARK: the descriptor

    /// Writes bytes, which have passed the filter if there is one, to the descriptor, and queues those that do not fit. Returns false with
    /// errno if they are not taken. The caller holds the lock.
    func send(_ bytes: UnsafePointer<UInt8>, _ length: Int, _ data: OpaquePointer? = nil, later: Bool) -> Bool {
        var sent = 0
        let mayWrite = pointee.state.isDisjoint(with: [.awaitingRoom, .connecting])
        if mayWrite && !later {
            pointee.state.remove(.flushLater)
            sent = pointee.state.contains(.usesQueue) ? writeNow(bytes, length) : writeDirectly(bytes, length)
            if sent < 0 { return false }
        }
        if sent == length { return true }
        pointee.state.insert(.usesQueue)
        let isQueued = if let data { pointee.queue.append(data, from: sent) } else { pointee.queue.append(bytes + sent, length - sent) }
        if !isQueued {
            if sent > 0 { failWriting(ENOMEM) }
            systemError = ENOMEM
            return false
        }
        if mayWrite { if later { flushNextPass() } else { awaitRoom() } }
        return true
    }

    /// Has the queue written in the next pass. The caller holds the lock.
    func flushNextPass() {
        if pointee.state.insert(.flushLater).inserted { serveLater() }
    }

    /// Writes as many of these bytes as fit, and returns how many; -1 with errno on failure. The caller holds the lock.
    private func writeDirectly(_ bytes: UnsafePointer<UInt8>, _ length: Int) -> Int {
        var part = iovec(iov_base: UnsafeMutableRawPointer(mutating: bytes), iov_len: length)
        return writeParts(&part, 1)
    }

    /// Writes the queue and then as many of these bytes as fit, and returns how many of these were written; -1 with errno on failure. The
    /// caller holds the lock.
    private func writeNow(_ bytes: UnsafePointer<UInt8>, _ length: Int) -> Int {
        withParts { parts in
            let number = pointee.queue.gather(UnsafeMutableBufferPointer(rebasing: parts[..<(parts.count - 1)]))
            let queued = Self.length(parts, number)
            let isWhole = queued == pointee.queue.count
            if isWhole { parts[number] = iovec(iov_base: UnsafeMutableRawPointer(mutating: bytes), iov_len: length) }
            let count = writeParts(parts.baseAddress, isWhole ? number + 1 : number)
            if count < 0 { return -1 }
            let ofQueue = Swift.min(count, queued)
            if ofQueue > 0 { consume(ofQueue) }
            if pointee.queue.count == 0 { pointee.state.remove(.usesQueue) }
            return count - ofQueue
        }
    }

    /// Writes the queue until it is empty, there is no more room, or writing fails. The caller holds the lock.
    func flushQueue() {
        if !pointee.state.isDisjoint(with: [.awaitingRoom, .connecting, .closed]) { return }
        let isEmpty = withParts { parts in
            while pointee.queue.count > 0 {
                let number = pointee.queue.gather(parts)
                let count = writeParts(parts.baseAddress, number)
                if count < 0 { return false }
                let isShort = count < Self.length(parts, number)
                consume(count)
                if isShort {
                    awaitRoom()
                    return false
                }
            }
            return true
        }
        if !isEmpty { return }
        pointee.state.remove(.usesQueue)
        finishShutdown()
    }

    /// Removes the first bytes of the queue, which have been written. The caller holds the lock.
    private func consume(_ length: Int) {
        pointee.queue.consume(length)
        if pointee.state.contains(.awaitsReader) { noteReader() }
    }

    private func withParts<Result>(_ body: (UnsafeMutableBufferPointer<iovec>) -> Result) -> Result {
        withUnsafeTemporaryAllocation(of: iovec.self, capacity: 16, body)
    }

    private static func length(_ parts: UnsafeMutableBufferPointer<iovec>, _ number: Int) -> Int {
        var length = 0
        for part in 0..<number { length += parts[part].iov_len }
        return length
    }

    /// Writes once. Returns the number of bytes written, 0 if there is no room. On an error, fails writing and returns -1 with errno. The
    /// caller holds the lock.
    private func writeParts(_ parts: UnsafeMutablePointer<iovec>?, _ number: Int) -> Int {
        let isSocket: Int32 = pointee.isSocket ? 1 : 0
        while true {
            let count = linux_stream_write(pointee.descriptor, isSocket, parts, Int32(number))
            if count >= 0 {
                if pointee.state.contains(.hasIdleLimit) { noteActivity() }
                return count
            }
            if systemError == EAGAIN { return 0 }
            if systemError != EINTR {
                failWriting(systemError)
                return -1
            }
        }
    }

    /// Has the watch report when there is room to write or when connecting has ended. Without a watch (the stream is closed or has no
    /// descriptor yet), only records that. The caller holds the lock.
    private func awaitRoom() {
        pointee.state.insert(.awaitingRoom)
        if let watch = pointee.watch { RLFileDescriptorEnableCallBacks(watch, UInt(kRLFileDescriptorWriteCallBack)) }
    }

    /// Writes the queue, as the watch has reported room, or completes connecting. The caller holds the lock.
    func roomIsThere() {
        pointee.state.remove(.awaitingRoom)
        if pointee.state.contains(.connecting) {
            let error = linux_take_socket_error(pointee.descriptor)
            if error != 0 { return fail(Stream.Failure(result: RLStreamResult(kRLStreamFailed), error: error)) }
            if linux_is_connecting(pointee.descriptor) != 0 { return awaitRoom() }
            pointee.state.remove(.connecting)
            if !pointee.state.contains(.hasFilter) { pointee.state.insert(.tellsOpen) }
        }
        flushQueue()
    }

    /// Has a loop report the outcome of connecting, even if connecting is already complete. Called before the program has the handle.
    func noteConnecting() {
        if linux_has_peer(pointee.descriptor) == 0 {
            pointee.state.formUnion([.connecting, .awaitingRoom])
        } else if !pointee.state.contains(.connecting) {
            pointee.state.insert(.tellsOpen)
            serveLater()
        }
    }

    /// Writes what `later` has queued. The caller holds the lock.
    func flushAppended() {
        if pointee.state.remove(.flushLater) == nil { return }
        if pointee.state.contains(.filterOpen) { passWaiting() }
        flushQueue()
    }

    /// If the program has ended writing and everything is written, notifies the peer; a descriptor that can only be written is closed
    /// instead. The caller holds the lock.
    func finishShutdown() {
        if !pointee.state.contains(.shutdown) || queued > 0 || !pointee.state.isDisjoint(with: [.connecting, .closed]) { return }
        // A filter that is not open has not agreed with its peer yet, and will still send.
        let awaitsFilter = pointee.state.contains(.hasFilter) && pointee.state.isDisjoint(with: [.filterOpen, .writingFailed])
        if awaitsFilter || !pointee.state.insert(.shutdownDone).inserted { return }
        if pointee.isSocket {
            preservingSystemError { linux_end_writing(pointee.descriptor) }
        } else if linux_access_mode(pointee.descriptor) == O_WRONLY {
            pointee.state.insert(.closesNext)
        }
        if pointee.closesWhenWritten { pointee.state.insert(.closesNext) }
    }
}
