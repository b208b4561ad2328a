import CLinux
import Synchronization

/// What a descriptor object and a socket begin with: the descriptor, whom to tell, what it waits for, and its run loop source.
///
/// Being armed and being watched are two things. Arming is one atomic change of `state`; the source, and through it epoll, is
/// told only when the endpoint is armed for more than the source knows already. What is disarmed stays watched until it is
/// reported in vain. So who is armed anew after every call, as most are, costs no system call and no lock.
///
/// Life: clients have references, and the source has one as long as it lives; the endpoint keeps its source until it is invalidated.
struct Endpoint: ~Copyable {
    var header: ObjectHeader
    /// An `EndpointState`. Any thread.
    let stateBits: Atomic<UInt32>
    let fd: Int32
    /// `info` is retained.
    let context: ClientContext
    /// With a reference. Guarded by `Endpoints.mutex`.
    var source: SourcePointer?

    init(_ kind: Kind, fd: Int32, context: ClientContext, _ state: EndpointState) {
        header = ObjectHeader(kind)
        stateBits = Atomic(state.bits)
        self.fd = fd
        self.context = context
        source = nil
    }
}

typealias EndpointPointer = UnsafeMutablePointer<Endpoint>

extension UnsafeMutablePointer where Pointee == Endpoint {
    /// The endpoint that is the info of its source. O(1).
    @inline(__always)
    init(info: UnsafeMutableRawPointer?) { self = info.unsafelyUnwrapped.assumingMemoryBound(to: Endpoint.self) }

    /// Any thread.
    @inline(__always)
    var state: EndpointState { EndpointState(pointee.stateBits.load(ordering: .acquiring)) }

    /// The descriptor, -1 after invalidation. Any thread.
    var native: Int32 { state.isValid ? pointee.fd : -1 }

    /// Changes the state as a whole; nil, and nothing is changed, if `change` says so. Returns the new one. Any thread, lock-free.
    @inline(__always)
    func update(_ change: (inout EndpointState) -> Bool) -> EndpointState? {
        var old = state
        while true {
            var new = old
            if !change(&new) { return nil }
            let (done, now) = pointee.stateBits.weakCompareExchange(
                expected: old.bits, desired: new.bits, successOrdering: .acquiringAndReleasing, failureOrdering: .acquiring)
            if done { return new }
            old = EndpointState(now)
        }
    }

    // MARK: arming

    /// Tells the source if it does not know yet. A load, unless it has to be told. Any thread that has a loop.
    @inline(__always)
    func tellSource(_ now: EndpointState) {
        if now.isNews { bringSourceUpToDate() }
    }

    /// Tells the source exactly what the endpoint waits for, be it more or less than it knows. Any thread that has a loop.
    @inline(never)
    func bringSourceUpToDate() {
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
                state.setTold(seen.armed)
                return true
            }
        } while settled == nil
    }

    // MARK: using the descriptor

    /// The calling thread uses the descriptor, which stays open until `leave`. False if it was invalidated. Any thread.
    func enter() -> Bool {
        update { state in
            if state.isValid { state.bits &+= EndpointState.user }
            return state.isValid
        } != nil
    }

    /// The other end of `enter`. One atomic subtraction. Any thread that has a loop; may close the descriptor and call the context's
    /// release.
    @inline(__always)
    func leave() {
        let now = EndpointState(
            pointee.stateBits.wrappingSubtract(EndpointState.user, ordering: .acquiringAndReleasing).newValue)
        if !now.isValid { finishIfLast(now) }
    }

    /// The same, and arms what goes on by itself in the same step.
    @inline(__always)
    func leave(_ arming: (inout EndpointState) -> Void) {
        let now = update { state in
            state.bits &-= EndpointState.user
            arming(&state)
            return true
        }.unsafelyUnwrapped
        if now.isValid { tellSource(now) } else { finishIfLast(now) }
    }

    @inline(never)
    private func finishIfLast(_ now: EndpointState) {
        if now.users == 0 && now.has(EndpointState.unfinished) { finishLate(0) }
    }

    /// The thread has ended between `enter` and `leave`: what a call was about to arm is not armed. May call the context's release.
    @inline(never)
    func abandon() -> Served {
        if state.users > 0 { leave() }
        return .unwanted
    }

    /// Nobody uses it any more but for `ownCalls` of this thread: one of those who find that out ends it.
    @inline(never)
    private func finishLate(_ ownCalls: UInt32) {
        let mine = update { state in
            if !state.has(EndpointState.unfinished) || state.users > ownCalls { return false }
            state.clear(EndpointState.unfinished)
            return true
        }
        if let mine { finish(closes: mine.has(EndpointState.closes)) }
    }

    // MARK: the source

    /// The endpoint's run loop source with a reference for the caller, made at the first call; nil if it was invalidated or if out of
    /// memory. A thread that has a loop.
    func source(
        order: Int, serve: SourceFunction.Serve, _ detail: SourceDetailPointer, _ home: HomePointer
    ) -> SourcePointer? {
        var old: SourcePointer?
        Endpoints.mutex.lock()
        if let source = pointee.source, !source.pointee.item.has(ItemHeader.valid) {
            old = source
            pointee.source = nil
        }
        if pointee.source == nil && state.isValid {
            pointee.source = SourcePointer.create(
                home, order: order, info: self, serve: serve, getPort: { EndpointPointer(info: $0).pointee.fd }, detail)
            if pointee.source != nil {
                pointee.header.retain()
                // It waits for nothing yet.
                _ = update { state in
                    state.setTold([])
                    return true
                }
            }
        }
        let source = pointee.source
        source?.pointee.item.object.retain()
        Endpoints.mutex.unlock()
        old?.giveBack()
        if source != nil { tellSource(state) }
        return source
    }

    // MARK: the end

    /// Invalidates, in CFSocket's order: invalid, no longer watched, closed, the context's release called, the source invalidated. While
    /// other threads are using the descriptor it stays open; the last of them closes it and calls release. False if it was invalid already.
    /// A thread that has a loop; calls release, and the source's cancel.
    func invalidate(closes: Bool) -> Bool {
        let ownCalls = HomePointer.current.map { RunLoopPointer($0).calls(of: self) } ?? 0
        guard
            let now = update({ state in
                if !state.isValid { return false }
                state.clear(EndpointState.valid | EndpointState.armedToRead | EndpointState.armedToWrite)
                if state.users > ownCalls {
                    // This thread is one of them until it is not watched any more: nobody closes it before that.
                    state.bits += EndpointState.user
                    state.set(EndpointState.unfinished)
                    if closes { state.set(EndpointState.closes) }
                }
                return true
            })
        else { return false }
        Endpoints.mutex.lock()
        let source = pointee.source
        pointee.source = nil
        Endpoints.mutex.unlock()
        if let source { RunLoopPointer.unwatch(source) }
        if now.has(EndpointState.unfinished) {
            _ = update { state in
                state.bits -= EndpointState.user
                return true
            }
            finishLate(ownCalls)
        } else {
            finish(closes: closes)
        }
        if let source {
            RunLoopPointer.invalidate(source)
            source.giveBack()
        }
        return true
    }

    private func finish(closes: Bool) {
        if closes && pointee.fd >= 0 { EventDescriptor.close(pointee.fd) }
        pointee.context.released(pointee.context.info)
    }
}
