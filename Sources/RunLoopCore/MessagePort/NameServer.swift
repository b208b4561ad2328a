import CLinux

/// Records which process serves which name, as files in a directory. That is private to one user unless users have agreed on another.
///
/// A process claims a name by locking the name's file with flock(2). The kernel releases the lock when the process ends, in whatever way,
/// so names never become stale. Only the process that holds the lock touches the socket of that name. It binds the socket under a temporary
/// name and renames it once it listens, so a client never finds a socket that does not listen yet. If a client finds a socket on which no
/// process listens, then no process serves the name.
enum NameServer {
    /// Claims a name and listens. Returns the listening socket and the name's locked file. Throws EADDRINUSE if another port has the name,
    /// EACCES if the directory is not trusted or if the name's file belongs to another user. Some system calls.
    static func claim(_ name: StringPointer, isForAll: Bool) throws(SystemError) -> (listener: Int32, lock: Int32) {
        let directory = try PortDirectory()
        let files = try PortFiles(name)
        defer { files.free() }
        sweep(directory)
        let lock = try lock(files, directory)
        var listener: Int32?
        do throws(SystemError) {
            let socket = try directory.listen(files.new, isForAll: isForAll)
            listener = socket
            try directory.rename(files.new, files.port)
            return (socket, lock)
        } catch {
            directory.remove(files.lock)
            Descriptor.close(lock)
            guard let listener else { throw error }
            Descriptor.close(listener)
            directory.remove(files.new)
            // In a sticky directory another user's file cannot be replaced.
            throw error.number == EPERM ? .make(EACCES) : error
        }
    }

    /// Allows all users, or only this user, to connect to a name of this process. Throws ENOENT if the name's files were replaced.
    static func setAccess(to name: StringPointer, _ lock: Int32, forAll isForAll: Bool) throws(SystemError) {
        let directory = try PortDirectory()
        let files = try PortFiles(name)
        defer { files.free() }
        if !directory.name(files.lock, refersTo: lock) { throw .make(ENOENT) }
        try directory.setAccess(to: files.port, forAll: isForAll)
    }

    /// Releases the name, so that other processes can claim it, and closes its file. Preserves errno.
    static func release(_ name: StringPointer, _ lock: Int32) {
        preservingSystemError {
            if let directory = try? PortDirectory(), let files = try? PortFiles(name) {
                defer { files.free() }
                // Not if the directory was replaced meanwhile.
                if directory.name(files.lock, refersTo: lock) {
                    directory.remove(files.port)
                    directory.remove(files.lock)
                }
            }
            Descriptor.close(lock)
        }
    }

    /// Connects to the server of a name, which must be a process of `user`; nil for any user. The directory must belong to root, to this
    /// process's user, or to `user`. Throws ECONNREFUSED if there is no server, EACCES if the server is another user's or lets in only its
    /// own user, EAGAIN if too many clients are waiting. Some system calls.
    static func connect(_ name: StringPointer, of user: UInt32?) throws(SystemError) -> Int32 {
        let directory = try PortDirectory(trusting: user)
        let files = try PortFiles(name)
        defer { files.free() }
        let fd = try directory.connect(files.port)
        if user == nil || (try? PacketSocket.credentials(fd))?.user == user { return fd }
        PacketSocket.close(fd)
        throw .make(EACCES)
    }
}

/// The file names of a port. They begin with the first characters of the port's name, for people to read, followed by a hash of the whole
/// name. Two ports with the same file names are not mixed up, because a client's hello contains the whole name.
///
/// Freed by `free()` rather than by a deinit, which for a temporary would run as soon as a pointer to a name had been read from it.
struct PortFiles: BitwiseCopyable {
    /// The three file names, one after the other.
    private let memory: UnsafeMutablePointer<CChar>

    /// The file that the server locks.
    var lock: UnsafePointer<CChar> { UnsafePointer(memory) }
    /// The socket on which the server listens.
    var port: UnsafePointer<CChar> { UnsafePointer(memory + Self.size) }
    /// The name of the socket until it listens.
    var new: UnsafePointer<CChar> { UnsafePointer(memory + 2 * Self.size) }

    /// How many characters of a port's name are in its file names.
    static var prefixLimit: Int { 40 }
    /// Room for a file name: the prefix, a hyphen, 16 digits, a suffix and a 0.
    private static var size: Int { prefixLimit + 1 + 16 + 6 }

    /// Makes the file names of the port with this name. Throws ENOMEM if out of memory.
    init(_ name: StringPointer) throws(SystemError) {
        memory = try Self.allocate()
        let count = min(name.count, Self.prefixLimit)
        for index in 0..<count {
            let byte = name.pointee.bytes[index]
            let isPlain = strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.", Int32(byte)) != nil
            memory[index] = CChar(bitPattern: isPlain ? byte : UInt8(ascii: "_"))
        }
        memory[count] = CChar(UInt8(ascii: "-"))
        var hash = Self.hash(name)
        for index in 1...16 {
            hash = hash << 4 | hash >> 60
            memory[count + index] = CChar(hash & 15 < 10 ? 48 + hash & 15 : 87 + hash & 15)
        }
        complete(count + 17)
    }

    /// Makes the file names of the port whose lock file has the name `lock`, of `length` characters. Throws ENOMEM if out of memory.
    init(lock: UnsafePointer<CChar>, _ length: Int) throws(SystemError) {
        memory = try Self.allocate()
        memcpy(memory, lock, length - 5)
        complete(length - 5)
    }

    private static func allocate() throws(SystemError) -> UnsafeMutablePointer<CChar> {
        guard let memory = malloc(3 * size) else { throw .make(ENOMEM) }
        return memory.bindMemory(to: CChar.self, capacity: 3 * size)
    }

    /// Completes the three file names. Their common beginning, of `count` characters, is in the first one.
    @inline(never)
    private func complete(_ count: Int) {
        memcpy(memory + Self.size, memory, count)
        memcpy(memory + 2 * Self.size, memory, count)
        strcpy(memory + count, ".lock")
        strcpy(memory + Self.size + count, ".port")
        strcpy(memory + 2 * Self.size + count, ".new")
    }

    /// Frees the file names.
    func free() { CLinux.free(memory) }

    /// A hash of the name that is equal in every process: 64-bit FNV-1a, with its bits mixed.
    private static func hash(_ name: StringPointer) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for index in 0..<name.count { hash = (hash ^ UInt64(name.pointee.bytes[index])) &* 0x100_0000_01B3 }
        return UInt64(Bytes.mix(UInt(hash)))
    }
}
