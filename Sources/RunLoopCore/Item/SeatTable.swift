import CLinux
import Synchronization

/// All seats of one loop: by place on the signal board, and by hash of their source.
/// Guarded by the loop's lock. Calls no user code.
struct SeatTable: ~Copyable {
    private var byPlace = PlainList<SeatPointer?>()
    private var freePlaces = PlainList<UInt32>()
    /// Chains through `nextOfHash`; a power of two of them, as many as seats or more.
    private var chains: UnsafeMutablePointer<SeatPointer?>?
    private var chainCount = 0
    private(set) var count = 0
    private var arrivals: UInt64 = 0
    /// Where `any` goes on.
    private var emptying = 0

    init() {}

    deinit { free(chains) }

    /// The seat at a place of the board. O(1).
    @inline(__always)
    subscript(place place: Int) -> SeatPointer? { place < byPlace.count ? byPlace[place] : nil }

    /// The first seat in the chain of a hash: follow `nextOfHash` and compare. O(1).
    func chain(_ hash: UInt) -> SeatPointer? {
        chainCount == 0 ? nil : chains.unsafelyUnwrapped[Int(bitPattern: hash & UInt(chainCount - 1))]
    }

    /// A seat for `source` in `set`, linked everywhere but to the source. nil if out of memory.
    /// Amortised O(1).
    mutating func seat(
        _ source: SourcePointer, _ hash: UInt, _ set: ModeSetPointer, _ loop: HomePointer,
        _ board: UnsafePointer<SignalBoard>
    ) -> SeatPointer? {
        let needsPlace = !source.hasDescriptor
        guard count < chainCount || growChains(), !needsPlace || reservePlace(), let seat = emptySeat(of: source) else { return nil }
        seat.take(in: loop, board: board, arrival: arrivals, hash: hash, set: set)
        if needsPlace { seat.pointee.place.store(takePlace(seat, board), ordering: .relaxed) }
        arrivals += 1
        count += 1
        let index = Int(bitPattern: hash & UInt(chainCount - 1))
        seat.pointee.nextOfHash = chains.unsafelyUnwrapped[index]
        chains.unsafelyUnwrapped[index] = seat
        return seat
    }

    private mutating func reservePlace() -> Bool { byPlace.reserve(byPlace.count + 1) && freePlaces.reserve(byPlace.count + 1) }

    private func emptySeat(of source: SourcePointer) -> SeatPointer? {
        if source.firstSeat.pointee.set == nil { return source.firstSeat }
        guard let home = HomePointer.current, let memory = Seat.slab.allocate(&home.pointee.seats) else { return nil }
        return SeatPointer.make(in: memory, for: source)
    }

    /// Takes a seat out of the table; it can still be read. O(1) on average.
    mutating func unlink(_ seat: SeatPointer) {
        let index = Int(bitPattern: seat.pointee.hash & UInt(chainCount - 1))
        var link = chains.unsafelyUnwrapped + index
        while let other = link.pointee, other != seat { link = other.nextOfHashLink }
        link.pointee = seat.pointee.nextOfHash
        if seat.place != Seat.noPlace {
            byPlace[Int(seat.place)] = nil
            _ = freePlaces.append(seat.place)
        }
        count -= 1
    }

    private mutating func takePlace(_ seat: SeatPointer, _ board: UnsafePointer<SignalBoard>) -> UInt32 {
        if freePlaces.count > 0 {
            let place = freePlaces[freePlaces.count - 1]
            freePlaces.truncate(to: freePlaces.count - 1)
            byPlace[Int(place)] = seat
            return place
        }
        let place = byPlace.count
        if place >= SignalBoard.placeLimit || !board.pointee.prepare(place) { return Seat.noPlace }
        _ = byPlace.append(seat)
        return UInt32(place)
    }

    private mutating func growChains() -> Bool {
        let new = max(16, chainCount * 2)
        guard let memory = calloc(new, MemoryLayout<SeatPointer?>.stride) else { return false }
        let grown = memory.bindMemory(to: SeatPointer?.self, capacity: new)
        for index in 0..<chainCount {
            var next = chains.unsafelyUnwrapped[index]
            while let seat = next {
                next = seat.pointee.nextOfHash
                let place = Int(bitPattern: seat.pointee.hash & UInt(new - 1))
                seat.pointee.nextOfHash = grown[place]
                grown[place] = seat
            }
        }
        free(chains)
        chains = grown
        chainCount = new
        return true
    }

    /// Some seat, nil if there is none: for emptying the table, O(1) on average then.
    mutating func any() -> SeatPointer? {
        while emptying < chainCount {
            if let seat = chains.unsafelyUnwrapped[emptying] { return seat }
            emptying += 1
        }
        emptying = 0
        return nil
    }

    /// Calls `body` for every seat. O(number of places). `body` must not change the table.
    func forEach(_ body: (SeatPointer) -> Void) {
        for index in 0..<chainCount {
            var next = chains.unsafelyUnwrapped[index]
            while let seat = next {
                next = seat.pointee.nextOfHash
                body(seat)
            }
        }
    }
}

extension UnsafeMutablePointer where Pointee == Seat {
    fileprivate var nextOfHashLink: UnsafeMutablePointer<SeatPointer?> {
        withUnsafeMutablePointer(to: &pointee.nextOfHash) { $0 }
    }

    /// Empties a seat that has been taken out everywhere. Any thread; in a child of fork() also one that never used the library.
    func leave() {
        if self == pointee.source.firstSeat { return clear() }
        if let home = HomePointer.current {
            Seat.slab.deallocate(self, &home.pointee.seats)
        } else {
            Seat.slab.deallocateWithoutCache(self)
        }
    }
}

extension UnsafeMutablePointer where Pointee == SourceStorage {
    /// The seat in the first loop that has it.
    @inline(__always)
    var firstSeat: SeatPointer { withUnsafeMutablePointer(to: &pointee.firstSeat) { $0 } }
}
