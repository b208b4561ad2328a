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

    /// nil with errno: EADDRINUSE if somebody has the name, EACCES if the directory is not to be trusted, or if the name was
    /// another user's. Some system calls.
    static func claim(_ name: StringPointer, isForAll: Bool) -> Claim? {
        guard let directory = PortDirectory() else { return nil }
        sweep(directory)
        let lock = withFileName(name, ".lock") { lock in withFileName(name, ".port") { Self.lock(lock, port: $0, directory) } }
        if lock < 0 { return nil }
        let listener = withFileName(name, ".new") { new -> Int32 in
            let listener = directory.listen(new, isForAll: isForAll)
            if listener < 0 || withFileName(name, ".port", { directory.rename(new, $0) }) { return listener }
            // In a sticky directory another user's file is in the way.
            if systemError == EPERM { systemError = EACCES }
            PacketSocket.close(listener)
            directory.remove(new)
            return -1
        }
        if listener >= 0 { return Claim(listener: listener, lock: lock) }
        withFileName(name, ".lock") { directory.remove($0) }
        PacketSocket.close(lock)
        return nil
    }

    /// Lets all users connect to a name of this process, or this one alone. False with errno.
    static func open(_ name: StringPointer, _ claim: Claim, toAll isForAll: Bool) -> Bool {
        guard let directory = PortDirectory() else { return false }
        if withFileName(name, ".lock", { directory.has($0, claim.lock) }) {
            return withFileName(name, ".port") { directory.open($0, toAll: isForAll) }
        }
        systemError = ENOENT
        return false
    }

    /// The name is free again. Leaves errno as it was.
    static func giveUp(_ name: StringPointer, _ claim: Claim) {
        preservingSystemError {
            if let directory = PortDirectory() {
                withFileName(name, ".lock") { lock in
                    // Not if the directory is another one now.
                    if directory.has(lock, claim.lock) {
                        withFileName(name, ".port") { directory.remove($0) }
                        directory.remove(lock)
                    }
                }
            }
            PacketSocket.close(claim.lock)
        }
    }

    /// In a child of fork(): the name is the parent's.
    static func forget(_ claim: Claim) {
        if claim.lock >= 0 { PacketSocket.close(claim.lock) }
    }

    /// A connection to who serves the name; -1 with errno: ECONNREFUSED if nobody does, EACCES if it is not `user` or lets
    /// only its own user in, EAGAIN if too many are waiting to be heard. Some system calls.
    static func connect(_ name: StringPointer, of user: UInt32) -> Int32 {
        let fd = connect(name, trusting: user)
        if fd < 0 || PacketSocket.credentials(fd)?.user == user { return fd }
        PacketSocket.close(fd)
        systemError = EACCES
        return -1
    }

    /// The same, whoever serves it. `user`: see `PortDirectory`.
    static func connect(_ name: StringPointer, trusting user: UInt32? = nil) -> Int32 {
        guard let directory = PortDirectory(trusting: user) else { return -1 }
        return withFileName(name, ".port") { directory.connect($0) }
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
