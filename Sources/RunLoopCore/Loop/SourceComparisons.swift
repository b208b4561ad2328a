import CLinux

/// Two sources that the client's equal function compares, each with a reference.
struct SourceComparison: BitwiseCopyable {
    let source: SourcePointer
    /// One that a loop has.
    let other: SourcePointer
    var areEqual = false
}

/// What clients said of sources that may be equal. They are asked without the lock, and meanwhile other sources may come into the loop and
/// be added here, for the next round; no two sources are compared twice. The references keep an address from becoming that of another
/// source. Used by one thread.
struct SourceComparisons: ~Copyable {
    /// How often clients are asked, in case sources that may be equal come faster than they are compared.
    private static var roundLimit: Int { 100 }

    private(set) var list = PlainList<SourceComparison>()
    private var askedCount = 0
    private var rounds = 0
    /// Where `add` begins to search: sources come mostly in the order of the last round.
    private var nextKnown = 0
    /// Whether a client has said of two sources that they are equal.
    private(set) var hasEqual = false

    /// Whether something has been added that the clients have not been asked yet.
    var mustAsk: Bool { askedCount < list.count && rounds < Self.roundLimit }

    /// Adds two sources unless they are known. Out of memory they count as different. O(1) if they come in the order of the last round,
    /// else O(n). Under the loop's lock.
    mutating func add(_ source: SourcePointer, _ other: SourcePointer) {
        for _ in 0..<askedCount {
            let known = list[nextKnown]
            nextKnown = nextKnown + 1 < askedCount ? nextKnown + 1 : 0
            if known.source == source && known.other == other { return }
        }
        guard list.append(SourceComparison(source: source, other: other)) else { return }
        source.pointee.item.object.retain()
        other.pointee.item.object.retain()
    }

    /// Asks about those that were added. Any thread, without a lock; calls equal.
    mutating func ask() {
        let held = HeldWhileCalling()
        held.note(self)
        for index in askedCount..<list.count where list[index].other.equals(list[index].source) {
            list[index].areEqual = true
            hasEqual = true
        }
        held.end()
        askedCount = list.count
        rounds += 1
    }

    /// Calls `body` for the other sources that equal this one.
    func forEachEqual(to source: SourcePointer, _ body: (SourcePointer) -> Void) {
        for index in 0..<list.count where list[index].areEqual && list[index].source == source { body(list[index].other) }
    }

    /// Gives the references back. Any thread, without a lock.
    mutating func release() {
        for index in 0..<list.count {
            list[index].other.release()
            list[index].source.release()
        }
        list.truncate(to: 0)
    }
}

extension HeldWhileCalling {
    /// Notes what comparisons hold, to which nothing may be added meanwhile.
    func note(_ comparisons: borrowing SourceComparisons) {
        guard let elements = comparisons.list.elements else { return }
        note(elements, count: comparisons.list.count) { elements, count, _ in
            let list = elements.assumingMemoryBound(to: SourceComparison.self)
            for index in 0..<Int(bitPattern: count) {
                RunLoopPointer.abandon(list[index].other)
                RunLoopPointer.abandon(list[index].source)
            }
            free(elements)
        }
    }
}
