import CLinux

/// A loop's single epoll, whatever modes the loop has, and the descriptors that it watches.
///
/// A poller needs two descriptors, usually opened for the first watch that has interest: the epoll, and an eventfd that ends the loop's
/// wait in it. Interest may change often, so the epoll set is updated as late and as rarely as possible: for more interest when the loop is
/// about to wait (`takeChange`), for less only when epoll reports something that is not wanted (`reduce`). epoll reports hang-ups even if
/// they are not requested, so a watch without interest leaves the epoll set.
///
/// The fields are changed only here, in `Poller+Epoll.swift`, in `Poller+Host.swift` and in `Poller+Unconnected.swift`, under the loop's
/// lock. Waiting needs no lock: see `EventBatch`. Calls no user code.
struct Poller: ~Copyable {
    /// A descriptor that is watched. epoll reports its tag, which is one of two things. Usually it consists of the watch's index and
    /// generation, so that an event fetched before a watch was removed never reaches the next user of its index. Or it is an odd number
    /// that the client has chosen, so that the client is found without reading the watch.
    struct Watch: BitwiseCopyable {
        /// The descriptor. In a free watch, the index of the next free watch, or -1 for none.
        var fd: Int32
        /// The events for which the descriptor is registered with epoll.
        var registered: Events = []
        /// The events that the clients are interested in, as last set.
        var interest: Events = []
        var generation: UInt32
        var state = State.free
        /// Whether the watch is in the list `changes`.
        var isChanged = false
        var trigger = Trigger.level
        /// Whether the watch is in the list `unconnected`.
        var isUnconnected = false
        /// The client of the watch. If the number is odd, it is also the tag that epoll reports. 0 while the index is free.
        var client: UInt64 = 0
    }

    /// The state of a watch.
    enum State: UInt8 {
        case free
        /// The watch is in the epoll set.
        case listening
        /// The watch is not in the epoll set until `listen`: no client is interested, or none in a running mode, or the system was out of
        /// memory.
        case silent
        /// epoll cannot watch the descriptor (a regular file, /dev/null), which counts as always ready.
        case alwaysReady
        /// The number is not an open descriptor, or has been closed, or epoll refuses it for another reason. Never ready.
        case broken
    }

    /// When epoll reports a watch that is in its set: see `Poller+Unconnected.swift`.
    enum Trigger: UInt8 {
        /// epoll reports the descriptor as long as it is ready.
        case level
        /// epoll reports the descriptor only when its readiness changes.
        case edge
        /// As `edge`, for a UNIX socket, where epoll does not report the connection.
        case edgeWithoutConnect
    }

    /// The tag of the eventfd. Even, like the tags made from an index.
    static var wakeTag: UInt64 { .max - 1 }
    /// The tag of the one event that stands for all always-ready watches.
    static var alwaysReadyTag: UInt64 { .max - 3 }

    var epoll: Int32 = -1
    var wakeDescriptor: Int32 = -1
    /// The descriptors that a host polls: see `Poller+Host.swift`.
    var host = HostDescriptors()
    var watches = BlockList<Watch>()
    /// The index of a free watch, or -1 for none.
    var firstFree: Int32 = -1
    /// Maps a descriptor number to the index of its watch, or to -1.
    var indexOfDescriptor = BlockList<Int32>()
    /// Watches whose clients are interested in more than is registered. Some entries may have been freed or updated since.
    var changes = BlockList<Int32>()
    /// The number of watches registered for less than their clients are interested in.
    var underRegisteredCount = 0
    var alwaysReadyCount = 0
    /// The number of watches for which epoll does not report a connection.
    var unreportedConnectCount = 0
    /// Watches that are edge-triggered, and some that were until recently.
    var unconnected = PlainList<Int32>()

    init() {}

    /// Returns the index of the watch on `fd`; nil if there is none. O(1).
    func index(of fd: Int32) -> Int? {
        guard fd >= 0, Int(fd) < indexOfDescriptor.count, indexOfDescriptor[Int(fd)] >= 0 else { return nil }
        return Int(indexOfDescriptor[Int(fd)])
    }

    /// Returns the watch with this index. O(1).
    subscript(index: Int) -> Watch { watches[index] }

    /// Sets the client. If the old number was odd, epoll reports it until `listenAnew`. O(1).
    mutating func setClient(_ client: UInt64, at index: Int) { watches[index].client = client }

    /// Begins to watch `fd`, for which `index(of:)` must return nil. Returns the index of the watch; nil if out of memory. The watch is
    /// `broken` if epoll refuses the descriptor permanently. It is `silent` without interest or, if descriptors or memory ran out, with
    /// errno set: `listen` tries again. One epoll_ctl, none without interest; three more system calls for the loop's first watch with
    /// interest.
    mutating func add(_ fd: Int32, interest: Events, client: UInt64) -> Int? {
        guard watches.reserve(watches.count + 1), changes.reserve(watches.count + 1) else { return nil }
        let index: Int
        if firstFree >= 0 {
            index = Int(firstFree)
            firstFree = watches[index].fd
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

    /// Stops watching. At most one epoll_ctl. The descriptor may have been closed already.
    mutating func remove(_ index: Int) {
        let watch = watches[index]
        if watch.state == .free { return }
        if watch.state == .listening { Epoll.remove(epoll, watch.fd) }
        if self.index(of: watch.fd) == index { indexOfDescriptor[Int(watch.fd)] = -1 }
        // The index may still be in a list; then it stays there for the next user of the index.
        let free = Watch(
            fd: firstFree, generation: watch.generation &+ 1, isChanged: watch.isChanged, isUnconnected: watch.isUnconnected)
        update(index) { $0 = free }
        firstFree = Int32(index)
    }

    /// Sets the combined interest of all clients. The epoll set is updated by `listen`, after `takeChange`, or by `reduce`. O(1), no system
    /// call.
    mutating func setInterest(_ interest: Events, at index: Int) {
        update(index) { $0.interest = interest }
        if !watches[index].isUnderRegistered || watches[index].isChanged { return }
        watches[index].isChanged = true
        _ = changes.append(Int32(index))
    }

    /// Whether `takeChange` may return a watch. O(1).
    var hasChanges: Bool { changes.count > 0 }

    /// Returns a watch whose clients are interested in more than is registered, for `listen`; nil if there is none. Called before waiting.
    /// O(1) on average.
    mutating func takeChange() -> Int? {
        while let change = changes.removeLast() {
            let index = Int(change)
            watches[index].isChanged = false
            if watches[index].isUnderRegistered { return index }
        }
        return nil
    }

    /// Restricts what epoll reports of a watch to `events`, until `listen`. At most one epoll_ctl.
    mutating func reduce(_ index: Int, to events: Events) {
        let watch = watches[index]
        guard watch.state == .listening, watch.registered != events else { return }
        if events.isEmpty {
            Epoll.remove(epoll, watch.fd)
            settle(index, .silent)
        } else {
            switch modify(index, events) {
            case .done: settle(index, .listening, registered: events)
            case .lost: settle(index, .silent)
            // The loop calls `reduce` again when epoll next reports something that no client is interested in.
            case .refused: break
            }
        }
    }

    /// The outcome of changing a watch in the epoll set.
    enum Modified {
        case done
        /// Any other failure: the watch is not in the epoll set, usually because its descriptor has been closed.
        case lost
        /// The system is out of memory, so the watch is unchanged.
        case refused
    }

    /// Changes the events that epoll reports of a watch in its set. One epoll_ctl, which leaves errno set if it fails.
    func modify(_ index: Int, _ events: Events) -> Modified {
        let watch = watches[index]
        do {
            try Epoll.modify(epoll, watch.fd, events, isEdgeTriggered: watch.trigger != .level, tag: tag(of: index))
            return .done
        } catch {
            return error.number == ENOMEM || error.number == ENOSPC ? .refused : .lost
        }
    }

    /// Registers all events that the clients are interested in, if epoll can watch the descriptor; without interest, the watch leaves the
    /// epoll set. Usually one epoll_ctl. Returns false with errno set if the system is out of descriptors or memory.
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
            // The descriptor may have been closed and its number reused for another file: epoll has then removed it from its set.
            switch modify(index, watch.interest) {
            case .done: settle(index, .listening, registered: watch.interest)
            case .refused: return false
            case .lost:
                settle(index, .silent)
                return register(index)
            }
            return true
        default: return true
        }
    }

    /// Returns whether the descriptor of a watch has been closed, so that its number refers to no file or to another one. False for a watch
    /// that is not in the epoll set, because then this is unknown. If true, marks the watch as broken, permanently: `listenAnew` is called
    /// only for a watch found by its number, and from here on the number is free for a new watch. At most one epoll_ctl.
    mutating func hasLostFile(_ index: Int) -> Bool {
        let watch = watches[index]
        if watch.state != .listening || modify(index, watch.registered) != .lost { return false }
        settle(index, .broken)
        indexOfDescriptor[Int(watch.fd)] = -1
        return true
    }

    /// Listens for a new client of a watch that `index(of:)` has found. For that client, the number may refer to another file than before:
    /// discards what is known about it. Returns false with errno set, as `listen` does.
    mutating func listenAnew(_ index: Int) -> Bool {
        if watches[index].state == .broken || watches[index].state == .alwaysReady { settle(index, .silent) }
        return listen(index)
    }

    /// Sets the state of a watch and the events for which it is registered. O(1).
    mutating func settle(_ index: Int, _ state: State, registered: Events = []) {
        update(index) {
            $0.state = state
            $0.registered = registered
            if state != .listening { $0.trigger = .level }
        }
    }

    /// Changes a watch and updates the counts accordingly.
    mutating func update(_ index: Int, _ change: (inout Watch) -> Void) {
        count(watches[index], -1)
        change(&watches[index])
        count(watches[index], 1)
    }

    /// Adds a watch to the counts that it belongs to (`sign` is 1), or subtracts it (-1).
    private mutating func count(_ watch: Watch, _ sign: Int) {
        if watch.isUnderRegistered { underRegisteredCount += sign }
        if watch.state == .alwaysReady { alwaysReadyCount += sign }
        if watch.trigger == .edgeWithoutConnect { unreportedConnectCount += sign }
    }

    /// The largest number of watches ever in use at the same time, for iterating over all indexes.
    var indexLimit: Int { watches.count }

    /// Adds a silent watch to the epoll set. Returns false with errno set if the watch stays silent.
    mutating func register(_ index: Int) -> Bool {
        let watch = watches[index]
        do {
            try Epoll.add(epoll, watch.fd, watch.interest, tag: tag(of: index))
            settle(index, .listening, registered: watch.interest)
        } catch {
            switch error.number {
            case EPERM: settle(index, .alwaysReady)
            case EEXIST:
                // The set still contains this file under this number: the descriptor was closed, and its number given to the same file
                // again.
                switch modify(index, watch.interest) {
                case .done: settle(index, .listening, registered: watch.interest)
                case .refused: return false
                case .lost: settle(index, .broken)
                }
            case ENOMEM, ENOSPC: return false
            default: settle(index, .broken)
            }
        }
        return true
    }

    /// Returns the tag that epoll reports for a watch: the client's number if it is odd, otherwise one made from index and generation.
    private func tag(of index: Int) -> UInt64 {
        let watch = watches[index]
        return watch.client & 1 != 0 ? watch.client : UInt64(index) << 1 | UInt64(watch.generation) << 32
    }

    // MARK: events

    /// Returns the index of the watch with an even tag; nil if the watch does not exist or is not in the epoll set. O(1).
    func index(ofTag tag: UInt64) -> Int? {
        let index = Int(UInt32(truncatingIfNeeded: tag) >> 1)
        guard index < watches.count, watches[index].generation == UInt32(truncatingIfNeeded: tag >> 32), watches[index].state == .listening
        else { return nil }
        return index
    }

    /// Returns the always-ready watch with the greatest `age`; nil if there is none. `age` returns how long ago a watch had its turn, or
    /// nil if the watch is not wanted. O(number of watches).
    func nextAlwaysReady(_ age: (Int) -> UInt32?) -> Int? {
        var next: (index: Int, age: UInt32)?
        for index in 0..<watches.count where watches[index].state == .alwaysReady {
            guard let age = age(index) else { continue }
            if next == nil || age > next.unsafelyUnwrapped.age { next = (index, age) }
        }
        return next?.index
    }

    /// Whether `isWanted` holds for an always-ready watch. O(number of watches), O(1) if no watch is always ready.
    func hasAlwaysReady(_ isWanted: (Int) -> Bool) -> Bool {
        if alwaysReadyCount == 0 { return false }
        for index in 0..<watches.count where watches[index].state == .alwaysReady && isWanted(index) { return true }
        return false
    }
}

extension Poller.Watch {
    /// Whether less is registered than the clients are interested in.
    var isUnderRegistered: Bool { (state == .listening || state == .silent) && !interest.isSubset(of: registered) }
}
