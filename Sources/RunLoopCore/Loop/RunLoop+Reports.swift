import CRunLoop
import Synchronization

// Telling sources that their descriptors are ready.

extension UnsafeMutablePointer where Pointee == RunLoopStorage {
    /// Tells the mode's sources on the next descriptor that was reported ready; true if somebody was called. Calls user code.
    ///
    /// `goesOn`: the run has no deadline and goes on after a source. Then it goes on with the next reports, too, as long as nobody could
    /// tell that from another pass.
    func serveReadyDescriptor(_ mode: ModePointer, goesOn: Bool) -> Bool {
        if pointee.reports.isEmpty { return false }
        if serveFetched(mode, goesOn: goesOn) { return true }
        return pointee.reports.takeFruitless() && fetchAllReports(mode) && serveFetched(mode, goesOn: goesOn)
    }

    private func serveFetched(_ mode: ModePointer, goesOn: Bool) -> Bool {
        lockInline()
        if pointee.reports.isFresh {
            if pointee.orderedSeats > 0 { sortReports(mode) }
            if let left = pointee.reports.begin({ isNext($0, mode) }), left <= 1 { beginLast(mode, left) }
        }
        let isNested = !pointee.callee.isNone
        if isNested && !pointee.outerCallees.append(pointee.callee) {
            unlockInline()
            return false
        }
        pointee.callee = Callee()
        let batch = pointee.reports.number
        let served = serveReports(mode, goesOn: goesOn)
        // Unless a nested run has fetched or dropped reports, all that were ready have had a turn.
        if pointee.reports.isEmpty && pointee.reports.number == batch && !pointee.reports.isSingle { endRound(mode) }
        pointee.callee = Callee()
        if isNested { returnToOuterCallee() }
        unlockInline()
        return served
    }

    /// Whether the run goes on, nothing but descriptors is waiting in this mode, and no observer watches passes begin. Asked after each
    /// report, so this is a quick look, which may be wrong if it sees something. Under the lock.
    @inline(__always)
    private func mayServeNext(_ mode: ModePointer, _ goesOn: Bool) -> Bool {
        let changes = pointee.stop.load(ordering: .relaxed) | inbox.mail
        let held = UInt64(truncatingIfNeeded: pointee.held.count)
        let isQuiet = pointee.board.marks | UInt64(changes) | held | pointee.isStirred == 0
        return isQuiet && SharedSignals.seen == pointee.sharedSignalsSeen || maySurelyServeNext(mode, goesOn)
    }

    /// The same for sure.
    @inline(never)
    func maySurelyServeNext(_ mode: ModePointer, _ goesOn: Bool) -> Bool {
        if !goesOn || pointee.board.isMarked || !inbox.isEmpty || pointee.held.count != 0 || pointee.autoreleasedCount != 0 { return false }
        if pointee.stop.load(ordering: .relaxed) != 0 || SharedSignals.seen != pointee.sharedSignalsSeen { return false }
        if observes(mode, .beforeTimers, .beforeSources) || hasTimersOrQueued(mode) || hasWatchesToLookAfter { return false }
        pointee.isStirred = 0
        return true
    }

    /// Only where some source has another order than 0: most have not.
    @inline(never)
    private func sortReports(_ mode: ModePointer) {
        pointee.reports.sort { tag in
            if tag == Poller.alwaysReadyTag { return .max }
            if tag & 1 != 0 { return SourcePointer(reported: tag)?.rank ?? .min }
            let seat = pointee.poller.index(ofReported: tag).flatMap { self.seat(onWatch: $0, in: mode) }
            return seat?.pointee.source.rank ?? .min
        }
    }

    /// Under the lock, which it gives back meanwhile.
    @inline(__always)
    private func serveReports(_ mode: ModePointer, goesOn: Bool) -> Bool {
        if mode.pointee.sets.count == 0 { return false }
        // Most sources of a mode are in the same set.
        let set = mode.pointee.sets[0]
        pointee.isStirred = 1
        var served = false
        while let report = pointee.reports.take() {
            prefetchNext()
            if pointee.reports.isTurn { noteTurn(report.tag, mode) }
            if report.tag & 1 != 0, let source = SourcePointer(reported: report.tag) {
                if !serve(source, report.tag, report.events, mode, set) { continue }
            } else if report.tag & 1 == 0, let index = pointee.poller.index(ofReported: report.tag) {
                if !serve(watch: index, report.events, mode) { continue }
            } else if report.tag == Poller.alwaysReadyTag {
                if !serveAlwaysReady(mode) { continue }
            } else {
                pointee.reports.noteStray(report.tag)
                continue
            }
            served = true
            if pointee.reports.isEmpty || !mayServeNext(mode, goesOn) { return true }
        }
        return served
    }

    /// While a source is called, what the next ones need comes into the processor's cache: of the next but one what is read to deliver
    /// it, of the next what it will ask for first.
    @inline(__always)
    private func prefetchNext() {
        SourcePointer.prefetch(tag: pointee.reports.tag(ahead: 1))
        let next = pointee.reports.tag(ahead: 0)
        if next & 1 != 0 { SourcePointer.prefetchInfo(tag: next) }
    }

    @inline(never)
    private func serveAlwaysReady(_ mode: ModePointer) -> Bool {
        let next = pointee.poller.nextAlwaysReady { index in
            guard isWanted(index, mode), let seat = seat(onWatch: index, in: mode) else { return nil }
            return pointee.serving &- seat.pointee.served
        }
        guard let index = next else { return false }
        return serve(watch: index, [.readable, .writable], mode)
    }

    /// Tells a source of which the tag was reported, if it is in the mode and waits for what was. Under the lock, which it gives back
    /// meanwhile.
    @inline(__always)
    private func serve(_ source: SourcePointer, _ tag: UInt64, _ events: Events, _ mode: ModePointer, _ set: ModeSetPointer) -> Bool {
        if events.isBareHangUp && isUnconnected(Int(source.pointee.firstSeat.watch)) { return false }
        let its = source.pointee.firstSeat.set.unsafelyUnwrapped
        let flags = source.pointee.item.flags.load(ordering: .acquiring)
        var outcome = Served.unwanted
        if its != set && !containsInline(its, .mode(mode)) {
        } else if flags & ItemHeader.isOurs == 0 {
            if !events.isDisjoint(with: [.readable, .error, .hangUp]) { return tell(source) }
        } else {
            let ready = events.serving(SourcePointer.interest(flags))
            if !ready.isEmpty { outcome = tell(source, ready, events) }
            if outcome == .handled { return true }
        }
        if let source = SourcePointer(reported: tag) { calm(Int(source.pointee.firstSeat.watch), events, mode, outcome) }
        return false
    }

    /// Tells the sources of the mode on one descriptor that wait for what was reported. Under the lock, which it gives
    /// back meanwhile.
    @inline(never)
    private func serve(watch index: Int, _ events: Events, _ mode: ModePointer) -> Bool {
        if events.isBareHangUp && isUnconnected(index) { return false }
        let generation = pointee.poller[index].generation
        let outcome = serve(allOn: index, events, mode)
        if outcome == .handled { return true }
        if pointee.poller[index].generation == generation { calm(index, events, mode, outcome) }
        return false
    }

    private func serve(allOn index: Int, _ reported: Events, _ mode: ModePointer) -> Served {
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
            let one = tellEither(seat.pointee.source, ready, events)
            if one != .unwanted && outcome != .handled { outcome = one }
        }
        return outcome
    }

    private func tellEither(_ source: SourcePointer, _ ready: Events, _ reported: Events) -> Served {
        if source.pointee.item.has(ItemHeader.isOurs) { return tell(source, ready, reported) }
        _ = tell(source)
        return .handled
    }

    /// The one whose turn is the longest ago: a nested run may have cut the last turn short. As a rule, the first.
    private func nextSeat(onWatch index: Int, _ mode: ModePointer, notYet serving: UInt32) -> SeatPointer? {
        var oldest: (seat: SeatPointer, age: UInt32)?
        var next = pointee.poller.seats(index)
        while let seat = next {
            next = seat.pointee.nextOfWatch
            if seat.pointee.served == serving || !containsInline(seat.pointee.set, .mode(mode)) { continue }
            let age = serving &- seat.pointee.served
            if oldest == nil || age > oldest.unsafelyUnwrapped.age { oldest = (seat, age) }
        }
        return oldest?.seat
    }

    /// A client's source is called. Under the lock, which it gives back meanwhile. The loop has the source, and that keeps it alive: see
    /// `Callee`.
    @inline(__always)
    private func tell(_ source: SourcePointer) -> Bool {
        guard let perform = source.pointee.function.perform else { return true }
        pointee.callee.source = source
        home.unlockAsOwner()
        RUNLOOP_IS_CALLING_OUT_TO_A_SOURCE_PERFORM_FUNCTION(source.pointee.info, perform)
        home.lockAsOwner()
        if !pointee.callee.isStill(source) { letGoOfCallee() }
        return true
    }

    /// The same for one of ours.
    @inline(__always)
    private func tell(_ source: SourcePointer, _ ready: Events, _ reported: Events) -> Served {
        pointee.callee.source = source
        if source.pointee.item.has(ItemHeader.isPlain) {
            let endpoint = EndpointPointer(info: source.pointee.info)
            let isSocket = endpoint.pointee.item.object.tag == Kind.socket.rawValue
            if !isSocket || reported == .readable { return tell(source, endpoint, isSocket, ready) }
        }
        return serve(source, ready, reported)
    }

    /// A client whose own source this is in all but name is called from here: behind a system call that it makes, the processor mispredicts
    /// each return, so the less of them the better.
    @inline(__always)
    private func tell(_ source: SourcePointer, _ endpoint: EndpointPointer, _ isSocket: Bool, _ ready: Events) -> Served {
        let fired = endpoint.beginCall(ready, home)
        if fired.isEmpty { return serve(source, [], .readable) }
        home.unlockAsOwner()
        let info = endpoint.pointee.context.info
        if isSocket {
            if let callout = endpoint.pointee.callout.ofSocket {
                RUNLOOP_IS_CALLING_OUT_TO_A_SOCKET_CALLBACK_FUNCTION(OpaquePointer(endpoint), 1, nil, nil, info, callout)
            }
        } else if let callout = endpoint.pointee.callout.ofDescriptor {
            RUNLOOP_IS_CALLING_OUT_TO_A_FILE_DESCRIPTOR_CALLBACK_FUNCTION(OpaquePointer(endpoint), fired.callBackTypes, info, callout)
        }
        home.lockAsOwner()
        if !endpoint.endCall(home) { _ = serve(source, [], .readable) }
        if !pointee.callee.isStill(source) { letGoOfCallee() }
        return .handled
    }

    /// Under the lock, which it gives back meanwhile.
    @inline(never)
    private func serve(_ source: SourcePointer, _ ready: Events, _ reported: Events) -> Served {
        home.unlockAsOwner()
        let outcome = source.pointee.function.serve(source.pointee.info, ready.rawValue, reported.rawValue)
        home.lockAsOwner()
        if !pointee.callee.isStill(source) { letGoOfCallee() }
        return Served(rawValue: outcome) ?? .unwanted
    }

    /// Nobody was called for a report, and epoll would make it again and again. Under the lock.
    @inline(never)
    private func calm(_ index: Int, _ events: Events, _ mode: ModePointer, _ outcome: Served) {
        pointee.poller.setWanted(wanted(onWatch: index), at: index)
        let wanted = outcome == .tryLater ? [] : wanted(onWatch: index, mode)
        if events.serving(wanted).isEmpty { pointee.poller.narrow(index, to: wanted) }
        endStayIfSilent(index)
        if outcome == .tryLater { tryAgainLater() }
    }
}
