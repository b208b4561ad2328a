import CLinux

// The epoll of a poller and the eventfd for being woken out of it: made, closed, and made anew.

extension Poller {
    /// The epoll and the eventfd, if they are not there yet. False with errno.
    mutating func open() -> Bool {
        if epoll >= 0 { return true }
        do {
            epoll = try Epoll.create()
            wakeDescriptor = try EventDescriptor.create()
            try Epoll.add(epoll, wakeDescriptor, .readable, isEdgeTriggered: true, tag: Self.wakeTag)
            return true
        } catch {
            closeDescriptors()
            return false
        }
    }

    /// The loop's thread ends. `wakes` were made or are on their way: the last has arrived before the descriptor is closed
    /// and its number can be somebody else's.
    mutating func close(afterWakes wakes: UInt64) {
        if wakeDescriptor >= 0 { EventDescriptor.drain(wakeDescriptor, wakes: wakes) }
        closeDescriptors()
        watches.discard()
        freeIndexes.discard()
        indexOfDescriptor.discard()
        changes.discard()
        unconnected.discard()
        unreportedConnectCount = 0
        underRegisteredCount = 0
        alwaysReadyCount = 0
    }

    private mutating func closeDescriptors() {
        if epoll >= 0 { Descriptor.close(epoll) }
        if wakeDescriptor >= 0 { Descriptor.close(wakeDescriptor) }
        epoll = -1
        wakeDescriptor = -1
    }

    /// A descriptor that was closed while a duplicate of it stays open cannot be taken out of an epoll, which goes on
    /// reporting it: the only way out is another epoll. False if some watch could not move there. Under the lock, before waiting.
    mutating func rebuild() -> Bool {
        guard let new = try? Epoll.create() else { return true }
        do {
            try Epoll.add(new, wakeDescriptor, .readable, isEdgeTriggered: true, tag: Self.wakeTag)
        } catch {
            Descriptor.close(new)
            return true
        }
        Descriptor.close(epoll)
        epoll = new
        var isWhole = true
        for index in 0..<watches.count where watches[index].state == .listening {
            settle(index, .silent)
            if !watches[index].interest.isEmpty && !register(index) { isWhole = false }
        }
        return isWhole
    }

    /// Somebody has closed our descriptors: the numbers may be anybody's. All watches are silent until they are listened to.
    mutating func forgetDescriptors() {
        epoll = -1
        wakeDescriptor = -1
        for index in 0..<watches.count where watches[index].state == .listening { settle(index, .silent) }
    }

    /// In the child of fork(): the epoll is the parent's too, and what is taken out of it here would be missing there.
    /// All watches are silent until they are listened to again, in an epoll of the child's own.
    mutating func detachAfterFork() {
        closeDescriptors()
        for index in 0..<watches.count where watches[index].state == .listening { settle(index, .silent) }
    }
}
