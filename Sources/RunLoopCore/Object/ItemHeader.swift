import Synchronization

/// How every item (source, timer, observer) begins.
///
/// An item is guarded by the lock of its thread context: at first the thread context of the thread that made it, and the loop's
/// while it is in a loop. So a thread that makes items for its own loop never executes a locked
/// instruction for them.
///
/// Life: an item lives while clients have references or a loop has holds. References are counted by
/// atomics, but the last one goes under the lock, where holds are counted too; so exactly one of the two
/// sides finds both at zero.
struct ItemHeader: ~Copyable {
    var object: ObjectHeader
    /// Whose lock guards the item. Changed only by a holder of both locks; read by anybody.
    /// An address: ThreadSanitizer's compiler pass does not survive atomic pointers (Swift 6.3).
    private let ownerAddress: Atomic<UInt>
    /// `Flags`. Changed under the lock, read by anybody.
    let flags: Atomic<UInt16>
    /// Reasons of a loop to keep the item: it is in there, or its function is running. Under the lock.
    var internalReferences: UInt16
    /// For timers: the place in the queue. Under the lock. For sources: see `SourcePointer.signalFlag`.
    var position: UInt32

    static var valid: UInt16 { 1 }
    /// Its function is running (timers and observers: they are not re-entered).
    static var firing: UInt16 { 2 }
    static var repeats: UInt16 { 4 }
    /// A loop has it in at least one mode.
    static var bound: UInt16 { 8 }
    /// Sources on descriptors: what they wait for, epoll's bits moved by four places. The source of a descriptor object or socket
    /// changes that as it goes.
    static var waitsToRead: UInt16 { 16 }
    static var waitsToWrite: UInt16 { 64 }
    /// Sources: its function is one of ours, which wants to know what has happened.
    static var isInternal: UInt16 { 32 }
    /// For sources of our own: it does not keep a mode from being empty.
    static var unreferenced: UInt16 { 128 }

    /// For sources of our own: its info is an endpoint, and the loop itself calls the client of that.
    static var callsClient: UInt16 { 256 }

    /// Timers and observers: it has moved while its function ran, which another thread than the owner's has called.
    static var away: UInt16 { 512 }
    /// A source of a descriptor object or a socket, which is its info.
    static var isOfEndpoint: UInt16 { 1024 }
    /// Timers: when it is due is in its detail, not in its date. Those that repeat are that kind anyway.
    static var keepsDeadline: UInt16 { 2048 }

    init(_ kind: Kind, owner: ThreadContextPointer, flags: UInt16, position: UInt32 = .max) {
        object = ObjectHeader(kind)
        ownerAddress = Atomic(UInt(bitPattern: owner))
        self.flags = Atomic(flags | Self.valid)
        internalReferences = 0
        self.position = position
    }

    /// Any thread; stable only under the lock.
    @inline(__always)
    var owner: ThreadContextPointer { ThreadContextPointer(bitPattern: ownerAddress.load(ordering: .acquiring)).unsafelyUnwrapped }

    /// Under both locks.
    @inline(__always)
    func setOwner(_ new: ThreadContextPointer) { ownerAddress.store(UInt(bitPattern: new), ordering: .releasing) }

    /// Any thread.
    @inline(__always)
    func has(_ flag: UInt16) -> Bool { flags.load(ordering: .acquiring) & flag != 0 }

    /// Under the lock.
    @inline(__always)
    func set(_ flag: UInt16) { flags.store(flags.load(ordering: .relaxed) | flag, ordering: .releasing) }

    /// Whether of these flags it has exactly those `wanted`. Any thread.
    @inline(__always)
    func has(_ wanted: UInt16, of flags: UInt16) -> Bool { self.flags.load(ordering: .acquiring) & flags == wanted }

    /// Under the lock.
    @inline(__always)
    func clear(_ flag: UInt16) { flags.store(flags.load(ordering: .relaxed) & ~flag, ordering: .releasing) }
}

extension ItemHeader {
    /// Embedded Swift has no `MemoryLayout.offset(of:)`; a test compares.
    static var positionOffset: Int { 20 }
}

typealias ItemPointer = UnsafeMutablePointer<ItemHeader>

extension ItemPointer {
    /// Takes the lock that guards this item and returns whose it is. The caller has a reference or a hold.
    @inline(__always)
    func lockInlined() -> ThreadContextPointer {
        while true {
            let owner = pointee.owner
            owner.lockInlined()
            if pointee.owner == owner { return owner }
            owner.unlock()
        }
    }

    /// The same, not on hot paths.
    @inline(never)
    func lock() -> ThreadContextPointer { lockInlined() }

    /// Takes the lock that guards this item and returns whose it is, if it is the calling thread's and nobody else is
    /// about; nil: nothing is locked. Give back with `unlockAfterTryLock`.
    @inline(__always)
    func tryLock() -> ThreadContextPointer? {
        let owner = pointee.owner
        guard owner.tryLock() else { return nil }
        if pointee.owner == owner { return owner }
        owner.unlockAfterTryLock()
        return nil
    }

    /// Takes the lock of this item and that of `loop`, which may be the same. Give back with `unlockBoth`.
    /// The lower address goes first, everywhere: two threads cannot wait for each other.
    func lock(and loop: ThreadContextPointer) -> ThreadContextPointer {
        while true {
            let owner = pointee.owner
            Swift.min(owner, loop).lock()
            if owner != loop { Swift.max(owner, loop).lock() }
            if pointee.owner == owner { return owner }
            Self.unlockBoth(owner, loop)
        }
    }

    /// What `lock(and:)` took.
    static func unlockBoth(_ owner: ThreadContextPointer, _ loop: ThreadContextPointer) {
        owner.unlock()
        if owner != loop { loop.unlock() }
    }

    /// One more reason of a loop to keep the item. Under the lock.
    @inline(__always)
    func retainInternal() { pointee.internalReferences &+= 1 }

    /// One reason less. Under the lock; true if nobody has the item any more: destroy it after unlocking.
    @inline(__always)
    func releaseInternal() -> Bool {
        pointee.internalReferences -= 1
        return pointee.internalReferences == 0 && pointee.object.references.load(ordering: .acquiring) == 0
    }

    /// What became of an item from which a reference was taken.
    enum ReleaseOutcome { case alive, dead, overReleased }

    /// A client gives a reference back. `dead`: the caller destroys the item. Any thread; on the owner's no
    /// locked instruction for the last reference.
    @inline(__always)
    func release() -> ReleaseOutcome {
        if pointee.object.releaseUnlessLast() { return .alive }
        let owner = lockInlined()
        let outcome = releaseLocked()
        owner.unlockInlined()
        return outcome
    }

    /// Takes the only reference, the caller's, from an item that no loop has: the caller destroys it. False: there is more,
    /// and nothing has changed. Under the lock.
    ///
    /// Who has neither a reference nor the lock cannot retain, so in this case nobody can. Otherwise somebody may, at this
    /// moment.
    @inline(__always)
    func takeLastReference() -> Bool {
        if pointee.internalReferences != 0 || pointee.object.references.load(ordering: .acquiring) != 1 { return false }
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
