import CRunLoop
import Synchronization

/// A source that is to be performed, kept alive until it has been.
struct Turn: BitwiseCopyable {
    /// A hold costs nothing, but is counted under the lock of the source's Home; a source that is in several loops may
    /// have another one than this loop's.
    enum Keep { case hold, reference }

    let source: SourcePointer
    let keep: Keep

    init(_ source: SourcePointer, _ keep: Keep) {
        self.source = source
        self.keep = keep
    }
}

// What sources have to say: signalled ones (version 0) and ready descriptors (version 1). The loop's thread.

extension UnsafeMutablePointer where Pointee == RunLoopStorage {
    /// Performs the mode's signalled sources by order; true if there was any. `onlyOne`: the first, the others stay
    /// signalled. Calls user code.
    ///
    /// Who is signalled when it begins has a turn, whatever happens to its place in the loop meanwhile; invalidation
    /// and a nested run that performs it first take it away. Who is signalled later waits for the next pass.
    ///
    /// O(1) if nothing is signalled; otherwise O(log n) for each that is, however many there are that are not.
    func performSignalledSources(_ mode: ModePointer, onlyOne: Bool) -> Bool {
        lock()
        takeSignals()
        var handled = false
        let first = pointee.turns.count
        if onlyOne || !giveTurns(mode) {
            while !handled, pointee.turns.reserve(first + 1), let seat = takeFirst(mode) {
                _ = pointee.turns.append(Turn(seat.pointee.source, keep(seat.pointee.source)))
                handled = perform(pointee.turns[first])
                pointee.turns.truncate(to: first)
            }
        } else {
            // By index: a nested run puts its own turns behind these and takes them away again.
            let last = pointee.turns.count
            for index in first..<last { handled = perform(pointee.turns[index]) || handled }
            pointee.turns.truncate(to: first)
        }
        unlock()
        return handled
    }

    /// Moves what was marked into the queues of its modes. Under the lock.
    @inline(__always)
    private func takeSignals() {
        if pointee.board.isMarked {
            pointee.board.take { place in
                if let seat = pointee.seats[place: place] { enqueue(seat) }
            }
        }
        if SharedSignals.seen != pointee.sharedSignalsSeen { lookThroughSources() }
    }

    @inline(never)
    private func lookThroughSources() {
        pointee.sharedSignalsSeen = SharedSignals.seen
        pointee.seats.forEach { enqueue($0) }
    }

    /// The queue has room: that was made when the source came.
    @inline(__always)
    private func enqueue(_ seat: SeatPointer) {
        guard !seat.isQueued, seat.pointee.watch < 0, seat.pointee.source.isSignalled, let set = seat.pointee.set else { return }
        _ = set.pointee.signalled.insert(seat.key, seat.position)
    }

    /// Takes the mode's first queued seat; what it was queued for may be over by now. O(log n). Under the lock.
    @inline(__always)
    private func takeFirst(_ mode: ModePointer) -> SeatPointer? {
        var best: SeatPointer?
        var bestSet: ModeSetPointer?
        for index in 0..<mode.pointee.sets.count {
            let set = mode.pointee.sets[index]
            guard let first = set.pointee.signalled.first else { continue }
            let seat = SeatPointer(queued: first.position)
            if best == nil || SourceKey.precedes(seat.key, best.unsafelyUnwrapped.key) {
                best = seat
                bestSet = set
            }
        }
        if let best { bestSet.unsafelyUnwrapped.pointee.signalled.remove(best.position) }
        return best
    }

    /// Lists everybody in the mode's queues by order, and leaves them queued for a nested run to find. False if there are
    /// less than two, or no memory for the list: then one at a time will do. Under the lock.
    @inline(__always)
    private func giveTurns(_ mode: ModePointer) -> Bool {
        var count = 0
        for index in 0..<mode.pointee.sets.count { count &+= mode.pointee.sets[index].pointee.signalled.count }
        return count > 1 && listTurns(mode, count)
    }

    @inline(never)
    private func listTurns(_ mode: ModePointer, _ count: Int) -> Bool {
        var seats = PlainList<SeatPointer>()
        guard seats.reserve(count), pointee.turns.reserve(pointee.turns.count + count) else { return false }
        while let seat = takeFirst(mode) {
            // A nested run may have performed it and left it queued.
            if !seat.pointee.source.isSignalled { continue }
            _ = seats.append(seat)
            _ = pointee.turns.append(Turn(seat.pointee.source, keep(seat.pointee.source)))
        }
        for index in 0..<seats.count {
            _ = seats[index].pointee.set.unsafelyUnwrapped.pointee.signalled.insert(seats[index].key, seats[index].position)
        }
        return true
    }

    /// Performs a source that has a turn, if it is still signalled and valid. Under the lock, which it gives back meanwhile.
    @inline(__always)
    private func perform(_ turn: Turn) -> Bool {
        let isDue = turn.source.takeSignal() && turn.source.pointee.item.has(ItemHeader.valid)
        if isDue { callPerform(turn.source) }
        letGo(turn)
        return isDue
    }

    @inline(__always)
    private func callPerform(_ source: SourcePointer) {
        unlock()
        if let perform = source.pointee.context.perform {
            RUNLOOP_IS_CALLING_OUT_TO_A_SOURCE_PERFORM_FUNCTION(perform, source.pointee.context.info)
        }
        lock()
    }

    @inline(__always)
    private func keep(_ source: SourcePointer) -> Turn.Keep {
        if source.pointee.item.home == home {
            source.item.hold()
            return .hold
        }
        source.pointee.item.object.retain()
        return .reference
    }

    /// Under the lock of this loop, which it gives back if another one is concerned or the source dies.
    @inline(__always)
    private func letGo(_ turn: Turn) {
        let source = turn.source
        if turn.keep == .hold, source.pointee.item.home == home, source.pointee.item.holds > 1 {
            source.pointee.item.holds -= 1
        } else {
            letGoSlowly(turn)
        }
    }

    /// A turn that was given and never had, or had and never ended, because the thread did. Any thread; without the lock.
    func letGo(abandoned turn: Turn) {
        lock()
        letGoSlowly(turn)
        unlock()
    }

    @inline(never)
    private func letGoSlowly(_ turn: Turn) {
        unlock()
        switch turn.keep {
        case .reference: turn.source.giveBack()
        case .hold:
            let itemHome = turn.source.item.lock()
            let isDead = turn.source.item.unhold()
            itemHome.unlock()
            if isDead { turn.source.destroy() }
        }
        lock()
    }

    // MARK: descriptors

    /// Performs the mode's sources on the next descriptor that was reported ready; true if there was one. Calls user code.
    func serveReadyDescriptor(_ mode: ModePointer) -> Bool {
        if pointee.reports.isEmpty { return false }
        lock()
        let served = serveReport(mode)
        unlock()
        return served
    }

    /// Under the lock, which it gives back meanwhile.
    @inline(__always)
    private func serveReport(_ mode: ModePointer) -> Bool {
        while let report = pointee.reports.take() {
            guard let index = pointee.poller.index(ofReported: report.tag) else {
                pointee.reports.noteStray()
                continue
            }
            if perform(watch: index, mode) { return true }
            // Nobody in this mode wants it, and it would be reported again and again.
            pointee.poller.silence(index)
        }
        guard pointee.reports.takeAlwaysReadyTurn(), let index = pointee.poller.nextAlwaysReady({ isWanted($0, mode) }) else {
            return false
        }
        return perform(watch: index, mode)
    }

    /// Goes on with the next report as long as nobody could tell that from another pass: nothing else is waiting in
    /// this mode, and no observer watches passes begin. The caller has seen that the run has no deadline and goes on
    /// after a source. The loop's thread; calls user code.
    func serveFurtherDescriptors(_ mode: ModePointer) {
        if observes(mode, .beforeTimers, .beforeSources) { return }
        lock()
        while !pointee.reports.isEmpty, !pointee.board.isMarked, !pointee.wake.isPending, inbox.isEmpty, pointee.held.count == 0,
            pointee.stop.load(ordering: .relaxed) == 0, SharedSignals.seen == pointee.sharedSignalsSeen,
            firstTimer(mode) == nil, serveReport(mode)
        {}
        unlock()
    }

    /// Whether some source of the mode is on this watch. Under the lock.
    func isWanted(_ index: Int, _ mode: ModePointer) -> Bool {
        nextSeat(onWatch: index, mode, notYet: pointee.serving &+ 1) != nil
    }

    /// Performs every source of the mode on one descriptor. Under the lock, which it gives back meanwhile.
    private func perform(watch index: Int, _ mode: ModePointer) -> Bool {
        pointee.serving &+= 1
        let serving = pointee.serving
        let generation = pointee.poller[index].generation
        var handled = false
        // A nested run that has served something knows better: what is still ready will be reported again.
        while pointee.serving == serving, pointee.poller[index].generation == generation,
            let seat = nextSeat(onWatch: index, mode, notYet: serving)
        {
            // The first of them may have read what there was.
            if handled && !Descriptor.isReady(pointee.poller[index].fd) { break }
            seat.pointee.served = serving
            let source = seat.pointee.source
            let turn = Turn(source, keep(source))
            callPerform(source)
            letGo(turn)
            handled = true
        }
        return handled
    }

    @inline(__always)
    private func nextSeat(onWatch index: Int, _ mode: ModePointer, notYet serving: UInt32) -> SeatPointer? {
        var next = pointee.poller.seats(index)
        while let seat = next {
            next = seat.pointee.nextOfWatch
            if seat.pointee.served != serving, contains(seat.pointee.set, .mode(mode)) { return seat }
        }
        return nil
    }

    /// Listens again to descriptors that were silenced because no running mode wanted them and `mode` wants. Under the lock.
    func revisitSilentWatches(_ mode: ModePointer) {
        pointee.mustRevisitSilent = false
        if pointee.poller.silentCount == 0 { return }
        for index in 0..<pointee.poller.indexLimit where pointee.poller[index].state == .silent {
            if isWanted(index, mode) { _ = pointee.poller.listen(index) }
        }
    }
}
