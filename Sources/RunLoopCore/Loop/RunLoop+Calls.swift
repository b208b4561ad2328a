import CLinux
import Synchronization

// Any step: calls that do not end normally, because the timer or observer has moved to another loop in the meantime, or because the thread
// has exited inside the client's callback (pthread_exit, cancellation) or does not exist in the child of a fork().

extension RunLoopPointer {
    /// Releases what was retained for calls that will never return, because the thread is exiting inside them. Calls user code.
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

    /// Runs all cleanup handlers, innermost first, since an inner call may use what an outer one keeps alive.
    private func runCleanups() {
        while pointee.cleanupHandlers.count > 0 {
            let last = pointee.cleanupHandlers[pointee.cleanupHandlers.count - 1]
            pointee.cleanupHandlers.truncate(to: pointee.cleanupHandlers.count - 1)
            last.run()
        }
    }

    /// Calls `body`, with a handler for the case that the thread exits inside a client's callback meanwhile. If memory runs out, without the
    /// handler. Loop thread only; call without the lock held.
    @inline(__always)
    func withCleanup<Result>(_ cleanup: CleanupHandler, _ body: () -> Result) -> Result {
        let level = pushCleanup(cleanup)
        let result = body()
        popCleanup(level)
        return result
    }

    /// Registers a handler for the case that the thread exits inside a client's callback before `popCleanup`. Returns the level to pass
    /// to that. If memory runs out, registers nothing. O(1). Loop thread only.
    @inline(__always)
    func pushCleanup(_ cleanup: CleanupHandler) -> Int {
        let level = pointee.cleanupHandlers.count
        _ = pointee.cleanupHandlers.appendInlined(cleanup)
        return level
    }

    /// Changes the `part` of a handler for the next call. Loop thread only.
    func updateCleanup(_ level: Int, part: UnsafeMutableRawPointer?) {
        if level < pointee.cleanupHandlers.count { pointee.cleanupHandlers[level].part = part }
    }

    /// Removes the handler after the call has returned. Loop thread only.
    func popCleanup(_ level: Int) { pointee.cleanupHandlers.truncate(to: level) }

    /// Returns how many handlers are registered for an object. Loop thread only.
    func countCleanups(of object: UnsafeMutableRawPointer) -> UInt32 {
        var count: UInt32 = 0
        for level in 0..<pointee.cleanupHandlers.count where pointee.cleanupHandlers[level].object == object { count += 1 }
        return count
    }

    /// Removes and returns a handler that is registered for an object; nil if there is none. Loop thread only; in a child process without
    /// that thread, the caller holds `Registry`'s mutex instead.
    func takeCleanup(of object: UnsafeMutableRawPointer) -> CleanupHandler? {
        for level in 0..<pointee.cleanupHandlers.count where pointee.cleanupHandlers[level].object == object {
            let handler = pointee.cleanupHandlers[level]
            pointee.cleanupHandlers.remove(at: level)
            return handler
        }
        return nil
    }

    /// Ends the call of a timer inside whose callback the thread has exited. A one-shot timer counts as fired. A repeating one continues if
    /// it has moved to another loop.
    private func abandon(_ timer: TimerPointer) {
        if let detail = timer.detail, let retained = detail.pointee.retainedInfo {
            detail.pointee.retainedInfo = nil
            detail.pointee.context.released(retained)
        }
        if !timer.pointee.item.has(.repeats) { Self.invalidate(timer) }
        let owner = timer.item.lock()
        timer.pointee.item.clear([.firing, .movedDuringCall])
        if timer.pointee.set != nil {
            // The internal reference of the call keeps the timer alive.
            if owner == threadContext { _ = timer.leaveSet() } else { RunLoopPointer(owner).resume(timer) }
        }
        let owed = timer.takeOwedRelease()
        let isDead = timer.item.releaseInternal()
        owner.unlock()
        owed.released(owed.info)
        if isDead { timer.destroy() }
    }

    /// Ends the notification of an observer if the thread has exited before the observer was called, or inside its callback. An observer
    /// that was called and does not repeat is invalidated.
    private func abandon(_ call: ObserverCall) {
        if call.state == .done { return }
        let observer = call.observer
        if call.state == .called, !observer.pointee.item.has(.repeats) { observer.invalidate() }
        let owner = observer.item.lock()
        if call.state == .called { observer.pointee.item.clear([.firing, .movedDuringCall]) }
        observer.releaseCall(owner)
    }

    /// Takes the contents of a list, and leaves an empty one.
    private func take<Element>(_ list: inout PlainList<Element>) -> PlainList<Element> {
        var taken = PlainList<Element>()
        swap(&taken, &list)
        return taken
    }

    /// In the child of fork(), marks the timers and observers of this loop as not being called, since those calls never return. Other loops
    /// may then call them. What such a call owes to the context is released when the item is destroyed. The caller holds all locks. Calls
    /// no user code, and therefore destroys no item: the memory of one without references is leaked.
    func abandonItems() {
        for index in 0..<pointee.firing.count {
            let timer = pointee.firing[index]
            timer.pointee.item.clear([.firing, .movedDuringCall])
            let loop = RunLoopPointer(timer.pointee.item.owner)
            // A timer that was firing is in no queue, so in a loop that is gone it would be lost: it leaves that loop. In the surviving
            // loop a repeating timer is queued again, and a one-shot timer counts as fired and stays parked.
            if timer.pointee.set != nil, !loop.isCurrent {
                _ = timer.leaveSet()
            } else if timer.pointee.set != nil, timer.pointee.item.has(.repeats) {
                loop.resume(timer)
            }
            _ = timer.item.releaseInternal()
        }
        for index in 0..<pointee.notifyingObservers.count where pointee.notifyingObservers[index].state != .done {
            let observer = pointee.notifyingObservers[index].observer
            if pointee.notifyingObservers[index].state == .called { observer.pointee.item.clear([.firing, .movedDuringCall]) }
            _ = observer.item.releaseInternal()
        }
        for index in 0..<pointee.signalledBatch.count { pointee.signalledBatch[index].resetAfterFork() }
        // Functions that were being called become waiting functions again, so that they are cancelled.
        resetRunningDelayedAfterFork()
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
    /// Runs the handler. Call without a lock held. May call user code.
    func run() { function(object, part, info) }

    /// Whether the handler calls `other`. O(1).
    func calls(_ other: @escaping Function) -> Bool { unsafeBitCast(function, to: UInt.self) == unsafeBitCast(other, to: UInt.self) }
}

/// What the calling thread owns while it calls a source's `schedule`, `cancel`, `equal` or `hash`. Cleanup handlers release it if the
/// thread exits there. None of it may be stored on the thread's stack, which is gone by then. A thread without a loop registers nothing.
struct HeldWhileCalling: ~Copyable {
    private let loop = ThreadContextPointer.current.map { RunLoopPointer($0) }
    private let level: Int

    /// Begins with nothing registered. Any thread.
    init() { level = loop?.pointee.cleanupHandlers.count ?? 0 }

    /// Removes the handlers after the calls have returned. The caller then releases what was registered.
    consuming func end() { loop?.popCleanup(level) }

    /// Registers an object for `function` to release.
    @inline(never)
    func register(_ object: UnsafeMutableRawPointer, _ function: @escaping CleanupHandler.Function) {
        _ = loop?.pushCleanup(CleanupHandler(function: function, object: object))
    }

    /// Registers a reference to a source. In the child of a fork() without this thread, invalidating the source releases the reference.
    @inline(never)
    func register(_ source: SourcePointer) {
        register(source) { source, _, _ in RunLoopPointer.abandon(Handle.storage(UnsafeRawPointer(source))) }
    }

    /// Registers a list of sources, with a reference to each. The list may be reordered meanwhile.
    func register(_ sources: borrowing PlainList<SourcePointer>) {
        registerMemory(sources.elements)
        for index in 0..<sources.count { register(sources[index]) }
    }

    /// Registers memory to be freed.
    func registerMemory(_ memory: UnsafeMutableRawPointer?) {
        if let memory { register(memory) { memory, _, _ in free(memory) } }
    }
}

// Timers that move to another loop while their callback is running.

extension RunLoopPointer {
    /// Makes this loop the owner of a timer. The caller holds the locks of both loops.
    func takeOwnership(of timer: TimerPointer) {
        timer.pointee.item.setOwner(threadContext)
        if !timer.pointee.item.has(.firing) { return }
        timer.pointee.item.clear(.movedDuringCall)
        if !isCalling(timer) { timer.pointee.item.set(.movedDuringCall) }
    }

    /// Parks the timer if another loop is running its callback: queues it for the far future, so that this loop finds all its timers when
    /// it closes. The caller holds the lock.
    @inline(never)
    func park(_ timer: TimerPointer) {
        if timer.pointee.item.has(.movedDuringCall) { queue(timer, at: .max) }
    }

    /// Ends parking: queues the timer for its deadline. The caller holds the lock.
    func resume(_ timer: TimerPointer) {
        timer.pointee.set.unsafelyUnwrapped.pointee.timers.remove(timer)
        enqueue(timer)
    }

    /// Whether this loop is running the timer's callback. O(1), as calls are seldom nested. The caller holds the lock.
    func isCalling(_ timer: TimerPointer) -> Bool {
        for index in 0..<pointee.firing.count where pointee.firing[index] == timer { return true }
        return false
    }

    /// Whether this loop is running the observer's callback. The caller holds the locks of the loop and of the observer.
    func isCalling(_ observer: ObserverPointer) -> Bool {
        for index in 0..<pointee.notifyingObservers.count
        where pointee.notifyingObservers[index].observer == observer && pointee.notifyingObservers[index].state == .called { return true }
        return false
    }

    /// Ends the call of a timer that has moved to another loop, whose context `owner` is locked on entry. Changes this loop's list with
    /// this loop's lock held, the rest with the lock of the timer's owner, which is held on return. The timer is then out of its queue.
    func finishElsewhere(_ timer: TimerPointer, _ owner: ThreadContextPointer) -> ThreadContextPointer {
        owner.unlock()
        locked { pointee.firing.truncate(to: pointee.firing.count - 1) }
        let owner = timer.item.lock()
        timer.pointee.set?.pointee.timers.remove(timer)
        // A one-shot timer ends, and may be the last item of its mode in that loop.
        RunLoopPointer(owner).noteEmptied()
        return owner
    }
}
