import CLinux
import CRunLoop
import Synchronization

// The run loop source of a port: an ordinary version-0 source, which senders signal.

extension PortPointer {
    /// RLPortCreateRunLoopSource: returns the port's source with a reference for the caller, creating it if there is none. nil if the
    /// port is invalid, or with ENOMEM. The source retains the port. Any thread that has a context; calls no user code.
    func source(order: Int, _ threadContext: ThreadContextPointer) -> SourcePointer? {
        queue.lockSenders()
        let known = knownSourceLocked
        let isOpen = pointee.isValid
        queue.unlockSenders()
        if known != nil || !isOpen { return known }
        guard let new = makeSource(order: order, threadContext) else { return nil }
        return adopt(new)
    }

    /// The port's source, if there is a valid one, with a reference for the caller. Under the senders' lock, which makes a source that is
    /// being destroyed wait before its memory is freed; may release the lock and take it again.
    private var knownSourceLocked: SourcePointer? {
        guard let source = pointee.sourceInfo?.pointee.source, source.retainIfAlive() else { return nil }
        if source.pointee.item.has(.valid) { return source }
        // If this is the last reference to an invalidated source, its release function takes the lock.
        queue.unlockSenders()
        source.release()
        queue.lockSenders()
        return nil
    }

    /// Creates a source, which is not yet the port's, and its info. nil with ENOMEM.
    private func makeSource(order: Int, _ threadContext: ThreadContextPointer) -> PortSourceInfoPointer? {
        guard let memory = malloc(MemoryLayout<PortSourceInfo>.size) else {
            systemError = ENOMEM
            return nil
        }
        let sourceInfo = memory.bindMemory(to: PortSourceInfo.self, capacity: 1)
        sourceInfo.initialize(to: PortSourceInfo(port: self))
        let detail = SourceDetail(
            release: { releaseSource($0) }, schedule: { info, loop, _ in scheduleSource(info, loop) },
            cancel: { info, loop, _ in cancelSource(info, loop) })
        guard
            let source = SourcePointer.create(
                threadContext, order: order, info: memory, perform: { performSource($0) }, getPort: nil, detail)
        else {
            sourceInfo.deinitialize(count: 1)
            free(memory)
            systemError = ENOMEM
            return nil
        }
        retain()
        sourceInfo.pointee.source = source
        return sourceInfo
    }

    /// Makes a new source the port's, unless another thread has been faster or the port is invalid. Returns the port's source with a
    /// reference for the caller.
    private func adopt(_ sourceInfo: PortSourceInfoPointer) -> SourcePointer? {
        let source = sourceInfo.pointee.source.unsafelyUnwrapped
        queue.lockSenders()
        if let known = knownSourceLocked {
            queue.unlockSenders()
            source.release()
            return known
        }
        let isOpen = pointee.isValid
        if isOpen {
            pointee.sourceInfo = sourceInfo
            if queue.isSignalled { source.signalSlow() }
        }
        queue.unlockSenders()
        if isOpen { return source }
        source.release()
        return nil
    }
}

private func sourceInfo(from info: UnsafeMutableRawPointer?) -> PortSourceInfoPointer {
    info.unsafelyUnwrapped.assumingMemoryBound(to: PortSourceInfo.self)
}

/// The perform function.
private func performSource(_ info: UnsafeMutableRawPointer?) {
    guard let threadContext = ThreadContextPointer.current else { return }
    let sourceInfo = sourceInfo(from: info)
    sourceInfo.pointee.port.deliverMessages(sourceInfo, on: RunLoopPointer(threadContext))
}

/// The schedule function: the source was added to a mode of `loop`.
private func scheduleSource(_ info: UnsafeMutableRawPointer?, _ loop: OpaquePointer?) {
    let sourceInfo = sourceInfo(from: info)
    guard let loop else { return }
    let queue = sourceInfo.pointee.port.queue
    queue.lockSenders()
    let new: RunLoopPointer = Handle.storage(UnsafeRawPointer(loop))
    if !sourceInfo.pointee.loops.append(new) {
        sourceInfo.pointee.needsResync.store(1, ordering: .relaxed)
        sourceInfo.performAgain(on: new)
    }
    queue.unlockSenders()
}

/// The cancel function: the source was removed from a mode of `loop`.
private func cancelSource(_ info: UnsafeMutableRawPointer?, _ loop: OpaquePointer?) {
    let sourceInfo = sourceInfo(from: info)
    guard let loop else { return }
    let gone: RunLoopPointer = Handle.storage(UnsafeRawPointer(loop))
    let queue = sourceInfo.pointee.port.queue
    queue.lockSenders()
    if let index = sourceInfo.pointee.index(of: gone) { sourceInfo.pointee.loops.remove(at: index) }
    if sourceInfo.pointee.needsResync.load(ordering: .relaxed) != 0 { sourceInfo.performAgain(on: gone) }
    queue.unlockSenders()
}

/// The release function: frees the info when the source is destroyed.
private func releaseSource(_ info: UnsafeRawPointer?) {
    let sourceInfo = sourceInfo(from: UnsafeMutableRawPointer(mutating: info))
    let port = sourceInfo.pointee.port
    port.queue.lockSenders()
    if port.pointee.sourceInfo == sourceInfo { port.pointee.sourceInfo = nil }
    port.queue.unlockSenders()
    sourceInfo.deinitialize(count: 1)
    free(sourceInfo)
    _ = port.release()
}
