import CLinux
import CRunLoop
import Synchronization

// The run loop source of a local message port. Senders of this process signal it; the sources of the port's connections follow it into
// every loop and mode.

extension MessagePortPointer {
    /// RLMessagePortCreateRunLoopSource: returns the port's source with a reference for the caller, creating it if there is none. nil if
    /// the port is remote or invalid, or with ENOMEM. Any thread that has a context; calls no user code.
    func source(order: Int, _ threadContext: ThreadContextPointer) -> SourcePointer? {
        if pointee.isRemote { return nil }
        return queue.source(
            of: withUnsafeMutablePointer(to: &pointee.header) { $0 }, order: order, threadContext,
            PortSource.Functions(
                perform: { performSource($0) }, release: { releaseSource($0) }, follow: { port(from: $0).follow($1, $2) }))
    }

    /// Watches all connections in a loop and mode where the port's source is, or stops that. Under the queue's `attachmentsMutex`.
    fileprivate func follow(_ attachment: PortSource.Attachment, _ isThere: Bool) {
        var connection: ConnectionPointer?
        while let next = nextConnection(&connection) {
            guard let source = next.sharedSource else { continue }
            if isThere { watch(source, at: attachment) } else { attachment.loop.remove(source, from: attachment.mode) }
            source.release()
        }
    }

    /// Watches a new connection wherever the port's source is. Any thread, without a lock.
    @inline(never)
    func watch(_ connection: ConnectionPointer) {
        queue.pointee.attachmentsMutex.lock()
        if let source = connection.sharedSource {
            var index = Int.max
            while let attachment = queue.attachment(before: &index) {
                watch(source, at: attachment)
                attachment.mode.release()
            }
            source.release()
        }
        queue.pointee.attachmentsMutex.unlock()
    }

    /// Adds the source of a connection to a mode; if there is no memory for that, the port's source is signalled to try again.
    private func watch(_ source: SourcePointer, at attachment: PortSource.Attachment) {
        if !attachment.loop.add(source, in: attachment.mode), systemError == ENOMEM { queue.requestResync() }
    }
}

/// The perform function.
private func performSource(_ info: UnsafeMutableRawPointer?) {
    guard let threadContext = ThreadContextPointer.current else { return }
    let portSource = PortSourcePointer(info: info)
    port(from: portSource.pointee.port).deliverRequests(portSource, on: RunLoopPointer(threadContext))
}

/// The release function.
private func releaseSource(_ info: UnsafeRawPointer?) {
    let portSource = PortSourcePointer(info: info)
    let port = port(from: portSource.pointee.port)
    portSource.destroy()
    _ = port.release()
}

private func port(from object: UnsafeMutablePointer<ObjectHeader>) -> MessagePortPointer { Handle.storage(UnsafeRawPointer(object)) }
