import Synchronization

/// Sources by `order`; equal ones in a sequence: those that are signalled by time (`SourcePointer.signalTime`), those on one
/// descriptor by arrival.
struct SourceKey: HeapKey {
    var order: Int
    var sequence: UInt64

    static var last: SourceKey { SourceKey(order: .max, sequence: .max) }

    @inline(__always)
    static func precedes(_ left: SourceKey, _ right: SourceKey) -> Bool {
        left.order < right.order || (left.order == right.order && left.sequence < right.sequence)
    }
}

/// A source's place in one loop: there as long as the loop has the source in at least one mode. The first loop's lies in the
/// source itself.
///
/// Guarded by the loop's lock, but for what signallers read: `board` and `place`.
struct Seat: ~Copyable {
    /// In the queue of signalled sources. First: see `SeatPointer.position`.
    var queuePosition: UInt32
    /// Which of the seat's stays on a descriptor this is: see `SourcePointer.eventTag`. Never made anew with a seat.
    var stay: UInt32
    var source: SourcePointer
    /// The modes it is in; nil: the seat is empty.
    var set: ModeSetPointer?
    /// Others with the same descriptor.
    var nextOfWatch: SeatPointer?
    /// The number of the report that this source had last, of those on a descriptor that it shares.
    var lastDispatch: UInt32
    /// The source's mark on the board; `noPlace` where there was none left or none is needed.
    let place: Atomic<UInt32>
    /// The watch on the source's descriptor, -1 for version 0.
    var watch: Int32
    /// Of the first seat: the same place while the source is in this loop and in no other, else `noPlace`.
    let solePlace: Atomic<UInt32>
    /// The address of the loop's board; of the first seat of a source in no loop, that of the last, or of the loop of the thread that made
    /// it, if that is a client's.
    let board: Atomic<UInt>
    var loop: HomePointer?
    var arrival: UInt64
    /// Of the source, by `SourcePointer.hash`.
    var hash: UInt
    var nextOfSource: SeatPointer?
    var nextOfHash: SeatPointer?

    /// An empty one.
    init(_ source: SourcePointer, stay: UInt32) {
        self.stay = stay
        queuePosition = IndexedHeap<SourceKey>.absent
        watch = -1
        self.source = source
        lastDispatch = 0
        place = Atomic(Seat.noPlace)
        solePlace = Atomic(Seat.noPlace)
        board = Atomic(0)
        arrival = 0
        hash = 0
    }

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

    /// Makes an empty seat of slab memory.
    static func make(in memory: UnsafeMutableRawPointer, for source: SourcePointer) -> SeatPointer {
        let seat = memory.assumingMemoryBound(to: Seat.self)
        seat.pointee.source = source
        seat.pointee.place.store(Seat.noPlace, ordering: .relaxed)
        seat.pointee.solePlace.store(Seat.noPlace, ordering: .relaxed)
        seat.pointee.queuePosition = IndexedHeap<SourceKey>.absent
        seat.clear()
        return seat
    }

    /// Takes out what an empty seat does not have.
    func clear() {
        pointee.set = nil
        pointee.watch = -1
        pointee.lastDispatch = 0
        pointee.nextOfSource = nil
        pointee.nextOfWatch = nil
        pointee.nextOfHash = nil
    }

    /// Fills an empty seat. The atomics one by one, because a late signaller may be reading what was here before.
    func take(in loop: HomePointer, board: UnsafePointer<SignalBoard>, arrival: UInt64, hash: UInt, set: ModeSetPointer) {
        pointee.place.store(Seat.noPlace, ordering: .relaxed)
        pointee.board.store(UInt(bitPattern: board), ordering: .relaxed)
        pointee.loop = loop
        pointee.arrival = arrival
        pointee.hash = hash
        pointee.set = set
    }

    @inline(__always)
    var place: UInt32 { pointee.place.load(ordering: .relaxed) }

    @inline(__always)
    var isQueued: Bool { position.pointee != IndexedHeap<SourceKey>.absent }

    /// Where the source stands among the signalled sources.
    @inline(__always)
    var key: SourceKey { SourceKey(order: pointee.source.pointee.order, sequence: pointee.source.signalTime) }

    /// Where the source stands among the sources on one descriptor.
    var arrivalKey: SourceKey { SourceKey(order: pointee.source.pointee.order, sequence: pointee.arrival) }

    /// Makes the loop look at the source. Any thread, async-signal-safe: a seat that has been given away
    /// meanwhile only makes some loop look in vain.
    @inline(__always)
    func mark() { mark(at: place) }

    /// nil before the first loop. Any thread, async-signal-safe.
    @inline(__always)
    var board: UnsafePointer<SignalBoard>? { UnsafePointer(bitPattern: pointee.board.load(ordering: .relaxed)) }

    /// Whether the loop has been told of some signal that it has not taken yet. Any thread, async-signal-safe.
    @inline(__always)
    var isBoardMarked: Bool {
        guard let board else { return true }
        return board.pointee.isMarked
    }

    /// Notes on the board that some source was signalled that has no place there. Any thread, async-signal-safe.
    func markNobody() { board?.pointee.markNobody() }

    /// `mark` for who knows the place.
    @inline(__always)
    func mark(at place: UInt32) {
        if let board, place != Seat.noPlace { board.pointee.mark(Int(place)) } else { SharedSignals.announce() }
    }
}
