import CLinux

/// The directory that holds the names of message ports. It is the user's own and closed to other users, unless one was set up for several
/// users. Any thread: each function makes system calls on a descriptor that never changes, and takes no lock of the library.
///
/// The path is `$RUNLOOP_PORT_DIR`, else `$XDG_RUNTIME_DIR/runloop`, else `/tmp/runloop-UID`; the directory is created with mode 0700 if it
/// is missing. Refused are symbolic links, directories of users who are not trusted, and directories that others may write to, unless they
/// are sticky (as /tmp is). So no other user can remove or replace what this user has put there; but in a sticky directory, another user
/// can claim a name first. Files are reached through the open directory, so that it cannot be exchanged after the check.
struct PortDirectory: ~Copyable {
    private let fd: Int32

    /// Opens the directory and creates it if it is missing. Trusted are root, the effective user, and `user`. Throws EACCES if the
    /// directory is refused.
    init(trusting user: UInt32? = nil) throws(SystemError) {
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
        path.removeTrailingSlashes()
        if !path.fits { throw .make(path.hasMemory ? ENAMETOOLONG : ENOMEM) }
        let fd = path.withCString { path in
            // The directory usually exists already.
            preservingSystemError { linux_make_directory(path) }
            return linux_open_directory(path)
        }
        if fd < 0 { throw systemError == ELOOP || systemError == ENOTDIR ? .make(EACCES) : .last }
        if linux_is_guarded(fd, user ?? linux_user()) == 0 {
            Descriptor.close(fd)
            throw .make(EACCES)
        }
        self.fd = fd
    }

    deinit { Descriptor.close(fd) }

    /// Opens and locks a file of this user, creating it if it is missing. Throws EADDRINUSE if it is already locked, EACCES if it is
    /// another user's file or a symbolic link.
    func lock(_ name: UnsafePointer<CChar>) throws(SystemError) -> Int32 {
        let file = linux_open_locked(fd, name)
        if file < 0 {
            if systemError == EWOULDBLOCK { throw .make(EADDRINUSE) }
            throw systemError == ELOOP ? .make(EACCES) : .last
        }
        if linux_is_owned_by_user(file) != 0 { return file }
        Descriptor.close(file)
        throw .make(EACCES)
    }

    /// Connects to the listener at a socket in this directory. Throws ECONNREFUSED if there is none, EACCES if the name is a symbolic link
    /// or anything else that is not a socket, ENOENT if /proc is missing.
    func connect(_ name: UnsafePointer<CChar>) throws(SystemError) -> Int32 {
        let socket = linux_open_path(fd, name)
        if socket < 0 { throw systemError == ENOENT ? .make(ECONNREFUSED) : .last }
        defer { Descriptor.close(socket) }
        if linux_is_socket(socket) == 0 { throw .make(EACCES) }
        return try Self.withPath(socket, nil, PacketSocket.connect)
    }

    /// Creates a socket in this directory, listens at it, and returns the listener, which the caller closes. `isForAll`: see `setAccess`.
    /// Removes what had the name before. Throws EACCES if that cannot be removed, because it is another user's file or a directory.
    func listen(_ name: UnsafePointer<CChar>, isForAll: Bool) throws(SystemError) -> Int32 {
        remove(name)
        let listener: Int32
        do {
            listener = try Self.withPath(fd, name, PacketSocket.listen)
        } catch {
            throw error.number == EADDRINUSE ? .make(EACCES) : error
        }
        do {
            try setAccess(to: name, forAll: isForAll)
        } catch {
            Descriptor.close(listener)
            throw error
        }
        return listener
    }

    /// Sets who may connect to a socket of this user by changing the mode of the file: all users that can reach the directory, or only this
    /// user. Throws EPERM if the file is another user's. One system call.
    func setAccess(to name: UnsafePointer<CChar>, forAll isForAll: Bool) throws(SystemError) {
        try checked(linux_set_mode(fd, name, isForAll ? 0o666 : 0o600))
    }

    /// Opens and locks a lock file whose process has ended without removing it: an empty regular file of this user that is not locked.
    /// Returns the descriptor, which the caller closes; nil if the file is anything else or is missing.
    func lockStaleFile(_ name: UnsafePointer<CChar>) -> Int32? {
        let file = preservingSystemError { linux_lock_stale(fd, name) }
        return file >= 0 ? file : nil
    }

    /// Whether the name is that of a socket of this user.
    func hasOwnSocket(_ name: UnsafePointer<CChar>) -> Bool { preservingSystemError { linux_has_own_socket(fd, name) != 0 } }

    /// Removes the name if it is that of a socket of this user.
    func removeOwnSocket(_ name: UnsafePointer<CChar>) { if hasOwnSocket(name) { remove(name) } }

    /// Whether a file has not been modified for more than `seconds` seconds.
    func isUnmodified(_ file: Int32, for seconds: Int) -> Bool { preservingSystemError { linux_is_unmodified_for(file, seconds) != 0 } }

    /// Calls `body` with the names in this directory and their lengths. Stops after 200 KB of directory entries, which is about 4 000
    /// files.
    func forEachEntry(_ body: (UnsafePointer<CChar>, Int) -> Void) {
        let saved = systemError
        defer { systemError = saved }
        if linux_rewind_directory(fd) != 0 { return }
        withUnsafeTemporaryAllocation(byteCount: 1024, alignment: 8) { buffer in
            for _ in 0..<200 {
                let size = linux_read_directory(fd, buffer.baseAddress, buffer.count)
                if size <= 0 { return }
                var offset = 0
                while offset < size {
                    var name: UnsafePointer<CChar>!
                    offset += linux_directory_entry(buffer.baseAddress.unsafelyUnwrapped + offset, &name)
                    body(name, strlen(name))
                }
            }
        }
    }

    /// Whether the name still refers to the open file.
    func name(_ name: UnsafePointer<CChar>, refersTo file: Int32) -> Bool {
        preservingSystemError { linux_is_same_file(file, fd, name) != 0 }
    }

    /// Removes the name, whatever kind of file it refers to, except a directory.
    func remove(_ name: UnsafePointer<CChar>) { preservingSystemError { linux_unlink(fd, name) } }

    /// Renames a file, replacing a file that has the new name.
    func rename(_ old: UnsafePointer<CChar>, _ new: UnsafePointer<CChar>) throws(SystemError) { try checked(linux_rename(fd, old, new)) }

    /// Calls `body` with a path of an open file, or of a file in an open directory. The path is short, however long the file's own path is.
    private static func withPath(
        _ file: Int32, _ name: UnsafePointer<CChar>?, _ body: (UnsafePointer<CChar>) throws(SystemError) -> Int32
    ) throws(SystemError) -> Int32 {
        let outcome = TextBuffer.build { path in
            path.append("/proc/self/fd/")
            path.append(decimal: Int(file))
            if let name {
                path.append("/")
                path.append(UnsafeRawPointer(name).assumingMemoryBound(to: UInt8.self), strlen(name))
            }
            return path.withCString { path in Outcome { () throws(SystemError) in try body(path) } }
        }
        return try outcome.get()
    }
}

/// A path under construction.
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

    /// Removes "/" and "/." at the end: they do not change which directory the path refers to, but make the kernel follow a symbolic link.
    mutating func removeTrailingSlashes() {
        guard let bytes else { return }
        let (slash, dot) = (CChar(UInt8(ascii: "/")), CChar(UInt8(ascii: ".")))
        while count > 1 {
            if bytes[count - 1] == slash {
                count -= 1
            } else if count > 2 && bytes[count - 1] == dot && bytes[count - 2] == slash {
                count -= 2
            } else {
                break
            }
        }
        bytes[count] = 0
    }

    /// Appends a literal, which ends with a 0.
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
