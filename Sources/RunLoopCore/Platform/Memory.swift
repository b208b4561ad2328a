import CLinux

/// Memory in large pieces.
enum Memory {
    /// The size from which on the kernel can back memory by one page-table entry.
    static let hugePage = 2 * 1024 * 1024

    /// The same, all zero, which the system's memory is without being touched. Never to be given back.
    static func allocateZero(_ size: Int) -> UnsafeMutableRawPointer? {
        let alignment = size < hugePage ? 64 : hugePage
        guard let memory = calloc(1, size + alignment) else { return nil }
        let aligned = memory + (alignment - Int(bitPattern: memory) & (alignment - 1))
        if size >= hugePage { preservingSystemError { linux_wish_huge_pages(aligned, size) } }
        return aligned
    }

    /// Uninitialised and aligned to a huge page if it is that large, else to a cache line; nil if out of memory.
    static func allocate(_ size: Int) -> UnsafeMutableRawPointer? {
        if size < hugePage { return aligned_alloc(64, size) }
        // Random access to a million objects misses the TLB at every step otherwise. Only a wish.
        guard let memory = aligned_alloc(hugePage, size) else { return nil }
        preservingSystemError { linux_wish_huge_pages(memory, size) }
        return memory
    }
}
