import CRunLoop
import Synchronization
import Testing

@testable import RunLoopCore

/// The table beside a dictionary.
@Suite struct SeatTableTests {
    /// `hashes`: how many different ones there are; few of them make long chains.
    @Test(arguments: [(1, 1_000_000), (2, 3), (3, 1), (4, 64)] as [(UInt64, Int)])
    func agreesWithDictionary(seed: UInt64, hashes: Int) {
        let problem = onThread { Self.run(seed: seed, hashes: hashes, steps: scaled(6_000)) }
        #expect(problem == nil)
    }

    private static func run(seed: UInt64, hashes: Int, steps: Int) -> String? {
        var random = Random(seed: seed)
        let home = Registry.current!.home
        let pinnedBoard = Pinned(SignalBoard())
        let pinnedSet = Pinned(ModeSet(modes: BitSet()))
        let (board, set) = (pinnedBoard.pointer, pinnedSet.pointer)
        defer { withExtendedLifetime((pinnedBoard, pinnedSet)) {} }
        let source = SourcePointer.create(home, order: 0, info: nil, perform: nil, getPort: nil, SourceDetail())!
        let table = Pinned(SeatTable())
        let t = table.pointer
        var alive: [SeatPointer: UInt] = [:]
        var most = 0
        var lastArrival: UInt64?
        for step in 0..<steps {
            let isGrowing = step / 500 % 2 == 0
            if random.chance(isGrowing ? 75 : 25) {
                let hash = UInt(random.below(hashes)) &* 0x9E37_79B9
                guard let seat = t.pointee.seat(source, hash, set, home, board) else { return "step \(step): no seat" }
                if alive[seat] != nil { return "step \(step): a seat that is taken" }
                if let last = lastArrival, seat.pointee.arrival <= last { return "step \(step): arrival" }
                lastArrival = seat.pointee.arrival
                if alive.keys.contains(where: { $0.placeNumber == seat.placeNumber }) { return "step \(step): a place that is taken" }
                alive[seat] = hash
                most = max(most, alive.count)
                if seat.placeNumber >= most { return "step \(step): place \(seat.placeNumber), though only \(most) were ever needed" }
                if t.pointee[place: seat.placeNumber] != seat { return "step \(step): not at its place" }
            } else if let seat = alive.keys.randomElement(using: &random) {
                t.pointee.unlink(seat)
                alive[seat] = nil
                if t.pointee[place: seat.placeNumber] != nil { return "step \(step): still at its place" }
                seat.leave()
            }
            if t.pointee.count != alive.count { return "step \(step): \(t.pointee.count) instead of \(alive.count)" }
            if step % 64 == 0, let problem = compare(t, alive) { return "step \(step): \(problem)" }
        }
        for seat in alive.keys {
            t.pointee.unlink(seat)
            seat.leave()
        }
        if source.item.release() == .dead { source.destroy() }
        return t.pointee.count == 0 ? nil : "not empty at the end"
    }

    private static func compare(_ table: UnsafeMutablePointer<SeatTable>, _ alive: [SeatPointer: UInt]) -> String? {
        var walked: [SeatPointer] = []
        table.pointee.forEach { walked.append($0) }
        if walked.count != alive.count || Set(walked) != Set(alive.keys) { return "forEach" }
        for (seat, hash) in alive {
            var next = table.pointee.chain(hash)
            while let other = next, other != seat { next = other.pointee.nextOfHash }
            if next == nil { return "a seat is not in its chain" }
        }
        return nil
    }

    @Test func emptyTable() {
        let table = Pinned(SeatTable())
        #expect(table.pointer.pointee.chain(5) == nil)
        #expect(table.pointer.pointee[place: 0] == nil)
        #expect(table.pointer.pointee[place: 1_000_000] == nil)
        var count = 0
        table.pointer.pointee.forEach { _ in count += 1 }
        #expect(count == 0)
    }

    @Test func signalledSourcesGoByOrderThenArrival() {
        let keys = [(1, 0), (0, 1), (0, 0), (-1, 9), (.min, 3), (.max, 0)].map { SourceKey(order: $0.0, sequence: $0.1) }
        let sorted = keys.sorted(by: SourceKey.precedes)
        #expect(sorted.map(\.order) == [.min, -1, 0, 0, 1, .max])
        #expect(sorted.map(\.sequence) == [3, 9, 0, 1, 0, 0])
        for key in keys where SourceKey.precedes(key, key) { Issue.record("\(key)") }
    }
}

extension UnsafeMutablePointer where Pointee == Seat {
    fileprivate var placeNumber: Int { Int(pointee.payloadLocation.load(ordering: .relaxed)) }
}
