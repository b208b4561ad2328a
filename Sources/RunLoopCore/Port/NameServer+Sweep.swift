import CLinux

// Files of names whose process has ended without giving them up: by exit without RLMessagePortInvalidate, by a signal. The next that
// claims a name in the directory removes some of them, so that they do not pile up.
//
// Nothing here touches a name that somebody has: that one's file is locked. A file of ours that can be locked is one that nobody has, and
// if its socket is there, one that somebody had; without a socket it may be about to be claimed, so it has to be old. Who claims a name just
// when its file is looked at here finds it locked, and nobody who listens, and tries again: `NameServer.lock`.
extension NameServer {
    /// How many files of names one call looks at.
    private static var limit: Int { 16 }
    /// When a name that nobody has, and that has no socket, is not about to be claimed any more, in seconds.
    private static var age: Int { 60 }

    /// Removes what the dead have left, of some names; which ones, chance decides, so that in a directory of many living names each dead one's
    /// turn comes. Leaves errno as it was. Some system calls.
    @inline(never)
    static func sweep(_ directory: borrowing PortDirectory) {
        preservingSystemError {
            var count = 0
            directory.forEachEntry { name, length in if isLockName(name, length) { count += 1 } }
            if count == 0 { return }
            let first = count <= limit ? 0 : Int(Clock.now.nanoseconds / 64 % UInt64(count))
            var index = 0
            directory.forEachEntry { name, length in
                guard isLockName(name, length) else { return }
                let distance = index >= first ? index - first : index + count - first
                index += 1
                if distance < limit { sweep(directory, name, length) }
            }
        }
    }

    /// Whether it is what `withFileName` makes for a lock: some plain characters, and a number of 16 digits.
    private static func isLockName(_ name: UnsafePointer<CChar>, _ length: Int) -> Bool {
        let suffix = 1 + 16 + 5
        if length < suffix || length > suffix + 40 { return false }
        let end = name + (length - suffix)
        if end[0] != CChar(UInt8(ascii: "-")) || strcmp(end + 17, ".lock") != 0 { return false }
        for index in 1...16 {
            let digit = UInt8(bitPattern: end[index])
            let isDigit = (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(digit)
            if !isDigit { return false }
        }
        return true
    }

    private static func sweep(_ directory: borrowing PortDirectory, _ name: UnsafePointer<CChar>, _ length: Int) {
        guard let lock = directory.lockForgotten(name) else { return }
        withSuffix(name, length, ".port") { port in
            if directory.hasOwnSocket(port) || directory.isOlder(lock, than: age) {
                if directory.has(name, lock) {
                    directory.removeOwnSocket(port)
                    withSuffix(name, length, ".new") { directory.removeOwnSocket($0) }
                    directory.remove(name)
                }
            }
        }
        Descriptor.close(lock)
    }

    /// The name of another file of the same name.
    private static func withSuffix(_ name: UnsafePointer<CChar>, _ length: Int, _ suffix: Name, _ body: (UnsafePointer<CChar>) -> Void) {
        TextBuffer.build { text in
            text.append(UnsafeRawPointer(name).assumingMemoryBound(to: UInt8.self), length - 5)
            text.append(suffix)
            text.withCString(body)
        }
    }

    /// Locks the file of a name. Where it is locked though nobody listens, somebody else is about to claim the name, to give it up, or to
    /// sweep: that takes no time, so this tries again for a while.
    static func lock(
        _ name: UnsafePointer<CChar>, port: UnsafePointer<CChar>, _ directory: borrowing PortDirectory
    ) throws(SystemError) -> Int32 {
        for _ in 0..<100 {
            do { return try directory.lock(name) } catch { if error.number != EADDRINUSE { throw error } }
            if hasListener(port, directory) { break }
            // No descriptor: it only waits.
            _ = Descriptor.poll(-1, for: [], within: 1_000_000)
        }
        throw .make(EADDRINUSE)
    }

    /// Whether the name seems to be served: only a refused connection means that it is not.
    private static func hasListener(_ port: UnsafePointer<CChar>, _ directory: borrowing PortDirectory) -> Bool {
        do {
            Descriptor.close(try directory.connect(port))
            return true
        } catch { return error.number != ECONNREFUSED }
    }
}
