import CLinux

/// The address of a socket of any family.
struct SocketAddress {
    private var storage = sockaddr_storage()
    /// The size of the address in bytes; 0 if there is none.
    var count = 0

    /// Calls `body` with the address and its size in bytes. O(1).
    func withBytes<Result>(_ body: (UnsafePointer<UInt8>, Int) -> Result) -> Result {
        withUnsafeBytes(of: storage) { body($0.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: UInt8.self), count) }
    }

    /// Lets the kernel fill in the address; an address that does not fit is truncated. Returns the result of `body`, which makes the system
    /// call. If that fails, there is no address.
    fileprivate mutating func fill(_ body: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<UInt32>) -> Int) -> Int {
        var length = UInt32(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutableBytes(of: &storage) {
            body($0.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: sockaddr.self), &length)
        }
        count = result < 0 ? 0 : min(Int(length), MemoryLayout<sockaddr_storage>.size)
        return result
    }
}

/// Operations on sockets. Each function makes one system call unless it says otherwise. Any thread. No function raises SIGPIPE.
enum Sockets {
    /// SOCK_STREAM.
    static var stream: Int32 { linux_SOCK_STREAM }

    /// Creates a socket, close-on-exec.
    static func create(_ family: Int32, _ type: Int32, _ protocolNumber: Int32) throws(SystemError) -> Int32 {
        try checked(linux_socket(family, type, protocolNumber))
    }

    /// Returns the socket's type, such as SOCK_STREAM; nil if the descriptor is not a socket.
    static func type(of fd: Int32) -> Int32? { fd < 0 ? nil : option(fd, SO_TYPE) }

    /// The meaning of a hang-up that the kernel reported.
    enum HangUp {
        /// The connection has ended, or the descriptor is of a kind that has no connections, such as a pipe.
        case ended
        /// There is no connection, none is being established, and the socket does not listen.
        case unconnected
        /// As `unconnected`, for a UNIX socket.
        case unconnectedUnix
        /// The hang-up no longer applies: the socket has been connected in the meantime.
        case gone
    }

    /// Returns the meaning of a hang-up, for a descriptor that was reported as hung up and not as readable. Up to three system calls.
    static func hangUp(of fd: Int32) -> HangUp {
        let type = type(of: fd)
        if type != stream && type != linux_SOCK_SEQPACKET { return .ended }
        let events = poll(fd)
        if !events.contains(.hangUp) { return .gone }
        if !isUnconnected(events) { return .ended }
        return option(fd, SO_DOMAIN) == AF_UNIX ? .unconnectedUnix : .unconnected
    }

    /// Returns whether the socket, of a type that can be connected, is idle: not connected, not being connected, not listening.
    static func isUnconnected(_ fd: Int32) -> Bool { isUnconnected(poll(fd)) }

    /// Returns what the socket is ready for, including hang-up, error, and whether the peer has stopped writing. Never blocks.
    private static func poll(_ fd: Int32) -> Events { Descriptor.poll(fd, for: [.readable, .writable, .peerClosed]) }

    /// Whether these events are those of an unconnected socket: a hang-up, but nothing to read and no error. If a connection has ended, the
    /// socket is readable, too.
    private static func isUnconnected(_ events: Events) -> Bool { events.isBareHangUp }

    /// Returns the socket's pending error and clears it; nil if there is none.
    static func takeError(_ fd: Int32) -> SystemError? {
        guard let number = option(fd, SO_ERROR), number != 0 else { return nil }
        return SystemError(number)
    }

    /// Returns the value of a socket option; nil if the descriptor does not have the option.
    private static func option(_ fd: Int32, _ name: Int32) -> Int32? {
        preservingSystemError {
            var value: Int32 = 0
            var size = UInt32(MemoryLayout<Int32>.size)
            return linux_socket_option(fd, name, &value, &size) == 0 ? value : nil
        }
    }

    /// Returns how many bytes can be read; nil if that is unknown.
    static func readableBytes(_ fd: Int32) -> Int? {
        let count = preservingSystemError { linux_readable_bytes(fd) }
        return count >= 0 ? count : nil
    }

    /// Allows `bind` to an address that ended connections still use, but not to one at which a socket listens.
    static func reuseAddress(_ fd: Int32) { preservingSystemError { linux_set_socket_option(fd, SO_REUSEADDR, 1) } }

    /// Binds the socket to an address.
    static func bind(_ fd: Int32, _ address: UnsafePointer<UInt8>, _ count: Int) throws(SystemError) {
        try checked(linux_bind(fd, address, UInt32(count)))
    }

    /// Listens with a queue of 256 clients, as CFSocket does. A socket that cannot listen is left unchanged.
    static func listen(_ fd: Int32) { preservingSystemError { linux_listen(fd, 256) } }

    /// Connects to an address. Throws EINPROGRESS if the connection is being established in the background.
    static func connect(_ fd: Int32, _ address: UnsafePointer<UInt8>, _ count: Int) throws(SystemError) {
        try checked(linux_connect(fd, address, UInt32(count)))
    }

    /// Accepts the next client and returns its descriptor, close-on-exec.
    static func accept(_ fd: Int32, _ client: inout SocketAddress) throws(SystemError) -> Int32 {
        try checked(Int32(client.fill { Int(linux_accept(fd, $0, $1)) }))
    }

    /// Stores the socket's own address or, if `ofPeer`, that of its peer in `address`.
    static func address(of fd: Int32, ofPeer: Bool, _ address: inout SocketAddress) throws(SystemError) {
        try checked(Int32(address.fill { Int(linux_name_of(fd, ofPeer ? 1 : 0, $0, $1)) }))
    }

    /// Receives bytes and their sender's address, and returns the number of bytes. Never blocks on a socket. Other descriptors are read,
    /// which may block, and then there is no address. Up to two system calls.
    static func receive(
        _ fd: Int32, _ bytes: UnsafeMutablePointer<UInt8>, _ count: Int, _ sender: inout SocketAddress
    ) throws(SystemError) -> Int {
        var result = sender.fill { linux_receive(fd, bytes, count, $0, $1) }
        if result < 0 && systemError == ENOTSOCK { result = linux_read(fd, bytes, count) }
        if result < 0 { throw .last }
        return result
    }

    /// Sends bytes, to `address` if there is one, and returns the number of bytes sent. With `waits`, blocks if the descriptor is blocking.
    static func send(
        _ fd: Int32, _ bytes: UnsafePointer<UInt8>, _ count: Int, to address: UnsafePointer<UInt8>?, _ addressCount: Int, waits: Bool
    ) throws(SystemError) -> Int {
        let result = linux_send(fd, bytes, count, address, UInt32(addressCount), waits ? 1 : 0)
        if result < 0 { throw .last }
        return result
    }

    /// Makes a descriptor blocking or non-blocking. Returns true if this changed it. Up to two system calls.
    static func setBlocking(_ fd: Int32, _ blocks: Bool) -> Bool { preservingSystemError { linux_set_blocking(fd, blocks ? 1 : 0) > 0 } }
}

extension SystemError {
    /// After `accept` has failed: whether the reason is that the descriptor does not listen, so that no client can arrive.
    var meansNotListening: Bool { number == EINVAL || number == ENOTSOCK || number == EOPNOTSUPP || number == EBADF }
}
