import CLinux
import Synchronization

// Sources on descriptors: which watches there are and what they are interested in. Several sources may share a watch. No step of
// the iteration, except that step 7 asks `target` what to wait for; calling the sources is `RunLoop+ReadyDescriptors.swift`.

extension RunLoopPointer {
    // MARK: watching

    /// Begins to watch the descriptor of a registration that was just added to the loop. One epoll_ctl if the source waits for
    /// something. Under the lock; false if out of memory.
    func watch(_ fd: Int32, for registration: RegistrationPointer) -> Bool {
        // As if the source had just had its turn: one that is removed and added again goes after the others, and takes part from the next
        // pass on.
        registration.lastDispatch = pointee.dispatchStamp
        let error = systemError
        guard beginWatching(fd, for: registration) else { return false }
        // What the kernel refused for now is tried again later, so it is no failure.
        systemError = error
        if registration.source.rank != 0 { pointee.orderedRegistrations += 1 }
        return true
    }

    /// Adds a registration to the watch on its descriptor, or makes a watch. False if out of memory. Under the lock.
    private func beginWatching(_ fd: Int32, for registration: RegistrationPointer) -> Bool {
        if let index = pointee.poller.index(of: fd), !hasLostFile(index) {
            if pointee.poller[index].hasTagOfSource { pointee.poller.registrations(index)?.source.advanceGeneration() }
            insert(registration, onWatch: index)
            pointee.poller.setInterest(interest(onWatch: index), at: index)
            if !pointee.poller.listenAnew(index) { tryAgainLater() }
            return true
        }
        let source = registration.source
        let tag = registration == source.inlineRegistration ? source.eventTag : nil
        guard let index = pointee.poller.add(fd, interest: source.epollInterest, client: tag ?? registration.asClient) else {
            // The tag may have been registered for a moment, and an event with it fetched.
            if tag != nil { source.advanceGeneration() }
            return false
        }
        registration.watch = index
        if pointee.poller[index].isUnderRegistered { tryAgainLater() }
        return true
    }

    /// Whether the file of a watch has been closed and its number now stands for another file; the next pass reports that. Sources that are
    /// added from now on mean the new file.
    private func hasLostFile(_ index: Int) -> Bool {
        if !pointee.poller.hasLostFile(index) { return false }
        noteWatchTrouble(WatchTrouble.lost)
        advanceGenerationIfSilent(index)
        return true
    }

    /// Whether the source's descriptor turned out not to be open. A negative number stands for no descriptor. Any thread.
    func isBroken(_ source: SourcePointer) -> Bool {
        let owner = source.item.lock(and: threadContext)
        defer { ItemPointer.unlockBoth(owner, threadContext) }
        guard let registration = source.registration(in: threadContext), let watch = registration.watch else { return false }
        return pointee.poller[watch].state == .broken && pointee.poller[watch].fd >= 0
    }

    /// Inserts the loop's newest registration into the list of its watch, after those of the same or a lower order. Under the lock.
    private func insert(_ registration: RegistrationPointer, onWatch index: Int) {
        registration.watch = index
        let order = registration.source.pointee.order
        let first = pointee.poller.registrations(index)
        guard let first, first.source.pointee.order <= order else {
            registration.nextOfWatch = first
            return pointee.poller.setClient(registration.asClient, at: index)
        }
        var previous = first
        while let next = previous.nextOfWatch, next.source.pointee.order <= order { previous = next }
        registration.nextOfWatch = previous.nextOfWatch
        previous.nextOfWatch = registration
        pointee.poller.setClient(first.asClient, at: index)
    }

    /// Stops watching a descriptor for a registration; the last one ends the watch. Under the lock.
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

    /// Computes anew the interest of a registration's watch. epoll is told when the loop waits next. Under the lock.
    func updateInterest(of registration: RegistrationPointer) {
        if let index = registration.watch { pointee.poller.setInterest(interest(onWatch: index), at: index) }
    }

    /// The interest of all sources on a watch, those of other modes included.
    func interest(onWatch index: Int) -> Events {
        var events: Events = []
        var next = pointee.poller.registrations(index)
        while let registration = next {
            events.formUnion(registration.source.epollInterest)
            next = registration.nextOfWatch
        }
        return events
    }

    /// Registers interest again where epoll has been told less than `mode` is interested in, because the modes that ran did not
    /// want more or the system was out of memory. Under the lock.
    func revisitWatches(_ mode: ModePointer) {
        pointee.mustRevisitWatches = false
        if pointee.poller.underRegisteredCount == 0 { return }
        for index in 0..<pointee.poller.indexLimit where pointee.poller[index].isUnderRegistered && hasInterest(onWatch: index, mode) {
            listen(index)
            pointee.eventBatch.noteReregistration()
            pointee.modeInOrder = nil
        }
    }

    /// Registers what a watch's sources are interested in; a failure is noted for a later pass. Under the lock.
    @inline(never)
    private func listen(_ index: Int) {
        if !pointee.poller.listen(index) { tryAgainLater() }
        if pointee.poller[index].state == .broken { noteWatchTrouble(WatchTrouble.lost) }
        advanceGenerationIfSilent(index)
    }

    /// Makes events of a watch that is no longer in the epoll set match nothing. epoll may go on reporting a file that was closed
    /// before it left the set and is open elsewhere. Under the lock.
    func advanceGenerationIfSilent(_ index: Int) {
        let watch = pointee.poller[index]
        guard watch.hasTagOfSource, watch.state != .listening, let registration = watch.registrations else { return }
        registration.source.advanceGeneration()
        pointee.poller.setClient(registration.source.eventTag ?? registration.asClient, at: index)
    }

    /// Whether some source of the mode on this watch is interested in something. Under the lock.
    func hasInterest(onWatch index: Int, _ mode: ModePointer) -> Bool { !interest(onWatch: index, mode).isEmpty }

    /// The interest of the mode's sources on a watch. Under the lock.
    func interest(onWatch index: Int, _ mode: ModePointer) -> Events {
        var events: Events = []
        var next = pointee.poller.registrations(index)
        while let registration = next {
            if containsInlined(registration.set, .mode(mode)) { events.formUnion(registration.source.epollInterest) }
            next = registration.nextOfWatch
        }
        return events
    }
}

// Watches that are registered for less than they should be for a while, and what is done about them.

extension RunLoopPointer {
    /// How long after a failure for want of memory or descriptors the loop registers watches again, in nanoseconds.
    private static var retryInterval: UInt64 { 50_000_000 }

    /// Some watch could not be registered: a later pass retries. The first call sets the time, which later ones leave as it is. Under the
    /// lock.
    func tryAgainLater() {
        if hasWatchTrouble(WatchTrouble.failed) { return }
        noteWatchTrouble(WatchTrouble.failed)
        let deadline = Clock.now.advanced(by: Self.retryInterval)
        if hasWatchTrouble(WatchTrouble.hostWaits) { pointee.guest.retryDeadline = deadline } else { pointee.retryDeadline = deadline }
    }

    /// What to wait for in this mode, after epoll has been told of all changes. Under the lock.
    func target(_ mode: ModePointer) -> EventBatch.Target {
        if pointee.poller.hasUnconnected { lookAtUnconnected() }
        if pointee.poller.hasChanges { applyChanges() }
        if pointee.mustRevisitWatches { revisitWatches(mode) }
        if portCount(mode) == 0 || !pointee.poller.open() { return .nothing }
        if pointee.eventBatch.takeBroken() {
            pointee.poller.resetDescriptors()
            pointee.eventBatch.reset()
            revisitWatches(mode)
            if !pointee.poller.open() { return .nothing }
        }
        if pointee.eventBatch.takeNeedsRebuild() && !pointee.poller.rebuild() { tryAgainLater() }
        return EventBatch.Target(
            epoll: pointee.poller.epoll, alwaysReady: pointee.poller.hasAlwaysReady { hasInterest(onWatch: $0, mode) },
            hasUnreportedConnects: pointee.poller.unreportedConnectCount > 0)
    }

    /// Whether a watch that was reported as hung up is of a socket that is not connected, or was not a moment ago: no client wants
    /// to know that. If it is not connected, epoll will not report it again. Up to three system calls and one epoll_ctl. Under
    /// the lock.
    @inline(never)
    func isUnconnected(_ index: Int) -> Bool {
        let hangUp = Sockets.hangUp(of: pointee.poller[index].fd)
        switch hangUp {
        case .ended: return false
        case .gone: return true
        case .unconnected, .unconnectedUnix:
            if !pointee.poller.awaitConnection(index, isUnix: hangUp == .unconnectedUnix) { tryAgainLater() }
            advanceGenerationIfSilent(index)
            return true
        }
    }

    /// Registers the sockets that are no longer unconnected as ordinary watches again. Under the lock.
    private func lookAtUnconnected() {
        var position = 0
        while let index = pointee.poller.takeConnected(from: &position) { listen(index) }
    }

    /// Registers the interest that has grown since the loop last waited. Under the lock.
    private func applyChanges() {
        while let index = pointee.poller.takeChange() { listen(index) }
    }

    /// At the beginning of a pass: ends a host's wait, retries the watches that could not be registered, if their time has come, and reports,
    /// once, a descriptor that was closed before its source was invalidated. The loop's thread, without the lock; may call the error handler.
    func handleWatchTrouble() {
        if hasWatchTrouble { handleWatchTroubleSlow() }
    }

    /// Whether the next pass has something to do in `handleWatchTrouble`. One load.
    var hasWatchTrouble: Bool { pointee.watchTrouble.load(ordering: .relaxed) != 0 }

    /// Whether there is trouble of this kind. One load.
    func hasWatchTrouble(_ kind: UInt32) -> Bool { pointee.watchTrouble.load(ordering: .relaxed) & kind != 0 }

    /// Notes trouble of this kind for the next pass. Under the lock.
    func noteWatchTrouble(_ kind: UInt32) {
        pointee.watchTrouble.store(pointee.watchTrouble.load(ordering: .relaxed) | kind, ordering: .relaxed)
    }

    /// Forgets trouble of these kinds. Under the lock.
    func clearWatchTrouble(_ kinds: UInt32) {
        pointee.watchTrouble.store(pointee.watchTrouble.load(ordering: .relaxed) & ~kinds, ordering: .relaxed)
    }

    /// The rest of `handleWatchTrouble`.
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
        clearWatchTrouble(done)
        unlock()
        if hasLost {
            preservingSystemError {
                Misuse.report(
                    "RLRunLoop", "source", "its descriptor cannot be watched: perhaps it was closed before the source was invalidated")
            }
        }
    }
}

extension SourcePointer {
    /// The order among ready descriptors, lowest first. A client's version-1 source only stores its order, as in CFRunLoop.
    var rank: Int { pointee.item.has(.isInternal) ? pointee.order : 0 }
}

extension Poller {
    /// The first registration on the watch with this index.
    @inline(__always)
    func registrations(_ index: Int) -> RegistrationPointer? { self[index].registrations }
}

extension Poller.Watch {
    /// Whether the watch has one client, the first registration of a source, and epoll reports the tag of that source.
    var hasTagOfSource: Bool { client & 1 != 0 }

    /// The first registration on the watch.
    var registrations: RegistrationPointer? {
        client & 1 == 0 ? RegistrationPointer(bitPattern: UInt(client)) : SourcePointer.address(ofTag: client).inlineRegistration
    }
}

extension RegistrationPointer {
    /// The registration as the poller's number for its client: an address, and so even.
    fileprivate var asClient: UInt64 { UInt64(UInt(bitPattern: self)) }
}
