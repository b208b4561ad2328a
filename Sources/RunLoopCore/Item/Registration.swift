import CLinux
import Synchronization

/// The order of signalled sources: by `order`, then by the time of the signal (`SourcePointer.signalTime`).
struct SourceKey: HeapKey {
    var order: Int
    var sequence: UInt64

    static var last: SourceKey { SourceKey(order: .max, sequence: .max) }

    static func precedes(_ left: SourceKey, _ right: SourceKey) -> Bool {
        left.order < right.order || (left.order == right.order && left.sequence < right.sequence)
    }
}

/// The membership of a source in one loop: exists as long as the source is in at least one mode of that loop. One registration, usually the
/// only one, is stored in the source itself (`SourceStorage.inlineRegistration`); the others come from a slab.
///
/// Some words have one meaning for a source that is signalled (version 0), and another for a source on a descriptor, which is watched. Only
/// this file uses these words, through accessors that check the kind of source in debug builds. The two kinds of source have separate
/// slabs, so a late signaller or a late event never finds a word of the other kind.
///
/// Guarded by the loop's lock, except for `pendingSignals` and `slot`, which signallers read without it.
struct Registration: ~Copyable {
    /// This must be the first field: the heap of signalled sources identifies a registration by the address of its position.
    fileprivate var heapIndexOrGeneration: UInt32
    fileprivate let slotOrLastDispatch: Atomic<UInt32>
    fileprivate let watchIndex: Atomic<UInt32>
    /// The source's `SourcePointer.hash`, computed when the source was added.
    var hash: UInt32
    /// The address of `RegistrationPointer.set`. The fields of an inline registration up to here are in the first cache line of its source.
    let modeSetAddress = Atomic<UInt>(0)
    fileprivate let pendingSignalsOrNextOfWatch = Atomic<UInt>(0)
    /// The address of `RegistrationPointer.nextOfSource`. The lowest bit is `isUnreferenced`.
    fileprivate let nextOfSourceAddress = Atomic<UInt>(0)
    /// The next registration in the same bucket of the loop's `RegistrationTable`.
    var nextInBucket: RegistrationPointer?

    /// Makes an unused registration of a source that is signalled.
    init() {
        heapIndexOrGeneration = IndexedHeap<SourceKey>.absent
        slotOrLastDispatch = Atomic(Registration.noSlot)
        watchIndex = Atomic(Registration.noWatch)
        hash = 0
    }

    /// Makes an unused registration of a source on a descriptor.
    init(generation: UInt32) {
        heapIndexOrGeneration = generation
        slotOrLastDispatch = Atomic(0)
        watchIndex = Atomic(Registration.noWatch)
        hash = 0
    }

    static var noSlot: UInt32 { .max }
    fileprivate static var noWatch: UInt32 { .max }
}

/// A registration that is not stored in its source. Aligned like a source: see `RegistrationPointer.isInline`.
struct SeparateRegistration: ~Copyable {
    fileprivate var registration: Registration
    fileprivate var source: SourcePointer

    fileprivate static let signalledSlab = Slab(size: 64)
    fileprivate static let watchedSlab = Slab(size: 64)
}

typealias RegistrationPointer = UnsafeMutablePointer<Registration>

extension RegistrationPointer {
    /// Whether this is the registration that is stored in its source. Sources and separate registrations are aligned to 64 bytes, and an
    /// inline registration is not.
    var isInline: Bool { UInt(bitPattern: self) & 63 != 0 }

    /// The source that is registered. The caller holds the loop's lock.
    var source: SourcePointer { isInline ? SourcePointer(inlineRegistration: self) : separate.pointee.source }

    private var separate: UnsafeMutablePointer<SeparateRegistration> {
        UnsafeMutableRawPointer(self).assumingMemoryBound(to: SeparateRegistration.self)
    }

    /// The set of the modes that the source is in; nil while the registration is unused. Changed with the loop's lock held; to read it, the
    /// caller holds the lock of the loop or of the source.
    var set: ModeSetPointer? {
        get { ModeSetPointer(bitPattern: pointee.modeSetAddress.load(ordering: .relaxed)) }
        nonmutating set { pointee.modeSetAddress.store(UInt(bitPattern: newValue), ordering: .releasing) }
    }

    /// The source's registration in another loop. Changed with the source's lock held; signallers read it without.
    var nextOfSource: RegistrationPointer? {
        get { RegistrationPointer(bitPattern: pointee.nextOfSourceAddress.load(ordering: .acquiring) & ~1) }
        nonmutating set { store(UInt(bitPattern: newValue), isUnreferenced) }
    }

    /// Whether the source counts as one that does not keep its modes in this loop from being empty. Changed with the locks of the loop and
    /// of the source held; to read it, the caller holds either.
    var isUnreferenced: Bool {
        get { pointee.nextOfSourceAddress.load(ordering: .relaxed) & 1 != 0 }
        nonmutating set { store(UInt(bitPattern: nextOfSource), newValue) }
    }

    private func store(_ next: UInt, _ isUnreferenced: Bool) {
        pointee.nextOfSourceAddress.store(next | (isUnreferenced ? 1 : 0), ordering: .releasing)
    }

    /// The loop of a registration in use. The caller holds the lock of that loop or of the source.
    var loop: ThreadContextPointer {
        ModeSetPointer(bitPattern: pointee.modeSetAddress.load(ordering: .acquiring)).unsafelyUnwrapped.pointee.loop
    }

    /// Takes an unused registration for `source` from a slab, on behalf of the calling thread's context. Returns nil if out of memory. The
    /// atomics are stored to, not initialized, because a late signaller may still be reading them.
    static func make(for source: SourcePointer, _ threadContext: ThreadContextPointer) -> RegistrationPointer? {
        let memory =
            source.hasDescriptor
            ? SeparateRegistration.watchedSlab.allocate(threadContext)
            : SeparateRegistration.signalledSlab.allocate(threadContext)
        guard let registration = memory?.assumingMemoryBound(to: Registration.self) else { return nil }
        registration.separate.pointee.source = source
        if !source.hasDescriptor {
            registration.pointee.heapIndexOrGeneration = IndexedHeap<SourceKey>.absent
            registration.slot = Registration.noSlot
        }
        registration.clear()
        return registration
    }

    /// Fills in an unused registration, except for its slot, which is assigned afterwards. The atomics are stored to one by one, because a
    /// late signaller may still be reading them. The caller holds the loop's lock.
    func fill(in set: ModeSetPointer, _ pendingSignals: UnsafePointer<PendingSignals>, hash: UInt32) {
        if !source.hasDescriptor {
            slot = Registration.noSlot
            expectSignals(in: pendingSignals)
        }
        pointee.hash = hash
        self.set = set
    }

    /// Marks the registration as unused. Keeps the generation, and what late signallers may read. The caller holds the loop's lock.
    func clear() {
        set = nil
        pointee.nextOfSourceAddress.store(0, ordering: .releasing)
        pointee.nextInBucket = nil
        if source.hasDescriptor {
            lastDispatch = 0
            watch = nil
            nextOfWatch = nil
        }
    }

    /// Frees the memory of a registration once nothing refers to it; an inline one becomes unused instead. Any thread, including one of the
    /// child of fork() that has never used the library.
    func destroy() {
        if isInline {
            clear()
        } else if source.hasDescriptor {
            SeparateRegistration.watchedSlab.deallocate(self)
        } else {
            SeparateRegistration.signalledSlab.deallocate(self)
        }
    }
}

// The words of version-0 sources, which are signalled.
extension RegistrationPointer {
    private func assertSignalled() { assert(!source.hasDescriptor) }

    /// Where the heap of signalled sources stores the index of this registration: in the first field, by whose address the heap identifies
    /// the registration.
    var position: UnsafeMutablePointer<UInt32> {
        assertSignalled()
        return firstField
    }

    private var firstField: UnsafeMutablePointer<UInt32> { UnsafeMutableRawPointer(self).assumingMemoryBound(to: UInt32.self) }

    /// Returns the registration that has this `position`.
    init(queued position: UnsafeMutablePointer<UInt32>) {
        self = UnsafeMutableRawPointer(position).assumingMemoryBound(to: Registration.self)
    }

    var isQueued: Bool { position.pointee != IndexedHeap<SourceKey>.absent }

    /// The source's key among the signalled sources of a mode.
    var key: SourceKey {
        let source = source
        return SourceKey(order: source.pointee.order, sequence: source.signalTime)
    }

    // Signallers read the following fields without a lock, perhaps when the registration has already passed to another source. So these
    // accessors do not use the source.

    /// The index of the source's bit in `pendingSignals`; `noSlot` if none was left. Changed with the loop's lock held. Any thread.
    var slot: UInt32 {
        get { pointee.slotOrLastDispatch.load(ordering: .relaxed) }
        nonmutating set { pointee.slotOrLastDispatch.store(newValue, ordering: .relaxed) }
    }

    /// The loop's bitmap. The inline registration of a source in no loop keeps that of its last loop; a client's new source has that of the
    /// loop of the thread that created it. nil if the source was never in a loop, nor expected in one. Any thread, async-signal-safe.
    var pendingSignals: UnsafePointer<PendingSignals>? {
        UnsafePointer(bitPattern: pointee.pendingSignalsOrNextOfWatch.load(ordering: .relaxed))
    }

    /// The loop of `pendingSignals`. Any thread.
    var signalledLoop: ThreadContextPointer? {
        pendingSignals.flatMap { ThreadContextPointer(bitPattern: $0.pointee.loopAddress.load(ordering: .relaxed)) }
    }

    /// Changes `pendingSignals`. The caller holds the loop's lock, or no other thread knows the source yet.
    func expectSignals(in pendingSignals: UnsafePointer<PendingSignals>) {
        assertSignalled()
        pointee.pendingSignalsOrNextOfWatch.store(UInt(bitPattern: pendingSignals), ordering: .relaxed)
    }

    /// Makes the loop check the source. May be late: if the registration has passed to another source, a loop checks that one in vain. Any
    /// thread, async-signal-safe.
    func setPending() {
        let slot = slot
        if let pendingSignals, slot != Registration.noSlot { pendingSignals.pointee.set(Int(slot)) } else { SharedSignals.increment() }
    }

    /// Calls `PendingSignals.setWithoutSlot` for the loop. Any thread, async-signal-safe.
    func setPendingWithoutSlot() { pendingSignals?.pointee.setWithoutSlot() }
}

// The words of sources on descriptors, which are watched.
extension RegistrationPointer {
    private func assertWatched() { assert(source.hasDescriptor) }

    /// Counts how often the source was registered on a descriptor: see `SourcePointer.eventTag`. Only inline registrations have a
    /// generation, which outlives the source: the next source in this memory continues the count. Changed with the loop's lock held. May be
    /// read when the source is gone and another thread is creating one in its memory: that stores the number it finds there, so the reader
    /// sees the same number before and after.
    var generation: UInt32 {
        get { linux_peek(firstField) }
        nonmutating set { pointee.heapIndexOrGeneration = newValue }
    }

    /// The stamp of the last event for which this source was called, or of its last turn: see `RunLoopStorage.dispatchStamp`.
    var lastDispatch: UInt32 {
        get { lastDispatchField.pointee }
        nonmutating set { lastDispatchField.pointee = newValue }
    }

    /// Where `lastDispatch` is stored.
    var lastDispatchField: UnsafeMutablePointer<UInt32> {
        assertWatched()
        return firstField + 1
    }

    /// The index of the poller's watch on the source's descriptor; nil if the source is not watched.
    var watch: Int? {
        get {
            assertWatched()
            let index = pointee.watchIndex.load(ordering: .relaxed)
            return index == Registration.noWatch ? nil : Int(index)
        }
        nonmutating set {
            assertWatched()
            pointee.watchIndex.store(newValue.map { UInt32($0) } ?? Registration.noWatch, ordering: .relaxed)
        }
    }

    /// Whether there is a watch. Valid for either kind of source.
    var isWatched: Bool { source.hasDescriptor && watch != nil }

    /// The next registration on the same descriptor: by order, then in the order in which they were added to the loop.
    var nextOfWatch: RegistrationPointer? {
        get {
            assertWatched()
            return RegistrationPointer(bitPattern: pointee.pendingSignalsOrNextOfWatch.load(ordering: .relaxed))
        }
        nonmutating set {
            assertWatched()
            pointee.pendingSignalsOrNextOfWatch.store(UInt(bitPattern: newValue), ordering: .relaxed)
        }
    }
}
