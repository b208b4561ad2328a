import CLinux

/// A memory file mapped into memory, and kept from one piece of data to the next: reading and writing it by system calls takes two to
/// three times as long as the copy itself.
///
/// Memory of a file that another process has, or has had, is touched only if all its pages are there and the file is sealed so that
/// none can be removed: otherwise an access could need a new page, and end in SIGBUS if there is none. Each end makes sure of that
/// itself, once it has its own mapping, as no new writable mapping can be made of a sealed file. Other files are read by system calls.
/// The contents may change at any time: bytes are copied once, and only the copy is examined.
struct MappedFile: BitwiseCopyable {
    /// nil: nothing is mapped.
    private(set) var address: UnsafeMutableRawPointer?
    private(set) var size = 0
    private var access = Access.readOnly
    /// The file is known to keep its pages, whatever other processes do.
    private var isSealed = false
    private var identity = linux_file_identity(device: 0, inode: 0)

    private enum Access: UInt8 {
        case readOnly, readWrite
        /// There is no mapping for want of memory.
        case outOfMemory
    }

    init() {}

    /// The first `count` bytes of a file of at most `limit` bytes; nil if they are not there, or must not be mapped. One system call if it
    /// is the file of the last time: while that is mapped, no other file has its identity.
    mutating func map(_ fd: Int32, _ count: Int, limit: Int) -> UnsafeMutableRawPointer? {
        let saved = systemError
        defer { systemError = saved }
        var wanted = linux_file_identity(device: 0, inode: 0)
        if Int(linux_memory_file_bytes(fd, &wanted)) < count { return nil }
        if address == nil || wanted.inode != identity.inode || wanted.device != identity.device {
            unmap()
            var access: Int32 = 0
            address = linux_map_memory_file(fd, limit, &size, &access)
            self.access = access > 0 ? .readWrite : access == 0 ? .readOnly : .outOfMemory
            identity = wanted
        }
        return size >= count ? address : nil
    }

    /// Makes a new file for `count` bytes, all of which are there, and maps it for writing. Once another process has it, `keepsPages` must
    /// be true before its memory is touched. Six system calls.
    mutating func make(_ count: Int) throws(SystemError) -> Int32 {
        unmap()
        let fd = try checked(linux_memory_file(count))
        if linux_allocate(fd, count) == 0 { address = linux_map(fd, count, 1) }
        size = count
        // To the other end, pages that were never touched are holes. Not everything that runs Linux programs touches them for MAP_POPULATE.
        if let address, linux_first_hole(fd) < count { memset(address, 0, count) }
        if address != nil && linux_seal_growth(fd) == 0 { return fd }
        let error = SystemError.last
        unmap()
        Descriptor.close(fd)
        throw error
    }

    /// Whether the file that was made keeps its pages, whatever other processes do. Three system calls, the first time.
    mutating func keepsPages(_ fd: Int32) -> Bool {
        if !isSealed { isSealed = preservingSystemError { linux_keep_pages(fd, size) != 0 } }
        return isSealed
    }

    @inline(__always)
    var isMapped: Bool { address != nil }

    /// Whether the kernel has what `keepsPages` needs and, for files of other processes, `map`. Three system calls.
    static var isSupported: Bool { preservingSystemError { linux_can_keep_pages() != 0 } }

    /// Whether so many bytes can be written to.
    func hasRoom(_ count: Int) -> Bool { address != nil && access == .readWrite && size >= count }

    /// Whether `map` has failed for want of memory in this process.
    var isOutOfMemory: Bool { access == .outOfMemory }

    /// Copies data to the beginning; there must be room for it.
    func write(_ bytes: UnsafeRawPointer, _ count: Int) { memcpy(address.unsafelyUnwrapped, bytes, count) }

    /// Copies the first bytes out; so many must be there.
    func read(_ buffer: UnsafeMutableRawPointer, _ count: Int) { memcpy(buffer, address.unsafelyUnwrapped, count) }

    /// Gives the mapping up, if there is one. One system call.
    mutating func unmap() {
        if let address { preservingSystemError { linux_unmap(address, size) } }
        address = nil
        size = 0
        isSealed = false
    }
}
