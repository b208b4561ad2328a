import CRunLoop
import Synchronization

// Steps 5 and 9: calling the sources whose descriptors are ready. Loop thread only.

extension RunLoopPointer {
    /// Calls the mode's source on the next ready descriptor, or all its sources if several share the descriptor. Returns true if one has
    /// handled its events. Loop thread only; call without the lock held. Calls user code.
    func dispatchReadyDescriptor(_ mode: ModePointer) -> Bool {
        if pointee.eventBatch.isEmpty { return false }
        if dispatchFetched(mode) { return true }
        return pointee.eventBatch.takeNeedsFullFetch() && fetchAllEvents(mode) && dispatchFetched(mode)
    }

    /// Dispatches the next fetched event that leads to a call. Returns false if none does. Call without the lock held.
    private func dispatchFetched(_ mode: ModePointer) -> Bool {
        lock()
        if pointee.eventBatch.isFresh {
            if pointee.orderedRegistrations > 0 { sortEvents(mode) }
            if let left = pointee.eventBatch.begin({ isNext($0, mode) }), left <= 1 { beginLast(mode, left) }
        }
        let isNested = !pointee.dispatchFrame.isNone
        if isNested && !pointee.outerDispatchFrames.append(pointee.dispatchFrame) {
            unlock()
            return false
        }
        pointee.dispatchFrame = DispatchFrame()
        let batch = pointee.eventBatch.number
        let dispatched = dispatchEvents(mode)
        // If no nested run has fetched or dropped events in the meantime, all descriptors that were ready have had their turn.
        if pointee.eventBatch.isEmpty && pointee.eventBatch.number == batch && !pointee.eventBatch.isSingle { endRound(mode) }
        pointee.dispatchFrame = DispatchFrame()
        if isNested { popDispatchFrame() }
        unlock()
        return dispatched
    }

    /// Sorts fresh events by the order of their sources. Called only if some source has a rank other than 0, which is rare.
    private func sortEvents(_ mode: ModePointer) {
        pointee.eventBatch.sort { tag in
            if tag == Poller.alwaysReadyTag { return .max }
            if tag & 1 != 0 { return SourcePointer(eventTag: tag)?.rank ?? .min }
            let registration = pointee.poller.index(ofTag: tag).flatMap { self.registration(onWatch: $0, in: mode) }
            return registration?.source.rank ?? .min
        }
    }

    /// Takes events until one leads to a call. Returns true if one did. The caller holds the lock, which is released during calls.
    @inline(__always)
    private func dispatchEvents(_ mode: ModePointer) -> Bool {
        while let event = pointee.eventBatch.take() {
            if pointee.eventBatch.isTurn { noteTurn(event.tag, mode) }
            if event.tag & 1 != 0, let source = SourcePointer(eventTag: event.tag) {
                if !dispatchSource(source, event.tag, event.events, mode) { continue }
            } else if event.tag & 1 == 0, let index = pointee.poller.index(ofTag: event.tag) {
                if !dispatchWatch(index, event.events, mode) { continue }
            } else if event.tag == Poller.alwaysReadyTag {
                if !dispatchAlwaysReady(mode) { continue }
            } else {
                pointee.eventBatch.noteStaleEvent(event.tag)
                continue
            }
            return true
        }
        return false
    }

    /// Of the always-ready watches in which the mode is interested, dispatches the one whose last dispatch is longest ago. Returns true if
    /// that led to a call. The caller holds the lock, which is released during calls.
    private func dispatchAlwaysReady(_ mode: ModePointer) -> Bool {
        let next = pointee.poller.nextAlwaysReady { index in
            guard hasInterest(onWatch: index, mode), let registration = registration(onWatch: index, in: mode) else { return nil }
            return pointee.dispatchStamp &- registration.lastDispatch
        }
        guard let index = next else { return false }
        return dispatchWatch(index, [.readable, .writable], mode)
    }

    /// Calls the source of an event if it is in the mode and interested in what is ready. Returns whether the event was handled; if not,
    /// `disarm` follows. The caller holds the lock, which is released during the call.
    @inline(__always)
    private func dispatchSource(_ source: SourcePointer, _ tag: UInt64, _ events: Events, _ mode: ModePointer)
        -> Bool
    {
        if events.isBareHangUp && isUnconnected(source.inlineRegistration.watch.unsafelyUnwrapped) { return false }
        let sourceSet = source.inlineRegistration.set.unsafelyUnwrapped
        let flags = source.pointee.item.flags
        var outcome = DispatchResult.unwanted
        if !contains(sourceSet, .mode(mode)) {
        } else if !flags.contains(.isInternal) {
            if !events.isDisjoint(with: [.readable, .error, .hangUp]) { return callClient(source) }
        } else {
            let ready = events.matching(SourcePointer.interest(flags))
            if !ready.isEmpty { outcome = callInternal(source, ready, events) }
            if outcome == .handledOneOfSeveral { expectMore(tag, mode) }
            if outcome == .handled || outcome == .handledOneOfSeveral { return true }
        }
        if let source = SourcePointer(eventTag: tag) { disarm(source.inlineRegistration.watch.unsafelyUnwrapped, events, mode, outcome) }
        return false
    }

    /// Calls the sources of the mode that share a watch and are interested in what is ready. Returns true if one handled it. The caller
    /// holds the lock, which is released during calls.
    @inline(never)
    private func dispatchWatch(_ index: Int, _ events: Events, _ mode: ModePointer) -> Bool {
        if events.isBareHangUp && isUnconnected(index) { return false }
        let generation = pointee.poller[index].generation
        let outcome = dispatchAll(onWatch: index, events, mode)
        if outcome == .handled { return true }
        if pointee.poller[index].generation == generation { disarm(index, events, mode, outcome) }
        return false
    }

    /// Calls the mode's sources on a watch, each once, as long as the descriptor is ready for them. The caller holds the lock, which is
    /// released during calls.
    private func dispatchAll(onWatch index: Int, _ reported: Events, _ mode: ModePointer) -> DispatchResult {
        pointee.dispatchStamp &+= 1
        let stamp = pointee.dispatchStamp
        let generation = pointee.poller[index].generation
        var events = reported
        var outcome = DispatchResult.unwanted
        // If a nested run has dispatched something, it has newer events, and what is still ready will be reported again.
        while pointee.dispatchStamp == stamp, pointee.poller[index].generation == generation,
            let registration = nextRegistration(onWatch: index, mode, notYet: stamp)
        {
            registration.lastDispatch = stamp
            // The source called first may have read everything, so the descriptor is polled again.
            if outcome == .handled { events = Descriptor.poll(pointee.poller[index].fd, for: events) }
            let ready = events.matching(registration.source.interest)
            if ready.isEmpty { continue }
            let one = callSource(registration.source, ready, events)
            if one != .unwanted && outcome != .handled { outcome = one }
        }
        return outcome
    }

    /// Calls a source, whether internal or a client's. The caller holds the lock, which is released during the call.
    private func callSource(_ source: SourcePointer, _ ready: Events, _ reported: Events) -> DispatchResult {
        if !source.pointee.item.has(.isInternal) {
            _ = callClient(source)
            return .handled
        }
        let outcome = callInternal(source, ready, reported)
        return outcome == .handledOneOfSeveral ? .handled : outcome
    }

    /// Returns the mode's registration on a watch that was dispatched least recently, usually the first; nil if all have been dispatched
    /// with this stamp.
    private func nextRegistration(onWatch index: Int, _ mode: ModePointer, notYet stamp: UInt32) -> RegistrationPointer? {
        var oldest: (registration: RegistrationPointer, age: UInt32)?
        var next = pointee.poller.registrations(index)
        while let registration = next {
            next = registration.nextOfWatch
            if registration.lastDispatch == stamp || !contains(registration.set, .mode(mode)) { continue }
            let age = stamp &- registration.lastDispatch
            if oldest == nil || age > oldest.unsafelyUnwrapped.age { oldest = (registration, age) }
        }
        return oldest?.registration
    }

    /// Calls a client's source. Always returns true. The caller holds the lock, which is released during the call. The loop's reference
    /// keeps the source alive: see `DispatchFrame`.
    @inline(__always)
    private func callClient(_ source: SourcePointer) -> Bool {
        guard let perform = source.pointee.function.perform else { return true }
        pointee.dispatchFrame.source = source
        threadContext.unlock()
        RUNLOOP_IS_CALLING_OUT_TO_A_SOURCE_PERFORM_FUNCTION(source.pointee.info, perform)
        threadContext.lock()
        if !pointee.dispatchFrame.isCalling(source) { releaseDeparted() }
        return true
    }

    /// Calls the event handler of an internal source, and returns its result. The caller holds the lock, which is released during the call.
    @inline(__always)
    private func callInternal(_ source: SourcePointer, _ ready: Events, _ reported: Events) -> DispatchResult {
        pointee.dispatchFrame.source = source
        threadContext.unlock()
        let outcome = source.pointee.function.handleEvents(source.pointee.info, ready.rawValue, reported.rawValue)
        threadContext.lock()
        if !pointee.dispatchFrame.isCalling(source) { releaseDeparted() }
        return DispatchResult(rawValue: outcome) ?? .unwanted
    }

    /// Reduces the registered interest after an event that was not handled; otherwise epoll would report it again and again. The caller
    /// holds the lock.
    private func disarm(_ index: Int, _ events: Events, _ mode: ModePointer, _ outcome: DispatchResult) {
        pointee.poller.setInterest(interest(onWatch: index), at: index)
        let interest = outcome == .retryLater ? [] : interest(onWatch: index, mode)
        if events.matching(interest).isEmpty { pointee.poller.reduce(index, to: interest) }
        advanceGenerationIfSilent(index)
        if outcome == .retryLater { scheduleRetry() }
    }
}
