import CLinux

/// Who serves which name, among the processes of one user: files in the private directory.
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

    /// nil with errno: EADDRINUSE if somebody has the name, EACCES if the directory is not to be trusted. Some system calls.
    static func claim(_ name: StringPointer) -> Claim? {
        guard let directory = PrivateDirectory() else { return nil }
        let lock = withFileName(name, ".lock") { directory.lock($0) }
        if lock < 0 { return nil }
        let listener = withFileName(name, ".new") { new -> Int32 in
            directory.remove(new)
            let listener = directory.withPath(new) { PacketSocket.listen($0) }
            if listener < 0 { return -1 }
            if withFileName(name, ".port", { directory.rename(new, $0) }) { return listener }
            PacketSocket.close(listener)
            return -1
        }
        if listener >= 0 { return Claim(listener: listener, lock: lock) }
        PacketSocket.close(lock)
        return nil
    }

    /// The name is free again. Leaves errno as it was.
    static func giveUp(_ name: StringPointer, _ claim: Claim) {
        preservingSystemError {
            if let directory = PrivateDirectory() {
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

    /// A connection to who serves the name, of this user; -1 with errno: ECONNREFUSED if nobody does, EACCES if it is
    /// somebody else, EAGAIN if too many are waiting to be heard. Some system calls.
    static func connect(_ name: StringPointer) -> Int32 {
        guard let directory = PrivateDirectory() else { return -1 }
        let fd = withFileName(name, ".port") { file in directory.withPath(file) { PacketSocket.connect($0) } }
        if fd < 0 {
            if systemError == ENOENT { systemError = ECONNREFUSED }
            return -1
        }
        guard let peer = PacketSocket.credentials(fd), isTrusted(peer) else {
            PacketSocket.close(fd)
            systemError = EACCES
            return -1
        }
        return fd
    }

    /// Only processes of the same user talk to each other.
    static func isTrusted(_ peer: PacketSocket.Credentials) -> Bool { peer.user == PacketSocket.own.user }

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
