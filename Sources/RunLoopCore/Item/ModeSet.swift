/// The items that are in exactly the same modes of a loop, with their queues. A mode's timers and signalled sources are those of all sets
/// that contain the mode. So an item in many modes is queued once, and a loop has as many queues as there are different combinations of
/// modes, usually one or two.
///
/// The common modes count as one more mode, `common`. An item that is added to the common modes is in `common` and in every mode that is a
/// common mode at that time. A mode that becomes a common mode later is added to all sets that contain `common`.
///
/// Lives as long as its loop. Guarded by the loop's lock.
struct ModeSet: ~Copyable {
    /// The number of the mode that stands for the common modes.
    static var common: Int { 0 }

    /// The loop's context. Any thread that knows that the set is alive.
    let loop: ThreadContextPointer
    var modes: BitSet
    var timers = TimerQueue()
    var timerCount = 0
    /// The signalled version-0 sources, by order.
    var signalled = IndexedHeap<SourceKey>()
    /// The number of sources of either kind.
    var sourceCount = 0
    /// The number of sources that wait for a descriptor.
    var descriptorSourceCount = 0
    /// The number of sources and timers that do not keep a mode from being empty.
    var unreferencedCount = 0

    init(of loop: ThreadContextPointer, modes: consuming BitSet) {
        self.loop = loop
        self.modes = modes
    }

    /// Whether no item of the set keeps a mode from being empty. Observers never do.
    var isEmpty: Bool { sourceCount &+ timerCount == unreferencedCount }
}

typealias ModeSetPointer = UnsafeMutablePointer<ModeSet>
