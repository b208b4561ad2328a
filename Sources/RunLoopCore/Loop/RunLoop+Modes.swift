import CLinux
import CRunLoop
import Synchronization

// Modes, and the sets in which items with the same modes are queued. No step of the iteration. The caller holds the loop's lock, and no
// user code is called, unless a comment says otherwise.

extension RunLoopPointer {
    /// Returns the mode with this name; nil if the loop has none. O(number of modes), O(1) for the default mode's constant.
    @inline(__always)
    func mode(named name: StringPointer) -> ModePointer? {
        for number in 1..<Swift.max(pointee.modes.count, 1) {
            if let mode = pointee.modes[number], mode.pointee.name.equals(name) { return mode }
        }
        return nil
    }

    /// Returns the mode with this name if something has been added to it; otherwise nil.
    func listedMode(named name: StringPointer) -> ModePointer? {
        guard let mode = mode(named: name), mode.pointee.isListed else { return nil }
        return mode
    }

    /// Returns the mode with this name, to which something is to be added. Creates it if needed, and marks it as listed. Returns nil if out
    /// of memory.
    func ensureListedMode(named name: StringPointer) -> ModePointer? {
        guard let mode = prepareMode(named: name) else { return nil }
        mode.pointee.isListed = true
        return mode
    }

    /// Returns the mode with this name, creating it if needed, without marking it as listed; nil if out of memory.
    private func prepareMode(named name: StringPointer) -> ModePointer? {
        if let known = mode(named: name) { return known }
        guard pointee.modes.reserve(pointee.modes.count + 2), let memory = malloc(MemoryLayout<Mode>.size) else { return nil }
        if pointee.modes.count == 0 { _ = pointee.modes.append(nil) }
        let mode = memory.bindMemory(to: Mode.self, capacity: 1)
        name.retain()
        mode.initialize(to: Mode(name: name, number: pointee.modes.count))
        _ = pointee.modes.append(mode)
        return mode
    }

    /// The meaning of a mode argument.
    enum ModeChoice {
        /// kRLRunLoopCommonModes.
        case common
        case mode(ModePointer)
        /// There is no such mode, and none was to be created; or memory ran out.
        case none
    }

    /// Returns what a mode argument means. `make`: whether to create a mode that does not exist.
    @inline(never)
    func choose(_ name: StringPointer, make: Bool) -> ModeChoice {
        if name.isCommonModes { return .common }
        guard let mode = make ? ensureListedMode(named: name) : mode(named: name) else { return .none }
        return .mode(mode)
    }

    /// Whether an item in `set` is in the chosen mode. For the common modes: whether it was added to them.
    func contains(_ set: ModeSetPointer?, _ choice: ModeChoice) -> Bool {
        guard let set else { return false }
        return switch choice {
        case .common: set.pointee.modes.contains(ModeSet.common)
        case .mode(let mode): set.pointee.modes.contains(mode.pointee.number)
        case .none: false
        }
    }

    /// Whether adding an item in `set` to the chosen mode changes nothing. An item that was added to the common modes may have been removed
    /// from one of them since.
    func isComplete(_ set: ModeSetPointer?, _ choice: ModeChoice) -> Bool {
        guard let set, contains(set, choice) else { return false }
        if case .common = choice { return set.pointee.modes.contains(allOf: pointee.commonModes) }
        return true
    }

    // MARK: sets

    /// Returns the set for an item that is in `old` and is being added to the chosen mode; nil if out of memory.
    func set(adding choice: ModeChoice, to old: ModeSetPointer?) -> ModeSetPointer? {
        if old == nil {
            switch choice {
            case .mode(let mode): if let sole = mode.pointee.soleSet { return sole }
            case .common: if let common = pointee.commonSet { return common }
            case .none: return nil
            }
        }
        return makeSet(adding: choice, to: old)
    }

    /// Does the work of `set(adding:to:)` when the set has to be found or created.
    private func makeSet(adding choice: ModeChoice, to old: ModeSetPointer?) -> ModeSetPointer? {
        var modes = BitSet()
        if let old, !modes.formUnion(old.pointee.modes) { return nil }
        switch choice {
        case .mode(let mode): if !modes.insert(mode.pointee.number) { return nil }
        case .common: if !modes.formUnion(pointee.commonModes) || !modes.insert(ModeSet.common) { return nil }
        case .none: return nil
        }
        guard let set = intern(modes) else { return nil }
        if old == nil {
            switch choice {
            case .mode(let mode):
                mode.pointee.soleSet = set
                if mode.pointee.name == ModeName.default { noteDefaultSet(set) }
            default: pointee.commonSet = set
            }
        }
        return set
    }

    /// Stores the set of the default mode; while a host waits, in the place where the shortcuts do not find it.
    private func noteDefaultSet(_ set: ModeSetPointer) {
        if hasWatchTrouble(WatchTrouble.hostWaits) { pointee.guest.defaultSet = set } else { pointee.defaultSet = set }
    }

    /// Returns the set for an item in exactly these modes; nil if out of memory.
    func set(of modes: consuming BitSet) -> ModeSetPointer? {
        return intern(modes)
    }

    /// What remains of an item's modes after one has been removed.
    enum Remainder {
        case nothing
        case set(ModeSetPointer)
        case outOfMemory
    }

    /// Returns the set for an item that is in `old` and is being removed from the chosen mode.
    func set(removing choice: ModeChoice, from old: ModeSetPointer) -> Remainder {
        if case .mode(let mode) = choice, mode.pointee.soleSet == old { return .nothing }
        var modes = BitSet()
        if !modes.formUnion(old.pointee.modes) { return .outOfMemory }
        switch choice {
        case .mode(let mode): modes.remove(mode.pointee.number)
        case .common:
            modes.subtract(pointee.commonModes)
            modes.remove(ModeSet.common)
        case .none: break
        }
        if modes.isEmpty { return .nothing }
        guard let set = intern(modes) else { return .outOfMemory }
        return .set(set)
    }

    /// Returns the only set of exactly these modes, to which something is to be added, creating it if needed; nil if out of memory.
    /// O(number of sets).
    private func intern(_ modes: consuming BitSet) -> ModeSetPointer? {
        for number in 1..<pointee.modes.count where modes.contains(number) { pointee.modes[number]?.pointee.isListed = true }
        for index in 0..<pointee.sets.count where pointee.sets[index].pointee.modes.equals(modes) { return pointee.sets[index] }
        guard pointee.sets.reserve(pointee.sets.count + 1), let memory = malloc(MemoryLayout<ModeSet>.size) else { return nil }
        for number in 1..<pointee.modes.count where modes.contains(number) {
            if let mode = pointee.modes[number], !mode.pointee.sets.reserve(mode.pointee.sets.count + 1) {
                free(memory)
                return nil
            }
        }
        let set = memory.bindMemory(to: ModeSet.self, capacity: 1)
        set.initialize(to: ModeSet(of: threadContext, modes: modes))
        _ = pointee.sets.append(set)
        for number in 1..<pointee.modes.count where set.pointee.modes.contains(number) {
            if let mode = pointee.modes[number] { _ = mode.pointee.sets.append(set) }
        }
        return set
    }

    /// Adds `mode` to the common modes, and to every set whose items were added to the common modes. Returns false if the mode was common
    /// already, or if memory runs out.
    func makeCommon(_ mode: ModePointer) -> Bool {
        if pointee.commonModes.contains(mode.pointee.number) { return false }
        guard mode.pointee.sets.reserve(mode.pointee.sets.count + pointee.sets.count),
            mode.pointee.observers.reserve(pointee.observers.count),
            pointee.commonModes.insert(mode.pointee.number)
        else { return false }
        for index in 0..<pointee.sets.count {
            let set = pointee.sets[index]
            guard set.pointee.modes.contains(ModeSet.common), !set.pointee.modes.contains(mode.pointee.number) else { continue }
            if set.pointee.modes.insert(mode.pointee.number) { _ = mode.pointee.sets.append(set) }
            if set.pointee.sourceCount | set.pointee.timerCount > 0 { mode.pointee.isListed = true }
        }
        pointee.mustRevisitWatches = true
        pointee.modeWithoutHeld = nil
        enterCommonObservers(mode)
        if mode.pointee.observers.count > 0 { mode.pointee.isListed = true }
        // The next item that is added to the common modes marks the mode as listed: see `intern`.
        if !mode.pointee.isListed { pointee.commonSet = nil }
        return true
    }

    /// Whether the mode has no source, no timer, and no function waiting for it, and no run waits in it for something else. Observers and
    /// unreferenced items do not count. O(number of sets of the mode). Loop thread only; call without the lock held.
    ///
    /// `asCF`: whether the run was started through CF's name for the function. In CFRunLoop a common mode of the main loop stands for
    /// libdispatch's main queue and is never empty, whether or not anything uses that queue; programs rely on it. Only a run nested in work
    /// of that queue can find such a mode empty.
    func isEmpty(_ mode: ModePointer, asCF: Bool) -> Bool { locked { hasNothing(mode) } && !(asCF && neverEmpties(mode)) }

    /// Whether the mode is empty, unless CF's names never find it empty. The caller holds the lock.
    func hasNothing(_ mode: ModePointer) -> Bool {
        !hasItems(mode) && !hasFunctions(for: mode) && mode.pointee.waitingRuns == 0
    }

    /// Whether CF's names never find this mode empty: see `isEmpty(_:asCF:)`. Call without the lock held.
    @inline(never)
    func neverEmpties(_ mode: ModePointer) -> Bool {
        self == Registry.mainLoop && !MainQueue.isDraining && locked { pointee.commonModes.contains(mode.pointee.number) }
    }

    /// Whether the mode has a source or timer that keeps it from being empty.
    @inline(__always)
    func hasItems(_ mode: ModePointer) -> Bool {
        var index = 0
        while index < mode.pointee.sets.count {
            if !mode.pointee.sets[index].pointee.isEmpty { return true }
            index &+= 1
        }
        return false
    }

    /// Makes the loop end its sleep if the current mode has become empty. Called, with or without the lock held, after an item has been
    /// invalidated or made unreferenced, or a function cancelled. Not called after an item has been removed: as in CFRunLoop, the item may
    /// be on its way to another mode. Any thread.
    func noteEmptied() {
        pointee.mayBeEmpty.store(1, ordering: .releasing)
        // No effect on the calling thread's own loop while that is awake. The loop checks before it sleeps anyway, and an adjustment would
        // make it poll in vain, once per request with a reply.
        adjustSleep()
    }

    /// Whether the mode is empty. Checks only if the mode may have been emptied since the last call. Loop thread only; call without the
    /// lock held.
    func wasEmptied(_ mode: ModePointer) -> Bool {
        if pointee.mayBeEmpty.load(ordering: .relaxed) == 0 { return false }
        return pointee.mayBeEmpty.exchange(0, ordering: .acquiring) != 0 && isEmpty(mode, asCF: pointee.activation.runsAsCF)
    }

    /// An upper bound on the number of descriptors that the mode waits for. O(number of sets of the mode).
    @inline(__always)
    func descriptorSourceCount(_ mode: ModePointer) -> Int {
        var count = 0
        for index in 0..<mode.pointee.sets.count { count &+= mode.pointee.sets[index].pointee.descriptorSourceCount }
        return count
    }
}

extension StringPointer {
    /// Whether this is the name that stands for the common modes. The constant for the default mode is as long as that name, so it is
    /// compared by address first.
    var isCommonModes: Bool { self != ModeName.default && equals(ModeName.common) }
}

extension RunLoopPointer {
    /// RLRunLoopCopyAllModes: returns an array that the caller owns; nil with errno if out of memory. Any thread; call without the lock
    /// held.
    func copyModeNames() -> ArrayPointer? {
        listModesOfRequests()
        var names = PlainList<UnsafeRawPointer?>()
        let hasAll = locked { () -> Bool in
            guard names.reserve(pointee.modes.count) else { return false }
            for number in 1..<Swift.max(pointee.modes.count, 1) {
                guard let mode = pointee.modes[number], mode.pointee.isListed else { continue }
                mode.pointee.name.retain()
                _ = names.append(UnsafeRawPointer(mode.pointee.name))
            }
            return true
        }
        let array = hasAll ? ArrayPointer.create(names.elements, count: names.count, .ofObjects) : nil
        for index in 0..<names.count { (Handle.storage(names[index].unsafelyUnwrapped) as StringPointer).release() }
        return array
    }

    /// RLRunLoopAddCommonMode. Calls equal, and the schedule functions of the sources that this adds to the mode. Any thread; call without
    /// the lock held.
    func addCommonMode(_ name: StringPointer) {
        var joining = PlainList<SourcePointer>()
        var comparisons = SourceComparisons()
        lock(beforeCommon: name, after: &comparisons)
        let isNew = addCommonMode(name, comparisons, &joining)
        unlock()
        comparisons.release()
        guard isNew else { return }
        // Timers that have joined the current mode do not wait until `schedule` has returned.
        adjustSleep()
        let held = HeldWhileCalling()
        held.register(joining)
        for index in 0..<joining.count {
            let source = joining[index]
            if let schedule = source.pointee.detail?.pointee.schedule {
                RUNLOOP_IS_CALLING_OUT_TO_A_SOURCE_SCHEDULE_OR_CANCEL_FUNCTION(schedule, source.pointee.info, handle, name.handle)
            }
        }
        held.end()
        for index in 0..<joining.count { joining[index].release() }
        // The current mode may now contain signalled sources, and functions that were queued for the common modes.
        if maySleep { wakeUp() }
    }

    /// Adds a common mode. Returns false if the mode was common already, the loop is closed, or memory runs out. `joining` receives the
    /// sources that join the mode and have a schedule function, each with a reference for the caller.
    private func addCommonMode(
        _ name: StringPointer, _ comparisons: borrowing SourceComparisons, _ joining: inout PlainList<SourcePointer>
    ) -> Bool {
        var staying = PlainList<SourcePointer>()
        let count = pointee.registrations.count
        guard pointee.isOpen, joining.reserve(count), staying.reserve(count), let mode = prepareMode(named: name) else { return false }
        // This has to precede `makeCommon`, after which the sources that join the mode could not be distinguished from those that were in
        // it before.
        pointee.registrations.forEach { registration in
            let source = registration.source
            guard joins(registration, mode) else { return }
            if hasEqual(to: source, registration.pointee.hash, in: .mode(mode), by: comparisons) {
                _ = staying.append(source)
            } else if source.pointee.detail?.pointee.schedule != nil {
                _ = joining.append(source)
            }
        }
        guard makeCommon(mode) else { return false }
        leave(mode, staying)
        for index in 0..<joining.count { joining[index].pointee.item.object.retain() }
        return true
    }
}
