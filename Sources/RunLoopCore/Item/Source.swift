import CLinux
import CRunLoop
import Synchronization

/// RLRunLoopSource, of either version, and the sources of descriptor objects and sockets.
///
/// What is read to deliver it lies in its first cache line. Guarded by the lock of `item.owner`; a registration of another
/// loop also by that loop's lock.
struct SourceStorage: ObjectStorage, ~Copyable {
    static var kind: Kind { .source }

    typealias GetPort = @convention(c) (UnsafeMutableRawPointer?) -> Int32

    var item: ItemHeader
    /// The client's. Stays after invalidation.
    let info: UnsafeMutableRawPointer?
    let function: SourceFunction
    /// In the first loop that the source was added to; unused while its `set` is nil.
    var inlineRegistration: Registration
    let order: Int
    /// When the source was first signalled since the loop last took its signal, in nanoseconds; 0: before all signals that the loop
    /// has not taken yet. Written by the signalling thread, before it sets the bit, and by the loop, which replaces a 0.
    let signalTime = Atomic<UInt64>(0)
    /// The address of the source's registration while it is in exactly one loop, otherwise 0. Any thread.
    let onlyRegistration: Atomic<UInt>
    /// One for each loop that has it.
    var registrations: RegistrationPointer?
    /// Says on which descriptor it waits; nil for version 0.
    let getPort: GetPort?
    /// nil: none of that.
    let detail: SourceDetailPointer?

    static let slab = Slab(size: (MemoryLayout<SourceStorage>.stride + 63) & ~63, isZeroAtFirst: true)
}

typealias SourcePointer = UnsafeMutablePointer<SourceStorage>

extension SourcePointer {
    @inline(__always)
    var item: ItemPointer { UnsafeMutableRawPointer(self).assumingMemoryBound(to: ItemHeader.self) }

    /// A client's source in no loop with one reference, guarded by the calling thread's context. nil if out of memory.
    /// `info` is retained already. Calls no user code.
    static func create(
        _ threadContext: ThreadContextPointer, order: Int, info: UnsafeMutableRawPointer?, perform: SourceFunction.Perform?,
        getPort: SourceStorage.GetPort?, _ detail: SourceDetail
    ) -> SourcePointer? {
        var place: SourceDetailPointer?
        if detail.isNeeded {
            place = malloc(MemoryLayout<SourceDetail>.size)?.bindMemory(to: SourceDetail.self, capacity: 1)
            guard let place else { return nil }
            place.initialize(to: detail)
        }
        let flags = getPort == nil ? 0 : ItemHeader.waitsToRead
        let source = create(threadContext, flags, order, info, SourceFunction(perform), getPort, place)
        if source == nil { free(place) }
        return source
    }

    /// A source of ours, which so far waits for nothing. `detail` outlives it. Calls no user code.
    static func create(
        _ threadContext: ThreadContextPointer, order: Int, info: UnsafeMutableRawPointer?, eventHandler: SourceFunction.EventHandler,
        getPort: @escaping SourceStorage.GetPort, _ detail: SourceDetailPointer
    ) -> SourcePointer? {
        create(threadContext, ItemHeader.isInternal, order, info, SourceFunction(eventHandler: eventHandler), getPort, detail)
    }

    @inline(never)
    private static func create(
        _ threadContext: ThreadContextPointer, _ flags: UInt16, _ order: Int, _ info: UnsafeMutableRawPointer?, _ function: SourceFunction,
        _ getPort: SourceStorage.GetPort?, _ detail: SourceDetailPointer?
    ) -> SourcePointer? {
        guard let memory = SourceStorage.slab.allocate(threadContext) else { return nil }
        let source = memory.assumingMemoryBound(to: SourceStorage.self)
        source.initialize(
            to: SourceStorage(
                item: ItemHeader(.source, owner: threadContext, flags: flags, position: 0), info: info, function: function,
                inlineRegistration: Registration(source, generation: source.inheritedGeneration),
                order: order, onlyRegistration: Atomic(0), registrations: nil, getPort: getPort, detail: detail))
        return source
    }

    /// No reference is left, neither a client's nor an internal one. Any thread; calls the context's release.
    func destroy() {
        clientContext.released(pointee.info)
        if !pointee.item.has(ItemHeader.isInternal) { free(pointee.detail) }
        SourceStorage.slab.deallocate(self)
    }

    /// As clients see it: 1 if it was made with getPort.
    var version: Int { pointee.getPort == nil || pointee.item.has(ItemHeader.isInternal) ? 0 : 1 }

    /// Whether it waits for a descriptor, not for Signal.
    @inline(__always)
    var hasDescriptor: Bool { pointee.item.has(ItemHeader.waitsToRead | ItemHeader.isInternal) }

    /// The part of the context that all have in common.
    var clientContext: ClientContext {
        guard let detail = pointee.detail else { return ClientContext(info: pointee.info) }
        return ClientContext(
            info: pointee.info, retain: detail.pointee.retain, release: detail.pointee.release,
            copyDescription: detail.pointee.copyDescription)
    }

    /// What it waits for on its descriptor. Any thread; stable under the lock.
    @inline(__always)
    var interest: Events { Self.interest(pointee.item.flags.load(ordering: .acquiring)) }

    /// The part of the flags that says what a source waits for.
    @inline(__always)
    static func interest(_ flags: UInt16) -> Events { Events(rawValue: flags >> 4).intersection(.interest) }

    /// What epoll is told of that: our own functions want to know when the other side has ended, too. Any thread.
    @inline(__always)
    var epollInterest: Events {
        let interest = interest
        return interest.contains(.readable) && pointee.item.has(ItemHeader.isInternal) ? interest.union(.peerClosed) : interest
    }

    /// Under the lock.
    func setInterest(_ events: Events) {
        pointee.item.clear(ItemHeader.waitsToRead | ItemHeader.waitsToWrite)
        pointee.item.set(events.intersection(.interest).rawValue << 4)
    }

    /// One more reference, unless nobody has the source any more and it is about to be destroyed. Any thread that knows that
    /// the memory is still this source's.
    func retainIfAlive() -> Bool {
        let owner = item.lock()
        defer { owner.unlock() }
        if pointee.item.internalReferences == 0 && pointee.item.object.references.load(ordering: .acquiring) == 0 { return false }
        pointee.item.object.retain()
        return true
    }

    /// The source's registration in a loop. O(number of loops it is in). Under its lock.
    @inline(__always)
    func registration(in loop: ThreadContextPointer) -> RegistrationPointer? {
        var registration = pointee.registrations
        while let some = registration, some.pointee.loop != loop { registration = some.pointee.nextOfSource }
        return registration
    }

    /// Gives back a reference of our own. Any thread; may call the context's release.
    @inline(never)
    func release() {
        if item.release() == .dead { destroy() }
    }
}

// What epoll reports of a source that is alone on its descriptor, so that nothing has to be looked up to deliver it: where the source
// is, and which of the generations of its first registration on a descriptor this is. So a report that was fetched before the source left, or of
// a registration that outlived it, reaches nobody, though the memory may be another source's by now.
extension SourcePointer {
    private static var generationBits: UInt64 { 22 }
    private static var generationMask: UInt32 { 1 << 22 - 1 }

    /// Odd; nil if the address has more bits than there is room for. Under the loop's lock.
    var eventTag: UInt64? {
        let address = UInt64(UInt(bitPattern: self))
        return address >> 48 == 0 ? address << (Self.generationBits - 6) | UInt64(pointee.inlineRegistration.generation) : nil
    }

    /// The source whose tag was reported, if it still generations where it was. Under the loop's lock.
    @inline(__always)
    init?(eventTag tag: UInt64) {
        self = Self.address(ofTag: tag)
        if generation != UInt32(truncatingIfNeeded: tag) & Self.generationMask { return nil }
    }

    /// Any odd tag's; it is memory of some source.
    @inline(__always)
    static func address(ofTag tag: UInt64) -> SourcePointer {
        UnsafeMutableRawPointer(bitPattern: UInt((tag >> generationBits) << 6)).unsafelyUnwrapped.assumingMemoryBound(
            to: SourceStorage.self)
    }

    /// Of any tag.
    @inline(__always)
    static func prefetch(tag: UInt64) { linux_prefetch(UnsafeRawPointer(bitPattern: UInt(tag >> (generationBits - 6)))) }

    /// What the info of any odd tag's memory points to.
    @inline(__always)
    static func prefetchInfo(tag: UInt64) { linux_prefetch_what(UnsafeRawPointer(address(ofTag: tag)) + infoOffset) }

    /// Of `SourceStorage.info`. By hand, as a pointer to it would read it, which is not always allowed here; a test compares.
    static var infoOffset: Int { 24 }

    /// Reports with the tag that the source has had are old from now on. Under the loop's lock.
    func advanceGeneration() { pointee.inlineRegistration.generation = (generation &+ 2) & Self.generationMask }

    /// For a source that is made of this memory: where the last one stopped.
    fileprivate var inheritedGeneration: UInt32 { generation & Self.generationMask | 1 }

    /// Of this memory, whoever's it is: another thread may be making a source of it, which leaves the number as it is.
    @inline(__always)
    private var generation: UInt32 { withUnsafeMutablePointer(to: &pointee.inlineRegistration.generation) { linux_peek($0) } }
}
