import CLinux

/// The descriptor that a host polls while it waits in place of the loop, and the descriptors behind it. It is an epoll, which stays the
/// same when the loop's own is replaced, and which reports
/// - the loop's eventfd, edge-triggered: once for each wake-up,
/// - the loop's epoll, while the mode has descriptors,
/// - a timerfd, if the host wants the descriptor to report timers, too.
struct HostDescriptors: BitwiseCopyable {
    /// Open from the first use until the thread ends.
    var epoll: Int32 = -1
    var timer: Int32 = -1
    /// The deadline to which `timer` is set.
    var deadline = Instant.never
    var watchesWakes = false
    var watchesEpoll = false
}

// The functions below are called by the loop's thread, which holds the loop's lock. They call no user code.

extension Poller {
    /// Opens the descriptors that are missing. At most nine system calls, none if all are open. Returns false with errno set on failure.
    mutating func openHost(withTimer: Bool) -> Bool {
        guard open() else { return false }
        do {
            if host.epoll < 0 { host.epoll = try Epoll.create() }
            if !host.watchesWakes {
                try Epoll.add(host.epoll, wakeDescriptor, .readable, isEdgeTriggered: true, tag: 0)
                host.watchesWakes = true
            }
            if withTimer && host.timer < 0 {
                let timer = try TimerDescriptor.create()
                do {
                    try Epoll.add(host.epoll, timer, .readable, tag: 0)
                } catch {
                    Descriptor.close(timer)
                    return false
                }
                host.timer = timer
            }
            return true
        } catch {
            return false
        }
    }

    /// Adds the loop's epoll to the descriptors that the host's descriptor reports, or removes it. At most one system call. Returns false
    /// with errno set on failure.
    @inline(never)
    mutating func setWatchesEpoll(_ watches: Bool) -> Bool {
        if watches == host.watchesEpoll { return true }
        if watches {
            do { try Epoll.add(host.epoll, epoll, .readable, tag: 0) } catch { return false }
        } else {
            Epoll.remove(host.epoll, epoll)
        }
        host.watchesEpoll = watches
        return true
    }

    /// Makes the host's descriptor readable at a deadline, or never with `.never`. At most one system call.
    @inline(never)
    mutating func setHostDeadline(_ deadline: Instant) {
        if deadline == host.deadline { return }
        host.deadline = deadline
        TimerDescriptor.set(host.timer, to: deadline)
    }

    /// Closes the host's descriptors: the loop's thread ends, or this process is the child of a fork().
    @inline(never)
    mutating func closeHost() {
        if host.epoll >= 0 { Descriptor.close(host.epoll) }
        if host.timer >= 0 { Descriptor.close(host.timer) }
        host = HostDescriptors()
    }
}
