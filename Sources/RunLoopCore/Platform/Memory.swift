import CLinux
import Synchronization

/// Memory in large pieces.
enum Memory {
    /// The size from which on the kernel can back memory by one page-table entry.
    static let hugePage = 2 * 1024 * 1024

    /// The last block of `allocateZero`; each begins with the address of the one before. Sources are often known by a number that was made of
    /// their address only, so leak checkers would take their memory for lost.
    private static let blocks = Atomic<UInt>(0)

    /// The same, all zero, which the system's memory is without being touched. Never to be given back.
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

    /// Uninitialised and aligned to a huge page if it is that large, else to a cache line; nil if out of memory.
    static func allocate(_ size: Int) -> UnsafeMutableRawPointer? {
        if size < hugePage { return aligned_alloc(64, size) }
        // Random access to a million objects misses the TLB at every step otherwise. Only a wish.
        guard let memory = aligned_alloc(hugePage, size) else { return nil }
        preservingSystemError { linux_wish_huge_pages(memory, size) }
        return memory
    }
}
