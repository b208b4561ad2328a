// Step 9: fairness among ready descriptors. `EventBatch` determines when the loop itself has to choose which event goes first.

extension RunLoopPointer {
    /// Drops the rest of the batch. The events that were taken count as having had their turn. Loop thread only; call without the lock
    /// held.
    func dropEvents() {
        if !pointee.eventBatch.isEmpty { dropRemainingEvents() }
    }

    /// Does the work of `dropEvents` for a batch that has events left.
    private func dropRemainingEvents() {
        if pointee.eventBatch.isSingle { pointee.modeInOrder = nil }
        if !pointee.eventBatch.isTurn, let mode = pointee.activation.mode {
            locked { pointee.eventBatch.forEachTaken { noteTurn($0, mode) } }
        }
        pointee.eventBatch.drop()
    }

    /// Whether a tag has not had its turn in this round of the mode. A round ends when every ready descriptor has had a turn. So in each
    /// round the lowest order goes first, and nothing that stays ready is passed over twice. The caller holds the lock.
    func isNext(_ tag: UInt64, _ mode: ModePointer) -> Bool {
        guard let turn = turn(tag, mode) else { return false }
        let since = turn.pointee &- mode.pointee.roundBegan
        return since == 0 || since > pointee.dispatchStamp &- mode.pointee.roundBegan
    }

    /// Begins a new round, as all ready descriptors have had their turn; no effect if more are ready than were fetched. The caller holds
    /// the lock.
    func endRound(_ mode: ModePointer) {
        if pointee.eventBatch.isFull { return }
        mode.pointee.roundBegan = pointee.dispatchStamp
        pointee.modeInOrder = mode
    }

    /// Called for a fresh batch in which only one event (`left` = 1) or none (0) is still due a turn in this round. After that one event,
    /// epoll's own order may choose. If there is none, a new round begins; but if more descriptors are ready than were fetched, no round
    /// ever ends, so the event with the oldest turn goes first. The caller holds the lock.
    func beginLast(_ mode: ModePointer, _ left: Int) {
        if !pointee.eventBatch.isFull && left == 1 { pointee.modeInOrder = mode }
        if left == 1 { return }
        if !pointee.eventBatch.isFull { return mode.pointee.roundBegan = pointee.dispatchStamp }
        pointee.eventBatch.begin(oldest: { tag in turn(tag, mode).map { pointee.dispatchStamp &- $0.pointee } ?? 0 })
    }

    /// Records that a tag has its turn now. If several sources share the watch, each is recorded when it is called. The caller holds the
    /// lock.
    @inline(never)
    func noteTurn(_ tag: UInt64, _ mode: ModePointer) {
        if tag & 1 == 0 && tag != Poller.alwaysReadyTag { return }
        pointee.dispatchStamp &+= 1
        turn(tag, mode)?.pointee = pointee.dispatchStamp
    }

    /// Where the stamp of a tag's last turn is stored; nil if the tag belongs to nothing in the mode. The caller holds the lock.
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

    /// The mode's first source on a watch. The caller holds the lock.
    func registration(onWatch index: Int, in mode: ModePointer) -> RegistrationPointer? {
        var next = pointee.poller.registrations(index)
        while let registration = next, !contains(registration.set, .mode(mode)) { next = registration.nextOfWatch }
        return next
    }

    /// Fetches all events, after the only one that was requested called nothing. Returns false if there are none. Loop thread only; call
    /// without the lock held.
    func fetchAllEvents(_ mode: ModePointer) -> Bool {
        pointee.modeInOrder = nil
        let target = locked { self.target(mode) }
        if !target.isNothing { pointee.eventBatch.wait(target, until: .distantPast, .oneOfAll) }
        return !pointee.eventBatch.isEmpty
    }

    /// Returns how many events to fetch. A run that dispatches at most one event per fetch needs only one, provided that epoll's order
    /// gives each descriptor its turn. It does not after another mode has run, since descriptors then leave the epoll set and join it again
    /// behind the others, nor if sources have an order.
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
