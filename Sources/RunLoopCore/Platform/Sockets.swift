import CLinux

/// The address of a socket, of whatever family.
struct SocketAddress {
    private var storage = sockaddr_storage()
    /// 0: none.
    var count = 0

    /// O(1).
    func withBytes<Result>(_ body: (UnsafePointer<UInt8>, Int) -> Result) -> Result {
        withUnsafeBytes(of: storage) { body($0.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: UInt8.self), count) }
    }

    /// Lets the kernel fill it in; what does not fit is cut off.
    fileprivate mutating func fill(_ body: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<UInt32>) -> Int) -> Int {
        var length = UInt32(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutableBytes(of: &storage) {
            body($0.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: sockaddr.self), &length)
        }
        count = min(Int(length), MemoryLayout<sockaddr_storage>.size)
        return result
    }
}

/// Sockets, each function one system call unless it says more. Any thread. None raises SIGPIPE.
enum Sockets {
    /// SOCK_STREAM.
    static var stream: Int32 { linux_SOCK_STREAM }

    /// A new one, close-on-exec; -1 with errno.
    static func create(_ family: Int32, _ type: Int32, _ protocolNumber: Int32) -> Int32 {
        linux_socket(family, type, protocolNumber)
    }

    /// SOCK_STREAM and so on; -1 if it is no socket. Leaves errno as it was.
    static func type(of fd: Int32) -> Int32 { fd < 0 ? -1 : option(fd, SO_TYPE) ?? -1 }

    /// What the kernel means by reporting a hang-up.
    enum HangUp {
        /// The connection has ended; or the descriptor is not one that can be connected, such as a pipe.
        case ended
        /// There is no connection yet, none is on its way, and the socket does not listen.
        case unconnected
        /// As `unconnected`, of a UNIX socket.
        case unconnectedUnix
        /// It was one of these, but the socket has been connected since.
        case gone
    }

    /// For a descriptor that was reported as hung up and not as readable. Up to three system calls. Leaves errno as it was.
    @inline(never)
    static func hangUp(of fd: Int32) -> HangUp {
        let type = type(of: fd)
        if type != stream && type != linux_SOCK_SEQPACKET { return .ended }
        let now = look(fd)
        if now & hangUp == 0 { return .gone }
        if !isUnconnected(now) { return .ended }
        return option(fd, SO_DOMAIN) == AF_UNIX ? .unconnectedUnix : .unconnected
    }

    /// Whether a socket that can be connected is not, none is on its way, and it does not listen. Leaves errno as it was.
    static func isUnconnected(_ fd: Int32) -> Bool { isUnconnected(look(fd)) }

    private static var hangUp: UInt32 { linux_EPOLLHUP }

    private static func look(_ fd: Int32) -> UInt32 {
        UInt32(Descriptor.look(fd, for: UInt16(linux_EPOLLIN | linux_EPOLLOUT | linux_EPOLLRDHUP)))
    }

    /// A connection that has ended can be read: there is its end, or its error.
    private static func isUnconnected(_ events: UInt32) -> Bool {
        events & (linux_EPOLLHUP | linux_EPOLLIN | linux_EPOLLRDHUP | linux_EPOLLERR) == linux_EPOLLHUP
    }

    /// The error that the kernel keeps for the socket, which forgets it; 0 for none. Leaves errno as it was.
    static func takeError(_ fd: Int32) -> Int32 { option(fd, SO_ERROR) ?? 0 }

    private static func option(_ fd: Int32, _ name: Int32) -> Int32? {
        var value: Int32 = 0
        var found = false
        preservingSystemError {
            var size = UInt32(MemoryLayout<Int32>.size)
            found = linux_socket_option(fd, name, &value, &size) == 0
        }
        return found ? value : nil
    }

    /// How many bytes wait to be read; -1 if that is not known. Leaves errno as it was.
    @inline(never)
    static func readableBytes(_ fd: Int32) -> Int {
        let saved = systemError
        defer { systemError = saved }
        return Int(linux_readable_bytes(fd))
    }

    /// What `bind` is given may be in use by connections that have ended; not by a socket that listens. Leaves errno as it was.
    static func reuseAddress(_ fd: Int32) {
        preservingSystemError { _ = linux_set_socket_option(fd, SO_REUSEADDR, 1) }
    }

    /// False with errno.
    static func bind(_ fd: Int32, _ address: UnsafePointer<UInt8>, _ count: Int) -> Bool { linux_bind(fd, address, UInt32(count)) == 0 }

    /// With CFSocket's queue of 256 clients.
    static func listen(_ fd: Int32) { _ = linux_listen(fd, 256) }

    /// False with errno, EINPROGRESS among them.
    static func connect(_ fd: Int32, _ address: UnsafePointer<UInt8>, _ count: Int) -> Bool {
        linux_connect(fd, address, UInt32(count)) == 0
    }

    /// A client's descriptor, close-on-exec, or the negative error number.
    static func accept(_ fd: Int32, _ client: inout SocketAddress) -> Int32 {
        Int32(client.fill { Int(linux_accept(fd, $0, $1)) })
    }

    /// The other side's address; empty if there is none. Leaves errno as it was.
    static func peer(of fd: Int32, _ address: inout SocketAddress) {
        let saved = systemError
        defer { systemError = saved }
        if address.fill({ Int(linux_name_of(fd, 1, $0, $1)) }) < 0 { address.count = 0 }
    }

    /// Its own address; empty if there is none. Leaves errno as it was.
    static func local(of fd: Int32, _ address: inout SocketAddress) {
        let saved = systemError
        defer { systemError = saved }
        if address.fill({ Int(linux_name_of(fd, 0, $0, $1)) }) < 0 { address.count = 0 }
    }

    /// The number of bytes, or the negative error number. Never waits.
    static func receive(_ fd: Int32, _ bytes: UnsafeMutablePointer<UInt8>, _ count: Int, _ sender: inout SocketAddress) -> Int {
        let result = sender.fill { linux_receive(fd, bytes, count, $0, $1) }
        if result != -Int(ENOTSOCK) { return result }
        // Whatever else can be read.
        let read = linux_read(fd, bytes, count)
        return read < 0 ? -Int(systemError) : read
    }

    /// The number of bytes, or the negative error number. `waits`: as the descriptor is set.
    static func send(
        _ fd: Int32, _ bytes: UnsafePointer<UInt8>, _ count: Int, to address: UnsafePointer<UInt8>?, _ addressCount: Int, waits: Bool
    ) -> Int { linux_send(fd, bytes, count, address, UInt32(addressCount), waits ? 1 : 0) }

    /// Sets whether calls wait; true if that is a change. Two system calls.
    static func setBlocking(_ fd: Int32, _ blocks: Bool) -> Bool { linux_set_blocking(fd, blocks ? 1 : 0) > 0 }

    /// What can be waited for.
    enum Readiness: Int16 {
        case readable = 1
        case writable = 4
    }

    /// Sleeps until it is ready, or in error; false at the deadline. Signals do not end it. Leaves errno as it was.
    static func wait(_ fd: Int32, for readiness: Readiness, until deadline: Instant) -> Bool {
        let saved = systemError
        defer { systemError = saved }
        while true {
            var look = pollfd(fd: fd, events: readiness.rawValue, revents: 0)
            let now = Clock.now
            var time = Instant.timespec(deadline > now ? deadline.nanoseconds - now.nanoseconds : 0)
            let count = deadline == .never ? linux_ppoll(&look, nil) : linux_ppoll(&look, &time)
            if count > 0 { return true }
            if deadline <= now { return false }
        }
    }

    /// Whether an error of `accept` means that there are no clients on this descriptor, and not only not now.
    static func cannotAccept(_ error: Int32) -> Bool {
        error == EINVAL || error == ENOTSOCK || error == EOPNOTSUPP || error == EBADF
    }

    /// Whether an error only means "not now".
    static func isTemporary(_ error: Int) -> Bool { error == Int(EAGAIN) || error == Int(EINTR) }

    /// Whether the process or the system has no descriptor or memory left.
    static func isShortage(_ error: Int32) -> Bool { error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS }
}
