import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit

// Forwarding: what one stream receives is written to another. No thread takes the lock of one stream while it holds that of another,
// because two streams may be forwarded to each other.

extension StreamPointer {
    /// Forwards what arrives from now on to a stream, which may be this one, or, with nil, to none. Returns false with errno if nothing has
    /// changed. Any thread; call without a lock held. May call the release of a context.
    @inline(never)
    func forward(to target: StreamPointer?) -> Bool {
        if let target, !target.beginFeed(self) { return false }
        lock()
        if target != nil && pointee.isUnread {
            pointee.isUnread = false
            pointee.state.subtract([.readingOver, .toldOver])
        }
        let isOver = !pointee.state.isDisjoint(with: [.closed, .toldOver])
        if target != nil && isOver {
            unlock()
            target?.endFeed(self)
            systemError = EBADF
            return false
        }
        let old = pointee.target
        pointee.target = target
        pointee.state.remove(.held)
        if target != nil {
            pointee.state.insert(.forwards)
            pointee.state.remove(.stuck)
            pointee.rule.restart()
            retain(target)
        } else {
            pointee.state.remove(.forwards)
            if pointee.callout == nil { leaveUnread() }
        }
        readOn()
        unlock()
        if let old, old != target { old.endFeed(self) }
        release(old)
        return true
    }

    /// Ends forwarding to `target`, unless it has ended already; with `shutsDown`, also ends writing to the target. Any thread; call
    /// without a lock held. May close the target, and call the release of a context.
    @inline(never)
    func endForwarding(to target: StreamPointer, shutsDown: Bool = false) {
        lock()
        let isSo = pointee.target == target
        if isSo {
            pointee.target = nil
            pointee.state.subtract([.forwards, .held])
            if pointee.callout == nil { leaveUnread() }
        }
        unlock()
        if !isSo { return }
        if shutsDown { target.shutdown() }
        target.endFeed(self)
        release(target)
    }

    /// Stops reading a stream that has no callback and is not forwarded. The caller holds the lock, or the program has no handle yet.
    @inline(never)
    func leaveUnread() {
        if pointee.state.contains(.readingOver) { return }
        pointee.state.formUnion([.readingOver, .toldOver])
        pointee.isUnread = true
    }

    /// Retains the handle of another stream. A stream that is forwarded to itself does not retain itself.
    private func retain(_ other: StreamPointer?) {
        if let other, other != self { other.pointee.holders.retain(other.source) }
    }

    /// Releases a handle that `retain` has retained. Any thread; call without a lock held. May call the release of a context.
    private func release(_ other: StreamPointer?) {
        guard let other, other != self, other.pointee.holders.remove() else { return }
        // The other stream may be freed, and then release the stream that it is forwarded to, and so on. To keep the stack small however
        // long the chain is, each stream is ended only after the function that ends the previous one has returned.
        let thread = linux_this_stream_thread().unsafelyUnwrapped
        thread.pointee.collects = 1
        RLRelease(UnsafeRawPointer(other.source))
        thread.pointee.collects = 0
        if thread.pointee.drains != 0 { return }
        thread.pointee.drains = 1
        while let freed = thread.pointee.freed {
            let stream = StreamPointer(info: freed)
            thread.pointee.freed = UnsafeMutableRawPointer(stream.pointee.nextFreed)
            stream.endFreed()
        }
        thread.pointee.drains = 0
    }

    /// If `release` is freeing the handle on this thread, has it end the stream later and returns true. Any thread.
    func isCollected() -> Bool {
        let thread = linux_this_stream_thread().unsafelyUnwrapped
        if thread.pointee.collects == 0 { return false }
        pointee.nextFreed = thread.pointee.freed.map { StreamPointer(info: $0) }
        thread.pointee.freed = UnsafeMutableRawPointer(self)
        return true
    }

    /// Writes bytes to the target. If the target does not take them, ends forwarding and returns false. Loop thread only, in `deliver`. The
    /// caller holds the lock, which is released meanwhile.
    func pass(_ bytes: UnsafePointer<UInt8>, _ length: Int) -> Bool {
        guard let target = pointee.target else { return false }
        // Set before the target can report that it has room again.
        pointee.state.insert(.held)
        retain(target)
        unlock()
        let taking = target.take(bytes, length, of: self)
        if taking == .refused { endForwarding(to: target) }
        release(target)
        lock()
        if taking != .full { pointee.state.remove(.held) }
        return taking != .refused
    }

    /// Continues to read, as the target has room again. Any thread; call without a lock held.
    private func goOn() {
        lock()
        pointee.state.remove(.held)
        readOn()
        unlock()
    }
}

// MARK: the target

extension StreamPointer {
    /// What a target has done with bytes: taken them; taken them, which has filled its queue; refused them.
    private enum Taking { case taken, full, refused }

    /// Makes `feeder` the stream that is forwarded to this one. Returns false with errno if nothing can be written to this stream, or if
    /// another stream is forwarded to it. Any thread.
    private func beginFeed(_ feeder: StreamPointer) -> Bool {
        lock()
        defer { leave() }
        let isFed = pointee.feeder != nil && pointee.feeder != feeder
        if let error = refusal ?? (isFed ? EBUSY : nil) {
            systemError = error
            return false
        }
        pointee.feeder = feeder
        return true
    }

    /// Forgets the feeder, if it is `feeder`. Any thread; call without a lock held.
    private func endFeed(_ feeder: StreamPointer) {
        lock()
        let isFed = pointee.feeder == feeder
        let held = isFed ? takeHeldFeeder() : nil
        if isFed { pointee.feeder = nil }
        leave()
        release(held)
    }

    /// Writes bytes of the feeder. If the queue is full afterwards, the feeder rests until there is room. Any thread.
    private func take(_ bytes: UnsafePointer<UInt8>, _ length: Int, of feeder: StreamPointer) -> Taking {
        lock()
        defer { leave() }
        if !write(bytes, length, later: false) { return .refused }
        if queued < pointee.highWaterMark || pointee.feeder != feeder { return .taken }
        awaitRoomInQueue()
        if !pointee.holdsFeeder {
            pointee.holdsFeeder = true
            retain(feeder)
        }
        return .full
    }

    /// Has the program or the feeder notified when the queue has shrunk. The caller holds the lock.
    func awaitRoomInQueue() {
        pointee.state.insert(.full)
        pointee.state.remove(.tellsRoom)
    }

    /// Returns the feeder if its reading rests, together with the reference to its handle, which the caller releases. The caller holds the
    /// lock.
    func takeHeldFeeder() -> StreamPointer? {
        if !pointee.holdsFeeder { return nil }
        pointee.holdsFeeder = false
        return pointee.feeder
    }

    /// Lets the feeder continue if its reading rests. The caller holds the lock, which is released meanwhile.
    func resumeFeeder() {
        guard let feeder = takeHeldFeeder() else { return }
        unlock()
        resume(feeder: feeder)
        lock()
    }

    /// Lets a feeder that `takeHeldFeeder` has returned continue. Any thread; call without a lock held.
    func resume(feeder: StreamPointer) {
        feeder.goOn()
        release(feeder)
    }
}

// MARK: both directions

extension StreamPointer {
    /// Forwards two streams, or one stream and itself, to each other until they are closed, which happens to both together. Returns false
    /// with errno if they are not forwarded; an earlier forwarding of this stream may then have ended. Any thread; call without a lock
    /// held. May call the release of a context.
    func forwardBoth(_ other: StreamPointer) -> Bool {
        if !beginPartnership(other) { return false }
        if other == self ? forward(to: self) : joinBoth(other) { return true }
        preservingSystemError { endPartnership(other) }
        return false
    }

    /// The rest of `forwardBoth` for two different streams. Returns false with errno if they do not become partners.
    private func joinBoth(_ other: StreamPointer) -> Bool {
        if !other.beginPartnership(self) { return false }
        if forward(to: other) {
            if other.forward(to: self) { return true }
            preservingSystemError { endForwarding(to: other) }
        }
        preservingSystemError { other.endPartnership(self) }
        return false
    }

    /// Makes `other` the partner and retains its handle. Returns false with errno if the stream is closed or has a partner.
    @inline(never)
    private func beginPartnership(_ other: StreamPointer) -> Bool {
        lock()
        defer { leave() }
        if pointee.state.contains(.closed) || pointee.partner != nil {
            systemError = pointee.partner != nil ? EBUSY : EBADF
            return false
        }
        pointee.partner = other
        retain(other)
        return true
    }

    /// Undoes `beginPartnership`, unless `other` is no longer the partner.
    @inline(never)
    private func endPartnership(_ other: StreamPointer) {
        lock()
        let isSo = pointee.partner == other
        if isSo { pointee.partner = nil }
        unlock()
        if isSo { release(other) }
    }

    /// Closes the partner of this stream, which is closed itself, once the partner's bytes are written, and releases its handle. Any
    /// thread; call without a lock held.
    @inline(never)
    func close(partner: StreamPointer) {
        if partner != self { partner.closeWhenWritten() }
        release(partner)
    }

    /// Closes a stream that has a partner, after one of its directions has failed, or has ended while the other is over, too. Called by a
    /// loop; the caller holds the lock.
    @inline(never)
    func closeWithPartner() {
        if pointee.partner == nil { return }
        // After the end of the input, what the partner receives is still written here until the partner has ended, too.
        let isEnd = pointee.readFailure.result == RLStreamResult(kRLStreamSuccess) && !pointee.state.contains(.writingFailed)
        if !isEnd || pointee.state.contains(.shutdown) { closeWhenWritten() }
    }
}
