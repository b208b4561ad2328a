import CLinux
import Synchronization

// What descriptor objects and sockets have in common: arming, using the descriptor, the run loop source, invalidation. What loops do with
// them is in `Endpoint.swift`.

extension EndpointPointer {
    /// The descriptor; -1 after invalidation. Any thread.
    var nativeDescriptor: Int32 { state.isValid ? pointee.fd : -1 }

    // MARK: arming

    /// Updates the source if an armed event is not registered; otherwise takes no lock. Any thread that has a loop; call without a lock
    /// held.
    func updateInterest(_ now: EndpointState) {
        if now.needsUpdate { updateInterestSlow() }
    }

    /// Registers exactly the armed events with the source, whether these are more or fewer than before. Any thread that has a loop; call
    /// without a lock held.
    func updateInterestSlow() {
        Endpoints.mutex.lock()
        defer { Endpoints.mutex.unlock() }
        guard let source = pointee.source else { return }
        var settled: EndpointState?
        repeat {
            let seen = state
            RunLoopPointer.setInterest(of: source) { seen.armed }
            settled = update { state in
                // Another thread has changed the state meanwhile, and may have relied on what was registered at that time.
                if state.armed != seen.armed { return false }
                state.setRegistered(seen.armed)
                return true
            }
        } while settled == nil
    }

    /// Makes sleeping loops of other threads check the descriptor, after a change that the kernel does not report. Any thread that has a
    /// loop; call without a lock held.
    func recheck() {
        Endpoints.mutex.lock()
        if let source = pointee.source { RunLoopPointer.recheck(source) }
        Endpoints.mutex.unlock()
    }

    // MARK: calling

    /// Ends a callback that `beginCall` has counted, and arms events in the same step. Loop thread only; call without a lock held. May
    /// close the descriptor and call the context's release.
    func endCall(_ arm: (inout EndpointState) -> Void) {
        let now = update { state in
            state.bits &-= EndpointState.callUnit
            if state.isValid { arm(&state) }
            return true
        }.unsafelyUnwrapped
        if now.isValid { updateInterest(now) } else { finishIfIdle(now) }
    }

    /// Ends a callback without arming anything, because its thread has ended in it. Always returns `.unwanted`. May close the descriptor
    /// and call the context's release.
    func cancelCall() -> DispatchResult {
        let now = update { state in
            if state.activeCalls == 0 { return false }
            state.bits &-= EndpointState.callUnit
            return true
        }
        if let now, !now.isValid { finishIfIdle(now) }
        return .unwanted
    }

    /// Finishes an invalidation that was waiting for the callback that has just ended.
    @inline(never)
    private func finishIfIdle(_ now: EndpointState) {
        if now.activeCalls == 0 && now.has(EndpointState.awaitsLastUser) { finishOnce(0) }
    }

    // MARK: using the descriptor

    /// Keeps the descriptor open until `endUse`. Returns false if the endpoint is invalid; this may then close the descriptor and call the
    /// context's release, like `endUse`. One atomic addition. Any thread that has a loop; call without a lock held.
    func beginUse() -> Bool {
        if pointee.uses.wrappingAdd(Endpoint.useUnit, ordering: .acquiringAndReleasing).oldValue & Endpoint.invalidated == 0 { return true }
        endUse()
        return false
    }

    /// Ends a use that `beginUse` has begun. One atomic subtraction. Any thread that has a loop; call without a lock held. May close the
    /// descriptor and call the context's release.
    func endUse() {
        let now = pointee.uses.wrappingSubtract(Endpoint.useUnit, ordering: .acquiringAndReleasing).newValue
        if now & Endpoint.invalidated != 0 { finishOnce(0) }
    }

    /// Finishes an invalidation, unless the endpoint is in use other than by `ownCalls` callbacks on this thread. If several threads get
    /// here, exactly one of them finishes it.
    @inline(never)
    private func finishOnce(_ ownCalls: UInt32) {
        let mine = update { state in
            if !state.has(EndpointState.awaitsLastUser) || state.activeCalls > ownCalls { return false }
            if pointee.uses.load(ordering: .acquiring) >= Endpoint.useUnit { return false }
            state.clear(EndpointState.awaitsLastUser)
            return true
        }
        if let mine { finish(closes: mine.has(EndpointState.closesDescriptor)) }
    }

    // MARK: the source

    /// Returns the endpoint's run loop source, with a reference for the caller. Creates one if there is none, or if the last one was
    /// invalidated. Returns nil if the endpoint is invalid, or if out of memory. `threadContext` is the calling thread's, which has a loop.
    /// Call without a lock held.
    func source(
        order: Int, eventHandler: SourceFunction.EventHandler, _ detail: SourceDetailPointer,
        _ threadContext: ThreadContextPointer
    ) -> SourcePointer? {
        var old: SourcePointer?
        Endpoints.mutex.lock()
        if let source = pointee.source, !source.pointee.item.has(.valid) {
            old = source
            pointee.source = nil
        }
        if pointee.source == nil && state.isValid {
            pointee.source = SourcePointer.create(
                threadContext, order: order, info: self, eventHandler: eventHandler, getPort: { EndpointPointer($0).pointee.fd },
                detail)
            if pointee.source != nil {
                pointee.item.object.retain()
                pointee.source.unsafelyUnwrapped.pointee.item.set(.isOfEndpoint)
                // A new source watches for nothing.
                _ = update { state in
                    state.setRegistered([])
                    return true
                }
            }
        }
        let source = pointee.source
        source?.pointee.item.object.retain()
        Endpoints.mutex.unlock()
        old?.release()
        if source != nil { updateInterest(state) }
        return source
    }

    // MARK: the end

    /// Invalidates in CFSocket's order: marks the endpoint as invalid, stops watching, closes the descriptor if `closes`, calls the
    /// context's release, invalidates the source. If other threads are using the descriptor, the last of them closes it and calls release.
    /// Returns false if the endpoint was invalid already. Any thread that has a loop; call without a lock held. Calls the context's release
    /// and the source's cancel.
    @inline(never)
    func invalidate(closes: Bool) -> Bool {
        let ownCalls = ThreadContextPointer.current.map { RunLoopPointer($0).dispatchDepth(of: self) } ?? 0
        guard
            let now = update({ state in
                if !state.isValid { return false }
                state.clear(EndpointState.valid | EndpointState.armedRead | EndpointState.armedWrite)
                let uses = pointee.uses.bitwiseOr(Endpoint.invalidated, ordering: .acquiringAndReleasing).oldValue
                if state.activeCalls > ownCalls || uses >= Endpoint.useUnit {
                    // Counts as a call, so that no other thread closes the descriptor while it is watched.
                    state.bits += EndpointState.callUnit
                    state.set(EndpointState.awaitsLastUser)
                    if closes { state.set(EndpointState.closesDescriptor) }
                }
                return true
            })
        else { return false }
        Endpoints.mutex.lock()
        let source = pointee.source
        pointee.source = nil
        Endpoints.mutex.unlock()
        if let source { RunLoopPointer.unwatch(source) }
        if now.has(EndpointState.awaitsLastUser) {
            _ = update { state in
                state.bits -= EndpointState.callUnit
                return true
            }
            finishOnce(ownCalls)
        } else {
            finish(closes: closes)
        }
        if let source {
            RunLoopPointer.invalidate(source)
            source.release()
        }
        return true
    }

    // MARK: memory

    /// Allocates memory for a descriptor object or a socket. Returns nil with ENOMEM if there is none. `threadContext` is the calling
    /// thread's.
    static func allocate(_ threadContext: ThreadContextPointer) -> UnsafeMutableRawPointer? {
        let memory = Endpoint.slab.allocate(threadContext)
        if memory == nil { systemError = ENOMEM }
        return memory
    }

    /// Returns the memory of an endpoint without references to the slab. Any thread.
    func destroy() {
        pointee.item.object.tag = 0
        Endpoint.slab.deallocate(self)
    }

    /// The end of an invalidation: closes the descriptor if `closes`, runs the cleanup handlers of callbacks that a fork() has cut off, and
    /// calls the context's release.
    private func finish(closes: Bool) {
        if closes && pointee.fd >= 0 { Descriptor.close(pointee.fd) }
        while let cleanup = Registry.takeAbandonedCleanup(of: self) { cleanup.run() }
        pointee.context.released(pointee.context.info)
    }
}
