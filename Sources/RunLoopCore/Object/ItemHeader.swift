import Synchronization

/// The first field of every item: source, timer or observer. Endpoints (descriptor objects, sockets) begin with one, too, and use only its
/// owner.
///
/// An item is guarded by the lock of its owner, a `ThreadContext`. The owner is at first the context of the thread that created the item,
/// later that of the item's loop. So a thread that creates items for its own loop never executes a locked instruction for them.
///
/// An item lives as long as clients have references to it, or loops have internal references. Both counts become zero only under the lock:
/// references are atomic, but the last one is released under the lock, which guards the internal ones (except that of a timer that has
/// `ended`, which only one thread can have). So exactly one thread finds both counts at zero and destroys the item.
struct ItemHeader: ~Copyable {
    var object: ObjectHeader
    /// The address of the context whose lock guards the item. Changed only with the locks of the old and the new owner held; read by any
    /// thread. An integer, because ThreadSanitizer's compiler pass crashes on atomic pointers (Swift 6.3).
    private let ownerAddress: Atomic<UInt>
    /// The raw value of `flags`.
    private let flagBits: Atomic<UInt16>
    /// The number of reasons for which the library keeps the item, for example that it is in a loop or that its callback is running.
    /// Guarded by the lock.
    var internalReferences: UInt16
    /// A timer's heap index, guarded by the lock; a source's signal flag: see `SourcePointer.signalFlag`.
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

    /// Changes the owner. The caller holds the locks of the old and the new owner.
    func setOwner(_ new: ThreadContextPointer) { ownerAddress.store(UInt(bitPattern: new), ordering: .releasing) }

    /// The item's flags. Changed under the lock; read by any thread.
    var flags: ItemFlags { ItemFlags(rawValue: flagBits.load(ordering: .acquiring)) }

    /// Returns whether at least one of these flags is set. Any thread.
    func has(_ some: ItemFlags) -> Bool { !flags.isDisjoint(with: some) }

    /// Returns whether, of the flags in `all`, exactly those in `wanted` are set. Any thread.
    func has(_ wanted: ItemFlags, of all: ItemFlags) -> Bool { flags.intersection(all) == wanted }

    /// Sets flags. The caller holds the lock.
    func set(_ some: ItemFlags) { flagBits.store(flagBits.load(ordering: .relaxed) | some.rawValue, ordering: .releasing) }

    /// Sets or clears `unreferenced`. The caller holds the lock.
    func setUnreferenced(_ isUnreferenced: Bool) {
        let others = flagBits.load(ordering: .relaxed) & ~ItemFlags.unreferenced.rawValue
        flagBits.store(others | (isUnreferenced ? ItemFlags.unreferenced.rawValue : 0), ordering: .releasing)
    }

    /// Clears flags. The caller holds the lock.
    func clear(_ some: ItemFlags) { flagBits.store(flagBits.load(ordering: .relaxed) & ~some.rawValue, ordering: .releasing) }
}

/// A timer's flags, internal references and position, which are adjacent in memory. The fast paths for timers compare and write all three
/// at once: the shorter the code for each timer, the more timers the processor can prefetch.
struct ItemState: BitwiseCopyable, Equatable {
    fileprivate var bits: UInt64

    /// A valid timer without a detail that is in no loop.
    static let simple = ItemState(bits: 0xFFFF_FFFF_0000_0000 | UInt64(ItemFlags.valid.rawValue))
    /// A timer without a detail that is in a loop and whose callback is running. One of its two internal references is the loop's, the
    /// other one is the callout's.
    static let firing = ItemState(bits: 0xFFFF_FFFF_0002_0000 | UInt64(ItemFlags([.valid, .bound, .firing]).rawValue))
    /// An invalid timer without a detail that is in no loop: see `ItemFlags.ended`.
    static let ended = ItemState(bits: 0xFFFF_FFFF_0000_0000 | UInt64(ItemFlags.ended.rawValue))
    /// Like `ended`, but clients had several references to the timer when it ended, so the flag `ended` is not set.
    static let endedWhileShared = ItemState(bits: 0xFFFF_FFFF_0000_0000)

    /// Returns the state of a valid timer without a detail that is queued at this position, in one loop, which has the only internal
    /// reference.
    static func queued(at position: UInt32) -> ItemState { ItemState(bits: UInt64(position) &<< 32 | queuedBits) }

    private static let queuedBits = 0x1_0000 | UInt64(ItemFlags([.valid, .bound]).rawValue)

    /// Whether this is a value that `queued` returns, for any position.
    var isQueued: Bool { UInt32(truncatingIfNeeded: bits) == UInt32(truncatingIfNeeded: Self.queuedBits) }

    /// Returns the distance from the position in `other`, which is queued, to the position in this state, modulo 2^32. If this state is not
    /// queued, the result is larger than any distance.
    func distance(from other: ItemState) -> UInt64 {
        let difference = bits &- other.bits
        return difference &<< 32 | difference &>> 32
    }
}

/// The flags of an item.
struct ItemFlags: OptionSet, BitwiseCopyable {
    let rawValue: UInt16

    init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The item has not been invalidated.
    static let valid = ItemFlags(rawValue: 1)
    /// The item is in at least one mode of a loop.
    static let bound = ItemFlags(rawValue: 8)
    /// The source or timer does not count when the loop checks whether a mode is empty.
    static let unreferenced = ItemFlags(rawValue: 128)

    // Timers and observers.

    /// The callback is running. The loop does not call it again before it returns.
    static let firing = ItemFlags(rawValue: 2)
    /// The timer or observer stays valid after its callback has been called.
    static let repeats = ItemFlags(rawValue: 4)
    /// The timer or observer was moved to another loop during its callback, so the thread that executes the callback is not its owner's.
    static let movedDuringCall = ItemFlags(rawValue: 512)
    /// Timers: the deadline is stored in the detail, not computed from the date. Implied for repeating timers.
    static let keepsDeadline = ItemFlags(rawValue: 2048)
    /// Timers: the timer has a `TimerDetail`.
    static let hasDetail = ItemFlags(rawValue: 4096)
    /// Timers: the timer is invalidated, in no loop and not in use by the library, so its last reference can be released without the lock.
    /// Set under the lock while clients have exactly one reference. So a thread that reads a count of one, and then this flag, owns that
    /// reference: another thread could have acquired a second one only before the timer ended, and then the flag would not have been set.
    static let ended = ItemFlags(rawValue: 8192)

    // Sources.

    /// The source waits until it can read from its descriptor. This flag and `waitsToWrite` are epoll's bits shifted left by four: see
    /// `SourcePointer.interest`. They may change while the source of a descriptor object or socket is in a loop.
    static let waitsToRead = ItemFlags(rawValue: 16)
    static let waitsToWrite = ItemFlags(rawValue: 64)
    /// Internal sources: the source waits only for the end of the connection (`Events.onlyHangUp`, also shifted left by four).
    static let waitsForHangUp = ItemFlags(rawValue: 16384)
    /// The library created the source. Its function is a `SourceFunction.EventHandler`, not a client's perform function.
    static let isInternal = ItemFlags(rawValue: 32)
    /// The info is a descriptor object or a socket.
    static let isOfEndpoint = ItemFlags(rawValue: 1024)
}

extension ItemHeader {
    /// The offset of `position`. Embedded Swift has no `MemoryLayout.offset(of:)`, so this is a literal, which a test checks.
    static var positionOffset: Int { 20 }
}

typealias ItemPointer = UnsafeMutablePointer<ItemHeader>

extension ItemPointer {
    /// Locks the item's owner and returns it. The caller has a reference of either kind. The owner may change until its lock is held, so it
    /// is compared again after locking. Any thread.
    @inline(never)
    func lock() -> ThreadContextPointer {
        while true {
            let owner = pointee.owner
            owner.lock()
            if pointee.owner == owner { return owner }
            owner.unlock()
        }
    }

    /// Locks the item's owner and the context of a loop, which may be the same one, and returns the owner. Unlock with `unlockBoth`. The
    /// lower address is always locked first, so that no two threads wait for each other. Any thread.
    func lock(and loop: ThreadContextPointer) -> ThreadContextPointer {
        while true {
            let owner = pointee.owner
            Swift.min(owner, loop).lock()
            if owner != loop { Swift.max(owner, loop).lock() }
            if pointee.owner == owner { return owner }
            Self.unlockBoth(owner, loop)
        }
    }

    /// Unlocks the contexts that `lock(and:)` locked.
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

    /// Adds an internal reference. The caller holds the lock.
    func retainInternal() { pointee.internalReferences &+= 1 }

    /// Releases an internal reference. Returns true if that was the last reference of either kind: the caller then destroys the item after
    /// unlocking. The caller holds the lock.
    @inline(__always)
    func releaseInternal() -> Bool {
        pointee.internalReferences -= 1
        return pointee.internalReferences == 0 && pointee.object.references.load(ordering: .acquiring) == 0
    }

    /// The state of an item after a reference to it was released.
    enum ReleaseOutcome { case alive, dead, overReleased }

    /// Releases a client's reference. Returns `dead` if the caller has to destroy the item, and `overReleased` if there was no reference
    /// left. Any thread; the owner's thread executes no locked instruction for the last reference.
    @inline(__always)
    func release() -> ReleaseOutcome {
        if pointee.object.releaseUnlessLast() { return .alive }
        let owner = lock()
        let outcome = releaseLocked()
        owner.unlock()
        return outcome
    }

    /// Takes the only reference, a client's, from an item that is in no loop; the caller then destroys the item. Returns false, without a
    /// change, if there are other references. The caller holds the lock.
    ///
    /// A plain store suffices: to retain an item, a thread needs a reference or the lock, and no other thread has either.
    func takeLastReference() -> Bool {
        if pointee.internalReferences != 0 || pointee.object.references.load(ordering: .acquiring) != 1 { return false }
        pointee.object.references.store(0, ordering: .releasing)
        return true
    }

    /// Does the rest of `release`, for what may be the last reference. The caller holds the lock.
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
