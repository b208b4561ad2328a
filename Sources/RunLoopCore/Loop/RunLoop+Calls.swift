import CLinux
import Synchronization

// Any step: calls that do not end normally, because the timer or observer has moved to another loop meanwhile, or because the thread has
// ended in the client's function (pthread_exit, cancellation) or does not exist in the child of a fork().

extension RunLoopPointer {
    /// The thread has ended in calls that will never return: releases what was kept for them. Calls user code.
    func abandonCalls() {
        runCleanups()
        lock()
        let batch = take(&pointee.signalledBatch)
        let firing = take(&pointee.firing)
        let notifyingObservers = take(&pointee.notifyingObservers)
        unlock()
        abandonDispatches()
        for index in 0..<batch.count { batch[index].release() }
        for index in 0..<firing.count { abandon(firing[index]) }
        for index in 0..<notifyingObservers.count { abandon(notifyingObservers[index]) }
    }

    /// Runs all handlers, innermost first: an inner call may use what an outer one keeps alive.
    private func runCleanups() {
        while pointee.cleanupHandlers.count > 0 {
            let last = pointee.cleanupHandlers[pointee.cleanupHandlers.count - 1]
            pointee.cleanupHandlers.truncate(to: pointee.cleanupHandlers.count - 1)
            last.run()
        }
    }

    /// Registers what to do if the thread ends in the client's function that is called next. Returns the level for `popCleanup`.
    /// Without memory, nothing is registered. O(1). The loop's thread.
    @inline(__always)
    func pushCleanup(_ cleanup: CleanupHandler) -> Int {
        let level = pointee.cleanupHandlers.count
        _ = pointee.cleanupHandlers.appendInlined(cleanup)
        return level
    }

    /// Changes the `part` of a handler for the next call. The loop's thread.
    func updateCleanup(_ level: Int, part: UnsafeMutableRawPointer?) {
        if level < pointee.cleanupHandlers.count { pointee.cleanupHandlers[level].part = part }
    }

    /// The call has returned: removes the handler. The loop's thread.
    func popCleanup(_ level: Int) { pointee.cleanupHandlers.truncate(to: level) }

    /// How many handlers are registered for an object. The loop's thread.
    func countCleanups(of object: UnsafeMutableRawPointer) -> UInt32 {
        var count: UInt32 = 0
        for level in 0..<pointee.cleanupHandlers.count where pointee.cleanupHandlers[level].object == object { count += 1 }
        return count
    }

    /// Takes out a handler that is registered for an object. The loop's thread, or under `Registry`'s mutex in a child that has no such
    /// thread.
    func takeCleanup(of object: UnsafeMutableRawPointer) -> CleanupHandler? {
        for level in 0..<pointee.cleanupHandlers.count where pointee.cleanupHandlers[level].object == object {
            let handler = pointee.cleanupHandlers[level]
            pointee.cleanupHandlers.remove(at: level)
            return handler
        }
        return nil
    }

    /// The thread has ended in this timer's function. A one-shot timer counts as fired; a repeating one continues if it is in another loop
    /// by now.
    private func abandon(_ timer: TimerPointer) {
        if let detail = timer.detail, let retained = detail.pointee.retainedInfo {
            detail.pointee.retainedInfo = nil
            detail.pointee.context.released(retained)
        }
        if !timer.pointee.item.has(.repeats) { Self.invalidate(timer) }
        let owner = timer.item.lock()
        timer.pointee.item.clear([.firing, .away])
        if timer.pointee.set != nil {
            // The internal reference of the call keeps it alive.
            if owner == threadContext { _ = timer.leaveSet() } else { RunLoopPointer(owner).resume(timer) }
        }
        let owed = timer.takeOwedRelease()
        let isDead = timer.item.releaseInternal()
        owner.unlock()
        owed.released(owed.info)
        if isDead { timer.destroy() }
    }

    /// The thread has ended while this observer was to be called, or in its function. One that does not repeat counts as called.
    private func abandon(_ call: ObserverCall) {
        if call.state == .done { return }
        let observer = call.observer
        if call.state == .called, !observer.pointee.item.has(.repeats) { observer.invalidate() }
        let owner = observer.item.lock()
        if call.state == .called { observer.pointee.item.clear([.firing, .away]) }
        observer.releaseCall(owner)
    }

    /// Takes the contents of a list, and leaves an empty one.
    private func take<Element>(_ list: inout PlainList<Element>) -> PlainList<Element> {
        var taken = PlainList<Element>()
        swap(&taken, &list)
        return taken
    }

    /// In a child of fork(): marks this loop's timers and observers as not being called, since those calls never return. They can
    /// then be called by other loops. What the calls owe to the context is released when the item is destroyed. Under all locks; calls no
    /// user code, and so destroys no item: one without references is lost.
    func abandonItems() {
        for index in 0..<pointee.firing.count {
            let timer = pointee.firing[index]
            timer.pointee.item.clear([.firing, .away])
            let its = RunLoopPointer(timer.pointee.item.owner)
            // A timer that is in no queue would be lost in a loop that is gone, so it leaves that loop. In another loop, a one-shot timer
            // counts as fired and stays parked.
            if timer.pointee.set != nil, !its.isCurrent {
                _ = timer.leaveSet()
            } else if timer.pointee.set != nil, timer.pointee.item.has(.repeats) {
                its.resume(timer)
            }
            _ = timer.item.releaseInternal()
        }
        for index in 0..<pointee.notifyingObservers.count where pointee.notifyingObservers[index].state != .done {
            let observer = pointee.notifyingObservers[index].observer
            if pointee.notifyingObservers[index].state == .called { observer.pointee.item.clear([.firing, .away]) }
            _ = observer.item.releaseInternal()
        }
        for index in 0..<pointee.signalledBatch.count { pointee.signalledBatch[index].resetAfterFork() }
        // Functions that were being called wait again, to be cancelled.
        for level in 0..<pointee.batches.count where pointee.batches[level].isCalling {
            pointee.batches[level].next -= 1
            pointee.batches[level].isCalling = false
        }
        pointee.firing.truncate(to: 0)
        pointee.notifyingObservers.truncate(to: 0)
        pointee.signalledBatch.truncate(to: 0)
    }
}

extension CleanupHandler {
    /// Without a lock; may call user code.
    func run() { function(object, part, info) }
}

/// What the calling thread owns while it calls a source's `schedule`, `cancel`, `equal` or `hash`: cleanup handlers release it if the
/// thread ends there. None of it may lie on the thread's stack, which is gone by then. A thread without a loop registers nothing.
struct HeldWhileCalling: ~Copyable {
    private let loop = ThreadContextPointer.current.map { RunLoopPointer($0) }
    private let level: Int

    /// Begins with nothing noted. Any thread.
    init() { level = loop?.pointee.cleanupHandlers.count ?? 0 }

    /// The calls have returned: removes the handlers, and the caller releases what was noted.
    consuming func end() { loop?.popCleanup(level) }

    /// Notes something that `function` releases.
    @inline(never)
    func note(_ object: UnsafeMutableRawPointer, _ function: @escaping CleanupHandler.Function) {
        _ = loop?.pushCleanup(CleanupHandler(function: function, object: object))
    }

    /// Notes a reference to a source. In a child of fork() without this thread the invalidation of the source releases it.
    @inline(never)
    func note(_ source: SourcePointer) {
        note(source) { source, _, _ in RunLoopPointer.abandon(Handle.storage(UnsafeRawPointer(source))) }
    }

    /// Notes a list of sources, with a reference to each. The list may be reordered meanwhile.
    func note(_ sources: borrowing PlainList<SourcePointer>) {
        noteMemory(sources.elements)
        for index in 0..<sources.count { note(sources[index]) }
    }

    /// Notes memory that is to be freed.
    func noteMemory(_ memory: UnsafeMutableRawPointer?) {
        if let memory { note(memory) { memory, _, _ in free(memory) } }
    }
}

// Timers that move to another loop while their function runs.

extension RunLoopPointer {
    /// A timer moves to this loop. Under both locks.
    func takeOwnership(of timer: TimerPointer) {
        timer.pointee.item.setOwner(threadContext)
        if !timer.pointee.item.has(.firing) { return }
        timer.pointee.item.clear(.away)
        if !isCalling(timer) { timer.pointee.item.set(.away) }
    }

    /// If another loop is running the timer's function, queues the timer at the end of time, so that this loop finds all its timers when it
    /// ends. Under the lock.
    @inline(never)
    func park(_ timer: TimerPointer) {
        if timer.pointee.item.has(.away) { queue(timer, at: .max) }
    }

    /// Ends parking: queues the timer for its deadline. Under the lock.
    func resume(_ timer: TimerPointer) {
        timer.pointee.set.unsafelyUnwrapped.pointee.timers.remove(timer)
        enqueue(timer)
    }

    /// Whether this loop is calling the timer's function. O(1), as calls are seldom nested. Under the lock.
    func isCalling(_ timer: TimerPointer) -> Bool {
        for index in 0..<pointee.firing.count where pointee.firing[index] == timer { return true }
        return false
    }

    /// Whether this loop is calling the observer's function. Under the locks of the loop and the observer.
    func isCalling(_ observer: ObserverPointer) -> Bool {
        for index in 0..<pointee.notifyingObservers.count
        where pointee.notifyingObservers[index].observer == observer && pointee.notifyingObservers[index].state == .called { return true }
        return false
    }

    /// Ends the call of a timer that has moved to another loop: changes this loop's list under this loop's lock, the rest under the new
    /// one's. Returns with the lock of the timer's owner held and the timer out of its queue.
    func finishElsewhere(_ timer: TimerPointer, _ owner: ThreadContextPointer) -> ThreadContextPointer {
        owner.unlock()
        locked { pointee.firing.truncate(to: pointee.firing.count - 1) }
        let owner = timer.item.lock()
        timer.pointee.set?.pointee.timers.remove(timer)
        // A one-shot timer ends, and may be the last of its mode there.
        RunLoopPointer(owner).noteEmptied()
        return owner
    }
}
