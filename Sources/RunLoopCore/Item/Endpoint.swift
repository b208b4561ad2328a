import Synchronization

/// The common beginning of descriptor objects and sockets: a descriptor, the client's callback, what the endpoint waits for, and its run
/// loop source.
///
/// An event is armed if the client is to be called for it, and registered if the source, and through it epoll, watches for it. Arming only
/// changes `state`, unless the event is not registered. A disarmed event stays registered until it is reported without being wanted. So
/// arming the same event again after every call, as most clients do, costs no system call and no locked instruction.
///
/// This file has what loops do with endpoints; the rest is in `Endpoint+Source.swift`. The fields that are read to call the client are in
/// the first cache line.
///
/// Life: clients have references, and so has the source while it exists. The endpoint has a reference to its source until the endpoint is
/// invalidated.
struct Endpoint: CallbackInfo, ~Copyable {
    /// Only the object header and the owner are used. The owner is at first the thread that created the endpoint, later the loop that last
    /// called its client.
    var item: ItemHeader
    /// An `EndpointState`. Changed with the owner's lock held; read by any thread.
    let stateBits: Atomic<UInt32>
    let fd: Int32
    let callout: EndpointCallout
    /// The client's context. `info` is retained.
    let context: ClientContext
    /// How many threads are using the descriptor outside of calls, times `useUnit`; plus `invalidated` once the endpoint is invalid. Any
    /// thread.
    let uses: Atomic<UInt32>
    /// The run loop source, with a reference. Guarded by `Endpoints.mutex`.
    var source: SourcePointer?

    /// The memory for descriptor objects and sockets, which begin with an endpoint.
    static let slab = Slab(size: 128)

    static var invalidated: UInt32 { 1 }
    static var useUnit: UInt32 { 2 }

    init(
        _ kind: Kind, fd: Int32, _ callout: EndpointCallout, context: ClientContext, _ state: EndpointState,
        _ threadContext: ThreadContextPointer
    ) {
        item = ItemHeader(kind, owner: threadContext, flags: [])
        stateBits = Atomic(state.bits)
        self.fd = fd
        self.callout = callout
        self.context = context
        uses = Atomic(state.isValid ? 0 : Self.invalidated)
        source = nil
    }
}

/// The client's callback.
struct EndpointCallout: BitwiseCopyable, @unchecked Sendable {
    typealias OfDescriptor = @convention(c) (OpaquePointer?, UInt, UnsafeMutableRawPointer?) -> Void
    typealias OfSocket =
        @convention(c) (OpaquePointer?, UInt, OpaquePointer?, UnsafeRawPointer?, UnsafeMutableRawPointer?) -> Void

    private let address: UInt

    init(_ function: OfDescriptor?) { address = unsafeBitCast(function, to: UInt.self) }
    init(_ function: OfSocket?) { address = unsafeBitCast(function, to: UInt.self) }

    var ofDescriptor: OfDescriptor? { unsafeBitCast(address, to: OfDescriptor?.self) }
    var ofSocket: OfSocket? { unsafeBitCast(address, to: OfSocket?.self) }
}

typealias EndpointPointer = UnsafeMutablePointer<Endpoint>

extension EndpointPointer {
    private var item: ItemPointer { UnsafeMutableRawPointer(self).assumingMemoryBound(to: ItemHeader.self) }

    /// The current state. Any thread.
    var state: EndpointState { EndpointState(pointee.stateBits.load(ordering: .acquiring)) }

    /// Stores the state. The caller holds the lock.
    private func set(_ state: EndpointState) { pointee.stateBits.store(state.bits, ordering: .releasing) }

    /// Changes the state as a whole and returns the new one. If `change` returns false, changes nothing and returns nil. Any thread that
    /// holds no loop's lock: `change` is called with the owner's lock held.
    func update(_ change: (inout EndpointState) -> Bool) -> EndpointState? {
        let owner = item.lock()
        var new = state
        let isChanged = change(&new)
        if isChanged { set(new) }
        owner.unlock()
        return isChanged ? new : nil
    }

    /// Disarms the `ready` events that are armed, and counts a call of the client: the descriptor stays open until `endCall`. Returns the
    /// events; an empty set if there are none, without a change. Loop thread only; call without a lock held.
    func beginCall(_ ready: Events) -> Events {
        adopt()
        var fired = Events()
        _ = update { state in
            // Invalidating disarms, so an armed endpoint is valid.
            fired = ready.intersection(state.armed)
            if fired.isEmpty { return false }
            state.disarm(fired)
            state.bits &+= EndpointState.callUnit
            return true
        }
        return fired
    }

    /// Ends a call of the client in the child of fork(), where the calling thread does not exist. The caller holds all locks.
    func resetCallsAfterFork() { if state.activeCalls > 0 { set(EndpointState(state.bits - EndpointState.callUnit)) } }

    /// Ends the uses of the descriptor in the child of fork(), where the threads that were using it do not exist.
    func resetUsesAfterFork() { _ = pointee.uses.bitwiseAnd(Endpoint.invalidated, ordering: .relaxed) }

    /// Makes the calling thread the owner, so that `update` takes no other thread's lock. Loop thread only; call without a lock held.
    func adopt() {
        guard let own = ThreadContextPointer.current, pointee.item.owner != own else { return }
        let old = item.lock(and: own)
        pointee.item.setOwner(own)
        if old != own { old.unlock() }
        own.unlock()
    }
}
