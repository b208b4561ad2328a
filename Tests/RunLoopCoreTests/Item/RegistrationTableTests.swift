import CRunLoop
import Synchronization
import Testing

@testable import RunLoopCore

/// Compares the table with a dictionary.
@Suite struct RegistrationTableTests {
    /// `hashes` is the number of different hashes; few of them make long buckets.
    @Test(arguments: [(1, 1_000_000), (2, 3), (3, 1), (4, 64)] as [(UInt64, Int)])
    func agreesWithDictionary(seed: UInt64, hashes: Int) {
        let problem = onThread { Self.run(seed: seed, hashes: hashes, steps: scaled(6_000)) }
        #expect(problem == nil)
    }

    private static func run(seed: UInt64, hashes: Int, steps: Int) -> String? {
        var random = Random(seed: seed)
        let threadContext = Registry.current!.threadContext
        let pinnedSignals = Pinned(PendingSignals())
        let pinnedSet = Pinned(ModeSet(of: threadContext, modes: BitSet()))
        let (pendingSignals, set) = (pinnedSignals.pointer, pinnedSet.pointer)
        defer { withExtendedLifetime((pinnedSignals, pinnedSet)) {} }
        let source = SourcePointer.create(threadContext, order: 0, info: nil, perform: nil, getPort: nil, SourceDetail())!
        let table = Pinned(RegistrationTable())
        let t = table.pointer
        var alive: [RegistrationPointer: UInt32] = [:]
        var most = 0
        for step in 0..<steps {
            let isGrowing = step / 500 % 2 == 0
            if random.chance(isGrowing ? 75 : 25) {
                let hash = UInt32(random.below(hashes)) &* 0x9E37_79B9
                guard let registration = t.pointee.add(source, hash, set, pendingSignals) else {
                    return "step \(step): no registration"
                }
                if alive[registration] != nil { return "step \(step): a registration that is taken" }
                if alive.keys.contains(where: { $0.slotNumber == registration.slotNumber }) {
                    return "step \(step): a slot that is in use"
                }
                alive[registration] = hash
                most = max(most, alive.count)
                if registration.slotNumber >= most {
                    return "step \(step): slot \(registration.slotNumber), though only \(most) were ever needed"
                }
                if t.pointee[slot: registration.slotNumber] != registration { return "step \(step): not at its slot" }
            } else if let registration = alive.keys.randomElement(using: &random) {
                t.pointee.remove(registration)
                alive[registration] = nil
                if t.pointee[slot: registration.slotNumber] != nil { return "step \(step): still at its slot" }
                registration.destroy()
            }
            if t.pointee.count != alive.count { return "step \(step): \(t.pointee.count) instead of \(alive.count)" }
            if step % 64 == 0, let problem = compare(t, alive) { return "step \(step): \(problem)" }
        }
        for registration in alive.keys {
            t.pointee.remove(registration)
            registration.destroy()
        }
        if source.item.release() == .dead { source.destroy() }
        return t.pointee.count == 0 ? nil : "not empty at the end"
    }

    private static func compare(_ table: UnsafeMutablePointer<RegistrationTable>, _ alive: [RegistrationPointer: UInt32]) -> String? {
        var walked: [RegistrationPointer] = []
        table.pointee.forEach { walked.append($0) }
        if walked.count != alive.count || Set(walked) != Set(alive.keys) { return "forEach" }
        for (registration, hash) in alive {
            var found = 0
            table.pointee.forEach(hash: hash) { if $0 == registration { found += 1 } }
            if found != 1 { return "a registration is found \(found) times by its hash" }
        }
        return nil
    }

    @Test func emptyTable() {
        let table = Pinned(RegistrationTable())
        #expect(table.pointer.pointee[slot: 0] == nil)
        #expect(table.pointer.pointee[slot: 1_000_000] == nil)
        var count = 0
        table.pointer.pointee.forEach { _ in count += 1 }
        table.pointer.pointee.forEach(hash: 5) { _ in count += 1 }
        #expect(table.pointer.pointee.any() == nil)
        #expect(count == 0)
    }

    @Test func signalledSourcesAreSortedByOrderThenTime() {
        let keys = [(1, 0), (0, 1), (0, 0), (-1, 9), (.min, 3), (.max, 0)].map { SourceKey(order: $0.0, sequence: $0.1) }
        let sorted = keys.sorted(by: SourceKey.precedes)
        #expect(sorted.map(\.order) == [.min, -1, 0, 0, 1, .max])
        #expect(sorted.map(\.sequence) == [3, 9, 0, 1, 0, 0])
        for key in keys where SourceKey.precedes(key, key) { Issue.record("\(key)") }
    }
}

extension RegistrationPointer {
    fileprivate var slotNumber: Int { Int(slot) }
}
