import CLinux
import CRunLoop
import Synchronization

/// The info of a port's run loop source, for both kinds of ports. That is an ordinary version-0 source, which senders signal. Freed with
/// the source.
struct PortSource: CallbackInfo, ~Copyable {
    /// The port. The source holds a reference to it, as the program does.
    let port: PortHeaderPointer
    /// The run loop source, which is freed together with this.
    let source: SourcePointer
}

typealias PortSourcePointer = UnsafeMutablePointer<PortSource>

extension PortSourcePointer {
    /// The release function of the source: frees the info, and releases the port.
    fileprivate func destroy() {
        let port = pointee.port
        let queue = port.queue
        queue.lockedSenders { if queue.pointee.portSource == self { queue.pointee.portSource = nil } }
        deinitialize(count: 1)
        free(self)
        _ = port.release()
    }
}

// What a queue does with its port's source.

extension PortQueuePointer {
    /// RLPortCreateRunLoopSource: returns the source of the port that has this queue, creating it if needed, with a reference for the
    /// caller. Returns nil if the port is invalid, or with ENOMEM if out of memory. Any thread that has a context; call without a lock held.
    /// Calls no user code.
    func source(of port: PortHeaderPointer, order: Int, _ threadContext: ThreadContextPointer) -> SourcePointer? {
        pointee.attachmentsMutex.locked {
            if let known = sharedSource {
                if known.pointee.item.has(.valid) { return known }
                known.release()
            }
            let memory = malloc(MemoryLayout<PortSource>.size)
            let detail = SourceDetail(
                release: { PortSourcePointer($0).destroy() }, schedule: port.pointee.functions.follow,
                cancel: port.pointee.functions.follow)
            guard let memory,
                let source = SourcePointer.create(
                    threadContext, order: order, info: memory, perform: port.pointee.functions.deliver, getPort: nil, detail)
            else {
                free(memory)
                systemError = ENOMEM
                return nil
            }
            port.pointee.object.retain()
            let new = memory.bindMemory(to: PortSource.self, capacity: 1)
            new.initialize(to: PortSource(port: port, source: source))
            let isOpen = lockedSenders { () -> Bool in
                if pointee.isOpen { pointee.portSource = new }
                // Messages may wait in the queue.
                if pointee.isSignalled { source.signal() }
                return pointee.isOpen
            }
            if isOpen { return source }
            source.release()
            return nil
        }
    }

    /// Puts a message in, and takes over its references. If the queue was not signalled, signals the source and wakes its loops. Returns 0;
    /// or, and then the references are still the caller's, ETIMEDOUT if the queue was full until `deadline`, EPIPE if it is closed, or
    /// ENOMEM. O(1); a system call only if a loop sleeps or the queue is full. Any thread; calls no user code.
    @inline(never)
    func put(_ message: QueuedMessage, until deadline: Instant) -> Int32 {
        while true {
            var wake: RunLoopPointer?
            lockSenders()
            let error = putLocked(message, &wake)
            unlockSenders()
            wake?.wakeUp()
            if error != ETIMEDOUT || !waitForRoom(until: deadline) { return error }
        }
    }

    /// Signals the source. If it is in exactly one loop, returns that loop, so that the caller can wake it after unlocking; otherwise wakes
    /// all its loops. The caller holds the senders' lock, which keeps the source alive.
    func signalLocked() -> RunLoopPointer? {
        guard let source = pointee.portSource?.pointee.source else { return nil }
        source.signal()
        return RunLoopPointer.wakeUpAll(of: source)
    }

    /// Makes the source's loops perform it, although no message was put in. Any thread; call without the senders' lock held.
    func signalSource() { lockedSenders { signalLocked() }?.wakeUp() }

    /// Invalidates the port's source, if there is one, because the queue is closed. Any thread; call without a lock held. A second call has
    /// no effect.
    @inline(never)
    func invalidateSource() {
        guard let source = sharedSource else { return }
        RunLoopPointer.invalidate(source)
        source.release()
    }

    /// The port's source, valid or not, with a reference for the caller; nil if there is none. A source that is being destroyed takes the
    /// senders' lock before its memory is freed. Any thread; call without that lock held.
    var sharedSource: SourcePointer? {
        lockedSenders {
            guard let source = pointee.portSource?.pointee.source, source.retainIfAlive() else { return nil }
            return source
        }
    }

    /// Whether the port's source is in the calling thread's loop. Call without the senders' lock held.
    func isServed(by loop: RunLoopPointer) -> Bool {
        guard let source = sharedSource else { return false }
        defer { source.release() }
        return loop.has(source)
    }
}
