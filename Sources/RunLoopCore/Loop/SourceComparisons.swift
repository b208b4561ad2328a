import CLinux

/// Two sources for the client's equal function to compare, each with a reference.
struct SourceComparison: BitwiseCopyable {
    let source: SourcePointer
    /// The source that is in a loop already.
    let other: SourcePointer
    var areEqual = false
}

/// The results of clients' equal functions for pairs of sources. The functions are called without the lock held. Sources that are added to
/// the loop in the meantime are compared in another round, and each pair is compared once. The references keep an address from being reused
/// for another source. Used by one thread. No step of the iteration: called when a source is added or removed.
struct SourceComparisons: ~Copyable {
    /// The maximum number of rounds, in case sources are added faster than they can be compared.
    private static var roundLimit: Int { 100 }

    private(set) var list = PlainList<SourceComparison>()
    private var comparedCount = 0
    private var rounds = 0
    /// Where `add` starts searching, as pairs are mostly added in the order of the last round.
    private var nextKnown = 0
    /// Whether two of the sources turned out to be equal.
    private(set) var hasEqual = false

    /// Whether pairs have been added that still have to be compared, and the limit on rounds has not been reached.
    var mustCompare: Bool { comparedCount < list.count && rounds < Self.roundLimit }

    /// Adds a pair of sources unless it was compared before. If memory runs out, the two count as different. O(1) if pairs are added in the
    /// order of the last round, otherwise O(n). The caller holds the loop's lock.
    mutating func add(_ source: SourcePointer, _ other: SourcePointer) {
        for _ in 0..<comparedCount {
            let known = list[nextKnown]
            nextKnown = nextKnown + 1 < comparedCount ? nextKnown + 1 : 0
            if known.source == source && known.other == other { return }
        }
        guard list.append(SourceComparison(source: source, other: other)) else { return }
        source.pointee.item.object.retain()
        other.pointee.item.object.retain()
    }

    /// Compares the pairs that were added. Any thread; call without a lock held. Calls equal.
    mutating func compare() {
        let held = HeldWhileCalling()
        held.register(self)
        for index in comparedCount..<list.count where list[index].other.equals(list[index].source) {
            list[index].areEqual = true
            hasEqual = true
        }
        held.end()
        comparedCount = list.count
        rounds += 1
    }

    /// Calls `body` with each source that was found equal to this one.
    func forEachEqual(to source: SourcePointer, _ body: (SourcePointer) -> Void) {
        for index in 0..<list.count where list[index].areEqual && list[index].source == source { body(list[index].other) }
    }

    /// Releases the references. Any thread; call without a lock held.
    mutating func release() {
        for index in 0..<list.count {
            list[index].other.release()
            list[index].source.release()
        }
        list.truncate(to: 0)
    }
}

extension HeldWhileCalling {
    /// Registers the references of all pairs, in case a client's function ends the thread. No pair may be added until the handlers are
    /// removed.
    func register(_ comparisons: borrowing SourceComparisons) {
        registerMemory(comparisons.list.elements)
        for index in 0..<comparisons.list.count {
            register(comparisons.list[index].source)
            register(comparisons.list[index].other)
        }
    }
}
