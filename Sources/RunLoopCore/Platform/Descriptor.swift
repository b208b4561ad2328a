import CLinux

/// Operations on descriptors of any kind. A descriptor is an `Int32`, as in C: nothing owns it or closes it automatically. Any thread.
/// errno is preserved.
enum Descriptor {
    /// Closes a descriptor. One system call.
    @inline(never)
    static func close(_ fd: Int32) { preservingSystemError { linux_close(fd) } }

    /// Returns which of `events` are ready. If none is, sleeps until one is, for `nanoseconds` at most, which must be less than a second.
    /// Errors and hang-ups are always reported, and so is a number that is not an open descriptor. Returns none if the time is up, if the
    /// descriptor is negative, or if a signal interrupts the sleep. One system call.
    @inline(never)
    static func poll(_ fd: Int32, for events: Events, within nanoseconds: Int = 0) -> Events {
        preservingSystemError {
            // poll(2) and epoll(7) use the same bits.
            var request = pollfd(fd: fd, events: Int16(bitPattern: events.rawValue), revents: 0)
            var time = timespec(tv_sec: 0, tv_nsec: nanoseconds)
            return linux_ppoll(&request, &time) > 0 ? Events(rawValue: UInt16(bitPattern: request.revents)) : []
        }
    }

    /// Sleeps until one of `events` is ready, or the descriptor has an error or a hang-up, and returns these events; returns none if the
    /// deadline passes first. Unlike in `poll`, signals do not end the sleep.
    @inline(never)
    static func wait(_ fd: Int32, for events: Events, until deadline: Instant) -> Events {
        preservingSystemError {
            while true {
                var request = pollfd(fd: fd, events: Int16(bitPattern: events.rawValue), revents: 0)
                let now = Clock.now
                var time = Instant.timespec(deadline > now ? deadline.nanoseconds - now.nanoseconds : 0)
                let count = deadline == .never ? linux_ppoll(&request, nil) : linux_ppoll(&request, &time)
                if count > 0 { return Events(rawValue: UInt16(bitPattern: request.revents)) }
                if deadline <= now { return [] }
            }
        }
    }

    /// Returns a number that identifies the file that is open as `fd`; 0 if none is. If that number has changed, the descriptor has been
    /// closed in between. Only sockets have distinct numbers (`isOfSocket`): all eventfds, timerfds and the like share one, as does a
    /// terminal that is opened again. One system call.
    static func identity(_ fd: Int32) -> UInt32 {
        fd < 0 ? 0 : preservingSystemError { linux_open_file_identity(fd) }
    }

    /// Whether an identity is that of a socket. O(1).
    static func isOfSocket(_ identity: UInt32) -> Bool { identity & 1 << 30 != 0 }

    /// Whether `fd` is an open descriptor. One system call.
    static func isOpen(_ fd: Int32) -> Bool {
        fd >= 0 && preservingSystemError { linux_fcntl(fd, F_GETFD, 0) } >= 0
    }
}
