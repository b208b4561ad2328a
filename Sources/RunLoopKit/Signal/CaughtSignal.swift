import CLinux
import CLinuxKit
import Synchronization

/// A signal that an object was made for: the objects that are in a loop, the kit's handler, and what that replaced. Made when it is first
/// needed, and never freed.
struct CaughtSignal: ~Copyable {
    /// The signal. Written once.
    let number: Int32
    /// What the kernel said of the latest one.
    let latest: LatestSignal
    /// How many handlers are reading the lists below, with all signals blocked. Any thread.
    private let readers: Atomic<UInt>
    /// The first object that is in a loop, 0 if there is none. Written under the lock, read by handlers.
    private let first: Atomic<UInt>
    /// Where our handler is.
    private let place: HandlerPlace

    /// nil if out of memory.
    private init?(_ number: Int32) {
        guard let latest = LatestSignal(), let place = HandlerPlace(number) else { return nil }
        self.number = number
        self.latest = latest
        self.place = place
        readers = Atomic(0)
        first = Atomic(0)
    }

    // MARK: all of them

    private typealias Entry = Atomic<UInt>
    /// An `Entry` for each number: the address of its `CaughtSignal`, 0 if there is none. 0 before the first use. Written under the lock,
    /// read by handlers.
    private static let table = Atomic<UInt>(0)
    private static var tableSize: Int { 65 }

    private static func entry(_ number: Int32) -> UnsafeMutablePointer<Entry>? {
        guard let entries = UnsafeMutablePointer<Entry>(bitPattern: table.load(ordering: .acquiring)) else { return nil }
        return entries + Int(number)
    }

    /// The signal of a number; nil if it was never asked for. Async-signal-safe.
    static func existing(_ number: Int32) -> CaughtSignalPointer? {
        guard let entry = entry(number) else { return nil }
        return CaughtSignalPointer(bitPattern: entry.pointee.load(ordering: .acquiring))
    }

    /// The signal of a number, made if necessary; nil if out of memory. Any thread.
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

    /// In the child of fork(): handlers that ran on other threads will not end.
    private static func forgetReaders() {
        for number in 1..<Int32(tableSize) { existing(number)?.pointee.readers.store(0, ordering: .relaxed) }
    }

    // MARK: the handler

    /// The handler of all signals. Tells the loops of all objects, then calls what was installed before. Takes no lock, allocates nothing,
    /// and leaves errno as it was. Calls user code: the handlers that it replaced.
    static let handler: HandlerPlace.Handler = { number, information, context in
        guard let information, let signal = existing(number) else { return }
        preservingSystemError {
            var action = sigaction()
            // A handler of the program could interrupt this one, and leave it by siglongjmp() or by ending the thread.
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

    /// Returns when each handler that reads the lists now has ended its reading: it wakes some loops meanwhile, and waits for nothing.
    /// Under the lock, which handlers do not take.
    func awaitHandlers() {
        var looks = 0
        while readers.load(ordering: .sequentiallyConsistent) != 0 {
            // A handler of a lower priority has to run, too.
            if looks < 16 { linux_yield() } else { linux_kit_pause() }
            looks += 1
        }
    }

    // MARK: objects

    /// An object was added to its first loop: it is told of signals from now on. Returns what prevents that, for `Misuse.warn`. Under the
    /// lock.
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

    /// An object has left its last loop. Afterwards no handler uses it. Under the lock.
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
