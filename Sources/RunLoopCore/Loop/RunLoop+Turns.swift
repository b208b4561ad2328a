// Step 9: fairness among ready descriptors. `EventBatch` says when the loop itself has to choose which event goes first.

extension RunLoopPointer {
    /// Drops the rest of the batch. The events that were taken have had their turn. The loop's thread, without the
    /// lock.
    func dropEvents() {
        if !pointee.eventBatch.isEmpty { dropRemainingEvents() }
    }

    /// The rest of `dropEvents`, for a batch that has events left.
    private func dropRemainingEvents() {
        if pointee.eventBatch.isSingle { pointee.modeInOrder = nil }
        if !pointee.eventBatch.isTurn, let mode = pointee.activation.mode {
            locked { pointee.eventBatch.forEachTaken { noteTurn($0, mode) } }
        }
        pointee.eventBatch.drop()
    }

    /// Whether a tag has not had its turn in this round of the mode. A round ends when every ready descriptor has had one. So the
    /// lowest order goes first in each round, and nothing that stays ready is passed over twice.
    func isNext(_ tag: UInt64, _ mode: ModePointer) -> Bool {
        guard let turn = turn(tag, mode) else { return false }
        let since = turn.pointee &- mode.pointee.roundBegan
        return since == 0 || since > pointee.dispatchStamp &- mode.pointee.roundBegan
    }

    /// Begins a new round, as all ready descriptors have had their turn; not if more are ready than were fetched. Under the lock.
    func endRound(_ mode: ModePointer) {
        if pointee.eventBatch.isPartial { return }
        mode.pointee.roundBegan = pointee.dispatchStamp
        pointee.modeInOrder = mode
    }

    /// Called for a fresh batch with only one event (`left` = 1) or no event (0) whose turn in this round is still due. After that one,
    /// epoll's own order may choose. With none, a new round begins; but if more descriptors are ready than were fetched, no round ever ends,
    /// so the event with the oldest turn goes first. Under the lock.
    func beginLast(_ mode: ModePointer, _ left: Int) {
        if !pointee.eventBatch.isPartial && left == 1 { pointee.modeInOrder = mode }
        if left == 1 { return }
        if !pointee.eventBatch.isPartial { return mode.pointee.roundBegan = pointee.dispatchStamp }
        pointee.eventBatch.begin(oldest: { tag in turn(tag, mode).map { pointee.dispatchStamp &- $0.pointee } ?? 0 })
    }

    /// Notes that a tag has its turn now. If several sources share the watch, each is noted when it is called. Under the
    /// lock.
    @inline(never)
    func noteTurn(_ tag: UInt64, _ mode: ModePointer) {
        if tag & 1 == 0 && tag != Poller.alwaysReadyTag { return }
        pointee.dispatchStamp &+= 1
        turn(tag, mode)?.pointee = pointee.dispatchStamp
    }

    /// Where the stamp of a tag's last turn is stored; nil if it belongs to nothing in the mode. Under the lock.
    private func turn(_ tag: UInt64, _ mode: ModePointer) -> UnsafeMutablePointer<UInt32>? {
        if tag == Poller.alwaysReadyTag { return withUnsafeMutablePointer(to: &mode.pointee.alwaysReadyLastDispatch) { $0 } }
        let registration: RegistrationPointer?
        if tag & 1 != 0 {
            registration = SourcePointer(eventTag: tag).flatMap {
                contains($0.inlineRegistration.set, .mode(mode)) ? $0.inlineRegistration : nil
            }
        } else {
            registration = pointee.poller.index(ofTag: tag).flatMap { self.registration(onWatch: $0, in: mode) }
        }
        return registration?.lastDispatchField
    }

    /// The mode's first source on a watch. Under the lock.
    func registration(onWatch index: Int, in mode: ModePointer) -> RegistrationPointer? {
        var next = pointee.poller.registrations(index)
        while let registration = next, !containsInlined(registration.set, .mode(mode)) { next = registration.nextOfWatch }
        return next
    }

    /// Fetches all events, after the only one that was asked for called nothing; false if there are none. The loop's thread, without the
    /// lock.
    func fetchAllEvents(_ mode: ModePointer) -> Bool {
        pointee.modeInOrder = nil
        let target = locked { self.target(mode) }
        if !target.isNothing { pointee.eventBatch.wait(target, until: .distantPast, .oneOfAll) }
        return !pointee.eventBatch.isEmpty
    }

    /// How many events to fetch. A run that dispatches at most one per pass, and asks again in the next, needs only one if epoll's order
    /// gives each descriptor its turn. It does not after another mode has run, since descriptors then leave the epoll set and join it again
    /// after the others, nor if sources have an order.
    @inline(__always)
    func extent(_ mode: ModePointer) -> EventBatch.Extent {
        guard
            pointee.activation.returnsAfterSource || pointee.activation.deadline == .distantPast
                || observes(mode, .beforeTimers, .beforeSources)
        else { return .all }
        if pointee.modeInOrder == mode && pointee.orderedRegistrations == 0 { return .one }
        pointee.modeInOrder = nil
        return .oneOfAll
    }
}
