import CLinux
import CRunLoop
import Synchronization

// Sources in a loop: adding and removing them, from any thread. No step of the iteration. Sources are performed by
// `RunLoop+SignalledSources.swift` and `RunLoop+ReadyDescriptors.swift`.

extension RunLoopPointer {
    /// RLRunLoopAddSource. Returns true, with nothing added, if the mode has an equal source. Returns false with ENOMEM, with ESRCH if the
    /// loop has closed, or, leaving errno unchanged, if the source is invalid. Calls hash, getPort and equal before the locks are acquired,
    /// and schedule after they are released. O(1) on average, one epoll_ctl for version 1. Any thread.
    func add(_ source: SourcePointer, in name: StringPointer) -> Bool {
        let hash = source.hash
        let fd = source.getPort.map { RUNLOOP_IS_CALLING_OUT_TO_A_SOURCE_GETPORT_FUNCTION(source.pointee.info, $0) }
        var comparisons = SourceComparisons()
        var joined = ScheduleCalls()
        let owner = lock(source, hash, after: &comparisons)
        if owner != threadContext && source.registrations == nil && pointee.isOpen {
            source.pointee.item.setOwner(threadContext)
        }
        let added = addLocked(source, hash, fd, in: name, comparisons, &joined)
        ItemPointer.unlockBoth(owner, threadContext)
        comparisons.release()
        if added, let schedule = source.pointee.detail?.pointee.schedule { joined.call(schedule, source.pointee.info, handle) }
        joined.release()
        if added && maySleep {
            if source.hasDescriptor { pointee.wake.adjust() } else { wakeUp() }
        }
        return added
    }

    /// Does the part of `add` for which the caller holds the locks of the source and of the loop. A mode that has an equal source does not
    /// accept this one, which is no failure.
    private func addLocked(
        _ source: SourcePointer, _ hash: UInt32, _ fd: Int32?, in name: StringPointer, _ comparisons: borrowing SourceComparisons,
        _ joined: inout ScheduleCalls
    ) -> Bool {
        guard source.pointee.item.has(.valid) else { return false }
        guard pointee.isOpen else {
            systemError = ESRCH
            return false
        }
        let choice = choose(name, make: true)
        let registration = source.registration(in: threadContext)
        let old = registration?.set
        var wanted: ModeSetPointer?
        if !comparisons.hasEqual {
            if isComplete(old, choice) { return true }
            wanted = set(adding: choice, to: old)
        } else {
            var modes = BitSet()
            guard unite(&modes, old, choice, of: source, hash, by: comparisons) else { return false }
            if modes.isEmpty || old?.pointee.modes.equals(modes) == true { return true }
            wanted = set(of: modes)
        }
        guard let new = wanted, makeRoom(in: new, for: source),
            joined.collect(self, source, from: old, to: new)
        else { return false }
        return join(source, hash, fd, new)
    }

    /// Puts a source into a set of this loop, in which there is room for it, or moves it there from another set. Returns false if out of
    /// memory. The caller holds the locks of the source and of the loop.
    private func join(_ source: SourcePointer, _ hash: UInt32, _ fd: Int32?, _ new: ModeSetPointer) -> Bool {
        if let registration = source.registration(in: threadContext) {
            move(registration, from: registration.set.unsafelyUnwrapped, to: new)
            return true
        }
        guard let registration = pointee.registrations.add(source, hash, new, pendingSignals) else { return false }
        if let fd, !watch(fd, for: registration) {
            pointee.registrations.remove(registration)
            registration.destroy()
            return false
        }
        source.item.retainInternal()
        registration.isUnreferenced = source.pointee.item.has(.unreferenced)
        count(registration, in: new, 1)
        link(registration, to: source)
        return true
    }

    /// Adds an internal source to this loop's modes, or removes it from them, so that it is where `leader` is. After `leader` was added or
    /// removed, the last of several threads to call this is right, so only one may do so at a time. Returns false if out of memory. Any
    /// thread that has a loop; calls no user code.
    func follow(_ leader: SourcePointer, with source: SourcePointer) -> Bool {
        let leaderOwner = leader.item.lock(and: threadContext)
        let wanted = leader.registration(in: threadContext)?.set
        ItemPointer.unlockBoth(leaderOwner, threadContext)
        let fd = source.getPort.map { RUNLOOP_IS_CALLING_OUT_TO_A_SOURCE_GETPORT_FUNCTION(source.pointee.info, $0) }
        let owner = source.item.lock(and: threadContext)
        if owner != threadContext && source.registrations == nil && pointee.isOpen { source.pointee.item.setOwner(threadContext) }
        let registration = source.registration(in: threadContext)
        var isComplete = true
        var isDead = false
        if let wanted, pointee.isOpen && source.pointee.item.has(.valid) {
            isComplete = registration?.set == wanted || join(source, source.hash, fd, wanted)
        } else if let registration {
            isDead = leave(registration)
        }
        ItemPointer.unlockBoth(owner, threadContext)
        if isDead { source.destroy() }
        if maySleep { pointee.wake.adjust() }
        return isComplete
    }

    /// Prepares a source that this thread has created and is likely to add to its own loop, so that signals sent before it is added are
    /// ordered among those of the loop.
    func expect(_ source: SourcePointer) {
        if !source.hasDescriptor { source.inlineRegistration.expectSignals(in: pendingSignals) }
    }

    private var pendingSignals: UnsafePointer<PendingSignals> { withUnsafePointer(to: pointee.pendingSignals) { $0 } }

    /// Makes room in the set's queue for all sources of the loop, so that signalling needs no memory. The caller holds the lock.
    func makeRoom(in set: ModeSetPointer, for source: SourcePointer) -> Bool {
        source.hasDescriptor || set.pointee.signalled.reserve(pointee.registrations.count + 1)
    }

    private func count(_ registration: RegistrationPointer, in set: ModeSetPointer, _ change: Int) {
        set.pointee.sourceCount += change
        if registration.isUnreferenced { set.pointee.unreferencedCount += change }
        if registration.isWatched {
            set.pointee.descriptorSourceCount += change
            noteUse(of: EverUsed.descriptors)
        }
    }

    /// Moves a registration of this loop to another set, in which there is room for it. The caller holds the lock.
    func move(_ registration: RegistrationPointer, from old: ModeSetPointer, to new: ModeSetPointer) {
        count(registration, in: old, -1)
        count(registration, in: new, 1)
        registration.set = new
        if registration.source.hasDescriptor {
            if registration.isWatched { pointee.mustRevisitWatches = true }
        } else if registration.isQueued {
            old.pointee.signalled.remove(registration.position)
            _ = new.pointee.signalled.insert(registration.key, registration.position)
        }
    }

    /// Makes the registration visible to threads that signal the source. The caller holds the locks of the source and of the loop.
    private func link(_ registration: RegistrationPointer, to source: SourcePointer) {
        registration.nextOfSource = source.registrations
        source.registrations = registration
        source.publishOnlyRegistration()
    }

    // MARK: removing

    /// RLRunLoopRemoveSource: removes this source, or one that equals it. Calls cancel, and also equal and hash. O(1) on average, one
    /// epoll_ctl if it is the last source on its descriptor. Any thread.
    func remove(_ source: SourcePointer, from name: StringPointer) {
        var isThere = removeItself(source, from: name)
        if isThere && !name.isCommonModes { return }
        var comparisons = compare(source, source.hash)
        let held = HeldWhileCalling()
        held.register(comparisons)
        comparisons.forEachEqual(to: source) { if removeItself($0, from: name) { isThere = true } }
        // One of the common modes may contain an equal source that was added to that mode alone, not to the common modes.
        if isThere && name.isCommonModes && comparisons.hasEqual {
            var number = 0
            while let mode = locked({ commonMode(after: &number) }) {
                _ = removeItself(source, from: mode)
                comparisons.forEachEqual(to: source) { _ = removeItself($0, from: mode) }
                mode.release()
            }
        }
        held.end()
        comparisons.release()
    }

    /// Returns the name of the next common mode, retained; nil after the last one. The caller holds the lock.
    private func commonMode(after number: inout Int) -> StringPointer? {
        number += 1
        while number < pointee.modes.count {
            if pointee.commonModes.contains(number), let mode = pointee.modes[number] {
                mode.pointee.name.retain()
                return mode.pointee.name
            }
            number += 1
        }
        return nil
    }

    /// Removes exactly this source from a mode. Returns whether it was there; if memory runs out, it still is. Any thread; calls cancel. As in
    /// CFRunLoop, does not end the sleep of a loop whose mode has become empty: see `noteEmptied`.
    private func removeItself(_ source: SourcePointer, from name: StringPointer) -> Bool {
        var left = ScheduleCalls()
        let owner = source.item.lock(and: threadContext)
        var hasLeft = false
        var isDead = false
        let choice = choose(name, make: false)
        let registration = source.registration(in: threadContext)
        let isThere = contains(registration?.set, choice)
        if isThere, let registration, let old = registration.set {
            switch set(removing: choice, from: old) {
            case .nothing:
                hasLeft = left.collect(self, source, from: old, to: nil)
                if hasLeft { isDead = leave(registration) }
            case .set(let new):
                hasLeft = makeRoom(in: new, for: source) && left.collect(self, source, from: old, to: new)
                if hasLeft { move(registration, from: old, to: new) }
            case .outOfMemory: break
            }
        }
        ItemPointer.unlockBoth(owner, threadContext)
        if hasLeft { callCancels(source, &left) } else { left.release() }
        if isDead { source.destroy() }
        return isThere
    }

    /// Removes the registration from this loop. Also releases the loop's reference to the source; but if the source is being called, the
    /// call takes over that reference. Returns true if the caller has to destroy the source after unlocking. The caller holds the locks of
    /// the source and of the loop.
    private func leave(_ registration: RegistrationPointer) -> Bool {
        let source = registration.source
        let set = registration.set.unsafelyUnwrapped
        if !source.hasDescriptor && source.isSignalled && source.signalTime == 0 { settleSignalTime(source) }
        count(registration, in: set, -1)
        if source.hasDescriptor {
            if registration.isWatched { unwatch(registration) }
        } else if registration.isQueued {
            set.pointee.signalled.remove(registration.position)
        }
        unlink(registration, from: source)
        pointee.registrations.remove(registration)
        registration.destroy()
        return transfersReference(of: source) ? false : source.item.releaseInternal()
    }

    /// Gives a signalled source a real signal time before it leaves the loop. A time of 0 stands for the value of the loop's `signalsTaken`
    /// at the moment when the loop queues the source (docs/DESIGN.md, section 5). A loop to which the source is added later has another
    /// value by then, so the present one is stored here. The caller holds the locks of the source and of the loop.
    private func settleSignalTime(_ source: SourcePointer) {
        source.signalTime = pointee.signalsTaken
        pointee.signalsTaken &+= 1
    }

    /// Removes the registration from its source's list, and updates what threads that signal the source read. The caller holds the lock of
    /// the source.
    private func unlink(_ registration: RegistrationPointer, from source: SourcePointer) {
        if source.registrations == registration {
            source.registrations = registration.nextOfSource
        } else {
            var previous = source.registrations.unsafelyUnwrapped
            while previous.nextOfSource != registration { previous = previous.nextOfSource.unsafelyUnwrapped }
            previous.nextOfSource = registration.nextOfSource
        }
        source.publishOnlyRegistration()
    }

    /// Calls the source's cancel for each mode in `left`, and releases what `left` holds. Call without a lock held. Calls user code.
    private func callCancels(_ source: SourcePointer, _ left: inout ScheduleCalls) {
        if let cancel = source.pointee.detail?.pointee.cancel { left.call(cancel, source.pointee.info, handle) }
        left.release()
    }

    /// Whether the loop has a source, in whatever mode. Any thread; calls no user code.
    func has(_ source: SourcePointer) -> Bool {
        let owner = source.item.lock(and: threadContext)
        defer { ItemPointer.unlockBoth(owner, threadContext) }
        return source.registration(in: threadContext) != nil
    }

    /// RLRunLoopContainsSource. Any thread; calls equal and hash.
    func contains(_ source: SourcePointer, in name: StringPointer) -> Bool {
        let owner = source.item.lock(and: threadContext)
        let isThere = contains(source.registration(in: threadContext)?.set, choose(name, make: false))
        ItemPointer.unlockBoth(owner, threadContext)
        if isThere { return true }
        let hash = source.hash
        var comparisons = compare(source, hash)
        let isEqualThere = locked { hasEqual(to: source, hash, in: choose(name, make: false), by: comparisons) }
        comparisons.release()
        return isEqualThere
    }

    /// RLRunLoopSourceInvalidate: removes the source from every loop, calling cancel for each mode. Any thread.
    @inline(never)
    static func invalidate(_ source: SourcePointer) {
        let owner = source.item.lock()
        let wasValid = source.pointee.item.has(.valid)
        source.pointee.item.clear(.valid)
        owner.unlock()
        // In the child of fork(), calls of schedule and cancel by threads that do not exist there never return. Release what they hold.
        while let cleanup = Registry.takeAbandonedCleanup(of: source) { cleanup.run() }
        if !wasValid {
            // Another thread may be invalidating the source at this moment. When this call returns, the caller's own loop must not contain
            // the source any longer, or it would perform the source once more.
            if let owner = ThreadContextPointer.current { RunLoopPointer(owner).removeFromAllModes(source) }
            return
        }
        source.pointee.item.object.retain()
        let held = HeldWhileCalling()
        held.register(source)
        removeFromLoops(source)
        held.end()
        source.release()
    }

    /// Removes an invalid source from every loop. Any thread; calls cancel.
    private static func removeFromLoops(_ source: SourcePointer) { while let loop = source.anyLoop { loop.removeFromAllModes(source) } }

    /// Releases the reference that an exited thread held while it called one of the source's functions, and completes an invalidation that
    /// the thread's exit interrupted. Any thread; calls cancel.
    static func abandon(_ source: SourcePointer) {
        if !source.pointee.item.has(.valid) { removeFromLoops(source) }
        source.release()
    }

    /// Removes the source from all modes of this loop; no effect if it is in none. The caller has a reference. Any thread; call without a
    /// lock held. Calls cancel for each mode, and may call the context's release.
    func removeFromAllModes(_ source: SourcePointer) {
        var left = ScheduleCalls()
        let owner = source.item.lock(and: threadContext)
        var isDead = false
        var hasEmptied = false
        if let registration = source.registration(in: threadContext) {
            let set = registration.set
            // If memory runs out, the source leaves nevertheless, and some calls of cancel are missing.
            _ = left.collect(self, source, from: set, to: nil)
            isDead = leave(registration)
            hasEmptied = set?.pointee.isEmpty ?? false
        }
        ItemPointer.unlockBoth(owner, threadContext)
        callCancels(source, &left)
        if isDead { source.destroy() }
        if hasEmptied && !isCurrent { noteEmptied() }
    }
}

extension SourcePointer {
    /// Any one of the loops that have the source; nil if none has. Any thread.
    fileprivate var anyLoop: RunLoopPointer? {
        let owner = item.lock()
        defer { owner.unlock() }
        return registrations.map { RunLoopPointer($0.loop) }
    }
}
