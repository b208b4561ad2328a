import CLinux
import Synchronization

// Sources on descriptors: which watches there are, and what they are interested in. Several sources may share a watch. No step of the
// iteration, except that step 7 calls `target` to find out what to wait for. The sources are called by `RunLoop+ReadyDescriptors.swift`.

extension RunLoopPointer {
    // MARK: watching

    /// Starts watching the descriptor of a registration that was just added to the loop. One epoll_ctl if the source is interested in
    /// anything. Returns false if out of memory. The caller holds the lock.
    func watch(_ fd: Int32, for registration: RegistrationPointer) -> Bool {
        // The source counts as having just had its turn. So one that is removed and added again is served after the others, and takes part
        // from the next pass on.
        registration.lastDispatch = pointee.dispatchStamp
        let error = systemError
        guard beginWatching(fd, for: registration) else { return false }
        // What the kernel refuses for the moment is retried later, so that is no failure.
        systemError = error
        if registration.source.rank != 0 { pointee.orderedRegistrations += 1 }
        return true
    }

    /// Adds a registration to the watch on its descriptor, or creates a watch. Returns false if out of memory. The caller holds the lock.
    private func beginWatching(_ fd: Int32, for registration: RegistrationPointer) -> Bool {
        if let index = pointee.poller.index(of: fd), !hasLostFile(index) {
            if pointee.poller[index].hasTagOfSource { pointee.poller.registrations(index)?.source.advanceGeneration() }
            insert(registration, onWatch: index)
            pointee.poller.setInterest(interest(onWatch: index), at: index)
            if !pointee.poller.listenAnew(index) { scheduleRetry() }
            return true
        }
        let source = registration.source
        let tag = registration == source.inlineRegistration ? source.eventTag : nil
        guard let index = pointee.poller.add(fd, interest: source.epollInterest, client: tag ?? registration.asClient) else {
            // The tag may have been registered with epoll for a moment, and an event with this tag fetched.
            if tag != nil { source.advanceGeneration() }
            return false
        }
        registration.watch = index
        if pointee.poller[index].isUnderRegistered { scheduleRetry() }
        return true
    }

    /// Whether the file of a watch has been closed, so that its descriptor number stands for another file or for none. The next pass
    /// reports that. Sources that are added from here on refer to the new file. The caller holds the lock.
    private func hasLostFile(_ index: Int) -> Bool {
        if !pointee.poller.hasLostFile(index) { return false }
        noteLost(index)
        advanceGenerationIfSilent(index)
        return true
    }

    /// Has the next pass report that the file of a watch was closed. The caller holds the lock.
    private func noteLost(_ index: Int) {
        pointee.lostDescriptor = pointee.poller[index].fd
        noteWatchTrouble(WatchTrouble.lost)
    }

    /// Whether the source's descriptor turned out not to be open. A negative number stands for no descriptor. Any thread.
    func isBroken(_ source: SourcePointer) -> Bool {
        let owner = source.item.lock(and: threadContext)
        defer { ItemPointer.unlockBoth(owner, threadContext) }
        guard let registration = source.registration(in: threadContext), let watch = registration.watch else { return false }
        return pointee.poller[watch].state == .broken && pointee.poller[watch].fd >= 0
    }

    /// Inserts a registration that was just added to the loop into the list of its watch, behind those of the same or a lower order. The
    /// head of the list becomes the poller's client, in place of a source's tag if the watch has had only one registration so far. The
    /// caller holds the lock.
    private func insert(_ registration: RegistrationPointer, onWatch index: Int) {
        registration.watch = index
        let order = registration.source.pointee.order
        let head = pointee.poller.registrations(index)
        guard let head, head.source.pointee.order <= order else {
            registration.nextOfWatch = head
            return pointee.poller.setClient(registration.asClient, at: index)
        }
        var previous = head
        while let next = previous.nextOfWatch, next.source.pointee.order <= order { previous = next }
        registration.nextOfWatch = previous.nextOfWatch
        previous.nextOfWatch = registration
        pointee.poller.setClient(head.asClient, at: index)
    }

    /// Stops watching a descriptor for a registration; if it is the last one, removes the watch. The caller holds the lock.
    func unwatch(_ registration: RegistrationPointer) {
        let index = registration.watch.unsafelyUnwrapped
        registration.watch = nil
        if registration == registration.source.inlineRegistration { registration.source.advanceGeneration() }
        if registration.source.rank != 0 { pointee.orderedRegistrations -= 1 }
        var first = pointee.poller.registrations(index)
        if first == registration {
            first = registration.nextOfWatch
        } else {
            var previous = first
            while let some = previous, some.nextOfWatch != registration { previous = some.nextOfWatch }
            previous?.nextOfWatch = registration.nextOfWatch
        }
        registration.nextOfWatch = nil
        guard let first else { return pointee.poller.remove(index) }
        pointee.poller.setClient(first.asClient, at: index)
        pointee.poller.setInterest(interest(onWatch: index), at: index)
    }

    /// Recomputes the interest of a registration's watch. epoll is updated when the loop next waits. The caller holds the lock.
    func updateInterest(of registration: RegistrationPointer) {
        if let index = registration.watch { pointee.poller.setInterest(interest(onWatch: index), at: index) }
    }

    /// The interest of all sources on a watch, including those of other modes. The caller holds the lock.
    func interest(onWatch index: Int) -> Events {
        var events: Events = []
        var next = pointee.poller.registrations(index)
        while let registration = next {
            events.formUnion(registration.source.epollInterest)
            next = registration.nextOfWatch
        }
        return events
    }

    /// Registers the full interest again on watches in which `mode` is interested and for which epoll knows less, because the modes that ran
    /// did not want more, or because memory or descriptors had run out. The caller holds the lock.
    func revisitWatches(_ mode: ModePointer) {
        pointee.mustRevisitWatches = false
        if pointee.poller.underRegisteredCount == 0 { return }
        for index in 0..<pointee.poller.indexLimit where pointee.poller[index].isUnderRegistered && hasInterest(onWatch: index, mode) {
            listen(index)
            pointee.eventBatch.noteReregistration()
            pointee.modeInOrder = nil
        }
    }

    /// Registers what a watch's sources are interested in. A failure is recorded for a later pass. The caller holds the lock.
    @inline(never)
    private func listen(_ index: Int) {
        if !pointee.poller.listen(index) { scheduleRetry() }
        if pointee.poller[index].state == .broken { noteLost(index) }
        advanceGenerationIfSilent(index)
    }

    /// If a watch is not in the epoll set, gives its source a new tag, so that events with the old tag are ignored. epoll may continue to
    /// report them if the descriptor was closed before it could be removed from the set, while a duplicate of it is open. The caller holds
    /// the lock.
    func advanceGenerationIfSilent(_ index: Int) {
        let watch = pointee.poller[index]
        guard watch.hasTagOfSource, watch.state != .listening, let registration = watch.registrations else { return }
        registration.source.advanceGeneration()
        pointee.poller.setClient(registration.source.eventTag ?? registration.asClient, at: index)
    }

    /// Whether some source of the mode on this watch is interested in any event. The caller holds the lock.
    func hasInterest(onWatch index: Int, _ mode: ModePointer) -> Bool { !interest(onWatch: index, mode).isEmpty }

    /// The interest of the mode's sources on a watch. The caller holds the lock.
    func interest(onWatch index: Int, _ mode: ModePointer) -> Events {
        var events: Events = []
        var next = pointee.poller.registrations(index)
        while let registration = next {
            if contains(registration.set, .mode(mode)) { events.formUnion(registration.source.epollInterest) }
            next = registration.nextOfWatch
        }
        return events
    }
}

// Watches for which too little is registered temporarily, and how they are repaired.

extension RunLoopPointer {
    /// The time after which the loop retries watches that failed for lack of memory or descriptors, in nanoseconds.
    private static var retryInterval: UInt64 { 50_000_000 }

    /// Makes a later pass retry a watch that could not be registered. The first call sets the time, which later calls leave unchanged. The
    /// caller holds the lock.
    func scheduleRetry() {
        if hasWatchTrouble(WatchTrouble.failed) { return }
        noteWatchTrouble(WatchTrouble.failed)
        let deadline = Clock.now.advanced(by: Self.retryInterval)
        if hasWatchTrouble(WatchTrouble.hostWaits) { pointee.guest.retryDeadline = deadline } else { pointee.retryDeadline = deadline }
    }

    /// Returns what to wait for in this mode, after all changes have been registered with epoll. The caller holds the lock.
    func target(_ mode: ModePointer) -> EventBatch.Target {
        if pointee.poller.hasUnconnected { checkUnconnected() }
        if pointee.poller.hasChanges { applyChanges() }
        if pointee.mustRevisitWatches { revisitWatches(mode) }
        if descriptorSourceCount(mode) == 0 || !pointee.poller.open() { return .nothing }
        if pointee.eventBatch.takeBroken() {
            pointee.poller.resetDescriptors()
            pointee.eventBatch.reset()
            revisitWatches(mode)
            if !pointee.poller.open() { return .nothing }
        }
        if pointee.eventBatch.takeNeedsRebuild() && !pointee.poller.rebuild() { scheduleRetry() }
        return EventBatch.Target(
            epoll: pointee.poller.epoll, alwaysReady: pointee.poller.hasAlwaysReady { hasInterest(onWatch: $0, mode) },
            hasUnreportedConnects: pointee.poller.unreportedConnectCount > 0)
    }

    /// Returns true if the report that a watch has hung up is to be ignored: its socket is not connected yet, or has been connected only
    /// since then. If it is not connected, makes the watch wait for the connection, so that epoll does not keep reporting the hang-up. Up
    /// to four system calls, one of them epoll_ctl. The caller holds the lock.
    @inline(never)
    func isUnconnected(_ index: Int) -> Bool {
        let hangUp = Sockets.hangUp(of: pointee.poller[index].fd)
        switch hangUp {
        case .ended: return false
        case .gone: return true
        case .unconnected, .unconnectedUnix:
            if !pointee.poller.awaitConnection(index, isUnix: hangUp == .unconnectedUnix) { scheduleRetry() }
            advanceGenerationIfSilent(index)
            return true
        }
    }

    /// Registers sockets that have been connected meanwhile as ordinary watches again. The caller holds the lock.
    private func checkUnconnected() {
        var position = 0
        while let index = pointee.poller.takeConnected(from: &position) { listen(index) }
    }

    /// Registers the interest that has grown since the loop last waited. The caller holds the lock.
    private func applyChanges() {
        while let index = pointee.poller.takeChange() { listen(index) }
    }

    /// Called at the beginning of a pass. Ends a host's wait, retries the watches that could not be registered, if their time has come, and
    /// reports, once, a descriptor that was closed before its source was invalidated. Loop thread only; call without the lock held. May
    /// call the error handler.
    func handleWatchTrouble() {
        if hasWatchTrouble { handleWatchTroubleSlow() }
    }

    /// Whether the next pass has something to do in `handleWatchTrouble`. One load.
    var hasWatchTrouble: Bool { pointee.watchTrouble.load(ordering: .relaxed) != 0 }

    /// Whether there is trouble of this kind. One load.
    func hasWatchTrouble(_ kind: UInt32) -> Bool { pointee.watchTrouble.load(ordering: .relaxed) & kind != 0 }

    /// Records trouble of this kind for the next pass. The caller holds the lock.
    func noteWatchTrouble(_ kind: UInt32) {
        pointee.watchTrouble.store(pointee.watchTrouble.load(ordering: .relaxed) | kind, ordering: .relaxed)
    }

    /// Clears trouble of these kinds. The caller holds the lock.
    func clearWatchTrouble(_ kinds: UInt32) {
        pointee.watchTrouble.store(pointee.watchTrouble.load(ordering: .relaxed) & ~kinds, ordering: .relaxed)
    }

    /// Does the work of `handleWatchTrouble` if there is any.
    private func handleWatchTroubleSlow() {
        takeOverFromHost()
        lock()
        var done = WatchTrouble.lost
        if pointee.retryDeadline <= Clock.now {
            pointee.retryDeadline = .never
            pointee.mustRevisitWatches = true
            done |= WatchTrouble.failed
        }
        let hasLost = hasWatchTrouble(WatchTrouble.lost)
        let descriptor = Int(pointee.lostDescriptor)
        clearWatchTrouble(done)
        unlock()
        if hasLost {
            preservingSystemError {
                Misuse.report(
                    "RLRunLoop", "source", "its descriptor", descriptor,
                    "can no longer be watched; it may have been closed before the source was invalidated")
            }
        }
    }
}

extension SourcePointer {
    /// The order among ready descriptors, lowest first. A client's version-1 source has no order among them, as in CFRunLoop. Its stored
    /// order only breaks ties between sources that share a descriptor.
    var rank: Int { pointee.item.has(.isInternal) ? pointee.order : 0 }
}

extension Poller {
    /// The first registration on the watch with this index.
    func registrations(_ index: Int) -> RegistrationPointer? { self[index].registrations }
}

extension Poller.Watch {
    /// Whether epoll reports the tag of a source for this watch. The watch then has one client, the inline registration of that source.
    var hasTagOfSource: Bool { client & 1 != 0 }

    /// The first registration on the watch.
    var registrations: RegistrationPointer? {
        client & 1 == 0 ? RegistrationPointer(bitPattern: UInt(client)) : SourcePointer.address(ofTag: client).inlineRegistration
    }
}

extension RegistrationPointer {
    /// The number that the poller stores as the client of the registration's watch. Even, because it is an address.
    fileprivate var asClient: UInt64 { UInt64(UInt(bitPattern: self)) }
}
