import CLinux
import Synchronization

/// Which sources of a loop may have been signalled: one bit per source, set by anybody with atomic
/// instructions alone, so from signal handlers too; taken by the loop.
///
/// A bit is a hint to look at the source's own flag. Too many bits do no harm (a signaller may be late and
/// the place given to another source meanwhile), a missing one would: so who signals first sets the flag,
/// then the bit, then the bit that says where bits are; and the loop takes them in the opposite order.
/// Setting is skipped where the bit is set already: it has not been taken yet then, and who takes it will
/// see the flag. All operations are sequentially consistent, which that argument needs.
///
/// Places 0 to 62 are bits of one word. The rest lie in groups of 64 words under a word of their own,
/// made when needed. The memory lives as long as the process, like the loop's.
struct SignalBoard: ~Copyable {
    private let near = Atomic<UInt64>(0)
    /// The address of the `Group`s behind the near places. Set once, by a holder of the loop's lock.
    private let groupsAddress = Atomic<UInt>(0)

    private struct Group: ~Copyable {
        let summary = Atomic<UInt64>(0)
        /// The address of 64 words. Set once, before a place in it is given away.
        let wordsAddress = Atomic<UInt>(0)

        var words: UnsafeMutablePointer<Atomic<UInt64>>? {
            UnsafeMutablePointer(bitPattern: wordsAddress.load(ordering: .acquiring))
        }
    }

    private var groups: UnsafeMutablePointer<Group>? { UnsafeMutablePointer(bitPattern: groupsAddress.load(ordering: .acquiring)) }

    /// How many of the groups have words. Written by holders of the loop's lock.
    private let groupsInUse = Atomic<UInt32>(0)

    /// Places that have a bit in the first word.
    static var nearPlaces: Int { 63 }
    private static var farBit: UInt64 { 1 << 63 }
    private static var groupCount: Int { 64 }
    private static var placesPerGroup: Int { 64 * 64 }

    /// How many places there can be. Sources beyond are looked at in every pass.
    static var placeLimit: Int { nearPlaces + groupCount * placesPerGroup }

    init() {}

    /// Makes sure that `place` has a bit. Under the loop's lock. False if out of memory.
    func prepare(_ place: Int) -> Bool {
        if place < Self.nearPlaces { return true }
        if groups == nil {
            guard let memory = malloc(Self.groupCount * MemoryLayout<Group>.stride) else { return false }
            let new = memory.bindMemory(to: Group.self, capacity: Self.groupCount)
            for index in 0..<Self.groupCount { (new + index).initialize(to: Group()) }
            groupsAddress.store(UInt(bitPattern: new), ordering: .releasing)
        }
        let number = (place - Self.nearPlaces) / Self.placesPerGroup
        let group = groups.unsafelyUnwrapped + number
        if group.pointee.words == nil {
            guard let memory = malloc(64 * MemoryLayout<Atomic<UInt64>>.stride) else { return false }
            let words = memory.bindMemory(to: Atomic<UInt64>.self, capacity: 64)
            for index in 0..<64 { (words + index).initialize(to: Atomic(0)) }
            group.pointee.wordsAddress.store(UInt(bitPattern: words), ordering: .releasing)
            groupsInUse.store(max(groupsInUse.load(ordering: .relaxed), UInt32(number + 1)), ordering: .relaxed)
        }
        return true
    }

    /// The first places that are marked. Any thread, async-signal-safe.
    @inline(__always)
    var nearMarks: UInt64 { near.load(ordering: .sequentiallyConsistent) }

    /// Marks one of the first places, unless it is among `marks`, which `nearMarks` returned. At most one atomic instruction. Any
    /// thread, async-signal-safe.
    @inline(__always)
    func markNear(_ place: UInt32, besides marks: UInt64) {
        let bit: UInt64 = 1 << UInt64(place)
        if marks & bit == 0 { _ = near.bitwiseOr(bit, ordering: .sequentiallyConsistent) }
    }

    /// Marks a place that `prepare` has seen. At most three atomic instructions. Any thread, async-signal-safe.
    @inline(__always)
    func mark(_ place: Int) {
        if place < Self.nearPlaces { set(1 << UInt64(place), in: near) } else { markFar(place - Self.nearPlaces) }
    }

    /// A mark of no source: who is signalled from here on, until the loop takes it, was not the first. Any thread, async-signal-safe.
    func markNobody() { set(Self.farBit, in: near) }

    private func markFar(_ far: Int) {
        guard let groups else { return }
        let group = groups + far / Self.placesPerGroup
        guard let words = group.pointee.words else { return }
        let word = (far / 64) % 64
        set(1 << UInt64(far % 64), in: words[word])
        set(1 << UInt64(word), in: group.pointee.summary)
        set(Self.farBit, in: near)
    }

    @inline(__always)
    private func set(_ bit: UInt64, in word: borrowing Atomic<UInt64>) {
        if word.load(ordering: .sequentiallyConsistent) & bit == 0 {
            _ = word.bitwiseOr(bit, ordering: .sequentiallyConsistent)
        }
    }

    /// Whether anything is marked. One load.
    @inline(__always)
    var isMarked: Bool { marks != 0 }

    /// 0 if nothing is marked. One load.
    @inline(__always)
    var marks: UInt64 { near.load(ordering: .relaxed) }

    /// Whether anything but this near place is marked; true for a far one. One load.
    @inline(__always)
    func isMarked(besides place: UInt32) -> Bool {
        place >= UInt32(Self.nearPlaces) || near.load(ordering: .relaxed) & ~(1 << UInt64(place)) != 0
    }

    /// Takes all marks and gives `body` their places. The loop's thread, under its lock. O(1) + O(marks) (+ one for each 4 000 places
    /// if there are far ones).
    @inline(__always)
    func take(_ body: (Int) -> Void) {
        var bits = near.exchange(0, ordering: .sequentiallyConsistent)
        let far = bits & Self.farBit != 0
        bits &= ~Self.farBit
        while bits != 0 {
            body(bits.trailingZeroBitCount)
            bits &= bits &- 1
        }
        if far { takeFar(body) }
    }

    private func takeFar(_ body: (Int) -> Void) {
        guard let groups else { return }
        for index in 0..<Int(groupsInUse.load(ordering: .relaxed)) {
            let group = groups + index
            if group.pointee.summary.load(ordering: .relaxed) == 0 { continue }
            var summary = group.pointee.summary.exchange(0, ordering: .sequentiallyConsistent)
            while summary != 0 {
                let word = summary.trailingZeroBitCount
                summary &= summary &- 1
                var bits = group.pointee.words.unsafelyUnwrapped[word].exchange(0, ordering: .sequentiallyConsistent)
                while bits != 0 {
                    body(Self.nearPlaces + index * Self.placesPerGroup + word * 64 + bits.trailingZeroBitCount)
                    bits &= bits &- 1
                }
            }
        }
    }
}

/// Signals of sources that sit in several loops, or beyond the last place: no mark can tell of them, since the
/// signaller cannot walk over loops. They are counted for the whole process, and every loop that sees the
/// count change looks through its sources once.
enum SharedSignals {
    private static let count = Atomic<UInt32>(0)

    /// Any thread, async-signal-safe.
    static func announce() { count.wrappingAdd(1, ordering: .sequentiallyConsistent) }

    /// One load. Any thread.
    @inline(__always)
    static var seen: UInt32 { count.load(ordering: .sequentiallyConsistent) }
}
