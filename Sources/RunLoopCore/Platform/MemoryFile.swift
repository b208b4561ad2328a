import CLinux

/// A file in memory that can be passed to another process: for what is too large for a packet.
enum MemoryFile {
    /// A file with these bytes that cannot shrink; EFBIG if it is more than the process may write. Some system calls; copies.
    static func make(_ bytes: UnsafeRawPointer, _ count: Int) throws(SystemError) -> Int32 {
        let fd = try checked(linux_memory_file(count))
        if linux_seal_size(fd) == 0 && transfer(count, { linux_pwrite(fd, bytes + $0, count - $0, $0) }) { return fd }
        Descriptor.close(fd)
        throw .last
    }

    /// Whether a descriptor from another process is such a file, with at least so many bytes that are really there. Nothing else is read
    /// from: reading might block.
    static func isUsable(_ fd: Int32, _ count: Int) -> Bool {
        preservingSystemError {
            var identity = linux_file_identity()
            return linux_is_sealed(fd) != 0 && linux_memory_file_bytes(fd, &identity) >= count
        }
    }

    /// Copies the first bytes of a file out. False if they are not there.
    static func read(_ fd: Int32, _ buffer: UnsafeMutableRawPointer, _ count: Int) -> Bool {
        preservingSystemError { transfer(count) { linux_pread(fd, buffer + $0, count - $0, $0) } }
    }

    /// Calls `step` with the number of bytes that are done until all are; it returns how many more it did, or -1 with errno. False with errno.
    private static func transfer(_ count: Int, _ step: (Int) -> Int) -> Bool {
        var done = 0
        while done < count {
            let result = step(done)
            if result < 0 && systemError == EINTR { continue }
            if result <= 0 { return false }
            done += result
        }
        return true
    }
}
