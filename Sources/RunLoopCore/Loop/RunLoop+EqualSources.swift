// Equal sources (see `SourcePointer.equals`), for adding and removing: a mode takes only one of them, as in CFRunLoop. The
// contexts' equal functions are user code, so they are called without the lock, and what they returned is used under it. A loop
// rarely has equal sources; without them this costs one look into the table.

extension RunLoopPointer {
    /// How often clients are asked again, in case an equal function itself changes the loop's sources each time.
    private static var questions: Int { 1_000 }

    /// Locks the source's owner and this loop, and returns the owner. `equals` becomes what `equals` returns, up to date: if a source that
    /// may equal this one came into a mode after the client was asked, it is asked again. Any thread; calls equal.
    func lock(_ source: SourcePointer, _ hash: UInt32, askingFor equals: inout PlainList<SourcePointer>) -> ThreadContextPointer {
        var questions = Self.questions
        while true {
            var changes = 0
            equals = self.equals(of: source, hash, &changes)
            let owner = source.item.lock(and: threadContext)
            var mustAsk = false
            if pointee.sourceChanges != changes { forEachLikely(source, hash) { _ in mustAsk = true } }
            questions -= 1
            if !mustAsk || questions == 0 { return owner }
            ItemPointer.unlockBoth(owner, threadContext)
            Self.release(&equals)
        }
    }

    /// The other sources of this loop, in whatever mode, that equal this one, each with a reference for the caller. O(1) on
    /// average. Any thread; calls equal.
    func equals(of source: SourcePointer, _ hash: UInt32) -> PlainList<SourcePointer> {
        var changes = 0
        return equals(of: source, hash, &changes)
    }

    /// `equals`, and the `sourceChanges` up to which they are known.
    private func equals(of source: SourcePointer, _ hash: UInt32, _ changes: inout Int) -> PlainList<SourcePointer> {
        var found = PlainList<SourcePointer>()
        locked {
            changes = pointee.sourceChanges
            forEachLikely(source, hash) { if found.append($0) { $0.pointee.item.object.retain() } }
        }
        let held = HeldWhileCalling()
        held.note(found)
        var count = 0
        for index in 0..<found.count where found[index].equals(source) {
            found.swapAt(count, index)
            count += 1
        }
        held.end()
        Self.release(&found, from: count)
        return found
    }

    /// Calls `body` for the other sources that equal this one unless the client's function says otherwise. Under the lock.
    private func forEachLikely(_ source: SourcePointer, _ hash: UInt32, _ body: (SourcePointer) -> Void) {
        pointee.registrations.forEach(hash: hash) { registration in
            let other = registration.source
            if other != source && other.mayEqual(source) { body(other) }
        }
    }

    /// Releases what `equals` or `lockAskingForCommonSources` returned, or the last part of it. Any thread.
    static func release(_ sources: inout PlainList<SourcePointer>, from first: Int = 0) {
        for index in first..<sources.count { sources[index].release() }
        sources.truncate(to: first)
    }

    /// The modes that a source is in; nil if it is not in this loop. `hash`: `SourcePointer.hash` of the source. Under the lock.
    private func modeSet(of source: SourcePointer, _ hash: UInt32) -> ModeSetPointer? {
        var set: ModeSetPointer?
        pointee.registrations.forEach(hash: hash) { if $0.source == source { set = $0.set } }
        return set
    }

    /// Whether one of the sources is in the chosen mode. Under the lock.
    func has(_ sources: borrowing PlainList<SourcePointer>, _ hash: UInt32, in choice: ModeChoice) -> Bool {
        for index in 0..<sources.count where contains(modeSet(of: sources[index], hash), choice) { return true }
        return false
    }

    /// Adds to `modes` the modes in which a source belongs when it is added to the chosen one: those it has in `old`, and the
    /// chosen ones that none of its `equals` is in. False if out of memory. Under the lock.
    func unite(
        _ modes: inout BitSet, _ old: ModeSetPointer?, _ choice: ModeChoice, beside equals: borrowing PlainList<SourcePointer>,
        _ hash: UInt32
    ) -> Bool {
        switch choice {
        case .mode(let mode): if !modes.insert(mode.pointee.number) { return false }
        case .common: if !modes.formUnion(pointee.commonModes) || !modes.insert(ModeSet.common) { return false }
        case .none: return false
        }
        for index in 0..<equals.count { if let set = modeSet(of: equals[index], hash) { modes.subtract(set.pointee.modes) } }
        if let old { return modes.formUnion(old.pointee.modes) }
        return true
    }

    /// Locks this loop, and returns the sources of the common set that stay out of the mode when it becomes common, since it has an equal
    /// one; each with a reference for the caller. If a source came into any mode after the clients were asked, they are asked again. Any
    /// thread; calls equal.
    func lockAskingForCommonSources(equalToOneOf mode: StringPointer) -> PlainList<SourcePointer> {
        var questions = Self.questions
        while true {
            var changes = 0
            var common = commonSources(toJoin: mode, &changes)
            let held = HeldWhileCalling()
            held.note(common)
            var count = 0
            for index in 0..<common.count {
                let source = common[index], hash = source.hash
                var equals = equals(of: source, hash)
                let staysOut = equals.count > 0 && locked { has(equals, hash, in: choose(mode, make: false)) }
                Self.release(&equals)
                if staysOut {
                    common.swapAt(count, index)
                    count += 1
                }
            }
            held.end()
            Self.release(&common, from: count)
            lock()
            questions -= 1
            if pointee.sourceChanges == changes || questions == 0 { return common }
            unlock()
            Self.release(&common)
        }
    }

    /// The sources of the common set that would join this mode, if it has sources; each with a reference for the caller; and the
    /// `sourceChanges` by now. Any thread.
    private func commonSources(toJoin mode: StringPointer, _ changes: inout Int) -> PlainList<SourcePointer> {
        var common = PlainList<SourcePointer>()
        locked {
            changes = pointee.sourceChanges
            guard let mode = self.mode(named: mode), hasSources(mode), common.reserve(pointee.registrations.count) else { return }
            pointee.registrations.forEach { registration in
                guard let set = registration.set, set.pointee.modes.contains(ModeSet.common),
                    !set.pointee.modes.contains(mode.pointee.number)
                else { return }
                registration.source.pointee.item.object.retain()
                _ = common.append(registration.source)
            }
        }
        return common
    }

    /// O(n).
    static func isOne(of sources: borrowing PlainList<SourcePointer>, _ source: SourcePointer) -> Bool {
        for index in 0..<sources.count where sources[index] == source { return true }
        return false
    }

    /// Takes the sources, which came into the mode with the rest of the common set, out of it again before another thread can see
    /// them there. Out of memory one stays. Under the lock.
    func leave(_ mode: ModePointer, _ sources: borrowing PlainList<SourcePointer>) {
        if sources.count == 0 { return }
        pointee.registrations.forEach { registration in
            guard Self.isOne(of: sources, registration.source), let old = registration.set,
                case .set(let new) = set(removing: .mode(mode), from: old), makeRoom(in: new, for: registration.source)
            else { return }
            move(registration, from: old, to: new)
        }
    }

    /// Under the lock.
    private func hasSources(_ mode: ModePointer) -> Bool {
        for index in 0..<mode.pointee.sets.count where mode.pointee.sets[index].pointee.sourceCount > 0 { return true }
        return false
    }
}
