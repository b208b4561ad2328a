/// Items that are in exactly the same modes of a loop are queued together: a mode's timers and signalled
/// sources are those of the sets that contain it. So an item in many modes is kept once, and a loop has
/// as many queues as there are different memberships, usually one or two.
///
/// The common modes' set counts as one more mode, `common`: an item added to the common modes is in it and
/// in every mode that is a member at that time; a mode that becomes a member later joins all sets with it.
///
/// Lives as long as its loop. Guarded by the loop's lock.
struct ModeSet: ~Copyable {
    /// The number of the pretended mode that stands for the common modes.
    static var common: Int { 0 }

    var modes: BitSet
    var timers = TimerQueue()
    var timerCount = 0
    /// Signalled version-0 sources.
    var signalled = IndexedHeap<SourceKey>()
    var sourceCount = 0
    /// Those of version 1.
    var portCount = 0

    init(modes: consuming BitSet) { self.modes = modes }

    /// Whether it has nothing that keeps a mode from being empty.
    @inline(__always)
    var isEmpty: Bool { sourceCount | timerCount == 0 }

    /// Whether one more timer can be queued without asking for memory.
    @inline(__always)
    var hasRoomForTimer: Bool { timers.hasRoom(for: timerCount &+ 1) }
}

typealias ModeSetPointer = UnsafeMutablePointer<ModeSet>
