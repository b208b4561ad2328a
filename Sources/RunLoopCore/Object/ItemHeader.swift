import Synchronization

/// The first field of every item: source, timer, observer (and, for its owner, of an endpoint).
///
/// An item is guarded by the lock of its owner, a `ThreadContext`: that of the thread that made it, later that of the loop it is
/// in. So a thread that makes items for its own loop never executes a locked instruction for them.
///
/// An item lives as long as clients have references to it, or a loop has internal references. Both counts may only reach zero
/// together under the lock: references are atomic, but the last one is given up under the lock, which guards the internal ones. So
/// exactly one thread finds both at zero, and destroys the item.
struct ItemHeader: ~Copyable {
    var object: ObjectHeader
    /// The address of the context whose lock guards the item. Changed only with the locks of the old and the new owner; read by any
    /// thread. An integer, because ThreadSanitizer's compiler pass crashes on atomic pointers (Swift 6.3).
    private let ownerAddress: Atomic<UInt>
    /// The flags below. Changed under the lock; read by any thread.
    let flags: Atomic<UInt16>
    /// How many reasons the library has to keep the item: it is in a loop; its function is running. Under the lock.
    var internalReferences: UInt16
    /// The heap index of a timer, under the lock; the signal flag of a source: see `SourcePointer.signalFlag`.
    var position: UInt32

    /// Not invalidated yet.
    static var valid: UInt16 { 1 }
    /// Timers and observers: the function is running. It is not called again before it returns.
    static var firing: UInt16 { 2 }
    /// Timers and observers: it stays valid after its function was called.
    static var repeats: UInt16 { 4 }
    /// The item is in at least one mode of a loop.
    static var bound: UInt16 { 8 }
    /// Sources on descriptors: the events of interest, as epoll's bits shifted left by four. The source of a descriptor object or
    /// socket changes them while it is in use.
    static var waitsToRead: UInt16 { 16 }
    static var waitsToWrite: UInt16 { 64 }
    /// Sources: made by the library. Its function is a `SourceFunction.EventHandler`, not a client's perform function.
    static var isInternal: UInt16 { 32 }
    /// Internal sources: it does not keep a mode from being empty.
    static var unreferenced: UInt16 { 128 }

    /// Internal sources: the info is an endpoint, whose client the loop calls directly.
    static var callsClient: UInt16 { 256 }

    /// Timers and observers: it was moved to another loop while its function ran, so the thread that called the function is not
    /// that of its owner.
    static var away: UInt16 { 512 }
    /// Sources: the info is a descriptor object or a socket.
    static var isOfEndpoint: UInt16 { 1024 }
    /// Timers: the deadline is stored in the detail, not computed from the date. Implied for repeating timers.
    static var keepsDeadline: UInt16 { 2048 }
    /// Timers: they have a `TimerDetail`.
    static var hasDetail: UInt16 { 4096 }

    init(_ kind: Kind, owner: ThreadContextPointer, flags: UInt16, position: UInt32 = .max) {
        object = ObjectHeader(kind)
        ownerAddress = Atomic(UInt(bitPattern: owner))
        self.flags = Atomic(flags | Self.valid)
        internalReferences = 0
        self.position = position
    }

    /// The context whose lock guards the item. Any thread; stable only under that lock.
    @inline(__always)
    var owner: ThreadContextPointer { ThreadContextPointer(bitPattern: ownerAddress.load(ordering: .acquiring)).unsafelyUnwrapped }

    /// Under the locks of both owners.
    @inline(__always)
    func setOwner(_ new: ThreadContextPointer) { ownerAddress.store(UInt(bitPattern: new), ordering: .releasing) }

    /// Whether any of these flags is set. Any thread.
    @inline(__always)
    func has(_ flag: UInt16) -> Bool { flags.load(ordering: .acquiring) & flag != 0 }

    /// Sets flags. Under the lock.
    @inline(__always)
    func set(_ flag: UInt16) { flags.store(flags.load(ordering: .relaxed) | flag, ordering: .releasing) }

    /// Whether exactly the flags `wanted`, of all in `flags`, are set. Any thread.
    @inline(__always)
    func has(_ wanted: UInt16, of flags: UInt16) -> Bool { self.flags.load(ordering: .acquiring) & flags == wanted }

    /// Clears flags. Under the lock.
    @inline(__always)
    func clear(_ flag: UInt16) { flags.store(flags.load(ordering: .relaxed) & ~flag, ordering: .releasing) }
}

extension ItemHeader {
    /// The offset of `position`. Embedded Swift has no `MemoryLayout.offset(of:)`, so a test compares.
    static var positionOffset: Int { 20 }
}

typealias ItemPointer = UnsafeMutablePointer<ItemHeader>

extension ItemPointer {
    /// Locks the item's owner and returns it. The caller has a reference of either kind. The owner may change until it is locked,
    /// so this looks again.
    @inline(__always)
    func lockInlined() -> ThreadContextPointer {
        while true {
            let owner = pointee.owner
            owner.lockInlined()
            if pointee.owner == owner { return owner }
            owner.unlock()
        }
    }

    /// `lockInlined`, not inlined: for everything but hot paths.
    @inline(never)
    func lock() -> ThreadContextPointer { lockInlined() }

    /// Locks the item's owner and the context of a loop, which may be the same, and returns the owner. Unlock with `unlockBoth`.
    /// The lower address is locked first, everywhere, so that no two threads wait for each other.
    func lock(and loop: ThreadContextPointer) -> ThreadContextPointer {
        while true {
            let owner = pointee.owner
            Swift.min(owner, loop).lock()
            if owner != loop { Swift.max(owner, loop).lock() }
            if pointee.owner == owner { return owner }
            Self.unlockBoth(owner, loop)
        }
    }

    /// Unlocks what `lock(and:)` has locked.
    static func unlockBoth(_ owner: ThreadContextPointer, _ loop: ThreadContextPointer) {
        owner.unlock()
        if owner != loop { loop.unlock() }
    }

    /// Adds an internal reference. Under the lock.
    @inline(__always)
    func retainInternal() { pointee.internalReferences &+= 1 }

    /// Removes an internal reference. True if that was the last reference of either kind: the caller destroys the item after
    /// unlocking. Under the lock.
    @inline(__always)
    func releaseInternal() -> Bool {
        pointee.internalReferences -= 1
        return pointee.internalReferences == 0 && pointee.object.references.load(ordering: .acquiring) == 0
    }

    /// What became of an item when a reference to it was released.
    enum ReleaseOutcome { case alive, dead, overReleased }

    /// Releases a client's reference. `dead`: the caller destroys the item. `overReleased`: there was none. Any thread; on the
    /// owner's thread without a locked instruction for the last reference.
    @inline(__always)
    func release() -> ReleaseOutcome {
        if pointee.object.releaseUnlessLast() { return .alive }
        let owner = lockInlined()
        let outcome = releaseLocked()
        owner.unlockInlined()
        return outcome
    }

    /// Takes the only reference, the client's, from an item that no loop has; the caller then destroys the item. False if there are
    /// other references: then nothing has changed. Under the lock.
    ///
    /// A plain store suffices: to retain an item, a thread needs a reference or the lock, and no other thread has either.
    @inline(__always)
    func takeLastReference() -> Bool {
        if pointee.internalReferences != 0 || pointee.object.references.load(ordering: .acquiring) != 1 { return false }
        pointee.object.references.store(0, ordering: .releasing)
        return true
    }

    /// Takes the only reference of clients from an item that a loop has, in a process with one thread. False if there are more, or none: then
    /// nothing has changed. Under the lock.
    @inline(__always)
    func takeLastClientReference() -> Bool {
        if pointee.object.references.load(ordering: .acquiring) != 1 || !Thread.isAlone { return false }
        pointee.object.references.store(0, ordering: .releasing)
        return true
    }

    @inline(__always)
    private func releaseLocked() -> ReleaseOutcome {
        let seen = pointee.object.references.load(ordering: .acquiring)
        if seen == 0 { return .overReleased }
        if takeLastReference() {
            RaceDetector.happensAfter(pointee.object.references)
            return .dead
        }
        let left = pointee.object.references.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue
        return left == 0 && pointee.internalReferences == 0 ? .dead : .alive
    }
}
