import CLinux
import CRunLoop
import Synchronization

// The run loop source of a local message port. Senders of this process signal it; the sources of the port's connections follow it into
// every loop and mode.

extension MessagePortPointer {
    /// RLMessagePortCreateRunLoopSource: returns the port's source with a reference for the caller, creating it if there is none. nil if
    /// the port is remote or invalid, or with ENOMEM. Any thread that has a context; calls no user code.
    func source(order: Int, _ threadContext: ThreadContextPointer) -> SourcePointer? {
        if pointee.isRemote || !isValid { return nil }
        if let known = knownSource { return known }
        guard let sourceInfo = makeSource(order, threadContext) else { return nil }
        let source = sourceInfo.pointee.source.unsafelyUnwrapped
        queue.lockSenders()
        let isFirst = !hasValidSourceLocked && queue.isOpenLocked
        if isFirst {
            pointee.sourceInfo = sourceInfo
            if queue.isSignalled { source.signalSlow() }
        }
        queue.unlockSenders()
        if isFirst { return source }
        source.release()
        return knownSource
    }

    /// Whether the port's source is in a loop. Any thread, without the senders' lock.
    func isServed(by loop: RunLoopPointer) -> Bool {
        queue.lockSenders()
        defer { queue.unlockSenders() }
        guard let sourceInfo = pointee.sourceInfo else { return false }
        for index in 0..<sourceInfo.pointee.attachments.count where sourceInfo.pointee.attachments[index].loop == loop { return true }
        return false
    }

    /// Whether the port has a source that was not invalidated. Under the senders' lock.
    private var hasValidSourceLocked: Bool {
        guard let source = pointee.sourceInfo?.pointee.source else { return false }
        return source.pointee.item.has(.valid)
    }

    /// The port's source with a reference for the caller; nil if it has no valid one. Without the senders' lock.
    private var knownSource: SourcePointer? {
        queue.lockSenders()
        guard let source = pointee.sourceInfo?.pointee.source, source.retainIfAlive() else {
            queue.unlockSenders()
            return nil
        }
        queue.unlockSenders()
        if source.pointee.item.has(.valid) { return source }
        source.release()
        return nil
    }

    /// Creates a source, which is not yet the port's, and its info. nil with ENOMEM.
    private func makeSource(_ order: Int, _ threadContext: ThreadContextPointer) -> MessagePortSourceInfoPointer? {
        guard let memory = malloc(MemoryLayout<MessagePortSourceInfo>.size) else {
            systemError = ENOMEM
            return nil
        }
        let sourceInfo = memory.bindMemory(to: MessagePortSourceInfo.self, capacity: 1)
        sourceInfo.initialize(to: MessagePortSourceInfo(port: self))
        let detail = SourceDetail(
            release: { releaseSource($0) }, schedule: { updateSource($0, $1, $2) }, cancel: { updateSource($0, $1, $2) })
        guard
            let source = SourcePointer.create(
                threadContext, order: order, info: memory, perform: { performSource($0) }, getPort: nil, detail)
        else {
            sourceInfo.deinitialize(count: 1)
            free(memory)
            systemError = ENOMEM
            return nil
        }
        pointee.header.retain()
        sourceInfo.pointee.source = source
        return sourceInfo
    }
}

// Where the port's source is, its connections are watched.

extension MessagePortPointer {
    /// The port's source was added to a loop and mode, or removed from it. Two threads may report their changes in another order than
    /// they made them. So this looks where the source is now: a look follows each change, and the last look is right. Any thread, without
    /// a lock.
    func update(_ sourceInfo: MessagePortSourceInfoPointer, at attachment: MessagePortSourceInfo.Attachment) {
        guard let source = sourceInfo.pointee.source else { return }
        pointee.attachmentsMutex.lock()
        if attachment.loop.contains(source, in: attachment.mode) { attach(attachment, sourceInfo) } else { detach(attachment, sourceInfo) }
        pointee.attachmentsMutex.unlock()
    }

    /// Watches all connections in a loop and mode; if there is no memory for that, the source is signalled to try again. Under
    /// `attachmentsMutex`.
    private func attach(_ attachment: MessagePortSourceInfo.Attachment, _ sourceInfo: MessagePortSourceInfoPointer) {
        queue.lockSenders()
        var isKnown = sourceInfo.pointee.index(of: attachment) != nil
        if !isKnown && sourceInfo.pointee.attachments.append(attachment) {
            attachment.mode.retain()
            isKnown = true
        }
        queue.unlockSenders()
        if !isKnown {
            requestResync()
            attachment.loop.wakeUpSlow()
        }
        var connection: ConnectionPointer?
        while let next = nextConnection(&connection) { watchLocked(next) }
    }

    /// Stops watching the connections in a loop and mode. Under `attachmentsMutex`.
    private func detach(_ attachment: MessagePortSourceInfo.Attachment, _ sourceInfo: MessagePortSourceInfoPointer) {
        queue.lockSenders()
        var removedMode: StringPointer?
        if let index = sourceInfo.pointee.index(of: attachment) {
            removedMode = sourceInfo.pointee.attachments[index].mode
            sourceInfo.pointee.attachments.remove(at: index)
        }
        queue.unlockSenders()
        var connection: ConnectionPointer?
        while let next = nextConnection(&connection) {
            guard let source = next.sharedSource else { continue }
            attachment.loop.remove(source, from: attachment.mode)
            source.release()
        }
        removedMode?.release()
    }

    /// Watches a new connection wherever the port's source is. Any thread, without a lock.
    @inline(never)
    func watch(_ connection: ConnectionPointer) {
        pointee.attachmentsMutex.lock()
        watchLocked(connection)
        pointee.attachmentsMutex.unlock()
    }

    /// `watch` under `attachmentsMutex`.
    private func watchLocked(_ connection: ConnectionPointer) {
        guard let source = connection.sharedSource else { return }
        var index = Int.max
        while let attachment = attachment(before: &index) {
            if !attachment.loop.add(source, in: attachment.mode), systemError == ENOMEM { requestResync() }
            attachment.mode.release()
        }
        source.release()
    }

    /// The attachment in front of `index`, which becomes its index; nil if there is none. For a walk from the end during which
    /// attachments may come and go. Its mode is retained for the caller.
    private func attachment(before index: inout Int) -> MessagePortSourceInfo.Attachment? {
        queue.lockSenders()
        defer { queue.unlockSenders() }
        guard let sourceInfo = pointee.sourceInfo else { return nil }
        index = Swift.min(index, sourceInfo.pointee.attachments.count) - 1
        if index < 0 { return nil }
        sourceInfo.pointee.attachments[index].mode.retain()
        return sourceInfo.pointee.attachments[index]
    }
}

private func sourceInfo(from info: UnsafeRawPointer?) -> MessagePortSourceInfoPointer {
    UnsafeMutableRawPointer(mutating: info.unsafelyUnwrapped).assumingMemoryBound(to: MessagePortSourceInfo.self)
}

/// The perform function.
private func performSource(_ info: UnsafeMutableRawPointer?) {
    guard let threadContext = ThreadContextPointer.current else { return }
    let sourceInfo = sourceInfo(from: info)
    sourceInfo.pointee.port.deliverRequests(sourceInfo, on: RunLoopPointer(threadContext))
}

private func attachment(_ loop: OpaquePointer?, _ mode: OpaquePointer?) -> MessagePortSourceInfo.Attachment {
    MessagePortSourceInfo.Attachment(
        loop: Handle.storage(UnsafeRawPointer(loop.unsafelyUnwrapped)), mode: Handle.storage(UnsafeRawPointer(mode.unsafelyUnwrapped)))
}

/// The schedule and the cancel function: the source was added to a mode of a loop, or removed from it.
private func updateSource(_ info: UnsafeMutableRawPointer?, _ loop: OpaquePointer?, _ mode: OpaquePointer?) {
    let sourceInfo = sourceInfo(from: info)
    sourceInfo.pointee.port.update(sourceInfo, at: attachment(loop, mode))
}

/// The release function: frees the info when the source is destroyed.
private func releaseSource(_ info: UnsafeRawPointer?) {
    let sourceInfo = sourceInfo(from: info)
    let port = sourceInfo.pointee.port
    port.queue.lockSenders()
    if port.pointee.sourceInfo == sourceInfo { port.pointee.sourceInfo = nil }
    for index in 0..<sourceInfo.pointee.attachments.count { sourceInfo.pointee.attachments[index].mode.release() }
    port.queue.unlockSenders()
    sourceInfo.deinitialize(count: 1)
    free(sourceInfo)
    _ = port.release()
}
