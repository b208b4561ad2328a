/// A set of small numbers. Not thread-safe: guarded by whatever guards its owner. Calls no user code.
struct BitSet: ~Copyable {
    private var words = PlainList<UInt64>()

    init() {}

    /// O(1).
    func contains(_ member: Int) -> Bool {
        member >> 6 < words.count && words[member >> 6] & 1 << UInt64(member & 63) != 0
    }

    /// O(1), or O(n) when it grows; false if out of memory.
    mutating func insert(_ member: Int) -> Bool {
        while words.count <= member >> 6 {
            if !words.append(0) { return false }
        }
        words[member >> 6] |= 1 << UInt64(member & 63)
        return true
    }

    /// O(1).
    mutating func remove(_ member: Int) {
        if member >> 6 < words.count { words[member >> 6] &= ~(1 << UInt64(member & 63)) }
    }

    /// O(n / 64); false if out of memory.
    mutating func formUnion(_ other: borrowing BitSet) -> Bool {
        while words.count < other.words.count {
            if !words.append(0) { return false }
        }
        for index in 0..<other.words.count { words[index] |= other.words[index] }
        return true
    }

    /// O(n / 64).
    mutating func subtract(_ other: borrowing BitSet) {
        for index in 0..<min(words.count, other.words.count) { words[index] &= ~other.words[index] }
    }

    /// O(n / 64).
    func equals(_ other: borrowing BitSet) -> Bool {
        for index in 0..<max(words.count, other.words.count) {
            let left = index < words.count ? words[index] : 0
            let right = index < other.words.count ? other.words[index] : 0
            if left != right { return false }
        }
        return true
    }

    /// O(n / 64).
    var isEmpty: Bool {
        for index in 0..<words.count where words[index] != 0 { return false }
        return true
    }
}
