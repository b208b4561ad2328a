import CLinux

/// epoll(7) and eventfd(2), with the error policy of this library: results and errno, nothing printed.
enum Epoll {
    /// A new epoll descriptor, close-on-exec; -1 with errno. One system call.
    static func create() -> Int32 { linux_epoll_create() }

    /// 0, or the error number. One system call. Any thread.
    static func add(_ epoll: Int32, _ fd: Int32, events: UInt32, tag: UInt64) -> Int32 {
        linux_epoll_ctl(epoll, EPOLL_CTL_ADD, fd, events, tag) == 0 ? 0 : systemError
    }

    /// 0, or the error number. One system call. Any thread.
    static func modify(_ epoll: Int32, _ fd: Int32, events: UInt32, tag: UInt64) -> Int32 {
        linux_epoll_ctl(epoll, EPOLL_CTL_MOD, fd, events, tag) == 0 ? 0 : systemError
    }

    /// Leaves errno as it was: a descriptor that was closed before has removed itself. One system call.
    static func remove(_ epoll: Int32, _ fd: Int32) {
        preservingSystemError { _ = linux_epoll_ctl(epoll, EPOLL_CTL_DEL, fd, 0, 0) }
    }

    /// An event as epoll would report it, of nothing but a tag.
    static func event(tag: UInt64) -> epoll_event { linux_epoll_report(tag) }

    /// Whether the kernel has epoll_pwait2. Loop threads only read and clear it; a lost clear costs one call.
    private nonisolated(unsafe) static var hasNanosecondWait = true

    /// Sleeps until something is ready or `timeout` nanoseconds have passed (nil: for ever). The number of
    /// events, 0 for a time-out or a signal, -1 if the descriptor is no epoll (any more). One system call; two on kernels before 5.11, where ppoll(2)
    /// is what waits with nanoseconds, without a descriptor of its own as a timerfd would need.
    static func wait(_ epoll: Int32, _ events: UnsafeMutablePointer<epoll_event>, capacity: Int32, timeout: UInt64?) -> Int {
        let saved = systemError
        defer { systemError = saved }
        if timeout == 0 { return wait(epoll, events, capacity, 0) }
        guard let timeout else { return wait(epoll, events, capacity, -1) }
        var time = Instant.timespec(timeout)
        if hasNanosecondWait {
            let count = linux_epoll_pwait2(epoll, events, capacity, &time)
            if count >= 0 { return Int(count) }
            // ENOSYS, or what a sandbox that does not know the call answers instead (EPERM).
            if systemError == EINTR || systemError == EBADF || systemError == EINVAL { return result(Int(count)) }
            hasNanosecondWait = false
        }
        var poll = pollfd(fd: epoll, events: Int16(POLLIN), revents: 0)
        if linux_ppoll(&poll, &time) <= 0 { return 0 }
        return wait(epoll, events, capacity, 0)
    }
}

extension Epoll {
    private static func wait(_ epoll: Int32, _ events: UnsafeMutablePointer<epoll_event>, _ capacity: Int32, _ milliseconds: Int32) -> Int {
        result(Int(linux_epoll_wait(epoll, events, capacity, milliseconds)))
    }

    /// A signal is nothing that happened; another error means that the epoll is gone.
    private static func result(_ count: Int) -> Int { count >= 0 ? count : systemError == EINTR ? 0 : -1 }
}

/// An eventfd that wakes a loop out of epoll. Registered edge-triggered and never read: every write is a
/// new edge, so a wake-up costs one system call for the waker and none for the sleeper.
enum EventDescriptor {
    /// A new one, close-on-exec; -1 with errno. One system call.
    static func create() -> Int32 { linux_eventfd() }

    /// One system call. Async-signal-safe, leaves errno as it was.
    static func signal(_ fd: Int32) {
        preservingSystemError {
            var one: UInt64 = 1
            while linux_write(fd, &one, 8) < 0 && linux_errno() == EINTR {}
        }
    }

    /// Waits until `wakes` writes have arrived in all. For closing: see `Poller.close`.
    static func drain(_ fd: Int32, wakes: UInt64) {
        var seen: UInt64 = 0
        while seen < wakes {
            var some: UInt64 = 0
            if linux_read(fd, &some, 8) == 8 { seen &+= some } else if systemError != EINTR { return }
        }
    }

    /// Leaves errno as it was.
    static func close(_ fd: Int32) {
        preservingSystemError { _ = linux_close(fd) }
    }
}

/// Descriptors of any kind.
enum Descriptor {
    /// What of `events`, as epoll(7) has them, is ready now, or within so many nanoseconds, less than a second; an error or a hang-up
    /// always. One system call. Leaves errno as it was.
    @inline(never)
    static func look(_ fd: Int32, for events: UInt16, within nanoseconds: Int = 0) -> UInt16 {
        let saved = systemError
        defer { systemError = saved }
        // poll's bits are epoll's.
        var look = pollfd(fd: fd, events: Int16(bitPattern: events), revents: 0)
        var time = timespec(tv_sec: 0, tv_nsec: nanoseconds)
        return linux_ppoll(&look, &time) > 0 ? UInt16(bitPattern: look.revents) : 0
    }

    /// Tells the open files of a number apart: another one, or 0, means that the number was closed in between. The kernel gives all eventfds,
    /// timerfds and the like the same. One system call. Leaves errno as it was.
    static func identity(_ fd: Int32) -> UInt32 {
        let saved = systemError
        defer { systemError = saved }
        return fd < 0 ? 0 : linux_open_file_identity(fd)
    }

    /// Whether a number stands for an open file. One system call. Leaves errno as it was.
    static func isOpen(_ fd: Int32) -> Bool {
        let saved = systemError
        defer { systemError = saved }
        return fd >= 0 && linux_fcntl(fd, F_GETFD, 0) >= 0
    }
}
