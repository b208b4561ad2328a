import CLinux
import CRunLoop
import Synchronization

// The run loop source of a local message port, as `Port+Source.swift`: signalled by senders of this process, and followed by
// the sources of the connections wherever it goes.

extension UnsafeMutablePointer where Pointee == MessagePortStorage {
    /// RLMessagePortCreateRunLoopSource: the source with a reference for the caller, made if there is none. nil if the port is
    /// remote or invalid, or with ENOMEM. Any thread that has a Home.
    func source(order: Int, _ home: HomePointer) -> SourcePointer? {
        if pointee.isRemote || !isValid { return nil }
        if let known = knownSource { return known }
        guard let link = makeLink(order, home) else { return nil }
        let source = link.pointee.source.unsafelyUnwrapped
        queue.lockSenders()
        let isFirst = !hasLivingSourceLocked && queue.isOpenLocked
        if isFirst {
            pointee.link = link
            if queue.isSignalled { source.signalSeldom() }
        }
        queue.unlockSenders()
        if isFirst { return source }
        source.giveBack()
        return knownSource
    }

    private var hasLivingSourceLocked: Bool {
        guard let source = pointee.link?.pointee.source else { return false }
        return source.pointee.item.has(ItemHeader.valid)
    }

    private var knownSource: SourcePointer? {
        queue.lockSenders()
        guard let source = pointee.link?.pointee.source, source.retainIfAlive() else {
            queue.unlockSenders()
            return nil
        }
        queue.unlockSenders()
        if source.pointee.item.has(ItemHeader.valid) { return source }
        source.giveBack()
        return nil
    }

    private func makeLink(_ order: Int, _ home: HomePointer) -> MessagePortLinkPointer? {
        guard let memory = malloc(MemoryLayout<MessagePortLink>.size) else {
            systemError = ENOMEM
            return nil
        }
        let link = memory.bindMemory(to: MessagePortLink.self, capacity: 1)
        link.initialize(to: MessagePortLink(port: self))
        let detail = SourceDetail(
            release: { endLink($0) }, schedule: { updateLink($0, $1, $2) }, cancel: { updateLink($0, $1, $2) })
        guard let source = SourcePointer.create(home, order: order, info: memory, perform: { performLink($0) }, getPort: nil, detail) else {
            link.deinitialize(count: 1)
            free(memory)
            systemError = ENOMEM
            return nil
        }
        pointee.header.retain()
        link.pointee.source = source
        return link
    }
}

// Where the source is, the connections are watched.

extension UnsafeMutablePointer where Pointee == MessagePortStorage {
    /// The port's source has come to a loop and mode, or has left it. Two threads may say so in another order than they did it, so this looks
    /// where the source is now: each change is followed by a look, and the last look is right. Without a lock; any thread.
    @inline(never)
    func update(_ link: MessagePortLinkPointer, at attachment: MessagePortLink.Attachment) {
        guard let source = link.pointee.source else { return }
        pointee.attachmentsMutex.lock()
        if attachment.loop.contains(source, in: attachment.mode) { attach(attachment, link) } else { detach(attachment, link) }
        pointee.attachmentsMutex.unlock()
    }

    /// So are the sources of the connections from now on, or, if there is no memory for it, as soon as there is. Under `attachmentsMutex`.
    private func attach(_ attachment: MessagePortLink.Attachment, _ link: MessagePortLinkPointer) {
        queue.lockSenders()
        var isKnown = link.pointee.index(of: attachment) != nil
        if !isKnown && link.pointee.attachments.append(attachment) {
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
    private func detach(_ attachment: MessagePortLink.Attachment, _ link: MessagePortLinkPointer) {
        queue.lockSenders()
        var gone: StringPointer?
        if let index = link.pointee.index(of: attachment) {
            gone = link.pointee.attachments[index].mode
            link.pointee.attachments.remove(at: index)
        }
        queue.unlockSenders()
        var connection: ConnectionPointer?
        while let next = nextConnection(&connection) {
            guard let source = next.sharedSource else { continue }
            attachment.loop.remove(source, from: attachment.mode)
            source.giveBack()
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
        source.giveBack()
    }

    /// The one in front of `index`. The mode is retained for the caller.
    private func attachment(before index: inout Int) -> MessagePortLink.Attachment? {
        queue.lockSenders()
        defer { queue.unlockSenders() }
        guard let link = pointee.link else { return nil }
        index = Swift.min(index, link.pointee.attachments.count) - 1
        if index < 0 { return nil }
        link.pointee.attachments[index].mode.retain()
        return link.pointee.attachments[index]
    }
}

private func link(_ info: UnsafeRawPointer?) -> MessagePortLinkPointer {
    UnsafeMutableRawPointer(mutating: info.unsafelyUnwrapped).assumingMemoryBound(to: MessagePortLink.self)
}

private func performLink(_ info: UnsafeMutableRawPointer?) {
    guard let home = HomePointer.current else { return }
    let link = link(info)
    link.pointee.port.deliver(link, on: RunLoopPointer(home))
}

private func attachment(_ loop: OpaquePointer?, _ mode: OpaquePointer?) -> MessagePortLink.Attachment {
    MessagePortLink.Attachment(
        loop: Handle.storage(UnsafeRawPointer(loop.unsafelyUnwrapped)), mode: Handle.storage(UnsafeRawPointer(mode.unsafelyUnwrapped)))
}

/// The source came into a mode of a loop, or left one.
private func updateLink(_ info: UnsafeMutableRawPointer?, _ loop: OpaquePointer?, _ mode: OpaquePointer?) {
    let link = link(info)
    link.pointee.port.update(link, at: attachment(loop, mode))
}

/// The source ends.
private func endLink(_ info: UnsafeRawPointer?) {
    let link = link(info)
    let port = link.pointee.port
    port.queue.lockSenders()
    if port.pointee.link == link { port.pointee.link = nil }
    for index in 0..<link.pointee.attachments.count { link.pointee.attachments[index].mode.release() }
    port.queue.unlockSenders()
    link.deinitialize(count: 1)
    free(link)
    _ = port.release()
}
