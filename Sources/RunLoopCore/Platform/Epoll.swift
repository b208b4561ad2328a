import CLinux

/// Wrappers of epoll(7).
enum Epoll {
    /// Creates an epoll descriptor, close-on-exec. One system call.
    static func create() throws(SystemError) -> Int32 { try checked(linux_epoll_create()) }

    /// Adds a descriptor to the set; `tag` is reported with its events. Errors and hang-ups are always reported. With `isEdgeTriggered`, an
    /// event is reported once, when it happens; otherwise for as long as it lasts. One system call. Any thread.
    static func add(_ epoll: Int32, _ fd: Int32, _ events: Events, isEdgeTriggered: Bool = false, tag: UInt64) throws(SystemError) {
        try checked(linux_epoll_ctl(epoll, EPOLL_CTL_ADD, fd, bits(events, isEdgeTriggered), tag))
    }

    /// Changes which events of a descriptor in the set are reported. One system call. Any thread.
    static func modify(_ epoll: Int32, _ fd: Int32, _ events: Events, isEdgeTriggered: Bool = false, tag: UInt64) throws(SystemError) {
        try checked(linux_epoll_ctl(epoll, EPOLL_CTL_MOD, fd, bits(events, isEdgeTriggered), tag))
    }

    /// Removes a descriptor from the set. Returns false if it was not in it (closing a descriptor removes it). One system call. Any thread.
    @discardableResult
    static func remove(_ epoll: Int32, _ fd: Int32) -> Bool {
        preservingSystemError { linux_epoll_ctl(epoll, EPOLL_CTL_DEL, fd, 0, 0) == 0 }
    }

    /// Fetches and drops the events of a set of at most four descriptors, so that an edge is not reported again. Returns false if the
    /// descriptor is not, or is no longer, an epoll. One system call.
    static func dropEvents(_ epoll: Int32) -> Bool { preservingSystemError { linux_epoll_drop_events(epoll) >= 0 || systemError == EINTR } }

    /// Returns an event as epoll would report it, with a tag and nothing else.
    static func event(tag: UInt64) -> epoll_event { linux_epoll_event(tag) }

    private static func bits(_ events: Events, _ isEdgeTriggered: Bool) -> UInt32 { events.epoll | (isEdgeTriggered ? linux_EPOLLET : 0) }

    /// Sleeps until a descriptor is ready or `timeout` nanoseconds have passed; nil means no time limit. Returns the number of events,
    /// which is 0 after a timeout or a signal, or nil if the descriptor is not, or is no longer, an epoll. One system call; two on kernels
    /// before 5.11, where ppoll(2) does the waiting: its timeout is in nanoseconds, and unlike a timerfd it needs no additional descriptor.
    static func wait(_ epoll: Int32, _ events: UnsafeMutablePointer<epoll_event>, capacity: Int32, timeout: UInt64?) -> Int? {
        preservingSystemError {
            guard let timeout else { return outcome(linux_epoll_wait(epoll, events, capacity, -1)) }
            var time = Instant.timespec(timeout)
            if linux_may_use_epoll_pwait2() != 0 {
                let count = linux_epoll_pwait2(epoll, events, capacity, &time)
                // ENOSYS, or EPERM from a sandbox that does not know the system call.
                let isUnknown = count < 0 && systemError != EINTR && systemError != EBADF && systemError != EINVAL
                if !isUnknown { return outcome(count) }
                linux_avoid_epoll_pwait2()
            }
            var request = pollfd(fd: epoll, events: Int16(POLLIN), revents: 0)
            if linux_ppoll(&request, &time) <= 0 { return 0 }
            return outcome(linux_epoll_wait(epoll, events, capacity, 0))
        }
    }

    /// Like `wait`, but does not sleep. For hot paths: inlined, because after a system call the processor mispredicts each return.
    static func poll(_ epoll: Int32, _ events: UnsafeMutablePointer<epoll_event>, capacity: Int32) -> Int? {
        let saved = systemError
        let count = linux_epoll_wait(epoll, events, capacity, 0)
        if count >= 0 { return Int(count) }
        defer { systemError = saved }
        return outcome(count)
    }

    /// Converts the result of a wait: a signal counts as no event; any other error means that the epoll no longer exists.
    private static func outcome(_ count: Int32) -> Int? { count >= 0 ? Int(count) : systemError == EINTR ? 0 : nil }
}

/// An eventfd that wakes a loop from its sleep in epoll. It is registered edge-triggered and not read while the loop lives: every write is
/// a new edge, so a wake-up costs one system call in the thread that wakes the loop, and none in the loop.
enum EventDescriptor {
    /// Creates an eventfd, close-on-exec. One system call.
    static func create() throws(SystemError) -> Int32 { try checked(linux_eventfd()) }

    /// Writes to the eventfd, which wakes the loop. One system call. Any thread, async-signal-safe.
    static func signal(_ fd: Int32) {
        preservingSystemError {
            var one: UInt64 = 1
            while linux_write(fd, &one, 8) < 0 && systemError == EINTR {}
        }
    }

    /// Reads until `wakes` writes have arrived since the eventfd was created, blocking if necessary. Afterwards it can be closed: no late
    /// write will reach another file that reuses its number. Called by the loop's thread, which holds the loop's lock.
    static func drain(_ fd: Int32, wakes: UInt64) {
        preservingSystemError {
            var total: UInt64 = 0
            while total < wakes {
                var count: UInt64 = 0
                if linux_read(fd, &count, 8) == 8 { total &+= count } else if systemError != EINTR { return }
            }
        }
    }
}

/// A timerfd on the monotonic clock, which is readable from its deadline until it is set again.
enum TimerDescriptor {
    /// Creates a timerfd, close-on-exec and disarmed. One system call.
    static func create() throws(SystemError) -> Int32 { try checked(linux_timerfd()) }

    /// Makes the timerfd readable from a deadline on, or never with `.never`. The deadline must be after the start of the machine, because
    /// 0 disarms a timerfd. One system call.
    static func set(_ fd: Int32, to deadline: Instant) {
        preservingSystemError { _ = linux_timerfd_set(fd, deadline == .never ? 0 : deadline.sinceMachineStart) }
    }
}
