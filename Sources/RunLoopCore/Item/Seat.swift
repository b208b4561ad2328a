import Synchronization

/// The order in which signalled sources are performed: by `order`, equal ones as they came into the loop.
struct SourceKey: HeapKey {
    var order: Int
    var arrival: UInt64

    @inline(__always)
    static func precedes(_ left: SourceKey, _ right: SourceKey) -> Bool {
        left.order < right.order || (left.order == right.order && left.arrival < right.arrival)
    }
}

/// A source's place in one loop: there as long as the loop has the source in at least one mode.
///
/// Guarded by the loop's lock, but for what signallers read: `board` and `place`.
struct Seat: ~Copyable {
    /// In the queue of signalled sources. First: see `SeatPointer.position`.
    var queuePosition: UInt32
    /// The number of the report that this source had last, of those on its descriptor.
    var served: UInt32
    var source: SourcePointer
    var loop: HomePointer
    /// The address of the loop's board.
    let board: Atomic<UInt>
    /// The source's mark on the board; `noPlace` where there was none left.
    let place: Atomic<UInt32>
    /// The watch on the source's descriptor, -1 for version 0.
    var watch: Int32
    var arrival: UInt64
    /// Of the source, by `SourcePointer.hash`.
    var hash: UInt
    /// The modes it is in.
    var set: ModeSetPointer?
    var nextOfSource: SeatPointer?
    var nextOfHash: SeatPointer?
    /// Others with the same descriptor.
    var nextOfWatch: SeatPointer?

    static var noPlace: UInt32 { .max }

    static let slab = Slab(size: MemoryLayout<Seat>.stride)
}

typealias SeatPointer = UnsafeMutablePointer<Seat>

extension UnsafeMutablePointer where Pointee == Seat {
    @inline(__always)
    var position: UnsafeMutablePointer<UInt32> { UnsafeMutableRawPointer(self).assumingMemoryBound(to: UInt32.self) }

    @inline(__always)
    init(queued position: UnsafeMutablePointer<UInt32>) {
        self = UnsafeMutableRawPointer(position).assumingMemoryBound(to: Seat.self)
    }

    /// Makes a seat of slab memory. Field by field, because a late signaller may be reading the one that was here before.
    static func make(
        in memory: UnsafeMutableRawPointer, source: SourcePointer, loop: HomePointer, board: UnsafePointer<SignalBoard>,
        arrival: UInt64, hash: UInt, set: ModeSetPointer
    ) -> SeatPointer {
        let seat = memory.assumingMemoryBound(to: Seat.self)
        seat.pointee.queuePosition = IndexedHeap<SourceKey>.absent
        seat.pointee.served = 0
        seat.pointee.source = source
        seat.pointee.loop = loop
        seat.pointee.place.store(Seat.noPlace, ordering: .relaxed)
        seat.pointee.board.store(UInt(bitPattern: board), ordering: .relaxed)
        seat.pointee.watch = -1
        seat.pointee.arrival = arrival
        seat.pointee.hash = hash
        seat.pointee.set = set
        seat.pointee.nextOfSource = nil
        seat.pointee.nextOfHash = nil
        seat.pointee.nextOfWatch = nil
        return seat
    }

    @inline(__always)
    var place: UInt32 { pointee.place.load(ordering: .relaxed) }

    @inline(__always)
    var isQueued: Bool { position.pointee != IndexedHeap<SourceKey>.absent }

    @inline(__always)
    var key: SourceKey { SourceKey(order: pointee.source.pointee.order, arrival: pointee.arrival) }

    /// Makes the loop look at the source. Any thread, async-signal-safe: a seat that has been given away
    /// meanwhile only makes some loop look in vain.
    @inline(__always)
    func mark() {
        let board = UnsafePointer<SignalBoard>(bitPattern: pointee.board.load(ordering: .relaxed))
        if let board, place != Seat.noPlace { board.pointee.mark(Int(place)) } else { SharedSignals.announce() }
    }
}
