import CLinux
import Synchronization
import Testing

@testable import RunLoopCore

@Suite struct PendingSignalsTests {
    /// Creates pending signals that are never freed, as in a loop.
    private static func make() -> UnsafeMutablePointer<PendingSignals> {
        let pendingSignals = UnsafeMutablePointer<PendingSignals>.allocate(capacity: 1)
        pendingSignals.initialize(to: PendingSignals())
        return pendingSignals
    }

    private static func take(_ pendingSignals: UnsafeMutablePointer<PendingSignals>) -> [Int] {
        var slots: [Int] = []
        pendingSignals.pointee.take { slots.append($0) }
        return slots.sorted()
    }

    /// The slots where words and groups begin and end.
    private static let edges = [0, 1, 61, 62, 63, 64, 126, 127, 63 + 4095, 63 + 4096, 63 + 64 * 4095, PendingSignals.slotLimit - 1]

    @Test func slotsAreIndependent() {
        let pendingSignals = Self.make()
        for slot in Self.edges {
            #expect(pendingSignals.pointee.allocate(slot) == true)
            pendingSignals.pointee.set(slot)
            pendingSignals.pointee.set(slot)
            #expect(pendingSignals.pointee.isEmpty == false)
            #expect(Self.take(pendingSignals) == [slot])
            #expect(pendingSignals.pointee.isEmpty == true)
            #expect(Self.take(pendingSignals) == [])
        }
    }

    @Test func allSlotsAreTakenInOneCall() {
        let pendingSignals = Self.make()
        for slot in Self.edges { _ = pendingSignals.pointee.allocate(slot) }
        for slot in Self.edges.reversed() { pendingSignals.pointee.set(slot) }
        #expect(Self.take(pendingSignals) == Self.edges)
        #expect(Self.take(pendingSignals) == [])
    }

    @Test func agreesWithSet() {
        var random = Random(seed: 1)
        let pendingSignals = Self.make()
        for slot in 0..<10_000 { _ = pendingSignals.pointee.allocate(slot) }
        var wrong = 0
        for _ in 0..<scaled(400) {
            var expected = Set<Int>()
            for _ in 0..<random.below(60) {
                let slot = random.chance(40) ? random.below(70) : random.below(10_000)
                pendingSignals.pointee.set(slot)
                expected.insert(slot)
            }
            if Self.take(pendingSignals) != expected.sorted() { wrong += 1 }
        }
        #expect(wrong == 0)
    }

    /// The guarantee for signallers: a flag that was set before its bit is seen by a later `take`, whatever other threads do. So once all
    /// threads are done, one last `take` leaves no flag set.
    @Test(arguments: [[0, 1, 62], [0, 62, 63, 64, 200], [63, 127, 128, 5000, 9000]])
    func noSignalIsLost(slots: [Int]) {
        let pendingSignals = Self.make()
        for slot in slots { _ = pendingSignals.pointee.allocate(slot) }
        let flags = UnsafeMutablePointer<Atomic<UInt32>>.allocate(capacity: 10_000)
        for slot in 0..<10_000 { (flags + slot).initialize(to: Atomic(0)) }
        defer { flags.deallocate() }
        let each = scaled(60_000)
        let running = Pinned(Atomic<Int>(3))
        let seen = Pinned(0)
        func takeAll() {
            pendingSignals.pointee.take { if flags[$0].exchange(0, ordering: .sequentiallyConsistent) != 0 { seen.pointer.pointee += 1 } }
        }
        inParallel(4) { number in
            if number == 0 {
                while running.pointer.pointee.load(ordering: .acquiring) > 0 { takeAll() }
                return takeAll()
            }
            var random = Random(seed: UInt64(number))
            for _ in 0..<each {
                let slot = slots[random.below(slots.count)]
                _ = flags[slot].exchange(1, ordering: .sequentiallyConsistent)
                pendingSignals.pointee.set(slot)
            }
            running.pointer.pointee.subtract(1, ordering: .releasing)
        }
        let lost = slots.filter { flags[$0].load(ordering: .sequentiallyConsistent) != 0 }
        #expect(lost == [])
        #expect(seen.pointer.pointee > 0)
    }

    /// Two threads repeatedly fill the same words at the same time: each bit is set afterwards.
    @Test(arguments: [0, 63, 5000])
    func neighboringSlotsDoNotOverwriteEachOther(first: Int) {
        let pendingSignals = Self.make()
        let slots = Array(first..<(first + 60))
        for slot in slots { _ = pendingSignals.pointee.allocate(slot) }
        let rounds = Sanitizer.isSlow ? 1_500 : 3_000
        let round = Pinned(Atomic<Int>(0))
        let done = Pinned(Atomic<Int>(0))
        let lost = Pinned(0)
        inParallel(3) { number in
            for current in 1...rounds {
                if number < 2 {
                    // Both threads begin at the same time, if each has a processor.
                    var looks = 0
                    while round.pointer.pointee.load(ordering: .acquiring) < current {
                        looks += 1
                        if looks % 2_000 == 0 { sched_yield() } else { pauseProcessor() }
                    }
                    for slot in slots where slot % 2 == number { pendingSignals.pointee.set(slot) }
                    done.pointer.pointee.add(1, ordering: .acquiringAndReleasing)
                    continue
                }
                round.pointer.pointee.store(current, ordering: .releasing)
                while done.pointer.pointee.load(ordering: .acquiring) < 2 * current { sched_yield() }
                if Self.take(pendingSignals) != slots { lost.pointer.pointee += 1 }
            }
        }
        #expect(lost.pointer.pointee == 0)
    }

    @Test func sharedSignalsAreCounted() {
        let before = SharedSignals.count
        SharedSignals.increment()
        #expect(SharedSignals.count != before)
    }
}
