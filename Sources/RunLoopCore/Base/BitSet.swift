/// A set of small, non-negative numbers. Allocates memory only for numbers of 64 and more. Not thread-safe: guarded by whatever guards its
/// owner. Calls no user code.
struct BitSet: ~Copyable {
    private var first: UInt64 = 0
    /// The words after the first one.
    private var rest = PlainList<UInt64>()

    init() {}

    private var wordCount: Int { rest.count + 1 }

    private subscript(word index: Int) -> UInt64 {
        get { index == 0 ? first : index <= rest.count ? rest[index - 1] : 0 }
        set { if index == 0 { first = newValue } else { rest[index - 1] = newValue } }
    }

    /// Extends the set to `count` words. Returns false if out of memory.
    @inline(never)
    private mutating func grow(to count: Int) -> Bool {
        while wordCount < count { if !rest.append(0) { return false } }
        return true
    }

    /// Returns whether a number is in the set. O(1).
    func contains(_ member: Int) -> Bool { self[word: member >> 6] & 1 << UInt64(member & 63) != 0 }

    /// Returns whether all numbers of `other` are in the set. O(number of words).
    func contains(allOf other: borrowing BitSet) -> Bool {
        for index in 0..<other.wordCount where other[word: index] & ~self[word: index] != 0 { return false }
        return true
    }

    /// Adds a number. Returns false if out of memory. O(1), or O(number of words) when the set grows.
    mutating func insert(_ member: Int) -> Bool {
        if !grow(to: (member >> 6) + 1) { return false }
        self[word: member >> 6] |= 1 << UInt64(member & 63)
        return true
    }

    /// Removes a number if it is in the set. O(1).
    mutating func remove(_ member: Int) {
        if member >> 6 < wordCount { self[word: member >> 6] &= ~(1 << UInt64(member & 63)) }
    }

    /// Adds all numbers of `other`. Returns false if out of memory. O(number of words).
    @inline(never)
    mutating func formUnion(_ other: borrowing BitSet) -> Bool {
        if !grow(to: other.wordCount) { return false }
        for index in 0..<other.wordCount { self[word: index] |= other[word: index] }
        return true
    }

    /// Removes all numbers of `other`. O(number of words).
    mutating func subtract(_ other: borrowing BitSet) {
        for index in 0..<min(wordCount, other.wordCount) { self[word: index] &= ~other[word: index] }
    }

    /// Returns whether both sets contain the same numbers. O(number of words).
    func equals(_ other: borrowing BitSet) -> Bool {
        for index in 0..<max(wordCount, other.wordCount) where self[word: index] != other[word: index] { return false }
        return true
    }

    /// Whether the set contains no number. O(number of words).
    var isEmpty: Bool {
        for index in 0..<wordCount where self[word: index] != 0 { return false }
        return true
    }
}
