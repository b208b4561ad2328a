import CLinux
import Synchronization

// What descriptor objects and sockets have in common, but for what a loop does with them: `Endpoint.swift`.

extension EndpointPointer {
    /// The descriptor, -1 after invalidation. Any thread.
    var nativeDescriptor: Int32 { state.isValid ? pointee.fd : -1 }

    // MARK: arming

    /// Tells the source if it does not know yet. A load, unless it has to be told. Any thread that has a loop.
    @inline(__always)
    func updateInterest(_ now: EndpointState) {
        if now.needsUpdate { updateInterestSlow() }
    }

    /// Tells the source exactly what the endpoint waits for, be it more or less than it knows. Any thread that has a loop.
    @inline(never)
    func updateInterestSlow() {
        Endpoints.mutex.lock()
        defer { Endpoints.mutex.unlock() }
        guard let source = pointee.source else { return }
        var settled: EndpointState?
        repeat {
            let seen = state
            RunLoopPointer.setInterest(of: source) { seen.armed }
            settled = update { state in
                // Somebody changed it meanwhile, and may have relied on what the source was told before.
                if state.armed != seen.armed { return false }
                state.setRegistered(seen.armed)
                return true
            }
        } while settled == nil
    }

    /// Something has been done to the descriptor that the kernel does not report: loops of other threads that sleep look for themselves.
    /// Any thread that has a loop.
    func recheck() {
        Endpoints.mutex.lock()
        if let source = pointee.source { RunLoopPointer.recheck(source) }
        Endpoints.mutex.unlock()
    }

    // MARK: calling

    /// It was reported in vain, or there was more to do after a call. The loop's thread, without its lock; may close the descriptor and call
    /// the context's release.
    @inline(never)
    func reconcile() -> DispatchResult {
        let now = state
        if now.isValid { updateInterestSlow() } else { finishIfIdle(now) }
        return .unwanted
    }

    /// The other end of a call that was begun by `update`, and arms what goes on by itself in the same step. The loop's thread; may close the
    /// descriptor and call the context's release.
    @inline(__always)
    func endCall(_ arm: (inout EndpointState) -> Void) {
        let now = update { state in
            state.bits &-= EndpointState.callUnit
            if state.isValid { arm(&state) }
            return true
        }.unsafelyUnwrapped
        if now.isValid { updateInterest(now) } else { finishIfIdle(now) }
    }

    /// The thread has ended in a call: what that was about to arm is not armed. May call the context's release.
    @inline(never)
    func cancelCall() -> DispatchResult {
        let now = update { state in
            if state.activeCalls == 0 { return false }
            state.bits &-= EndpointState.callUnit
            return true
        }
        if let now, !now.isValid { finishIfIdle(now) }
        return .unwanted
    }

    @inline(never)
    private func finishIfIdle(_ now: EndpointState) {
        if now.activeCalls == 0 && now.has(EndpointState.awaitsLastUser) { finishOnce(0) }
    }

    // MARK: using the descriptor

    /// The calling thread uses the descriptor, which stays open until `endUse`. False if it was invalidated. One atomic addition. Any
    /// thread that has a loop.
    func beginUse() -> Bool {
        if pointee.uses.wrappingAdd(Endpoint.useUnit, ordering: .acquiringAndReleasing).oldValue & Endpoint.invalidated == 0 { return true }
        endUse()
        return false
    }

    /// The other end of `beginUse`. One atomic subtraction. Any thread that has a loop; may close the descriptor and call the context's
    /// release.
    func endUse() {
        let now = pointee.uses.wrappingSubtract(Endpoint.useUnit, ordering: .acquiringAndReleasing).newValue
        if now & Endpoint.invalidated != 0 { finishOnce(0) }
    }

    /// Nobody uses it any more but for `ownCalls` of this thread: one of those who find that out ends it.
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

    /// The endpoint's run loop source with a reference for the caller, made at the first call; nil if it was invalidated or if out of
    /// memory. A thread that has a loop.
    func source(
        order: Int, callsClient: Bool, eventHandler: SourceFunction.EventHandler, _ detail: SourceDetailPointer,
        _ threadContext: ThreadContextPointer
    ) -> SourcePointer? {
        var old: SourcePointer?
        Endpoints.mutex.lock()
        if let source = pointee.source, !source.pointee.item.has(ItemHeader.valid) {
            old = source
            pointee.source = nil
        }
        if pointee.source == nil && state.isValid {
            pointee.source = SourcePointer.create(
                threadContext, order: order, info: self, eventHandler: eventHandler, getPort: { EndpointPointer(info: $0).pointee.fd },
                detail)
            if pointee.source != nil {
                pointee.item.object.retain()
                pointee.source.unsafelyUnwrapped.pointee.item.set(ItemHeader.isOfEndpoint)
                if callsClient { pointee.source.unsafelyUnwrapped.pointee.item.set(ItemHeader.callsClient) }
                // It waits for nothing yet.
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

    /// Invalidates, in CFSocket's order: invalid, no longer watched, closed, the context's release called, the source invalidated. While
    /// other threads are using the descriptor it stays open; the last of them closes it and calls release. False if it was invalid already.
    /// A thread that has a loop; calls release, and the source's cancel.
    func invalidate(closes: Bool) -> Bool {
        let ownCalls = ThreadContextPointer.current.map { RunLoopPointer($0).dispatchDepth(of: self) } ?? 0
        guard
            let now = update({ state in
                if !state.isValid { return false }
                state.clear(EndpointState.valid | EndpointState.armedRead | EndpointState.armedWrite)
                let uses = pointee.uses.bitwiseOr(Endpoint.invalidated, ordering: .acquiringAndReleasing).oldValue
                if state.activeCalls > ownCalls || uses >= Endpoint.useUnit {
                    // This thread is one of them until it is not watched any more: nobody closes it before that.
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

    /// For a descriptor object or a socket; nil with ENOMEM. The calling thread's context.
    @inline(never)
    static func allocate(_ threadContext: ThreadContextPointer) -> UnsafeMutableRawPointer? {
        let memory = ThreadContext.endpointSlab.allocate(&threadContext.pointee.endpoints)
        if memory == nil { systemError = ENOMEM }
        return memory
    }

    /// The last reference is gone, and nobody has the memory any more. Any thread.
    func destroy() {
        pointee.item.object.tag = 0
        if let threadContext = ThreadContextPointer.current {
            ThreadContext.endpointSlab.deallocate(self, &threadContext.pointee.endpoints)
        } else {
            ThreadContext.endpointSlab.deallocateWithoutCache(self)
        }
    }

    private func finish(closes: Bool) {
        if closes && pointee.fd >= 0 { Descriptor.close(pointee.fd) }
        pointee.context.released(pointee.context.info)
    }
}
