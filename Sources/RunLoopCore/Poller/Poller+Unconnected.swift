import CLinux

// Sockets that are watched before they are connected or listening. The kernel reports such a socket as hung up all the time, whatever it
// was asked for, and a loop that listened to that would spin; but a loop that stopped listening would never hear of the connection. So
// the watch becomes edge-triggered: epoll reports it once more, and then only when the kernel wakes those who wait for the socket.
//
// TCP does so when a connection is established, refused or reset, and when a client arrives at a socket that listens by now. UNIX sockets
// do so when a client or data arrives, but not for connect(2), which changes the caller's socket without waking anybody. Therefore the
// loop looks at these sockets before each wait, one ppoll(2) each, which sees what its own thread has done since; and while it sleeps it
// looks at those of UNIX now and then, for what other threads do: `RunLoop.sleep`. That look also makes up for a report that was fetched
// and dropped, which an edge-triggered watch does not repeat.
//
// Whoever asks epoll for more of such a watch meanwhile (`listen`) leaves it edge-triggered.

extension Poller {
    /// Whether `takeConnected` has something to look at. O(1).
    @inline(__always)
    var hasUnconnected: Bool { unconnected.count > 0 }

    /// A watch that was reported as hung up is of a socket that is not connected: epoll reports only changes from now on, until
    /// `takeConnected` gives the watch. At most one epoll_ctl, which makes epoll report the present state once more. False with errno if out
    /// of memory: then it is silent until `listen`.
    mutating func awaitConnection(_ index: Int, isUnix: Bool) -> Bool {
        let watch = watches[index]
        if watch.state != .listening || watch.trigger != .level { return true }
        if !watch.isUnconnected && !unconnected.append(Int32(index)) {
            Epoll.remove(epoll, watch.fd)
            settle(index, .silent)
            systemError = ENOMEM
            return false
        }
        update(index) {
            $0.isUnconnected = true
            $0.trigger = isUnix ? .edgeWithoutConnect : .edge
        }
        if !modify(index, watch.registered) { settle(index, .silent) }
        return true
    }

    /// A watch that is level-triggered again because its socket is not unconnected any more: for `listen`, which tells epoll. nil if there are no
    /// more. Before waiting, with a position of 0 at first; one ppoll for each that is passed over.
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
