import CLinux
import CLinuxKit
import Synchronization

/// A signal for which an RLSignal was created: its objects that are in a loop, the kit's handler, and what that replaced. Created on first
/// use and never freed.
struct CaughtSignal: ~Copyable {
    /// The signal number. Written once.
    let number: Int32
    /// The kernel's information about the latest signal.
    let latest: LatestSignal
    /// The number of handlers that are reading the lists below, which they do with all signals blocked. Any thread.
    private let readers: Atomic<UInt>
    /// The first object that is in a loop, 0 if there is none. Written under the kit's lock, read by handlers.
    private let first: Atomic<UInt>
    /// The position of the kit's handler in the chain of handlers.
    private let place: HandlerPlace

    /// Creates the state of a signal. nil if out of memory.
    private init?(_ number: Int32) {
        guard let latest = LatestSignal(), let place = HandlerPlace(number) else { return nil }
        self.number = number
        self.latest = latest
        self.place = place
        readers = Atomic(0)
        first = Atomic(0)
    }

    // MARK: the table of signals

    private typealias Entry = Atomic<UInt>
    /// The table of signals, 0 before the first use. It has an `Entry` for each number: the address of its `CaughtSignal`, 0 if there is
    /// none. Written under the kit's lock, read by handlers.
    private static let table = Atomic<UInt>(0)
    private static var tableSize: Int { 65 }

    private static func entry(_ number: Int32) -> UnsafeMutablePointer<Entry>? {
        guard let entries = UnsafeMutablePointer<Entry>(bitPattern: table.load(ordering: .acquiring)) else { return nil }
        return entries + Int(number)
    }

    /// Returns the signal with this number; nil if it was never obtained. Async-signal-safe.
    static func existing(_ number: Int32) -> CaughtSignalPointer? {
        guard let entry = entry(number) else { return nil }
        return CaughtSignalPointer(bitPattern: entry.pointee.load(ordering: .acquiring))
    }

    /// Returns the signal with this number, creating it if needed; nil if out of memory. Any thread; call without a lock held.
    static func obtain(_ number: Int32) -> CaughtSignalPointer? {
        if !ForkHandlers.register(forkIsPrepared, before: nil, inParent: nil, inChild: { CaughtSignal.forgetReaders() }) { return nil }
        KitLock.lock()
        defer { KitLock.unlock() }
        if table.load(ordering: .relaxed) == 0 {
            guard let memory = calloc(tableSize, MemoryLayout<Entry>.stride) else { return nil }
            table.store(UInt(bitPattern: memory), ordering: .releasing)
        }
        if let known = existing(number) { return known }
        guard let memory = malloc(MemoryLayout<CaughtSignal>.stride) else { return nil }
        guard let new = CaughtSignal(number) else {
            free(memory)
            return nil
        }
        let signal = memory.bindMemory(to: CaughtSignal.self, capacity: 1)
        signal.initialize(to: new)
        entry(number)?.pointee.store(UInt(bitPattern: signal), ordering: .releasing)
        return signal
    }

    private static let forkIsPrepared = Atomic(false)

    /// Resets the counts of readers in the child of fork(), where handlers that were running on other threads do not exist.
    private static func forgetReaders() {
        for number in 1..<Int32(tableSize) { existing(number)?.pointee.readers.store(0, ordering: .relaxed) }
    }

    // MARK: the handler

    /// The handler for all signals. Notifies all objects of the signal and wakes their loops, then calls the handler that it replaced.
    /// Takes no lock, allocates nothing, and preserves errno. Calls user code: the replaced handlers.
    static let handler: HandlerPlace.Handler = { number, information, context in
        guard let information, let signal = existing(number) else { return }
        preservingSystemError {
            var action = sigaction()
            // With signals blocked, no other handler can interrupt this one while it is counted as a reader, and leave it by siglongjmp()
            // or by ending the thread.
            let blocked = linux_block_signals()
            signal.pointee.readers.add(1, ordering: .sequentiallyConsistent)
            let call = signal.pointee.place.nextAction(&action)
            if call.isFirst { signal.pointee.tell(information) }
            signal.pointee.readers.subtract(1, ordering: .sequentiallyConsistent)
            linux_unblock_signals(blocked)
            if call.isFirst && signal.pointee.isUnwatched {
                signal.pointee.place.actByDefault(&action, handler) { signal.pointee.isUnwatched }
            }
            signal.pointee.place.call(call, &action, information, context)
        }
    }

    /// Whether no object of the signal is in a loop. Any thread.
    private var isUnwatched: Bool { first.load(ordering: .sequentiallyConsistent) == 0 }

    private func tell(_ information: UnsafePointer<siginfo_t>) {
        latest.note(information)
        var watch = Self.watch(first)
        while let here = watch {
            here.pointee.noteSignal()
            watch = Self.watch(here.pointee.next)
        }
    }

    private static func watch(_ word: borrowing Atomic<UInt>) -> SignalWatchPointer? {
        SignalWatchPointer(bitPattern: word.load(ordering: .sequentiallyConsistent))
    }

    /// Returns once no handler is reading the lists. A reading handler only wakes some loops and waits for nothing. The caller holds the
    /// kit's lock, which handlers do not take.
    func awaitHandlers() {
        var looks = 0
        while readers.load(ordering: .sequentiallyConsistent) != 0 {
            // A handler on a thread of lower priority must be able to run, too.
            if looks < 16 { linux_yield() } else { linux_kit_pause() }
            looks += 1
        }
    }

    // MARK: objects

    /// Lists an object that was added to its first loop, so that it is notified of signals from now on. Installs the handler if it is the
    /// only object. Returns what prevents that, for `Misuse.warn`; nil on success. The caller holds the kit's lock.
    func add(_ watch: SignalWatchPointer) -> Name? {
        watch.pointee.next.store(0, ordering: .sequentiallyConsistent)
        guard var last = Self.watch(first) else {
            first.store(UInt(bitPattern: watch), ordering: .sequentiallyConsistent)
            return place.enter(Self.handler)
        }
        while let next = Self.watch(last.pointee.next) { last = next }
        last.pointee.next.store(UInt(bitPattern: watch), ordering: .sequentiallyConsistent)
        return nil
    }

    /// Unlists an object that has left its last loop, and removes the handler if it was the only object. No handler uses the object
    /// afterwards. The caller holds the kit's lock.
    func remove(_ watch: SignalWatchPointer) {
        let next = watch.pointee.next.load(ordering: .relaxed)
        if var before = Self.watch(first), before != watch {
            while let other = Self.watch(before.pointee.next), other != watch { before = other }
            before.pointee.next.store(next, ordering: .sequentiallyConsistent)
        } else {
            first.store(next, ordering: .sequentiallyConsistent)
        }
        if Self.watch(first) == nil { place.leave(Self.handler) }
        awaitHandlers()
    }
}

typealias CaughtSignalPointer = UnsafeMutablePointer<CaughtSignal>
