import CLinux
import Synchronization

/// RLRunLoop: one per thread that uses the library. `Run.swift` has the iteration, steps 1 to 10; each file in this folder states which of
/// the steps it serves.
///
/// Each variable states who may touch it. "The lock" is the lock of `threadContext`, which costs the loop's own thread two plain stores.
/// The memory is never freed (see `Registry`), so a late signaller, or a client with an old handle, finds a loop without a thread, on which
/// no call has any effect.
struct RunLoopStorage: ObjectStorage, ~Copyable {
    static var kind: Kind { .runLoop }

    /// Must be the first field: a loop and its thread context have the same address.
    var threadContext = ThreadContext()

    // Any thread. Each of these groups is on cache lines of its own.
    private let apartFromThreadContext = CacheLine()
    /// The offset of this field is hard-coded in `WakeWord.offsetInLoop`.
    let wake = WakeWord()
    /// 1 if the innermost activation is to end: see `Run.swift`.
    let stop = Atomic<UInt32>(0)
    let pendingSignals = PendingSignals()
    private let apartFromPendingSignals = CacheLine()
    var inbox = PerformInbox()
    private let apartFromInbox = CacheLine()
    /// The latest end of the current sleep, of the loop or of a host in its place, in nanoseconds; 0 while the loop is awake. A thread that
    /// adds an earlier timer makes the loop recompute this limit. Written by the loop's thread: with the lock held before it sleeps,
    /// without it afterwards.
    let sleepLimit = Atomic<UInt64>(0)
    /// How long the loop spins before it sleeps, in nanoseconds; 0 unless the program sets it (measurements are in docs/PERFORMANCE.md).
    let spinInterval = Atomic<UInt64>(0)
    /// Bits of `EverUsed`: the kinds of work that the loop has ever had, so that a pass need not take the lock to look for the others. Set
    /// with the lock held, together with the first work of that kind. Read by the loop's thread without the lock; before it sleeps, it
    /// checks again with the lock held.
    let everUsed = Atomic<UInt32>(0)
    /// Bits of `WatchTrouble`: what the next pass has to do about descriptors that cannot be watched. Changed with the lock held; read by
    /// the loop's thread without it.
    let watchTrouble = Atomic<UInt32>(0)
    /// 1 if the current mode may have been emptied, which the loop then checks before it sleeps. Any thread; see `noteEmptied`.
    let mayBeEmpty = Atomic<UInt32>(0)
    /// The name of the current mode for other threads: a StringPointer or 0. Written by the loop's thread.
    let currentModeName = Atomic<UInt>(0)

    // Guarded by the lock.
    /// False once the thread has exited.
    var isOpen = false
    /// Whether this is the child of a fork() in which the loop's thread does not exist. The items are still in the loop.
    var isAbandoned = false
    /// The loop's modes by number. Number 0, which stands for the common modes, is nil. No mode leaves the list before the thread exits.
    var modes = PlainList<ModePointer?>()
    var commonModes = BitSet()
    var sets = PlainList<ModeSetPointer>()
    /// The set of items that were added to the common modes and to nothing else.
    var commonSet: ModeSetPointer?
    /// The set of items that are in the default mode only, which most items are. nil while there is no such set, when the loop is closed,
    /// and while a host waits (`Guest.defaultSet`).
    var defaultSet: ModeSetPointer?
    /// All observers in any mode or in the common modes, in the order in which they were added to the loop.
    var observers = PlainList<ObserverPointer>()
    var registrations = RegistrationTable()
    var poller = Poller()
    /// How many watched registrations belong to sources whose `rank` is not 0.
    var orderedRegistrations = 0
    /// Whether the current mode may be interested in more events than are registered with epoll.
    var mustRevisitWatches = false
    /// A descriptor whose watch is the reason for `WatchTrouble.lost`: the last one.
    var lostDescriptor: Int32 = -1
    /// When to retry watches that could not be registered; `never` if there are none. In the past while a host waits: see
    /// `Guest.retryDeadline`.
    var retryDeadline = Instant.never
    /// Functions that were taken out of the inbox and that no mode has run yet.
    var held = PlainList<PerformRequest>()
    /// How many entries at the beginning of `held` are marked as finished. They remain if a pass ran out of time in a long queue, whose
    /// rest is not moved each time.
    var heldStart = 0
    /// The mode for which `held` is known to contain no function, so that its passes can skip the search; nil if there is no such mode.
    var modeWithoutHeld: ModePointer?
    /// The mode whose last pass ran out of time: it called only the first functions of a long queue and left the rest in `held` for the
    /// next pass. nil if there is none.
    var longQueueMode: ModePointer?
    /// The head of the list of functions to be called after a delay.
    var delayed: DelayedPerformPointer?
    /// Cancelled requests whose release functions have yet to be called: by the cancelling thread or, if one of these functions ended that
    /// thread, when this loop closes.
    var withdrawn: PerformExtraPointer?
    /// The number of the last call of `cancel`, by which that call finds its own requests in `withdrawn`.
    var withdrawals = 0

    // Loop thread only, while the loop is running, unless stated otherwise.
    var eventBatch = EventBatch()
    /// A source that is known to have its next message in memory: see `RunLoopPointer.expectMore`.
    var knownReady = KnownReady()
    /// The mode in which epoll's own order gives each descriptor its turn; nil if that order has been disturbed since a round ended.
    var modeInOrder: ModePointer?
    /// How many passes in a row have not polled the kernel although a descriptor is watched, and when such a loop last polled.
    var passesUnpolled = 0
    var unpolledSince = Instant.distantPast
    /// The innermost activation. Outside of any run, one without a mode.
    var activation = Activation()
    /// Whether a stop had been requested of the last run to end. The result of that run may be another one, because a source may have been
    /// handled in the same pass.
    var lastRunWasStopped = false
    /// Set by the perform function of an internal source that found nothing to do, so that the source does not count as handled.
    var performedNothing = false
    /// A time later than those of all sources that the loop has queued, and earlier than the signals that were sent since it last took
    /// pending signals. A source that is signalled while no other signal is pending stores no time, and gets this one when it is queued.
    /// Never 0.
    var signalsTaken: UInt64 = 1
    /// Whether some set may have signalled sources in its queue.
    var mayHaveQueued = false
    /// The earliest deadline for which a timer may be queued during a timer pass. An earlier deadline is replaced by one behind this, so
    /// that the pass does not fire a timer that was set during it. 0 outside of timer passes. Guarded by the lock.
    var minimumDeadline: UInt64 = 0
    /// The arrival number of the timer that was added, or whose date was set, last: see `TimerStorage.arrival`. Guarded by the lock.
    var timerArrivals: UInt = 0
    /// Counts dispatched events. Registrations record it as the stamp of their last dispatch or turn. Guarded by the lock.
    var dispatchStamp: UInt32 = 0
    /// The signalled sources that this pass performs, preceded by those of outer activations. Guarded by the lock.
    var signalledBatch = PlainList<BatchEntry>()
    /// The dispatch frame of the innermost call of a source on a descriptor. Guarded by the lock.
    var dispatchFrame = DispatchFrame()
    /// The dispatch frames of the calls from which the loop is being run again, outermost first. Guarded by the lock.
    var outerDispatchFrames = PlainList<DispatchFrame>()
    /// How many timer passes are in progress, nested in each other. Guarded by the lock.
    var timerPasses = 0
    /// The value of `SharedSignals.count` when the loop last searched all its sources for signals.
    var sharedSignalsSeen: UInt32 = 0
    /// The thread's own timer slack, to be restored when the outermost run ends.
    var timerSlack = TimerSlack.unknown
    /// The batches of functions that are being called, outermost first. Guarded by the lock.
    var batches = PlainList<PerformBatch>()
    /// The timers whose callbacks are running, outermost first. Guarded by the lock.
    var firing = PlainList<TimerPointer>()
    /// The observers that are being notified, preceded by those of outer notifications. Guarded by the lock.
    var notifyingObservers = PlainList<ObserverCall>()
    /// The handlers to run if the thread exits inside a client's callback, outermost first. Loop thread only.
    var cleanupHandlers = PlainList<CleanupHandler>()
    /// The innermost request that a message port's callback is handling; its type belongs to a higher room. nil outside of such callbacks.
    var requestInCallback: UnsafeMutableRawPointer?
    /// Scratch memory for `TimerQueue.restoreDeadlines`. Guarded by the lock.
    var displaced = PlainList<TimerQueue.Position>()
    /// The objects passed to RLAutorelease that are still to be released, those of outer activations first. Loop thread only. It grows with
    /// the lock held, so that it is consistent in the child of fork().
    var autoreleased = PlainList<UnsafeRawPointer>()
    /// RLRelease, passed down because it is implemented in a higher room. nil until something has been autoreleased.
    var releaseObject: ReleaseFunction?
    var guest = Guest()
}

/// Kinds of work that a loop may have had: bits of `RunLoopStorage.everUsed`, never cleared while the loop has its thread.
enum EverUsed {
    static var timers: UInt32 { 1 }
    static var descriptors: UInt32 { 2 }
    /// Functions in `held`.
    static var heldFunctions: UInt32 { 4 }
}

/// What is wrong with some watch: bits of `RunLoopStorage.watchTrouble`, cleared by the pass that deals with it.
enum WatchTrouble {
    /// Watches could not be registered for lack of memory or descriptors. They have a `retryDeadline`.
    static var failed: UInt32 { 1 }
    /// The descriptor of a source turned out to be closed, which has not been reported yet.
    static var lost: UInt32 { 2 }
    /// A host waits for the descriptors in place of the loop, which has to end that wait before its next pass.
    static var hostWaits: UInt32 { 4 }
}

/// Cleans up an object if the thread exits inside a client's callback that is called on behalf of that object. Serves the purpose of
/// pthread_cleanup_push, which is a macro that Swift cannot use.
struct CleanupHandler: BitwiseCopyable {
    /// Called on the exiting thread; in the child of a fork() without that thread, by a thread that invalidates the object. Called without
    /// a lock held. May call user code.
    typealias Function =
        @convention(c) (_ object: UnsafeMutableRawPointer, _ part: UnsafeMutableRawPointer?, _ info: UnsafeMutableRawPointer?) -> Void

    let function: Function
    let object: UnsafeMutableRawPointer
    var part: UnsafeMutableRawPointer?
    /// The result of the context's retain function for this call.
    var info: UnsafeMutableRawPointer?
}

/// An observer that is being notified of an activity, and is kept alive meanwhile.
struct ObserverCall: BitwiseCopyable {
    /// The progress of the notification.
    enum State: UInt8 { case waiting, called, done }

    let observer: ObserverPointer
    /// Changed on the loop's thread, with the observer's lock held.
    var state = State.waiting
}

typealias RunLoopPointer = UnsafeMutablePointer<RunLoopStorage>

/// A mode of one loop. Lives until the loop's thread exits.
struct Mode: ~Copyable {
    /// The mode's name, retained.
    let name: StringPointer
    let number: Int
    /// Whether something has been added to the mode, or was meant to be, so that RLRunLoopCopyAllModes lists the mode and runs know it. As
    /// in CFRunLoop, they do not know a mode that was only made common. Guarded by the lock.
    var isListed = false
    /// The sets that contain the mode. Guarded by the lock.
    var sets = PlainList<ModeSetPointer>()
    /// The set of items that are in this mode only. Guarded by the lock.
    var soleSet: ModeSetPointer?
    /// The mode's observers in ascending order; equal orders in the order in which they were added to the mode. Guarded by the lock.
    var observers = PlainList<ObserverPointer>()
    /// Whether the last pass fired timers, so that the next one serves ready descriptors first. Loop thread only.
    var firedTimersLast = false
    /// How many runs of the mode, nested in each other, wait for something that ends them: the mode is then not empty. Written by the loop's
    /// thread with the lock held.
    var waitingRuns = 0
    /// The mode's innermost timer pass fires the timers that were due by this time; 0 outside of its timer passes. Guarded by the lock.
    var timersDueBy: UInt64 = 0
    /// The value of `RunLoopStorage.dispatchStamp` when this round of turns began: see `isNext`. Guarded by the lock.
    var roundBegan: UInt32 = 0
    /// The stamp of the last turn of the watches that are always ready, which share one turn. Corresponds to `Registration.lastDispatch`.
    var alwaysReadyLastDispatch: UInt32 = 0
    /// The union of the activities that the mode's observers observe. Written with the lock held; read by the loop's thread without it.
    let observedActivities = Atomic<UInt>(0)
}

typealias ModePointer = UnsafeMutablePointer<Mode>

extension RunLoopPointer {
    var threadContext: ThreadContextPointer { UnsafeMutableRawPointer(self).assumingMemoryBound(to: ThreadContext.self) }

    /// Returns the loop that begins with this context. Every context is the first field of a loop.
    init(_ threadContext: ThreadContextPointer) {
        self = UnsafeMutableRawPointer(threadContext).assumingMemoryBound(to: RunLoopStorage.self)
    }

    /// The address of the inbox. An inout argument would claim exclusive access, but other threads use the inbox, too.
    var inbox: PerformInboxPointer {
        let address: UnsafePointer<PerformInbox> = withUnsafePointer(to: pointee.inbox) { $0 }
        return PerformInboxPointer(mutating: address)
    }

    /// Locks the loop's context: see `ThreadContextPointer.lock`.
    func lock() { threadContext.lock() }
    /// Unlocks. Called by the thread that called `lock`.
    func unlock() { threadContext.unlock() }

    var isCurrent: Bool { Thread.has(UnsafeMutableRawPointer(self)) }

    /// Calls `body`, which must not call user code, with the lock held.
    func locked<Result>(_ body: () -> Result) -> Result {
        lock()
        let result = body()
        unlock()
        return result
    }

    /// Whether the loop has ever had work of this kind, of `EverUsed`. One load.
    func hasEverUsed(_ kind: UInt32) -> Bool { pointee.everUsed.load(ordering: .relaxed) & kind != 0 }

    /// Records that the loop has work of this kind, of `EverUsed`. The caller holds the lock.
    func noteUse(of kind: UInt32) {
        if !hasEverUsed(kind) { pointee.everUsed.store(pointee.everUsed.load(ordering: .relaxed) | kind, ordering: .relaxed) }
    }

    /// RLRunLoopWakeUp. One atomic exchange; one system call if the loop sleeps. Any thread, async-signal-safe.
    func wakeUp() { pointee.wake.wakeUp() }

    /// RLRunLoopStop: makes the innermost activation return at the end of its pass. Any thread, async-signal-safe.
    func requestStop() {
        RaceDetector.happensBefore(pointee.stop)
        pointee.stop.store(1, ordering: .releasing)
        wakeUp()
    }

    /// Makes the loop recompute how long it may sleep if `deadline` is earlier than its current limit. Any thread; call after the change,
    /// or make both with the lock held.
    func adjustSleep(for deadline: UInt64) {
        if deadline < pointee.sleepLimit.load(ordering: .relaxed) { pointee.wake.adjust() }
    }

    /// Whether the loop may be asleep: true for another thread's loop, and for the calling thread's own while a host waits in its place.
    /// Any thread.
    var maySleep: Bool { !isCurrent || pointee.sleepLimit.load(ordering: .relaxed) != 0 }

    /// Makes the loop recompute what it sleeps for and how long. Any thread.
    func adjustSleep() {
        if maySleep { pointee.wake.adjust() }
    }
}
