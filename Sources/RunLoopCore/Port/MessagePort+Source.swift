import CLinux
import CRunLoop
import Synchronization

// The run loop source of a local message port, as `Port+Source.swift`: signalled by senders of this process, and followed by
// the sources of the wires wherever it goes.

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
            if queue.isAnnounced { source.signalSeldom() }
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
            release: { endLink($0) }, schedule: { scheduleLink($0, $1, $2) }, cancel: { cancelLink($0, $1, $2) })
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

private func link(_ info: UnsafeRawPointer?) -> MessagePortLinkPointer {
    UnsafeMutableRawPointer(mutating: info.unsafelyUnwrapped).assumingMemoryBound(to: MessagePortLink.self)
}

private func performLink(_ info: UnsafeMutableRawPointer?) {
    guard let home = HomePointer.current else { return }
    let link = link(info)
    link.pointee.port.deliver(link, on: RunLoopPointer(home))
}

private func place(_ loop: OpaquePointer?, _ mode: OpaquePointer?) -> MessagePortLink.Place {
    MessagePortLink.Place(
        loop: Handle.storage(UnsafeRawPointer(loop.unsafelyUnwrapped)), mode: Handle.storage(UnsafeRawPointer(mode.unsafelyUnwrapped)))
}

/// The source came into a mode of a loop.
private func scheduleLink(_ info: UnsafeMutableRawPointer?, _ loop: OpaquePointer?, _ mode: OpaquePointer?) {
    let link = link(info)
    link.pointee.port.serve(link, at: place(loop, mode))
}

/// The source left a mode of a loop.
private func cancelLink(_ info: UnsafeMutableRawPointer?, _ loop: OpaquePointer?, _ mode: OpaquePointer?) {
    let link = link(info)
    let place = place(loop, mode)
    let port = link.pointee.port
    port.queue.lockSenders()
    var gone: StringPointer?
    if let index = link.pointee.index(of: place) {
        gone = link.pointee.places[index].mode
        link.pointee.places.remove(at: index)
    }
    port.queue.unlockSenders()
    var wire: WirePointer?
    while let next = port.nextWire(&wire) {
        guard let source = next.sharedSource else { continue }
        place.loop.remove(source, from: place.mode)
        source.giveBack()
    }
    gone?.release()
}

/// The source ends.
private func endLink(_ info: UnsafeRawPointer?) {
    let link = link(info)
    let port = link.pointee.port
    port.queue.lockSenders()
    if port.pointee.link == link { port.pointee.link = nil }
    for index in 0..<link.pointee.places.count { link.pointee.places[index].mode.release() }
    port.queue.unlockSenders()
    link.deinitialize(count: 1)
    free(link)
    _ = port.release()
}
