import CLinux

/// The order of a heap's elements. A total order is not required: elements with equal keys come out in any order.
protocol HeapKey {
    /// Returns whether `left` comes out first. O(1), pure.
    static func precedes(_ left: Self, _ right: Self) -> Bool

    /// A key that precedes no other key.
    static var last: Self { get }
}

/// A 4-ary min-heap of (key, position) pairs in one array.
///
/// An element is identified by the address of its own `position` field, which the heap keeps equal to the element's index. So any element
/// can be removed or moved in O(log n) without a search. Keys are stored in the array: sifting compares neighbors without accessing the
/// elements.
///
/// Not thread-safe: guarded by whatever guards its owner. Calls no user code.
struct IndexedHeap<Key: HeapKey>: ~Copyable {
    typealias Position = UnsafeMutablePointer<UInt32>

    /// An element as it is stored in the array.
    struct Entry {
        var key: Key
        var position: Position
    }

    /// The position of an element that is in no heap.
    static var absent: UInt32 { .max }

    /// The array; nil until `reserve` is called. The elements are followed by three more entries with the key `Key.last`. So four entries
    /// can be read wherever an element has at least one child, and `leastOfFour` need not check how many children there are.
    private var entries: UnsafeMutablePointer<Entry>?
    private(set) var count = 0
    private var capacity = 0

    init() {}

    deinit { free(entries) }

    /// Whether there is room for `total` elements, so that inserting up to that number cannot fail. O(1).
    func hasRoom(for total: Int) -> Bool { total <= capacity }

    /// The element that comes out first; nil if the heap is empty. O(1).
    var first: Entry? { count == 0 ? nil : entries.unsafelyUnwrapped[0] }

    /// Returns the element at `index`, in no particular order, for iterating over all of them. O(1).
    func entry(at index: Int) -> Entry {
        invariant(index < count)
        return entries.unsafelyUnwrapped[index]
    }

    /// Returns the key of an element that is in the heap. O(1).
    func key(at position: Position) -> Key { entries.unsafelyUnwrapped[Int(position.pointee)].key }

    /// Makes room for `total` elements, so that inserting up to that number cannot fail. Returns false if out of memory. Amortized O(1).
    /// Of the new memory, only what follows the elements directly is written; the rest costs only address space.
    @inline(never)
    mutating func reserve(_ total: Int) -> Bool {
        if total <= capacity { return true }
        let wanted = max(max(total, capacity * 2), 16)
        guard wanted < Int(UInt32.max), let memory = malloc((wanted + 3) * MemoryLayout<Entry>.stride) else { return false }
        let grown = memory.assumingMemoryBound(to: Entry.self)
        if let entries { memcpy(grown, entries, count * MemoryLayout<Entry>.stride) }
        free(entries)
        entries = grown
        capacity = wanted
        markEnd()
        return true
    }

    /// Sets the key of the three entries after the elements to the last key.
    private func markEnd() {
        for behind in 0..<3 { entries.unsafelyUnwrapped[count + behind].key = Key.last }
    }

    /// Inserts an element. Returns false if out of memory (see `reserve`). O(log n), O(1) on average for random keys.
    @inline(never)
    mutating func insert(_ key: Key, _ position: Position) -> Bool {
        if count == capacity && !reserve(count + 1) { return false }
        insertReserved(key, position)
        return true
    }

    /// Inserts an element for which `reserve` has made room. O(log n), O(1) on average for random keys.
    @inline(__always)
    mutating func insertReserved(_ key: Key, _ position: Position) {
        entries.unsafelyUnwrapped[count &+ 3].key = Key.last
        count &+= 1
        siftUp(Entry(key: key, position: position), from: count &- 1)
    }

    /// Removes an element, which must be in this heap, and sets its position to `absent`. O(log n), O(1) on average for an element at a
    /// random position.
    @inline(never)
    mutating func remove(_ position: Position) {
        let index = Int(position.pointee)
        invariant(index < count)
        position.pointee = Self.absent
        count &-= 1
        let end = entries.unsafelyUnwrapped + count
        let moved = end.pointee
        end.pointee.key = Key.last
        if index != count { place(moved, at: index) }
    }

    /// Removes all elements from a heap that has had room for some. The caller changes their positions. O(1).
    mutating func removeAll() {
        count = 0
        markEnd()
    }

    /// Changes the key of an element that is in the heap and moves the element accordingly. O(log n).
    @inline(never)
    mutating func update(_ position: Position, to key: Key) {
        invariant(Int(position.pointee) < count)
        place(Entry(key: key, position: position), at: Int(position.pointee))
    }

    /// Stores an element where it belongs, beginning the search at a free index.
    @inline(__always)
    private mutating func place(_ entry: Entry, at index: Int) {
        if index > 0 && Key.precedes(entry.key, entries.unsafelyUnwrapped[(index &- 1) >> 2].key) {
            siftUp(entry, from: index)
        } else {
            siftDown(entry, from: index)
        }
    }

    /// Stores an element, beginning at a free index, after moving down the parents that come out later.
    @inline(__always)
    private mutating func siftUp(_ entry: Entry, from start: Int) {
        let base = entries.unsafelyUnwrapped
        var hole = start
        while hole > 0 {
            let parent = (hole &- 1) >> 2
            if !Key.precedes(entry.key, base[parent].key) { break }
            base[hole] = base[parent]
            base[hole].position.pointee = UInt32(truncatingIfNeeded: hole)
            hole = parent
        }
        base[hole] = entry
        entry.position.pointee = UInt32(truncatingIfNeeded: hole)
    }

    /// Stores an element, beginning at a free index, after moving up the children that come out earlier.
    @inline(__always)
    private mutating func siftDown(_ entry: Entry, from start: Int) {
        let base = entries.unsafelyUnwrapped
        var hole = start
        while true {
            let child = (hole << 2) &+ 1
            if child >= count { break }
            let least = Self.leastOfFour(base, child)
            if !Key.precedes(base[least].key, entry.key) { break }
            base[hole] = base[least]
            base[hole].position.pointee = UInt32(truncatingIfNeeded: hole)
            hole = least
        }
        base[hole] = entry
        entry.position.pointee = UInt32(truncatingIfNeeded: hole)
    }

    /// Returns the index of that of four siblings which comes out first; if several are equal, the first of them. So the result is an
    /// element even if its key equals that of the entries after the end. It is unpredictable, so comparisons are combined arithmetically,
    /// without branches.
    private static func leastOfFour(_ base: UnsafeMutablePointer<Entry>, _ first: Int) -> Int {
        let left = first &+ (Key.precedes(base[first &+ 1].key, base[first].key) ? 1 : 0)
        let right = first &+ 2 &+ (Key.precedes(base[first &+ 3].key, base[first &+ 2].key) ? 1 : 0)
        let takesRight = Key.precedes(base[right].key, base[left].key) ? -1 : 0
        return left ^ ((left ^ right) & takesRight)
    }
}
