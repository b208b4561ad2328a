import CLinux
import CRunLoop
import Synchronization

/// RLRunLoopSource, of either version.
///
/// Guarded by the lock of `item.home`; a seat of another loop also by that loop's lock.
struct SourceStorage: ObjectStorage, ~Copyable {
    static var kind: Kind { .source }

    var item: ItemHeader
    let order: Int
    /// As the client gave it, version 0 or 1; only `version` says which. info stays after invalidation.
    let context: RLRunLoopSourceContext
    /// Version 1: what is called instead of the last two of `context`.
    let getPort: (@convention(c) (UnsafeMutableRawPointer?) -> Int32)?
    /// 1 from Signal until the loop takes it, just before perform. Any thread.
    let signalled: Atomic<UInt32>
    /// The seat whose mark Signal sets: there when the source is in exactly one loop, else 0. Any thread.
    let soleSeat: Atomic<UInt>
    /// One for each loop that has it.
    var seats: SeatPointer?

    var version: Int { context.version }

    static let slab = Slab(size: MemoryLayout<SourceStorage>.stride)
}

typealias SourcePointer = UnsafeMutablePointer<SourceStorage>

extension UnsafeMutablePointer where Pointee == SourceStorage {
    @inline(__always)
    var item: ItemPointer { UnsafeMutableRawPointer(self).assumingMemoryBound(to: ItemHeader.self) }

    /// A source in no loop with one reference, guarded by `home`, the calling thread's. nil if out of memory.
    /// `context.info` is retained already. Calls no user code.
    static func create(
        _ home: HomePointer, order: Int, _ context: RLRunLoopSourceContext,
        _ getPort: (@convention(c) (UnsafeMutableRawPointer?) -> Int32)?
    ) -> SourcePointer? {
        guard let memory = SourceStorage.slab.allocate(&home.pointee.sources) else { return nil }
        let source = memory.assumingMemoryBound(to: SourceStorage.self)
        source.initialize(
            to: SourceStorage(
                item: ItemHeader(.source, home: home, flags: 0), order: order, context: context, getPort: getPort,
                signalled: Atomic(0), soleSeat: Atomic(0), seats: nil))
        return source
    }

    /// No reference and no hold is left. Any thread; calls the context's release.
    func destroy() {
        clientContext.released(pointee.context.info)
        if let home = HomePointer.current {
            SourceStorage.slab.deallocate(self, &home.pointee.sources)
        } else {
            SourceStorage.slab.deallocateWithoutCache(self)
        }
    }

    /// The part of the context that all have in common.
    var clientContext: ClientContext {
        let context = pointee.context
        return ClientContext(
            info: context.info, retain: context.retain, release: context.release, copyDescription: context.copyDescription)
    }

    /// RLRunLoopSourceSignal: the flag first, then the mark that makes the loop look at it. The flag decides;
    /// whoever attaches the source to a loop looks at it after publishing the seat (sequentially
    /// consistent on both sides), so one of the two sees the other. Any thread, async-signal-safe.
    @inline(__always)
    func signal() {
        _ = pointee.signalled.exchange(1, ordering: .sequentiallyConsistent)
        if let seat = SeatPointer(bitPattern: pointee.soleSeat.load(ordering: .sequentiallyConsistent)) {
            seat.mark()
        } else {
            SharedSignals.announce()
        }
    }

    /// Takes the signal: true for one taker only. The loop's thread.
    @inline(__always)
    func takeSignal() -> Bool { pointee.signalled.exchange(0, ordering: .sequentiallyConsistent) != 0 }

    /// Any thread, async-signal-safe.
    var isSignalled: Bool { pointee.signalled.load(ordering: .sequentiallyConsistent) != 0 }

    /// The source's seat in a loop. O(number of loops it is in). Under its lock.
    @inline(__always)
    func seat(in loop: HomePointer) -> SeatPointer? {
        var seat = pointee.seats
        while let some = seat, some.pointee.loop != loop { seat = some.pointee.nextOfSource }
        return seat
    }

    /// Says to signallers where to set the mark. Under its lock, after every change of `seats`.
    func publishSeat() {
        let sole = pointee.seats.flatMap { $0.pointee.nextOfSource == nil ? $0 : nil }
        pointee.soleSeat.store(UInt(bitPattern: sole), ordering: .sequentiallyConsistent)
        if isSignalled {
            if let sole { sole.mark() } else { SharedSignals.announce() }
        }
    }

    /// Gives back a reference of our own. Any thread; may call the context's release.
    func giveBack() {
        if item.release() == .dead { destroy() }
    }

    /// Whether a loop has to take this source for the other one, by CFRunLoop's rules. Calls the context's equal.
    func equals(_ other: SourcePointer) -> Bool {
        if self == other { return true }
        guard mayEqual(other) else { return false }
        guard let equal = pointee.context.equal else { return true }
        return RLRunLoopSourceContext.areEqual(equal, pointee.context.info, other.pointee.context.info)
    }

    /// The same without asking the client: all but what an equal function would decide. Calls no user code.
    func mayEqual(_ other: SourcePointer) -> Bool {
        let left = pointee.context
        let right = other.pointee.context
        return pointee.item.has(ItemHeader.valid) == other.pointee.item.has(ItemHeader.valid)
            && pointee.order == other.pointee.order && left.version == right.version
            && unsafeBitCast(left.equal, to: UInt.self) == unsafeBitCast(right.equal, to: UInt.self)
            && unsafeBitCast(left.hash, to: UInt.self) == unsafeBitCast(right.hash, to: UInt.self)
            && unsafeBitCast(left.perform, to: UInt.self) == unsafeBitCast(right.perform, to: UInt.self)
            && unsafeBitCast(pointee.getPort, to: UInt.self) == unsafeBitCast(other.pointee.getPort, to: UInt.self)
            && (left.equal != nil || left.info == right.info)
    }

    /// Equal sources have equal hashes. Calls user code if the context has a hash function.
    var hash: UInt {
        if let hash = pointee.context.hash { return Bytes.mix(RLRunLoopSourceContext.hash(hash, pointee.context.info)) }
        return pointee.context.equal == nil ? Bytes.mix(UInt(bitPattern: pointee.context.info)) : 0
    }
}
