import Synchronization

// What the sources of descriptor objects and sockets wait for, which changes with every call of their users.

extension UnsafeMutablePointer where Pointee == RunLoopStorage {
    /// Brings up to date what one of our own sources waits for. `events` is asked under the lock, so that the last of several
    /// threads is right. Costs a system call, when its loop waits next, only if it is more than epoll knows already. O(number of
    /// loops it is in). Any thread that has a loop; calls no user code.
    static func setInterest(of source: SourcePointer, _ events: () -> Events) {
        let itemHome = source.item.lock()
        let before = source.interest
        let now = events()
        if now != before { source.setInterest(now) }
        guard !now.isSubset(of: before), let seat = source.pointee.seats else { return itemHome.unlock() }
        if seat.pointee.nextOfSource == nil && seat.pointee.loop == itemHome {
            let loop = RunLoopPointer(itemHome)
            loop.want(seat)
            itemHome.unlock()
            if !loop.isCurrent { loop.pointee.wake.adjust() }
            return
        }
        itemHome.unlock()
        tellAllLoops(of: source)
    }

    /// Those that come or go meanwhile find out by themselves.
    private static func tellAllLoops(of source: SourcePointer) {
        var number = 0
        while let loop = loop(number, of: source) {
            let itemHome = source.item.lock(and: loop.home)
            if let seat = source.seat(in: loop.home) { loop.want(seat) }
            ItemPointer.unlockBoth(itemHome, loop.home)
            if !loop.isCurrent { loop.pointee.wake.adjust() }
            number += 1
        }
    }

    private static func loop(_ number: Int, of source: SourcePointer) -> RunLoopPointer? {
        let itemHome = source.item.lock()
        defer { itemHome.unlock() }
        var seat = source.pointee.seats
        for _ in 0..<number { seat = seat?.pointee.nextOfSource }
        return seat.map { RunLoopPointer($0.pointee.loop.unsafelyUnwrapped) }
    }

    /// Before the descriptor of a source of ours is closed: nobody watches it any more. The source stays where it is. At most one epoll_ctl
    /// for each loop. Any thread that has a loop; calls no user code.
    static func unwatch(_ source: SourcePointer) {
        var number = 0
        while let loop = loop(number, of: source) {
            let itemHome = source.item.lock(and: loop.home)
            if let seat = source.seat(in: loop.home), seat.pointee.watch >= 0 {
                seat.pointee.set.unsafelyUnwrapped.pointee.portCount -= 1
                loop.unwatch(seat)
            }
            ItemPointer.unlockBoth(itemHome, loop.home)
            number += 1
        }
    }
}
