import CLinux
import Synchronization

// A server may end directly after a reply that did not fit into the socket. What is queued is then sent before the port, or the process,
// ends: in rounds, in each of which every client that has room for a packet gets one. So clients that read
// do not wait for those that do not.

/// How long a port or a process that ends goes on with these rounds. Plain values.
struct LastReplies {
    /// The process that has created the latest local port. Written under `PortRegistry.namesMutex`.
    private nonisolated(unsafe) static var process: Int32 = 0
    /// Evaluated once: registers the function for exit(3).
    private static let isRegistered: Void = Thread.callAtProcessExit {
        // A child that was made without fork handlers has copies of its parent's ports.
        if process == PacketSocket.own.process { MessagePortPointer.sendLastRepliesAtExit() }
    }

    /// Has the process send queued replies when it exits. For each local port; the caller holds `PortRegistry.namesMutex`.
    static func prepareExit() {
        isRegistered
        process = PacketSocket.own.process
    }

    private let deadline = Clock.now.advanced(by: PortLimits.lastReplies)
    /// When to give up if nothing more can be sent.
    private var limit = Instant.never
    /// Whether something was sent in the current round; nil if nothing was queued.
    private var isAnySent: Bool?

    /// Whether the time is up, even in the middle of a round.
    var isOver: Bool { Clock.now >= deadline }

    /// Notes what the round has found at a connection: whether a packet was sent, because there was room; nil if none is queued.
    mutating func note(_ isSent: Bool?) { if isSent == true || isAnySent == nil { isAnySent = isSent } }

    /// Ends a round. Returns whether there should be another one; if none was sent in this one, waits a millisecond before.
    mutating func beginNextRound() -> Bool {
        defer { isAnySent = nil }
        let now = Clock.now
        if isAnySent == true || limit == .never { limit = min(deadline, now.advanced(by: PortLimits.lastReply)) }
        if isAnySent == nil || now >= limit { return false }
        if isAnySent == false { _ = Descriptor.poll(-1, for: [], within: 1_000_000) }
        return true
    }
}

extension MessagePortPointer {
    /// Closes the connections of a local port that is invalid and that no loop watches: those with queued replies once these are sent, or the
    /// time is up. Any thread; call without a lock held. Calls user code.
    func sendLastRepliesAndClose() {
        var replies = LastReplies()
        repeat {
            walkConnections { connection in
                let isSent = replies.isOver ? nil : connection.locked { connection.sendLastLocked() }
                if isSent == nil { connection.close() } else { replies.note(isSent) }
            }
        } while replies.beginNextRound()
        walkConnections { $0.close() }
    }

    /// Before the process exits: sends the replies that are queued at all its ports. Waits for no lock, since a signal handler that has
    /// interrupted the one who holds it may have called exit(3). Calls no user code.
    fileprivate static func sendLastRepliesAtExit() {
        var replies = LastReplies()
        repeat {
            let isWalked = PortRegistry.tryForEach { base in
                if !Handle.isKind(.messagePort, base) { return }
                let port = MessagePortPointer(base)
                if !port.pointee.isRemote && !replies.isOver { port.sendLastRepliesAtExit(&replies) }
            }
            if !isWalked { replies.note(false) }
        } while replies.beginNextRound()
    }

    /// A round at one port. The caller holds the registry's mutex.
    private func sendLastRepliesAtExit(_ replies: inout LastReplies) {
        let isWalked = pointee.mutex.tryLocked {
            pointee.connections?.forEach { connection in
                if connection.pointee.role != .server { return }
                let isTried = connection.pointee.mutex.tryLocked { replies.note(connection.sendLastLocked()) }
                if !isTried { replies.note(false) }
            }
        }
        if !isWalked { replies.note(false) }
    }
}
