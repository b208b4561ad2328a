/// A queue in order of arrival, from which any element can be removed.
///
/// Filled once, by `IndexedHeap.takeFirsts`, with the elements of a heap that have the same key. As in the heap, an element is
/// known by the address of its `position` field, which is its index here while it is queued.
///
/// Not thread-safe: guarded by whatever guards its owner. Calls no user code.
struct ArrivalQueue: ~Copyable {
    typealias Position = UnsafeMutablePointer<UInt32>

    /// `position` is nil once the element was removed.
    struct Entry: BitwiseCopyable {
        /// The number by which the queue is sorted; before `sort`, the index in the heap.
        var arrival: UInt
        var position: Position?
    }

    private var entries = PlainList<Entry>()
    /// The index of the first element that was not removed.
    private var head = 0
    private(set) var count = 0

    init() {}

    /// The element that arrived first; nil if the queue is empty. O(1).
    @inline(__always)
    var first: Position? { count == 0 ? nil : entries[head].position }

    /// Whether the element with this position is in the queue; its index may also be one in a heap. O(1).
    @inline(__always)
    func contains(_ position: Position) -> Bool {
        count > 0 && position.pointee < entries.count && entries[Int(position.pointee)].position == position
    }

    /// Removes an element that is in the queue. O(1), or O(n) to skip n removed elements at the head.
    @inline(__always)
    mutating func remove(_ position: Position) {
        let index = Int(position.pointee)
        position.pointee = .max
        entries[index].position = nil
        count &-= 1
        if index != head { return }
        if count == 0 { return clear() }
        repeat { head &+= 1 } while entries[head].position == nil
    }

    private mutating func clear() {
        entries.truncate(to: 0)
        head = 0
    }

    // MARK: filling it

    /// How many elements were added.
    @inline(__always)
    var unsortedCount: Int { entries.count }

    /// Adds an element that has `index` in its heap; false if out of memory. Before `sort`.
    @inline(__always)
    mutating func add(_ position: Position, at index: Int) -> Bool {
        entries.appendInlined(Entry(arrival: UInt(bitPattern: index), position: position))
    }

    /// The index in the heap of the element that was added as number `number`. Before `sort`.
    @inline(__always)
    func index(ofUnsorted number: Int) -> Int { Int(bitPattern: entries[number].arrival) }

    /// The position of the element that was added as number `number`. Before `sort`.
    func position(ofUnsorted number: Int) -> Position { entries[number].position.unsafelyUnwrapped }

    /// Removes all elements from number `number` on. Before `sort`.
    mutating func removeUnsorted(from number: Int) { entries.truncate(to: number) }

    /// Sorts the elements that were added by their arrival, as the closure returns it, and makes them the queue. O(n log² n) at
    /// most; needs no memory.
    @inline(__always)
    mutating func sort(_ arrival: (Position) -> UInt) {
        count = entries.count
        guard count > 0, let base = entries.elements else { return }
        for index in 0..<count { base[index].arrival = arrival(base[index].position.unsafelyUnwrapped) }
        var gap = 1
        while gap < count >> 4 { gap = gap &* 3 &+ 1 }
        while gap > 0 {
            Self.sort(base, count, gap)
            gap /= 3
        }
        for index in 0..<count { base[index].position.unsafelyUnwrapped.pointee = UInt32(truncatingIfNeeded: index) }
    }

    /// One step of Shell's sort: sorts the elements that lie `gap` apart.
    @inline(__always)
    private static func sort(_ base: UnsafeMutablePointer<Entry>, _ count: Int, _ gap: Int) {
        var start = gap
        while start < count {
            let entry = base[start]
            var hole = start
            while hole >= gap && base[hole &- gap].arrival > entry.arrival {
                base[hole] = base[hole &- gap]
                hole &-= gap
            }
            base[hole] = entry
            start &+= 1
        }
    }
}
