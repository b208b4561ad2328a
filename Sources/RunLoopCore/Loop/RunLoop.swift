import CLinux
import Synchronization

/// RLRunLoop: one per thread that uses the library. `Run.swift` has the iteration, steps 1 to 10; each file here says which of them it
/// serves.
///
/// Each variable says who may touch it. "Under the lock" means the lock of `threadContext`, which costs the loop's own thread two
/// plain stores. The memory is never freed (see `Registry`), so a late signaller, or a client with an old handle, reads a loop
/// without a thread, on which nothing has any effect.
struct RunLoopStorage: ObjectStorage, ~Copyable {
    static var kind: Kind { .runLoop }

    /// Must be the first field: a loop and its thread context have the same address.
    var threadContext = ThreadContext()

    // Any thread; each on lines of its own.
    private let apartFromThreadContext = CacheLine()
    /// Where it is, `WakeWord.offsetInLoop` knows.
    let wake = WakeWord()
    /// 1: the innermost activation is to end. `Run.swift`.
    let stop = Atomic<UInt32>(0)
    let pendingSignals = PendingSignals()
    private let apartFromPendingSignals = CacheLine()
    var inbox = PerformInbox()
    private let apartFromInbox = CacheLine()
    /// Until when the loop sleeps, or a host in its place, in nanoseconds; 0 while it is awake. A thread that adds an earlier timer makes the
    /// loop compute its limit again. Written by the loop's thread: under the lock before it sleeps, without it afterwards.
    let sleepLimit = Atomic<UInt64>(0)
    /// How long the loop spins before it sleeps, in nanoseconds; 0 unless the program sets it (docs/PERFORMANCE.md has measurements).
    let spinInterval = Atomic<UInt64>(0)
    /// Bits of `EverUsed`: a pass does not take the lock to look for kinds of items that the loop has never had. Set under the lock together
    /// with the first such thing; read by the loop's thread, which looks again under the lock before it sleeps.
    let everUsed = Atomic<UInt32>(0)
    /// Bits of `WatchTrouble`: what the next pass has to do about descriptors that cannot be watched. Changed under the lock; read
    /// by the loop's thread without it.
    let watchTrouble = Atomic<UInt32>(0)
    /// 1 if the mode that runs may have been emptied: the loop looks before it sleeps. Any thread; see `noteEmptied`.
    let mayBeEmpty = Atomic<UInt32>(0)
    /// The name of the mode that runs, for other threads: a StringPointer or 0. Written by the loop.
    let currentModeName = Atomic<UInt>(0)

    // Under the lock.
    /// False once the thread has ended.
    var isOpen = false
    /// In a child of fork(): the loop's thread does not exist, but its items are still in the loop.
    var isAbandoned = false
    /// By number; 0, the pretended common mode, is nil. No mode leaves the list before the thread ends.
    var modes = PlainList<ModePointer?>()
    var commonModes = BitSet()
    var sets = PlainList<ModeSetPointer>()
    /// The set of items that were added to the common modes and to nothing else.
    var commonSet: ModeSetPointer?
    /// The set of items that are in the default mode only: nearly all. nil while there is none, when the loop is closed, and while a host
    /// waits (`Guest.defaultSet`).
    var defaultSet: ModeSetPointer?
    /// All observers in any mode, or in the common modes, in the order in which they were added to the loop.
    var observers = PlainList<ObserverPointer>()
    var registrations = RegistrationTable()
    var poller = Poller()
    /// How many watched registrations are of sources whose `rank` is not 0.
    var orderedRegistrations = 0
    /// Set when the mode that runs may be interested in more events than epoll has been asked to report.
    var mustRevisitWatches = false
    /// When to retry watches that could not be registered; `never` if there are none. In the past while a host waits: `Guest.retryDeadline`.
    var retryDeadline = Instant.never
    /// Functions taken out of the inbox that no mode has run yet.
    var held = PlainList<PerformRequest>()
    /// How many at the beginning of `held` have been called already; they are marked as cancelled.
    var heldStart = 0
    /// A mode for which `held` contains no function, so that its passes need not look; nil if no such mode is known.
    var modeWithoutHeld: ModePointer?
    /// The mode whose last pass ran out of time: it called only the first functions of a long queue and left the rest in `held` for the next
    /// pass. nil if there is none.
    var longQueueMode: ModePointer?
    /// The functions that wait for their delay: the first of the list.
    var delayed: DelayedPerformPointer?
    /// Cancelled requests whose release functions have yet to be called: by the thread that cancels them or, if one of these functions has
    /// ended that thread, when this loop ends.
    var withdrawn: PerformExtraPointer?
    /// The number of the last call of `cancel`, by which it finds its own requests in `withdrawn`.
    var withdrawals = 0

    // The loop's thread, while it runs.
    var eventBatch = EventBatch()
    /// See `RunLoopPointer.expectMore`.
    var knownReady = KnownReady()
    /// The mode in which epoll's own order gives each descriptor its turn; nil if that order has been disturbed since a round ended.
    var modeInOrder: ModePointer?
    /// How many passes in a row have not asked the kernel for events although a descriptor is watched, and when such a loop last asked.
    var passesUnpolled = 0
    var unpolledSince = Instant.distantPast
    /// The innermost activation; outside of any, one without a mode.
    var activation = Activation()
    /// Whether the run that ended last had been asked to stop. Its result may be another one, as a source may have been handled in the same
    /// pass.
    var lastRunWasStopped = false
    /// Set by the perform function of an internal source that had nothing to do: the source then does not count as handled.
    var performedNothing = false
    /// When the loop last took signals and queued sources for them, in nanoseconds. A source that was signalled while no other signal was
    /// pending stores no time; it came after all that are queued, so this time stands for its own. Never 0.
    var signalsTaken: UInt64 = 1
    /// Whether some set may have signalled sources in its queue.
    var mayHaveQueued = false
    /// While a timer pass is under way, the earliest deadline for which a timer is queued: earlier ones are replaced by later ones than this,
    /// so that the pass fires no timer that was set during it. 0 outside of timer passes. Under the lock.
    var minimumDeadline: UInt64 = 0
    /// The number of the last timer that was added, or whose deadline was set. See `TimerStorage.arrival`. Under the lock.
    var timerArrivals: UInt = 1
    var postBackoff = PostBackoff()
    /// Counts dispatched events: the stamp by which registrations remember their last dispatch and their turns. Under the lock.
    var dispatchStamp: UInt32 = 0
    /// The signalled sources that this pass performs, and those of outer activations before them. Under the lock.
    var signalledBatch = PlainList<BatchEntry>()
    /// The innermost call of a source on a descriptor. Under the lock.
    var dispatchFrame = DispatchFrame()
    /// The calls from which the loop is run again, outermost first. Under the lock.
    var outerDispatchFrames = PlainList<DispatchFrame>()
    /// How many timer passes are under way, nested in each other. Under the lock.
    var timerPasses = 0
    /// `SharedSignals.count` when the loop last looked through its sources.
    var sharedSignalsSeen: UInt32 = 0
    /// The thread's timer slack, restored when the outermost run ends.
    var timerSlack = TimerSlack.unknown
    /// The batches of functions that are being called, outermost first. Under the lock.
    var batches = PlainList<PerformBatch>()
    /// The timers whose functions are running, outermost first. Under the lock.
    var firing = PlainList<TimerPointer>()
    /// The observers that are being notified, those of outer notifications first. Under the lock.
    var notifyingObservers = PlainList<ObserverCall>()
    /// What is to be cleaned up if the thread ends in a client's function, outermost first. The loop's thread.
    var cleanupHandlers = PlainList<CleanupHandler>()
    /// Memory for `TimerQueue.restoreDeadlines`. Under the lock.
    var displaced = PlainList<TimerQueue.Position>()
    /// The objects of RLAutorelease that are to be released, those of outer activations first. The loop's thread; it grows under
    /// the lock, so that a child of fork() finds it whole.
    var autoreleased = PlainList<UnsafeRawPointer>()
    /// RLRelease, passed down because its room lies above this one. nil until something was autoreleased.
    var releaseObject: ReleaseFunction?
    var guest = Guest()
}

/// Kinds of items that a loop may have had: bits of `RunLoopStorage.everUsed`, never cleared while the loop has its thread.
enum EverUsed {
    static var timers: UInt32 { 1 }
    static var descriptors: UInt32 { 2 }
    /// Functions in `held`.
    static var heldFunctions: UInt32 { 4 }
}

/// What is wrong with some watch: bits of `RunLoopStorage.watchTrouble`, cleared by the pass that deals with it.
enum WatchTrouble {
    /// Watches could not be registered for want of memory or descriptors; there is a `retryDeadline` for them.
    static var failed: UInt32 { 1 }
    /// A source's descriptor turned out to be closed; that has yet to be reported.
    static var lost: UInt32 { 2 }
    /// A host waits for the descriptors in place of the loop, which has to end that wait before its next pass.
    static var hostWaits: UInt32 { 4 }
}

/// What the library has to clean up if the thread ends in a client's function that it calls. Like pthread_cleanup_push, which is a macro
/// that Swift cannot use.
struct CleanupHandler: BitwiseCopyable {
    /// Called by the ending thread, without a lock; may call user code.
    typealias Function =
        @convention(c) (_ object: UnsafeMutableRawPointer, _ part: UnsafeMutableRawPointer?, _ info: UnsafeMutableRawPointer?) -> Void

    let function: Function
    let object: UnsafeMutableRawPointer
    var part: UnsafeMutableRawPointer?
    /// What the context's retain returned for this call.
    var info: UnsafeMutableRawPointer?
}

/// An observer that is being notified of an activity; kept alive until that is done.
struct ObserverCall: BitwiseCopyable {
    /// How far the notification has come.
    enum State: UInt8 { case waiting, called, done }

    let observer: ObserverPointer
    /// Changed by the loop's thread, under the lock of the observer.
    var state = State.waiting
}

typealias RunLoopPointer = UnsafeMutablePointer<RunLoopStorage>

/// A mode of one loop. Lives as long as the loop's thread.
struct Mode: ~Copyable {
    /// The mode's name, which is retained.
    let name: StringPointer
    let number: Int
    /// Whether something has been added to the mode, or was to be. A mode that was only made common is unknown to runs and to
    /// RLRunLoopCopyAllModes, as in CFRunLoop. Under the lock.
    var isMade = false
    /// The sets that contain the mode. Under the lock.
    var sets = PlainList<ModeSetPointer>()
    /// The set of items that are in this mode only. Under the lock.
    var soleSet: ModeSetPointer?
    /// The mode's observers, by order; those of the same order as they came into the mode. Under the lock.
    var observers = PlainList<ObserverPointer>()
    /// Whether the last pass fired timers, so that ready descriptors go first in the next. The loop's thread.
    var firedTimersLast = false
    /// The time by which a timer must have been due for the mode's innermost timer pass to fire it; 0 outside of its timer passes. Under the
    /// lock.
    var timersDueBy: UInt64 = 0
    /// `RunLoopStorage.dispatchStamp` when this round of turns began: see `isNext`. Under the lock.
    var roundBegan: UInt32 = 0
    /// The stamp of the last turn of the watches that are always ready, which share one turn; as `Registration.lastDispatch`.
    var alwaysReadyLastDispatch: UInt32 = 0
    /// All activities that some observer of the mode observes. Written under the lock, read by the loop's thread.
    let observedActivities = Atomic<UInt>(0)
}

typealias ModePointer = UnsafeMutablePointer<Mode>

extension RunLoopPointer {
    var threadContext: ThreadContextPointer { UnsafeMutableRawPointer(self).assumingMemoryBound(to: ThreadContext.self) }

    /// The loop that begins with this context: every context is the beginning of a loop.
    init(_ threadContext: ThreadContextPointer) {
        self = UnsafeMutableRawPointer(threadContext).assumingMemoryBound(to: RunLoopStorage.self)
    }

    /// The address of the inbox. An inout argument would claim exclusive access, but other threads use the inbox, too.
    var inbox: PerformInboxPointer {
        let place: UnsafePointer<PerformInbox> = withUnsafePointer(to: pointee.inbox) { $0 }
        return PerformInboxPointer(mutating: place)
    }

    /// See `ThreadContextPointer.lockInlined`.
    @inline(__always)
    func lockInlined() { threadContext.lockInlined() }
    /// Unlocks; to be called by the thread that called `lockInlined`.
    @inline(__always)
    func unlockInlined() { threadContext.unlockInlined() }

    /// `lockInlined`, not inlined: everywhere but on hot paths.
    func lock() { threadContext.lock() }
    /// Unlocks; to be called by the thread that called `lock`.
    func unlock() { threadContext.unlock() }

    var isCurrent: Bool { Thread.has(UnsafeMutableRawPointer(self)) }

    /// Runs `body`, which must not call user code, under the lock.
    func locked<Result>(_ body: () -> Result) -> Result {
        lock()
        let result = body()
        unlock()
        return result
    }

    /// Whether the loop has ever had something of this kind, of `EverUsed`. One load.
    func hasEverUsed(_ kind: UInt32) -> Bool { pointee.everUsed.load(ordering: .relaxed) & kind != 0 }

    /// Notes that the loop gets something of this kind, of `EverUsed`. Under the lock.
    func noteUse(of kind: UInt32) {
        if !hasEverUsed(kind) { pointee.everUsed.store(pointee.everUsed.load(ordering: .relaxed) | kind, ordering: .relaxed) }
    }

    /// Calls `body` under the lock. For hot paths: lock and unlock are inlined.
    func lockedInlined<Result>(_ body: () -> Result) -> Result {
        lockInlined()
        let result = body()
        unlockInlined()
        return result
    }

    /// RLRunLoopWakeUp. One atomic exchange; one system call if the loop sleeps. Any thread, async-signal-safe.
    @inline(__always)
    func wakeUp() { pointee.wake.wakeUp() }
    /// `wakeUp`, not inlined.
    @inline(never)
    func wakeUpSlow() { wakeUp() }

    /// RLRunLoopStop: the innermost activation returns when its pass is over. Any thread, async-signal-safe.
    func requestStop() {
        RaceDetector.happensBefore(pointee.stop)
        pointee.stop.store(1, ordering: .releasing)
        wakeUpSlow()
    }

    /// Makes the loop compute again how long it may sleep, if `deadline` is earlier than its limit. Any thread, under the lock or
    /// after the change.
    func adjustSleep(for deadline: UInt64) {
        if deadline < pointee.sleepLimit.load(ordering: .relaxed) { pointee.wake.adjust() }
    }

    /// Whether the loop may be asleep: another thread's, or the calling thread's own while a host waits in its place. Any thread.
    var maySleep: Bool { !isCurrent || pointee.sleepLimit.load(ordering: .relaxed) != 0 }

    /// Makes the loop look again at what it sleeps for. Any thread.
    func adjustSleep() {
        if maySleep { pointee.wake.adjust() }
    }
}
