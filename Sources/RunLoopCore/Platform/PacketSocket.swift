import CLinux
import Synchronization

/// AF_UNIX sockets that preserve packet boundaries (SOCK_SEQPACKET). All of them are close-on-exec and non-blocking. Any thread.
enum PacketSocket {
    /// The process at the other end, as the kernel knows it.
    struct Credentials: BitwiseCopyable {
        var process: Int32
        var user: UInt32
        var group: UInt32

        /// A number for `closeApart` and `receive` that stands for the process or, `asUser`, for all processes of its user. Never 0.
        func sender(asUser: Bool) -> UInt64 { ~(UInt64(user) << 32 | (asUser ? 0 : UInt64(UInt32(bitPattern: process)))) }
    }

    /// The outcome of sending a packet.
    enum Sent {
        case done
        /// There is no room in the socket or in the kernel at the moment.
        case full
        /// The other end is closed.
        case gone
        /// The packet was not sent for another reason, which is in errno.
        case failed
    }

    /// 1 if this kernel lets a socket refuse descriptors, 2 if it does not, 0 if that is unknown. Any thread.
    private static let refusal = Atomic<UInt8>(0)

    /// Whether a socket that should refuse descriptors may have received some nevertheless: on Linux before 6.16.
    static var cannotRefuseDescriptors: Bool { refusal.load(ordering: .relaxed) == 2 }

    /// Creates a socket that refuses descriptors, if the kernel can do that. The sockets of the connections that it accepts do so, too.
    private static func make() throws(SystemError) -> Int32 {
        let fd = try checked(linux_socket_of_packets())
        let saved = systemError
        refusal.store(linux_refuse_passed(fd, 1) != 0 ? 1 : 2, ordering: .relaxed)
        systemError = saved
        return fd
    }

    /// Makes the socket accept descriptors; initially it refuses them. One system call.
    static func acceptDescriptors(_ fd: Int32) { preservingSystemError { _ = linux_refuse_passed(fd, 0) } }

    /// Sets how many bytes may wait in the socket until the other end reads them. One system call.
    static func setSendBuffer(_ fd: Int32, _ size: Int32) { preservingSystemError { _ = linux_set_socket_option(fd, SO_SNDBUF, size) } }

    /// Ends a connection and closes its socket. With `acceptsDescriptors`, packets that have not been received may contain descriptors. The
    /// kernel would close them together with the socket, which can block, so the socket is then closed on a separate thread.
    @inline(never)
    static func close(_ fd: Int32, acceptsDescriptors: Bool = false) {
        if acceptsDescriptors || cannotRefuseDescriptors {
            shutDown(fd)
            if preservingSystemError({ linux_peek_packet(fd) }) != 0 { return closeApart(fd) }
        }
        Descriptor.close(fd)
    }

    /// Closes a listener, and the sockets of clients that it has not accepted, which may have sent descriptors, too. Preserves errno.
    static func closeListener(_ fd: Int32) {
        if !cannotRefuseDescriptors { return Descriptor.close(fd) }
        shutDown(fd)
        preservingSystemError {
            while let client = try? accept(fd) { close(client) }
            // Any other error means that there may be further clients, for instance because the process has no descriptor left for them.
            if systemError == EAGAIN { Descriptor.close(fd) } else { closeApart(fd) }
        }
    }

    /// Closes a descriptor on a separate thread. `sender` stands for the process that has passed it; 0 for a socket of this process.
    @inline(never)
    static func closeApart(_ fd: Int32, from sender: UInt64 = 0) {
        var fd = fd
        preservingSystemError { linux_close_apart(&fd, 1, sender) }
    }

    /// Whether descriptors that `sender` has passed still have to be closed. One load if no process has passed any.
    static func isClosing(from sender: UInt64) -> Bool { linux_is_closing(sender) != 0 }

    /// Before fork(): locks the list of what is to be closed, so that the child finds it in a consistent state.
    static func lockClosings() { linux_lock_closings() }

    /// After fork(): unlocks that list, in parent and child. In the child, nothing in it is closed until something is added to it.
    static func unlockClosings(inChild: Bool) { linux_unlock_closings(inChild ? 1 : 0) }

    /// Listens at `path` and returns the listening socket. Four system calls.
    static func listen(_ path: UnsafePointer<CChar>) throws(SystemError) -> Int32 {
        let fd = try make()
        if linux_unix_listen(fd, path, 128) == 0 { return fd }
        Descriptor.close(fd)
        throw .last
    }

    /// Connects to the listener at `path`. Fails with EAGAIN if its queue is full. Three system calls.
    static func connect(_ path: UnsafePointer<CChar>) throws(SystemError) -> Int32 {
        let fd = try make()
        if linux_unix_connect(fd, path) == 0 { return fd }
        Descriptor.close(fd)
        throw .last
    }

    /// Accepts the next client of a listener. One system call.
    static func accept(_ fd: Int32) throws(SystemError) -> Int32 { try checked(linux_accept_packets(fd)) }

    /// Returns the credentials of the process that connected, or listened, at the other end. One system call.
    static func credentials(_ fd: Int32) throws(SystemError) -> Credentials {
        var peer = Credentials(process: 0, user: 0, group: 0)
        try checked(linux_peer_credentials(fd, &peer.process, &peer.user, &peer.group))
        return peer
    }

    /// The credentials of this process, as other processes see them.
    static var own: Credentials { Credentials(process: linux_process(), user: linux_user(), group: linux_group()) }

    /// Sends one packet, in two parts if `body` is not empty, with a descriptor unless `passing` is -1. One system call, repeated if a
    /// signal interrupts it; errno changes only if the result is `failed`.
    static func send(
        _ fd: Int32, _ head: UnsafeRawPointer, _ headSize: Int, _ body: UnsafeRawPointer?, _ bodySize: Int, passing: Int32
    ) -> Sent {
        let saved = systemError
        while true {
            if linux_send_packet(fd, head, headSize, body, bodySize, passing) >= 0 { return .done }
            let error = systemError
            if error == EINTR { continue }
            switch error {
            // Too many descriptors in flight, or no memory in the kernel: treated as a full queue.
            case EAGAIN, ENOBUFS, ETOOMANYREFS:
                systemError = saved
                return .full
            case EPIPE, ECONNRESET, ENOTCONN, ECONNREFUSED:
                systemError = saved
                return .gone
            default: return .failed
            }
        }
    }

    /// The result of `receive`.
    struct Received: BitwiseCopyable {
        /// Whether there was a packet.
        enum Kind: UInt8 {
            case packet
            /// No packet has arrived.
            case nothing
            /// The other end has closed the connection, or the connection has failed.
            case end
        }

        var kind: Kind
        /// The packet's true size, even if the packet was truncated.
        var size = 0
        /// The descriptor that came with the packet, which belongs to the receiver; -1 if there was none. `linux_passed_several`: there were
        /// several, which are being closed; no peer of ours sends that. `linux_passed_refused`: this process has no number left for it.
        var passed: Int32 = -1

        var hasFile: Bool { passed != -1 }
    }

    /// Receives the next packet, if there is one. Data that fits neither into `buffer` nor into `body`, which is filled after it, is lost.
    /// The packet may carry descriptors only if `sender` is not nil. One system call, repeated after EINTR or ECONNRESET.
    static func receive(
        _ fd: Int32, _ buffer: UnsafeMutableRawPointer, _ bufferSize: Int, _ body: UnsafeMutableRawBufferPointer?,
        acceptingDescriptorsFrom sender: UInt64?
    ) -> Received {
        let saved = systemError
        while true {
            var passed: Int32 = -1
            let bodySize = body?.count ?? 0
            let size =
                if let sender {
                    linux_receive_packet(fd, buffer, bufferSize, body?.baseAddress, bodySize, &passed, sender)
                } else { linux_receive_packet(fd, buffer, bufferSize, body?.baseAddress, bodySize, nil, 0) }
            // Descriptors can come with an empty packet, but not with the end of the connection.
            if size >= 0 { return Received(kind: size > 0 || passed != -1 ? .packet : .end, size: size, passed: passed) }
            let error = systemError
            systemError = saved
            if error == EAGAIN { return Received(kind: .nothing) }
            // ECONNRESET: the other end has closed the connection without reading everything. Reported once, before what it has sent.
            if error != EINTR && error != ECONNRESET { return Received(kind: .end) }
        }
    }

    /// Ends the connection for both sides; the descriptor stays open. One system call.
    @inline(never)
    static func shutDown(_ fd: Int32) { preservingSystemError { linux_shutdown(fd) } }
}
