import CLinux

// The epoll of a poller and the eventfd that wakes it: opened, closed, and replaced.

extension Poller {
    /// Opens the epoll and the eventfd, if they are not open. False with errno. Under the loop's lock.
    mutating func open() -> Bool { epoll >= 0 || create() }

    /// Creates the epoll and the eventfd, and registers the eventfd edge-triggered. False with errno.
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

    /// Closes the descriptors, as the loop's thread ends. Other threads have decided on this many `wakes`, but may not have written to the
    /// eventfd yet, for which they need no lock. Waits until all have: only then may its number become another file's. Under the lock.
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

    /// Closes the epoll and the eventfd, if they are open.
    private mutating func closeDescriptors() {
        if epoll >= 0 { Descriptor.close(epoll) }
        if wakeDescriptor >= 0 { Descriptor.close(wakeDescriptor) }
        epoll = -1
        wakeDescriptor = -1
    }

    /// Replaces the epoll. A descriptor that was closed while a duplicate of it is open cannot be removed from an epoll, which goes on
    /// reporting it. False if some watch could not be registered in the new one. If none can be made, keeps the old one and returns true.
    /// Under the lock, before waiting.
    mutating func rebuild() -> Bool {
        guard let new = try? Epoll.create() else { return true }
        do {
            try Epoll.add(new, wakeDescriptor, .readable, isEdgeTriggered: true, tag: Self.wakeTag)
        } catch {
            Descriptor.close(new)
            return true
        }
        Descriptor.close(epoll)
        host.reportsEpoll = false
        epoll = new
        var isWhole = true
        for index in 0..<watches.count where watches[index].state == .listening {
            settle(index, .silent)
            if !watches[index].interest.isEmpty && !register(index) { isWhole = false }
        }
        return isWhole
    }

    /// The program has closed our descriptors, and their numbers may stand for other files. All watches are silent until `listen`.
    @inline(never)
    mutating func resetDescriptors() {
        epoll = -1
        wakeDescriptor = -1
        host = HostDescriptors()
        for index in 0..<watches.count where watches[index].state == .listening { settle(index, .silent) }
    }

    /// In the child of fork(): closes the epoll, the eventfd and the host's descriptors, which are shared with the parent, as a descriptor
    /// that is removed from it here would be missing there. All watches are silent until `listen`, in an epoll of the child's own.
    mutating func detachAfterFork() {
        closeDescriptors()
        closeHost()
        for index in 0..<watches.count where watches[index].state == .listening { settle(index, .silent) }
    }
}
