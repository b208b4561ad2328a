import Synchronization

/// What a descriptor object and a socket begin with: the descriptor, whom to tell, what it waits for, and its run loop source.
///
/// Being armed and being watched are two things. Arming is a change of `state`; the source, and through it epoll, is
/// told only when the endpoint is armed for more than the source knows already. What is disarmed stays watched until it is
/// reported in vain. So who is armed anew after every call, as most are, costs no system call and no locked instruction.
///
/// Here is what a loop does with it; the rest is `Endpoint+Source.swift`. What is read to call the client lies in its first cache line.
///
/// Life: clients have references, and the source has one as long as it lives; the endpoint keeps its source until it is invalidated.
struct Endpoint: ~Copyable {
    /// Of which it uses the header and the thread context: that of the thread that made it, or of the loop that has called its client last.
    var item: ItemHeader
    /// An `EndpointState`. Changed under the owner's lock; read by any thread.
    let stateBits: Atomic<UInt32>
    let fd: Int32
    let callout: EndpointCallout
    /// `info` is retained.
    let context: ClientContext
    /// Threads that use the descriptor outside of calls, by `useUnit`, and `invalidated` once it is invalid. Any thread.
    let uses: Atomic<UInt32>
    /// With a reference. Guarded by `Endpoints.mutex`.
    var source: SourcePointer?

    static var invalidated: UInt32 { 1 }
    static var useUnit: UInt32 { 2 }

    init(
        _ kind: Kind, fd: Int32, _ callout: EndpointCallout, context: ClientContext, _ state: EndpointState,
        _ threadContext: ThreadContextPointer
    ) {
        item = ItemHeader(kind, owner: threadContext, flags: 0)
        stateBits = Atomic(state.bits)
        self.fd = fd
        self.callout = callout
        self.context = context
        uses = Atomic(state.isValid ? 0 : Self.invalidated)
        source = nil
    }
}

/// The client's function.
struct EndpointCallout: BitwiseCopyable, @unchecked Sendable {
    typealias OfDescriptor = @convention(c) (OpaquePointer?, UInt, UnsafeMutableRawPointer?) -> Void
    typealias OfSocket =
        @convention(c) (OpaquePointer?, UInt, OpaquePointer?, UnsafeRawPointer?, UnsafeMutableRawPointer?) -> Void

    private let address: UInt

    init(_ function: OfDescriptor?) { address = unsafeBitCast(function, to: UInt.self) }
    init(_ function: OfSocket?) { address = unsafeBitCast(function, to: UInt.self) }

    @inline(__always)
    var ofDescriptor: OfDescriptor? { unsafeBitCast(address, to: OfDescriptor?.self) }
    @inline(__always)
    var ofSocket: OfSocket? { unsafeBitCast(address, to: OfSocket?.self) }
}

typealias EndpointPointer = UnsafeMutablePointer<Endpoint>

extension EndpointPointer {
    /// The endpoint that is the info of its source. O(1).
    @inline(__always)
    init(info: UnsafeMutableRawPointer?) { self = info.unsafelyUnwrapped.assumingMemoryBound(to: Endpoint.self) }

    @inline(__always)
    private var item: ItemPointer { UnsafeMutableRawPointer(self).assumingMemoryBound(to: ItemHeader.self) }

    /// Any thread.
    @inline(__always)
    var state: EndpointState { EndpointState(pointee.stateBits.load(ordering: .acquiring)) }

    /// Under the lock.
    @inline(__always)
    private func set(_ state: EndpointState) { pointee.stateBits.store(state.bits, ordering: .releasing) }

    /// Changes the state as a whole; nil, and nothing is changed, if `change` says so. Returns the new one. Any thread that has no
    /// loop's lock: `change` is called under that of the owner.
    @inline(__always)
    func update(_ change: (inout EndpointState) -> Bool) -> EndpointState? {
        let owner = item.lock()
        var new = state
        let isChanged = change(&new)
        if isChanged { set(new) }
        owner.unlock()
        return isChanged ? new : nil
    }

    /// Arms it if the calling thread owns it and nobody else is about. False: go on with `OwnerLock.stepOut`, arm, and tell the source.
    /// Calls nothing, so that its caller needs no frame.
    @inline(__always)
    func tryArm(_ events: Events) -> Bool {
        let owner = pointee.item.owner
        if !owner.isCurrent || !owner.pointee.lock.tryLock() || pointee.item.owner != owner { return false }
        var now = state
        if now.isValid { now.arm(events) }
        set(now)
        return owner.pointee.lock.tryUnlockUncontended() && !now.needsUpdate
    }

    /// A loop is about to call the client for what is `ready`. That is disarmed as far as the endpoint waits for it, and the descriptor
    /// stays open until `endCall`. Empty, and nothing has changed: it waits for none of it. Under the loop's lock, which it may give back
    /// meanwhile.
    @inline(__always)
    func beginCall(_ ready: Events, _ threadContext: ThreadContextPointer) -> Events {
        if pointee.item.owner != threadContext { changeOwner(to: threadContext) }
        var state = state
        // Who is armed is valid.
        let fired = ready.intersection(state.armed)
        if fired.isEmpty { return fired }
        state.disarm(fired)
        state.bits &+= EndpointState.callUnit
        set(state)
        return fired
    }

    /// The other end of `beginCall`, after which reading goes on by itself if the state says so. False: there is more to do, see
    /// `SourceFunction.EventHandler`. Under the loop's lock, which it may give back meanwhile.
    @inline(__always)
    func endCall(_ threadContext: ThreadContextPointer) -> Bool {
        if pointee.item.owner != threadContext { changeOwner(to: threadContext) }
        var now = state
        now.bits &-= EndpointState.callUnit
        if now.bits & (EndpointState.rearmsReading | EndpointState.readDisabled | EndpointState.valid)
            == EndpointState.rearmsReading | EndpointState.valid
        {
            now.set(EndpointState.armedRead)
        }
        set(now)
        return now.isValid && !now.needsUpdate
    }

    /// In a child of fork(): a thread that was in a call does not exist there. Under all locks.
    func resetCallsAfterFork() { if state.activeCalls > 0 { set(EndpointState(state.bits - EndpointState.callUnit)) } }

    /// In a child of fork(): threads that were using the descriptor do not exist there.
    func resetUsesAfterFork() { _ = pointee.uses.bitwiseAnd(Endpoint.invalidated, ordering: .relaxed) }

    /// Under the lock of the new one, which it gives back meanwhile.
    @inline(never)
    private func changeOwner(to threadContext: ThreadContextPointer) {
        threadContext.unlock()
        let old = item.lock(and: threadContext)
        pointee.item.setOwner(threadContext)
        if old != threadContext { old.unlock() }
    }
}
