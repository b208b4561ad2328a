/// A set of small numbers. Allocates memory only for numbers from 64 on. Not thread-safe: guarded by whatever guards its owner.
/// Calls no user code.
struct BitSet: ~Copyable {
    private var first: UInt64 = 0
    /// The words after the first.
    private var rest = PlainList<UInt64>()

    init() {}

    private var wordCount: Int { rest.count + 1 }

    private subscript(word index: Int) -> UInt64 {
        get { index == 0 ? first : index <= rest.count ? rest[index - 1] : 0 }
        set { if index == 0 { first = newValue } else { rest[index - 1] = newValue } }
    }

    /// Makes room for `count` words; false if out of memory.
    @inline(never)
    private mutating func grow(to count: Int) -> Bool {
        while wordCount < count { if !rest.append(0) { return false } }
        return true
    }

    /// Whether a number is in the set. O(1).
    func contains(_ member: Int) -> Bool { self[word: member >> 6] & 1 << UInt64(member & 63) != 0 }

    /// Whether all numbers of `other` are in the set. O(n / 64).
    func contains(allOf other: borrowing BitSet) -> Bool {
        for index in 0..<other.wordCount where other[word: index] & ~self[word: index] != 0 { return false }
        return true
    }

    /// Adds a number; false if out of memory. O(1), or O(n) when the set grows.
    mutating func insert(_ member: Int) -> Bool {
        if !grow(to: (member >> 6) + 1) { return false }
        self[word: member >> 6] |= 1 << UInt64(member & 63)
        return true
    }

    /// Removes a number, if it is in the set. O(1).
    mutating func remove(_ member: Int) {
        if member >> 6 < wordCount { self[word: member >> 6] &= ~(1 << UInt64(member & 63)) }
    }

    /// Adds all numbers of `other`; false if out of memory. O(n / 64).
    @inline(never)
    mutating func formUnion(_ other: borrowing BitSet) -> Bool {
        if !grow(to: other.wordCount) { return false }
        for index in 0..<other.wordCount { self[word: index] |= other[word: index] }
        return true
    }

    /// O(n / 64).
    mutating func subtract(_ other: borrowing BitSet) {
        for index in 0..<min(wordCount, other.wordCount) { self[word: index] &= ~other[word: index] }
    }

    /// O(n / 64).
    func equals(_ other: borrowing BitSet) -> Bool {
        for index in 0..<max(wordCount, other.wordCount) where self[word: index] != other[word: index] { return false }
        return true
    }

    /// O(n / 64).
    var isEmpty: Bool {
        for index in 0..<wordCount where self[word: index] != 0 { return false }
        return true
    }
}
