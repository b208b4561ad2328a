import CLinux

/// Which process serves which name: files in a directory, which is private to one user unless users have agreed on another.
///
/// A process claims a name by locking the name's file (flock). The kernel releases the lock when the process ends in whatever way, so
/// names never become stale. Only the process that holds the lock touches the socket of that name. It binds the socket under another name
/// and renames it when it listens, so a client never finds one that does not listen yet. If a client finds a socket on which no process
/// listens, then no process serves the name.
///
/// A file name consists of the first characters of the port's name, for people to read, and a hash of all of it. Two names with the same
/// file name are not mixed up, because the first packet of a client contains the whole name.
enum NameServer {
    /// A name that this process serves.
    struct Claim: BitwiseCopyable {
        /// The listening socket.
        var listener: Int32
        /// The locked file.
        var lock: Int32

        static let none = Claim(listener: -1, lock: -1)
    }

    /// Claims a name and listens. EADDRINUSE if another port has the name, EACCES if the directory is not to be trusted or if the name's
    /// file belongs to another user. Some system calls.
    static func claim(_ name: StringPointer, isForAll: Bool) throws(SystemError) -> Claim {
        let directory = try PortDirectory()
        sweep(directory)
        let lock = try withFileName(name, ".lock") { (lock) throws(SystemError) in
            try withFileName(name, ".port") { (port) throws(SystemError) in try Self.lock(lock, port: port, directory) }
        }
        do {
            let listener = try withFileName(name, ".new") { (new) throws(SystemError) in
                try listen(name, new, directory, isForAll: isForAll)
            }
            return Claim(listener: listener, lock: lock)
        } catch {
            removeFile(name, ".lock", from: directory)
            Descriptor.close(lock)
            throw error
        }
    }

    /// Listens at the file `new`, and gives it the name once it does.
    private static func listen(
        _ name: StringPointer, _ new: UnsafePointer<CChar>, _ directory: borrowing PortDirectory, isForAll: Bool
    ) throws(SystemError) -> Int32 {
        let listener = try directory.listen(new, isForAll: isForAll)
        do {
            try withFileName(name, ".port") { (port) throws(SystemError) in try directory.rename(new, port) }
            return listener
        } catch {
            Descriptor.close(listener)
            directory.remove(new)
            // In a sticky directory another user's file cannot be replaced.
            throw error.number == EPERM ? .make(EACCES) : error
        }
    }

    /// Lets all users connect to a name of this process, or this user alone.
    static func open(_ name: StringPointer, _ claim: Claim, toAll isForAll: Bool) throws(SystemError) {
        let directory = try PortDirectory()
        if !isLocked(name, by: claim, in: directory) { throw .make(ENOENT) }
        try withFileName(name, ".port") { (port) throws(SystemError) in try directory.open(port, toAll: isForAll) }
    }

    /// Frees the name for other processes. Preserves errno.
    static func release(_ name: StringPointer, _ claim: Claim) {
        preservingSystemError {
            // Not if the directory has been replaced meanwhile.
            if let directory = try? PortDirectory(), isLocked(name, by: claim, in: directory) {
                removeFile(name, ".port", from: directory)
                removeFile(name, ".lock", from: directory)
            }
            Descriptor.close(claim.lock)
        }
    }

    /// Whether the file of a name is still the one that the claim has locked.
    @inline(never)
    private static func isLocked(_ name: StringPointer, by claim: Claim, in directory: borrowing PortDirectory) -> Bool {
        withFileName(name, ".lock") { directory.has($0, claim.lock) }
    }

    /// Removes a file of a name. Preserves errno.
    private static func removeFile(_ name: StringPointer, _ suffix: Name, from directory: borrowing PortDirectory) {
        withFileName(name, suffix) { directory.remove($0) }
    }

    /// In a child of fork(): closes the descriptors. The name stays the parent's.
    static func closeInChild(_ claim: Claim) {
        if claim.lock >= 0 { Descriptor.close(claim.lock) }
    }

    /// Connects to the server of a name, which must be a process of `user`. ECONNREFUSED if there is none, EACCES if it is another user's
    /// or lets only its own user in, EAGAIN if too many clients are waiting. Some system calls.
    static func connect(_ name: StringPointer, of user: UInt32) throws(SystemError) -> Int32 {
        let fd = try connect(name, trusting: user)
        if (try? PacketSocket.credentials(fd))?.user == user { return fd }
        PacketSocket.close(fd)
        throw .make(EACCES)
    }

    /// Connects to the server of a name, whichever user that runs as. The directory of port files must belong to root, to this process's
    /// user, or to `user`. Throws what the system refused.
    static func connect(_ name: StringPointer, trusting user: UInt32? = nil) throws(SystemError) -> Int32 {
        let directory = try PortDirectory(trusting: user)
        return try withFileName(name, ".port") { (port) throws(SystemError) in try directory.connect(port) }
    }

    private static func withFileName<Value>(
        _ name: StringPointer, _ suffix: Name, _ body: (UnsafePointer<CChar>) throws(SystemError) -> Value
    ) throws(SystemError) -> Value {
        try withFileName(name, suffix) { (path) -> Outcome<Value> in Outcome { () throws(SystemError) in try body(path) } }.get()
    }

    /// Calls `body` with the file name of a port's name.
    private static func withFileName<Result>(
        _ name: StringPointer, _ suffix: Name, _ body: (UnsafePointer<CChar>) -> Result
    ) -> Result {
        TextBuffer.build { text in
            appendFileName(of: name, suffix, to: &text)
            return text.withCString(body)
        }
    }

    @inline(never)
    private static func appendFileName(of name: StringPointer, _ suffix: Name, to text: inout TextBuffer) {
        for index in 0..<min(name.count, 40) {
            let byte = name.pointee.bytes[index]
            text.append(isPlain(byte) ? byte : UInt8(ascii: "_"))
        }
        text.append("-")
        let hash = hash(name)
        var shift: UInt64 = 64
        while shift > 0 {
            shift -= 4
            let digit = UInt8(truncatingIfNeeded: (hash >> shift) & 15)
            text.append(digit < 10 ? 48 + digit : 87 + digit)
        }
        text.append(suffix)
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "."): true
        default: false
        }
    }

    /// A hash of the name that is the same in every process: 64-bit FNV-1a, with its bits mixed.
    private static func hash(_ name: StringPointer) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for index in 0..<name.count { hash = (hash ^ UInt64(name.pointee.bytes[index])) &* 0x100_0000_01B3 }
        return UInt64(Bytes.mix(UInt(hash)))
    }
}
