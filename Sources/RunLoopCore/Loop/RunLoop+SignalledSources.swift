import CRunLoop
import Synchronization

/// A source that is to be performed, kept alive until it has been.
struct BatchEntry: BitwiseCopyable {
    /// An internal reference costs nothing, but is counted under the lock of the source's owner; a source that is in several loops may
    /// have another one than this loop's.
    /// `nothing`: it has had its turn.
    enum Retention { case internalReference, reference, released }

    let source: SourcePointer
    var retention: Retention

    init(_ source: SourcePointer, _ retention: Retention) {
        self.source = source
        self.retention = retention
    }
}

// Performing signalled sources, those of version 0. The loop's thread.

extension RunLoopPointer {
    /// Performs the mode's signalled sources by order; true if there was any. `onlyOne`: the first, the others stay
    /// signalled. Calls user code.
    ///
    /// Who is signalled when it begins has a turn, whatever happens to its place in the loop meanwhile; invalidation
    /// and a nested run that performs it first take it away. Who is signalled later waits for the next pass.
    ///
    /// O(1) if nothing is signalled; otherwise O(log n) for each that is, however many there are that are not.
    @inline(__always)
    func performSignalledSources(_ mode: ModePointer, onlyOne: Bool) -> Bool {
        if pointee.pendingSignals.isEmpty && !pointee.mayHaveQueued && SharedSignals.count == pointee.sharedSignalsSeen { return false }
        return performQueuedSources(mode, onlyOne: onlyOne)
    }

    @inline(never)
    private func performQueuedSources(_ mode: ModePointer, onlyOne: Bool) -> Bool {
        lockInlined()
        var single = takeSignals(mode)
        var handled = false
        let first = pointee.signalledBatch.count
        if single != nil || onlyOne || !collectBatch(mode) {
            while !handled {
                // Out of memory, they stay queued for the next pass, which has to come.
                if !pointee.signalledBatch.reserveInlined(first + 1) {
                    wakeUp()
                    break
                }
                guard let source = single ?? takeFirst(mode)?.pointee.source else { break }
                single = nil
                _ = pointee.signalledBatch.appendInlined(BatchEntry(source, retain(source)))
                handled = perform(entryAt: first)
                pointee.signalledBatch.truncate(to: first)
            }
        } else {
            // By index: a nested run puts its own turns behind these and takes them away again.
            let last = pointee.signalledBatch.count
            for index in first..<last { handled = perform(entryAt: index) || handled }
            pointee.signalledBatch.truncate(to: first)
        }
        if pointee.mayHaveQueued { pointee.mayHaveQueued = hasQueued }
        unlockInlined()
        return handled
    }

    /// Whether signalled sources are queued, be it for other modes. O(number of sets). Under the lock.
    @inline(__always)
    private var hasQueued: Bool {
        var count = 0
        for index in 0..<pointee.sets.count { count |= pointee.sets[index].pointee.signalled.count }
        return count != 0
    }

    /// Moves what was marked into the queues of its modes; the source that is to be performed at once if it is the only one, for which
    /// there is room in the list of turns then. Under the lock.
    @inline(__always)
    private func takeSignals(_ mode: ModePointer) -> SourcePointer? {
        var first: RegistrationPointer?
        var isAlone = true
        if !pointee.pendingSignals.isEmpty {
            pointee.pendingSignals.take { slot in
                guard let registration = pointee.registrations[slot: slot] else { return }
                if let other = first {
                    enqueue(other)
                    isAlone = false
                }
                first = registration
            }
        }
        if SharedSignals.count != pointee.sharedSignalsSeen { lookThroughSources() }
        guard let registration = first else { return nil }
        if isAlone, !pointee.mayHaveQueued || isQueueEmpty(mode), let set = registration.pointee.set, !registration.isQueued,
            containsInlined(set, .mode(mode)),
            pointee.signalledBatch.reserveInlined(pointee.signalledBatch.count + 1)
        {
            return registration.pointee.source
        }
        enqueueLast(registration)
        return nil
    }

    @inline(never)
    private func enqueueLast(_ registration: RegistrationPointer) {
        enqueue(registration)
        pointee.signalsTaken = Clock.now.nanoseconds
    }

    /// Whether no signalled source of the mode is queued. O(number of sets). Under the lock.
    @inline(__always)
    func isQueueEmpty(_ mode: ModePointer) -> Bool {
        var count = 0
        for index in 0..<mode.pointee.sets.count { count |= mode.pointee.sets[index].pointee.signalled.count }
        return count == 0
    }

    @inline(never)
    private func lookThroughSources() {
        pointee.sharedSignalsSeen = SharedSignals.count
        pointee.registrations.forEach { enqueue($0) }
        pointee.signalsTaken = Clock.now.nanoseconds
    }

    /// The queue has room: that was made when the source came.
    @inline(never)
    private func enqueue(_ registration: RegistrationPointer) {
        let source = registration.pointee.source
        guard !source.hasDescriptor, source.isSignalled, let set = registration.pointee.set else { return }
        if source.signalTime == 0 { source.pointee.signalTime.store(pointee.signalsTaken, ordering: .relaxed) }
        if registration.isQueued {
            // For a signal that a nested run has taken, perhaps.
            set.pointee.signalled.updateSeldom(registration.position, to: registration.key)
        } else {
            _ = set.pointee.signalled.insert(registration.key, registration.position)
        }
        pointee.mayHaveQueued = true
    }

    /// Takes the mode's first queued registration; what it was queued for may be over by now. O(log n). Under the lock.
    @inline(never)
    private func takeFirst(_ mode: ModePointer) -> RegistrationPointer? {
        var best: RegistrationPointer?
        var bestSet: ModeSetPointer?
        for index in 0..<mode.pointee.sets.count {
            let set = mode.pointee.sets[index]
            guard let first = set.pointee.signalled.first else { continue }
            let registration = RegistrationPointer(queued: first.position)
            if best == nil || SourceKey.precedes(registration.key, best.unsafelyUnwrapped.key) {
                best = registration
                bestSet = set
            }
        }
        if let best { bestSet.unsafelyUnwrapped.pointee.signalled.removeSeldom(best.position) }
        return best
    }

    /// Lists everybody in the mode's queues by order, and leaves them queued for a nested run to find. False if there are
    /// less than two, or no memory for the list: then one at a time will do. Under the lock.
    @inline(__always)
    private func collectBatch(_ mode: ModePointer) -> Bool {
        var count = 0
        for index in 0..<mode.pointee.sets.count { count &+= mode.pointee.sets[index].pointee.signalled.count }
        return count > 1 && collectBatchSlow(mode, count)
    }

    @inline(never)
    private func collectBatchSlow(_ mode: ModePointer, _ count: Int) -> Bool {
        var registrations = PlainList<RegistrationPointer>()
        guard registrations.reserve(count), pointee.signalledBatch.reserve(pointee.signalledBatch.count + count) else { return false }
        while let registration = takeFirst(mode) {
            // A nested run may have performed it and left it queued.
            if !registration.pointee.source.isSignalled { continue }
            _ = registrations.append(registration)
            _ = pointee.signalledBatch.append(BatchEntry(registration.pointee.source, retain(registration.pointee.source)))
        }
        for index in 0..<registrations.count {
            _ = registrations[index].pointee.set.unsafelyUnwrapped.pointee.signalled.insertSeldom(
                registrations[index].key, registrations[index].position)
        }
        return true
    }

    /// Performs a source that has a turn, if it is still signalled and valid. Under the lock, which it gives back meanwhile.
    @inline(never)
    private func perform(entryAt index: Int) -> Bool {
        let entry = pointee.signalledBatch[index]
        var isDue = entry.source.takeSignal() && entry.source.pointee.item.has(ItemHeader.valid)
        if isDue {
            callPerform(entry.source)
            if pointee.performedNothing { isDue = takePerformedNothing() }
        }
        // Letting go may end the thread, too.
        pointee.signalledBatch[index].retention = .released
        release(entry)
        return isDue
    }

    /// Under the lock, which it gives back meanwhile.
    @inline(__always)
    func callPerform(_ source: SourcePointer) {
        unlockInlined()
        if let perform = source.pointee.function.perform {
            RUNLOOP_IS_CALLING_OUT_TO_A_SOURCE_PERFORM_FUNCTION(source.pointee.info, perform)
        }
        lockInlined()
    }

    /// Whether the source that has just performed counts as handled after all: it does not.
    @inline(never)
    private func takePerformedNothing() -> Bool {
        pointee.performedNothing = false
        return false
    }

    /// Under the lock.
    @inline(__always)
    func retain(_ source: SourcePointer) -> BatchEntry.Retention {
        if source.pointee.item.owner == threadContext {
            source.item.retainInternal()
            return .internalReference
        }
        source.pointee.item.object.retain()
        return .reference
    }

    /// Under the lock of this loop, which it gives back if another one is concerned or the source dies.
    @inline(__always)
    func release(_ entry: BatchEntry) {
        let source = entry.source
        if entry.retention == .internalReference, source.pointee.item.owner == threadContext, source.pointee.item.internalReferences > 1 {
            source.pointee.item.internalReferences -= 1
        } else {
            releaseSlow(entry)
        }
    }

    /// A turn that was given and never had, or had and never ended, because the thread did. Any thread; without the lock.
    func release(abandoned entry: BatchEntry) {
        lockInlined()
        releaseSlow(entry)
        unlockInlined()
    }

    @inline(never)
    private func releaseSlow(_ entry: BatchEntry) {
        unlock()
        switch entry.retention {
        case .released: break
        case .reference: entry.source.release()
        case .internalReference:
            let owner = entry.source.item.lock()
            let isDead = entry.source.item.releaseInternal()
            owner.unlock()
            if isDead { entry.source.destroy() }
        }
        lock()
    }
}
