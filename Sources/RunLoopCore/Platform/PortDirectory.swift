import CLinux

/// The directory in which the names of this user's ports are: the user's own, closed to everybody else.
///
/// `$RUNLOOP_PORT_DIR`, else `$XDG_RUNTIME_DIR/runloop`, else `/tmp/runloop-UID`. It is made if it is missing. What is not a
/// directory of mode 0700 or less that belongs to the effective user, or is a symbolic link, is refused. Files are
/// reached through the open directory, so that nobody can put another one in its place after the look.
struct PrivateDirectory: ~Copyable {
    private let fd: Int32

    /// nil with errno: EACCES for a directory that somebody else may change.
    init?() {
        var path = Path()
        if let chosen = linux_environment("RUNLOOP_PORT_DIR"), chosen.pointee != 0 {
            path.append(chosen)
        } else if let runtime = linux_environment("XDG_RUNTIME_DIR"), runtime.pointee != 0 {
            path.append(runtime)
            path.append("/runloop")
        } else {
            path.append("/tmp/runloop-")
            path.append(decimal: geteuid())
        }
        guard path.fits else {
            systemError = ENAMETOOLONG
            return nil
        }
        let fd: Int32 = path.withCString { path in
            _ = mkdir(path, 0o700)
            return linux_open_directory(path)
        }
        if fd < 0 {
            if systemError == ELOOP || systemError == ENOTDIR { systemError = EACCES }
            return nil
        }
        if linux_is_private(fd) == 0 {
            PacketSocket.close(fd)
            systemError = EACCES
            return nil
        }
        self.fd = fd
    }

    deinit { PacketSocket.close(fd) }

    /// A file that this process alone has locked, made if it is missing; -1 with errno, EADDRINUSE if another has it.
    func lock(_ name: UnsafePointer<CChar>) -> Int32 {
        let file = linux_open_locked(fd, name)
        if file < 0 && systemError == EWOULDBLOCK { systemError = EADDRINUSE }
        if file < 0 && systemError == ELOOP { systemError = EACCES }
        return file
    }

    /// Whether the locked file still has its name.
    func has(_ name: UnsafePointer<CChar>, _ file: Int32) -> Bool { linux_is_same_file(file, fd, name) != 0 }

    /// Leaves errno as it was.
    func remove(_ name: UnsafePointer<CChar>) { preservingSystemError { _ = linux_unlink(fd, name) } }

    /// False with errno.
    func rename(_ old: UnsafePointer<CChar>, _ new: UnsafePointer<CChar>) -> Bool { renameat(fd, old, fd, new) == 0 }

    /// Calls `body` with a path to a file in here that is short, whatever the directory's own path is.
    func withPath<Result>(_ name: UnsafePointer<CChar>, _ body: (UnsafePointer<CChar>) -> Result) -> Result {
        var path = Path()
        path.append("/proc/self/fd/")
        path.append(decimal: UInt32(fd))
        path.append("/")
        path.append(name)
        return path.withCString(body)
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
