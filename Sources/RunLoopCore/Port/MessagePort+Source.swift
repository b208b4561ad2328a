import CLinux
import CRunLoop
import Synchronization

// The run loop source of a local message port, as `Port+Source.swift`: signalled by senders of this process, and followed by
// the sources of the connections wherever it goes.

extension MessagePortPointer {
    /// RLMessagePortCreateRunLoopSource: the source with a reference for the caller, made if there is none. nil if the port is
    /// remote or invalid, or with ENOMEM. Any thread that has a context.
    func source(order: Int, _ threadContext: ThreadContextPointer) -> SourcePointer? {
        if pointee.isRemote || !isValid { return nil }
        if let known = knownSource { return known }
        guard let sourceInfo = makeSource(order, threadContext) else { return nil }
        let source = sourceInfo.pointee.source.unsafelyUnwrapped
        queue.lockSenders()
        let isFirst = !hasLivingSourceLocked && queue.isOpenLocked
        if isFirst {
            pointee.sourceInfo = sourceInfo
            if queue.isSignalled { source.signalSeldom() }
        }
        queue.unlockSenders()
        if isFirst { return source }
        source.release()
        return knownSource
    }

    private var hasLivingSourceLocked: Bool {
        guard let source = pointee.sourceInfo?.pointee.source else { return false }
        return source.pointee.item.has(ItemHeader.valid)
    }

    private var knownSource: SourcePointer? {
        queue.lockSenders()
        guard let source = pointee.sourceInfo?.pointee.source, source.retainIfAlive() else {
            queue.unlockSenders()
            return nil
        }
        queue.unlockSenders()
        if source.pointee.item.has(ItemHeader.valid) { return source }
        source.release()
        return nil
    }

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

// Where the source is, the connections are watched.

extension MessagePortPointer {
    /// The port's source has come to a loop and mode, or has left it. Two threads may say so in another order than they did it, so this looks
    /// where the source is now: each change is followed by a look, and the last look is right. Without a lock; any thread.
    @inline(never)
    func update(_ sourceInfo: MessagePortSourceInfoPointer, at attachment: MessagePortSourceInfo.Attachment) {
        guard let source = sourceInfo.pointee.source else { return }
        pointee.attachmentsMutex.lock()
        if attachment.loop.contains(source, in: attachment.mode) { attach(attachment, sourceInfo) } else { detach(attachment, sourceInfo) }
        pointee.attachmentsMutex.unlock()
    }

    /// So are the sources of the connections from now on, or, if there is no memory for it, as soon as there is. Under `attachmentsMutex`.
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
            attachment.loop.wakeUpSeldom()
        }
        var connection: ConnectionPointer?
        while let next = nextConnection(&connection) { watchLocked(next) }
    }

    /// Takes the sources of the connections away, too. Under `attachmentsMutex`.
    private func detach(_ attachment: MessagePortSourceInfo.Attachment, _ sourceInfo: MessagePortSourceInfoPointer) {
        queue.lockSenders()
        var gone: StringPointer?
        if let index = sourceInfo.pointee.index(of: attachment) {
            gone = sourceInfo.pointee.attachments[index].mode
            sourceInfo.pointee.attachments.remove(at: index)
        }
        queue.unlockSenders()
        var connection: ConnectionPointer?
        while let next = nextConnection(&connection) {
            guard let source = next.sharedSource else { continue }
            attachment.loop.remove(source, from: attachment.mode)
            source.release()
        }
        gone?.release()
    }

    /// Watches a connection wherever the port is served.
    @inline(never)
    func watch(_ connection: ConnectionPointer) {
        pointee.attachmentsMutex.lock()
        watchLocked(connection)
        pointee.attachmentsMutex.unlock()
    }

    /// Under `attachmentsMutex`.
    private func watchLocked(_ connection: ConnectionPointer) {
        guard let source = connection.sharedSource else { return }
        var index = Int.max
        while let attachment = attachment(before: &index) {
            if !attachment.loop.add(source, in: attachment.mode), systemError == ENOMEM { requestResync() }
            attachment.mode.release()
        }
        source.release()
    }

    /// The one in front of `index`. The mode is retained for the caller.
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

private func performSource(_ info: UnsafeMutableRawPointer?) {
    guard let threadContext = ThreadContextPointer.current else { return }
    let sourceInfo = sourceInfo(from: info)
    sourceInfo.pointee.port.deliverRequests(sourceInfo, on: RunLoopPointer(threadContext))
}

private func attachment(_ loop: OpaquePointer?, _ mode: OpaquePointer?) -> MessagePortSourceInfo.Attachment {
    MessagePortSourceInfo.Attachment(
        loop: Handle.storage(UnsafeRawPointer(loop.unsafelyUnwrapped)), mode: Handle.storage(UnsafeRawPointer(mode.unsafelyUnwrapped)))
}

/// The source came into a mode of a loop, or left one.
private func updateSource(_ info: UnsafeMutableRawPointer?, _ loop: OpaquePointer?, _ mode: OpaquePointer?) {
    let sourceInfo = sourceInfo(from: info)
    sourceInfo.pointee.port.update(sourceInfo, at: attachment(loop, mode))
}

/// The source ends.
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
