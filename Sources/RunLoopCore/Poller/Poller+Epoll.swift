import CLinux

// Opening, closing and replacing a poller's epoll and the eventfd that wakes it.

extension Poller {
    /// Opens the epoll and the eventfd unless they are open. Returns false with errno set on failure. The caller holds the loop's lock.
    mutating func open() -> Bool { epoll >= 0 || create() }

    /// Creates the epoll and the eventfd, and registers the eventfd edge-triggered. Returns false with errno set on failure.
    private mutating func create() -> Bool {
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

    /// Closes the descriptors and forgets all watches when the loop's thread exits; the loop's next thread opens the poller again. Called
    /// on the exiting thread, which holds the loop's lock.
    ///
    /// `wakes` is how many writes to the eventfd other threads have made, or decided to make, since it was created. It is final, because
    /// only a sleeping loop is woken. Some of these threads may still be about to write, for which they need no lock. So this waits for all
    /// the writes before it closes the eventfd, whose number may then be reused for another file.
    mutating func close(afterWakes wakes: UInt64) {
        if wakeDescriptor >= 0 { EventDescriptor.drain(wakeDescriptor, wakes: wakes) }
        closeDescriptors()
        closeHost()
        watches.removeAll()
        firstFree = -1
        indexOfDescriptor.removeAll()
        changes.removeAll()
        unconnected.removeAll()
        unreportedConnectCount = 0
        underRegisteredCount = 0
        alwaysReadyCount = 0
    }

    /// Closes the epoll and the eventfd if they are open.
    private mutating func closeDescriptors() {
        if epoll >= 0 { Descriptor.close(epoll) }
        if wakeDescriptor >= 0 { Descriptor.close(wakeDescriptor) }
        epoll = -1
        wakeDescriptor = -1
    }

    /// Replaces the epoll. A descriptor that was closed while a duplicate of it is open cannot be removed from its epoll set, and epoll
    /// keeps reporting it. Returns false if a watch could not be registered in the new epoll. If no new epoll can be created, keeps the old
    /// one and returns true. Called before waiting; the caller holds the loop's lock.
    mutating func rebuild() -> Bool {
        guard let new = try? Epoll.create() else { return true }
        do {
            try Epoll.add(new, wakeDescriptor, .readable, isEdgeTriggered: true, tag: Self.wakeTag)
        } catch {
            Descriptor.close(new)
            return true
        }
        Descriptor.close(epoll)
        host.watchesEpoll = false
        epoll = new
        var isWhole = true
        for index in 0..<watches.count where watches[index].state == .listening {
            settle(index, .silent)
            if !watches[index].interest.isEmpty && !register(index) { isWhole = false }
        }
        return isWhole
    }

    /// Called when the program has closed the poller's descriptors, whose numbers may be in use for other files. All watches are silent
    /// until `listen`. The caller holds the loop's lock.
    @inline(never)
    mutating func resetDescriptors() {
        epoll = -1
        wakeDescriptor = -1
        host = HostDescriptors()
        for index in 0..<watches.count where watches[index].state == .listening { settle(index, .silent) }
    }

    /// In the child of fork(): closes the epoll, the eventfd and the host's descriptors. Parent and child share the epoll set, so the child
    /// must not remove its descriptors one by one: they would be missing in the parent. All watches are silent until `listen`, which
    /// registers them in an epoll of the child's own. The caller holds the loop's lock.
    mutating func detachAfterFork() {
        closeDescriptors()
        closeHost()
        for index in 0..<watches.count where watches[index].state == .listening { settle(index, .silent) }
    }
}
