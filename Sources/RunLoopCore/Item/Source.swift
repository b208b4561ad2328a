import CLinux
import CRunLoop
import Synchronization

/// RLRunLoopSource of both versions, and the sources that the library creates for its own objects: descriptor objects, sockets, ports.
///
/// Guarded by the lock of `item.owner`. A registration in another loop is guarded by that loop's lock, too. The fields that are read when a
/// ready descriptor is dispatched are in the first cache line.
struct SourceStorage: ObjectStorage, ~Copyable {
    static var kind: Kind { .source }

    typealias GetPort = @convention(c) (UnsafeMutableRawPointer?) -> Int32

    var item: ItemHeader
    /// The info of the client's context, retained. Kept after invalidation, until the source is destroyed.
    let info: UnsafeMutableRawPointer?
    let function: SourceFunction
    /// The registration that is used first when the source is added to a loop; unused while its `set` is nil.
    var inlineRegistration: Registration
    let order: Int
    /// The `SourcePointer.signalTime` of a version-0 source, or the `getPort` of a source on a descriptor. Only this file uses this field.
    fileprivate let signalTimeOrGetPort: Atomic<UInt64>
    /// The address of the source's registration while the source is in exactly one loop, otherwise 0. Any thread.
    let onlyRegistration: Atomic<UInt>
    /// The address of `SourcePointer.registrations`.
    fileprivate let registrationsAddress = Atomic<UInt>(0)
    /// The rest of the context; nil if all its functions are NULL.
    let detail: SourceDetailPointer?

    private static var size: Int { (MemoryLayout<SourceStorage>.stride + 63) & ~63 }
    /// The memory for sources of version 0.
    fileprivate static let signalledSlab = Slab(size: size)
    /// The memory for sources on descriptors. Zeroed at first, because the generation of a source outlives it; aligned, because `eventTag`
    /// leaves out the low bits of the address.
    fileprivate static let watchedSlab = Slab(size: size, isZeroAtFirst: true)
}

typealias SourcePointer = UnsafeMutablePointer<SourceStorage>

extension SourcePointer {
    var item: ItemPointer { UnsafeMutableRawPointer(self).assumingMemoryBound(to: ItemHeader.self) }

    /// The offset of `SourceStorage.inlineRegistration`. A test compares it with the actual one.
    private static var inlineRegistrationOffset: Int { 40 }

    /// Returns the source in which this registration is stored.
    init(inlineRegistration: RegistrationPointer) {
        self = (UnsafeMutableRawPointer(inlineRegistration) - Self.inlineRegistrationOffset).assumingMemoryBound(to: SourceStorage.self)
    }

    /// The registration that is stored in the source, for one of the loops it is in. Unused while the source is in no loop.
    var inlineRegistration: RegistrationPointer { withUnsafeMutablePointer(to: &pointee.inlineRegistration) { $0 } }

    /// Creates a client's source with one reference, in no loop, owned by the calling thread's context. Returns nil if out of memory.
    /// `info` has been retained by the caller. Calls no user code.
    static func create(
        _ threadContext: ThreadContextPointer, order: Int, info: UnsafeMutableRawPointer?, perform: SourceFunction.Perform?,
        getPort: SourceStorage.GetPort?, _ detail: SourceDetail
    ) -> SourcePointer? {
        var storage: SourceDetailPointer?
        if detail.isNeeded {
            storage = malloc(MemoryLayout<SourceDetail>.size)?.bindMemory(to: SourceDetail.self, capacity: 1)
            guard let storage else { return nil }
            storage.initialize(to: detail)
        }
        let flags: ItemFlags = getPort == nil ? [] : .waitsToRead
        let source = create(threadContext, flags, order, info, SourceFunction(perform), getPort, storage)
        if source == nil { free(storage) }
        return source
    }

    /// Creates an internal source, which at first is not interested in any event. Returns nil if out of memory. `detail` must outlive the
    /// source. Calls no user code.
    static func create(
        _ threadContext: ThreadContextPointer, order: Int, info: UnsafeMutableRawPointer?, eventHandler: SourceFunction.EventHandler,
        getPort: @escaping SourceStorage.GetPort, _ detail: SourceDetailPointer
    ) -> SourcePointer? {
        create(threadContext, .isInternal, order, info, SourceFunction(eventHandler: eventHandler), getPort, detail)
    }

    @inline(never)
    private static func create(
        _ threadContext: ThreadContextPointer, _ flags: ItemFlags, _ order: Int, _ info: UnsafeMutableRawPointer?,
        _ function: SourceFunction,
        _ getPort: SourceStorage.GetPort?, _ detail: SourceDetailPointer?
    ) -> SourcePointer? {
        let memory =
            getPort == nil ? SourceStorage.signalledSlab.allocate(threadContext) : SourceStorage.watchedSlab.allocate(threadContext)
        guard let source = memory?.assumingMemoryBound(to: SourceStorage.self) else { return nil }
        source.initialize(
            to: SourceStorage(
                item: ItemHeader(.source, owner: threadContext, flags: flags, position: 0), info: info, function: function,
                inlineRegistration: getPort == nil
                    ? Registration() : Registration(generation: source.inheritedGeneration),
                order: order, signalTimeOrGetPort: Atomic(UInt64(unsafeBitCast(getPort, to: UInt.self))), onlyRegistration: Atomic(0),
                detail: detail))
        return source
    }

    /// Releases the context's info and frees the memory, once no reference of either kind is left. Any thread; calls user code.
    func destroy() {
        clientContext.released(pointee.info)
        if !pointee.item.has(.isInternal) { free(pointee.detail) }
        if hasDescriptor { SourceStorage.watchedSlab.deallocate(self) } else { SourceStorage.signalledSlab.deallocate(self) }
    }

    /// The version that clients see: 1 if the source was created with a getPort function.
    var version: Int { hasDescriptor && !pointee.item.has(.isInternal) ? 1 : 0 }

    /// Whether the source waits for events on a descriptor rather than for RLRunLoopSourceSignal. Any thread.
    var hasDescriptor: Bool { pointee.item.has([.waitsToRead, .isInternal]) }

    /// Whether the source is valid and of version 0. One load. Any thread.
    var isSignallable: Bool { pointee.item.has(.valid, of: [.valid, .waitsToRead, .isInternal]) }

    /// The function that returns the descriptor to watch; nil for version 0. Any thread.
    var getPort: SourceStorage.GetPort? {
        if !hasDescriptor { return nil }
        let address = UInt(pointee.signalTimeOrGetPort.load(ordering: .relaxed))
        return unsafeBitCast(address, to: SourceStorage.GetPort.self)
    }

    /// For version 0: when the source was first signalled since the loop last took its signal, in nanoseconds. 0 if no clock was read, because
    /// the signal found no other one pending: it is then earlier than all signals that the loop has not taken yet. Written by the signalling
    /// thread before it sets the bit, and by the loop, which replaces a 0. Any thread; stable while the source is signalled.
    var signalTime: UInt64 {
        get { pointee.signalTimeOrGetPort.load(ordering: .relaxed) }
        nonmutating set {
            assert(!hasDescriptor)
            pointee.signalTimeOrGetPort.store(newValue, ordering: .relaxed)
        }
    }

    /// The fields of the context that all kinds of objects have.
    var clientContext: ClientContext {
        guard let detail = pointee.detail else { return ClientContext(info: pointee.info) }
        return ClientContext(
            info: pointee.info, retain: detail.pointee.retain, release: detail.pointee.release,
            copyDescription: detail.pointee.copyDescription)
    }

    /// The events that the source waits for on its descriptor. Any thread; stable while the lock is held.
    var interest: Events { Self.interest(pointee.item.flags) }

    /// Returns the events that an item's flags stand for.
    static func interest(_ flags: ItemFlags) -> Events { Events(rawValue: flags.rawValue >> 4).intersection([.interest, .onlyHangUp]) }

    /// The events to register with epoll for `interest`. For internal sources that read, this includes that the peer has closed its end.
    /// Any thread.
    var epollInterest: Events {
        let interest = interest
        return interest.contains(.readable) && pointee.item.has(.isInternal) ? interest.union(.peerClosed) : interest
    }

    /// Changes `interest`. The caller holds the lock, and updates epoll.
    func setInterest(_ events: Events) {
        pointee.item.clear([.waitsToRead, .waitsToWrite, .waitsForHangUp])
        pointee.item.set(ItemFlags(rawValue: events.rawValue << 4))
    }

    /// Adds a reference, unless no reference of either kind is left and the source is about to be destroyed: then returns false. Any thread
    /// that knows that the memory is still this source's.
    func retainIfAlive() -> Bool {
        let owner = item.lock()
        defer { owner.unlock() }
        if pointee.item.internalReferences == 0 && pointee.item.object.references.load(ordering: .acquiring) == 0 { return false }
        pointee.item.object.retain()
        return true
    }

    /// The first of the registrations, one for each loop that the source is in, linked by `nextOfSource`. Changed with the lock held;
    /// signallers read it without.
    var registrations: RegistrationPointer? {
        get { RegistrationPointer(bitPattern: pointee.registrationsAddress.load(ordering: .acquiring)) }
        nonmutating set { pointee.registrationsAddress.store(UInt(bitPattern: newValue), ordering: .releasing) }
    }

    /// Returns the source's registration in a loop; nil if the source is not in it. O(number of loops it is in). The caller holds the
    /// loop's lock.
    @inline(__always)
    func registration(in loop: ThreadContextPointer) -> RegistrationPointer? {
        var registration = registrations
        while let some = registration, some.loop != loop { registration = some.nextOfSource }
        return registration
    }

    /// Releases a reference that the library has acquired in the way a client does. Any thread; may call the context's release.
    @inline(never)
    func release() {
        if item.release() == .dead { destroy() }
    }
}

// The event tag is what epoll returns for a source that is alone on its descriptor, so that dispatching needs no table. It consists of the
// source's address and the generation of its inline registration. Removing the source from the descriptor advances the generation. So an
// event that was fetched before, or that is reported for a duplicate of the descriptor that epoll still watches, matches no source, even if
// the memory has been reused for another source (`Tests/model/generation.pml`).
extension SourcePointer {
    /// The low bits of a tag are the generation. The others are the upper 42 of the 48 bits of the address, as sources are 64-byte aligned.
    private static var generationBits: UInt64 { 22 }
    private static var generationMask: UInt32 { 1 << 22 - 1 }

    /// The tag of the current generation, always odd; nil if the address has more than 48 bits. The caller holds the loop's lock.
    var eventTag: UInt64? {
        let address = UInt64(UInt(bitPattern: self))
        return address >> 48 == 0 ? address << (Self.generationBits - 6) | UInt64(inlineRegistration.generation) : nil
    }

    /// Returns the source with this tag; nil if the tag is of an earlier generation. The caller holds the loop's lock.
    init?(eventTag tag: UInt64) {
        self = Self.address(ofTag: tag)
        if generation != UInt32(truncatingIfNeeded: tag) & Self.generationMask { return nil }
    }

    /// Returns the address in any odd tag. This is always memory of a source, but perhaps not of the one that had the tag.
    static func address(ofTag tag: UInt64) -> SourcePointer {
        UnsafeMutableRawPointer(bitPattern: UInt((tag >> generationBits) << 6)).unsafelyUnwrapped.assumingMemoryBound(
            to: SourceStorage.self)
    }

    /// Makes the current tag stale. Generations are odd, and so tags are, too. The caller holds the loop's lock.
    func advanceGeneration() { inlineRegistration.generation = (generation &+ 2) & Self.generationMask }

    /// The first generation of a source that is created in this memory: that of the previous source there, or 1.
    fileprivate var inheritedGeneration: UInt32 { generation & Self.generationMask | 1 }

    private var generation: UInt32 { inlineRegistration.generation }
}
