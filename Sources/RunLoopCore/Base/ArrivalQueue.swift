/// Elements that wait for their turns in the order of their arrival: a sorted list, from which all can be taken out.
///
/// Filled once, with elements that an `IndexedHeap` gives away because they have the same key (`takeFirsts`). As in
/// the heap, an element is known by the address of its own `position` field, which is its index here while it waits.
///
/// Not thread-safe: guarded by whatever guards its owner. Calls no user code.
struct ArrivalQueue: ~Copyable {
    typealias Position = UnsafeMutablePointer<UInt32>

    /// Whoever was taken out is nil.
    struct Entry: BitwiseCopyable {
        /// Until it is sorted: where it lay in the heap.
        var arrival: UInt
        var position: Position?
    }

    private var entries = PlainList<Entry>()
    /// Who is first, if there is anybody.
    private var head = 0
    private(set) var count = 0

    init() {}

    /// The first to have come. O(1).
    @inline(__always)
    var first: Position? { count == 0 ? nil : entries[head].position }

    /// Whether the element with this position waits here; it may be in a heap. O(1).
    @inline(__always)
    func contains(_ position: Position) -> Bool {
        count > 0 && position.pointee < entries.count && entries[Int(position.pointee)].position == position
    }

    /// Of an element that waits here. O(1), but for those before the next that were taken out.
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

    /// How many were added so far.
    @inline(__always)
    var unsortedCount: Int { entries.count }

    /// Adds one that lies at `index` of its heap; false if out of memory. Before `sort`.
    @inline(__always)
    mutating func add(_ position: Position, at index: Int) -> Bool {
        entries.appendInlined(Entry(arrival: UInt(bitPattern: index), position: position))
    }

    /// Where the one that was added as number `number` lay in its heap. Before `sort`.
    @inline(__always)
    func index(ofUnsorted number: Int) -> Int { Int(bitPattern: entries[number].arrival) }

    /// Who that is. Before `sort`.
    func position(ofUnsorted number: Int) -> Position { entries[number].position.unsafelyUnwrapped }

    /// Forgets all but the first that were added. Before `sort`.
    mutating func forgetUnsorted(from number: Int) { entries.truncate(to: number) }

    /// From here on those that were added wait, by the arrivals that `arrival` tells. O(n log² n) at most for arrivals in whatever order,
    /// without memory.
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

    /// A step of Shell's sort: puts those in order that lie `gap` apart.
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
