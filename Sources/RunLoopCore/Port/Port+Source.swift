import CLinux
import CRunLoop
import Synchronization

// The run loop source of a port: an ordinary one of version 0, signalled by whoever sends.

extension UnsafeMutablePointer where Pointee == PortStorage {
    /// RLPortCreateRunLoopSource: the port's source with a reference for the caller, made if there is none. nil if the port
    /// is invalid, or with ENOMEM. The source retains the port. Any thread that has a Home.
    func source(order: Int, _ home: HomePointer) -> SourcePointer? {
        queue.lockSenders()
        let known = knownSourceLocked
        let isOpen = pointee.isValid
        queue.unlockSenders()
        if known != nil || !isOpen { return known }
        guard let new = makeSource(order: order, home) else { return nil }
        return linkTo(new)
    }

    /// With a reference for the caller. Under the senders' lock, so that a source that ends waits before its memory goes.
    private var knownSourceLocked: SourcePointer? {
        guard let source = pointee.link?.pointee.source, source.retainIfAlive() else { return nil }
        if source.pointee.item.has(ItemHeader.valid) { return source }
        // Somebody has invalidated it. If this is the last reference, its end takes the lock.
        queue.unlockSenders()
        source.giveBack()
        queue.lockSenders()
        return nil
    }

    private func makeSource(order: Int, _ home: HomePointer) -> PortLinkPointer? {
        guard let memory = malloc(MemoryLayout<PortLink>.size) else {
            systemError = ENOMEM
            return nil
        }
        let link = memory.bindMemory(to: PortLink.self, capacity: 1)
        link.initialize(to: PortLink(port: self))
        let detail = SourceDetail(
            release: { endLink($0) }, schedule: { info, loop, _ in scheduleLink(info, loop) },
            cancel: { info, loop, _ in cancelLink(info, loop) })
        guard let source = SourcePointer.create(home, order: order, info: memory, perform: { performLink($0) }, getPort: nil, detail) else {
            link.deinitialize(count: 1)
            free(memory)
            systemError = ENOMEM
            return nil
        }
        retain()
        link.pointee.source = source
        return link
    }

    /// Makes a new link the port's, unless another thread was faster or the port has ended.
    private func linkTo(_ link: PortLinkPointer) -> SourcePointer? {
        let source = link.pointee.source.unsafelyUnwrapped
        queue.lockSenders()
        if let known = knownSourceLocked {
            queue.unlockSenders()
            source.giveBack()
            return known
        }
        let isOpen = pointee.isValid
        if isOpen {
            pointee.link = link
            if queue.isSignalled { source.signalSeldom() }
        }
        queue.unlockSenders()
        if isOpen { return source }
        source.giveBack()
        return nil
    }
}

private func link(_ info: UnsafeMutableRawPointer?) -> PortLinkPointer {
    info.unsafelyUnwrapped.assumingMemoryBound(to: PortLink.self)
}

private func performLink(_ info: UnsafeMutableRawPointer?) {
    guard let home = HomePointer.current else { return }
    let link = link(info)
    link.pointee.port.deliver(link, on: RunLoopPointer(home))
}

/// The source came into a mode of a loop.
private func scheduleLink(_ info: UnsafeMutableRawPointer?, _ loop: OpaquePointer?) {
    let link = link(info)
    guard let loop else { return }
    let queue = link.pointee.port.queue
    queue.lockSenders()
    let new: RunLoopPointer = Handle.storage(UnsafeRawPointer(loop))
    if !link.pointee.loops.append(new) {
        link.pointee.needsResync.store(1, ordering: .relaxed)
        link.tryAgain(on: new)
    }
    queue.unlockSenders()
}

/// The source left a mode of a loop.
private func cancelLink(_ info: UnsafeMutableRawPointer?, _ loop: OpaquePointer?) {
    let link = link(info)
    guard let loop else { return }
    let gone: RunLoopPointer = Handle.storage(UnsafeRawPointer(loop))
    let queue = link.pointee.port.queue
    queue.lockSenders()
    if let index = link.pointee.index(of: gone) { link.pointee.loops.remove(at: index) }
    if link.pointee.needsResync.load(ordering: .relaxed) != 0 { link.tryAgain(on: gone) }
    queue.unlockSenders()
}

/// The source ends.
private func endLink(_ info: UnsafeRawPointer?) {
    let link = link(UnsafeMutableRawPointer(mutating: info))
    let port = link.pointee.port
    port.queue.lockSenders()
    if port.pointee.link == link { port.pointee.link = nil }
    port.queue.unlockSenders()
    link.deinitialize(count: 1)
    free(link)
    _ = port.release()
}
