import CLinux
import Synchronization

// Sources on descriptors: watching, and telling them what is ready. Several may be on one descriptor: they share its watch.

extension UnsafeMutablePointer where Pointee == RunLoopStorage {
    // MARK: watching

    /// A seat that has just come into the loop. One epoll_ctl if the source waits for something. Under the lock; false if out of memory.
    func watch(_ fd: Int32, for seat: SeatPointer) -> Bool {
        guard beginWatching(fd, for: seat) else { return false }
        if seat.pointee.source.rank != 0 { pointee.orderedSeats += 1 }
        return true
    }

    private func beginWatching(_ fd: Int32, for seat: SeatPointer) -> Bool {
        if let index = pointee.poller.index(of: fd) {
            insert(seat, onWatch: index)
            pointee.poller.setWanted(wanted(onWatch: index), at: index)
            if !pointee.poller.listenAnew(index) { tryAgainLater() }
            return true
        }
        guard let index = pointee.poller.add(fd, wanted: seat.pointee.source.wantedEvents, client: UnsafeMutableRawPointer(seat))
        else { return false }
        seat.pointee.watch = Int32(index)
        if pointee.poller[index].isNarrow { tryAgainLater() }
        return true
    }

    /// Whether the source's descriptor turned out to be none. Any thread.
    func isBroken(_ source: SourcePointer) -> Bool {
        let itemHome = source.item.lock(and: home)
        defer { ItemPointer.unlockBoth(itemHome, home) }
        guard let seat = source.seat(in: home), seat.pointee.watch >= 0 else { return false }
        return pointee.poller[Int(seat.pointee.watch)].state == .broken
    }

    /// Behind the others on the same descriptor of the same or a lower order.
    private func insert(_ seat: SeatPointer, onWatch index: Int) {
        seat.pointee.watch = Int32(index)
        let first = pointee.poller.seats(index)
        guard let first, !SourceKey.precedes(seat.key, first.key) else {
            seat.pointee.nextOfWatch = first
            return pointee.poller.setClient(UnsafeMutableRawPointer(seat), isShared: first != nil, at: index)
        }
        var previous = first
        while let next = previous.pointee.nextOfWatch, !SourceKey.precedes(seat.key, next.key) { previous = next }
        seat.pointee.nextOfWatch = previous.pointee.nextOfWatch
        previous.pointee.nextOfWatch = seat
        pointee.poller.setClient(UnsafeMutableRawPointer(first), isShared: true, at: index)
    }

    /// The seat's descriptor is not watched for it any more; the last one ends the watch. Under the lock.
    func unwatch(_ seat: SeatPointer) {
        let index = Int(seat.pointee.watch)
        seat.pointee.watch = -1
        if seat.pointee.source.rank != 0 { pointee.orderedSeats -= 1 }
        var first = pointee.poller.seats(index)
        if first == seat {
            first = seat.pointee.nextOfWatch
        } else {
            var previous = first
            while let some = previous, some.pointee.nextOfWatch != seat { previous = some.pointee.nextOfWatch }
            previous?.pointee.nextOfWatch = seat.pointee.nextOfWatch
        }
        seat.pointee.nextOfWatch = nil
        guard let first else { return pointee.poller.remove(index) }
        pointee.poller.setClient(UnsafeMutableRawPointer(first), isShared: first.pointee.nextOfWatch != nil, at: index)
        pointee.poller.setWanted(wanted(onWatch: index), at: index)
    }

    /// A source on a watch may wait for more than before: epoll hears of it when the loop waits next. Under the lock.
    func want(_ seat: SeatPointer) {
        let index = Int(seat.pointee.watch)
        if index >= 0 { pointee.poller.setWanted(wanted(onWatch: index), at: index) }
    }

    /// What all sources on a watch wait for, those of other modes too.
    private func wanted(onWatch index: Int) -> Events {
        var events: Events = []
        var next = pointee.poller.seats(index)
        while let seat = next {
            events.formUnion(seat.pointee.source.wantedEvents)
            next = seat.pointee.nextOfWatch
        }
        return events
    }

    /// Listens again where epoll was told less than is wanted, because no running mode wanted more or the system was out
    /// of memory, and `mode` wants it. Under the lock.
    func revisitWatches(_ mode: ModePointer) {
        pointee.mustRevisitWatches = false
        if pointee.poller.narrowCount == 0 { return }
        for index in 0..<pointee.poller.indexLimit where pointee.poller[index].isNarrow && isWanted(index, mode) {
            listen(index)
        }
    }

    /// Under the lock.
    private func listen(_ index: Int) {
        if !pointee.poller.listen(index) { tryAgainLater() }
        if pointee.poller[index].state == .broken { pointee.hasLostDescriptor = true }
    }

    /// Whether some source of the mode on this watch waits for something. Under the lock.
    func isWanted(_ index: Int, _ mode: ModePointer) -> Bool { !wanted(onWatch: index, mode).isEmpty }

    private func wanted(onWatch index: Int, _ mode: ModePointer) -> Events {
        var events: Events = []
        var next = pointee.poller.seats(index)
        while let seat = next {
            if contains(seat.pointee.set, .mode(mode)) { events.formUnion(seat.pointee.source.wantedEvents) }
            next = seat.pointee.nextOfWatch
        }
        return events
    }

    // MARK: delivering

    /// Tells the mode's sources on the next descriptor that was reported ready; true if somebody was called. Calls user code.
    ///
    /// `goesOn`: the run has no deadline and goes on after a source. Then it goes on with the next reports, too, as long as nobody could
    /// tell that from another pass.
    func serveReadyDescriptor(_ mode: ModePointer, goesOn: Bool) -> Bool {
        if pointee.reports.isEmpty { return false }
        var served = false
        lock()
        if pointee.orderedSeats > 0 && pointee.reports.isFresh { sortReports(mode) }
        repeat {
            if !serveReport(mode) { break }
            served = true
        } while goesOn && !pointee.reports.isEmpty && nothingElseWaits(mode)
        unlock()
        return served
    }

    /// Whether nothing but descriptors is waiting in this mode, and no observer watches passes begin. Under the lock.
    @inline(__always)
    func nothingElseWaits(_ mode: ModePointer) -> Bool {
        if pointee.board.isMarked || pointee.wake.isPending || !inbox.isEmpty || pointee.held.count != 0 { return false }
        if pointee.stop.load(ordering: .relaxed) != 0 || SharedSignals.seen != pointee.sharedSignalsSeen { return false }
        return !observes(mode, .beforeTimers, .beforeSources) && !hasTimers(mode)
    }

    /// Only where some source has another order than 0: most have not.
    @inline(never)
    private func sortReports(_ mode: ModePointer) {
        pointee.reports.sort { tag in
            var next = pointee.poller.index(ofReported: tag).flatMap { pointee.poller.seats($0) }
            while let seat = next, !contains(seat.pointee.set, .mode(mode)) { next = seat.pointee.nextOfWatch }
            return next?.pointee.source.rank ?? .min
        }
    }

    /// Under the lock, which it gives back meanwhile.
    @inline(__always)
    private func serveReport(_ mode: ModePointer) -> Bool {
        while let report = pointee.reports.take() {
            guard let index = pointee.poller.index(ofReported: report.tag) else {
                pointee.reports.noteStray(report.tag)
                continue
            }
            if serve(watch: index, report.events, mode) { return true }
        }
        return pointee.reports.isAlwaysReadyTurn && serveAlwaysReady(mode)
    }

    @inline(never)
    private func serveAlwaysReady(_ mode: ModePointer) -> Bool {
        pointee.reports.endAlwaysReadyTurn()
        guard let index = pointee.poller.nextAlwaysReady({ isWanted($0, mode) }) else { return false }
        return serve(watch: index, [.readable, .writable], mode)
    }

    /// Tells the sources of the mode on one descriptor that wait for what was reported. Under the lock, which it gives
    /// back meanwhile.
    @inline(__always)
    private func serve(watch index: Int, _ events: Events, _ mode: ModePointer) -> Bool {
        let watch = pointee.poller[index]
        var outcome = Served.unwanted
        if watch.isShared {
            outcome = serve(sharedWatch: index, events, mode)
        } else if let seat = watch.seats, contains(seat.pointee.set, .mode(mode)) {
            let source = seat.pointee.source
            let ready = events.serving(source.interest)
            if !ready.isEmpty { outcome = tell(source, ready, events) }
        }
        if outcome == .handled { return true }
        if pointee.poller[index].generation == watch.generation { calm(index, events, mode, outcome) }
        return false
    }

    @inline(never)
    private func serve(sharedWatch index: Int, _ reported: Events, _ mode: ModePointer) -> Served {
        pointee.serving &+= 1
        let serving = pointee.serving
        let generation = pointee.poller[index].generation
        var events = reported
        var outcome = Served.unwanted
        // A nested run that has served something knows better: what is still ready will be reported again.
        while pointee.serving == serving, pointee.poller[index].generation == generation,
            let seat = nextSeat(onWatch: index, mode, notYet: serving)
        {
            seat.pointee.served = serving
            // The first of them may have read what there was.
            if outcome == .handled { events = Events(rawValue: Descriptor.look(pointee.poller[index].fd, for: events.rawValue)) }
            let ready = events.serving(seat.pointee.source.interest)
            if ready.isEmpty { continue }
            let one = tell(seat.pointee.source, ready, events)
            if one != .unwanted && outcome != .handled { outcome = one }
        }
        return outcome
    }

    private func nextSeat(onWatch index: Int, _ mode: ModePointer, notYet serving: UInt32) -> SeatPointer? {
        var next = pointee.poller.seats(index)
        while let seat = next {
            next = seat.pointee.nextOfWatch
            if seat.pointee.served != serving, contains(seat.pointee.set, .mode(mode)) { return seat }
        }
        return nil
    }

    /// Under the lock, which it gives back meanwhile.
    @inline(__always)
    private func tell(_ source: SourcePointer, _ ready: Events, _ reported: Events) -> Served {
        if !pointee.turns.reserve(pointee.turns.count &+ 1) { return .tryLater }
        let turn = Turn(source, keep(source))
        pointee.turns.appendReserved(turn)
        var outcome = Served.handled
        unlock()
        if source.pointee.item.has(ItemHeader.isOurs) {
            outcome = Served(rawValue: source.pointee.function.serve(source.pointee.info, ready.rawValue, reported.rawValue)) ?? .unwanted
        } else if let perform = source.pointee.function.perform {
            RUNLOOP_IS_CALLING_OUT_TO_A_SOURCE_PERFORM_FUNCTION(perform, source.pointee.info)
        }
        lock()
        pointee.turns.truncate(to: pointee.turns.count &- 1)
        letGo(turn)
        return outcome
    }

    /// The thread has ended in a call of one of our sources. Without the lock.
    func abandon(_ source: SourcePointer) { _ = source.pointee.function.serve(source.pointee.info, 0, 0) }

    /// How many calls of sources of ours that have this info are under way, one in another. The loop's thread.
    func calls(of info: UnsafeMutableRawPointer) -> UInt32 {
        locked {
            var count: UInt32 = 0
            for index in 0..<pointee.turns.count {
                let source = pointee.turns[index].source
                if source.pointee.info == info && source.pointee.item.has(ItemHeader.isOurs) { count += 1 }
            }
            return count
        }
    }

    /// Nobody was called for a report, and epoll would make it again and again. Under the lock.
    @inline(never)
    private func calm(_ index: Int, _ events: Events, _ mode: ModePointer, _ outcome: Served) {
        pointee.poller.setWanted(wanted(onWatch: index), at: index)
        if outcome == .tryLater {
            pointee.poller.narrow(index, to: [])
            return tryAgainLater()
        }
        let wanted = wanted(onWatch: index, mode)
        if events.serving(wanted).isEmpty { pointee.poller.narrow(index, to: wanted) }
    }
}

// Descriptors that are watched less than they should be, for a while.

extension UnsafeMutablePointer where Pointee == RunLoopStorage {
    /// How long the loop waits before it tries again what failed for want of memory or descriptors, in nanoseconds.
    private static var retryInterval: UInt64 { 50_000_000 }

    /// Under the lock.
    private func tryAgainLater() {
        if pointee.retryDeadline == .never { pointee.retryDeadline = Clock.now.advanced(by: Self.retryInterval) }
    }

    /// What to wait for in this mode; epoll hears of all changes first. Under the lock.
    @inline(__always)
    func target(_ mode: ModePointer) -> Reports.Target {
        if pointee.poller.hasChanges { applyChanges() }
        if pointee.mustRevisitWatches { revisitWatches(mode) }
        if portCount(mode) == 0 || !pointee.poller.open() { return .nothing }
        if pointee.reports.takeBroken() {
            pointee.poller.forgetDescriptors()
            pointee.reports.reset()
            revisitWatches(mode)
            if !pointee.poller.open() { return .nothing }
        }
        if pointee.reports.isHaunted() { pointee.poller.rebuild() }
        return Reports.Target(
            epoll: pointee.poller.epoll, alwaysReady: pointee.poller.hasAlwaysReady { isWanted($0, mode) })
    }

    @inline(never)
    private func applyChanges() {
        let outcome = pointee.poller.applyChanges()
        if outcome.failed { tryAgainLater() }
        if outcome.lost { pointee.hasLostDescriptor = true }
    }

    /// Before a pass: is it time to try again? Says so once if a descriptor was closed behind the back of its source. The loop's
    /// thread; may call the error handler.
    @inline(__always)
    func lookAfterWatches() {
        if pointee.retryDeadline != .never || pointee.hasLostDescriptor { lookAfterFailures() }
    }

    @inline(never)
    private func lookAfterFailures() {
        lock()
        if pointee.retryDeadline <= Clock.now {
            pointee.retryDeadline = .never
            pointee.mustRevisitWatches = true
        }
        let hasLost = pointee.hasLostDescriptor
        pointee.hasLostDescriptor = false
        unlock()
        if hasLost {
            preservingSystemError {
                Misuse.report("RLRunLoopRun", "source", "its descriptor was closed before it was invalidated")
            }
        }
    }
}

extension UnsafeMutablePointer where Pointee == SourceStorage {
    /// Among several ready descriptors the lowest comes first. A client's source of version 1 only stores its order, as in CFRunLoop.
    fileprivate var rank: Int { pointee.item.has(ItemHeader.isOurs) ? pointee.order : 0 }
}

extension Poller {
    /// The first seat on a watch.
    @inline(__always)
    func seats(_ index: Int) -> SeatPointer? { self[index].seats }
}

extension Poller.Watch {
    /// The first seat on it.
    @inline(__always)
    fileprivate var seats: SeatPointer? { client?.assumingMemoryBound(to: Seat.self) }
}
