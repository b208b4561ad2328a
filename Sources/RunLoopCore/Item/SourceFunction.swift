import CLinux
import Synchronization

/// The function that a source calls: a client's perform function, or the event handler of an internal source.
struct SourceFunction: BitwiseCopyable, @unchecked Sendable {
    typealias Perform = @convention(c) (UnsafeMutableRawPointer?) -> Void
    /// Handles the events of an internal source. `ready` is the part of `reported` that the source is interested in. If both are empty, the
    /// thread has exited inside a client's callback that this handler has called: the handler cleans up. Loop thread only; called without a
    /// lock held. May call user code.
    typealias EventHandler =
        @convention(c) (_ info: UnsafeMutableRawPointer?, _ ready: UInt16, _ reported: UInt16) -> DispatchResult.RawValue

    private let address: UInt

    init(_ perform: Perform?) { address = unsafeBitCast(perform, to: UInt.self) }
    init(eventHandler: EventHandler) { address = unsafeBitCast(eventHandler, to: UInt.self) }

    var perform: Perform? { unsafeBitCast(address, to: Perform?.self) }

    var handleEvents: EventHandler { unsafeBitCast(address, to: EventHandler.self) }

    /// Whether both are the same function: sources are equal only if they call the same one. O(1).
    func isSame(as other: SourceFunction) -> Bool { address == other.address }
}

/// What a source has done about events of its descriptor.
enum DispatchResult: UInt8 {
    /// A client's callback was called, or a run has what it waits for.
    case handled
    /// As `handled`, and the source probably has its next message in memory: see `KnownReady`.
    case handledOneOfSeveral
    /// Nothing that ends a run was done: only a part of a message has arrived, for example, or no client waits for the events any longer.
    case unwanted
    /// There was no memory or no descriptor to handle the events, so they have to be retried a little later.
    case retryLater
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

    /// Whether any of the functions is set.
    var isNeeded: Bool {
        retain != nil || release != nil || copyDescription != nil || equal != nil || hash != nil || schedule != nil || cancel != nil
    }
}

typealias SourceDetailPointer = UnsafeMutablePointer<SourceDetail>

extension SourceDetailPointer {
    /// Returns the detail that all internal sources of one kind share, allocated by the first call; nil if out of memory. `storage` holds
    /// the address, and is 0 until the first call. O(1). Any thread.
    static func shared(_ storage: borrowing Atomic<UInt>, _ detail: SourceDetail) -> SourceDetailPointer? {
        if let known = SourceDetailPointer(bitPattern: storage.load(ordering: .acquiring)) { return known }
        guard let new = malloc(MemoryLayout<SourceDetail>.size)?.bindMemory(to: SourceDetail.self, capacity: 1) else { return nil }
        new.initialize(to: detail)
        let (isFirst, first) = storage.compareExchange(
            expected: 0, desired: UInt(bitPattern: new), ordering: .acquiringAndReleasing)
        if isFirst { return new }
        free(new)
        return SourceDetailPointer(bitPattern: first)
    }
}
