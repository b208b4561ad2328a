import Synchronization

/// The first field of every item: source, timer or observer. Endpoints (descriptor objects, sockets) begin with one, too, and use only its
/// owner.
///
/// An item is guarded by the lock of its owner, a `ThreadContext`: first that of the thread that made it, later that of the item's loop. So
/// a thread that makes items for its own loop never executes a locked instruction for them.
///
/// An item lives as long as clients have references to it, or a loop has internal references. Both counts are zero at the same time only
/// under the lock: references are atomic, but the last one is released under the lock, which guards the internal ones. So exactly one
/// thread finds both at zero, and destroys the item.
struct ItemHeader: ~Copyable {
    var object: ObjectHeader
    /// The address of the context whose lock guards the item. Changed only with the locks of the old and the new owner; read by any
    /// thread. An integer, because ThreadSanitizer's compiler pass crashes on atomic pointers (Swift 6.3).
    private let ownerAddress: Atomic<UInt>
    /// The raw value of `flags`.
    private let flagBits: Atomic<UInt16>
    /// How many reasons the library has to keep the item, such as that it is in a loop or that its function is running. Under the lock.
    var internalReferences: UInt16
    /// The heap index of a timer, under the lock; the signal flag of a source: see `SourcePointer.signalFlag`.
    var position: UInt32

    init(_ kind: Kind, owner: ThreadContextPointer, flags: ItemFlags, position: UInt32 = .max) {
        object = ObjectHeader(kind)
        ownerAddress = Atomic(UInt(bitPattern: owner))
        flagBits = Atomic(flags.union(.valid).rawValue)
        internalReferences = 0
        self.position = position
    }

    /// The context whose lock guards the item. Any thread; stable only under that lock.
    var owner: ThreadContextPointer { ThreadContextPointer(bitPattern: ownerAddress.load(ordering: .acquiring)).unsafelyUnwrapped }

    /// Changes the owner. Under the locks of the old and the new one.
    func setOwner(_ new: ThreadContextPointer) { ownerAddress.store(UInt(bitPattern: new), ordering: .releasing) }

    /// Changed under the lock; read by any thread.
    var flags: ItemFlags { ItemFlags(rawValue: flagBits.load(ordering: .acquiring)) }

    /// Whether any of these flags is set. Any thread.
    func has(_ some: ItemFlags) -> Bool { !flags.isDisjoint(with: some) }

    /// Whether exactly the flags `wanted`, of all in `all`, are set. Any thread.
    func has(_ wanted: ItemFlags, of all: ItemFlags) -> Bool { flags.intersection(all) == wanted }

    /// Sets flags. Under the lock.
    @inline(__always)
    func set(_ some: ItemFlags) { flagBits.store(flagBits.load(ordering: .relaxed) | some.rawValue, ordering: .releasing) }

    /// Sets or clears `unreferenced`. Under the lock.
    @inline(__always)
    func setUnreferenced(_ isUnreferenced: Bool) {
        let others = flagBits.load(ordering: .relaxed) & ~ItemFlags.unreferenced.rawValue
        flagBits.store(others | (isUnreferenced ? ItemFlags.unreferenced.rawValue : 0), ordering: .releasing)
    }

    /// Clears flags. Under the lock.
    func clear(_ some: ItemFlags) { flagBits.store(flagBits.load(ordering: .relaxed) & ~some.rawValue, ordering: .releasing) }
}

/// Flags, internal references and position of a timer, which lie side by side. The shortcuts for timers compare and write the three at
/// once: the shorter the code for each timer, the more timers the processor can prefetch.
struct ItemState: BitwiseCopyable, Equatable {
    fileprivate var bits: UInt64

    /// A timer without a detail that is valid and in no loop.
    static let simple = ItemState(bits: 0xFFFF_FFFF_0000_0000 | UInt64(ItemFlags.valid.rawValue))
    /// A timer without a detail whose function is running and that is in a loop: of its two internal references, one is the loop's and one
    /// the call's.
    static let firing = ItemState(bits: 0xFFFF_FFFF_0002_0000 | UInt64(ItemFlags([.valid, .bound, .firing]).rawValue))
    /// A timer that is invalid and in no loop, without a detail: see `ItemFlags.ended`.
    static let ended = ItemState(bits: 0xFFFF_FFFF_0000_0000 | UInt64(ItemFlags.ended.rawValue))
    /// As `ended`, but clients had several references to the timer when it ended, so that flag is not set.
    static let over = ItemState(bits: 0xFFFF_FFFF_0000_0000)

    /// A timer without a detail that is valid and queued at this position, in one loop, which has the only internal reference.
    static func queued(at position: UInt32) -> ItemState { ItemState(bits: UInt64(position) &<< 32 | queuedBits) }

    private static let queuedBits = 0x1_0000 | UInt64(ItemFlags([.valid, .bound]).rawValue)

    /// Whether this is what `queued` returns for some position.
    var isQueued: Bool { UInt32(truncatingIfNeeded: bits) == UInt32(truncatingIfNeeded: Self.queuedBits) }

    /// The distance from the position in `other` to that in this state, modulo 2^32; larger than any distance unless this state is queued.
    /// `other` is.
    @inline(__always)
    func distance(from other: ItemState) -> UInt64 {
        let difference = bits &- other.bits
        return difference &<< 32 | difference &>> 32
    }
}

/// What is true of an item.
struct ItemFlags: OptionSet, BitwiseCopyable {
    let rawValue: UInt16

    init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The item has not been invalidated.
    static let valid = ItemFlags(rawValue: 1)
    /// The item is in at least one mode of a loop.
    static let bound = ItemFlags(rawValue: 8)
    /// A source or timer that does not keep its modes from being empty.
    static let unreferenced = ItemFlags(rawValue: 128)

    // Timers and observers.

    /// The function is running. It is not called again before it returns.
    static let firing = ItemFlags(rawValue: 2)
    /// A timer or observer that stays valid after its function has been called.
    static let repeats = ItemFlags(rawValue: 4)
    /// A timer or observer that was moved to another loop while its function ran, so that the calling thread is no longer its owner's.
    static let away = ItemFlags(rawValue: 512)
    /// Timers: the deadline is stored in the detail, not computed from the date. Implied for repeating timers.
    static let keepsDeadline = ItemFlags(rawValue: 2048)
    /// Timers: they have a `TimerDetail`.
    static let hasDetail = ItemFlags(rawValue: 4096)
    /// Timers: invalidated, in no loop, and no longer used by the library, so that the last reference can be released without the lock. Set
    /// under the lock while clients have exactly one reference. So a thread that reads a count of one, and then this flag, has that reference
    /// itself: another thread could take a second one only before the timer ended, and then the flag would not have been set.
    static let ended = ItemFlags(rawValue: 8192)

    // Sources.

    /// The source waits to read on its descriptor. This and `waitsToWrite` are epoll's bits shifted left by four: see
    /// `SourcePointer.interest`. They may change while the source of a descriptor object or socket is in a loop.
    static let waitsToRead = ItemFlags(rawValue: 16)
    static let waitsToWrite = ItemFlags(rawValue: 64)
    /// Internal sources: waits only for the end of the connection (`Events.onlyHangUp`, shifted by four as well).
    static let waitsForHangUp = ItemFlags(rawValue: 16384)
    /// The source was made by the library. Its function is a `SourceFunction.EventHandler`, not a client's perform function.
    static let isInternal = ItemFlags(rawValue: 32)
    /// Internal sources: the info is an endpoint, and the loop calls the endpoint's client directly.
    static let callsClient = ItemFlags(rawValue: 256)
    /// The info is a descriptor object or a socket.
    static let isOfEndpoint = ItemFlags(rawValue: 1024)
}

extension ItemHeader {
    /// The offset of `position`. Embedded Swift has no `MemoryLayout.offset(of:)`, so this is a number that a test checks.
    static var positionOffset: Int { 20 }
}

typealias ItemPointer = UnsafeMutablePointer<ItemHeader>

extension ItemPointer {
    /// Locks the item's owner and returns it. The caller has a reference of either kind. The owner may change until its lock is held, so it
    /// is compared again after locking.
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

    /// Flags, internal references and position in one word (`ItemState`). Changed under the lock, by a single atomic store, because other
    /// threads read the flags.
    var state: ItemState {
        get { ItemState(bits: stateBits.pointee.load(ordering: .acquiring)) }
        nonmutating set { stateBits.pointee.store(newValue.bits, ordering: .releasing) }
    }

    private var stateBits: UnsafeMutablePointer<Atomic<UInt64>> {
        (UnsafeMutableRawPointer(self) + ItemHeader.positionOffset - 4).assumingMemoryBound(to: Atomic<UInt64>.self)
    }

    /// Adds an internal reference. Under the lock.
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

    /// Releases a client's reference. Returns `dead` if the caller has to destroy the item, and `overReleased` if there was no reference
    /// left. Any thread; the owner's thread executes no locked instruction for the last reference.
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
    func takeLastReference() -> Bool {
        if pointee.internalReferences != 0 || pointee.object.references.load(ordering: .acquiring) != 1 { return false }
        pointee.object.references.store(0, ordering: .releasing)
        return true
    }

    /// The rest of `release`, when this may be the last reference. Under the lock.
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
