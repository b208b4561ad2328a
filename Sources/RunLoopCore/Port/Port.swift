import CLinux
import CRunLoop
import Synchronization

/// RLPort: an end point inside the process. Whoever has it sends; the loops that have its source receive.
///
/// The queue has locks of its own; the rest is guarded as it says. A port lives as long as clients, messages, or its source
/// have references.
struct PortStorage: ObjectStorage, Linked, ~Copyable {
    static var kind: Kind { .port }
    typealias Callout = @convention(c) (OpaquePointer?, OpaquePointer?, UnsafeMutableRawPointer?) -> Void
    typealias InvalidationCallout = @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Void

    /// On one line with what senders write: receivers stay away from it.
    var header: ObjectHeader
    var queue: PortQueue
    let callout: Callout
    // Written under both locks of the queue, so read under either.
    /// `info` is nil once it has been released.
    var context: ClientContext
    var invalidation: InvalidationCallout?
    /// Its run loop source, if there is one; not retained: it retains the port. Under the senders' lock.
    var link: PortLinkPointer?
    /// How many of the client's functions are running. Under the receivers' lock.
    var running: UInt32 = 0
    var isValid = true
    /// The list of all ports, for fork(). Under `PortRegistry`'s mutex.
    var previous: PortPointer?
    var following: PortPointer?

    /// How many messages wait before senders have to.
    static var defaultCapacity: UInt32 { 1024 }
}

typealias PortPointer = UnsafeMutablePointer<PortStorage>

/// What a port and its source know of each other: the info of the source. Freed with the source.
struct PortLink: ~Copyable {
    /// Retained.
    let port: PortPointer
    /// 1: there was no memory to note a loop. From then on each makes sure when it performs the source. Any thread.
    let needsResync = Atomic<UInt32>(0)
    // Under the senders' lock.
    var source: SourcePointer?
    /// The loops that the source is in, once for each mode.
    var loops = PlainList<RunLoopPointer>()
}

extension PortLink {
    /// Under the senders' lock.
    func index(of loop: RunLoopPointer) -> Int? {
        for index in 0..<loops.count where loops[index] == loop { return index }
        return nil
    }
}

typealias PortLinkPointer = UnsafeMutablePointer<PortLink>

extension UnsafeMutablePointer where Pointee == PortLink {
    /// There was no memory for something: the loop performs the source in its next pass. As `signalLocked`, but a loop that performs
    /// the source needs no lock.
    @inline(never)
    func tryAgain(on loop: RunLoopPointer) {
        pointee.source?.signalSeldom()
        loop.wakeUpSeldom()
    }
}

extension UnsafeMutablePointer where Pointee == PortStorage {
    /// Where it lies, without the claim that nobody else uses it that an inout argument would make.
    @inline(__always)
    var queue: UnsafeMutablePointer<PortQueue> {
        let address: UnsafePointer<PortQueue> = withUnsafePointer(to: pointee.queue) { $0 }
        return UnsafeMutablePointer<PortQueue>(mutating: address)
    }

    /// A port with one reference; nil with ENOMEM. `context.info` is retained already. One allocation. Any thread.
    static func create(_ callout: @escaping PortStorage.Callout, _ context: ClientContext) -> PortPointer? {
        guard PortRegistry.isPrepared, let memory = aligned_alloc(64, (MemoryLayout<PortStorage>.size + 63) & ~63) else {
            systemError = ENOMEM
            return nil
        }
        let port = memory.bindMemory(to: PortStorage.self, capacity: 1)
        port.initialize(
            to: PortStorage(
                header: ObjectHeader(.port), queue: PortQueue(capacity: PortStorage.defaultCapacity), callout: callout,
                context: context))
        PortRegistry.insert(port)
        return port
    }

    /// One more reference. Any thread, lock-free.
    @inline(__always)
    func retain() { pointee.header.retain() }

    /// One reference less; the last invalidates the port first. Any thread; may call the client's functions. False if there
    /// was none.
    func release() -> Bool {
        if pointee.header.releaseUnlessLast() { return true }
        // The last one is the caller's: it may still be handed to the functions that hear of the end.
        if pointee.header.references.load(ordering: .acquiring) == 0 { return false }
        invalidate()
        if pointee.header.release() { destroy() }
        return true
    }

    private func destroy() {
        PortRegistry.remove(self)
        pointee.header.tag = 0
        deinitialize(count: 1)
        free(self)
    }

    // MARK: sending

    /// RLPortMessageSendBeforeDate: puts a message, whose parts are retained, into this port's queue and wakes its loops if
    /// nobody is about to look. False with ETIMEDOUT at the deadline, EPIPE if the port is invalid, ENOMEM: the parts are the caller's
    /// still. O(1); a system call only if a loop sleeps or the queue is full. Any thread.
    @inline(__always)
    func send(_ message: QueuedMessage, until limit: Double) -> Bool {
        var wake: RunLoopPointer?
        queue.lockSendersInline()
        let outcome = queue.putLocked(message)
        if outcome == .queuedUnsignalled { wake = signalLocked() }
        queue.unlockSendersInline()
        wake?.wakeUp()
        if outcome == .queued || outcome == .queuedUnsignalled { return true }
        return sendSlow(message, until: limit, outcome)
    }

    @inline(never)
    private func sendSlow(_ message: QueuedMessage, until limit: Double, _ first: PortQueue.Outcome) -> Bool {
        var outcome = first
        let deadline = limit >= Clock.latestDate ? Instant.never : Clock.instant(ofDate: limit)
        while true {
            switch outcome {
            case .queued, .queuedUnsignalled: return true
            case .closed:
                systemError = EPIPE
                return false
            case .outOfMemory:
                systemError = ENOMEM
                return false
            case .full:
                guard queue.waitForRoom(until: deadline) else {
                    systemError = ETIMEDOUT
                    return false
                }
            }
            queue.lockSenders()
            outcome = queue.putLocked(message)
            let wake = outcome == .queuedUnsignalled ? signalLocked() : nil
            queue.unlockSenders()
            wake?.wakeUp()
        }
    }

    /// Signals the source, under the senders' lock, which keeps it alive. The loop to be woken, if it is one.
    @inline(never)
    private func signalLocked() -> RunLoopPointer? {
        guard let link = pointee.link, let source = link.pointee.source else { return nil }
        source.signal()
        if link.pointee.loops.count == 1 { return link.pointee.loops[0] }
        for index in 0..<link.pointee.loops.count { link.pointee.loops[index].wakeUpSeldom() }
        return nil
    }

    // MARK: receiving

    /// The perform function of the source: hands messages out, one, or more where nobody could tell the difference.
    func deliver(_ link: PortLinkPointer, on loop: RunLoopPointer) {
        if link.pointee.needsResync.load(ordering: .relaxed) != 0 { resync(link, on: loop) }
        var count = 0
        var level = 0
        var empty = emptyMessage(link, loop.home)
        while let message = empty, take(link, after: count, into: message) {
            count += 1
            if count == 1 { level = loop.beginCleanup(Cleanup(function: { abandonDelivery($0, $1, $2) }, object: self, part: message)) }
            RUNLOOP_IS_CALLING_OUT_TO_A_PORT_CALLBACK_FUNCTION(pointee.callout, handle, message.handle, pointee.context.info)
            if !message.finish() {
                empty = emptyMessage(link, loop.home)
                loop.updateCleanup(level, part: empty)
            }
            guard let source = link.pointee.source, loop.mayGoOn(source) else { break }
        }
        if count > 0 { loop.endCleanup(level) }
        _ = empty?.release()
        if count > 0 { finish() } else { loop.pointee.performedNothing = true }
    }

    /// For the messages to come; nil if out of memory: then the next pass tries again.
    @inline(never)
    private func emptyMessage(_ link: PortLinkPointer, _ home: HomePointer) -> PortMessagePointer? {
        let message = PortMessagePointer.create(home, sendPort: nil, receivePort: self, ownsReceivePort: false, nil)
        if message == nil { link.tryAgain(on: RunLoopPointer(home)) }
        return message
    }

    /// One of the loops may not be known, or not for all of its modes: this one is from now on.
    @inline(never)
    private func resync(_ link: PortLinkPointer, on loop: RunLoopPointer) {
        queue.lockSenders()
        if link.pointee.index(of: loop) == nil && !link.pointee.loops.append(loop) { link.tryAgain(on: loop) }
        queue.unlockSenders()
    }

    /// The next message to be handed out, counted as running. `after`: how many this perform has handed out. Leaves the source
    /// signalled, for a nested run and for what comes meanwhile; a perform that finds nothing does not count.
    @inline(__always)
    private func take(_ link: PortLinkPointer, after count: Int, into message: PortMessagePointer) -> Bool {
        queue.lockReceivers()
        guard pointee.isValid else {
            queue.unlockReceivers()
            return false
        }
        let queued = queue.takeLocked(inStream: count > 1) { _ = pointee.link?.pointee.source?.takeSignal() }
        if let queued {
            message.receive(queued)
            if count == 0 { pointee.running &+= 1 }
            // If it is not the port's any more, another has been told by `linkTo`.
            if let source = link.pointee.source, !source.isSignalled { source.signal() }
        }
        queue.unlockReceivers()
        queue.wakeSenders()
        return queued != nil
    }

    /// A client's function is over. The last one after invalidation releases the info.
    fileprivate func finish() {
        queue.lockReceivers()
        pointee.running -= 1
        let isCompleted = pointee.running == 0 && !pointee.isValid
        let context = pointee.context
        if isCompleted {
            queue.lockSenders()
            pointee.context = .empty
            queue.unlockSenders()
        }
        queue.unlockReceivers()
        if isCompleted { context.released(context.info) }
    }

    // MARK: the end

    /// RLPortInvalidate. Messages that were not handed out are dropped. Any thread; calls the client's functions.
    func invalidate() {
        var drained = DrainedMessages()
        queue.lockBoth()
        let wasValid = pointee.isValid
        pointee.isValid = false
        var source: SourcePointer?
        if wasValid {
            queue.closeLocked(&drained)
            pointee.running += 1
            // The client's functions may give up the caller's.
            retain()
            source = pointee.link?.pointee.source
            if let some = source, !some.retainIfAlive() { source = nil }
        }
        let invalidation = pointee.invalidation
        queue.unlockBoth()
        if !wasValid { return }
        drained.forEach { $0.release() }
        if let source {
            RunLoopPointer.invalidate(source)
            source.giveBack()
        }
        // In a child of fork() the thread may have no loop.
        let loop = HomePointer.current.map { RunLoopPointer($0) }
        let level = loop?.beginCleanup(Cleanup(function: { port, _, _ in abandonInvalidation(port) }, object: self))
        if let invalidation {
            RUNLOOP_IS_CALLING_OUT_TO_A_PORT_INVALIDATION_FUNCTION(invalidation, handle, pointee.context.info)
        }
        if let loop, let level { loop.endCleanup(level) }
        finish()
        _ = release()
    }

    /// In a child of fork(): of the client's functions only those go on that the forking thread has called. Under the lock.
    func abandonCalls(of survivor: RunLoopPointer?) { pointee.running = survivor?.countCleanups(of: self) ?? 0 }

    /// One load. Any thread.
    var isValid: Bool { queue.isOpen }

    /// What the client gave; empty once the port is invalid and its last function is over. Any thread.
    var context: ClientContext {
        queue.lockSenders()
        defer { queue.unlockSenders() }
        return pointee.context
    }

    /// Any thread.
    var invalidation: PortStorage.InvalidationCallout? {
        queue.lockSenders()
        defer { queue.unlockSenders() }
        return pointee.invalidation
    }

    /// Calls the function at once if the port is invalid already. Any thread.
    func setInvalidation(_ invalidation: PortStorage.InvalidationCallout?) {
        queue.lockBoth()
        let isValid = pointee.isValid
        pointee.invalidation = invalidation
        let info = pointee.context.info
        queue.unlockBoth()
        if let invalidation, !isValid { RUNLOOP_IS_CALLING_OUT_TO_A_PORT_INVALIDATION_FUNCTION(invalidation, handle, info) }
    }
}

/// The thread has ended in a port's invalidation function.
private func abandonInvalidation(_ port: UnsafeMutableRawPointer) {
    let port: PortPointer = Handle.storage(UnsafeRawPointer(port))
    port.finish()
    _ = port.release()
}

/// The thread has ended in a port's function.
private func abandonDelivery(_ port: UnsafeMutableRawPointer, _ message: UnsafeMutableRawPointer?, _: UnsafeMutableRawPointer?) {
    let message: PortMessagePointer? = message.map { Handle.storage(UnsafeRawPointer($0)) }
    let port: PortPointer = Handle.storage(UnsafeRawPointer(port))
    if let message, message.finish() { _ = message.release() }
    port.finish()
}
