import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit
import Synchronization

/// An RLWork: a work item. It has a function for a worker, and a version-0 source that is signalled when the function has returned. An
/// RLHostResolve is a work item, too.
struct Work: ~Copyable, KitStorage {
    static var kind: KitKind { .work }

    /// The stages of a work item. The thread that advances it performs the next step.
    enum Progress: UInt8, AtomicRepresentable {
        /// The work item has not been submitted to workers yet.
        case idle
        /// The work item is waiting for its turn.
        case queued
        /// The function is running.
        case running
        /// The function has returned.
        case done
        /// The completion has been or is about to be called, or never will be.
        case over
    }

    /// A function of one of the kit's own kinds of work items. Receives the client's info.
    typealias Hook = @convention(thin) (UnsafeMutableRawPointer?) -> Void

    fileprivate(set) var object: KitObject
    fileprivate let function: RLWorkFunction
    fileprivate let callout: RLWorkCallBack?
    /// The time limit in seconds; infinity: none.
    fileprivate let limit: Double
    /// Called on a loop's thread at the time limit, if the function has not returned.
    fileprivate let whenExpired: Hook?
    /// Called if the workers are released before the work item's turn.
    fileprivate let whenDropped: Hook?
    /// The stage that the work item has reached. Any thread.
    fileprivate let progress: Atomic<Progress>
    /// Guards `loops`, `start` and `firstMode`. The kit's lock would not do: fork() may take that one after librunloop's locks, which
    /// setting a timer takes.
    fileprivate var lock = linux_stream_lock()
    /// The loops to wake, with a timer for each if there is a time limit. Under the lock.
    fileprivate var loops: ServingLoops
    /// When the time limit began: when the work item was added to a loop while it was in none. Under the lock.
    fileprivate var start: UInt64 = 0
    /// The mode to which the work item was last added while it was in none: usually its only one. Retained. Under the lock.
    fileprivate var firstMode: OpaquePointer?
    /// The references to the handle that workers, their queue, posted functions and timers have.
    fileprivate let holders = HandleHolders()
    /// The number of functions that `postSignal` has posted and that have been neither called nor cancelled. Any thread.
    fileprivate let posted = Atomic<UInt32>(0)
    /// The next work item in the queue of the workers. Under the pool's lock.
    var next: WorkPointer?

    fileprivate init(
        _ kind: KitKind, _ function: @escaping RLWorkFunction, _ callout: RLWorkCallBack?, _ client: ClientContext, _ named: UInt,
        _ limit: Double, _ whenExpired: Hook?, _ whenDropped: Hook?, _ loops: consuming ServingLoops
    ) {
        object = KitObject(kind: kind, number: -1, client: client, callout: named)
        self.function = function
        self.callout = callout
        self.limit = limit
        self.whenExpired = whenExpired
        self.whenDropped = whenDropped
        self.loops = loops
        progress = Atomic(.idle)
    }

    /// Creates a work item; nil if out of memory. `named` is the client's callback, for traces, if neither of these functions is the
    /// client's. Retains the client's info, and releases it on failure. Any thread; calls user code.
    static func create(
        _ order: Int, _ function: @escaping RLWorkFunction, _ callout: RLWorkCallBack?, _ client: ClientContext,
        kind: KitKind = .work, named: UInt? = nil, limit: Double = .infinity, whenExpired: Hook? = nil, whenDropped: Hook? = nil
    ) -> OpaquePointer? {
        guard let loops = ServingLoops(), let memory = malloc(MemoryLayout<Work>.stride) else { return nil }
        let work = memory.bindMemory(to: Work.self, capacity: 1)
        let named = named ?? callout.map { addressOfFunction($0) } ?? addressOfFunction(function)
        work.initialize(to: Work(kind, function, callout, client.retained(), named, limit, whenExpired, whenDropped, loops))
        linux_stream_lock_init(&work.pointee.lock)
        var context = RLRunLoopSourceContext()
        context.info = memory
        context.release = { info in Work.pointer(info).handleWasFreed() }
        context.copyDescription = KitObject.copyDescription
        context.schedule = { info, loop, mode in Work.pointer(info).change(loop, mode, by: 1) }
        context.cancel = { info, loop, mode in Work.pointer(info).change(loop, mode, by: -1) }
        context.perform = { info in Work.pointer(info).perform() }
        // On failure, RLRunLoopSourceCreate has called the function that releases the info.
        guard let source = RLRunLoopSourceCreate(nil, order, &context) else { return nil }
        work.pointee.object.source = source
        return source
    }

    fileprivate static func pointer(_ info: UnsafeRawPointer?) -> WorkPointer {
        UnsafeMutableRawPointer(mutating: info.unsafelyUnwrapped).assumingMemoryBound(to: Work.self)
    }
}

typealias WorkPointer = UnsafeMutablePointer<Work>

extension WorkPointer {
    /// Advances the work item from one stage to another. Returns false if it is at a different one. Any thread.
    @discardableResult
    private func move(_ from: Work.Progress, to next: Work.Progress) -> Bool {
        pointee.progress.compareExchange(expected: from, desired: next, ordering: .acquiringAndReleasing).exchanged
    }

    /// Whether the work item is still valid. Any thread.
    var isValid: Bool { !pointee.holders.isHandleFreed && RLRunLoopSourceIsValid(pointee.object.source) != 0 }

    /// Retains the handle for a worker or its queue, a posted function or a timer. Any thread.
    func retainHandle() { pointee.holders.retain(pointee.object.source) }

    /// Releases a handle that `retainHandle` has retained; this may free the work item. Any thread; may call user code.
    func releaseHandle() {
        let source = pointee.object.source
        if pointee.holders.remove() { RLRelease(UnsafeRawPointer(source)) }
    }

    /// Marks the work item as submitted. Returns false if it was before. Any thread.
    func enqueue() -> Bool { move(.idle, to: .queued) }

    /// Undoes `enqueue` if no worker can run the work item after all. Only the thread that called `enqueue`.
    func dequeue() { move(.queued, to: .idle) }

    /// Calls the function, unless the work item was cancelled. Called on a worker when it is the work item's turn. Calls user code.
    func run() {
        if !isValid { move(.queued, to: .over) }
        guard move(.queued, to: .running) else { return }
        RUNLOOP_IS_CALLING_OUT_TO_A_WORK_FUNCTION(pointee.function, pointee.object.source, pointee.object.client.info)
        complete()
    }

    /// Has a loop call the completion, after the function has returned or its thread has ended. Worker only.
    func complete() {
        guard move(.running, to: .done) else { return }
        lock()
        defer { unlock() }
        if pointee.object.kind == .work && !pointee.loops.isEmpty && pointee.loops.allSatisfy({ postSignal(to: $0) }) { return }
        signal()
    }

    /// Signals the source and wakes its loops. The caller holds the lock.
    private func signal() {
        RLRunLoopSourceSignal(pointee.object.source)
        pointee.loops.wake()
    }

    /// Has a loop signal the source when it has called all functions that are queued for it now, so that those which the client's function
    /// has posted come before the completion. Returns false if out of memory. The caller holds the lock.
    private func postSignal(to link: ServingLoops.LinkPointer) -> Bool {
        if link.pointee.modes <= 0 { return true }
        guard let modes = copyModes(of: link) else { return false }
        defer { RLRelease(UnsafeRawPointer(modes)) }
        retainHandle()
        pointee.posted.add(1, ordering: .relaxed)
        // The release function is called even if the loop's thread exits before the other one is called.
        let isPosted = RLRunLoopPostFunctionWithRelease(link.pointee.loop, UnsafeRawPointer(modes), { _ in }, self) { info in
            let work = Work.pointer(info)
            if !work.pointee.holders.isHandleFreed { RLRunLoopSourceSignal(work.pointee.object.source) }
            work.pointee.posted.subtract(1, ordering: .relaxed)
            work.releaseHandle()
        }
        if isPosted != 0 { return true }
        pointee.posted.subtract(1, ordering: .relaxed)
        releaseHandle()
        return false
    }

    /// Returns the modes of a loop that the source is in: a mode or an array. nil if there are none, or if out of memory. The caller holds
    /// the lock, and releases the result.
    private func copyModes(of link: ServingLoops.LinkPointer) -> OpaquePointer? {
        let (loop, source) = (link.pointee.loop, pointee.object.source)
        if let mode = pointee.firstMode, link.pointee.modes == 1 && RLRunLoopContainsSource(loop, source, mode) != 0 {
            RLRetain(UnsafeRawPointer(mode))
            return mode
        }
        var callBacks = kRLTypeArrayCallBacks
        guard let modes = RLArrayCreateMutable(nil, 0, &callBacks) else { return nil }
        var count = 0
        let isComplete = ServingLoops.forEachMode(loop, of: source) { mode in
            RLArrayAppendValue(modes, UnsafeRawPointer(mode))
            count += 1
        }
        if isComplete && count > 0 && RLArrayGetCount(modes) == count { return modes }
        RLRelease(UnsafeRawPointer(modes))
        return nil
    }

    /// Cancels the work item: its completion will not be called, nor its function if that has not begun. Returns true if the function would
    /// otherwise still have been called. Any thread.
    func cancel() -> Bool {
        let wasValid = isValid
        let hasNotBegun = move(.queued, to: .over) || move(.idle, to: .over)
        if wasValid { RLRunLoopSourceInvalidate(pointee.object.source) }
        return wasValid && hasNotBegun
    }

    /// Cancels the work item because the workers were released before its turn. Any thread; call without a lock held.
    func drop() {
        if cancel() { pointee.whenDropped?(pointee.object.client.info) }
    }

    /// Ends the work item at its time limit, unless its function has returned. Loop thread only; calls user code.
    private func expire() {
        guard move(.idle, to: .over) || move(.queued, to: .over) || move(.running, to: .over) else { return }
        RLRunLoopSourceInvalidate(pointee.object.source)
        pointee.whenExpired?(pointee.object.client.info)
    }

    /// Calls the completion, if the function has returned. Loop thread only; calls user code.
    fileprivate func perform() {
        guard move(.done, to: .over) else { return }
        RLRunLoopSourceInvalidate(pointee.object.source)
        guard let callout = pointee.callout else { return }
        RUNLOOP_IS_CALLING_OUT_TO_A_WORK_COMPLETION_FUNCTION(callout, pointee.object.source, pointee.object.client.info)
    }

    /// Takes the lock. Any thread. In the child of a fork() nothing has to be repaired: the list of loops is consistent at every instant,
    /// because signal handlers read such lists.
    private func lock() { _ = linux_stream_lock(&pointee.lock) }

    private func unlock() { linux_stream_unlock(&pointee.lock) }

    /// Records that the source was added to a mode of a loop (1) or removed from one (-1), and adds or removes the loop's timer. Meanwhile
    /// librunloop holds a reference to the source, so a timer that is released under the lock does not release the last one. Call without
    /// the lock held; may call user code (the error handler).
    fileprivate func change(_ loop: OpaquePointer?, _ mode: OpaquePointer?, by modes: Int) {
        guard let loop, let mode else { return }
        lock()
        // What leaves the loop gives up references to the handle.
        let wasOverReleased = modes < 0 && pointee.holders.restore(pointee.object.source)
        if pointee.loops.isEmpty { begin(in: mode) }
        let (isDone, released) = pointee.loops.change(loop, by: modes) {}
        pointee.loops.followWithTimer(pointee.object.source, loop, mode)
        let isLimited = modes < 0 || pointee.limit == .infinity || setTimers()
        // The modes in which the source is to be signalled may be others than those that it is in now.
        if modes > 0 && pointee.progress.load(ordering: .acquiring) == .done { signal() }
        unlock()
        if wasOverReleased { Misuse.reportOverRelease() }
        if let released {
            // A posted function keeps the work item until a mode runs in which this loop may never run again.
            if pointee.posted.load(ordering: .relaxed) > 0 { RLRunLoopCancelPerformFunction(released, nil, self) }
            RLRelease(UnsafeRawPointer(released))
        }
        let kind = pointee.object.kind.name
        if !isDone { Misuse.warn(kind, "RLRunLoopAddSource", "out of memory: completion of the work will not wake this loop") }
        if !isLimited { Misuse.warn(kind, "RLRunLoopAddSource", "out of memory: the timeout will not apply") }
    }

    /// Notes that the work item is added to a mode, and is in no other. The caller holds the lock.
    private func begin(in mode: OpaquePointer) {
        pointee.start = linux_monotonic_time()
        RLRetain(UnsafeRawPointer(mode))
        if let before = pointee.firstMode { RLRelease(UnsafeRawPointer(before)) }
        pointee.firstMode = mode
    }

    /// Sets the timer in each loop to fire when the time limit is reached. A timer retains the source, so the work item outlives a call of
    /// `expire` during which another thread cancels it. Returns false if out of memory. The caller holds the lock.
    private func setTimers() -> Bool {
        var context = RLRunLoopTimerContext()
        context.info = UnsafeMutableRawPointer(self)
        context.retain = { info in
            Work.pointer(info).retainHandle()
            return info
        }
        context.release = { info in Work.pointer(info).releaseHandle() }
        let left = pointee.limit - Double(linux_monotonic_time() &- pointee.start) * 1e-9
        return pointee.loops.setTimers(left, of: pointee.object.source, &context) { _, info in Work.pointer(info).expire() }
    }

    /// Frees the work item, as its handle is being freed. If the kit still has references to the handle, reports misuse, and keeps the
    /// memory of a work item that is over. Any thread; calls user code.
    fileprivate func handleWasFreed() {
        if pointee.holders.handleWasFreed() {
            pointee.progress.store(.over, ordering: .releasing)
            return Misuse.reportOverRelease()
        }
        pointee.object.client.releaseInfo()
        if let mode = pointee.firstMode { RLRelease(UnsafeRawPointer(mode)) }
        deinitialize(count: 1)
        CLinux.free(self)
    }
}
