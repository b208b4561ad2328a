import CLinux

// Removes the files of names whose process has ended without RLMessagePortInvalidate, by exit or by a signal. Each claim of a name sweeps
// some of them, so that they do not pile up.
//
// A name that is served is not touched, since its file is locked. A file of this user that can be locked belongs to a name that is not
// served. If there is a socket too, the name was served once. Without one, another process may be about to claim the name, so the file has
// to be old. A process that tries to claim a name while its file is locked here finds no listener, and tries again: see `NameServer.lock`.
extension NameServer {
    /// How many names one sweep checks.
    private static var limit: Int { 16 }
    /// How old, in seconds, a lock file without a socket has to be: no claim takes that long.
    private static var age: Int { 60 }

    /// Removes the files of some dead names, starting at a random one, so that each dead name gets its turn even in a directory of many
    /// live ones. Preserves errno. O(files in the directory), which is read twice.
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

    /// Whether a file name is that of a lock file as `PortFiles` makes it: some characters, a hyphen, a hash of 16 digits, and the suffix.
    @inline(never)
    private static func isLockName(_ name: UnsafePointer<CChar>, _ length: Int) -> Bool {
        let suffix = 1 + 16 + 5
        if length < suffix || length > suffix + PortFiles.prefixLimit { return false }
        let end = name + (length - suffix)
        return end[0] == CChar(UInt8(ascii: "-")) && strspn(end + 1, "0123456789abcdef") == 16 && strcmp(end + 17, ".lock") == 0
    }

    /// Removes the files of a name if it is dead.
    private static func sweep(_ directory: borrowing PortDirectory, _ name: UnsafePointer<CChar>, _ length: Int) {
        guard let lock = directory.lockStaleFile(name) else { return }
        defer { Descriptor.close(lock) }
        guard let files = try? PortFiles(lock: name, length) else { return }
        defer { files.free() }
        if directory.hasOwnSocket(files.port) || directory.isUnmodified(lock, for: age), directory.name(name, refersTo: lock) {
            directory.removeOwnSocket(files.port)
            directory.removeOwnSocket(files.new)
            directory.remove(name)
        }
    }

    /// Locks the file of a name, and returns its descriptor. If the file is locked and no process listens, another process is claiming the
    /// name, releasing it, or sweeping. None of these takes long, so this tries again for 0.1 s, and then throws EADDRINUSE. Unless a
    /// connection is refused, a process seems to listen, and it throws EADDRINUSE immediately.
    static func lock(_ files: PortFiles, _ directory: borrowing PortDirectory) throws(SystemError) -> Int32 {
        for _ in 0..<100 {
            do { return try directory.lock(files.lock) } catch { if error.number != EADDRINUSE { throw error } }
            do {
                PacketSocket.close(try directory.connect(files.port))
                break
            } catch { if error.number != ECONNREFUSED { break } }
            // Sleeps for a millisecond. No event can end a poll without a descriptor.
            _ = Descriptor.poll(-1, for: [], within: 1_000_000)
        }
        throw .make(EADDRINUSE)
    }
}
