import CLinux

/// Who serves which name: files in a directory, which the processes of one user have for themselves unless they agree on one
/// with others.
///
/// A name is claimed by locking its file (flock): the kernel gives the lock back when the owner dies, however it dies, so a
/// name is never stale. Only who holds the lock touches the socket of that name; it is bound under another name and moved
/// into place when it listens, so that nobody finds one that does not. Who finds a socket that nobody listens at any more
/// knows that nobody serves the name.
///
/// File names are made of the first characters of the name, for people, and a hash of all of it. Two names that share one
/// cannot be mixed up: the first packet of a client says the whole name.
enum NameServer {
    /// A name that this process has.
    struct Claim: BitwiseCopyable {
        /// The socket that listens.
        var listener: Int32
        /// The locked file.
        var lock: Int32

        static let none = Claim(listener: -1, lock: -1)
    }

    /// Takes a name: EADDRINUSE if another process has it, EACCES if the directory is not to be trusted, or if the name was another
    /// user's. Some system calls.
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
            // In a sticky directory another user's file is in the way.
            throw error.number == EPERM ? .make(EACCES) : error
        }
    }

    /// Lets all users connect to a name of this process, or this user alone.
    static func open(_ name: StringPointer, _ claim: Claim, toAll isForAll: Bool) throws(SystemError) {
        let directory = try PortDirectory()
        if !isLocked(name, by: claim, in: directory) { throw .make(ENOENT) }
        try withFileName(name, ".port") { (port) throws(SystemError) in try directory.open(port, toAll: isForAll) }
    }

    /// The name is free again. Leaves errno as it was.
    static func release(_ name: StringPointer, _ claim: Claim) {
        preservingSystemError {
            // Not if the directory is another one now.
            if let directory = try? PortDirectory(), isLocked(name, by: claim, in: directory) {
                removeFile(name, ".port", from: directory)
                removeFile(name, ".lock", from: directory)
            }
            Descriptor.close(claim.lock)
        }
    }

    private static func isLocked(_ name: StringPointer, by claim: Claim, in directory: borrowing PortDirectory) -> Bool {
        withFileName(name, ".lock") { directory.has($0, claim.lock) }
    }

    private static func removeFile(_ name: StringPointer, _ suffix: Name, from directory: borrowing PortDirectory) {
        withFileName(name, suffix) { directory.remove($0) }
    }

    /// In a child of fork(): the name is the parent's.
    static func forget(_ claim: Claim) {
        if claim.lock >= 0 { Descriptor.close(claim.lock) }
    }

    /// Connects to the server of a name, which must be a process of `user`. ECONNREFUSED if there is none, EACCES if it is another user's
    /// or lets only its own user in, EAGAIN if too many clients are waiting. Some system calls.
    static func connect(_ name: StringPointer, of user: UInt32) throws(SystemError) -> Int32 {
        let fd = try connect(name, trusting: user)
        if (try? PacketSocket.credentials(fd))?.user == user { return fd }
        Descriptor.close(fd)
        throw .make(EACCES)
    }

    /// Connects to the server of a name, whatever its user. `user`: see `PortDirectory`.
    static func connect(_ name: StringPointer, trusting user: UInt32? = nil) throws(SystemError) -> Int32 {
        let directory = try PortDirectory(trusting: user)
        return try withFileName(name, ".port") { (port) throws(SystemError) in try directory.connect(port) }
    }

    private static func withFileName<Value>(
        _ name: StringPointer, _ suffix: Name, _ body: (UnsafePointer<CChar>) throws(SystemError) -> Value
    ) throws(SystemError) -> Value {
        try withFileName(name, suffix) { (path) -> Outcome<Value> in Outcome { () throws(SystemError) in try body(path) } }.get()
    }

    private static func withFileName<Result>(
        _ name: StringPointer, _ suffix: Name, _ body: (UnsafePointer<CChar>) -> Result
    ) -> Result {
        TextBuffer.build { text in
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
            return text.withCString(body)
        }
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "."): true
        default: false
        }
    }

    /// FNV-1a of 64 bits, spread.
    private static func hash(_ name: StringPointer) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for index in 0..<name.count { hash = (hash ^ UInt64(name.pointee.bytes[index])) &* 0x100_0000_01B3 }
        return UInt64(Bytes.mix(UInt(hash)))
    }
}
