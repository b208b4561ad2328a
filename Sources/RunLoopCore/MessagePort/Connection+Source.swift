import CLinux
import Synchronization

// The source that watches the descriptor of a connection, from its creation to its end, wherever the port is served.

extension Connection {
    /// The functions of all these sources: one detail is enough. The address of it; any thread.
    fileprivate static let sourceDetail = Atomic<UInt>(0)
}

extension ConnectionPointer {
    /// Creates the source, in no loop, which retains the connection. nil if out of memory.
    func makeSource() -> SourcePointer? {
        guard let loop = Registry.current,
            let detail = SourceDetailPointer.shared(Connection.sourceDetail, SourceDetail(release: { connection($0).release() })),
            let source = SourcePointer.create(
                loop.threadContext, order: 0, info: UnsafeMutableRawPointer(self),
                eventHandler: { info, ready, _ in connection(info).handleEvents(ready).rawValue },
                getPort: { connection($0).pointee.fd }, detail)
        else { return nil }
        retain()
        source.pointee.item.set(.unreferenced)
        source.setInterest(.readable)
        return source
    }

    /// Closes the connection: removes it from its port and from all loops, and tells the other end. Any thread that has a reference,
    /// without a lock; calls invalidation functions. A second call has no effect.
    @inline(never)
    func close() {
        if !pointee.port.locked({ unlink(from: &pointee.port.pointee.connections) }) { return }
        if pointee.role == .server { SilentClients.remove(self) }
        shutDown()
        pointee.remote?.invalidate()
        callRequestInvalidations()
        release()
    }

    /// Shuts the socket down and invalidates the source, of a connection that is in no list. Any thread, without a lock.
    func shutDown() {
        let source = locked { () -> SourcePointer? in
            if pointee.isOpen && pointee.fd >= 0 {
                PacketSocket.shutDown(pointee.fd)
                // A client that puts an entry into the ring from now on sends a doorbell, which fails.
                if pointee.ring.isOpen { pointee.ring.requestDoorbell() }
            }
            pointee.isOpen = false
            pointee.ahead.removeAll()
            defer { pointee.source = nil }
            return pointee.source
        }
        guard let source else { return }
        RunLoopPointer.invalidate(source)
        source.release()
    }

    /// In a child of fork(): closes the descriptor, without a shutdown, which the peer would notice, and forgets its requests.
    func closeInChild() {
        pointee.isOpen = false
        if pointee.fd >= 0 { Descriptor.close(pointee.fd) }
        pointee.fd = -1
        forgetWatchedRequests()
    }

    /// The source with a reference for the caller; nil once the connection is closed. Any thread, without the mutex.
    var sharedSource: SourcePointer? {
        locked {
            pointee.source?.pointee.item.object.retain()
            return pointee.source
        }
    }
}

private func connection(_ info: UnsafeRawPointer?) -> ConnectionPointer {
    UnsafeMutableRawPointer(mutating: info.unsafelyUnwrapped).assumingMemoryBound(to: Connection.self)
}
