import CLinux

/// A memory file as memory, kept from one piece of data to the next: reading and writing it by system calls takes two to three
/// times as long as the copy itself.
///
/// Memory of a file that another process has, or has had, is touched only if all its pages are there, and the file is sealed so
/// that none can be taken away: an access that had to get a page from the system could end in SIGBUS where there is none to be
/// had. Each end sees to that itself, once it has its own mapping: a sealed file gets no more mappings to write to. Other files
/// are read by system calls. What another process does to the contents is not our concern: bytes are copied once, and looked
/// at in the copy.
struct MappedFile: BitwiseCopyable {
    /// nil for none.
    private(set) var address: UnsafeMutableRawPointer?
    private(set) var size = 0
    private var isWritable: Int32 = 0
    /// The file keeps its pages, whoever has it.
    private var isKept = false
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
            address = linux_map_memory_file(fd, limit, &size, &isWritable)
            file = wanted
        }
        return size >= count ? address : nil
    }

    /// A new file for `count` bytes, all of them there; -1 with errno. Once somebody else has it, ask `keep` before its memory is
    /// touched. Six system calls.
    mutating func make(_ count: Int) -> Int32 {
        end()
        let fd = linux_memory_file(count)
        if fd < 0 { return -1 }
        if linux_allocate(fd, count) == 0 { address = linux_map(fd, count, 1) }
        size = count
        // To the other end pages that nobody has touched are holes. Not all that runs programs for Linux touches them for MAP_POPULATE.
        if let address, linux_first_hole(fd) < count { memset(address, 0, count) }
        if address != nil && linux_seal_growth(fd) == 0 { return fd }
        end()
        PacketSocket.close(fd)
        return -1
    }

    /// Whether the file that was made keeps its pages, whatever others do. Three system calls, the first time.
    mutating func keep(_ fd: Int32) -> Bool {
        if !isKept { preservingSystemError { isKept = linux_keep_pages(fd, size) != 0 } }
        return isKept
    }

    /// Whether there is a file.
    @inline(__always)
    var isThere: Bool { address != nil }

    /// Whether the system has what `keep` and, of other processes' files, `reach` need. Three system calls.
    static var canKeep: Bool { linux_can_keep_pages() != 0 }

    /// Whether so many bytes can be written to.
    func hasRoom(_ count: Int) -> Bool { address != nil && isWritable > 0 && size >= count }

    /// Whether `reach` has failed for want of memory in this process.
    var lacksMemory: Bool { isWritable < 0 }

    /// Copies data to the beginning, where there is room for it.
    func write(_ bytes: UnsafeRawPointer, _ count: Int) { memcpy(address.unsafelyUnwrapped, bytes, count) }

    /// Copies as many bytes out as there are at least.
    func read(_ buffer: UnsafeMutableRawPointer, _ count: Int) { memcpy(buffer, address.unsafelyUnwrapped, count) }

    /// Not needed any more.
    mutating func end() {
        if let address { preservingSystemError { _ = linux_unmap(address, size) } }
        address = nil
        size = 0
        isKept = false
    }
}
