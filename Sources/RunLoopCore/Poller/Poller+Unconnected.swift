import CLinux

// Sockets that are watched before they are connected or listening. The kernel reports such a socket as hung up all the time, whatever
// events were requested. A loop that kept listening would spin; one that stopped listening would miss the connection. So the watch becomes
// edge-triggered: epoll reports it once more, and after that only when the kernel wakes the threads that wait for the socket.
//
// For TCP, the kernel does so when a connection is established, refused or reset, and when a client arrives at a socket that is listening
// by then. For UNIX sockets, it does so when a client or data arrives, but not for connect(2), which changes the caller's socket without
// waking anything. Therefore the loop checks all these sockets before each wait, with one ppoll(2) each, and so notices what its own thread
// has done. For what other threads do, it checks UNIX sockets from time to time while it sleeps (`EventBatch.sleep`). The checks also make
// up for an event that was fetched and dropped, which an edge-triggered watch does not repeat.
//
// `listen` leaves such a watch edge-triggered.

extension Poller {
    /// Whether `takeConnected` has a socket to check. O(1).
    var hasUnconnected: Bool { unconnected.count > 0 }

    /// Makes a watch edge-triggered, until `takeConnected` returns it. For a watch that was reported as hung up because its socket is not
    /// connected. At most one epoll_ctl, after which epoll reports the present state once more. Returns false with errno set if out of
    /// memory: the watch is then silent until `listen`.
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

    /// Returns the next watch whose socket has been connected or listens, made level-triggered again, for `listen`; nil if there are no
    /// more. Called before waiting, the first time with a position of 0. One ppoll for each watch that is skipped.
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
