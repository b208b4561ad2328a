import CLinux
import CRunLoop
import Synchronization

// Sources in a loop: adding and removing. What happens when they are signalled or ready is in `RunLoop+Deliver.swift`.

extension UnsafeMutablePointer where Pointee == RunLoopStorage {
    /// RLRunLoopAddSource. O(1) on average, one epoll_ctl for version 1. Any thread; calls schedule, and equal,
    /// hash and getPort. False with errno if the source is not in the mode afterwards.
    func add(_ source: SourcePointer, in name: StringPointer) -> Bool {
        let hash = source.hash
        let fd = source.pointee.getPort.map { RUNLOOP_IS_CALLING_OUT_TO_A_SOURCE_GETPORT_FUNCTION($0, source.pointee.info) }
        if let equal = equal(of: source, hash, in: name) {
            equal.giveBack()
            return true
        }
        var joined = ModeNames()
        let itemHome = source.item.lock(and: home)
        if itemHome != home && source.pointee.seats == nil && pointee.isOpen {
            source.pointee.item.moveHome(to: home)
        }
        let added = addLocked(source, hash, fd, in: name, &joined)
        ItemPointer.unlockBoth(itemHome, home)
        if added, let schedule = source.pointee.detail?.pointee.schedule { joined.call(schedule, source.pointee.info, handle) }
        joined.release()
        if added && !isCurrent {
            if source.hasDescriptor { pointee.wake.adjust() } else { wakeUp() }
        }
        return added
    }

    /// Under both locks.
    private func addLocked(
        _ source: SourcePointer, _ hash: UInt, _ fd: Int32?, in name: StringPointer, _ joined: inout ModeNames
    ) -> Bool {
        guard source.pointee.item.has(ItemHeader.valid) else { return false }
        guard pointee.isOpen else {
            systemError = ESRCH
            return false
        }
        let choice = choose(name, make: true)
        let seat = source.seat(in: home)
        let old = seat?.pointee.set
        if isComplete(old, choice) { return true }
        guard let new = set(adding: choice, to: old), makeRoom(in: new, for: source),
            joined.collect(self, source, from: old, to: new)
        else { return false }
        if let seat {
            move(seat, from: old.unsafelyUnwrapped, to: new)
            return true
        }
        guard let seat = pointee.seats.seat(source, hash, new, home, board) else { return false }
        if let fd, !watch(fd, for: seat) {
            pointee.seats.unlink(seat)
            seat.leave()
            return false
        }
        source.item.hold()
        count(seat, in: new, 1)
        link(seat, to: source)
        return true
    }

    private var board: UnsafePointer<SignalBoard> { withUnsafePointer(to: pointee.board) { $0 } }

    /// In the queue of signalled sources, so that signalling needs no memory.
    private func makeRoom(in set: ModeSetPointer, for source: SourcePointer) -> Bool {
        source.hasDescriptor || set.pointee.signalled.reserve(set.pointee.signalled.count + set.pointee.sourceCount + 1)
    }

    private func count(_ seat: SeatPointer, in set: ModeSetPointer, _ change: Int) {
        if !seat.pointee.source.pointee.item.has(ItemHeader.background) { set.pointee.sourceCount += change }
        if seat.pointee.watch >= 0 {
            set.pointee.portCount += change
            note(had: Had.descriptors)
        }
    }

    /// Whether one of our own sources keeps its modes in this loop, the only one it may be in, from being empty. Any thread.
    func setBackground(_ source: SourcePointer, _ isBackground: Bool) {
        let itemHome = source.item.lock(and: home)
        if source.pointee.item.has(ItemHeader.background) != isBackground {
            if let seat = source.seat(in: home), let set = seat.pointee.set { set.pointee.sourceCount += isBackground ? -1 : 1 }
            if isBackground { source.pointee.item.set(ItemHeader.background) } else { source.pointee.item.clear(ItemHeader.background) }
        }
        ItemPointer.unlockBoth(itemHome, home)
    }

    private func move(_ seat: SeatPointer, from old: ModeSetPointer, to new: ModeSetPointer) {
        count(seat, in: old, -1)
        count(seat, in: new, 1)
        if seat.isQueued {
            old.pointee.signalled.removeSeldom(seat.position)
            _ = new.pointee.signalled.insertSeldom(seat.key, seat.position)
        }
        seat.pointee.set = new
        if seat.pointee.watch >= 0 { pointee.mustRevisitWatches = true }
    }

    /// Makes the seat known to signallers.
    private func link(_ seat: SeatPointer, to source: SourcePointer) {
        seat.pointee.nextOfSource = source.pointee.seats
        source.pointee.seats = seat
        source.publishSeat()
    }

    // MARK: removing

    /// RLRunLoopRemoveSource. O(1) on average, one epoll_ctl for the last on a descriptor. Any thread; calls cancel.
    func remove(_ source: SourcePointer, from name: StringPointer) {
        var left = ModeNames()
        let itemHome = source.item.lock(and: home)
        var isDead = false
        let choice = choose(name, make: false)
        let seat = source.seat(in: home)
        let isThere = contains(seat?.pointee.set, choice)
        if isThere, let seat, let old = seat.pointee.set {
            switch set(removing: choice, from: old) {
            case .nothing: if left.collect(self, source, from: old, to: nil) { isDead = leave(seat) }
            case .set(let new):
                if makeRoom(in: new, for: source), left.collect(self, source, from: old, to: new) {
                    move(seat, from: old, to: new)
                }
            case .outOfMemory: break
            }
        }
        ItemPointer.unlockBoth(itemHome, home)
        sayCancel(source, &left)
        if isDead { source.destroy() }
        if !isThere, let equal = equal(of: source, source.hash, in: name) {
            remove(equal, from: name)
            equal.giveBack()
        }
    }

    /// The source leaves this loop. Under both locks; true if it is to be destroyed after unlocking.
    private func leave(_ seat: SeatPointer) -> Bool {
        let source = seat.pointee.source
        let set = seat.pointee.set.unsafelyUnwrapped
        count(seat, in: set, -1)
        if seat.pointee.watch >= 0 { unwatch(seat) }
        unlink(seat, from: source)
        pointee.seats.unlink(seat)
        if seat.isQueued { set.pointee.signalled.removeSeldom(seat.position) }
        seat.leave()
        return callTakesHold(of: source) ? false : source.item.unhold()
    }

    private func unlink(_ seat: SeatPointer, from source: SourcePointer) {
        if source.pointee.seats == seat {
            source.pointee.seats = seat.pointee.nextOfSource
        } else {
            var previous = source.pointee.seats.unsafelyUnwrapped
            while previous.pointee.nextOfSource != seat { previous = previous.pointee.nextOfSource.unsafelyUnwrapped }
            previous.pointee.nextOfSource = seat.pointee.nextOfSource
        }
        source.publishSeat()
    }

    private func sayCancel(_ source: SourcePointer, _ modes: inout ModeNames) {
        if let cancel = source.pointee.detail?.pointee.cancel { modes.call(cancel, source.pointee.info, handle) }
        modes.release()
    }

    /// RLRunLoopContainsSource. Any thread; calls equal and hash.
    @inline(never)
    func contains(_ source: SourcePointer, in name: StringPointer) -> Bool {
        let itemHome = source.item.lock(and: home)
        let isThere = contains(source.seat(in: home)?.pointee.set, choose(name, make: false))
        ItemPointer.unlockBoth(itemHome, home)
        if isThere { return true }
        guard let equal = equal(of: source, source.hash, in: name) else { return false }
        equal.giveBack()
        return true
    }

    /// Another source in the mode that counts as the same as this one (see `SourcePointer.equals`), with a
    /// reference for the caller: this one is not added beside it, as in CFRunLoop. O(1) on average. Calls
    /// the contexts' equal, without the lock.
    private func equal(of source: SourcePointer, _ hash: UInt, in name: StringPointer) -> SourcePointer? {
        var candidates = PlainList<SourcePointer>()
        locked {
            let choice = choose(name, make: false)
            var next = pointee.seats.chain(hash)
            while let seat = next {
                next = seat.pointee.nextOfHash
                let other = seat.pointee.source
                guard seat.pointee.hash == hash, other != source, contains(seat.pointee.set, choice),
                    other.mayEqual(source), candidates.append(other)
                else { continue }
                other.pointee.item.object.retain()
            }
        }
        var found: SourcePointer?
        for index in 0..<candidates.count {
            if found == nil && candidates[index].equals(source) { found = candidates[index] } else { candidates[index].giveBack() }
        }
        return found
    }

    /// RLRunLoopSourceInvalidate: out of every loop, with cancel for every mode. Any thread; calls cancel.
    static func invalidate(_ source: SourcePointer) {
        let home = source.item.lock()
        let wasValid = source.pointee.item.has(ItemHeader.valid)
        source.pointee.item.clear(ItemHeader.valid)
        home.unlock()
        if !wasValid {
            // Another thread may be taking it out of its loops at this moment. Of these the caller's own must have lost it on return:
            // it would perform the source once more.
            if let home = HomePointer.current { RunLoopPointer(home).drop(source) }
            return
        }
        source.pointee.item.object.retain()
        while let loop = source.anyLoop { loop.drop(source) }
        source.giveBack()
    }

    /// Takes the source out of this loop whatever its modes, with cancel. Any thread.
    func drop(_ source: SourcePointer) {
        var left = ModeNames()
        let itemHome = source.item.lock(and: home)
        var isDead = false
        var hasEmptied = false
        if let seat = source.seat(in: home) {
            let set = seat.pointee.set
            _ = left.collect(self, source, from: set, to: nil)
            isDead = leave(seat)
            hasEmptied = set?.pointee.isEmpty ?? false
        }
        ItemPointer.unlockBoth(itemHome, home)
        sayCancel(source, &left)
        if isDead { source.destroy() }
        if hasEmptied && !isCurrent { noteEmptied() }
    }
}

extension UnsafeMutablePointer where Pointee == SourceStorage {
    /// A loop that has the source, nil if none has. Any thread.
    fileprivate var anyLoop: RunLoopPointer? {
        let home = item.lock()
        defer { home.unlock() }
        return pointee.seats.map { RunLoopPointer($0.pointee.loop.unsafelyUnwrapped) }
    }
}
