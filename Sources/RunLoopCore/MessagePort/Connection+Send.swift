import CLinux
import Synchronization

// How a request or a reply travels: within the process through the port's queue; to another process as one packet, in pieces, or, if it is
// a small one-way request, through the ring.

extension Instant {
    /// Returns the deadline of a request that starts to wait for room at this instant. As in CF, ten days or more mean no limit, and less
    /// than a millisecond means not to wait.
    func sendLimit(after seconds: Double) -> Instant {
        if seconds >= 864_000 { return .never }
        return seconds < 0.001 ? .distantPast : after(seconds)
    }
}

extension ConnectionPointer {
    /// Sends a request to the local port, and waits for room until `deadline`. Returns `isInvalid` if that port is gone: the caller
    /// invalidates the remote port, after removing the request from its list. Any thread; call without a lock held. May call user code if a
    /// connection ends.
    func transmit(_ frame: Frame, _ data: DataPointer?, until deadline: Instant) -> RequestResult {
        if let data, data.pointee.count > Frame.lengthLimit { return .transportError }
        if frame.id == 0, let result = sendByRing(frame.messageID, data, until: deadline) { return result }
        if pointee.role == .inProcess { return enqueue(frame, data, until: deadline) }
        var ticket: UInt32?
        while true {
            switch send(request: frame, data, &ticket) {
            case .done:
                // If a reply is wanted, the loop sends the rest. A one-way sender waits until all is sent.
                guard let ticket, frame.id == 0 else { return .success }
                return finishSending(ticket, until: deadline)
            case .failed: return .transportError
            case .gone: return .isInvalid
            case .full: if !waitForRoom(until: deadline) { return .sendTimeout }
            }
        }
    }

    /// Sends a request within the process, as an entry of the local port's queue: the data object itself, or a copy if the data could
    /// change.
    private func enqueue(_ frame: Frame, _ data: DataPointer?, until deadline: Instant) -> RequestResult {
        var result = RequestResult.transportError
        guard let data = data.map({ $0.lastingCopy() }) ?? DataPointer.create(nil, count: 0) else { return .transportError }
        guard let request = RequestPointer.make(frame, data, from: self) else {
            data.release()
            return .transportError
        }
        switch pointee.port.queue.put(QueuedMessage(UnsafeMutableRawPointer(request)), until: deadline) {
        case .queued, .queuedNeedsSignal: return .success
        case .full: result = .sendTimeout
        case .closed: result = .isInvalid
        case .outOfMemory: break
        }
        request.cancelUnsent()
        return result
    }
}
