import CLinux

/// A memory file of fixed size, mapped for reading and writing by two processes. One creates it and passes it to the other.
///
/// The contents may change at any time: bytes are copied once, and only the copy is examined. The other process may also remove pages
/// (fallocate punches holes); an access then finds zeros in a new page. Where the kernel may refuse that page, nothing is mapped. Nothing
/// here waits for the other process: once a file has been passed, no system call is made that takes the file's lock, which the other
/// process can hold for as long as it likes.
struct MappedFile: BitwiseCopyable {
    /// The address of the mapping; nil if nothing is mapped.
    private(set) var address: UnsafeMutableRawPointer?
    private var size = 0

    init() {}

    /// Creates and maps a file of `count` bytes, with all its pages allocated and its size sealed. Returns the descriptor, which the caller
    /// passes and closes; nil if the system does not provide such a file. Some system calls.
    mutating func make(_ count: Int) -> Int32? {
        unmap()
        return preservingSystemError { () -> Int32? in
            if linux_accounts_strictly() != 0 { return nil }
            let fd = linux_memory_file(count)
            if fd < 0 { return nil }
            if linux_allocate(fd, count) == 0 && linux_seal_size(fd) == 0, let memory = linux_map(fd, count) {
                address = memory
                size = count
                return fd
            }
            Descriptor.close(fd)
            return nil
        }
    }

    /// The outcome of opening a file that was passed.
    enum Opened {
        case done
        /// This process is out of memory to map it.
        case unavailable
        /// The file is not one that `make` returns.
        case invalid
    }

    /// Maps a file of `count` bytes that another process has passed. Some system calls.
    mutating func open(_ fd: Int32, _ count: Int) -> Opened {
        preservingSystemError {
            if linux_is_memory_file(fd, count) == 0 { return .invalid }
            if linux_accounts_strictly() != 0 { return .unavailable }
            address = linux_map(fd, count)
            size = count
            return address == nil ? .unavailable : .done
        }
    }

    /// Unmaps the file if it is mapped. One system call.
    @inline(never)
    mutating func unmap() {
        if let address { preservingSystemError { linux_unmap(address, size) } }
        address = nil
        size = 0
    }
}
