import CLinux

/// One epoll for a loop, whatever its modes, and the descriptors it watches.
///
/// Two descriptors, made when the first one is watched: the epoll, and an eventfd for being woken out of it.
/// What is wanted of a watch may change often; epoll hears of it as late as possible and as seldom: of more when the loop
/// is about to wait (`takeChange`), of less only when it reports something that nobody wants (`reduce`). It reports
/// hang-ups whether asked or not, so wanting nothing means leaving the epoll set.
///
/// Its fields are changed here, in `Poller+Epoll.swift` and in `Poller+Unconnected.swift` only. Guarded by the loop's lock; waiting, which
/// needs none, is `EventBatch`. Calls no user code.
struct Poller: ~Copyable {
    /// What epoll reports of it, its tag, is its index and generation, so that a report fetched before a watch was removed never
    /// reaches the next user of its index; or a number of its client's own, which makes the watch superfluous to deliver it.
    struct Watch: BitwiseCopyable {
        var fd: Int32
        /// What epoll has been told to report.
        var registered: Events = []
        /// What the clients want, as they last said.
        var interest: Events = []
        var generation: UInt32
        var state = State.free
        /// It waits in the list of changes.
        var isChanged = false
        var trigger = Trigger.level
        /// It is in the list of sockets that are not connected.
        var isUnconnected = false
        /// Whoever asked for it: an odd number is what epoll is to report. 0 while the index is free.
        var client: UInt64 = 0
    }

    /// Where a watch stands.
    enum State: UInt8 {
        case free
        /// In the epoll set.
        case listening
        /// Not in the epoll set until `listen`: nobody wants anything, no running mode does, or the system was out of memory.
        case silent
        /// epoll cannot watch it (a regular file, /dev/null): it is always ready.
        case alwaysReady
        /// The number is no descriptor that can be watched. Never ready.
        case broken
    }

    /// When epoll reports a watch that is in its set: see `Poller+Unconnected.swift`.
    enum Trigger: UInt8 {
        /// As long as it is ready.
        case level
        /// Only when it changes.
        case edge
        /// As `edge`, but being connected is not a change that epoll reports.
        case edgeWithoutConnect
    }

    /// Even, as those that are made of an index.
    static var wakeTag: UInt64 { .max - 1 }
    /// Stands among the reports for all watches that are always ready.
    static var alwaysReadyTag: UInt64 { .max - 3 }

    var epoll: Int32 = -1
    var wakeDescriptor: Int32 = -1
    var watches = PlainList<Watch>()
    var freeIndexes = PlainList<Int32>()
    /// Descriptor number → index of its watch, -1 for none.
    var indexOfDescriptor = PlainList<Int32>()
    /// Watches of which more is wanted than epoll has been told. Places of others may be among them.
    var changes = PlainList<Int32>()
    /// How many watches epoll reports less of than is wanted.
    var underRegisteredCount = 0
    var alwaysReadyCount = 0
    /// Watches of which epoll does not report that they were connected.
    var unreportedConnectCount = 0
    /// Watches that are edge-triggered, and some that were.
    var unconnected = PlainList<Int32>()

    init() {}

    /// The index of the watch on `fd`, nil if there is none. O(1).
    func index(of fd: Int32) -> Int? {
        guard fd >= 0, Int(fd) < indexOfDescriptor.count, indexOfDescriptor[Int(fd)] >= 0 else { return nil }
        return Int(indexOfDescriptor[Int(fd)])
    }

    /// O(1).
    subscript(index: Int) -> Watch { watches[index] }

    /// Of a number that was odd epoll is told by `listenAnew` that it is no more. O(1).
    mutating func setClient(_ client: UInt64, at index: Int) { watches[index].client = client }

    /// Begins to watch `fd`, on which there is no watch yet: its index, nil if out of memory. See its state for
    /// what became of it; `silent`, with errno, if the system has no descriptor for us now: `listen` tries again.
    /// One epoll_ctl, none if nothing is wanted yet; three system calls more for the first one of a loop.
    mutating func add(_ fd: Int32, interest: Events, client: UInt64) -> Int? {
        guard watches.reserve(watches.count + 1), freeIndexes.reserve(watches.count + 1), changes.reserve(watches.count + 1) else {
            return nil
        }
        let index: Int
        if freeIndexes.count > 0 {
            index = Int(freeIndexes[freeIndexes.count - 1])
            freeIndexes.truncate(to: freeIndexes.count - 1)
        } else {
            index = watches.count
            _ = watches.append(Watch(fd: -1, generation: 0))
        }
        watches[index].fd = fd
        watches[index].client = client
        watches[index].state = .silent
        update(index) { $0.interest = interest }
        _ = listen(index)
        if watches[index].state == .broken { return index }
        while indexOfDescriptor.count <= Int(fd) {
            if !indexOfDescriptor.append(-1) {
                remove(index)
                return nil
            }
        }
        indexOfDescriptor[Int(fd)] = Int32(index)
        return index
    }

    /// Stops watching. One epoll_ctl. A descriptor that was closed before is no error.
    mutating func remove(_ index: Int) {
        let watch = watches[index]
        if watch.state == .free { return }
        if watch.state == .listening { Epoll.remove(epoll, watch.fd) }
        if self.index(of: watch.fd) == index { indexOfDescriptor[Int(watch.fd)] = -1 }
        // A place in a list stays, and may be the next user's.
        update(index) {
            $0 = Watch(fd: -1, generation: watch.generation &+ 1, isChanged: watch.isChanged, isUnconnected: watch.isUnconnected)
        }
        _ = freeIndexes.append(Int32(index))
    }

    /// Says what all clients together want. epoll hears of it in `listen`, for `takeChange` gives it, or `reduce`. O(1), no system call.
    mutating func setInterest(_ interest: Events, at index: Int) {
        update(index) { $0.interest = interest }
        if !watches[index].isUnderRegistered || watches[index].isChanged { return }
        watches[index].isChanged = true
        _ = changes.append(Int32(index))
    }

    /// Whether `takeChange` may have something. O(1).
    @inline(__always)
    var hasChanges: Bool { changes.count > 0 }

    /// A watch of which more is wanted than epoll has been told, nil when there are no more: before waiting, for `listen`. O(1) on
    /// average.
    mutating func takeChange() -> Int? {
        while changes.count > 0 {
            let index = Int(changes[changes.count - 1])
            changes.truncate(to: changes.count - 1)
            watches[index].isChanged = false
            if watches[index].isUnderRegistered { return index }
        }
        return nil
    }

    /// epoll reports no more than `events` of a watch until `listen`. At most one epoll_ctl.
    mutating func reduce(_ index: Int, to events: Events) {
        let watch = watches[index]
        guard watch.state == .listening, watch.registered != events else { return }
        if events.isEmpty {
            Epoll.remove(epoll, watch.fd)
            settle(index, .silent)
        } else if modify(index, events) {
            settle(index, .listening, registered: events)
        } else {
            settle(index, .silent)
        }
    }

    /// Tells epoll what to report of a watch that is in its set. False if it is not any more.
    func modify(_ index: Int, _ events: Events) -> Bool {
        let watch = watches[index]
        do {
            try Epoll.modify(epoll, watch.fd, events, isEdgeTriggered: watch.trigger != .level, tag: tag(of: index))
            return true
        } catch {
            return false
        }
    }

    /// Makes sure that epoll reports all that is wanted of a watch, if it can. One epoll_ctl. False with errno if the system is
    /// out of descriptors or memory.
    mutating func listen(_ index: Int) -> Bool {
        let watch = watches[index]
        if watch.interest.isEmpty {
            reduce(index, to: [])
            return true
        }
        switch watch.state {
        case .silent:
            guard open() else {
                if !Descriptor.isOpen(watch.fd) { settle(index, .broken) }
                return false
            }
            return register(index)
        case .listening:
            // The descriptor may have been closed and its number given to another file: epoll forgets such ones.
            if modify(index, watch.interest) {
                settle(index, .listening, registered: watch.interest)
                return true
            }
            settle(index, .silent)
            return register(index)
        default: return true
        }
    }

    /// Whether a watch is of a file that was closed, while its number stands for another one. Then that watch never reports, and the number is
    /// free for a new one. One epoll_ctl.
    mutating func hasLostFile(_ index: Int) -> Bool {
        let watch = watches[index]
        if watch.state != .listening || modify(index, watch.registered) { return false }
        settle(index, .broken)
        indexOfDescriptor[Int(watch.fd)] = -1
        return true
    }

    /// The same when somebody comes who may mean another file than those who were there: what is known of the number is forgotten.
    mutating func listenAnew(_ index: Int) -> Bool {
        if watches[index].state == .broken || watches[index].state == .alwaysReady { settle(index, .silent) }
        return listen(index)
    }

    /// Where a watch stands from now on, as epoll has been told. O(1).
    mutating func settle(_ index: Int, _ state: State, registered: Events = []) {
        update(index) {
            $0.state = state
            $0.registered = registered
            if state != .listening { $0.trigger = .level }
        }
    }

    /// The only way to change what the counts are about.
    mutating func update(_ index: Int, _ change: (inout Watch) -> Void) {
        count(watches[index], -1)
        change(&watches[index])
        count(watches[index], 1)
    }

    private mutating func count(_ watch: Watch, _ sign: Int) {
        if watch.isUnderRegistered { underRegisteredCount += sign }
        if watch.state == .alwaysReady { alwaysReadyCount += sign }
        if watch.trigger == .edgeWithoutConnect { unreportedConnectCount += sign }
    }

    /// The number of watches ever used at the same time: for walking over them.
    var indexLimit: Int { watches.count }

    /// A silent watch. False with errno if it stays so.
    mutating func register(_ index: Int) -> Bool {
        let watch = watches[index]
        do {
            try Epoll.add(epoll, watch.fd, watch.interest, tag: tag(of: index))
            settle(index, .listening, registered: watch.interest)
        } catch {
            switch error.number {
            case EPERM: settle(index, .alwaysReady)
            case EEXIST where modify(index, watch.interest):
                // The same file was closed and is open again under the same number.
                settle(index, .listening, registered: watch.interest)
            case ENOMEM, ENOSPC: return false
            default: settle(index, .broken)
            }
        }
        return true
    }

    private func tag(of index: Int) -> UInt64 {
        let watch = watches[index]
        return watch.client & 1 != 0 ? watch.client : UInt64(index) << 1 | UInt64(watch.generation) << 32
    }

    // MARK: reports

    /// The watch that a report with an even tag is about, nil if it is not there any more. O(1).
    @inline(__always)
    func index(ofTag tag: UInt64) -> Int? {
        let index = Int(UInt32(truncatingIfNeeded: tag) >> 1)
        guard index < watches.count, watches[index].generation == UInt32(truncatingIfNeeded: tag >> 32), watches[index].state == .listening
        else { return nil }
        return index
    }

    /// Of the watches that are always ready the one with the greatest `age`, how long ago it had its turn; nil: it is not wanted. nil
    /// if there is none. O(number of watches).
    func nextAlwaysReady(_ age: (Int) -> UInt32?) -> Int? {
        var next: (index: Int, age: UInt32)?
        for index in 0..<watches.count where watches[index].state == .alwaysReady {
            guard let age = age(index) else { continue }
            if next == nil || age > next.unsafelyUnwrapped.age { next = (index, age) }
        }
        return next?.index
    }

    /// Whether some always ready watch `isWanted`. O(number of watches), O(1) if there is none.
    func hasAlwaysReady(_ isWanted: (Int) -> Bool) -> Bool {
        if alwaysReadyCount == 0 { return false }
        for index in 0..<watches.count where watches[index].state == .alwaysReady && isWanted(index) { return true }
        return false
    }
}

extension Poller.Watch {
    /// Whether epoll reports less of it than is wanted.
    var isUnderRegistered: Bool { (state == .listening || state == .silent) && !interest.isSubset(of: registered) }
}
