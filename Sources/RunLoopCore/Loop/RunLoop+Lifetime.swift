import CLinux
import Synchronization

// How a loop begins and ends with its thread. No step of the iteration.

extension RunLoopPointer {
    /// Makes an unused loop ready for a thread: creates the default mode, which is the first of the common ones. False if out of memory.
    func open() -> Bool {
        guard let mode = makeMode(named: ModeName.default), pointee.commonModes.insert(mode.pointee.number) else { return false }
        pointee.isOpen = true
        pointee.isAbandoned = false
        inbox.setOpen(true)
        return true
    }

    /// The thread ends: calls the sources' cancel functions, removes everything from the loop, and drops functions that wait. Sources, timers
    /// and observers stay valid and can be added to another loop. Calls user code.
    func close() {
        locked {
            pointee.isOpen = false
            pointee.defaultSet = nil
        }
        inbox.setOpen(false)
        // If the thread ended within a callback, its activations are gone. A callback that is called from here may run the loop again.
        pointee.activation = Activation()
        abandonCalls()
        while let source = locked({ anySource }) {
            removeFromAllModes(source)
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
        pointee.postBackoff = PostBackoff()
    }

    /// Some source, with a reference for the caller.
    private var anySource: SourcePointer? {
        guard let registration = pointee.registrations.any() else { return nil }
        registration.source.pointee.item.object.retain()
        return registration.source
    }

    /// Some timer, with a reference for the caller.
    private var anyTimer: TimerPointer? {
        for index in 0..<pointee.sets.count {
            guard let timer = pointee.sets[index].pointee.timers.first()?.timer else { continue }
            timer.pointee.item.object.retain()
            return timer
        }
        return nil
    }

    /// Takes a timer out of this loop, unless it has moved to another one meanwhile. The caller has a reference, and releases it.
    private func remove(_ timer: TimerPointer) {
        let owner = timer.item.lock()
        let isDead = owner == threadContext && timer.pointee.set != nil && timer.leaveSet()
        owner.unlock()
        if isDead { timer.destroy() }
    }

    /// Some observer, with a reference for the caller.
    private var anyObserver: ObserverPointer? {
        guard pointee.observers.count > 0 else { return nil }
        let observer = pointee.observers[pointee.observers.count - 1]
        observer.pointee.item.object.retain()
        return observer
    }

    /// Takes an observer out of this loop, unless it has moved to another one meanwhile, and releases the caller's reference.
    private func remove(_ observer: ObserverPointer) {
        let owner = observer.item.lock()
        let isDead = owner == threadContext && observer.pointee.set != nil && leave(observer)
        owner.unlock()
        if isDead || observer.item.release() == .dead { observer.destroy() }
    }

    /// Frees the modes and sets, in which no item is left, and resets what refers to them. Under the lock.
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

    /// In a child of fork(), where the thread of this loop does not exist: what it was doing will never be finished. Calls no function of a
    /// client.
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

    /// In a child of fork(), for the loop of the forking thread: it continues, and will get kernel objects of its own.
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
