import CLinux
import Synchronization

/// Threads: the one pointer that the library keeps for each, their ends, fork(), and where they may run.
enum Thread {
    /// The calling thread's pointer, nil at first. One instruction. Async-signal-safe.
    static var slot: UnsafeMutableRawPointer? {
        get { linux_thread_slot() }
        set { linux_set_thread_slot(newValue) }
    }

    /// Whether `pointer` is the calling thread's.
    static func has(_ pointer: UnsafeMutableRawPointer) -> Bool { linux_thread_has(pointer) != 0 }

    /// Whether the process has no other thread, so that only signal handlers can run while this one waits. One load.
    static var isAlone: Bool { linux_is_single_threaded() != 0 }

    /// Whether the calling thread is the first of the process. Two system calls.
    static var isMain: Bool { linux_is_main_thread() != 0 }

    private nonisolated(unsafe) static var exitKey = pthread_key_t()

    /// Once per process: sets the function that is called, on each thread that ends after `callAtExit`, with the value given there. False if
    /// the process has no key left.
    static func prepareExit(_ atExit: @escaping @convention(c) (UnsafeMutableRawPointer?) -> Void) -> Bool {
        pthread_key_create(&exitKey, atExit) == 0
    }

    /// Makes the calling thread call the function of `prepareExit` when it ends. False if out of memory.
    static func callAtExit(with value: UnsafeMutableRawPointer) -> Bool { pthread_setspecific(exitKey, value) == 0 }

    /// Sets functions to be called before fork(), and after it in parent and child, in addition to those set before. Never undone.
    static func prepareFork(
        before: @escaping @convention(c) () -> Void, inParent: @escaping @convention(c) () -> Void,
        inChild: @escaping @convention(c) () -> Void
    ) {
        pthread_atfork(before, inParent, inChild)
    }

    /// Where threads of this process may run, as far as is known: 0 for unknown, `several`, or 1 + the number of the only processor. Any
    /// thread.
    private static let processors = Atomic<Int32>(0)
    private static var several: Int32 { .max }

    /// Whether spinning makes sense: another thread can run meanwhile, as not all are bound to one processor. One load. Any thread.
    static var maySpin: Bool { processors.load(ordering: .relaxed) == several }

    /// Finds out, for `maySpin`, where the calling thread and the main thread may run; the main thread stands for threads without a loop. At
    /// most three system calls, none once a second processor has been seen. Any thread.
    static func lookAtProcessors() {
        if !maySpin { note(linux_only_processor(0)) }
        if !maySpin { note(linux_only_processor(linux_process())) }
    }

    /// Records on which processor one thread may run; -1: on several.
    private static func note(_ processor: Int32) {
        let seen = processor < 0 ? several : processor + 1
        let (isFirst, before) = processors.compareExchange(expected: 0, desired: seen, ordering: .relaxed)
        if !isFirst && before != seen { processors.store(several, ordering: .relaxed) }
    }

    /// From here on, a pthread_cancel of the calling thread stays pending: the thread is ending anyway.
    static func forbidCancellation() { pthread_setcancelstate(Int32(PTHREAD_CANCEL_DISABLE), nil) }
}

/// Reference counts, without a locked instruction while the process has only one thread.
extension Atomic where Value == UInt32 {
    /// Adds a reference. Any thread that has one.
    func countUp() {
        if Thread.isAlone { return store(load(ordering: .relaxed) &+ 1, ordering: .relaxed) }
        _ = wrappingAdd(1, ordering: .relaxed)
    }

    /// Removes a reference; true if it was the last. Any thread.
    @inline(__always)
    func countDown() -> Bool {
        if !Thread.isAlone { return countDownShared() }
        let left = load(ordering: .relaxed) &- 1
        store(left, ordering: .relaxed)
        return left == 0
    }

    /// Removes a reference of a count that several threads may use, even if `isAlone`; true if it was the last. Any thread.
    func countDownShared() -> Bool {
        if RaceDetector.isWatching { return countDownWatched() }
        return wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0
    }

    /// Tells the race detector that all uses of the object happen before its end.
    @inline(never)
    private func countDownWatched() -> Bool {
        RaceDetector.happensBefore(self)
        guard wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 else { return false }
        RaceDetector.happensAfter(self)
        return true
    }
}

/// The kernel may end a sleep late, by the thread's timer slack: 50 µs by default. A loop that sleeps for a timer sets it to 1 ns, and
/// restores the thread's own value when its run ends.
enum TimerSlack: BitwiseCopyable {
    /// Not looked at by this run.
    case unknown
    /// As sharp as it gets: a real-time thread has no slack.
    case ownIsSharp
    /// Sharpened; the thread's own, in nanoseconds.
    case sharpened(own: UInt)

    /// Sets the slack to 1 ns, if this run has not looked at it yet. The thread itself. Two system calls.
    mutating func sharpen() {
        guard case .unknown = self else { return }
        let own = linux_get_timer_slack()
        self = own > 1 && linux_set_timer_slack(1) == 0 ? .sharpened(own: UInt(own)) : .ownIsSharp
    }

    /// Sets the slack to the thread's own. The thread itself. One system call, if it was sharpened.
    mutating func restore() {
        if case .sharpened(let own) = self { _ = linux_set_timer_slack(own) }
        self = .unknown
    }
}
