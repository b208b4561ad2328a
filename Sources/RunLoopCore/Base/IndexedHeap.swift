import CLinux

/// What orders a heap. A total order is not needed: equal keys come out in any order.
protocol HeapKey {
    /// Whether `left` comes out first. O(1), pure.
    static func precedes(_ left: Self, _ right: Self) -> Bool

    /// What precedes no key.
    static var last: Self { get }
}

/// A 4-ary min-heap of (key, position) pairs in one array.
///
/// An element is known by the address of its own `position` field, which the heap keeps equal to the
/// element's index, so that any element can be removed or moved in O(log n) without a search. Keys lie
/// in the array: sifting compares neighbours without touching the elements. Four children share a
/// cache line, if an entry has 16 bytes.
///
/// Not thread-safe: guarded by whatever guards its owner. Calls no user code.
struct IndexedHeap<Key: HeapKey>: ~Copyable {
    typealias Position = UnsafeMutablePointer<UInt32>

    /// An element as it lies in the array.
    struct Entry {
        var key: Key
        var position: Position
    }

    /// The value of a position whose element is in no heap.
    static var absent: UInt32 { .max }

    /// 48 bytes behind the start of a cache line, so that the first entry lies at the end of one and each group of four
    /// children has its own. Behind the elements there are always three entries with the last key: so whoever has children
    /// has four.
    private var entries: UnsafeMutablePointer<Entry>?
    /// What was allocated for it, and how far into that it lies, in bytes.
    private var block: UnsafeMutableRawPointer?
    private var lead = 0
    private(set) var count: Int
    private var capacity: Int

    init() {
        entries = nil
        block = nil
        count = 0
        capacity = 0
    }

    deinit { free(block) }

    /// Whether `total` elements have room, so that the next insertions cannot fail. O(1).
    @inline(__always)
    func hasRoom(for total: Int) -> Bool { total <= capacity }

    /// O(1).
    @inline(__always)
    var first: Entry? { count == 0 ? nil : entries.unsafelyUnwrapped[0] }

    /// Whether the least key is that of several elements: then `first` may be any of them. O(1).
    @inline(__always)
    var isFirstShared: Bool {
        if count < 2 { return false }
        let base = entries.unsafelyUnwrapped
        let key = base[0].key
        // If the root has children it has four, and if anybody has its key, one of them has.
        return !Key.precedes(key, base[1].key) || !Key.precedes(key, base[2].key) || !Key.precedes(key, base[3].key)
            || !Key.precedes(key, base[4].key)
    }

    /// The element at `index`, in no particular order: for walking over all of them. O(1).
    @inline(__always)
    func entry(at index: Int) -> Entry {
        invariant(index < count)
        return entries.unsafelyUnwrapped[index]
    }

    /// O(1).
    @inline(__always)
    func key(at position: Position) -> Key { entries.unsafelyUnwrapped[Int(position.pointee)].key }

    /// Makes room for `total` elements, so that the next insertions cannot fail. Amortised O(1).
    mutating func reserve(_ total: Int) -> Bool {
        if total <= capacity { return true }
        let wanted = max(max(total, capacity * 2), 16)
        let size = (wanted + 3) * MemoryLayout<Entry>.stride + 48
        guard wanted < Int(UInt32.max), let grown = realloc(block, size) else { return false }
        let newLead = Int(bitPattern: 48 &- UInt(bitPattern: grown) & 63)
        if newLead != lead { memmove(grown + newLead, grown + lead, count * MemoryLayout<Entry>.stride) }
        block = grown
        lead = newLead
        let entries = (grown + lead).assumingMemoryBound(to: Entry.self)
        for behind in 0..<3 { entries[count + behind].key = Key.last }
        self.entries = entries
        capacity = wanted
        return true
    }

    /// O(log n), O(1) on average for random keys; false if out of memory (see `reserve`).
    @inline(__always)
    mutating func insert(_ key: Key, _ position: Position) -> Bool {
        if count == capacity && !reserve(count + 1) { return false }
        insertReserved(key, position)
        return true
    }

    /// The same where there is room.
    @inline(__always)
    mutating func insertReserved(_ key: Key, _ position: Position) {
        entries.unsafelyUnwrapped[count &+ 3].key = Key.last
        count &+= 1
        siftUp(Entry(key: key, position: position), from: count &- 1)
    }

    /// O(log n); O(1) on average for an element at a random place.
    @inline(__always)
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

    /// Takes out all elements with the least key and adds them to `queue`, unsorted; false if out of memory: then nothing has
    /// changed. O(k log n) for k elements. Their positions are not theirs any more, until the queue is sorted.
    @inline(never)
    mutating func takeFirsts(_ queue: inout ArrivalQueue) -> Bool {
        guard let first, queue.add(first.position, at: 0) else { return count == 0 }
        let base = entries.unsafelyUnwrapped
        let start = queue.unsortedCount &- 1
        // Whoever has that key lies below one that has it: they are found level by level, and so by ascending index.
        var next = start
        while next < queue.unsortedCount {
            var index = (queue.index(ofUnsorted: next) << 2) &+ 1
            if index >= count { break }
            let end = min(index &+ 4, count)
            while index < end {
                if !Key.precedes(first.key, base[index].key) && !queue.add(base[index].position, at: index) {
                    queue.removeUnsorted(from: start)
                    return false
                }
                index &+= 1
            }
            next &+= 1
        }
        // Backwards: what takes the place of one changes only what lies below.
        next = queue.unsortedCount
        while next > start {
            next &-= 1
            let index = queue.index(ofUnsorted: next)
            count &-= 1
            let moved = base[count]
            base[count].key = Key.last
            if index != count { siftDown(moved, from: index) }
        }
        return true
    }

    /// Adds the positions of all elements that do not come behind `limit` to `list`, in no particular order; false if out of memory. O(k)
    /// for k elements.
    @inline(never)
    func list(upTo limit: Key, _ list: inout PlainList<Position>) -> Bool {
        guard let first, !Key.precedes(limit, first.key) else { return true }
        let base = entries.unsafelyUnwrapped
        var next = list.count
        if !list.append(first.position) { return false }
        // The parent of one that is listed is listed, too.
        while next < list.count {
            var index = (Int(list[next].pointee) << 2) &+ 1
            let end = min(index &+ 4, count)
            while index < end {
                if !Key.precedes(limit, base[index].key) && !list.append(base[index].position) { return false }
                index &+= 1
            }
            next &+= 1
        }
        return true
    }

    /// O(log n).
    @inline(__always)
    mutating func update(_ position: Position, to key: Key) {
        invariant(Int(position.pointee) < count)
        place(Entry(key: key, position: position), at: Int(position.pointee))
    }

    /// `insert` for callers that do it seldom: compiled once for each kind of key.
    @inline(never)
    mutating func insertSeldom(_ key: Key, _ position: Position) -> Bool { insert(key, position) }
    /// `remove` likewise.
    @inline(never)
    mutating func removeSeldom(_ position: Position) { remove(position) }
    /// `update` likewise.
    @inline(never)
    mutating func updateSeldom(_ position: Position, to key: Key) { update(position, to: key) }

    @inline(__always)
    private mutating func place(_ entry: Entry, at index: Int) {
        if index > 0 && Key.precedes(entry.key, entries.unsafelyUnwrapped[(index &- 1) >> 2].key) {
            siftUp(entry, from: index)
        } else {
            siftDown(entry, from: index)
        }
    }

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

    @inline(__always)
    private mutating func siftDown(_ entry: Entry, from start: Int) {
        let base = entries.unsafelyUnwrapped
        var hole = start
        while true {
            let child = (hole << 2) &+ 1
            if child >= count { break }
            let grandchild = (child << 2) &+ 1
            if grandchild < count { Self.fetch(base + grandchild) }
            let least = Self.leastOfFour(base, child)
            if !Key.precedes(base[least].key, entry.key) { break }
            base[hole] = base[least]
            base[hole].position.pointee = UInt32(truncatingIfNeeded: hole)
            hole = least
        }
        base[hole] = entry
        entry.position.pointee = UInt32(truncatingIfNeeded: hole)
    }
    /// Has the processor fetch the children of four neighbours, which lie side by side: the next step down reads one group
    /// of them, and which is not known yet. Any address will do, so the last groups may lie behind the end.
    @inline(__always)
    private static func fetch(_ groups: UnsafeMutablePointer<Entry>) {
        linux_prefetch(groups)
        linux_prefetch(groups + 4)
        linux_prefetch(groups + 8)
        linux_prefetch(groups + 12)
    }

    /// The first to come out of four neighbours; of equal ones the first, so never what lies behind the end. Which
    /// it is nobody can predict: sums of comparisons, no branches.
    @inline(__always)
    private static func leastOfFour(_ base: UnsafeMutablePointer<Entry>, _ first: Int) -> Int {
        let left = first &+ (Key.precedes(base[first &+ 1].key, base[first].key) ? 1 : 0)
        let right = first &+ 2 &+ (Key.precedes(base[first &+ 3].key, base[first &+ 2].key) ? 1 : 0)
        let takesRight = Key.precedes(base[right].key, base[left].key) ? -1 : 0
        return left ^ ((left ^ right) & takesRight)
    }
}
