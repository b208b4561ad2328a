import CLinux
import CRunLoop
import Synchronization

/// RLRunLoopSource, of either version, and the sources of descriptor objects and sockets.
///
/// What is read to deliver it lies in its first cache line. Guarded by the lock of `item.home`; a seat of another
/// loop also by that loop's lock.
struct SourceStorage: ObjectStorage, ~Copyable {
    static var kind: Kind { .source }

    typealias GetPort = @convention(c) (UnsafeMutableRawPointer?) -> Int32

    var item: ItemHeader
    /// The client's. Stays after invalidation.
    let info: UnsafeMutableRawPointer?
    let function: SourceFunction
    /// When the signal came that is to be performed, in nanoseconds; 0: before all signals that the loop has not taken yet. Written
    /// by the thread whose signal it is, before the mark, and by the loop, which makes a time of 0.
    let signalTime = Atomic<UInt64>(0)
    /// Its place in the first loop that has it; empty while `set` is nil.
    var firstSeat: Seat
    let order: Int
    /// The seat whose mark Signal sets: there when the source is in exactly one loop, else 0. Any thread.
    let soleSeat: Atomic<UInt>
    /// One for each loop that has it.
    var seats: SeatPointer?
    /// Says on which descriptor it waits; nil for version 0.
    let getPort: GetPort?
    /// nil: none of that.
    let detail: SourceDetailPointer?

    static let slab = Slab(size: (MemoryLayout<SourceStorage>.stride + 63) & ~63, isZeroAtFirst: true)
}

typealias SourcePointer = UnsafeMutablePointer<SourceStorage>

extension UnsafeMutablePointer where Pointee == SourceStorage {
    @inline(__always)
    var item: ItemPointer { UnsafeMutableRawPointer(self).assumingMemoryBound(to: ItemHeader.self) }

    /// A client's source in no loop with one reference, guarded by `home`, the calling thread's. nil if out of memory.
    /// `info` is retained already. Calls no user code.
    static func create(
        _ home: HomePointer, order: Int, info: UnsafeMutableRawPointer?, perform: SourceFunction.Perform?,
        getPort: SourceStorage.GetPort?, _ detail: SourceDetail
    ) -> SourcePointer? {
        var place: SourceDetailPointer?
        if detail.isNeeded {
            place = malloc(MemoryLayout<SourceDetail>.size)?.bindMemory(to: SourceDetail.self, capacity: 1)
            guard let place else { return nil }
            place.initialize(to: detail)
        }
        let flags = getPort == nil ? 0 : ItemHeader.waitsToRead
        let source = create(home, flags, order, info, SourceFunction(perform), getPort, place)
        if source == nil { free(place) }
        return source
    }

    /// A source of ours, which so far waits for nothing. `detail` outlives it. Calls no user code.
    static func create(
        _ home: HomePointer, order: Int, info: UnsafeMutableRawPointer?, eventHandler: SourceFunction.EventHandler,
        getPort: @escaping SourceStorage.GetPort, _ detail: SourceDetailPointer
    ) -> SourcePointer? {
        create(home, ItemHeader.isInternal, order, info, SourceFunction(eventHandler: eventHandler), getPort, detail)
    }

    @inline(never)
    private static func create(
        _ home: HomePointer, _ flags: UInt16, _ order: Int, _ info: UnsafeMutableRawPointer?, _ function: SourceFunction,
        _ getPort: SourceStorage.GetPort?, _ detail: SourceDetailPointer?
    ) -> SourcePointer? {
        guard let memory = SourceStorage.slab.allocate(&home.pointee.sources) else { return nil }
        let source = memory.assumingMemoryBound(to: SourceStorage.self)
        source.initialize(
            to: SourceStorage(
                item: ItemHeader(.source, home: home, flags: flags, position: 0), info: info, function: function,
                firstSeat: Seat(source, stay: source.stayOfMemory),
                order: order, soleSeat: Atomic(0), seats: nil, getPort: getPort, detail: detail))
        return source
    }

    /// No reference and no hold is left. Any thread; calls the context's release.
    func destroy() {
        clientContext.released(pointee.info)
        if !pointee.item.has(ItemHeader.isInternal) { free(pointee.detail) }
        if let home = HomePointer.current {
            SourceStorage.slab.deallocate(self, &home.pointee.sources)
        } else {
            SourceStorage.slab.deallocateWithoutCache(self)
        }
    }

    /// As clients see it: 1 if it was made with getPort.
    var version: Int { pointee.getPort == nil || pointee.item.has(ItemHeader.isInternal) ? 0 : 1 }

    /// Whether it waits for a descriptor, not for Signal.
    @inline(__always)
    var hasDescriptor: Bool { pointee.item.has(ItemHeader.waitsToRead | ItemHeader.isInternal) }

    /// The part of the context that all have in common.
    var clientContext: ClientContext {
        guard let detail = pointee.detail else { return ClientContext(info: pointee.info) }
        return ClientContext(
            info: pointee.info, retain: detail.pointee.retain, release: detail.pointee.release,
            copyDescription: detail.pointee.copyDescription)
    }

    /// RLRunLoopSourceSignal: the flag first, then the mark that makes the loop look at it. The flag decides;
    /// whoever attaches the source to a loop looks at it after publishing the seat (sequentially
    /// consistent on both sides), so one of the two sees the other. Any thread, async-signal-safe.
    @inline(__always)
    func signal() {
        if RaceDetector.isWatching { signalWatched() } else { signalUnwatched() }
    }

    @inline(never)
    private func signalWatched() {
        RaceDetector.happensBefore(self)
        signalUnwatched()
    }

    /// Nothing is called on the usual path but by its last statement, so that it saves no registers.
    @inline(__always)
    private func signalUnwatched() {
        let isFirst = signalFlag.pointee.exchange(1, ordering: .sequentiallyConsistent) == 0
        let place = pointee.firstSeat.solePlace.load(ordering: .sequentiallyConsistent)
        guard place < UInt32(SignalBoard.nearPlaces), let board = firstSeat.board else { return markSlow(place, isFirst: isFirst) }
        let marks = board.pointee.nearMarks
        if isFirst {
            if marks != 0 { return markWithTime(place) }
            pointee.signalTime.store(0, ordering: .relaxed)
        }
        board.pointee.markNear(place, besides: marks)
    }

    /// Sources of equal order are performed by the time of their first signal. Most signals are alone when the loop takes them, and
    /// need no clock: see `RunLoopStorage.signalsTaken`.
    @inline(never)
    private func markWithTime(_ place: UInt32) {
        noteSignalTimeByClock()
        firstSeat.mark(at: place)
    }

    private func noteSignalTimeByClock() { pointee.signalTime.store(Clock.now.nanoseconds, ordering: .relaxed) }

    /// Any thread; stable while the source is signalled.
    @inline(__always)
    var signalTime: UInt64 { pointee.signalTime.load(ordering: .relaxed) }

    /// `signal` off the hot paths.
    @inline(never)
    func signalSeldom() { signal() }

    /// 1 from Signal until the loop takes it, just before perform: the field of the header that is the timers', as this lies in the line
    /// that is looked at anyway. Any thread.
    @inline(__always)
    private var signalFlag: UnsafeMutablePointer<Atomic<UInt32>> {
        (UnsafeMutableRawPointer(self) + ItemHeader.positionOffset).assumingMemoryBound(to: Atomic<UInt32>.self)
    }

    @inline(never)
    private func markSlow(_ place: UInt32, isFirst: Bool) {
        if isFirst {
            let isAlone = place != Seat.noPlace && !firstSeat.isBoardMarked
            if isAlone { pointee.signalTime.store(0, ordering: .relaxed) } else { noteSignalTimeByClock() }
        }
        if place != Seat.noPlace {
            firstSeat.mark(at: place)
        } else if let seat = soleSeat {
            seat.mark()
        } else {
            // Sources of the loop that gets it, or one of those that have it, may be signalled after it, and alone else.
            firstSeat.markNobody()
            SharedSignals.announce()
        }
    }

    /// For who is about to signal: what that reads comes into the processor's cache, side by side. Any address will do.
    @inline(__always)
    static func prefetchSignal(_ handle: OpaquePointer?) {
        if let handle { linux_prefetch(UnsafeRawPointer(handle) + 64) }
    }

    /// Takes the signal: true for one taker only. The loop's thread.
    @inline(__always)
    func takeSignal() -> Bool { RaceDetector.taken(signalFlag.pointee.exchange(0, ordering: .sequentiallyConsistent) != 0, at: self) }

    /// Any thread, async-signal-safe.
    var isSignalled: Bool { signalFlag.pointee.load(ordering: .sequentiallyConsistent) != 0 }

    /// What it waits for on its descriptor. Any thread; stable under the lock.
    @inline(__always)
    var interest: Events { Self.interest(pointee.item.flags.load(ordering: .acquiring)) }

    /// The part of the flags that says what a source waits for.
    @inline(__always)
    static func interest(_ flags: UInt16) -> Events { Events(rawValue: flags >> 4).intersection(.interest) }

    /// What epoll is told of that: our own functions want to know when the other side has ended, too. Any thread.
    @inline(__always)
    var epollInterest: Events {
        let interest = interest
        return interest.contains(.readable) && pointee.item.has(ItemHeader.isInternal) ? interest.union(.peerClosed) : interest
    }

    /// Under the lock.
    func setInterest(_ events: Events) {
        pointee.item.clear(ItemHeader.waitsToRead | ItemHeader.waitsToWrite)
        pointee.item.set(events.intersection(.interest).rawValue << 4)
    }

    /// The source's seat if it is in exactly one loop. Stable under that loop's lock.
    var soleSeat: SeatPointer? { SeatPointer(bitPattern: pointee.soleSeat.load(ordering: .sequentiallyConsistent)) }

    /// One more reference, unless nobody has the source any more and it is about to be destroyed. Any thread that knows that
    /// the memory is still this source's.
    func retainIfAlive() -> Bool {
        let home = item.lock()
        defer { home.unlock() }
        if pointee.item.holds == 0 && pointee.item.object.references.load(ordering: .acquiring) == 0 { return false }
        pointee.item.object.retain()
        return true
    }

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
        let place = sole == firstSeat ? firstSeat.place : Seat.noPlace
        pointee.firstSeat.solePlace.store(place, ordering: .sequentiallyConsistent)
        if isSignalled {
            if let sole { sole.mark() } else { SharedSignals.announce() }
        }
    }

    /// Gives back a reference of our own. Any thread; may call the context's release.
    @inline(never)
    func giveBack() {
        if item.release() == .dead { destroy() }
    }
}

// What epoll reports of a source that is alone on its descriptor, so that nothing has to be looked up to deliver it: where the source
// is, and which of the stays of its first seat on a descriptor this is. So a report that was fetched before the source left, or of
// a registration that outlived it, reaches nobody, though the memory may be another source's by now.
extension UnsafeMutablePointer where Pointee == SourceStorage {
    private static var stayBits: UInt64 { 22 }
    private static var stayMask: UInt32 { 1 << 22 - 1 }

    /// Odd; nil if the address has more bits than there is room for. Under the loop's lock.
    var eventTag: UInt64? {
        let address = UInt64(UInt(bitPattern: self))
        return address >> 48 == 0 ? address << (Self.stayBits - 6) | UInt64(pointee.firstSeat.stay) : nil
    }

    /// The source whose tag was reported, if it still stays where it was. Under the loop's lock.
    @inline(__always)
    init?(eventTag tag: UInt64) {
        self = Self.address(ofTag: tag)
        if stay != UInt32(truncatingIfNeeded: tag) & Self.stayMask { return nil }
    }

    /// Any odd tag's; it is memory of some source.
    @inline(__always)
    static func address(ofTag tag: UInt64) -> SourcePointer {
        UnsafeMutableRawPointer(bitPattern: UInt((tag >> stayBits) << 6)).unsafelyUnwrapped.assumingMemoryBound(to: SourceStorage.self)
    }

    /// Of any tag.
    @inline(__always)
    static func prefetch(tag: UInt64) { linux_prefetch(UnsafeRawPointer(bitPattern: UInt(tag >> (stayBits - 6)))) }

    /// What the info of any odd tag's memory points to.
    @inline(__always)
    static func prefetchInfo(tag: UInt64) { linux_prefetch_what(UnsafeRawPointer(address(ofTag: tag)) + infoOffset) }

    /// Of `SourceStorage.info`. By hand, as a pointer to it would read it, which is not always allowed here; a test compares.
    static var infoOffset: Int { 24 }

    /// Reports with the tag that the source has had are old from now on. Under the loop's lock.
    func endStay() { pointee.firstSeat.stay = (stay &+ 2) & Self.stayMask }

    /// For a source that is made of this memory: where the last one stopped.
    fileprivate var stayOfMemory: UInt32 { stay & Self.stayMask | 1 }

    /// Of this memory, whoever's it is: another thread may be making a source of it, which leaves the number as it is.
    @inline(__always)
    private var stay: UInt32 { withUnsafeMutablePointer(to: &pointee.firstSeat.stay) { linux_peek($0) } }
}
