import CLinux

/// A growable array of plain values in blocks that never move: growing copies no elements and leaves behind no memory that is too small for
/// the next size. For long tables that are not read on hot paths, since each access also reads the table of blocks.
///
/// Not thread-safe: guarded by whatever guards its owner. Calls no user code.
struct BlockList<Element: BitwiseCopyable>: ~Copyable {
    private var blocks = PlainList<UnsafeMutablePointer<Element>>()
    private(set) var count = 0

    /// The binary logarithm of the number of elements in a block.
    private static var blockShift: Int { 6 }
    private static var blockSize: Int { 1 << blockShift }

    init() {}

    deinit { for index in 0..<blocks.count { free(blocks[index]) } }

    /// The element at `index`, which must exist. O(1).
    subscript(index: Int) -> Element {
        get { address(index).pointee }
        set { address(index).pointee = newValue }
    }

    private func address(_ index: Int) -> UnsafeMutablePointer<Element> {
        blocks[index &>> Self.blockShift] + (index & (Self.blockSize - 1))
    }

    /// Makes room for `total` elements. Returns false if out of memory. Amortized O(1).
    mutating func reserve(_ total: Int) -> Bool {
        while blocks.count * Self.blockSize < total {
            guard blocks.reserve(blocks.count + 1), let memory = malloc(Self.blockSize * MemoryLayout<Element>.stride) else { return false }
            _ = blocks.append(memory.bindMemory(to: Element.self, capacity: Self.blockSize))
        }
        return true
    }

    /// Appends an element. Returns false if out of memory. Amortized O(1).
    mutating func append(_ element: Element) -> Bool {
        guard reserve(count + 1) else { return false }
        address(count).pointee = element
        count += 1
        return true
    }

    /// Removes and returns the last element; nil if there is none. Keeps the memory. O(1).
    mutating func removeLast() -> Element? {
        if count == 0 { return nil }
        count -= 1
        return address(count).pointee
    }

    /// Removes all elements and frees the memory. O(number of blocks).
    mutating func removeAll() {
        for index in 0..<blocks.count { free(blocks[index]) }
        blocks.removeAll()
        count = 0
    }
}
