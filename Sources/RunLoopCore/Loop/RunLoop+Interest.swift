import Synchronization

// The interest of descriptor objects and sockets, which changes with every call of their users, and other changes that concern all loops of
// a source. No step of the iteration. Any thread.

extension RunLoopPointer {
    /// Updates the interest of an internal source. `events` is called with the source's lock held, so if several threads call this, the
    /// last one sets the final interest. Costs a system call, when the loop next waits, only if the interest exceeds what is registered
    /// with epoll. O(1) for a source in one loop, otherwise as `forEachLoop`. Any thread that has a loop; calls no user code.
    static func setInterest(of source: SourcePointer, _ events: () -> Events) {
        let owner = source.item.lock()
        setInterest(of: source, events(), owner)
    }

    /// Does the work of `setInterest`. The caller holds the source's lock, which this releases.
    private static func setInterest(of source: SourcePointer, _ now: Events, _ owner: ThreadContextPointer) {
        let before = source.interest
        if now != before { source.setInterest(now) }
        guard !now.isSubset(of: before), let registration = source.registrations else { return owner.unlock() }
        if registration.nextOfSource == nil && registration.loop == owner {
            let loop = RunLoopPointer(owner)
            loop.updateInterest(of: registration)
            owner.unlock()
            loop.adjustSleep()
            return
        }
        owner.unlock()
        updateAllLoops(of: source)
    }

    /// Updates the watches of all loops the source is in. Loops that it is added to meanwhile use its new interest anyway.
    private static func updateAllLoops(of source: SourcePointer) {
        forEachLoop(of: source) { loop, registration in
            loop.updateInterest(of: registration)
            loop.adjustSleep()
        }
    }

    /// Wakes the loops of a version-0 source that was just signalled. If there is only one, returns it instead, so that the caller can wake
    /// it after releasing its locks. Any thread that keeps the source alive; lock-free.
    static func wakeUpAll(of source: SourcePointer) -> RunLoopPointer? {
        if let only = source.onlyRegistration { return only.signalledLoop.map { RunLoopPointer($0) } }
        source.forEachRegistration { if let loop = $0.signalledLoop { RunLoopPointer(loop).wakeUp() } }
        return nil
    }

    /// Makes sleeping loops of other threads check the source's descriptor again. Any thread that has a loop; calls no user code.
    static func recheck(_ source: SourcePointer) {
        forEachLoop(of: source) { loop, _ in loop.adjustSleep() }
    }

    /// Stops watching the descriptor of an internal source, before the descriptor is closed. The source stays in its loops; loops that it
    /// is added to later do not watch it. At most one epoll_ctl per loop. Any thread that has a loop; calls no user code.
    static func unwatch(_ source: SourcePointer) {
        let owner = source.item.lock()
        source.setInterest([])
        owner.unlock()
        forEachLoop(of: source) { loop, registration in
            if !registration.isWatched { return }
            registration.set.unsafelyUnwrapped.pointee.descriptorSourceCount -= 1
            loop.unwatch(registration)
        }
    }

    /// Sets whether a source keeps its modes from being empty. If several threads do this at the same time, the last call determines how
    /// each loop counts the source. Any thread that has a loop; calls no user code.
    @inline(never)
    static func setUnreferenced(_ source: SourcePointer, _ isUnreferenced: Bool) {
        let owner = source.item.lock()
        source.pointee.item.setUnreferenced(isUnreferenced)
        owner.unlock()
        forEachLoop(of: source) { loop, registration in
            let isUnreferenced = registration.source.pointee.item.has(.unreferenced)
            if registration.isUnreferenced == isUnreferenced { return }
            registration.isUnreferenced = isUnreferenced
            registration.set.unsafelyUnwrapped.pointee.unreferencedCount += isUnreferenced ? 1 : -1
            loop.noteEmptied()
        }
    }

    /// Makes an internal source be in all modes in which `leader` is, in every loop: see `follow` of one loop. Returns false if out of memory.
    /// O(square of the number of loops). Any thread that has a loop; calls no user code.
    static func follow(_ leader: SourcePointer, with source: SourcePointer) -> Bool {
        var isComplete = true
        var last: ThreadContextPointer?
        while let next = loop(of: leader, after: last) {
            if !RunLoopPointer(next).follow(leader, with: source) { isComplete = false }
            last = next
        }
        return isComplete
    }

    /// The type of a function that receives a loop and the source's registration there. It has no captures, so that one copy of
    /// `forEachLoop` serves all callers.
    private typealias LoopFunction = @convention(thin) (RunLoopPointer, RegistrationPointer) -> Void

    /// Calls `body`, with the locks of source and loop held, once for each loop that has the source from the beginning of this call to its
    /// end. Loops that gain or lose the source in the meantime may be left out. O(square of the number of loops).
    private static func forEachLoop(of source: SourcePointer, _ body: LoopFunction) {
        var last: ThreadContextPointer?
        while let loop = loop(of: source, after: last) {
            let owner = source.item.lock(and: loop)
            if let registration = source.registration(in: loop) { body(RunLoopPointer(loop), registration) }
            ItemPointer.unlockBoth(owner, loop)
            last = loop
        }
    }

    /// Returns the source's loop with the next higher address; nil after the last one. Going by address misses no loop when others are
    /// added or removed. Takes the source's lock.
    private static func loop(of source: SourcePointer, after last: ThreadContextPointer?) -> ThreadContextPointer? {
        let owner = source.item.lock()
        defer { owner.unlock() }
        var next: ThreadContextPointer?
        var registration = source.registrations
        while let some = registration {
            let loop = some.loop
            if last.map({ loop > $0 }) ?? true, next.map({ loop < $0 }) ?? true { next = loop }
            registration = some.nextOfSource
        }
        return next
    }
}
