import CLinux
import Synchronization

// The source that watches the descriptor of a connection: made with it, in all loops and modes where the port is served, gone at its end.

extension Connection {
    /// What all their sources have in common.
    fileprivate static let sourceDetail = Atomic<UInt>(0)
}

extension UnsafeMutablePointer where Pointee == Connection {
    /// The source for the descriptor, in no loop. It retains the connection.
    func makeSource() -> SourcePointer? {
        guard let loop = Registry.current,
            let detail = SourceDetailPointer.shared(Connection.sourceDetail, SourceDetail(release: { connection($0).release() })),
            let source = SourcePointer.create(
                loop.home, order: 0, info: UnsafeMutableRawPointer(self),
                eventHandler: { info, ready, _ in connection(info).handleEvents(ready).rawValue },
                getPort: { connection($0).pointee.fd }, detail)
        else { return nil }
        retain()
        source.pointee.item.set(ItemHeader.unreferenced)
        source.setInterest(.readable)
        return source
    }

    /// Out of the port's list and of all loops; the other end hears of it. Any thread; calls the functions of
    /// requests that watch their client. A second call has no effect.
    @inline(never)
    func close() {
        if !pointee.port.locked({ unlink(from: &pointee.port.pointee.connections) }) { return }
        end()
        callRequestInvalidations()
        release()
    }

    /// The same for one that is in no list.
    func end() {
        let source = locked { () -> SourcePointer? in
            if pointee.isOpen && pointee.fd >= 0 {
                PacketSocket.end(pointee.fd)
                // The next doorbell says so.
                if pointee.ring.isThere { pointee.ring.requestDoorbell() }
            }
            pointee.isOpen = false
            defer { pointee.source = nil }
            return pointee.source
        }
        guard let source else { return }
        RunLoopPointer.invalidate(source)
        source.giveBack()
    }

    /// The source with a reference for the caller; nil once the connection is cut. Any thread.
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
