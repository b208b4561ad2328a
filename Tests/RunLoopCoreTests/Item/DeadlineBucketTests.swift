import CLinux
import Testing

@testable import RunLoopCore

/// Compares the slots of a bucket with a dictionary.
@Suite struct DeadlineBucketTests {
    /// Alternates between phases of growing and of shrinking. Occasionally all timers are taken out, and some are put back.
    @Test(arguments: [1, 2, 3] as [UInt64])
    func agreesWithModel(seed: UInt64) {
        #expect(Self.run(seed: seed, steps: scaled(30_000)) == nil)
    }

    /// Returns the first disagreement, or nil if there is none.
    private static func run(seed: UInt64, steps: Int) -> String? {
        var random = Random(seed: seed)
        let positions = UnsafeMutablePointer<UInt32>.allocate(capacity: 700)
        defer { positions.deallocate() }
        let bucket = Bucket()
        var model: [Int: UInt64] = [:]
        for step in 0..<steps {
            let which = random.below(700)
            if let deadline = model[which], bucket.pointer.deadline(at: positions[which]) != deadline { return "step \(step): a deadline" }
            switch random.below(step / 2_000 % 2 == 0 ? 8 : 12) {
            case 0...4 where model[which] == nil:
                model[which] = random.next()
                bucket.put(model[which]!, positions + which)
            case 0...4:
                model[which] = random.next()
                bucket.pointer.setDeadline(model[which]!, at: DeadlineBucket.index(of: positions[which]))
            default:
                if model.removeValue(forKey: which) != nil { bucket.pointer.remove(at: DeadlineBucket.index(of: positions[which])) }
            }
            if bucket.pointer.pointee.count != model.count { return "step \(step): \(bucket.pointer.pointee.count) timers" }
            if random.below(500) > 0 { continue }
            let all = bucket.takeAll()
            if all.count != model.count || !all.allSatisfy({ model[$0.position - positions] == $0.deadline }) {
                return "step \(step): not all"
            }
            let kept = random.below(700)
            model = model.filter { $0.key < kept }
            let back = all.filter { $0.position - positions < kept }
            if random.chance(50) { bucket.fill(back) } else { for entry in back { bucket.put(entry.deadline, entry.position) } }
            if random.chance(50) { bucket.pointer.shrink() }
        }
        return nil
    }

    /// However many timers are added and removed, the capacity depends only on how many there are at the same time.
    @Test(arguments: [1, 48, 64, 100, 1_000])
    func slotsAreReused(live: Int) {
        var random = Random(seed: UInt64(live))
        let positions = UnsafeMutablePointer<UInt32>.allocate(capacity: live)
        defer { positions.deallocate() }
        let bucket = Bucket()
        for index in 0..<live { bucket.put(0, positions + index) }
        for _ in 0..<scaled(20 * live + 1_000) {
            let position = positions + random.below(live)
            bucket.pointer.remove(at: DeadlineBucket.index(of: position.pointee))
            bucket.put(0, position)
        }
        #expect(bucket.pointer.pointee.count == live)
        #expect(bucket.pointer.pointee.capacity <= max(64, 4 * live))
    }

    /// Timers whose removal is only noted are not in the bucket, whatever is done to it next.
    @Test(arguments: [1, 63, 64, 65, 130])
    func removedTimersStayRemoved(removed: Int) {
        for change in ["count", "grow", "fill"] {
            let positions = UnsafeMutablePointer<UInt32>.allocate(capacity: 200)
            defer { positions.deallocate() }
            let bucket = Bucket()
            for index in 0..<200 { bucket.put(UInt64(index), positions + index) }
            for index in 0..<removed { bucket.pointer.remove(at: DeadlineBucket.index(of: positions[index])) }
            switch change {
            case "grow": #expect(bucket.grow(to: 1_000))
            case "fill":
                bucket.fill(bucket.takeAll())
                bucket.pointer.shrink()
            default: break
            }
            #expect(bucket.pointer.pointee.count == 200 - removed, "\(change)")
            #expect(Set(bucket.takeAll().map { Int($0.deadline) }) == Set(removed..<200), "\(change)")
        }
    }

    /// A bucket has no memory before its first timer is added.
    @Test func emptyBucketReturnsNothing() {
        let bucket = Bucket()
        #expect(bucket.takeAll().isEmpty)
        #expect(bucket.pointer.pointee.capacity == 0)
        #expect(!bucket.pointer.hasSlot)
    }

    private final class Bucket {
        let pointer = DeadlineBucketPointer.allocate(capacity: 1)
        private var spare: UnsafeMutablePointer<DeadlineBucket.Entry>?

        init() { pointer.initialize(to: DeadlineBucket(minimum: 0)) }

        deinit {
            free(pointer.pointee.entries)
            pointer.deallocate()
        }

        func put(_ deadline: UInt64, _ position: UnsafeMutablePointer<UInt32>) {
            if !pointer.hasSlot && !pointer.findSlot(&spare) { Issue.record("out of memory") }
            position.pointee = pointer.put(DeadlineBucket.Entry(deadline: deadline, position: position), number: 5)
            if DeadlineBucket.number(of: position.pointee) != 5 { Issue.record("another bucket") }
        }

        func grow(to total: Int) -> Bool { pointer.grow(to: total, &spare) }

        /// Puts back at most as many timers as were taken out.
        func fill(_ entries: [DeadlineBucket.Entry]) {
            for entry in entries { entry.position.pointee = pointer.fill(entry, number: 5) }
            pointer.endFilling()
        }

        func takeAll() -> [DeadlineBucket.Entry] {
            let count = pointer.takeAll()
            return (0..<count).map { pointer.pointee.entries![$0] }
        }
    }
}
