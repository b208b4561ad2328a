import CLinux

/// One epoll for a loop, whatever its modes, and the descriptors it watches.
///
/// Two descriptors, made when the first one is watched: the epoll, and an eventfd for being woken out of it.
/// What is wanted of a watch may change often; epoll hears of it as late as possible and as seldom: of more when the loop
/// is about to wait (`takeChange`), of less only when it reports something that nobody wants (`narrow`). It reports
/// hang-ups whether asked or not, so wanting nothing means leaving the epoll set.
///
/// Guarded by the Home's lock; waiting, which needs none, is `Reports`. Calls no user code.
struct Poller: ~Copyable {
    /// What epoll reports of it, its tag, is its index and generation, so that a report fetched before a watch was removed never
    /// reaches the next user of its index; or a number of its client's own, which makes the watch superfluous to deliver it.
    struct Watch: BitwiseCopyable {
        var fd: Int32
        /// What epoll has been told to report.
        var told: Events = []
        /// What the clients want, as they last said.
        var wanted: Events = []
        var generation: UInt32
        var state = State.free
        /// It waits in the list of changes.
        var isChanged = false
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

    /// Even, as those that are made of an index.
    static var kickTag: UInt64 { .max - 1 }

    private(set) var epoll: Int32 = -1
    private(set) var kickDescriptor: Int32 = -1
    private var watches = PlainList<Watch>()
    private var freeIndexes = PlainList<Int32>()
    /// Descriptor number → index of its watch, -1 for none.
    private var indexOfDescriptor = PlainList<Int32>()
    /// Watches of which more is wanted than epoll has been told. Places of others may be among them.
    private var changes = PlainList<Int32>()
    /// How many watches epoll reports less of than is wanted.
    private(set) var narrowCount = 0
    private var alwaysReadyCount = 0
    /// Where the search for an always ready watch goes on, so that each gets its turn.
    private var alwaysReadyCursor = 0

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
    mutating func add(_ fd: Int32, wanted: Events, client: UInt64) -> Int? {
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
        update(index) { $0.wanted = wanted }
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
        // A place in the list of changes stays, and may be the next user's.
        update(index) {
            $0 = Watch(fd: -1, generation: watch.generation &+ 1, isChanged: watch.isChanged)
        }
        _ = freeIndexes.append(Int32(index))
    }

    /// Says what all clients together want. epoll hears of it in `listen`, for `takeChange` gives it, or `narrow`. O(1), no system call.
    mutating func setWanted(_ wanted: Events, at index: Int) {
        update(index) { $0.wanted = wanted }
        if !watches[index].isNarrow || watches[index].isChanged { return }
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
            if watches[index].isNarrow { return index }
        }
        return nil
    }

    /// epoll reports no more than `events` of a watch until `listen`. At most one epoll_ctl.
    mutating func narrow(_ index: Int, to events: Events) {
        let watch = watches[index]
        guard watch.state == .listening, watch.told != events else { return }
        if events.isEmpty {
            Epoll.remove(epoll, watch.fd)
            settle(index, .silent)
        } else if Epoll.modify(epoll, watch.fd, events: events.epoll, tag: tag(of: index)) == 0 {
            settle(index, .listening, told: events)
        } else {
            settle(index, .silent)
        }
    }

    /// Makes sure that epoll reports all that is wanted of a watch, if it can. One epoll_ctl. False with errno if the system is
    /// out of descriptors or memory.
    mutating func listen(_ index: Int) -> Bool {
        let watch = watches[index]
        if watch.wanted.isEmpty {
            narrow(index, to: [])
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
            if Epoll.modify(epoll, watch.fd, events: watch.wanted.epoll, tag: tag(of: index)) == 0 {
                settle(index, .listening, told: watch.wanted)
                return true
            }
            settle(index, .silent)
            return register(index)
        default: return true
        }
    }

    /// The same when somebody comes who may mean another file than those who were there: what is known of the number is forgotten.
    mutating func listenAnew(_ index: Int) -> Bool {
        if watches[index].state == .broken || watches[index].state == .alwaysReady { settle(index, .silent) }
        return listen(index)
    }

    private mutating func settle(_ index: Int, _ state: State, told: Events = []) {
        update(index) {
            $0.state = state
            $0.told = told
        }
    }

    /// The only way to change what the counts are about.
    private mutating func update(_ index: Int, _ change: (inout Watch) -> Void) {
        count(watches[index], -1)
        change(&watches[index])
        count(watches[index], 1)
    }

    private mutating func count(_ watch: Watch, _ sign: Int) {
        if watch.isNarrow { narrowCount += sign }
        if watch.state == .alwaysReady { alwaysReadyCount += sign }
    }

    /// The number of watches ever used at the same time: for walking over them.
    var indexLimit: Int { watches.count }

    /// A silent watch. False with errno if it stays so.
    private mutating func register(_ index: Int) -> Bool {
        let watch = watches[index]
        let error = Epoll.add(epoll, watch.fd, events: watch.wanted.epoll, tag: tag(of: index))
        switch error {
        case 0: settle(index, .listening, told: watch.wanted)
        case EPERM: settle(index, .alwaysReady)
        case EEXIST where Epoll.modify(epoll, watch.fd, events: watch.wanted.epoll, tag: tag(of: index)) == 0:
            // The same file was closed and is open again under the same number.
            settle(index, .listening, told: watch.wanted)
        case ENOMEM, ENOSPC:
            systemError = error
            return false
        default: settle(index, .broken)
        }
        return true
    }

    private func tag(of index: Int) -> UInt64 {
        let watch = watches[index]
        return watch.client & 1 != 0 ? watch.client : UInt64(index) << 1 | UInt64(watch.generation) << 32
    }

    /// The epoll and the eventfd, if they are not there yet. False with errno.
    mutating func open() -> Bool {
        if epoll >= 0 { return true }
        epoll = Epoll.create()
        if epoll < 0 { return false }
        kickDescriptor = EventDescriptor.create()
        if kickDescriptor >= 0,
            Epoll.add(epoll, kickDescriptor, events: linux_EPOLLIN | linux_EPOLLET, tag: Self.kickTag) == 0
        {
            return true
        }
        let reason = systemError
        closeDescriptors()
        systemError = reason
        return false
    }

    /// The loop's thread ends. `kicks` were made or are on their way: the last has arrived before the descriptor is closed
    /// and its number can be somebody else's.
    mutating func close(afterKicks kicks: UInt64) {
        if kickDescriptor >= 0 { EventDescriptor.drain(kickDescriptor, kicks: kicks) }
        closeDescriptors()
        watches.discard()
        freeIndexes.discard()
        indexOfDescriptor.discard()
        changes.discard()
        narrowCount = 0
        alwaysReadyCount = 0
        alwaysReadyCursor = 0
    }

    private mutating func closeDescriptors() {
        if epoll >= 0 { EventDescriptor.close(epoll) }
        if kickDescriptor >= 0 { EventDescriptor.close(kickDescriptor) }
        epoll = -1
        kickDescriptor = -1
    }

    /// A descriptor that was closed while a duplicate of it stays open cannot be taken out of an epoll, which goes on
    /// reporting it: the only way out is another epoll. False if some watch could not move there. Under the lock, before waiting.
    mutating func rebuild() -> Bool {
        let new = Epoll.create()
        if new < 0 { return true }
        if Epoll.add(new, kickDescriptor, events: linux_EPOLLIN | linux_EPOLLET, tag: Self.kickTag) != 0 {
            EventDescriptor.close(new)
            return true
        }
        EventDescriptor.close(epoll)
        epoll = new
        var isWhole = true
        for index in 0..<watches.count where watches[index].state == .listening {
            settle(index, .silent)
            if !watches[index].wanted.isEmpty && !register(index) { isWhole = false }
        }
        return isWhole
    }

    /// Somebody has closed our descriptors: the numbers may be anybody's. All watches are silent until they are listened to.
    mutating func forgetDescriptors() {
        epoll = -1
        kickDescriptor = -1
        for index in 0..<watches.count where watches[index].state == .listening { settle(index, .silent) }
    }

    /// In the child of fork(): the epoll is the parent's too, and what is taken out of it here would be missing there.
    /// All watches are silent until they are listened to again, in an epoll of the child's own.
    mutating func detachAfterFork() {
        closeDescriptors()
        for index in 0..<watches.count where watches[index].state == .listening { settle(index, .silent) }
    }

    // MARK: reports

    /// The watch that a report with an even tag is about, nil if it is not there any more. O(1).
    @inline(__always)
    func index(ofReported tag: UInt64) -> Int? {
        let index = Int(UInt32(truncatingIfNeeded: tag) >> 1)
        guard index < watches.count, watches[index].generation == UInt32(truncatingIfNeeded: tag >> 32), watches[index].state == .listening
        else { return nil }
        return index
    }

    /// The next of the watches that are always ready, in turn, which `isWanted`; nil if none is. O(number of watches).
    mutating func nextAlwaysReady(_ isWanted: (Int) -> Bool) -> Int? {
        for step in 1...max(watches.count, 1) {
            let index = (alwaysReadyCursor + step) % max(watches.count, 1)
            if index < watches.count, watches[index].state == .alwaysReady, isWanted(index) {
                alwaysReadyCursor = index
                return index
            }
        }
        return nil
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
    var isNarrow: Bool { (state == .listening || state == .silent) && !wanted.isSubset(of: told) }
}
