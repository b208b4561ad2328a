import CLinux
import CRunLoop

/// RLRunLoopTimer: 64 bytes, one cache line. What most timers do not have (an interval, a tolerance, functions in
/// the context) is in a `TimerDetail`.
///
/// Guarded by the lock of `item.owner`.
struct TimerStorage: ObjectStorage, ~Copyable {
    static var kind: Kind { .timer }
    typealias Callout = @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Void

    var item: ItemHeader
    /// Where it is queued; nil while it is in no loop.
    var set: ModeSetPointer?
    /// Seconds since 2001, as the client gave it or the grid goes on.
    var date: Double
    var callout: Callout
    /// nil after invalidation.
    var info: UnsafeMutableRawPointer?
    /// The address of its detail or, where it has none, its arrival, which is odd.
    fileprivate(set) var rest: UInt

    /// nil if it has none.
    var detail: TimerDetailPointer? {
        @inline(__always) get { hasDetail ? TimerDetailPointer(bitPattern: rest).unsafelyUnwrapped : nil }
    }

    var hasDetail: Bool {
        @inline(__always) get { rest & 1 == 0 }
    }

    static let slab = Slab(size: MemoryLayout<TimerStorage>.stride)
}

/// The rest of a timer, if it has any of it. Guarded like the timer.
struct TimerDetail: ~Copyable {
    /// In the queue by latest time. First: see `TimerDetailPointer.position`.
    var place: UInt32 = .max
    /// Another thread has invalidated the timer while its function runs: `context.info` is released when that returns.
    var owesRelease = false
    /// The timer's arrival.
    var arrival: UInt
    /// Seconds; 0 for one-shot timers; `untilArmed` for those that stay, to be armed again.
    var interval: Double
    var intervalNanoseconds: UInt64
    /// Seconds.
    var tolerance: Double = 0
    var order: Int
    /// When the next grid point is, of a repeating timer; of one that keeps its deadline, that.
    var gridDeadline: UInt64 = 0
    var context: ClientContext

    static let slab = Slab(size: MemoryLayout<TimerDetail>.stride)

    /// The interval of a timer that is valid after its call, but is not called again before somebody sets its date.
    static var untilArmed: Double { .infinity }

    /// What the timer's client knows as its interval.
    var clientInterval: Double { interval == Self.untilArmed ? 0 : interval }
}

typealias TimerPointer = UnsafeMutablePointer<TimerStorage>
typealias TimerDetailPointer = UnsafeMutablePointer<TimerDetail>

extension TimerDetailPointer {
    var position: UnsafeMutablePointer<UInt32> { UnsafeMutableRawPointer(self).assumingMemoryBound(to: UInt32.self) }

    /// The latest time for a timer of this deadline and its tolerance. O(1).
    func latest(_ deadline: UInt64) -> UInt64 {
        Instant(nanoseconds: deadline).advanced(by: Clock.nanoseconds(pointee.tolerance)).nanoseconds
    }
}

extension TimerPointer {
    static var positionOffset: Int { ItemHeader.positionOffset }

    @inline(__always)
    var position: UnsafeMutablePointer<UInt32> {
        (UnsafeMutableRawPointer(self) + Self.positionOffset).assumingMemoryBound(to: UInt32.self)
    }

    @inline(__always)
    init(queued position: UnsafeMutablePointer<UInt32>) {
        self = (UnsafeMutableRawPointer(position) - Self.positionOffset).assumingMemoryBound(to: TimerStorage.self)
    }

    @inline(never)
    var item: ItemPointer { UnsafeMutableRawPointer(self).assumingMemoryBound(to: ItemHeader.self) }

    /// When it came into its loop or its deadline was set, as a number of that loop (`RunLoopStorage.timerArrivals`): timers with the same
    /// deadline fire in this order. Odd. Under the lock.
    @inline(__always)
    var arrival: UInt { pointee.detail?.pointee.arrival ?? pointee.rest }

    /// Of a timer of any kind. Under the lock.
    @inline(__always)
    func setArrival(_ arrival: UInt) {
        if let detail = pointee.detail { detail.pointee.arrival = arrival } else { setPlainArrival(arrival) }
    }

    /// Of a timer without a detail. Under the lock.
    @inline(__always)
    func setPlainArrival(_ arrival: UInt) { pointee.rest = arrival }

    /// A timer in no loop with one reference, guarded by the calling thread's context. nil if out of memory.
    /// `context.info` is retained already. O(1), no system call; calls no user code.
    static func create(
        _ threadContext: ThreadContextPointer, date: Double, interval: Double, order: Int, _ callout: @escaping TimerStorage.Callout,
        _ context: ClientContext
    ) -> TimerPointer? {
        guard let memory = TimerStorage.slab.allocate(threadContext) else { return nil }
        var detail: TimerDetailPointer?
        if interval > 0 || order != 0 || context.hasFunctions {
            detail = createDetail(threadContext, date, interval, order, context)
            if detail == nil {
                TimerStorage.slab.deallocate(memory, threadContext)
                return nil
            }
        }
        let timer = memory.assumingMemoryBound(to: TimerStorage.self)
        timer.initialize(
            to: TimerStorage(
                item: ItemHeader(.timer, owner: threadContext, flags: interval > 0 ? ItemHeader.repeats : 0), set: nil, date: date,
                callout: callout, info: context.info, rest: detail.map { UInt(bitPattern: $0) } ?? 1))
        return timer
    }

    /// The same for a timer that needs no detail. nil if no memory is at hand: that does not mean that there is none. O(1),
    /// calls nothing.
    @inline(__always)
    static func createPlain(
        _ threadContext: ThreadContextPointer, date: Double, _ callout: @escaping TimerStorage.Callout, _ info: UnsafeMutableRawPointer?
    ) -> TimerPointer? {
        guard let memory = TimerStorage.slab.allocateCached(threadContext) else { return nil }
        let timer = memory.assumingMemoryBound(to: TimerStorage.self)
        timer.initialize(
            to: TimerStorage(
                item: ItemHeader(.timer, owner: threadContext, flags: 0), set: nil, date: date, callout: callout, info: info, rest: 1))
        return timer
    }

    @inline(never)
    private static func createDetail(
        _ threadContext: ThreadContextPointer, _ date: Double, _ interval: Double, _ order: Int, _ context: ClientContext
    ) -> TimerDetailPointer? {
        guard let memory = TimerDetail.slab.allocate(threadContext) else { return nil }
        let detail = memory.assumingMemoryBound(to: TimerDetail.self)
        detail.initialize(
            to: TimerDetail(
                arrival: 1, interval: interval, intervalNanoseconds: Swift.max(1, Clock.nanoseconds(interval)), order: order,
                context: context))
        if interval > 0 { detail.pointee.gridDeadline = gridStart(date) }
        return detail
    }

    /// For a timer that had no need of one so far. Under the lock; false if out of memory.
    func makeDetail() -> Bool {
        guard let threadContext = ThreadContextPointer.current, let detail = Self.createDetail(threadContext, pointee.date, 0, 0, .empty)
        else { return false }
        detail.pointee.arrival = arrival
        pointee.rest = UInt(bitPattern: detail)
        return true
    }

    /// The first point of a repeating timer's grid: a date that is past counts as now, as in CFRunLoop.
    private static func gridStart(_ date: Double) -> UInt64 {
        let deadline = Clock.instant(ofDate: date)
        return Clock.isCertainlyAhead(deadline) ? deadline.nanoseconds : Swift.max(deadline, Clock.now).nanoseconds
    }

    /// Whether some loop has it. Any thread.
    var isBound: Bool { pointee.item.has(ItemHeader.bound) }

    /// Gives back a reference of our own. Any thread; may call the context's release.
    @inline(never)
    func release() {
        if item.release() == .dead { destroySeldom() }
    }

    /// No reference is left, neither a client's nor an internal one: gives the memory back. Any thread; calls the context's release if
    /// the timer was never invalidated.
    @inline(never)
    func destroy() {
        if let detail = pointee.detail { destroyDetail(detail) }
        TimerStorage.slab.deallocate(self)
    }

    /// The same for callers that do it seldom: compiled once.
    @inline(never)
    func destroySeldom() { destroy() }

    @inline(never)
    private func destroyDetail(_ detail: TimerDetailPointer) {
        let context = detail.pointee.context
        if pointee.item.has(ItemHeader.valid) { context.released(pointee.info) }
        TimerDetail.slab.deallocate(detail)
    }

    /// When it is due next. Reads no clock. Under the lock.
    @inline(__always)
    var deadline: UInt64 {
        if pointee.item.has(ItemHeader.repeats | ItemHeader.keepsDeadline), let detail = pointee.detail {
            return detail.pointee.gridDeadline
        }
        return Clock.instant(ofTimerDate: pointee.date).nanoseconds
    }

    /// For a timer of our own, with a detail, that no loop has: it is due at this instant, whatever its date.
    func keepDeadline(_ deadline: Instant) {
        pointee.item.set(ItemHeader.keepsDeadline)
        pointee.detail.unsafelyUnwrapped.pointee.gridDeadline = deadline.nanoseconds
    }

    /// A new date, and with it a new grid. Under the lock; queueing it anew is the caller's.
    @inline(__always)
    func setDate(_ date: Double) {
        pointee.date = date
        if pointee.item.has(ItemHeader.repeats), let detail = pointee.detail { detail.pointee.gridDeadline = Self.gridStart(date) }
    }

    /// Goes on to the first point of the grid that is not yet past at `now`; to never, if it has to be armed again. Under the
    /// lock; repeating timers only.
    func advanceGrid(past now: Instant) {
        let detail = pointee.detail.unsafelyUnwrapped
        if detail.pointee.interval == TimerDetail.untilArmed { return setDate(Clock.latestDate) }
        let old = detail.pointee.gridDeadline
        let missed = now.nanoseconds < old ? 0 : (now.nanoseconds - old) / detail.pointee.intervalNanoseconds
        let (step, overflow) = (missed + 1).multipliedReportingOverflow(by: detail.pointee.intervalNanoseconds)
        detail.pointee.gridDeadline = Instant(nanoseconds: old).advanced(by: overflow ? .max : step).nanoseconds
        pointee.date = Clock.date(of: Instant(nanoseconds: detail.pointee.gridDeadline))
    }

    /// Makes it invalid and takes it out of its loop. Under the lock; only timers with a detail. What has to be done after
    /// unlocking.
    @inline(never)
    private func invalidateLocked() -> DeferredCleanup {
        guard pointee.item.has(ItemHeader.valid) else { return DeferredCleanup() }
        pointee.item.clear(ItemHeader.valid)
        var cleanup = DeferredCleanup()
        let detail = pointee.detail.unsafelyUnwrapped
        if pointee.item.has(ItemHeader.firing) && (pointee.item.has(ItemHeader.away) || !pointee.item.owner.isCurrent) {
            detail.pointee.context.info = pointee.info
            detail.pointee.owesRelease = true
        } else {
            cleanup.info = pointee.info
            cleanup.context = detail.pointee.context
        }
        pointee.info = nil
        if pointee.set != nil { cleanup.isDead = leaveSet() }
        return cleanup
    }

    /// What another thread, that has invalidated it during a call, has left to be released now: `ClientContext.empty` for nothing. Under the
    /// lock.
    func takeOwedRelease() -> ClientContext {
        guard let detail = pointee.detail, detail.pointee.owesRelease else { return .empty }
        detail.pointee.owesRelease = false
        return detail.pointee.context
    }

    /// Takes a timer that is in a set out of it and of its loop. Under the lock; true if it is to be destroyed after unlocking.
    @inline(never)
    func leaveSet() -> Bool {
        pointee.set.unsafelyUnwrapped.pointee.timers.removeSeldom(self)
        return forgetSet()
    }

    @inline(__always)
    private func forgetSet() -> Bool {
        pointee.set.unsafelyUnwrapped.pointee.timerCount -= 1
        pointee.set = nil
        pointee.item.clear(ItemHeader.bound)
        return item.releaseInternal()
    }

    /// What is left to do when a lock has been given back: user code and memory.
    struct DeferredCleanup {
        var context = ClientContext.empty
        var info: UnsafeMutableRawPointer?
        var isDead = false

        /// Without any lock; calls the context's release.
        @inline(__always)
        func run(for timer: TimerPointer) {
            context.released(info)
            if isDead { timer.destroySeldom() }
        }
    }

    /// Makes any timer invalid. `alreadyLocked`: the timer's owner, if its lock was taken by `tryLock`. Returns the owner of another
    /// thread's loop if the timer was the last item of its set there: the caller lets that loop know. Any thread; calls the context's
    /// release.
    @inline(never)
    @discardableResult
    func invalidateAny(alreadyLocked: ThreadContextPointer? = nil) -> ThreadContextPointer? {
        let owner = alreadyLocked ?? item.lockInlined()
        let set = pointee.set
        let hasEmptied: Bool
        if !pointee.hasDetail {
            let isDead = invalidatePlain()
            hasEmptied = set?.pointee.isEmpty ?? false
            owner.unlockInlined()
            if isDead { destroy() }
        } else {
            let cleanup = invalidateLocked()
            hasEmptied = set?.pointee.isEmpty ?? false
            owner.unlockInlined()
            cleanup.run(for: self)
        }
        return hasEmptied && !Thread.has(UnsafeMutableRawPointer(owner)) ? owner : nil
    }

    /// Without a detail there is nobody to be told. Under the lock; true if the timer is to be destroyed after unlocking.
    @inline(__always)
    private func invalidatePlain() -> Bool {
        pointee.item.clear(ItemHeader.valid)
        pointee.info = nil
        return pointee.set != nil && leaveSet()
    }
}
