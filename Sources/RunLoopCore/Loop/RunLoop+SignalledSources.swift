import CRunLoop
import Synchronization

/// A signalled source that this pass will perform, kept alive until then.
struct BatchEntry: BitwiseCopyable {
    /// How the source is kept alive: usually by an internal reference, which is cheap. It is counted in 16 bits, under the lock of the
    /// source's owner. So if another loop owns the source or the count is high, an ordinary reference is used. `released`: the entry is
    /// finished and holds nothing.
    enum Retention { case internalReference, reference, released }

    let source: SourcePointer
    var retention: Retention

    init(_ source: SourcePointer, _ retention: Retention) {
        self.source = source
        self.retention = retention
    }

    /// Releases what keeps the source alive. Any thread; call without the lock held. May call the context's release.
    @inline(never)
    func release() {
        switch retention {
        case .released: break
        case .reference: source.release()
        case .internalReference:
            let owner = source.item.lock()
            let isDead = source.item.releaseInternal()
            owner.unlock()
            if isDead { source.destroy() }
        }
    }

    /// Releases what keeps the source alive in the child of fork(), where the thread that was to perform it does not exist. The caller
    /// holds all locks. Destroys no source.
    func resetAfterFork() {
        switch retention {
        case .released: break
        case .reference: _ = source.pointee.item.object.release()
        case .internalReference: _ = source.item.releaseInternal()
        }
    }
}

// Step 4: performing signalled sources (version 0). Loop thread only.

extension RunLoopPointer {
    /// Performs the mode's signalled sources by order. Returns true if one was performed and did something. `onlyOne`: performs only the
    /// first; the others stay signalled. Call without the lock held. Calls user code.
    ///
    /// Each source that is signalled when this begins is performed, even if it leaves the loop in the meantime, unless it is invalidated or
    /// a nested run performs it first. Sources signalled later wait for the next pass.
    ///
    /// O(1) if nothing is signalled; otherwise O(log n) per signalled source, however many sources there are. A signal to a source that is
    /// in several loops, or in none, makes every loop search all its sources once.
    func performSignalledSources(_ mode: ModePointer, onlyOne: Bool) -> Bool {
        if !maySignalsWait { return false }
        var handled = false
        lock()
        if let source = takeSignals(mode) {
            let entry = BatchEntry(source, retain(source))
            let index = pointee.signalledBatch.count
            _ = pointee.signalledBatch.appendInlined(entry)
            handled = perform(entry, at: index)
            pointee.signalledBatch.truncate(to: index)
        }
        if pointee.mayHaveQueued {
            if !handled { handled = performQueue(mode, onlyOne: onlyOne) }
            pointee.mayHaveQueued = queuedCount(pointee.sets) != 0
        }
        unlock()
        return handled
    }

    /// Whether a source may be signalled, in any mode. Without the lock, which would cost more than all the rest if nothing is signalled. For
    /// a source that is signalled after this was read, the program has to wake the loop, which then makes another pass.
    private var maySignalsWait: Bool {
        pointee.mayHaveQueued || !pointee.pendingSignals.isEmpty || SharedSignals.count != pointee.sharedSignalsSeen
    }

    /// Performs the queued sources. The caller holds the lock, which is temporarily released.
    private func performQueue(_ mode: ModePointer, onlyOne: Bool) -> Bool {
        let first = pointee.signalledBatch.count
        var handled = false
        if !onlyOne && collectBatch(mode) {
            // Entries are accessed by index, since a nested run appends its own batch and truncates it again.
            let last = pointee.signalledBatch.count
            for index in first..<last { handled = perform(entryAt: index) || handled }
            pointee.signalledBatch.truncate(to: first)
            return handled
        }
        while !handled {
            // If memory runs out, the sources stay queued, and the wake-up starts the next pass.
            if !pointee.signalledBatch.reserve(first + 1) {
                wakeUp()
                break
            }
            guard let source = takeFirst(mode)?.source else { break }
            _ = pointee.signalledBatch.append(BatchEntry(source, retain(source)))
            handled = perform(entryAt: first)
            pointee.signalledBatch.truncate(to: first)
        }
        return handled
    }

    /// Returns how many signalled sources the sets have in their queues. O(number of sets). The caller holds the lock.
    @inline(__always)
    private func queuedCount(_ sets: borrowing PlainList<ModeSetPointer>) -> Int {
        var count = 0
        for index in 0..<sets.count { count &+= sets[index].pointee.signalled.count }
        return count
    }

    /// Moves pending signals into the queues of their sets. If exactly one signal was pending, its source is in this mode, and nothing is
    /// queued for the mode, returns that source to be performed immediately; room for it in the batch is then reserved. The caller holds
    /// the lock.
    @inline(__always)
    private func takeSignals(_ mode: ModePointer) -> SourcePointer? {
        var first: RegistrationPointer?
        var isAlone = true
        // What is queued here raises `signalsTaken`, but must not come before a source with a time of 0 that is queued here, too.
        let taken = pointee.signalsTaken
        // Sources that are in no loop may have been signalled until now. The clock is read before their bit is taken, because a source that
        // is signalled afterwards may store no time.
        let soFar = SharedSignals.count != pointee.sharedSignalsSeen ? Clock.now.nanoseconds : 0
        if !pointee.pendingSignals.isEmpty {
            pointee.pendingSignals.take { slot in
                guard let registration = pointee.registrations[slot: slot] else { return }
                if let other = first {
                    enqueue(other, taken)
                    isAlone = false
                }
                first = registration
            }
        }
        if SharedSignals.count != pointee.sharedSignalsSeen { scanSources(taken) }
        pointee.signalsTaken = max(pointee.signalsTaken, soFar)
        guard let registration = first else { return nil }
        // If the queue is empty, the source is not queued already.
        if isAlone, !pointee.mayHaveQueued || isQueueEmpty(mode), let set = registration.set, contains(set, .mode(mode)),
            pointee.signalledBatch.reserveInlined(pointee.signalledBatch.count + 1)
        {
            return registration.source
        }
        enqueue(registration, taken)
        return nil
    }

    /// Whether the queues of the mode's sets are empty. An entry whose signal a nested run has taken still counts. O(number of sets). The
    /// caller holds the lock.
    @inline(__always)
    func isQueueEmpty(_ mode: ModePointer) -> Bool { queuedCount(mode.pointee.sets) == 0 }

    /// Queues the signalled sources that have no bit in the bitmap. A bit that is set now was set after `takeSignals` took the bits, and
    /// waits for the next pass: a source with a time of 0 would come before those that were signalled earlier.
    private func scanSources(_ taken: UInt64) {
        pointee.sharedSignalsSeen = SharedSignals.count
        pointee.registrations.forEach { registration in
            if registration.slot == Registration.noSlot || registration.source.onlyRegistration != registration {
                enqueue(registration, taken)
            }
        }
    }

    /// Queues a source if it is signalled. A time of 0 becomes `taken`, the value of `signalsTaken` before this pass queued anything. There
    /// is room, reserved when the source was added.
    @inline(never)
    private func enqueue(_ registration: RegistrationPointer, _ taken: UInt64) {
        let source = registration.source
        guard !source.hasDescriptor, source.isSignalled, let set = registration.set else { return }
        if source.signalTime == 0 { source.signalTime = taken }
        pointee.signalsTaken = max(pointee.signalsTaken, source.signalTime &+ 1)
        if registration.isQueued {
            // A nested run may have taken the earlier signal; this one has a different time.
            set.pointee.signalled.update(registration.position, to: registration.key)
        } else {
            _ = set.pointee.signalled.insert(registration.key, registration.position)
        }
        pointee.mayHaveQueued = true
    }

    /// Takes the mode's first queued registration out of its queue; nil if there is none. Its signal may have been taken in the meantime.
    /// O(log n). The caller holds the lock.
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
        if let best { bestSet.unsafelyUnwrapped.pointee.signalled.remove(best.position) }
        return best
    }

    /// Collects all sources in the mode's queues by order, and leaves them queued, so that a nested run finds them. Returns false if there
    /// are fewer than two, or if memory runs out: then they are performed one at a time. The caller holds the lock.
    @inline(__always)
    private func collectBatch(_ mode: ModePointer) -> Bool {
        let count = queuedCount(mode.pointee.sets)
        return count > 1 && collectBatchSlow(mode, count)
    }

    private func collectBatchSlow(_ mode: ModePointer, _ count: Int) -> Bool {
        var registrations = PlainList<RegistrationPointer>()
        guard registrations.reserve(count), pointee.signalledBatch.reserve(pointee.signalledBatch.count + count) else { return false }
        while let registration = takeFirst(mode) {
            // A nested run may have performed the source and left it in the queue.
            let source = registration.source
            if !source.isSignalled { continue }
            _ = registrations.append(registration)
            _ = pointee.signalledBatch.append(BatchEntry(source, retain(source)))
        }
        for index in 0..<registrations.count {
            _ = registrations[index].set.unsafelyUnwrapped.pointee.signalled.insert(
                registrations[index].key, registrations[index].position)
        }
        return true
    }

    private func perform(entryAt index: Int) -> Bool { perform(pointee.signalledBatch[index], at: index) }

    /// Performs a source of the batch if it is still signalled and valid. Returns whether it was performed and did something. The caller
    /// holds the lock, which is temporarily released.
    @inline(__always)
    private func perform(_ entry: BatchEntry, at index: Int) -> Bool {
        var isDue = entry.source.takeSignal() && entry.source.pointee.item.has(.valid)
        if isDue {
            callPerform(entry.source)
            if pointee.performedNothing { isDue = takePerformedNothing() }
        }
        // Releasing the source may call user code, which may end the thread. Thread exit must not release the entry again, so the entry in
        // the list is marked first; `entry` is a copy.
        pointee.signalledBatch[index].retention = .released
        release(entry)
        return isDue
    }

    /// Calls the perform function of a source, if it has one. The caller holds the lock, which is released during the call.
    @inline(__always)
    func callPerform(_ source: SourcePointer) {
        unlock()
        if let perform = source.pointee.function.perform {
            RUNLOOP_IS_CALLING_OUT_TO_A_SOURCE_PERFORM_FUNCTION(source.pointee.info, perform)
        }
        lock()
    }

    /// Clears the flag `performedNothing` and returns false: such a source does not count as handled.
    private func takePerformedNothing() -> Bool {
        pointee.performedNothing = false
        return false
    }

    /// Retains a source for a batch entry, and returns how. The caller holds the lock.
    @inline(__always)
    func retain(_ source: SourcePointer) -> BatchEntry.Retention {
        // If each of thousands of nested runs performs the source, it needs more references than the internal count can hold.
        if source.pointee.item.owner == threadContext && source.pointee.item.internalReferences < .max / 2 {
            source.item.retainInternal()
            return .internalReference
        }
        source.pointee.item.object.retain()
        return .reference
    }

    /// Releases what keeps a batch entry's source alive. The caller holds the lock, which is temporarily released unless this is an
    /// internal reference, not the last one, to a source that this loop owns. May call the context's release.
    @inline(__always)
    func release(_ entry: BatchEntry) {
        let source = entry.source
        if entry.retention == .internalReference, source.pointee.item.owner == threadContext, source.pointee.item.internalReferences > 1 {
            source.pointee.item.internalReferences -= 1
        } else {
            releaseSlow(entry)
        }
    }

    @inline(never)
    private func releaseSlow(_ entry: BatchEntry) {
        unlock()
        entry.release()
        lock()
    }
}
