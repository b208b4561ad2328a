import CLinux
import Synchronization

/// What a source calls.
struct SourceFunction: BitwiseCopyable, @unchecked Sendable {
    typealias Perform = @convention(c) (UnsafeMutableRawPointer?) -> Void
    /// One of ours, for a source that `isInternal`: what is ready of what it waits for, and all that was reported. Nothing ready, of one that
    /// `callsClient`: see `Endpoint.reconcile`. Nothing at all: the thread has ended in a client's function that this, or the loop, called.
    typealias EventHandler =
        @convention(c) (_ info: UnsafeMutableRawPointer?, _ ready: UInt16, _ reported: UInt16) -> DispatchResult.RawValue

    private let address: UInt

    init(_ perform: Perform?) { address = unsafeBitCast(perform, to: UInt.self) }
    init(eventHandler: EventHandler) { address = unsafeBitCast(eventHandler, to: UInt.self) }

    @inline(__always)
    var perform: Perform? { unsafeBitCast(address, to: Perform?.self) }

    @inline(__always)
    var handleEvents: EventHandler { unsafeBitCast(address, to: EventHandler.self) }

    /// Whether two sources call the same. O(1).
    func isSame(as other: SourceFunction) -> Bool { address == other.address }
}

/// What came of telling a source that its descriptor is ready.
enum DispatchResult: UInt8 {
    /// Somebody was called.
    case handled
    /// Nobody wanted to know; what the source waits for has been brought up to date.
    case unwanted
    /// Not now, for want of descriptors or memory: to be tried again a little later.
    case tryLater
}

/// The functions of a context that most sources do not have.
struct SourceDetail: BitwiseCopyable {
    typealias Schedule = @convention(c) (UnsafeMutableRawPointer?, OpaquePointer?, OpaquePointer?) -> Void

    var retain: (@convention(c) (UnsafeRawPointer?) -> UnsafeRawPointer?)?
    var release: (@convention(c) (UnsafeRawPointer?) -> Void)?
    var copyDescription: (@convention(c) (UnsafeRawPointer?) -> OpaquePointer?)?
    var equal: (@convention(c) (UnsafeRawPointer?, UnsafeRawPointer?) -> UInt8)?
    var hash: (@convention(c) (UnsafeRawPointer?) -> UInt)?
    var schedule: Schedule?
    var cancel: Schedule?

    /// Whether there is anything in it.
    var isNeeded: Bool {
        retain != nil || release != nil || copyDescription != nil || equal != nil || hash != nil || schedule != nil || cancel != nil
    }
}

typealias SourceDetailPointer = UnsafeMutablePointer<SourceDetail>

extension SourceDetailPointer {
    /// What all sources of one of our kinds have in common: made by the first that gets the memory for it, and kept in `place`, 0
    /// at first; nil if out of memory. O(1). Any thread.
    static func shared(_ place: borrowing Atomic<UInt>, _ detail: SourceDetail) -> SourceDetailPointer? {
        if let known = SourceDetailPointer(bitPattern: place.load(ordering: .acquiring)) { return known }
        guard let new = malloc(MemoryLayout<SourceDetail>.size)?.bindMemory(to: SourceDetail.self, capacity: 1) else { return nil }
        new.initialize(to: detail)
        let (isFirst, first) = place.compareExchange(
            expected: 0, desired: UInt(bitPattern: new), ordering: .acquiringAndReleasing)
        if isFirst { return new }
        free(new)
        return SourceDetailPointer(bitPattern: first)
    }
}
