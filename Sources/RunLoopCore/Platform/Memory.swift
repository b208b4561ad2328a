import CLinux
import Synchronization

/// Memory in large pieces.
enum Memory {
    /// The size of a huge page: from here on one page-table entry can map it all.
    static let hugePage = 2 * 1024 * 1024

    /// The newest block of `allocateZero`; each block begins with the address of the one before. epoll knows sources by a number made of
    /// their address; without this list, leak checkers would report their memory as lost.
    private static let blocks = Atomic<UInt>(0)

    /// Zeroed memory that is never freed, aligned like that of `allocate`; nil if out of memory. Fresh memory of the system is zero without
    /// being touched. Any thread.
    static func allocateZero(_ size: Int) -> UnsafeMutableRawPointer? {
        let alignment = size < hugePage ? 64 : hugePage
        guard let memory = calloc(1, size + alignment) else { return nil }
        // malloc aligns to 16 bytes, so at least so many are left before this.
        let aligned = memory + (alignment - Int(bitPattern: memory) & (alignment - 1))
        remember(memory)
        if size >= hugePage { preservingSystemError { linux_wish_huge_pages(aligned, size) } }
        return aligned
    }

    private static func remember(_ block: UnsafeMutableRawPointer) {
        var last = blocks.load(ordering: .relaxed)
        var isDone = false
        while !isDone {
            block.storeBytes(of: last, as: UInt.self)
            (isDone, last) = blocks.compareExchange(expected: last, desired: UInt(bitPattern: block), ordering: .acquiringAndReleasing)
        }
    }

    /// Uninitialised memory, aligned to a huge page if it is that large, else to a cache line; nil if out of memory. Any thread.
    static func allocate(_ size: Int) -> UnsafeMutableRawPointer? {
        if size < hugePage { return aligned_alloc(64, size) }
        // Without huge pages, random access to a million objects misses the TLB at every step. The kernel may ignore the advice.
        guard let memory = aligned_alloc(hugePage, size) else { return nil }
        preservingSystemError { linux_wish_huge_pages(memory, size) }
        return memory
    }
}
