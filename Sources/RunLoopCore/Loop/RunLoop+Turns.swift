// Whose turn it is among several ready descriptors: `EventBatch` says when the loop has to choose.

extension RunLoopPointer {
    /// Forgets the reports that are left. Those that were taken have had their turn. The loop's thread, without the lock.
    @inline(__always)
    func dropEvents() {
        if !pointee.eventBatch.isEmpty { dropRemainingEvents() }
    }

    @inline(never)
    private func dropRemainingEvents() {
        if pointee.eventBatch.isSingle { pointee.modeInOrder = nil }
        if !pointee.eventBatch.isTurn, let mode = pointee.currentMode {
            locked { pointee.eventBatch.forEachTaken { noteTurn($0, mode) } }
        }
        pointee.eventBatch.drop()
    }

    /// A round of the mode is over when each of its descriptors that are ready has had a turn in it. So the lowest order goes
    /// first in each round, and nothing that stays ready is passed over in the next.
    func isNext(_ tag: UInt64, _ mode: ModePointer) -> Bool {
        guard let turn = turn(tag, mode) else { return false }
        let since = turn.pointee &- mode.pointee.roundBegan
        return since == 0 || since > pointee.dispatchStamp &- mode.pointee.roundBegan
    }

    /// All that are ready have had their turn, unless there are more than were reported. Under the lock.
    func endRound(_ mode: ModePointer) {
        if pointee.eventBatch.isPartial { return }
        mode.pointee.roundBegan = pointee.dispatchStamp
        pointee.modeInOrder = mode
    }

    /// One in a batch has a turn left in this round, or none. After the last one epoll's order, in which the round was, says whose turn
    /// it is. More may be ready than are in the batch, where a round has no end: then the one goes first whose turn is the longest ago.
    /// Under the lock.
    func beginLast(_ mode: ModePointer, _ left: Int) {
        if !pointee.eventBatch.isPartial && left == 1 { pointee.modeInOrder = mode }
        if left == 1 { return }
        if !pointee.eventBatch.isPartial { return mode.pointee.roundBegan = pointee.dispatchStamp }
        pointee.eventBatch.begin(oldest: { tag in turn(tag, mode).map { pointee.dispatchStamp &- $0.pointee } ?? 0 })
    }

    /// Of a watch that sources share, each of them that is told is noted then. Under the lock.
    @inline(never)
    func noteTurn(_ tag: UInt64, _ mode: ModePointer) {
        if tag & 1 == 0 && tag != Poller.alwaysReadyTag { return }
        pointee.dispatchStamp &+= 1
        turn(tag, mode)?.pointee = pointee.dispatchStamp
    }

    /// Where the number of the last turn is kept of what a tag was reported for; nil if there is nothing of it in the mode. Under the lock.
    private func turn(_ tag: UInt64, _ mode: ModePointer) -> UnsafeMutablePointer<UInt32>? {
        if tag == Poller.alwaysReadyTag { return withUnsafeMutablePointer(to: &mode.pointee.alwaysReadyLastDispatch) { $0 } }
        let registration: RegistrationPointer?
        if tag & 1 != 0 {
            registration = SourcePointer(eventTag: tag).flatMap {
                contains($0.pointee.inlineRegistration.set, .mode(mode)) ? $0.inlineRegistration : nil
            }
        } else {
            registration = pointee.poller.index(ofTag: tag).flatMap { self.registration(onWatch: $0, in: mode) }
        }
        return registration.map { registration in withUnsafeMutablePointer(to: &registration.pointee.lastDispatch) { $0 } }
    }

    /// The mode's first source on a watch. Under the lock.
    func registration(onWatch index: Int, in mode: ModePointer) -> RegistrationPointer? {
        var next = pointee.poller.registrations(index)
        while let registration = next, !containsInlined(registration.pointee.set, .mode(mode)) { next = registration.pointee.nextOfWatch }
        return next
    }

    /// The only report that was asked for was nobody's: looks at all of them.
    @inline(never)
    func fetchAllEvents(_ mode: ModePointer) -> Bool {
        pointee.modeInOrder = nil
        let target = locked { self.target(mode) }
        if !target.isNothing { pointee.eventBatch.wait(target, until: .distantPast, .oneOfAll) }
        return !pointee.eventBatch.isEmpty
    }

    /// Whether this pass delivers one report at most, and the next one asks again. All that are ready have to be known where epoll does
    /// not keep the turns: after another mode was run, for which descriptors leave epoll's set and come back behind the others, and
    /// where descriptors have an order.
    @inline(__always)
    func extent(_ mode: ModePointer) -> EventBatch.Extent {
        guard pointee.returnsAfterSource || pointee.deadline == .distantPast || observes(mode, .beforeTimers, .beforeSources) else {
            return .all
        }
        if pointee.modeInOrder == mode && pointee.orderedRegistrations == 0 { return .one }
        pointee.modeInOrder = nil
        return .oneOfAll
    }
}
