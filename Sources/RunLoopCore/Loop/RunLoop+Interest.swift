import Synchronization

// What the sources of descriptor objects and sockets wait for, which changes with every call of their users.

extension RunLoopPointer {
    /// Brings up to date what one of our own sources waits for. `events` is asked under the lock, so that the last of several
    /// threads is right. Costs a system call, when its loop waits next, only if it is more than epoll knows already. O(number of
    /// loops it is in). Any thread that has a loop; calls no user code.
    static func setInterest(of source: SourcePointer, _ events: () -> Events) {
        let owner = source.item.lockInlined()
        setInterest(of: source, events(), owner)
    }

    /// Under the source's lock, which it gives back.
    @inline(never)
    private static func setInterest(of source: SourcePointer, _ now: Events, _ owner: ThreadContextPointer) {
        let before = source.interest
        if now != before { source.setInterest(now) }
        guard !now.isSubset(of: before), let registration = source.pointee.registrations else { return owner.unlockInlined() }
        if registration.pointee.nextOfSource == nil && registration.pointee.loop == owner {
            let loop = RunLoopPointer(owner)
            loop.updateInterest(of: registration)
            owner.unlockInlined()
            if !loop.isCurrent { loop.pointee.wake.adjust() }
            return
        }
        owner.unlockInlined()
        tellAllLoops(of: source)
    }

    /// Those that come meanwhile find out by themselves.
    private static func tellAllLoops(of source: SourcePointer) {
        forEachLoop(of: source) { loop, registration in
            loop.updateInterest(of: registration)
            if !loop.isCurrent { loop.pointee.wake.adjust() }
        }
    }

    /// Loops of other threads that sleep look again at the source's descriptor. Any thread that has a loop; calls no user code.
    static func recheck(_ source: SourcePointer) {
        forEachLoop(of: source) { loop, _ in if !loop.isCurrent { loop.pointee.wake.adjust() } }
    }

    /// Before the descriptor of a source of ours is closed: nobody watches it any more, and who gets the source from now on does not begin
    /// to. The source stays where it is. At most one epoll_ctl for each loop. Any thread that has a loop; calls no user code.
    static func unwatch(_ source: SourcePointer) {
        let owner = source.item.lock()
        source.setInterest([])
        owner.unlock()
        forEachLoop(of: source) { loop, registration in
            if registration.pointee.watch < 0 { return }
            registration.pointee.set.unsafelyUnwrapped.pointee.portCount -= 1
            loop.unwatch(registration)
        }
    }

    /// Calls `body` under the locks of source and loop, once for each loop that has the source from beginning to end. O(square of
    /// the number of loops).
    private static func forEachLoop(of source: SourcePointer, _ body: (RunLoopPointer, RegistrationPointer) -> Void) {
        var last: ThreadContextPointer?
        while let next = loop(of: source, after: last) {
            let owner = source.item.lock(and: next)
            if let registration = source.registration(in: next) { body(RunLoopPointer(next), registration) }
            ItemPointer.unlockBoth(owner, next)
            last = next
        }
    }

    /// By address, so that none is missed when others come or go. nil: that was all.
    private static func loop(of source: SourcePointer, after last: ThreadContextPointer?) -> ThreadContextPointer? {
        let owner = source.item.lock()
        defer { owner.unlock() }
        var next: ThreadContextPointer?
        var registration = source.pointee.registrations
        while let some = registration {
            let loop = some.pointee.loop.unsafelyUnwrapped
            if last.map({ loop > $0 }) ?? true, next.map({ loop < $0 }) ?? true { next = loop }
            registration = some.pointee.nextOfSource
        }
        return next
    }
}
