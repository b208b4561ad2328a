import CLinux

/// A memory file as memory, kept from one piece of data to the next: reading and writing it by system calls takes two to three
/// times as long as the copy itself.
///
/// A file that another process passes is mapped only if all its pages are there, and sealed so that none can be taken away:
/// an access that had to get a page from the system could end in SIGBUS where there is none to be had. Other files are read
/// by system calls. What another process does to the contents is not our concern: bytes are copied once, and looked at
/// in the copy.
struct MappedFile: BitwiseCopyable {
    private var address: UnsafeMutableRawPointer?
    private(set) var size = 0
    private var file = linux_file_identity(device: 0, inode: 0)

    init() {}

    /// The first `count` bytes of a file of at most `limit`; nil if they are not there, or not to be mapped. One system call if it is the file of
    /// the last time: as long as it is mapped no other has its number. Leaves errno as it was.
    mutating func reach(_ fd: Int32, _ count: Int, limit: Int) -> UnsafeMutableRawPointer? {
        let saved = systemError
        defer { systemError = saved }
        var wanted = linux_file_identity(device: 0, inode: 0)
        if Int(linux_memory_file_bytes(fd, &wanted)) < count { return nil }
        if address == nil || wanted.inode != file.inode || wanted.device != file.device {
            end()
            address = linux_map_memory_file(fd, limit, &size)
            file = wanted
        }
        return size >= count ? address : nil
    }

    /// A new file for `count` bytes, all of them there, that nobody else can write to or make smaller; -1 with errno. Four
    /// system calls.
    mutating func make(_ count: Int) -> Int32 {
        end()
        let fd = linux_memory_file()
        if fd < 0 { return -1 }
        if linux_allocate(fd, count) == 0 { address = linux_map(fd, count, 1) }
        size = count
        if address != nil && linux_seal_pages(fd) == 0 { return fd }
        end()
        PacketSocket.close(fd)
        return -1
    }

    /// Copies data to the beginning of the file that was made, which is large enough.
    func write(_ bytes: UnsafeRawPointer, _ count: Int) { memcpy(address.unsafelyUnwrapped, bytes, count) }

    /// Not needed any more.
    mutating func end() {
        if let address { preservingSystemError { _ = linux_unmap(address, size) } }
        address = nil
        size = 0
    }
}
