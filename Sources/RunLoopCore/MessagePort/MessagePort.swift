import CLinux
import CRunLoop
import Synchronization

/// RLMessagePort, local or remote. A local port has a name and answers requests. A remote port stands for a name and sends requests to it,
/// through a `Connection` that has a socket only if another process serves the name.
///
/// Guarded by the mutex of `base`, unless stated otherwise.
struct MessagePortStorage: PortObject, Locked, ~Copyable {
    static var kind: Kind { .messagePort }
    typealias Callout = @convention(c) (OpaquePointer?, Int32, OpaquePointer?, UnsafeMutableRawPointer?) -> OpaquePointer?

    /// What all ports have in common. The queue contains the requests that are sent to a local port from this process.
    var base: PortHeader
    var mutex: Mutex { _read { yield base.mutex } }
    /// Local: processes of other users may connect.
    var allowsOthers = false
    /// Remote: the user who is trusted to serve the name. Local: this process's user.
    let user: UInt32
    /// What a local port calls; nil for a remote port.
    let callout: Callout?
    var isRemote: Bool { callout == nil }
    /// Retained; nil for a local port without a name. Changed under `PortRegistry.namesMutex`, the registry's mutex and `mutex`: each
    /// of the three is enough to read it.
    var name: StringPointer?
    /// All connections, open or closed, until they are freed: of a local port the listener and those to its remote ports in all processes,
    /// of a remote port the one to another process.
    var connections: ConnectionPointer?

    // Local ports.
    /// The file of the name, locked as long as the port has the name; -1 if it has none.
    var nameLock: Int32 = -1
    /// 1 if there was no memory to watch some connection. The port's source is then signalled, to try again. Any thread.
    let mustFollow = Atomic<UInt32>(0)
    /// The peers at the other ends of the connections.
    var peers: PeerPointer?

    // Remote ports.
    /// The connection to the local port; nil once this port is invalid. Retained.
    var connection: ConnectionPointer?
    /// The requests that wait for their replies, oldest first.
    var pending = LinkedQueue<PendingRequest>()
    /// The number of the latest request that wants a reply.
    var lastID: UInt32 = 0

    /// Retains the name.
    @inline(never)
    init(_ name: StringPointer?, of user: UInt32, _ callout: Callout?, _ context: ClientContext) {
        name?.retain()
        self.user = user
        self.name = name
        self.callout = callout
        base = PortHeader(
            .messagePort, context,
            PortHeader.Functions(
                deliver: {
                    let portSource = PortSourcePointer($0)
                    MessagePortPointer(portSource.pointee.port).deliverRequests(portSource)
                },
                close: { MessagePortPointer($0).close() },
                destroy: { MessagePortPointer($0).destroy() },
                follow: { info, loop, _ in
                    let port = MessagePortPointer(PortSourcePointer(info).pointee.port)
                    port.walkConnections { port.watch($0, in: loop.map { Handle.storage(UnsafeRawPointer($0)) }) }
                },
                fork: { MessagePortPointer($0).fork($1) }))
    }
}

typealias MessagePortPointer = UnsafeMutablePointer<MessagePortStorage>

extension MessagePortPointer {
    /// Frees the port.
    fileprivate func destroy() {
        let name = pointee.name
        deallocatePort()
        name?.release()
    }

    /// See `PortHeader.Functions`.
    fileprivate func close() {
        if pointee.isRemote {
            locked { while let pending = pointee.pending.first { pending.complete(with: .becameInvalid) } }
            closeConnection()
            return
        }
        walkConnections { connection in connection.locked { connection.set(.isEnding, to: .isEnding) } }
        releaseName()
        // First, so that senders of this process learn that the port is invalid, rather than that there is no reply.
        walkConnections { if $0.pointee.role == .inProcess { $0.close() } }
        while let queued = queue.takeNext(nil) { _ = RequestPointer(queued.content).release() }
        queue.invalidateSource()
        // Last, when no loop watches the sockets, so that shutting them down wakes none.
        sendLastRepliesAndClose()
    }

    /// Whether a process may be at the other end of a connection. The caller holds the mutex.
    func accepts(_ peer: PacketSocket.Credentials) -> Bool { peer.user == pointee.user || pointee.allowsOthers }
}

// fork(): names and connections belong to the parent. In the child all message ports become invalid, and no callback is called.

extension MessagePortPointer {
    /// Performs one step of a fork(): see `PortHeader.Functions`.
    fileprivate func fork(_ step: UInt8) {
        switch PortHeader.ForkStep(rawValue: step) {
        case .lock: pointee.connections?.forEach { $0.pointee.mutex.lock() }
        case .unlock: pointee.connections?.forEach { $0.pointee.mutex.unlock() }
        case .reset: resetInChild()
        default:
            // Invalidates the port, after all ports have been reset.
            releaseAbandonedRequests()
            queue.close()
            close()
            base.endCall()
        }
    }

    /// Drops the port's callbacks, and closes its descriptors without the parent noticing. Also for a port that a thread that does not exist
    /// in the child was invalidating. Counts a call, which keeps the port, until the last step of the fork.
    private func resetInChild() {
        pointee.base.isValid = false
        base.countCall()
        pointee.base.invalidation = nil
        pointee.base.context.release = nil
        // The name stays the parent's.
        if pointee.nameLock >= 0 { Descriptor.close(pointee.nameLock) }
        pointee.nameLock = -1
        pointee.connections?.forEach { $0.resetInChild() }
    }
}
