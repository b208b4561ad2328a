import CLinux
import CRunLoop
import Synchronization

/// RLRunLoopTimer: 64 bytes, one cache line. What only a few timers need (an interval, a tolerance, an order, functions in the context) is
/// in a `TimerDetail`.
///
/// Guarded by the lock of `item.owner`.
struct TimerStorage: ObjectStorage, ~Copyable {
    static var kind: Kind { .timer }
    typealias Callout = @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Void

    var item: ItemHeader
    /// The address of `set`.
    private let setAddress = Atomic<UInt>(0)
    /// The client's date, or the date of the next grid point; in seconds since 2001.
    var date: Double
    var callout: Callout
    /// The client's info or, if the timer has a detail, the address of the detail.
    var infoOrDetail: UnsafeMutableRawPointer?
    /// Numbers the timers of a loop in the order in which they were added or their deadline was last set (`RunLoopStorage.timerArrivals`).
    /// Timers with equal deadlines fire in this order. The numbers are even; 1 is added if `isQueuedByDate`.
    var arrival: UInt = 0

    /// Whether the timer is in the farthest bucket, and its slot has no deadline, or that of an earlier date. The deadline is then computed
    /// from `date`, at the latest when the bucket is opened. In a timer that is in no queue, the value means nothing.
    var isQueuedByDate: Bool {
        get { arrival & 1 != 0 }
        set { arrival = arrival & ~1 | (newValue ? 1 : 0) }
    }

    init(item: consuming ItemHeader, date: Double, callout: @escaping Callout, info: UnsafeMutableRawPointer?) {
        self.item = item
        self.date = date
        self.callout = callout
        infoOrDetail = info
    }

    /// The set in which the timer is queued, which belongs to its owner's loop; nil while the timer is in no loop. Changed with the lock
    /// held. Any thread may read it: one that holds a loop's lock, and finds a set of that loop here, knows without checking the owner that
    /// it holds the timer's lock.
    var set: ModeSetPointer? {
        get { ModeSetPointer(bitPattern: setAddress.load(ordering: .relaxed)) }
        nonmutating set { setAddress.store(UInt(bitPattern: newValue), ordering: .relaxed) }
    }

    static let slab = Slab(size: MemoryLayout<TimerStorage>.stride)
}

/// The fields that most timers do not need. Guarded like the timer.
struct TimerDetail: ~Copyable {
    /// The index in the queue by latest time. Must be the first field: see `TimerDetailPointer.position`.
    var heapIndex: UInt32 = .max
    /// Whether the timer was invalidated during its callback by another thread, or after it had been moved to another loop. The thread that
    /// executes the callback then releases `context.info` when that returns.
    var owesRelease = false
    /// What the context's retain returned for the call in progress; nil if nothing has to be released after it. In the child of a fork()
    /// without the calling thread, the next call takes it over. Used by the thread that is calling the timer and, once no reference is
    /// left, by the one that frees it.
    var retainedInfo: UnsafeMutableRawPointer?
    /// The interval in seconds: 0 for one-shot timers, `untilArmed` for timers that stay valid until they are armed again.
    var interval: Double
    var intervalNanoseconds: UInt64
    /// The tolerance in seconds.
    var tolerance: Double = 0
    var order: Int
    /// The next grid point of a repeating timer, or the deadline of a timer with `keepsDeadline`.
    var gridDeadline: UInt64 = 0
    var context: ClientContext

    static let slab = Slab(size: MemoryLayout<TimerDetail>.stride)

    /// The interval of a timer that remains valid after its call, but is not called again until its date is set.
    static var untilArmed: Double { .infinity }

    /// The interval that the client sees.
    var clientInterval: Double { interval == Self.untilArmed ? 0 : interval }
}

typealias TimerPointer = UnsafeMutablePointer<TimerStorage>
typealias TimerDetailPointer = UnsafeMutablePointer<TimerDetail>

extension TimerDetailPointer {
    /// Where the queue by latest time stores the timer's index.
    var position: UnsafeMutablePointer<UInt32> { UnsafeMutableRawPointer(self).assumingMemoryBound(to: UInt32.self) }

    /// Returns the latest time to fire a timer with this deadline and its tolerance. O(1).
    func latest(_ deadline: UInt64) -> UInt64 {
        Instant(nanoseconds: deadline).advanced(by: Clock.nanoseconds(pointee.tolerance)).nanoseconds
    }
}

extension TimerPointer {
    static var positionOffset: Int { ItemHeader.positionOffset }

    /// Where a queue stores the timer's index. The queue identifies the timer by this address.
    var position: UnsafeMutablePointer<UInt32> {
        (UnsafeMutableRawPointer(self) + Self.positionOffset).assumingMemoryBound(to: UInt32.self)
    }

    /// Returns the timer that has this `position`.
    init(queued position: UnsafeMutablePointer<UInt32>) {
        self = (UnsafeMutableRawPointer(position) - Self.positionOffset).assumingMemoryBound(to: TimerStorage.self)
    }

    var item: ItemPointer { UnsafeMutableRawPointer(self).assumingMemoryBound(to: ItemHeader.self) }

    /// Whether the timer has a detail. The caller holds the lock.
    var hasDetail: Bool { pointee.item.has(.hasDetail) }

    /// The detail of a timer that has one. The caller holds the lock.
    var knownDetail: TimerDetailPointer { pointee.infoOrDetail.unsafelyUnwrapped.assumingMemoryBound(to: TimerDetail.self) }

    /// The timer's detail; nil if it has none. The caller holds the lock.
    var detail: TimerDetailPointer? { hasDetail ? knownDetail : nil }

    /// The info that is passed to the client's callback; nil after invalidation. The caller holds the lock.
    var info: UnsafeMutableRawPointer? {
        if !pointee.item.has(.valid) { return nil }
        return hasDetail ? knownDetail.pointee.context.info : pointee.infoOrDetail
    }

    /// Creates a timer with one reference, in no loop, owned by the calling thread's context. Returns nil if out of memory. `context.info`
    /// has been retained by the caller. O(1); a system call only if the slab needs another chunk. Calls no user code.
    static func create(
        _ threadContext: ThreadContextPointer, date: Double, interval: Double, order: Int, _ callout: @escaping TimerStorage.Callout,
        _ context: ClientContext
    ) -> TimerPointer? {
        guard let memory = TimerStorage.slab.allocate(threadContext) else { return nil }
        let timer = initialize(memory, threadContext, date: date, callout, context.info)
        if interval <= 0 && order == 0 && !context.hasFunctions || timer.addDetail(threadContext, interval, order, context) { return timer }
        TimerStorage.slab.deallocate(timer, threadContext)
        return nil
    }

    /// Does what `create` does, for a timer without a detail and only from memory in the cache of `threadContext`, the calling thread's. If
    /// this returns nil, `create` may still succeed. Calls no user code and makes no system call.
    static func tryCreate(
        _ threadContext: ThreadContextPointer, date: Double, _ callout: @escaping TimerStorage.Callout, _ info: UnsafeMutableRawPointer?
    ) -> TimerPointer? {
        guard let memory = TimerStorage.slab.allocateCached(threadContext) else { return nil }
        return initialize(memory, threadContext, date: date, callout, info)
    }

    private static func initialize(
        _ memory: UnsafeMutableRawPointer, _ threadContext: ThreadContextPointer, date: Double,
        _ callout: @escaping TimerStorage.Callout, _ info: UnsafeMutableRawPointer?
    ) -> TimerPointer {
        let timer = memory.assumingMemoryBound(to: TimerStorage.self)
        timer.initialize(
            to: TimerStorage(item: ItemHeader(.timer, owner: threadContext, flags: []), date: date, callout: callout, info: info))
        return timer
    }

    /// Adds a detail to a timer that has none. Returns false if out of memory. `context.info` must be the timer's info, and `threadContext`
    /// the calling thread's. The caller holds the lock, unless the timer is new.
    func addDetail(_ threadContext: ThreadContextPointer, _ interval: Double, _ order: Int, _ context: ClientContext) -> Bool {
        guard let memory = TimerDetail.slab.allocate(threadContext) else { return false }
        let detail = memory.assumingMemoryBound(to: TimerDetail.self)
        detail.initialize(
            to: TimerDetail(
                interval: interval, intervalNanoseconds: Swift.max(1, Clock.nanoseconds(interval)), order: order, context: context))
        if interval > 0 { detail.pointee.gridDeadline = Self.gridStart(pointee.date) }
        pointee.infoOrDetail = memory
        pointee.item.set(interval > 0 ? [.hasDetail, .repeats] : .hasDetail)
        return true
    }

    /// Returns the first point of a repeating timer's grid (the times at which it is due: first date plus multiples of the interval). A
    /// date in the past counts as now, as in CFRunLoop.
    private static func gridStart(_ date: Double) -> UInt64 {
        let deadline = Clock.instant(ofDate: date)
        return Clock.isCertainlyAhead(deadline) ? deadline.nanoseconds : Swift.max(deadline, Clock.now).nanoseconds
    }

    /// Whether the timer is in a loop. Any thread.
    var isBound: Bool { pointee.item.has(.bound) }

    /// Releases a reference of the library. Any thread; may call the context's release.
    @inline(never)
    func release() {
        if item.release() == .dead { destroy() }
    }

    /// Frees the memory, once no reference is left. Any thread; calls the context's release if the timer was never invalidated, or if that
    /// call is owed.
    @inline(never)
    func destroy() {
        if hasDetail { destroyDetail() }
        TimerStorage.slab.deallocate(self)
    }

    /// Does what `release` does, in two cases: the timer has ended, and the thread's cache has room for its memory; or it has no detail and
    /// is queued, and the process has one thread. Otherwise returns false without any effect. The caller has checked that clients hold
    /// exactly one reference.
    @inline(__always)
    func tryRelease() -> Bool {
        if pointee.item.has(.ended) {
            guard let own = ThreadContextPointer.current else { return false }
            // Orders this after what other threads did before they released their references. The caller has read the count and the tag in
            // one load, which a race detector does not see. The value is not used, so nothing waits for this load.
            _ = pointee.item.object.references.load(ordering: .acquiring)
            return TimerStorage.slab.deallocateCached(self, own)
        }
        // The loop keeps this timer until it fires, so only the count changes. Only without other threads: one could add a reference
        // between the caller's check and this store.
        guard Thread.isAlone, item.state.isQueued else { return false }
        pointee.item.object.references.store(0, ordering: .releasing)
        return true
    }

    private func destroyDetail() {
        let detail = knownDetail
        let context = detail.pointee.context
        // In the child of fork(), a call on a thread that does not exist here never returned. Release what that call had retained.
        if let retained = detail.pointee.retainedInfo { context.released(retained) }
        if pointee.item.has(.valid) || detail.pointee.owesRelease { context.released(context.info) }
        TimerDetail.slab.deallocate(detail)
    }

    /// When the timer is due next. Reads no clock. The caller holds the lock.
    var deadline: UInt64 {
        // Either flag suffices.
        if pointee.item.has([.repeats, .keepsDeadline]) { return adjustedGridDeadline }
        return Clock.instant(ofTimerDate: pointee.date).nanoseconds
    }

    /// The detail's `gridDeadline` or, if that is a grid point and the timer's date is reached earlier only because dates are rounded, the
    /// instant at which the date is reached. So a client that has waited for the date finds the timer due, and the timer never fires before
    /// its date.
    private var adjustedGridDeadline: UInt64 {
        let grid = knownDetail.pointee.gridDeadline
        if pointee.item.has(.keepsDeadline) { return grid }
        let ofDate = Clock.instant(ofTimerDate: pointee.date).nanoseconds
        return grid &- ofDate <= 128 ? ofDate : grid
    }

    /// Makes a timer due at this instant, whatever its date. Only for the library's own timers that have a detail and are in no loop.
    func keepDeadline(_ deadline: Instant) {
        pointee.item.set(.keepsDeadline)
        knownDetail.pointee.gridDeadline = deadline.nanoseconds
    }

    /// Sets a new date, and with it a new grid. The caller holds the lock, and queues the timer again.
    func setDate(_ date: Double) {
        if pointee.isQueuedByDate { pointee.set?.pointee.timers.keepDeadline(of: self) }
        pointee.date = date
        if pointee.item.has(.repeats) { startGrid() }
    }

    /// Restarts the grid at the date. For repeating timers only. The caller holds the lock.
    @inline(never)
    private func startGrid() { knownDetail.pointee.gridDeadline = Self.gridStart(pointee.date) }

    /// Advances to the first grid point after `now`, or to the far future if the timer has to be armed again. For repeating timers only.
    /// The caller holds the lock.
    func advanceGrid(past now: Instant) {
        let detail = knownDetail
        if detail.pointee.interval == TimerDetail.untilArmed { return setDate(Clock.latestDate) }
        let old = detail.pointee.gridDeadline
        let missed = now.nanoseconds < old ? 0 : (now.nanoseconds - old) / detail.pointee.intervalNanoseconds
        let (step, overflow) = (missed + 1).multipliedReportingOverflow(by: detail.pointee.intervalNanoseconds)
        detail.pointee.gridDeadline = Instant(nanoseconds: old).advanced(by: overflow ? .max : step).nanoseconds
        pointee.date = Clock.date(of: Instant(nanoseconds: detail.pointee.gridDeadline))
    }

    /// RLRunLoopTimerInvalidate. Calls the context's release. If a set of another thread's loop has become empty, returns that loop's
    /// context, so that the caller can wake the loop. O(1) for a far timer, otherwise O(log n). Any thread.
    @inline(never)
    @discardableResult
    func invalidate() -> ThreadContextPointer? {
        let owner = item.lock()
        var context = ClientContext.empty
        var isDead = false
        let set = pointee.set
        if pointee.item.has(.valid) {
            if hasDetail { context = endContext() }
            isDead = becomeInvalid()
        }
        let hasEmptied = set?.pointee.isEmpty ?? false
        owner.unlock()
        context.released(context.info)
        if isDead { destroy() }
        return hasEmptied && !owner.isCurrent ? owner : nil
    }

    /// Invalidates a valid timer, except for its context. Returns true if the caller has to destroy the timer after unlocking. The caller
    /// holds the lock.
    func becomeInvalid() -> Bool {
        pointee.item.clear(.valid)
        return pointee.set != nil && leaveSet()
    }

    /// Returns the context to release after unlocking; `.empty` if another thread is calling the timer, and then releases the context
    /// itself. For timers with a detail only. The caller holds the lock.
    private func endContext() -> ClientContext {
        if pointee.item.has(.firing) && (pointee.item.has(.movedDuringCall) || !pointee.item.owner.isCurrent) {
            knownDetail.pointee.owesRelease = true
            return .empty
        }
        return knownDetail.pointee.context
    }

    /// Returns the context whose release was left to this call because another thread invalidated the timer during the call;
    /// `ClientContext.empty` if there is none. The caller holds the lock.
    func takeOwedRelease() -> ClientContext {
        guard hasDetail, knownDetail.pointee.owesRelease else { return .empty }
        knownDetail.pointee.owesRelease = false
        return knownDetail.pointee.context
    }

    /// Adds the timer to the counts of a set if `change` is 1, or subtracts it if that is -1. The caller holds the lock.
    @inline(__always)
    func count(in set: ModeSetPointer, _ change: Int) {
        set.pointee.timerCount &+= change
        if pointee.item.has(.unreferenced) { set.pointee.unreferencedCount &+= change }
    }

    /// Removes a timer from its set and its loop. Returns true if the caller has to destroy the timer after unlocking. The caller holds the
    /// lock.
    func leaveSet() -> Bool {
        let set = pointee.set.unsafelyUnwrapped
        set.pointee.timers.remove(self)
        count(in: set, -1)
        pointee.set = nil
        pointee.item.clear(.bound)
        return item.releaseInternal()
    }
}
