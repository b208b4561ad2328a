import CLinux
import CRunLoop
import Synchronization

/// The info of a port's run loop source, for both kinds of ports. That is an ordinary version-0 source, which senders signal. Freed with
/// the source.
struct PortSource: CallbackInfo, ~Copyable {
    /// A loop and a mode that the source is in.
    struct Attachment: BitwiseCopyable {
        var loop: RunLoopPointer
        /// Retained.
        var mode: StringPointer
    }

    /// The port. The source holds a reference to it, as the program does.
    let port: PortHeaderPointer
    /// The run loop source, which is freed together with this.
    let source: SourcePointer
    /// 1 if there was no memory to record an attachment, or to watch a connection in one. The source is then signalled, to try again in the
    /// next pass. Any thread.
    let needsResync = Atomic<UInt32>(0)
    /// Where the source is: senders wake those loops, and connections are watched there. Changed under the queue's `attachmentsMutex` and the
    /// senders' lock, so either is enough to read it.
    var attachments = PlainList<Attachment>()
}

typealias PortSourcePointer = UnsafeMutablePointer<PortSource>

extension PortSourcePointer {
    /// Creates a source that is not the port's yet, and its info. Returns nil with ENOMEM if out of memory. Any thread that has a context.
    fileprivate static func make(_ port: PortHeaderPointer, order: Int, _ threadContext: ThreadContextPointer) -> PortSourcePointer? {
        let memory = malloc(MemoryLayout<PortSource>.size)
        let detail = SourceDetail(
            release: { PortSourcePointer(info: $0).destroy() }, schedule: { updateSource($0, $1, $2) },
            cancel: { updateSource($0, $1, $2) })
        guard let memory,
            let source = SourcePointer.create(
                threadContext, order: order, info: memory, perform: port.pointee.functions.deliver, getPort: nil, detail)
        else {
            free(memory)
            systemError = ENOMEM
            return nil
        }
        port.pointee.object.retain()
        let portSource = memory.bindMemory(to: PortSource.self, capacity: 1)
        portSource.initialize(to: PortSource(port: port, source: source))
        return portSource
    }

    /// The release function of the source: frees the info, and releases the port.
    private func destroy() {
        let port = pointee.port
        let queue = port.queue
        queue.lockSenders()
        if queue.pointee.portSource == self { queue.pointee.portSource = nil }
        for index in 0..<pointee.attachments.count { pointee.attachments[index].mode.release() }
        queue.unlockSenders()
        deinitialize(count: 1)
        free(self)
        _ = port.release()
    }

    // MARK: where the source is

    /// Records whether the source is in a mode of a loop, and makes connections follow it. Called after each change. Two threads may report
    /// their changes in a different order, but the last one to check records what is true. Any thread; call without a lock held.
    fileprivate func update(_ attachment: PortSource.Attachment) {
        let queue = pointee.port.queue
        queue.pointee.attachmentsMutex.lock()
        let isThere = attachment.loop.contains(pointee.source, in: attachment.mode)
        queue.lockSenders()
        var removedMode: StringPointer?
        if let index = index(of: attachment) {
            if !isThere {
                removedMode = pointee.attachments[index].mode
                pointee.attachments.remove(at: index)
            }
        } else if isThere {
            if pointee.attachments.append(attachment) {
                attachment.mode.retain()
            } else {
                pointee.needsResync.store(1, ordering: .relaxed)
                queue.signalLocked()?.wakeUp()
                attachment.loop.wakeUp()
            }
        }
        queue.unlockSenders()
        queue.pointee.attachmentsMutex.unlock()
        withUnsafePointer(to: attachment) { pointee.port.pointee.functions.follow?(pointee.port, $0) }
        removedMode?.release()
    }

    /// The index of an attachment in the list; nil if it is not there. The caller holds the senders' lock.
    fileprivate func index(of attachment: PortSource.Attachment) -> Int? {
        for index in 0..<pointee.attachments.count
        where pointee.attachments[index].loop == attachment.loop && pointee.attachments[index].mode.equals(attachment.mode) {
            return index
        }
        return nil
    }

    /// Retries what has failed for lack of memory, in all modes of the loop, since the mode in question may not be the one that runs. Loop
    /// thread only; call without a lock held.
    func resyncIfNeeded(on loop: RunLoopPointer) { if pointee.needsResync.load(ordering: .relaxed) != 0 { resync(on: loop) } }

    private func resync(on loop: RunLoopPointer) {
        pointee.needsResync.store(0, ordering: .relaxed)
        var number = loop.locked { loop.pointee.modes.count }
        while number > 1 {
            number -= 1
            if let name = loop.locked({ loop.pointee.modes[number]?.pointee.name }), loop.contains(pointee.source, in: name) {
                update(PortSource.Attachment(loop: loop, mode: name))
            }
        }
    }
}

/// The schedule and the cancel function of the source, called after it was added to a mode of a loop, or removed from it.
private func updateSource(_ info: UnsafeMutableRawPointer?, _ loop: OpaquePointer?, _ mode: OpaquePointer?) {
    guard let loop, let mode else { return }
    PortSourcePointer(info: info).update(
        PortSource.Attachment(loop: Handle.storage(UnsafeRawPointer(loop)), mode: Handle.storage(UnsafeRawPointer(mode))))
}

// What a queue does with its port's source.

extension PortQueuePointer {
    /// RLPortCreateRunLoopSource: returns the source of the port that has this queue, creating it if needed, with a reference for the
    /// caller. Returns nil if the port is invalid, or with ENOMEM if out of memory. Any thread that has a context; call without a lock held.
    /// Calls no user code.
    func source(of port: PortHeaderPointer, order: Int, _ threadContext: ThreadContextPointer) -> SourcePointer? {
        let (known, isOpen) = lockedSenders { (knownSourceLocked, pointee.isOpen) }
        if known != nil || !isOpen { return known }
        guard let new = PortSourcePointer.make(port, order: order, threadContext) else { return nil }
        let source = new.pointee.source
        lockSenders()
        // Another thread may have created a source meanwhile, or invalidated the port.
        let other = knownSourceLocked
        let isNew = other == nil && pointee.isOpen
        if isNew {
            pointee.portSource = new
            // Messages may wait in the queue.
            if pointee.isSignalled { source.signal() }
        }
        unlockSenders()
        if isNew { return source }
        source.release()
        return other
    }

    /// The port's source, if there is a valid one, with a reference for the caller. The caller holds the senders' lock, which this may
    /// release and take again.
    private var knownSourceLocked: SourcePointer? {
        guard let source = sharedSourceLocked else { return nil }
        if source.pointee.item.has(.valid) { return source }
        // If this is the last reference to an invalidated source, its release function takes the senders' lock.
        unlockSenders()
        source.release()
        lockSenders()
        return nil
    }

    /// Puts a message in. If the queue was not signalled, signals the source and wakes its loops. O(1); a system call only if a loop
    /// sleeps. Any thread; calls no user code.
    @inline(__always)
    func put(_ message: QueuedMessage) -> PortQueue.Outcome {
        var wake: RunLoopPointer?
        lockSenders()
        let outcome = putLocked(message)
        if outcome == .queuedNeedsSignal { wake = signalLocked() }
        unlockSenders()
        wake?.wakeUp()
        return outcome
    }

    /// `put`, but waits for room: returns `full` only at the deadline.
    @inline(never)
    func put(_ message: QueuedMessage, until deadline: Instant) -> PortQueue.Outcome {
        while true {
            let outcome = put(message)
            if outcome != .full || !waitForRoom(until: deadline) { return outcome }
        }
    }

    /// Signals the source. If it is in exactly one loop and mode, returns that loop, so that the caller can wake it after unlocking;
    /// otherwise wakes all its loops. The caller holds the senders' lock, which keeps the source alive.
    fileprivate func signalLocked() -> RunLoopPointer? {
        guard let portSource = pointee.portSource else { return nil }
        portSource.pointee.source.signal()
        if portSource.pointee.attachments.count == 1 { return portSource.pointee.attachments[0].loop }
        for index in 0..<portSource.pointee.attachments.count { portSource.pointee.attachments[index].loop.wakeUp() }
        return nil
    }

    /// Makes the source's loops retry something for which there was no memory. Any thread; call without the senders' lock held.
    @inline(never)
    func requestResync() {
        let wake = lockedSenders { () -> RunLoopPointer? in
            pointee.portSource?.pointee.needsResync.store(1, ordering: .relaxed)
            return signalLocked()
        }
        wake?.wakeUp()
    }

    /// Takes the next message out; nil if there is none, or if the queue is closed. If there was one, signals the source again, since the
    /// loop has consumed its signal in order to perform it. If there was none, clears the signal. `inStream`: see `takeLocked`. Loop thread
    /// only.
    @inline(__always)
    func takeNext(_ portSource: PortSourcePointer, inStream: Bool) -> QueuedMessage? {
        lockReceivers()
        let queued =
            pointee.isOpenToReceivers ? takeLocked(inStream: inStream) { _ = pointee.portSource?.pointee.source.takeSignal() } : nil
        // If the port has another source by now, that was signalled when it was created (`source(of:)`), and signalling this one is
        // harmless.
        if queued != nil && !portSource.pointee.source.isSignalled { portSource.pointee.source.signal() }
        unlockReceivers()
        wakeSenders()
        return queued
    }

    /// Invalidates the port's source, if there is one, because the queue is closed. Any thread; call without a lock held. A second call has
    /// no effect.
    @inline(never)
    func invalidateSource() {
        guard let source = sharedSource else { return }
        RunLoopPointer.invalidate(source)
        source.release()
    }

    /// The port's source, valid or not, with a reference for the caller; nil if there is none. Any thread; call without the senders' lock
    /// held.
    var sharedSource: SourcePointer? { lockedSenders { sharedSourceLocked } }

    /// `sharedSource` for a caller that holds the senders' lock. A source that is being destroyed takes it before its memory is freed.
    private var sharedSourceLocked: SourcePointer? {
        guard let source = pointee.portSource?.pointee.source, source.retainIfAlive() else { return nil }
        return source
    }

    /// Whether the port's source is in the mode of a loop, as the list says. Any thread; call without the senders' lock held.
    func isServed(at attachment: PortSource.Attachment) -> Bool { lockedSenders { pointee.portSource?.index(of: attachment) != nil } }

    /// Whether the port's source is in a loop. Any thread; call without the senders' lock held.
    func isServed(by loop: RunLoopPointer) -> Bool {
        lockedSenders {
            guard let portSource = pointee.portSource else { return false }
            for index in 0..<portSource.pointee.attachments.count where portSource.pointee.attachments[index].loop == loop { return true }
            return false
        }
    }
}
