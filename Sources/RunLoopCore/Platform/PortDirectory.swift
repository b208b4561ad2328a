import CLinux

/// The directory in which the names of ports are: this user's own and closed to everybody else, unless somebody has made
/// another one for several users.
///
/// `$RUNLOOP_PORT_DIR`, else `$XDG_RUNTIME_DIR/runloop`, else `/tmp/runloop-UID`. It is made, with mode 0700, if it is missing.
/// Refused is what belongs to a user who is not trusted, what others may write to unless it is sticky (as /tmp is), and a
/// symbolic link. So nobody can take away or replace what this user has put there; in a sticky one anybody can be there first.
/// Files are reached through the open directory, so that nobody can put another one in its place after the look.
struct PortDirectory: ~Copyable {
    private let fd: Int32

    /// Trusted are root, the effective user, and `user`. nil with errno: EACCES for a directory that is refused.
    init?(trusting user: UInt32? = nil) {
        var path = Path()
        if let chosen = linux_environment("RUNLOOP_PORT_DIR"), chosen.pointee != 0 {
            path.append(chosen)
        } else if let runtime = linux_environment("XDG_RUNTIME_DIR"), runtime.pointee != 0 {
            path.append(runtime)
            path.append("/runloop")
        } else {
            path.append("/tmp/runloop-")
            path.append(decimal: linux_user())
        }
        guard path.fits else {
            systemError = path.hasMemory ? ENAMETOOLONG : ENOMEM
            return nil
        }
        let fd = path.withCString { path in
            // It is there already, most of the time.
            preservingSystemError { linux_make_directory(path) }
            return linux_open_directory(path)
        }
        if fd < 0 {
            if systemError == ELOOP || systemError == ENOTDIR { systemError = EACCES }
            return nil
        }
        if linux_is_guarded(fd, user ?? linux_user()) == 0 {
            PacketSocket.close(fd)
            systemError = EACCES
            return nil
        }
        self.fd = fd
    }

    deinit { PacketSocket.close(fd) }

    /// A file of this user that this process alone has locked, made if it is missing; -1 with errno: EADDRINUSE if another has
    /// it, EACCES if it is another user's.
    func lock(_ name: UnsafePointer<CChar>) -> Int32 {
        let file = linux_open_locked(fd, name)
        if file < 0 {
            if systemError == EWOULDBLOCK { systemError = EADDRINUSE }
            if systemError == ELOOP { systemError = EACCES }
            return -1
        }
        if linux_is_mine(file) != 0 { return file }
        PacketSocket.close(file)
        systemError = EACCES
        return -1
    }

    /// A connection to who listens at a socket in here; -1 with errno: ECONNREFUSED if there is none, EACCES if it is something else, a
    /// link to one too, ENOENT if /proc is not there.
    func connect(_ name: UnsafePointer<CChar>) -> Int32 {
        let socket = linux_open_path(fd, name)
        if socket < 0 {
            if systemError == ENOENT { systemError = ECONNREFUSED }
            return -1
        }
        defer { PacketSocket.close(socket) }
        if linux_is_socket(socket) != 0 { return Self.withPath(socket, nil) { PacketSocket.connect($0) } }
        systemError = EACCES
        return -1
    }

    /// A socket that listens in here, for this user or for all; -1 with errno. What has the name is removed.
    func listen(_ name: UnsafePointer<CChar>, isForAll: Bool) -> Int32 {
        remove(name)
        let listener = Self.withPath(fd, name) { PacketSocket.listen($0) }
        // What is in the way is another user's, or no file.
        if listener < 0 && systemError == EADDRINUSE { systemError = EACCES }
        if listener < 0 || open(name, toAll: isForAll) { return listener }
        PacketSocket.close(listener)
        return -1
    }

    /// Lets everybody connect to a socket of this user, or this user alone. False with errno.
    func open(_ name: UnsafePointer<CChar>, toAll isForAll: Bool) -> Bool { linux_set_mode(fd, name, isForAll ? 0o666 : 0o600) == 0 }

    /// The file of a name, locked, if it is a plain empty one of this user and nobody has it locked; else -1.
    func lockForgotten(_ name: UnsafePointer<CChar>) -> Int32 { linux_lock_forgotten(fd, name) }

    /// Whether there is a socket of this user.
    func hasOwnSocket(_ name: UnsafePointer<CChar>) -> Bool { linux_has_own_socket(fd, name) != 0 }

    /// Nothing that is no socket of this user's is removed.
    func removeOwnSocket(_ name: UnsafePointer<CChar>) { if hasOwnSocket(name) { remove(name) } }

    /// Whether a file was made more than so many seconds ago.
    func isOlder(_ file: Int32, than seconds: Int) -> Bool { linux_is_older(file, seconds) != 0 }

    /// Calls `body` with the names in here and their lengths: of 4 000 files or so at most.
    func forEachEntry(_ body: (UnsafePointer<CChar>, Int) -> Void) {
        if linux_rewind_directory(fd) != 0 { return }
        withUnsafeTemporaryAllocation(byteCount: 1024, alignment: 8) { buffer in
            for _ in 0..<200 {
                let size = linux_read_directory(fd, buffer.baseAddress, buffer.count)
                if size <= 0 { return }
                var offset = 0
                while offset < size {
                    let entry = buffer.baseAddress.unsafelyUnwrapped + offset
                    let name = (entry + 19).assumingMemoryBound(to: CChar.self)
                    body(name, strlen(name))
                    offset += Int((entry + 16).loadUnaligned(as: UInt16.self))
                }
            }
        }
    }

    /// Whether the locked file still has its name.
    func has(_ name: UnsafePointer<CChar>, _ file: Int32) -> Bool { linux_is_same_file(file, fd, name) != 0 }

    /// Leaves errno as it was.
    func remove(_ name: UnsafePointer<CChar>) { preservingSystemError { _ = linux_unlink(fd, name) } }

    /// False with errno.
    func rename(_ old: UnsafePointer<CChar>, _ new: UnsafePointer<CChar>) -> Bool { linux_rename(fd, old, new) == 0 }

    /// Calls `body` with a path to an open file, or to one in an open directory, that is short whatever its own path is.
    private static func withPath<Result>(
        _ file: Int32, _ name: UnsafePointer<CChar>?, _ body: (UnsafePointer<CChar>) -> Result
    ) -> Result {
        TextBuffer.build { path in
            path.append("/proc/self/fd/")
            path.append(decimal: Int(file))
            if let name {
                path.append("/")
                path.append(UnsafeRawPointer(name).assumingMemoryBound(to: UInt8.self), strlen(name))
            }
            return path.withCString(body)
        }
    }
}

/// A path that is being put together.
private struct Path: ~Copyable {
    private static var limit: Int { 4096 }
    private let bytes: UnsafeMutablePointer<CChar>?
    private var count = 0
    private(set) var fits: Bool

    init() {
        bytes = malloc(Self.limit)?.assumingMemoryBound(to: CChar.self)
        bytes?[0] = 0
        fits = bytes != nil
    }

    deinit { free(bytes) }

    var hasMemory: Bool { bytes != nil }

    mutating func append(_ text: UnsafePointer<CChar>) {
        let length = strlen(text)
        guard fits, count + length < Self.limit, let bytes else {
            fits = false
            return
        }
        memcpy(bytes + count, text, length + 1)
        count += length
    }

    mutating func append(_ text: StaticString) {
        text.utf8Start.withMemoryRebound(to: CChar.self, capacity: text.utf8CodeUnitCount + 1) { append($0) }
    }

    mutating func append(decimal value: UInt32) {
        var digits: (CChar, CChar) = (0, 0)
        if value >= 10 { append(decimal: value / 10) }
        digits.0 = CChar(48 + value % 10)
        withUnsafePointer(to: &digits) { $0.withMemoryRebound(to: CChar.self, capacity: 2) { append($0) } }
    }

    func withCString<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result { body(bytes.unsafelyUnwrapped) }
}
