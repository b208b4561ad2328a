import CLinux
import Synchronization

/// An entry of a `PortQueue`: the parts of a message rather than a pointer to it, so that no memory except the queue's own travels from the
/// sender's CPU to the receiver's and back. The queue does not interpret the parts. Their references belong to the code that puts an entry
/// in, and then to the code that takes it out.
struct QueuedMessage: BitwiseCopyable {
    /// The components of a message; in the queue of a message port, a request.
    let content: UnsafeMutableRawPointer?
    let replyPort: PortPointer?
    let id: UInt32

    init(_ content: UnsafeMutableRawPointer?, replyPort: PortPointer? = nil, id: UInt32 = 0) {
        self.content = content
        self.replyPort = replyPort
        self.id = id
    }
}

/// A bounded first-in, first-out queue of messages to a port, for any number of senders and receivers.
///
/// There are two lists, each with its own lock. Senders append to `incoming`, receivers take from `outgoing`, and a receiver whose list is
/// empty swaps the two. So both sides meet only at the swap, and a steady flow allocates nothing.
///
/// A full queue: `taken` counts what receivers have taken out; senders read it only when the queue seems full. A sender that finds no room
/// sets `wakeAt` to the value of `taken` from which on waking pays, checks once more, and sleeps on `roomFutex`. A receiver first advances
/// `taken` and then reads `wakeAt`. One of the two always sees the other: the sender executes a fence between its two steps, and the
/// receiver executes one when it takes the last entry of its list (before that, it is going to check again soon). A thread that wakes the
/// senders moves `wakeAt` far ahead before it changes `roomFutex`, so a sender whose `wakeAt` is overwritten does not fall asleep.
/// `Tests/model/room.pml` checks this, and that no step can be left out.
///
/// Waking a thread costs as much as dozens of messages, so senders are woken when there is room for some hundred. A receiver may stop
/// before that point; therefore senders also check for room themselves, every `pollInterval`. In a fast stream no side sleeps for such
/// short times: a sender spins as long as room appears quickly, and a receiver that found few entries pauses, away from the cache lines
/// that senders are writing.
///
/// *Signalled* means that a loop is going to check the queue, because the port's source is signalled. The first message that is put into a
/// queue that is not signalled must signal the source. A receiver signals the source again before it calls the port's callback, since a
/// nested run has to notice the next message. The state is cleared under both locks, when a receiver finds both lists empty.
///
/// Lock order: `receivers` before `senders`. Each is locked once per message, hence `StoreMutex`. Never calls user code.
struct PortQueue: ~Copyable {
    // Guarded by `senders`.
    fileprivate let senders = StoreMutex()
    fileprivate var incoming = PlainList<QueuedMessage>()
    /// How many messages were ever put in, modulo 2³².
    fileprivate var sent: UInt32 = 0
    /// The value of `taken` that a sender has read last.
    fileprivate var takenSeen: UInt32 = 0
    fileprivate(set) var capacity: UInt32
    fileprivate(set) var isOpen = true
    fileprivate(set) var isSignalled = false
    /// The info of the port's run loop source, if there is one. Not retained, since the source retains the port.
    var portSource: PortSourcePointer?
    private let padding = CacheLine()

    // Guarded by `receivers`.
    let receivers = StoreMutex()
    fileprivate var outgoing = PlainList<QueuedMessage>()
    /// Index of the oldest entry of `outgoing`.
    fileprivate var next = 0
    /// The receivers' copy of `isOpen`: to read that for each message, they would have to wait for the cache line that senders write.
    fileprivate(set) var isOpenToReceivers = true

    /// How many messages were ever taken out, modulo 2³². Written under `receivers`; any thread may read it.
    fileprivate let taken = Atomic<UInt32>(0)
    /// The value of `taken` from which on there is enough room to wake senders; far ahead unless one may be asleep. Any thread.
    fileprivate let wakeAt = Atomic<UInt32>(1 << 30)
    /// What senders sleep on. Changes whenever there may be enough room. Any thread.
    fileprivate let roomFutex = Atomic<UInt32>(0)
    private let paddingBehind = CacheLine()

    /// Held while the port's source is created or a connection follows it. The locks of `PortRegistry` come before it, all others after.
    let attachmentsMutex = Mutex()

    /// How many pauses to spin for before checking again: two microseconds or a little more, less than falling asleep and being woken
    /// takes.
    fileprivate static var spinPauses: Int { 128 }
    /// A receiver whose last list had fewer entries than this pauses before it swaps the lists.
    fileprivate static var smallBatch: Int { 64 }
    /// How much room makes waking senders pay.
    fileprivate static func wakeThreshold(_ capacity: UInt32) -> UInt32 { max(1, min(capacity / 2, 512)) }
    /// After how many nanoseconds a sleeping sender checks for room itself.
    fileprivate static var pollInterval: UInt64 { 1_000_000 }

    init(capacity: UInt32) {
        self.capacity = capacity
    }
}

/// The operations take a pointer because many threads use a queue at the same time, each touching only the fields whose lock it holds. An
/// inout argument would claim the whole struct.
typealias PortQueuePointer = UnsafeMutablePointer<PortQueue>

extension PortQueuePointer {
    /// Appends a message. If the queue was not signalled, signals the port's source, and sets `wake` to the loop that the caller has to wake
    /// after unlocking, if any. Returns 0, EPIPE if the queue is closed, ETIMEDOUT if it is full, or ENOMEM. The caller holds the senders'
    /// lock.
    @inline(__always)
    func putLocked(_ message: QueuedMessage, _ wake: inout RunLoopPointer?) -> Int32 {
        guard pointee.isOpen else { return EPIPE }
        if RaceDetector.isWatching { RaceDetector.handsOver(self, enlarging: &pointee.incoming) }
        if pointee.sent &- pointee.takenSeen >= pointee.capacity {
            pointee.takenSeen = pointee.taken.load(ordering: .acquiring)
            if pointee.sent &- pointee.takenSeen >= pointee.capacity { return ETIMEDOUT }
        }
        guard pointee.incoming.appendInlined(message) else { return ENOMEM }
        pointee.sent &+= 1
        if !pointee.isSignalled {
            pointee.isSignalled = true
            wake = signalLocked()
        }
        return 0
    }

    /// Takes the senders' lock. Any thread. O(1).
    @inline(never)
    func lockSenders() { pointee.senders.lock() }
    /// Releases the senders' lock. Only the thread that took it.
    @inline(never)
    func unlockSenders() { pointee.senders.unlock() }

    /// Runs `body` under the senders' lock. Any thread.
    func lockedSenders<Result>(_ body: () -> Result) -> Result {
        lockSenders()
        defer { unlockSenders() }
        return body()
    }

    /// Waits while the queue is full. Returns true if there may be room now, false if `deadline` has passed. Any thread; call without a lock
    /// of the port held.
    func waitForRoom(until deadline: Instant) -> Bool {
        let now = Clock.now
        if now >= deadline { return false }
        if spinForRoom() { return true }
        let seen = pointee.roomFutex.load(ordering: .sequentiallyConsistent)
        let isFull = lockedSenders { () -> Bool in
            pointee.wakeAt.store(
                pointee.sent &- pointee.capacity &+ PortQueue.wakeThreshold(pointee.capacity), ordering: .sequentiallyConsistent)
            return pointee.isOpen && pointee.sent &- pointee.taken.load(ordering: .sequentiallyConsistent) >= pointee.capacity
        }
        if isFull {
            _ = Futex.wait(pointee.roomFutex, while: seen, until: Swift.min(deadline, now.advanced(by: PortQueue.pollInterval)))
        }
        return true
    }

    /// Spins for room: a receiver at work makes some before a sleeper would be awake, and without a system call. Returns false as soon as
    /// room appears so slowly that sleeping is cheaper.
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

    /// Removes the oldest message and returns it; nil if there is none, or if the queue is closed. If there was one, signals the source
    /// again, since the loop has consumed its signal in order to perform it. If there was none, clears the signal. `inStream`: messages are
    /// arriving in quick succession, so a short pause before the lists are swapped is cheaper than a swap for every message. Without a
    /// source, takes what is left of a closed queue. Loop thread, or any thread without a source; call without a lock of the queue held.
    /// Calls no user code.
    @inline(__always)
    func takeNext(_ portSource: PortSourcePointer?, inStream: Bool = false) -> QueuedMessage? {
        var queued: QueuedMessage?
        pointee.receivers.lock()
        if portSource == nil || pointee.isOpenToReceivers {
            if pointee.next == pointee.outgoing.count { swapLists(inStream) }
            if pointee.next < pointee.outgoing.count {
                RaceDetector.handsOver(self)
                queued = pointee.outgoing[pointee.next]
                pointee.next &+= 1
                pointee.taken.store(pointee.taken.load(ordering: .relaxed) &+ 1, ordering: .releasing)
                if pointee.next == pointee.outgoing.count { atomicMemoryFence(ordering: .sequentiallyConsistent) }
                // If the port has another source by now, that was signalled when it was created (`source(of:)`), and signalling this one is
                // harmless.
                if let source = portSource?.pointee.source, !source.isSignalled { source.signal() }
            }
        }
        pointee.receivers.unlock()
        if Int32(bitPattern: pointee.taken.load(ordering: .relaxed) &- pointee.wakeAt.load(ordering: .relaxed)) >= 0 { wakeAllSenders() }
        return queued
    }

    /// Swaps the lists, because the receivers' one is empty. If the senders' one is empty, too, clears the state of being signalled, and
    /// the signal of the port's source. The caller holds the receivers' lock.
    @inline(never)
    private func swapLists(_ inStream: Bool) {
        if inStream && pointee.outgoing.count < PortQueue.smallBatch && Thread.maySpin {
            for _ in 0..<PortQueue.spinPauses { pauseProcessor() }
        }
        pointee.outgoing.truncate(to: 0)
        pointee.next = 0
        lockSenders()
        RaceDetector.handsOver(self)
        if pointee.incoming.count == 0 {
            pointee.isSignalled = false
            _ = pointee.portSource?.pointee.source.takeSignal()
        } else {
            swap(&pointee.incoming, &pointee.outgoing)
        }
        unlockSenders()
    }

    /// Wakes all sleeping senders, which then check for room. One system call. Any thread; call without a lock of the queue held.
    @inline(never)
    private func wakeAllSenders() {
        pointee.wakeAt.store(pointee.taken.load(ordering: .relaxed) &+ 1 << 30, ordering: .sequentiallyConsistent)
        _ = pointee.roomFutex.wrappingAdd(1, ordering: .sequentiallyConsistent)
        Futex.wake(pointee.roomFutex, count: .max)
    }

    /// Closes the queue: no message is put in any more, and with a source none is taken out. Wakes all sleeping senders. The caller then
    /// takes out what is left, without a source. Any thread; call without a lock of the queue held.
    func close() {
        lockBoth()
        pointee.isOpen = false
        pointee.isOpenToReceivers = false
        unlockBoth()
        wakeAllSenders()
    }

    /// How many messages wait in the queue. Any thread.
    var count: UInt32 { lockedSenders { pointee.sent &- pointee.taken.load(ordering: .relaxed) } }

    /// How many messages may wait before senders have to wait. Any thread.
    var capacity: UInt32 { lockedSenders { pointee.capacity } }

    /// Changes the capacity, and wakes sleeping senders, which then check for room. Any thread.
    func setCapacity(_ capacity: UInt32) {
        lockedSenders { pointee.capacity = capacity }
        wakeAllSenders()
    }

    /// Takes both locks, in their order, so that neither side changes anything.
    @inline(never)
    func lockBoth() {
        pointee.receivers.lock()
        lockSenders()
    }

    /// Releases both locks.
    @inline(never)
    func unlockBoth() {
        unlockSenders()
        pointee.receivers.unlock()
    }
}
