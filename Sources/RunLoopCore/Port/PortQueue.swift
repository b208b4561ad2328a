import CLinux
import Synchronization

/// What lies in a queue of a message: its parts, so that no more memory than the queue's own goes from the sender's CPU to the
/// receiver's, and back. The queue looks at none of them.
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

/// What was in a queue when it ended.
struct DrainedMessages: ~Copyable {
    fileprivate var first = PlainList<QueuedMessage>()
    /// Where those in `first` begin.
    fileprivate var next = 0
    fileprivate var second = PlainList<QueuedMessage>()

    var count: Int { first.count - next + second.count }

    /// Calls `body` for each, in order.
    func forEach(_ body: (QueuedMessage) -> Void) {
        for index in next..<first.count { body(first[index]) }
        for index in 0..<second.count { body(second[index]) }
    }
}

/// The messages on their way to a port, whatever they are: any number of senders, any number of receivers, in the order in which they came.
///
/// Two lists, each with its lock, so that senders and receivers meet only when the receivers' list is empty and they
/// take the senders' in exchange: a steady flow allocates nothing. How many were taken is told by an atomic, which senders
/// look at only when the queue seems full. Who finds it full counts itself, says for how much room it waits, looks again, and sleeps
/// on `roomFutex`; who makes room counts the room first and then looks for sleepers. One sees the other, for who sleeps executes a
/// fence between its two steps, and a receiver does when it takes the last message of its list: before, it looks again soon.
/// `Tests/model/room.pml` checks this, and that each step is needed.
///
/// They are woken when there is room for some hundred messages, since waking costs as much as dozens of them; and, lest a
/// receiver that stops before that keeps them, they look for themselves now and then. In a stream nobody sleeps that shortly: a sender
/// watches as long as room is made fast, a receiver that found little rests for a moment, away from the lines that are being written.
///
/// "Announced" means that somebody will look: the port's source is signalled. Who puts a message into a queue that is not
/// announced has to signal; who takes one signals too, before its function runs, in which a nested run must hear of the
/// next. It is withdrawn under both locks, when a receiver finds nothing.
///
/// Locks: receivers' before senders'. Each is taken once per message, hence `StoreMutex`. Calls no user code.
struct PortQueue: ~Copyable {
    // Guarded by `senders`.
    fileprivate let senders = StoreMutex()
    fileprivate var incoming = PlainList<QueuedMessage>()
    /// How many were ever put in, modulo 2³².
    fileprivate var sent: UInt32 = 0
    /// `taken` as last looked at.
    fileprivate var takenSeen: UInt32 = 0
    fileprivate var capacity: UInt32
    fileprivate var isOpen: Bool
    fileprivate var isOpenIfWatched: Bool
    fileprivate var isSignalled = false
    private let padding = CacheLine()

    // Guarded by `receivers`.
    fileprivate let receivers = StoreMutex()
    fileprivate var outgoing = PlainList<QueuedMessage>()
    fileprivate var next = 0

    /// How many were ever taken out, modulo 2³². Any thread.
    fileprivate let taken = Atomic<UInt32>(0)
    /// How many senders sleep, or are about to. Any thread.
    fileprivate let sleepers = Atomic<UInt32>(0)
    /// Worth waking them for: `taken` has come so far. Any thread.
    fileprivate let wakeAt = Atomic<UInt32>(0)
    /// What they sleep on: changes whenever there may be room. Any thread.
    fileprivate let roomFutex = Atomic<UInt32>(0)
    private let paddingBehind = CacheLine()

    /// Two microseconds, or a few more: less than it takes to sleep and be woken.
    fileprivate static var spinPauses: Int { 128 }
    /// After less than this a receiver rests before it looks again.
    fileprivate static var smallBatch: Int { 64 }
    /// So many messages ahead memory is fetched into the processor's cache.
    fileprivate static var prefetchDistance: Int { 16 }
    /// For how much room senders wait once they have to.
    fileprivate static func wakeThreshold(_ capacity: UInt32) -> UInt32 { max(1, min(capacity / 2, 512)) }
    /// Nanoseconds until a sender looks for itself.
    fileprivate static var pollInterval: UInt64 { 1_000_000 }

    /// What became of a message that was put in.
    enum Outcome { case queued, queuedUnsignalled, full, closed, outOfMemory }

    init(capacity: UInt32) {
        self.capacity = capacity
        isOpen = !RaceDetector.isWatching
        isOpenIfWatched = RaceDetector.isWatching
    }
}

/// Through a pointer: many threads are in here at once, each touching a field only as far as the locks allow.
extension UnsafeMutablePointer where Pointee == PortQueue {
    /// Puts a message in; `queuedUnsignalled` if the caller has to signal, which it does before `unlockSenders`. Under the
    /// senders' lock.
    @inline(__always)
    func putLocked(_ message: QueuedMessage) -> PortQueue.Outcome {
        guard pointee.isOpen || isOpenAndWatched else { return .closed }
        if pointee.sent &- pointee.takenSeen >= pointee.capacity {
            pointee.takenSeen = pointee.taken.load(ordering: .acquiring)
            if pointee.sent &- pointee.takenSeen >= pointee.capacity { return .full }
        }
        guard pointee.incoming.appendInline(message) else { return .outOfMemory }
        linux_prefetch_alone(pointee.incoming.elements.unsafelyUnwrapped + (pointee.incoming.count &+ PortQueue.prefetchDistance))
        pointee.sent &+= 1
        if pointee.isSignalled { return .queued }
        pointee.isSignalled = true
        return .queuedUnsignalled
    }

    /// Where a race detector watches, `isOpen` is never set, and whoever puts something in comes here. Under the senders' lock.
    @inline(never)
    private var isOpenAndWatched: Bool {
        if pointee.isOpenIfWatched { RaceDetector.takeAndLeave(self) }
        return pointee.isOpenIfWatched
    }

    /// Senders' side. O(1). `…Inline`: on hot paths.
    @inline(never)
    func lockSenders() { lockSendersInline() }
    /// `lockSenders` on a hot path. O(1).
    @inline(__always)
    func lockSendersInline() { pointee.senders.lock() }
    /// The thread that called `lockSenders`.
    @inline(never)
    func unlockSenders() { unlockSendersInline() }
    /// `unlockSenders` on a hot path.
    @inline(__always)
    func unlockSendersInline() { pointee.senders.unlock() }

    /// Whether messages wait that nobody may have been told of. Under the senders' lock.
    var isSignalled: Bool { pointee.isSignalled }

    /// Sleeps while the queue is full. False once `deadline` has passed. Any thread, without locks.
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

    /// Whether there was room soon, for who only looked on: a receiver at work has made some before a sleeper would be awake, and needs
    /// no system call to say so. False as soon as it takes so long that it is cheaper to sleep.
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

    /// Receivers' side. O(1).
    @inline(__always)
    func lockReceivers() { pointee.receivers.lock() }
    /// The thread that called `lockReceivers`.
    @inline(__always)
    func unlockReceivers() { pointee.receivers.unlock() }

    /// Takes the next message out, nil if there is none: then nobody is left who will look, and `onEmpty`, under both
    /// locks, takes the signal back, which is for nothing now. `inStream`: messages follow one another, and to wait an
    /// instant for some more is cheaper than to take the senders' lock for each, or to be woken for it. Under the receivers'
    /// lock; `wakeSenders` follows after it is given back.
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

    /// After every message taken. One load; one system call if a sender sleeps and there is room enough.
    @inline(__always)
    func wakeSenders() {
        if pointee.sleepers.load(ordering: .relaxed) != 0 { wakeSendersIfEnoughRoom() }
    }

    @inline(never)
    private func wakeSendersIfEnoughRoom() {
        let taken = pointee.taken.load(ordering: .relaxed)
        let wakeAt = pointee.wakeAt.load(ordering: .sequentiallyConsistent)
        // Once: it takes them a while to be awake.
        if Int32(bitPattern: taken &- wakeAt) >= 0
            && pointee.wakeAt.compareExchange(expected: wakeAt, desired: taken &+ 1 << 30, ordering: .sequentiallyConsistent).exchanged
        {
            wakeAllSenders()
        }
    }

    private func wakeAllSenders() {
        _ = pointee.roomFutex.wrappingAdd(1, ordering: .sequentiallyConsistent)
        Futex.wake(pointee.roomFutex, count: .max)
    }

    /// Nobody can send any more: what waits is moved into `drained`, senders that sleep are woken. Under both locks.
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

    /// Whether anybody may send. Under the senders' lock.
    var isOpenLocked: Bool { pointee.isOpen || pointee.isOpenIfWatched }

    /// Any thread.
    var isOpen: Bool {
        lockSenders()
        defer { unlockSenders() }
        return isOpenLocked
    }

    /// How many messages wait. Any thread.
    var count: UInt32 {
        lockSenders()
        defer { unlockSenders() }
        return pointee.sent &- pointee.taken.load(ordering: .relaxed)
    }

    /// Any thread.
    var capacity: UInt32 {
        lockSenders()
        defer { unlockSenders() }
        return pointee.capacity
    }

    /// Any thread. Senders that sleep look again.
    func setCapacity(_ capacity: UInt32) {
        lockSenders()
        pointee.capacity = capacity
        unlockSenders()
        wakeAllSenders()
    }

    /// Around fork(): keeps everybody out.
    func lockBoth() {
        lockReceivers()
        lockSenders()
    }

    /// After it, in parent and child.
    func unlockBoth() {
        unlockSenders()
        unlockReceivers()
    }
}
