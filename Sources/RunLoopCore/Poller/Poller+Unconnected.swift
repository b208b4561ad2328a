import CLinux

// Sockets that are watched before they are connected or listening. The kernel reports such a socket as hung up all the time,
// whatever was asked for. A loop that listened to that would spin; one that stopped listening would miss the connection. So the
// watch becomes edge-triggered: epoll reports it once more, and then only when the kernel wakes the threads that wait for the socket.
//
// TCP does so when a connection is established, refused or reset, and when a client arrives at a socket that listens by then.
// UNIX sockets do so when a client or data arrives, but not for connect(2), which changes the caller's socket without waking
// anything. Therefore the loop looks at all these sockets before each wait, with one ppoll(2) each, and so sees what its own
// thread has done. For what other threads do, it looks at UNIX sockets from time to time while it sleeps (`EventBatch.sleep`).
// This also makes up for an event that was fetched and dropped, which an edge-triggered watch does not repeat.
//
// `listen` leaves such a watch edge-triggered.

extension Poller {
    /// Whether `takeConnected` has something to look at. O(1).
    var hasUnconnected: Bool { unconnected.count > 0 }

    /// Makes a watch edge-triggered that was reported as hung up because its socket is not connected, until `takeConnected`
    /// returns it. At most one epoll_ctl, after which epoll reports the present state once more. False with errno if out of
    /// memory: then the watch is silent until `listen`.
    mutating func awaitConnection(_ index: Int, isUnix: Bool) -> Bool {
        let watch = watches[index]
        if watch.state != .listening || watch.trigger != .level { return true }
        var outcome = Modified.refused
        if watch.isUnconnected || unconnected.append(Int32(index)) {
            update(index) {
                $0.isUnconnected = true
                $0.trigger = isUnix ? .edgeWithoutConnect : .edge
            }
            outcome = modify(index, watch.registered)
        }
        if outcome == .done { return true }
        if outcome == .refused { Epoll.remove(epoll, watch.fd) }
        settle(index, .silent)
        if outcome == .lost { return true }
        systemError = ENOMEM
        return false
    }

    /// The next watch whose socket is no longer unconnected, made level-triggered again, for `listen`; nil if there are no more.
    /// Called before waiting, first with a position of 0. One ppoll for each watch that is passed over.
    @inline(never)
    mutating func takeConnected(from position: inout Int) -> Int? {
        while position < unconnected.count {
            let index = Int(unconnected[position])
            let watch = watches[index]
            if watch.trigger != .level && Sockets.isUnconnected(watch.fd) {
                position += 1
                continue
            }
            unconnected[position] = unconnected[unconnected.count - 1]
            unconnected.truncate(to: unconnected.count - 1)
            update(index) {
                $0.isUnconnected = false
                $0.trigger = .level
            }
            if watch.trigger != .level { return index }
        }
        return nil
    }
}
