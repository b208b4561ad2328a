import CLinux

/// A memory file as memory, kept from one piece of data to the next: reading and writing it by system calls takes two to three
/// times as long as the copy itself.
///
/// Only files that cannot be made smaller are mapped, and only as far as their pages are there, so that no access faults. What
/// else another process does to the contents is not our concern: bytes are copied once, and looked at in the copy.
struct MappedFile: BitwiseCopyable {
    private var address: UnsafeMutableRawPointer?
    private var size = 0
    private var file = linux_file_identity(device: 0, inode: 0)

    init() {}

    /// The first `count` bytes of a file; nil if they are not there, or cannot be mapped. One system call if it is the file of
    /// the last time: as long as it is mapped no other has its number. Leaves errno as it was.
    mutating func reach(_ fd: Int32, _ count: Int, isWritten: Bool) -> UnsafeMutableRawPointer? {
        let saved = systemError
        defer { systemError = saved }
        var wanted = linux_file_identity(device: 0, inode: 0)
        let there = Int(linux_memory_file_bytes(fd, &wanted))
        if there < count { return nil }
        if address != nil && size >= count && wanted.inode == file.inode && wanted.device == file.device { return address }
        end()
        address = linux_map_memory_file(fd, there, isWritten ? 1 : 0)
        size = there
        file = wanted
        return address
    }

    /// Not needed any more.
    mutating func end() {
        if let address { preservingSystemError { _ = linux_unmap(address, size) } }
        address = nil
    }
}
