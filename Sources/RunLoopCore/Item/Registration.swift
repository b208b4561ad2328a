import Synchronization

/// The order of signalled sources: by `order`, then by the time of the signal (`SourcePointer.signalTime`).
struct SourceKey: HeapKey {
    var order: Int
    var sequence: UInt64

    static var last: SourceKey { SourceKey(order: .max, sequence: .max) }

    @inline(__always)
    static func precedes(_ left: SourceKey, _ right: SourceKey) -> Bool {
        left.order < right.order || (left.order == right.order && left.sequence < right.sequence)
    }
}

/// A source in one loop: exists as long as the source is in at least one mode of that loop. The registration in the first loop is
/// stored in the source itself (`SourceStorage.inlineRegistration`), others come from a slab.
///
/// Guarded by the loop's lock, except for `pendingSignals`, `slot` and `onlySlot`, which signallers read without it.
struct Registration: ~Copyable {
    /// The index in the heap of signalled sources, `IndexedHeap.absent` if not queued. Must be the first field: the heap knows a
    /// registration by the address of this (`RegistrationPointer.position`).
    var heapIndex: UInt32
    /// Counts how often the source was registered on a descriptor: see `SourcePointer.eventTag`. Only of an inline registration.
    /// Survives the source: the next one in this memory continues the count.
    var generation: UInt32
    /// The address of `RegistrationPointer.set`. Before `source`: then a delivery reads one cache line of the source.
    let modeSetAddress = Atomic<UInt>(0)
    var source: SourcePointer
    /// The next registration on the same descriptor: by order, then in the order in which they were added to the loop.
    var nextOfWatch: RegistrationPointer?
    /// The number of the last event that this source was called for, if it shares its descriptor.
    var lastDispatch: UInt32
    /// The source's bit in `pendingSignals`; `noSlot` if none was left or none is needed.
    let slot: Atomic<UInt32>
    /// The index of the poller's watch on the source's descriptor; -1 for version-0 sources.
    var watch: Int32
    /// In an inline registration: a copy of `slot` while the source is in this loop only, otherwise `noSlot`.
    let onlySlot: Atomic<UInt32>
    /// The address of the loop's `PendingSignals`. The inline registration of a source in no loop keeps that of the last loop; of a
    /// client's new source, that of the loop of the thread that made it.
    let pendingSignals: Atomic<UInt>
    /// `SourcePointer.hash` of the source, computed when it was added.
    var hash: UInt
    /// The source's registration in another loop.
    var nextOfSource: RegistrationPointer?
    /// The next in the bucket of the loop's `RegistrationTable`.
    var nextInBucket: RegistrationPointer?

    /// An unused one.
    init(_ source: SourcePointer, generation: UInt32) {
        self.generation = generation
        heapIndex = IndexedHeap<SourceKey>.absent
        watch = -1
        self.source = source
        lastDispatch = 0
        slot = Atomic(Registration.noSlot)
        onlySlot = Atomic(Registration.noSlot)
        pendingSignals = Atomic(0)
        hash = 0
    }

    static var noSlot: UInt32 { .max }

    static let slab = Slab(size: MemoryLayout<Registration>.stride)
}

typealias RegistrationPointer = UnsafeMutablePointer<Registration>

extension RegistrationPointer {
    /// By which the heap of signalled sources knows this registration: the address of its first field, `heapIndex`.
    @inline(__always)
    var position: UnsafeMutablePointer<UInt32> { UnsafeMutableRawPointer(self).assumingMemoryBound(to: UInt32.self) }

    /// The registration that has this `position`.
    @inline(__always)
    init(queued position: UnsafeMutablePointer<UInt32>) {
        self = UnsafeMutableRawPointer(position).assumingMemoryBound(to: Registration.self)
    }

    /// The modes it is in; nil while the registration is unused. Under the lock of the loop or of the source; changed under the
    /// loop's.
    @inline(__always)
    var set: ModeSetPointer? {
        get { ModeSetPointer(bitPattern: pointee.modeSetAddress.load(ordering: .relaxed)) }
        nonmutating set { pointee.modeSetAddress.store(UInt(bitPattern: newValue), ordering: .releasing) }
    }

    /// The loop that a used registration is in. Under that loop's lock or the source's.
    var loop: ThreadContextPointer {
        ModeSetPointer(bitPattern: pointee.modeSetAddress.load(ordering: .acquiring)).unsafelyUnwrapped.pointee.loop
    }

    /// An unused registration in memory of the slab. The atomics are stored to, not initialized: a late signaller may still be
    /// reading them.
    static func make(in memory: UnsafeMutableRawPointer, for source: SourcePointer) -> RegistrationPointer {
        let registration = memory.assumingMemoryBound(to: Registration.self)
        registration.pointee.source = source
        registration.pointee.slot.store(Registration.noSlot, ordering: .relaxed)
        registration.pointee.onlySlot.store(Registration.noSlot, ordering: .relaxed)
        registration.pointee.heapIndex = IndexedHeap<SourceKey>.absent
        registration.clear()
        return registration
    }

    /// Marks the registration as unused. Keeps what late signallers may read. Under the loop's lock.
    func clear() {
        set = nil
        pointee.watch = -1
        pointee.lastDispatch = 0
        pointee.nextOfSource = nil
        pointee.nextOfWatch = nil
        pointee.nextInBucket = nil
    }

    /// Fills in an unused registration, but for the slot. The atomics are stored to one by one: a late signaller may still be reading
    /// them. Under the loop's lock.
    func fill(in set: ModeSetPointer, _ pendingSignals: UnsafePointer<PendingSignals>, hash: UInt) {
        pointee.slot.store(Registration.noSlot, ordering: .relaxed)
        pointee.pendingSignals.store(UInt(bitPattern: pendingSignals), ordering: .relaxed)
        pointee.hash = hash
        self.set = set
    }

    @inline(__always)
    var slot: UInt32 { pointee.slot.load(ordering: .relaxed) }

    @inline(__always)
    var isQueued: Bool { position.pointee != IndexedHeap<SourceKey>.absent }

    /// The source's key among the signalled sources of a mode.
    @inline(__always)
    var key: SourceKey { SourceKey(order: pointee.source.pointee.order, sequence: pointee.source.signalTime) }

    /// nil if the source was never in a loop, nor expected in one. Any thread, async-signal-safe.
    @inline(__always)
    var pendingSignals: UnsafePointer<PendingSignals>? {
        UnsafePointer(bitPattern: pointee.pendingSignals.load(ordering: .relaxed))
    }

    /// Makes the loop look at the source. Any thread, async-signal-safe. May be late: if the registration belongs to another source
    /// by now, some loop looks in vain.
    @inline(__always)
    func setPending() { setPending(slot) }

    /// `setPending` when the slot is known already.
    @inline(__always)
    func setPending(_ slot: UInt32) {
        if let pendingSignals, slot != Registration.noSlot { pendingSignals.pointee.set(Int(slot)) } else { SharedSignals.increment() }
    }

    /// `PendingSignals.setWithoutSlot` of the loop. Any thread, async-signal-safe.
    func setPendingWithoutSlot() { pendingSignals?.pointee.setWithoutSlot() }

    /// Whether the loop has signals, of any source, that it has not taken yet. True if there is no loop. Any thread,
    /// async-signal-safe.
    @inline(__always)
    var loopHasPendingSignals: Bool { !(pendingSignals?.pointee.isEmpty ?? false) }
}
