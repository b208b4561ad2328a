import CLinux
import Synchronization

/// A bitmap of the version-0 sources of a loop that may have been signalled, with one bit, the source's slot, for each. Any thread sets
/// bits, using only atomic instructions, so signal handlers may set them, too. The loop takes them.
///
/// A bit is a hint to check the source's own signal flag. A stale bit is harmless: a signaller may be late, and the slot may belong to
/// another source by then. A missing bit is not harmless. So a signaller sets the flag, then the bit, then, for a far slot, the bits of the
/// two summaries (`Group.summary`, `farBit`), and the loop takes them in the opposite order. A bit that is already set need not be set
/// again: it has not been taken yet, and when it is, the flag is found. That argument needs all operations to be sequentially consistent
/// (`Tests/model/signal.pml`).
///
/// Slots 0 to 62, the near ones, are bits of one word. The others, the far ones, are in groups of 64 words with one summary word per group.
/// The memory for far slots is allocated when needed, and never freed, like the loop's.
struct PendingSignals: ~Copyable {
    /// The address of the loop's context. Set before the loop is used.
    let loopAddress = Atomic<UInt>(0)
    private let near = Atomic<UInt64>(0)
    /// The address of the `Group`s of the far slots. Set once, with the loop's lock held.
    private let groupsAddress = Atomic<UInt>(0)

    private struct Group: ~Copyable {
        let summary = Atomic<UInt64>(0)
        /// The address of 64 words. Set once, before any of their slots is in use.
        let wordsAddress = Atomic<UInt>(0)

        var words: UnsafeMutablePointer<Atomic<UInt64>>? {
            UnsafeMutablePointer(bitPattern: wordsAddress.load(ordering: .acquiring))
        }
    }

    private var groups: UnsafeMutablePointer<Group>? { UnsafeMutablePointer(bitPattern: groupsAddress.load(ordering: .acquiring)) }

    /// How many of the groups have words. Written with the loop's lock held.
    private let groupsInUse = Atomic<UInt32>(0)

    /// How many slots have a bit in the first word.
    static var nearSlots: Int { 63 }
    private static var farBit: UInt64 { 1 << 63 }
    private static var groupCount: Int { 64 }
    private static var slotsPerGroup: Int { 64 * 64 }

    /// The maximum number of slots. A source without a slot is signalled through `SharedSignals`.
    static var slotLimit: Int { nearSlots + groupCount * slotsPerGroup }

    init() {}

    /// Allocates the bit of `slot`. Returns false if out of memory. The caller holds the loop's lock.
    func allocate(_ slot: Int) -> Bool {
        if slot < Self.nearSlots { return true }
        if groups == nil {
            guard let memory = malloc(Self.groupCount * MemoryLayout<Group>.stride) else { return false }
            let new = memory.bindMemory(to: Group.self, capacity: Self.groupCount)
            for index in 0..<Self.groupCount { (new + index).initialize(to: Group()) }
            groupsAddress.store(UInt(bitPattern: new), ordering: .releasing)
        }
        let number = (slot - Self.nearSlots) / Self.slotsPerGroup
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

    /// Sets the bit of a slot for which `allocate` has returned true. At most three atomic read-modify-writes. Any thread,
    /// async-signal-safe.
    func set(_ slot: Int) {
        if slot < Self.nearSlots { set(1 << UInt64(slot), in: near) } else { setFar(slot - Self.nearSlots) }
    }

    /// Makes the bitmap non-empty on behalf of a source without a slot in it. A source that is signalled after this, and before the loop
    /// takes the bits, then does not count as the first. Any thread, async-signal-safe.
    func setWithoutSlot() { set(Self.farBit, in: near) }

    private func setFar(_ far: Int) {
        guard let groups else { return }
        let group = groups + far / Self.slotsPerGroup
        guard let words = group.pointee.words else { return }
        let word = (far / 64) % 64
        set(1 << UInt64(far % 64), in: words[word])
        set(1 << UInt64(word), in: group.pointee.summary)
        set(Self.farBit, in: near)
    }

    private func set(_ bit: UInt64, in word: borrowing Atomic<UInt64>) {
        if word.load(ordering: .sequentiallyConsistent) & bit == 0 {
            _ = word.bitwiseOr(bit, ordering: .sequentiallyConsistent)
        }
    }

    /// Whether no bit is set. One load. Any thread.
    var isEmpty: Bool { near.load(ordering: .relaxed) == 0 }

    /// Whether a bit other than that of this near slot is set; always true for a far slot. One load. Any thread.
    func isAnySet(besides slot: UInt32) -> Bool {
        slot >= UInt32(Self.nearSlots) || near.load(ordering: .relaxed) & ~(1 << UInt64(slot)) != 0
    }

    /// Clears all bits and calls `body` with the slot of each that was set. O(number of bits that are set), plus one step per 4 096 slots
    /// if any far slot is set. Loop thread only; the caller holds the loop's lock.
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
            if group.pointee.summary.load(ordering: .sequentiallyConsistent) == 0 { continue }
            var summary = group.pointee.summary.exchange(0, ordering: .sequentiallyConsistent)
            while summary != 0 {
                let word = summary.trailingZeroBitCount
                summary &= summary &- 1
                var bits = group.pointee.words.unsafelyUnwrapped[word].exchange(0, ordering: .sequentiallyConsistent)
                while bits != 0 {
                    body(Self.nearSlots + index * Self.slotsPerGroup + word * 64 + bits.trailingZeroBitCount)
                    bits &= bits &- 1
                }
            }
        }
    }
}

/// Counts the signals of sources that are in several loops, in none, or have no slot. No bit can stand for them, since a signaller cannot
/// walk the list of a source's loops. The count is that of the whole process. Each loop that finds it changed searches all its sources
/// once.
enum SharedSignals {
    private static let counter = Atomic<UInt32>(0)

    /// Counts a signal. Any thread, async-signal-safe.
    static func increment() { counter.wrappingAdd(1, ordering: .sequentiallyConsistent) }

    /// The number of signals so far, modulo 2^32. One load. Any thread.
    static var count: UInt32 { counter.load(ordering: .sequentiallyConsistent) }
}
