import Synchronization

// Steps 1 to 3, 6, 8 and 10: notifying observers; also adding and removing them. Each mode has a sorted list of its few observers, and a
// mask of the activities that they observe.

/// The activities of an iteration; the raw values are those of the public header.
enum Activity: UInt {
    case entry = 1
    case beforeTimers = 2
    case beforeSources = 4
    case beforeWaiting = 32
    case afterWaiting = 64
    case exit = 128
}

extension RunLoopPointer {
    /// Notifies the mode's observers of an activity, by order. One load if none observes it. Loop thread only; calls user code.
    func notify(_ mode: ModePointer, _ activity: Activity) {
        if mode.pointee.observedActivities.load(ordering: .relaxed) & activity.rawValue != 0 { callObservers(mode, activity) }
    }

    /// Whether some observer of the mode observes at least one of two activities. One load. Loop thread only.
    func observes(_ mode: ModePointer, _ either: Activity, _ or: Activity) -> Bool {
        mode.pointee.observedActivities.load(ordering: .relaxed) & (either.rawValue | or.rawValue) != 0
    }

    /// Calls all observers of the activity that are in the mode when this begins. As in CFRunLoop, that includes observers that are removed
    /// in the meantime, but not those that are invalidated or are being called already.
    private func callObservers(_ mode: ModePointer, _ activity: Activity) {
        lock()
        let first = pointee.notifyingObservers.count
        for index in 0..<mode.pointee.observers.count {
            let observer = mode.pointee.observers[index]
            guard observer.pointee.activities & activity.rawValue != 0, !observer.pointee.item.has(.firing),
                pointee.notifyingObservers.appendInlined(ObserverCall(observer: observer))
            else { continue }
            observer.item.retainInternal()
        }
        let last = pointee.notifyingObservers.count
        // Entries are accessed by index, since a nested run appends its own and truncates them again.
        for index in first..<last {
            unlock()
            call(index, activity)
            lock()
        }
        pointee.notifyingObservers.truncate(to: first)
        unlock()
    }

    /// Calls the observer with this index in `notifyingObservers`, if it is still valid, and releases the reference that kept it alive.
    private func call(_ index: Int, _ activity: Activity) {
        let observer = pointee.notifyingObservers[index].observer
        var owner = observer.item.lock()
        if observer.pointee.item.has(.valid), !observer.pointee.item.has(.firing) {
            observer.pointee.item.set(.firing)
            pointee.notifyingObservers[index].state = .called
            let info = observer.pointee.context.info
            owner.unlock()
            RUNLOOP_IS_CALLING_OUT_TO_AN_OBSERVER_CALLBACK_FUNCTION(
                observer.handle, activity.rawValue, info, observer.pointee.callout)
            if !observer.pointee.item.has(.repeats) { observer.invalidate() }
            owner = observer.item.lock()
            observer.pointee.item.clear([.firing, .movedDuringCall])
        }
        // The release below may call user code, which may end the thread.
        pointee.notifyingObservers[index].state = .done
        observer.releaseCall(owner)
    }

    /// RLRunLoopAddObserver. O(number of modes + number of their observers). Any thread.
    func add(_ observer: ObserverPointer, in name: StringPointer) {
        let owner = observer.item.lock(and: threadContext)
        defer { ItemPointer.unlockBoth(owner, threadContext) }
        guard observer.pointee.item.has(.valid), pointee.isOpen else { return }
        if owner != threadContext {
            if observer.pointee.set != nil {
                if !RunLoopPointer(owner).pointee.isAbandoned { return }
                // The caller's reference keeps the observer alive.
                _ = RunLoopPointer(owner).leave(observer)
            }
            observer.pointee.item.setOwner(threadContext)
            if observer.pointee.item.has(.firing) {
                observer.pointee.item.clear(.movedDuringCall)
                if !isCalling(observer) { observer.pointee.item.set(.movedDuringCall) }
            }
        }
        let choice = choose(name, make: true)
        if isComplete(observer.pointee.set, choice) { return }
        let old = observer.pointee.set
        guard let new = set(adding: choice, to: old), reserveObservers(new) else { return }
        if old == nil {
            guard pointee.observers.append(observer) else { return }
            observer.item.retainInternal()
            observer.pointee.item.set(.bound)
        }
        observer.pointee.set = new
        forEachMode(of: new, butOf: old) { enter(observer, $0) }
        updateObservedActivities()
    }

    /// Calls `body` for the modes that are in `set` but not in `other`. The caller holds the lock.
    private func forEachMode(of set: ModeSetPointer, butOf other: ModeSetPointer?, _ body: (ModePointer) -> Void) {
        for number in 1..<Swift.max(pointee.modes.count, 1) where set.pointee.modes.contains(number) {
            if let mode = pointee.modes[number], !contains(other, .mode(mode)) { body(mode) }
        }
    }

    /// Makes room for one more observer in each mode of a set. Returns false if out of memory. The caller holds the lock.
    private func reserveObservers(_ set: ModeSetPointer) -> Bool {
        var hasRoom = true
        forEachMode(of: set, butOf: nil) { hasRoom = $0.pointee.observers.reserve($0.pointee.observers.count + 1) && hasRoom }
        return hasRoom
    }

    /// Inserts an observer into a mode's list, in which there is room, behind those of the same order. The caller holds the lock.
    private func enter(_ observer: ObserverPointer, _ mode: ModePointer) {
        var index = mode.pointee.observers.count
        while index > 0 && mode.pointee.observers[index - 1].pointee.order > observer.pointee.order { index -= 1 }
        _ = mode.pointee.observers.insert(observer, at: index)
    }

    /// Adds to a mode that has become common the observers that were added to the common modes, in the order in which they were added to
    /// the loop. There is room for all of them. O(square of the number of observers). The caller holds the lock.
    func enterCommonObservers(_ mode: ModePointer) {
        for index in 0..<pointee.observers.count {
            let observer = pointee.observers[index]
            if contains(observer.pointee.set, .mode(mode)) && self.index(of: observer, in: mode.pointee.observers) == nil {
                enter(observer, mode)
            }
        }
        updateObservedActivities()
    }

    /// Returns the index of an observer in a list; nil if it is not there. O(n).
    private func index(of observer: ObserverPointer, in list: borrowing PlainList<ObserverPointer>) -> Int? {
        for index in 0..<list.count where list[index] == observer { return index }
        return nil
    }

    /// Removes an observer from a list if it is there. O(n).
    private func remove(_ observer: ObserverPointer, from list: inout PlainList<ObserverPointer>) {
        if let index = index(of: observer, in: list) { list.remove(at: index) }
    }

    /// RLRunLoopRemoveObserver. O(number of observers). Any thread.
    func remove(_ observer: ObserverPointer, from name: StringPointer) {
        let owner = observer.item.lock()
        var isDead = false
        if owner == threadContext, let old = observer.pointee.set {
            let choice = choose(name, make: false)
            if contains(old, choice) {
                switch set(removing: choice, from: old) {
                case .nothing: isDead = leave(observer)
                case .set(let new):
                    forEachMode(of: old, butOf: new) { remove(observer, from: &$0.pointee.observers) }
                    observer.pointee.set = new
                    updateObservedActivities()
                case .outOfMemory: break
                }
            }
        }
        owner.unlock()
        if isDead { observer.destroy() }
    }

    /// Removes an observer from this loop. Returns true if the caller has to destroy it after unlocking. The caller holds the lock.
    func leave(_ observer: ObserverPointer) -> Bool {
        remove(observer, from: &pointee.observers)
        if let set = observer.pointee.set { forEachMode(of: set, butOf: nil) { remove(observer, from: &$0.pointee.observers) } }
        observer.pointee.set = nil
        observer.pointee.item.clear(.bound)
        updateObservedActivities()
        return observer.item.releaseInternal()
    }

    /// RLRunLoopContainsObserver. Any thread.
    func contains(_ observer: ObserverPointer, in name: StringPointer) -> Bool {
        let owner = observer.item.lock()
        defer { owner.unlock() }
        return owner == threadContext && contains(observer.pointee.set, choose(name, make: false))
    }

    /// Recomputes which activities the observers of each mode observe. O(number of modes + number of their observers). The caller holds the
    /// lock.
    func updateObservedActivities() {
        for number in 1..<Swift.max(pointee.modes.count, 1) {
            guard let mode = pointee.modes[number] else { continue }
            var activities: UInt = 0
            for index in 0..<mode.pointee.observers.count { activities |= mode.pointee.observers[index].pointee.activities }
            mode.pointee.observedActivities.store(activities, ordering: .relaxed)
        }
    }
}

extension ObserverPointer {
    /// RLRunLoopObserverInvalidate. Calls the context's release; if another thread is calling the observer, that thread does so when the
    /// callback returns. O(number of observers). Any thread.
    func invalidate() {
        let owner = item.lock()
        guard pointee.item.has(.valid) else { return owner.unlock() }
        pointee.item.clear(.valid)
        var context = pointee.context
        pointee.context.info = nil
        if pointee.item.has(.firing) && (pointee.item.has(.movedDuringCall) || !owner.isCurrent) {
            pointee.owedRelease = context.info
            context = .empty
        }
        let isDead = pointee.set != nil && RunLoopPointer(owner).leave(self)
        owner.unlock()
        context.released(context.info)
        if isDead { destroy() }
    }

    /// Releases the internal reference of a call. Calls the context's release if that is owed. The caller holds the lock, which this
    /// releases.
    func releaseCall(_ owner: ThreadContextPointer) {
        let isDead = item.releaseInternal()
        let owed = pointee.owedRelease
        let context = pointee.context
        pointee.owedRelease = nil
        // From here on, another thread may destroy the observer.
        owner.unlock()
        if let owed { context.released(owed) }
        if isDead { destroy() }
    }
}
