import CLinux
import Synchronization
import Testing

@testable import RunLoopCore

@Suite struct SignalBoardTests {
    /// Boards live as long as the process, as in a loop: their groups are never freed.
    private static func makeBoard() -> UnsafeMutablePointer<SignalBoard> {
        let board = UnsafeMutablePointer<SignalBoard>.allocate(capacity: 1)
        board.initialize(to: SignalBoard())
        return board
    }

    private static func take(_ board: UnsafeMutablePointer<SignalBoard>) -> [Int] {
        var places: [Int] = []
        board.pointee.take { places.append($0) }
        return places.sorted()
    }

    /// Where words and groups begin and end.
    private static let edges = [0, 1, 61, 62, 63, 64, 126, 127, 63 + 4095, 63 + 4096, 63 + 64 * 4095, SignalBoard.placeLimit - 1]

    @Test func everyPlaceIsItself() {
        let board = Self.makeBoard()
        for place in Self.edges {
            #expect(board.pointee.prepare(place) == true)
            board.pointee.mark(place)
            board.pointee.mark(place)
            #expect(board.pointee.isMarked == true)
            #expect(Self.take(board) == [place])
            #expect(board.pointee.isMarked == false)
            #expect(Self.take(board) == [])
        }
    }

    @Test func allAtOnce() {
        let board = Self.makeBoard()
        for place in Self.edges { _ = board.pointee.prepare(place) }
        for place in Self.edges.reversed() { board.pointee.mark(place) }
        #expect(Self.take(board) == Self.edges)
        #expect(Self.take(board) == [])
    }

    @Test func agreesWithSet() {
        var random = Random(seed: 1)
        let board = Self.makeBoard()
        for place in 0..<10_000 { _ = board.pointee.prepare(place) }
        var wrong = 0
        for _ in 0..<scaled(400) {
            var marked = Set<Int>()
            for _ in 0..<random.below(60) {
                let place = random.chance(40) ? random.below(70) : random.below(10_000)
                board.pointee.mark(place)
                marked.insert(place)
            }
            if Self.take(board) != marked.sorted() { wrong += 1 }
        }
        #expect(wrong == 0)
    }

    /// The promise to signallers: a flag that was set before its mark is seen by a taking that comes later, whatever the
    /// others do. So once everybody is done, one last taking leaves no flag.
    @Test(arguments: [[0, 1, 62], [0, 62, 63, 64, 200], [63, 127, 128, 5000, 9000]])
    func nothingIsLost(places: [Int]) {
        let board = Self.makeBoard()
        for place in places { _ = board.pointee.prepare(place) }
        let flags = UnsafeMutablePointer<Atomic<UInt32>>.allocate(capacity: 10_000)
        for place in 0..<10_000 { (flags + place).initialize(to: Atomic(0)) }
        defer { flags.deallocate() }
        let each = scaled(60_000)
        let running = Pinned(Atomic<Int>(3))
        let seen = Pinned(0)
        func takeAll() {
            board.pointee.take { if flags[$0].exchange(0, ordering: .sequentiallyConsistent) != 0 { seen.pointer.pointee += 1 } }
        }
        inParallel(4) { number in
            if number == 0 {
                while running.pointer.pointee.load(ordering: .acquiring) > 0 { takeAll() }
                return takeAll()
            }
            var random = Random(seed: UInt64(number))
            for _ in 0..<each {
                let place = places[random.below(places.count)]
                _ = flags[place].exchange(1, ordering: .sequentiallyConsistent)
                board.pointee.mark(place)
            }
            running.pointer.pointee.subtract(1, ordering: .releasing)
        }
        let lost = places.filter { flags[$0].load(ordering: .sequentiallyConsistent) != 0 }
        #expect(lost == [])
        #expect(seen.pointer.pointee > 0)
    }

    /// Two threads fill the same words at the same time, again and again: each mark is there afterwards.
    @Test(arguments: [0, 63, 5000])
    func neighboursDoNotOverwriteEachOther(first: Int) {
        let board = Self.makeBoard()
        let places = Array(first..<(first + 60))
        for place in places { _ = board.pointee.prepare(place) }
        let rounds = scaled(6_000)
        let round = Pinned(Atomic<Int>(0))
        let done = Pinned(Atomic<Int>(0))
        let lost = Pinned(0)
        inParallel(3) { number in
            for current in 1...rounds {
                if number < 2 {
                    // Both begin at once, if both have a processor.
                    var looks = 0
                    while round.pointer.pointee.load(ordering: .acquiring) < current {
                        looks += 1
                        if looks % 2_000 == 0 { sched_yield() } else { pauseProcessor() }
                    }
                    for place in places where place % 2 == number { board.pointee.mark(place) }
                    done.pointer.pointee.add(1, ordering: .acquiringAndReleasing)
                    continue
                }
                round.pointer.pointee.store(current, ordering: .releasing)
                while done.pointer.pointee.load(ordering: .acquiring) < 2 * current { sched_yield() }
                if Self.take(board) != places { lost.pointer.pointee += 1 }
            }
        }
        #expect(lost.pointer.pointee == 0)
    }

    @Test func sharedSignalsAreCounted() {
        let before = SharedSignals.seen
        SharedSignals.announce()
        #expect(SharedSignals.seen != before)
    }
}
