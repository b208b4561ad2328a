import CLinux
import Synchronization

/// Large blocks of memory.
enum Memory {
    /// The size of a huge page: a block of this size can be mapped by one page-table entry.
    static let hugePage = 2 * 1024 * 1024

    /// The newest block of `allocate`; each block begins with the address of the previous one. Without this list, leak checkers would report
    /// memory whose address is stored nowhere else: of free memory there is only a bit, and of a source in epoll only a number.
    private static let blocks = Atomic<UInt>(0)

    /// Returns memory that is never freed, zeroed if `isZero`, otherwise uninitialized; nil if out of memory. It is aligned to a huge page
    /// if it is at least that large, otherwise to a cache line. Memory fresh from the kernel is already zero and, except for the first huge
    /// page, is not touched. Any thread.
    static func allocate(_ size: Int, isZero: Bool) -> UnsafeMutableRawPointer? {
        let alignment = size < hugePage ? 64 : hugePage
        guard let memory = isZero ? calloc(1, size + alignment) : malloc(size + alignment) else { return nil }
        // malloc aligns to 16 bytes, so at least that many are left in front of `aligned`, for the link of `blocks`.
        let aligned = memory + (alignment - Int(bitPattern: memory) & (alignment - 1))
        remember(memory)
        if size >= hugePage { wishHugePages(aligned, size) }
        return aligned
    }

    /// For how many of the next blocks no huge pages are requested. (In the mode "always" of the kernel, they get some nevertheless.)
    private static let smallBlocks = Atomic<Int>(0)

    /// Asks the kernel for huge pages, without which random access to a million objects misses the TLB at every step, and has it provide the
    /// first one. The kernel may ignore the advice.
    private static func wishHugePages(_ memory: UnsafeMutableRawPointer, _ size: Int) {
        let left = smallBlocks.load(ordering: .relaxed)
        if left > 0 { return smallBlocks.store(left - 1, ordering: .relaxed) }
        preservingSystemError { linux_wish_huge_pages(memory, size) }
        let begin = Clock.now
        memory.storeBytes(of: 0, as: UInt8.self)
        noteHugePage(took: Clock.now.nanoseconds - begin.nanoseconds)
    }

    /// Decides which pages the next blocks get. A huge page usually takes 0.2 ms. It takes 5 to 15 ms if the kernel has to move other pages
    /// for it, or if the host of a virtual machine has to find the memory. The small pages that a block needs instead take 1 ms in all, and
    /// not at once.
    static func noteHugePage(took nanoseconds: UInt64) {
        if nanoseconds > 1_000_000 { smallBlocks.store(16, ordering: .relaxed) }
    }

    /// A block that `freeLarge` has kept, which begins with its size; 0 if there is none. Any thread.
    private static let spare = Atomic<UInt>(0)
    /// The size of the largest block that is kept.
    private static var spareLimit: Int { 4 * 1024 * 1024 }

    /// Returns uninitialized memory of `size` to `limit` bytes, together with the actual size; nil if out of memory. Reuses the block that
    /// was freed last if its size is suitable: malloc returns large blocks to the system, and getting their pages again costs more than
    /// copying a payload into them. Any thread.
    static func allocateLarge(_ size: Int, atMost limit: Int) -> UnsafeMutableRawBufferPointer? {
        if let block = takeSpare() {
            let capacity = block.load(as: Int.self)
            if capacity >= size && capacity <= limit { return UnsafeMutableRawBufferPointer(start: block, count: capacity) }
            // A block that is too small is freed, to make room for the next one that is freed.
            if capacity > limit { freeLarge(block, capacity) } else { free(block) }
        }
        return malloc(size).map { UnsafeMutableRawBufferPointer(start: $0, count: size) }
    }

    /// Frees a block of `capacity` bytes from malloc, or keeps it for `allocateLarge`. Any thread.
    @inline(never)
    static func freeLarge(_ block: UnsafeMutableRawPointer?, _ capacity: Int) {
        guard let block, capacity >= 64 * 1024, capacity <= spareLimit else { return free(block) }
        block.storeBytes(of: capacity, as: Int.self)
        free(UnsafeMutableRawPointer(bitPattern: spare.exchange(UInt(bitPattern: block), ordering: .acquiringAndReleasing)))
    }

    /// Takes the block that `freeLarge` has kept. Returns nil if there is none.
    private static func takeSpare() -> UnsafeMutableRawPointer? {
        UnsafeMutableRawPointer(bitPattern: spare.exchange(0, ordering: .acquiringAndReleasing))
    }

    /// Adds a block to the list `blocks`. Lock-free.
    private static func remember(_ block: UnsafeMutableRawPointer) {
        var last = blocks.load(ordering: .relaxed)
        var isDone = false
        while !isDone {
            block.storeBytes(of: last, as: UInt.self)
            (isDone, last) = blocks.compareExchange(expected: last, desired: UInt(bitPattern: block), ordering: .acquiringAndReleasing)
        }
    }
}
