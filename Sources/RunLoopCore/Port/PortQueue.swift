import CLinux
import Synchronization

/// One entry of a `PortQueue`: the parts of a message rather than a pointer to it, so that no memory but the queue's own travels from the
/// sender's CPU to the receiver's and back. The queue never looks at the parts. Their references belong to the code that puts an entry
/// in, and then to the code that takes it out.
struct QueuedMessage: BitwiseCopyable {
    let content: UnsafeMutableRawPointer?
    let replyPort: PortPointer?
    let id: UInt32

    init(_ content: UnsafeMutableRawPointer?, replyPort: PortPointer? = nil, id: UInt32 = 0) {
        self.content = content
        self.replyPort = replyPort
        self.id = id
    }
}

/// The entries that were still in a queue when it was closed. The caller of `closeLocked` owns their references.
struct DrainedMessages: ~Copyable {
    fileprivate var first = PlainList<QueuedMessage>()
    /// Index of the oldest entry of `first`; the ones before it had been taken.
    fileprivate var next = 0
    fileprivate var second = PlainList<QueuedMessage>()

    var count: Int { first.count - next + second.count }

    /// Calls `body` for each entry, oldest first.
    func forEach(_ body: (QueuedMessage) -> Void) {
        for index in next..<first.count { body(first[index]) }
        for index in 0..<second.count { body(second[index]) }
    }
}

/// A bounded first-in, first-out queue of messages to a port, with any number of senders and of receivers.
///
/// There are two lists, each with its own lock. Senders append to `incoming`, receivers take from `outgoing`, and a receiver whose list is
/// empty swaps the two. So both sides meet only at the swap, and a steady flow allocates nothing.
///
/// A full queue: `taken` counts what receivers have taken out; senders read it only when the queue seems full. A sender that finds no room
/// registers in `sleepers`, sets `wakeAt` to the value of `taken` at which waking pays, looks once more, and sleeps on `roomFutex`. A
/// receiver advances `taken` first and then looks at `sleepers`. One of the two always sees the other: the sender executes a fence between
/// its two steps, and the receiver executes one when it takes the last entry of its list (before that, it is going to look again soon).
/// `Tests/model/room.pml` checks this, and that no step can be left out.
///
/// Waking a thread costs as much as dozens of messages, so senders are woken when there is room for some hundred. A receiver may stop
/// before that point; therefore senders also look for themselves at `pollInterval`. In a fast stream no side sleeps for such short times:
/// a sender spins as long as room appears quickly, and a receiver that found few entries pauses, away from the cache lines that are being
/// written.
///
/// *Signalled* means that a loop is going to look at the queue: the port's source is signalled. The first message that is put into a queue
/// that is not signalled must signal the source. A receiver signals again before it calls the client, since a nested run has to notice the
/// next message. The state is cleared under both locks, when a receiver finds both lists empty.
///
/// Lock order: `receivers` before `senders`. Each is locked once per message, hence `StoreMutex`. Never calls user code.
struct PortQueue: ~Copyable {
    // Guarded by `senders`.
    fileprivate let senders = StoreMutex()
    fileprivate var incoming = PlainList<QueuedMessage>()
    /// How many messages were ever put in, modulo 2³².
    fileprivate var sent: UInt32 = 0
    /// The value of `taken` that a sender read last.
    fileprivate var takenSeen: UInt32 = 0
    fileprivate(set) var capacity: UInt32
    /// False for ever while a race detector watches, so that every sender takes the path that `isOpenAndWatched` describes.
    fileprivate var isOpen: Bool
    fileprivate var isOpenIfWatched: Bool
    fileprivate var isSignalled = false
    /// The info of the port's run loop source, if there is one. Not retained, since the source retains the port.
    var portSource: PortSourcePointer?
    private let padding = CacheLine()

    // Guarded by `receivers`.
    fileprivate let receivers = StoreMutex()
    fileprivate var outgoing = PlainList<QueuedMessage>()
    /// Index of the oldest entry of `outgoing`.
    fileprivate var next = 0

    /// How many messages were ever taken out, modulo 2³². Written under `receivers`, read by any thread.
    fileprivate let taken = Atomic<UInt32>(0)
    /// How many senders sleep, or are about to. Any thread.
    fileprivate let sleepers = Atomic<UInt32>(0)
    /// The value of `taken` from which on there is enough room to wake senders. Any thread.
    fileprivate let wakeAt = Atomic<UInt32>(0)
    /// What senders sleep on. Changes whenever there may be room. Any thread.
    fileprivate let roomFutex = Atomic<UInt32>(0)
    private let paddingBehind = CacheLine()

    /// Held while what is to follow the source into loops and modes does. Comes before all other locks but that of the names.
    let attachmentsMutex = Mutex()

    /// How many times to spin before looking again: two microseconds or a few more, less than falling asleep and being woken takes.
    fileprivate static var spinPauses: Int { 128 }
    /// A receiver whose last list had fewer entries than this pauses before it swaps the lists.
    fileprivate static var smallBatch: Int { 64 }
    /// How many entries ahead memory is fetched into the processor's cache.
    fileprivate static var prefetchDistance: Int { 16 }
    /// How much room makes it worth waking senders.
    fileprivate static func wakeThreshold(_ capacity: UInt32) -> UInt32 { max(1, min(capacity / 2, 512)) }
    /// Nanoseconds after which a sleeping sender looks for itself.
    fileprivate static var pollInterval: UInt64 { 1_000_000 }

    /// What became of a message that was put in.
    enum Outcome { case queued, queuedUnsignalled, full, closed, outOfMemory }

    init(capacity: UInt32) {
        self.capacity = capacity
        isOpen = !RaceDetector.isWatching
        isOpenIfWatched = RaceDetector.isWatching
    }
}

/// The operations take a pointer because many threads are in a queue at once, each touching only the fields whose lock it has; an inout
/// argument would claim the whole struct.
typealias PortQueuePointer = UnsafeMutablePointer<PortQueue>

extension PortQueuePointer {
    /// Appends a message. After `queuedUnsignalled` the caller signals the port's source before it calls `unlockSenders`. Under the
    /// senders' lock.
    @inline(__always)
    func putLocked(_ message: QueuedMessage) -> PortQueue.Outcome {
        guard pointee.isOpen || isOpenAndWatched else { return .closed }
        if pointee.sent &- pointee.takenSeen >= pointee.capacity {
            pointee.takenSeen = pointee.taken.load(ordering: .acquiring)
            if pointee.sent &- pointee.takenSeen >= pointee.capacity { return .full }
        }
        guard pointee.incoming.appendInlined(message) else { return .outOfMemory }
        linux_prefetch_alone(pointee.incoming.elements.unsafelyUnwrapped + (pointee.incoming.count &+ PortQueue.prefetchDistance))
        pointee.sent &+= 1
        if pointee.isSignalled { return .queued }
        pointee.isSignalled = true
        return .queuedUnsignalled
    }

    /// Whether the queue is open, for a process with a race detector, which is told here that the lock publishes the message. Keeps the
    /// test for a detector off the hot path. Under the senders' lock.
    @inline(never)
    private var isOpenAndWatched: Bool {
        if pointee.isOpenIfWatched { RaceDetector.handsOver(self, enlarging: &pointee.incoming) }
        return pointee.isOpenIfWatched
    }

    /// Takes the senders' lock. Any thread. O(1).
    @inline(never)
    func lockSenders() { lockSendersInlined() }
    /// `lockSenders`, inlined into hot paths.
    func lockSendersInlined() { pointee.senders.lock() }
    /// Releases the senders' lock. The thread that took it.
    @inline(never)
    func unlockSenders() { unlockSendersInlined() }
    /// `unlockSenders`, inlined into hot paths.
    func unlockSendersInlined() { pointee.senders.unlock() }

    /// Whether messages may wait in the queue, so that a source that becomes the port's has to be signalled. Under the senders' lock.
    var isSignalled: Bool { pointee.isSignalled }

    /// Sleeps while the queue is full. True if there may be room now; false if there is none and `deadline` has passed. Any thread,
    /// without a lock of the port.
    func waitForRoom(until deadline: Instant) -> Bool {
        let now = Clock.now
        if now < deadline && spinForRoom() { return true }
        _ = pointee.sleepers.wrappingAdd(1, ordering: .sequentiallyConsistent)
        defer { _ = pointee.sleepers.wrappingSubtract(1, ordering: .sequentiallyConsistent) }
        let seen = pointee.roomFutex.load(ordering: .sequentiallyConsistent)
        lockSenders()
        pointee.wakeAt.store(
            pointee.sent &- pointee.capacity &+ PortQueue.wakeThreshold(pointee.capacity), ordering: .sequentiallyConsistent)
        let isFull =
            isOpenLocked && pointee.sent &- pointee.taken.load(ordering: .sequentiallyConsistent) >= pointee.capacity
        unlockSenders()
        if !isFull { return true }
        if now >= deadline { return false }
        _ = Futex.wait(pointee.roomFutex, while: seen, until: Swift.min(deadline, now.advanced(by: PortQueue.pollInterval)))
        return true
    }

    /// Spins for room: a receiver at work makes some before a sleeper would be awake, and without a system call. False as soon as room
    /// appears so slowly that sleeping is cheaper.
    private func spinForRoom() -> Bool {
        if !Thread.maySpin { return false }
        let enough = PortQueue.wakeThreshold(capacity)
        let first = pointee.taken.load(ordering: .relaxed)
        var made: UInt32 = 0
        while made < enough {
            for _ in 0..<PortQueue.spinPauses { pauseProcessor() }
            let now = pointee.taken.load(ordering: .relaxed) &- first
            if now &- made < Swift.max(1, enough / 16) { return false }
            made = now
        }
        return true
    }

    /// Takes the receivers' lock. Any thread. O(1).
    func lockReceivers() { pointee.receivers.lock() }
    /// Releases the receivers' lock. The thread that took it.
    func unlockReceivers() { pointee.receivers.unlock() }

    /// Removes the oldest message and returns it. Returns nil if there is none, after calling `onEmpty` under both locks: there the
    /// caller clears the signal of the port's source. `inStream`: messages are arriving in quick succession, so a short pause before the
    /// lists are swapped is cheaper than a swap for every message. Under the receivers' lock; after releasing it the caller calls
    /// `wakeSenders`.
    @inline(__always)
    func takeLocked(inStream: Bool, onEmpty: () -> Void) -> QueuedMessage? {
        if pointee.next == pointee.outgoing.count { swapLists(inStream, onEmpty) }
        guard pointee.next < pointee.outgoing.count else { return nil }
        RaceDetector.handsOver(self)
        let slot = pointee.outgoing.elements.unsafelyUnwrapped + pointee.next
        linux_prefetch(slot + PortQueue.prefetchDistance)
        let message = slot.pointee
        pointee.next &+= 1
        pointee.taken.store(pointee.taken.load(ordering: .relaxed) &+ 1, ordering: .releasing)
        if pointee.next == pointee.outgoing.count { atomicMemoryFence(ordering: .sequentiallyConsistent) }
        return message
    }

    /// Makes the senders' list the receivers', whose own is empty. Under the receivers' lock.
    @inline(never)
    private func swapLists(_ inStream: Bool, _ onEmpty: () -> Void) {
        if inStream && pointee.outgoing.count < PortQueue.smallBatch && Thread.maySpin {
            for _ in 0..<PortQueue.spinPauses { pauseProcessor() }
        }
        pointee.outgoing.truncate(to: 0)
        pointee.next = 0
        lockSenders()
        RaceDetector.handsOver(self)
        if pointee.incoming.count == 0 {
            pointee.isSignalled = false
            onEmpty()
        } else {
            swap(&pointee.incoming, &pointee.outgoing)
        }
        unlockSenders()
    }

    /// Wakes sleeping senders if there is enough room. Called after every `takeLocked`, without a lock. One load, and a system call only
    /// if a sender sleeps and is worth waking.
    func wakeSenders() {
        if pointee.sleepers.load(ordering: .relaxed) != 0 { wakeSendersIfEnoughRoom() }
    }

    @inline(never)
    private func wakeSendersIfEnoughRoom() {
        let taken = pointee.taken.load(ordering: .relaxed)
        let wakeAt = pointee.wakeAt.load(ordering: .sequentiallyConsistent)
        // Moving `wakeAt` far away lets one receiver wake them once; they need a while to be awake.
        if Int32(bitPattern: taken &- wakeAt) >= 0
            && pointee.wakeAt.compareExchange(expected: wakeAt, desired: taken &+ 1 << 30, ordering: .sequentiallyConsistent).exchanged
        {
            wakeAllSenders()
        }
    }

    @inline(never)
    private func wakeAllSenders() {
        _ = pointee.roomFutex.wrappingAdd(1, ordering: .sequentiallyConsistent)
        Futex.wake(pointee.roomFutex, count: .max)
    }

    /// Closes the queue: moves its messages into `drained`, which must be empty, and wakes senders that sleep. Under both locks.
    @inline(never)
    func closeLocked(_ drained: inout DrainedMessages) {
        pointee.isOpen = false
        pointee.isOpenIfWatched = false
        RaceDetector.handsOver(self)
        pointee.isSignalled = false
        drained.next = pointee.next
        pointee.next = 0
        swap(&pointee.outgoing, &drained.first)
        swap(&pointee.incoming, &drained.second)
        _ = pointee.taken.wrappingAdd(UInt32(truncatingIfNeeded: drained.count), ordering: .sequentiallyConsistent)
        wakeAllSenders()
    }

    /// Whether the queue still accepts messages. Under the senders' lock.
    var isOpenLocked: Bool { pointee.isOpen || pointee.isOpenIfWatched }

    /// Whether the queue still accepts messages. Any thread.
    var isOpen: Bool {
        lockSenders()
        defer { unlockSenders() }
        return isOpenLocked
    }

    /// How many messages wait in the queue. Any thread.
    var count: UInt32 {
        lockSenders()
        defer { unlockSenders() }
        return pointee.sent &- pointee.taken.load(ordering: .relaxed)
    }

    /// How many messages may wait before senders have to. Any thread.
    var capacity: UInt32 {
        lockSenders()
        defer { unlockSenders() }
        return pointee.capacity
    }

    /// Changes the capacity; sleeping senders look again. Any thread.
    func setCapacity(_ capacity: UInt32) {
        lockSenders()
        pointee.capacity = capacity
        unlockSenders()
        wakeAllSenders()
    }

    /// Takes both locks, in their order, where both sides have to stand still.
    @inline(never)
    func lockBoth() {
        lockReceivers()
        lockSenders()
    }

    /// Releases both locks.
    @inline(never)
    func unlockBoth() {
        unlockSenders()
        unlockReceivers()
    }
}
