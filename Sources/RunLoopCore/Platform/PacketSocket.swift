import CLinux

/// AF_UNIX sockets that keep packets apart (SOCK_SEQPACKET). All are close-on-exec and never wait.
enum PacketSocket {
    /// Who is at the other end, as the kernel knows it.
    struct Credentials: BitwiseCopyable {
        var process: Int32
        var user: UInt32
        var group: UInt32
    }

    /// What became of a packet.
    enum Sent { case done, full, gone, failed }

    /// A socket that listens at `path`; -1 with errno. Three system calls.
    static func listen(_ path: UnsafePointer<CChar>) -> Int32 {
        let fd = linux_socket_of_packets()
        if fd < 0 || linux_unix_listen(fd, path, 128) == 0 { return fd }
        close(fd)
        return -1
    }

    /// A socket that is connected to who listens at `path`; -1 with errno, EAGAIN if too many wait there.
    static func connect(_ path: UnsafePointer<CChar>) -> Int32 {
        let fd = linux_socket_of_packets()
        if fd < 0 || linux_unix_connect(fd, path) == 0 { return fd }
        close(fd)
        return -1
    }

    /// The next who wants to talk; -1 with errno. One system call.
    static func accept(_ fd: Int32) -> Int32 { linux_accept_packets(fd) }

    /// Whether the last failure on this thread was for want of descriptors or memory.
    static var isOutOfResources: Bool {
        let error = systemError
        return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM
    }

    /// nil with errno. One system call.
    static func credentials(_ fd: Int32) -> Credentials? {
        var peer = Credentials(process: 0, user: 0, group: 0)
        return linux_peer_credentials(fd, &peer.process, &peer.user, &peer.group) == 0 ? peer : nil
    }

    /// This process, as others see it.
    static var own: Credentials { Credentials(process: linux_process(), user: linux_user(), group: linux_group()) }

    /// Sends one packet of two parts, or one, with a descriptor unless that is -1. One system call; leaves errno as it was but for `failed`.
    static func send(
        _ fd: Int32, _ head: UnsafeRawPointer, _ headSize: Int, _ body: UnsafeRawPointer?, _ bodySize: Int, passing: Int32
    ) -> Sent {
        while true {
            let error = -linux_send_packet(fd, head, headSize, body, bodySize, passing)
            if error <= 0 { return .done }
            switch Int32(error) {
            case EINTR: continue
            // Too many descriptors on their way, or no memory in the kernel, count as a full queue, too.
            case EAGAIN, ENOBUFS, ETOOMANYREFS: return .full
            case EPIPE, ECONNRESET, ENOTCONN, ECONNREFUSED: return .gone
            default:
                systemError = Int32(error)
                return .failed
            }
        }
    }

    /// A packet as it came.
    struct Received: BitwiseCopyable {
        /// Its true size; 0 at the end, -1 if there is none now, -2 for an error.
        var size: Int
        /// -1 for none, -2 for more than one, -3 for one that this process has no number for.
        var passed: Int32

        static var noNumber: Int32 { -3 }
    }

    /// How long a wait in `receive` takes at most, in microseconds.
    private static var patience: Int { 10_000 }

    /// Lets `receive` wait. False if it cannot. Three system calls; leaves errno as it was.
    @inline(never)
    static func letWait(_ fd: Int32) -> Bool {
        let saved = systemError
        defer { systemError = saved }
        return linux_let_wait(fd, patience) == 0
    }

    /// Takes the next packet. What does not fit is lost. `waits`: until there is one, a signal comes or patience ends, on a socket
    /// that has heard `letWait`. One system call; leaves errno as it was.
    static func receive(_ fd: Int32, _ buffer: UnsafeMutableRawPointer, _ bufferSize: Int, waits: Bool) -> Received {
        var passed: Int32 = -1
        while true {
            let size = linux_receive_packet(fd, buffer, bufferSize, &passed, waits ? 1 : 0)
            if size >= 0 { return Received(size: size, passed: passed) }
            let error = Int32(-size)
            if error == EAGAIN || (error == EINTR && waits) { return Received(size: -1, passed: -1) }
            // The other end is gone and has not read everything: said once, before what it has sent.
            if error != EINTR && error != ECONNRESET { return Received(size: -2, passed: -1) }
        }
    }

    /// Waits until a packet can be sent, or the other end is gone. False once `deadline` has passed. Leaves errno as it was.
    static func awaitRoom(_ fd: Int32, until deadline: Instant) -> Bool {
        let saved = systemError
        defer { systemError = saved }
        while true {
            let now = Clock.now
            if now >= deadline { return false }
            var time = Instant.timespec(deadline.nanoseconds - now.nanoseconds)
            var look = pollfd(fd: fd, events: Int16(POLLOUT), revents: 0)
            let count = deadline == .never ? linux_ppoll(&look, nil) : linux_ppoll(&look, &time)
            if count > 0 { return true }
            if count == 0 || systemError != EINTR { return false }
        }
    }

    /// The other end hears that this one is gone; the number stays taken. Leaves errno as it was.
    @inline(never)
    static func end(_ fd: Int32) { preservingSystemError { _ = linux_shutdown(fd) } }

    /// Leaves errno as it was.
    @inline(never)
    static func close(_ fd: Int32) { preservingSystemError { _ = linux_close(fd) } }
}

/// A file in memory that can be passed to another process: what is too large for a packet.
enum MemoryFile {
    /// A file with these bytes that cannot be made smaller; -1 with errno, EFBIG if it is more than the process may write. Some system
    /// calls; copies.
    static func make(_ bytes: UnsafeRawPointer, _ count: Int) -> Int32 {
        let fd = linux_memory_file(count)
        if fd < 0 || (linux_seal_size(fd) == 0 && write(fd, bytes, count)) { return fd }
        PacketSocket.close(fd)
        return -1
    }

    /// False with errno.
    private static func write(_ fd: Int32, _ bytes: UnsafeRawPointer, _ count: Int) -> Bool {
        var done = 0
        while done < count {
            let some = linux_pwrite(fd, bytes + done, count - done, done)
            if some < 0 && systemError == EINTR { continue }
            if some <= 0 { return false }
            done += some
        }
        return true
    }

    /// Whether a descriptor that a stranger passed is such a file with at least so many bytes, which are really there: nothing
    /// else is ever read from, because reading might wait.
    static func isSane(_ fd: Int32, _ count: Int) -> Bool {
        let saved = systemError
        defer { systemError = saved }
        var identity = linux_file_identity()
        return linux_is_sealed(fd) != 0 && linux_memory_file_bytes(fd, &identity) >= count
    }

    /// Copies the first bytes of a file out. False if they are not there.
    static func read(_ fd: Int32, _ buffer: UnsafeMutableRawPointer, _ count: Int) -> Bool {
        let saved = systemError
        defer { systemError = saved }
        var done = 0
        while done < count {
            let some = linux_pread(fd, buffer + done, count - done, done)
            if some < 0 && systemError == EINTR { continue }
            if some <= 0 { return false }
            done += some
        }
        return true
    }
}
