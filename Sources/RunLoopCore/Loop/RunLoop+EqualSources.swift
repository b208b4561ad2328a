// Equal sources (see `SourcePointer.equals`): a mode accepts only one of them, as in CFRunLoop. No step of the iteration: called when a
// source is added or removed. The contexts' equal functions are user code. So they are called without the lock held, and their results are
// used with the lock held. A loop rarely has equal sources; without them, this costs one look-up in the table.

extension RunLoopPointer {
    /// Locks the source's owner and this loop, and returns the owner. Before that, the client's equal function has compared the source with
    /// every source of this loop, in whatever mode, that may equal it. Any thread; calls equal.
    func lock(_ source: SourcePointer, _ hash: UInt32, after comparisons: inout SourceComparisons) -> ThreadContextPointer {
        while true {
            let owner = source.item.lock(and: threadContext)
            forEachLikely(source, hash) { comparisons.add(source, $0.source) }
            if !comparisons.mustCompare { return owner }
            ItemPointer.unlockBoth(owner, threadContext)
            comparisons.compare()
        }
    }

    /// Compares the source with every source of this loop, in whatever mode, that may equal it. O(1) on average. Any thread; calls equal.
    func compare(_ source: SourcePointer, _ hash: UInt32) -> SourceComparisons {
        var comparisons = SourceComparisons()
        locked { forEachLikely(source, hash) { comparisons.add(source, $0.source) } }
        comparisons.compare()
        return comparisons
    }

    /// Calls `body` for the other sources that equal this one unless the client's equal function says otherwise. The caller holds the lock.
    private func forEachLikely(_ source: SourcePointer, _ hash: UInt32, _ body: (RegistrationPointer) -> Void) {
        pointee.registrations.forEach(hash: hash) { registration in
            let other = registration.source
            if other != source && other.mayEqual(source) { body(registration) }
        }
    }

    /// Returns the set of the modes that a source is in; nil if it is not in this loop. `hash`: the source's `SourcePointer.hash`. The
    /// caller holds the lock.
    private func modeSet(of source: SourcePointer, _ hash: UInt32) -> ModeSetPointer? {
        var set: ModeSetPointer?
        pointee.registrations.forEach(hash: hash) { if $0.source == source { set = $0.set } }
        return set
    }

    /// Whether a source that equals this one is in the chosen mode. The caller holds the lock.
    func hasEqual(
        to source: SourcePointer, _ hash: UInt32, in choice: ModeChoice, by comparisons: borrowing SourceComparisons
    ) -> Bool {
        var hasEqual = false
        comparisons.forEachEqual(to: source) { if contains(modeSet(of: $0, hash), choice) { hasEqual = true } }
        return hasEqual
    }

    /// Adds to `modes` the modes that a source is in once it is added to the chosen one: those of `old`, and those of the chosen ones that
    /// have no equal source. Returns false if out of memory. The caller holds the lock.
    func unite(
        _ modes: inout BitSet, _ old: ModeSetPointer?, _ choice: ModeChoice, of source: SourcePointer, _ hash: UInt32,
        by comparisons: borrowing SourceComparisons
    ) -> Bool {
        switch choice {
        case .mode(let mode): if !modes.insert(mode.pointee.number) { return false }
        case .common: if !modes.formUnion(pointee.commonModes) || !modes.insert(ModeSet.common) { return false }
        case .none: return false
        }
        comparisons.forEachEqual(to: source) { if let set = modeSet(of: $0, hash) { modes.subtract(set.pointee.modes) } }
        if let old { return modes.formUnion(old.pointee.modes) }
        return true
    }

    /// Locks this loop after the clients' equal functions have compared the sources of the common modes with those of the mode that may
    /// equal them. Any thread; calls equal.
    func lock(beforeCommon name: StringPointer, after comparisons: inout SourceComparisons) {
        while true {
            lock()
            if let mode = mode(named: name) { addCommonSources(beside: mode, to: &comparisons) }
            if !comparisons.mustCompare { return }
            unlock()
            comparisons.compare()
        }
    }

    /// Adds to `comparisons` each source that the mode would gain by becoming common, paired with each source in the mode that may equal
    /// it. The caller holds the lock.
    private func addCommonSources(beside mode: ModePointer, to comparisons: inout SourceComparisons) {
        pointee.registrations.forEach { registration in
            guard joins(registration, mode) else { return }
            forEachLikely(registration.source, registration.pointee.hash) {
                if contains($0.set, .mode(mode)) { comparisons.add(registration.source, $0.source) }
            }
        }
    }

    /// Whether a source joins the mode when the mode becomes common, unless an equal source is in the mode. The caller holds the lock.
    func joins(_ registration: RegistrationPointer, _ mode: ModePointer) -> Bool {
        contains(registration.set, .common) && !contains(registration.set, .mode(mode))
    }

    /// Removes these sources from the mode that they joined when it became common, before another thread can see them there. If memory runs
    /// out, a source stays in the mode. The caller holds the lock.
    func leave(_ mode: ModePointer, _ sources: borrowing PlainList<SourcePointer>) {
        if sources.count == 0 { return }
        pointee.registrations.forEach { registration in
            guard isOne(of: sources, registration.source), let old = registration.set,
                case .set(let new) = set(removing: .mode(mode), from: old), makeRoom(in: new, for: registration.source)
            else { return }
            move(registration, from: old, to: new)
        }
    }

    /// Whether the list contains the source. O(n).
    private func isOne(of sources: borrowing PlainList<SourcePointer>, _ source: SourcePointer) -> Bool {
        for index in 0..<sources.count where sources[index] == source { return true }
        return false
    }
}
