import CLinux
import Synchronization

// How a loop is opened for its thread, closed with it, and repaired in the child of fork(). No step of the iteration.

extension RunLoopPointer {
    /// Makes an unused loop ready for a thread: creates the default mode, the first of the common modes. Returns false if out of memory.
    func open() -> Bool {
        guard let mode = ensureListedMode(named: ModeName.default), pointee.commonModes.insert(mode.pointee.number) else { return false }
        pointee.isOpen = true
        pointee.isAbandoned = false
        inbox.setOpen(true)
        return true
    }

    /// Closes the loop when its thread exits: calls the sources' cancel functions, removes everything from the loop, and drops the
    /// functions that wait. Sources, timers and observers stay valid and can be added to another loop. Calls user code, which may end the
    /// thread once more: then the thread calls this again, which does what is left.
    func close() {
        locked {
            pointee.isOpen = false
            pointee.defaultSet = nil
        }
        inbox.setOpen(false)
        // If the thread has exited inside a callback, its activations are gone. A callback that is called from here may run the loop again.
        pointee.activation = Activation()
        locked { for number in 0..<pointee.modes.count { pointee.modes[number]?.pointee.waitingRuns = 0 } }
        pointee.requestInCallback = nil
        endRunningDelayed()
        abandonCalls()
        while let source = locked({ anySource }) {
            let held = HeldWhileCalling()
            held.register(source)
            removeFromAllModes(source)
            held.end()
            source.release()
        }
        while let timer = locked({ anyTimer }) {
            remove(timer)
            timer.release()
        }
        _ = cancelDelayed(.all)
        while let observer = locked({ anyObserver }) { remove(observer) }
        dropRequests()
        releaseAllAutoreleased()
        endHostWait()
        lock()
        pointee.currentModeName.store(0, ordering: .relaxed)
        pointee.wake.reset()
        pointee.poller.close(afterWakes: pointee.eventBatch.wakes)
        pointee.eventBatch.reset()
        freeModes()
        unlock()
        pointee.guest = Guest()
        pointee.timerPasses = 0
        pointee.cleanupHandlers.removeAll()
        pointee.outerDispatchFrames.removeAll()
        pointee.timerSlack = .unknown
        pointee.retryDeadline = .never
        pointee.stop.store(0, ordering: .relaxed)
        pointee.spinInterval.store(0, ordering: .relaxed)
        pointee.everUsed.store(0, ordering: .relaxed)
        pointee.watchTrouble.store(0, ordering: .relaxed)
        pointee.mayHaveQueued = false
        pointee.minimumDeadline = 0
    }

    /// Any one of the loop's sources, with a reference for the caller; nil if there is none. The caller holds the lock.
    private var anySource: SourcePointer? {
        guard let registration = pointee.registrations.any() else { return nil }
        registration.source.pointee.item.object.retain()
        return registration.source
    }

    /// Any one of the loop's timers, with a reference for the caller; nil if there is none. The caller holds the lock.
    private var anyTimer: TimerPointer? {
        for index in 0..<pointee.sets.count {
            guard let timer = pointee.sets[index].pointee.timers.first()?.timer else { continue }
            timer.pointee.item.object.retain()
            return timer
        }
        return nil
    }

    /// Takes a timer out of this loop, unless it has moved to another one in the meantime. The caller owns a reference, and releases it.
    private func remove(_ timer: TimerPointer) {
        let owner = timer.item.lock()
        let isDead = owner == threadContext && timer.pointee.set != nil && timer.leaveSet()
        owner.unlock()
        if isDead { timer.destroy() }
    }

    /// Any one of the loop's observers, with a reference for the caller; nil if there is none. The caller holds the lock.
    private var anyObserver: ObserverPointer? {
        guard pointee.observers.count > 0 else { return nil }
        let observer = pointee.observers[pointee.observers.count - 1]
        observer.pointee.item.object.retain()
        return observer
    }

    /// Takes an observer out of this loop, unless it has moved to another one in the meantime, and releases the caller's reference.
    private func remove(_ observer: ObserverPointer) {
        let owner = observer.item.lock()
        let isDead = owner == threadContext && observer.pointee.set != nil && leave(observer)
        owner.unlock()
        if isDead || observer.item.release() == .dead { observer.destroy() }
    }

    /// Frees the modes and sets, which have no items left, and resets what refers to them. The caller holds the lock.
    private func freeModes() {
        for index in 0..<pointee.sets.count {
            pointee.sets[index].deinitialize(count: 1)
            free(pointee.sets[index])
        }
        for number in 0..<pointee.modes.count {
            guard let mode = pointee.modes[number] else { continue }
            mode.pointee.name.release()
            mode.deinitialize(count: 1)
            free(mode)
        }
        pointee.sets.removeAll()
        pointee.modes.removeAll()
        pointee.observers.removeAll()
        pointee.held.removeAll()
        pointee.heldStart = 0
        pointee.modeWithoutHeld = nil
        pointee.longQueueMode = nil
        pointee.commonSet = nil
        pointee.commonModes = BitSet()
        pointee.registrations = RegistrationTable()
    }

    /// Abandons the loop in the child of fork(), where its thread does not exist: what that thread was doing will never be finished. Calls
    /// no client's function.
    func abandon() {
        pointee.isOpen = false
        pointee.defaultSet = nil
        pointee.isAbandoned = true
        abandonItems()
        pointee.autoreleased.truncate(to: 0)
        pointee.activation.autoreleasedCount = 0
        inbox.pointee.abandon()
        resetDispatchesAfterFork()
        pointee.wake.reset()
        pointee.currentModeName.store(0, ordering: .relaxed)
        pointee.poller.detachAfterFork()
    }

    /// Repairs the loop of the forking thread in the child of fork(). The loop continues, and will create kernel objects of its own.
    func survive() {
        endHostWaitLocked()
        pointee.guest = Guest()
        pointee.poller.detachAfterFork()
        pointee.eventBatch.reset()
        pointee.mustRevisitWatches = true
        pointee.wake.restorePending()
    }

    /// Returns the thread's spare memory to the slabs.
    func trimCaches() {
        threadContext.trimCaches()
        pointee.threadContext.freeScratch()
    }
}
