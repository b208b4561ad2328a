import CLinux
import Synchronization

/// What the library keeps per thread: one pointer.
enum Thread {
    /// The calling thread's pointer, nil at first. One instruction. Async-signal-safe.
    @inline(__always)
    static var slot: UnsafeMutableRawPointer? {
        get { linux_thread_slot() }
        set { linux_set_thread_slot(newValue) }
    }

    /// Whether `pointer` is the calling thread's.
    @inline(__always)
    static func has(_ pointer: UnsafeMutableRawPointer) -> Bool { linux_thread_has(pointer) != 0 }

    /// Whether the process has no other thread, and only a signal handler could do something while this one waits. One load.
    @inline(__always)
    static var isAlone: Bool { linux_is_single_threaded() != 0 }

    /// Whether the calling thread is the one the process began with. Two system calls.
    static var isMain: Bool { linux_is_main_thread() != 0 }

    private nonisolated(unsafe) static var exitKey = pthread_key_t()

    /// Once per process: `atExit` gets the slot's value on every thread that ends after `callAtExit`.
    /// False if the process has no key left.
    static func prepareExit(_ atExit: @escaping @convention(c) (UnsafeMutableRawPointer?) -> Void) -> Bool {
        pthread_key_create(&exitKey, atExit) == 0
    }

    /// Asks for the call on the calling thread. False if out of memory.
    static func callAtExit(with value: UnsafeMutableRawPointer) -> Bool { pthread_setspecific(exitKey, value) == 0 }

    /// Once per process: what fork() calls before, and after in parent and child.
    static func prepareFork(
        before: @escaping @convention(c) () -> Void, inParent: @escaping @convention(c) () -> Void,
        inChild: @escaping @convention(c) () -> Void
    ) {
        pthread_atfork(before, inParent, inChild)
    }

    /// Where threads of this process may run, as far as it was looked at: 0 nowhere yet, `several`, or 1 and the number of the
    /// only processor. Any thread.
    private static let processors = Atomic<Int32>(0)
    private static var several: Int32 { .max }

    /// Whether another thread can do something while this one watches a word: not where all are bound to one processor, by
    /// taskset or for want of another. One load. Any thread.
    @inline(__always)
    static var maySpin: Bool { processors.load(ordering: .relaxed) == several }

    /// Looks where the calling thread may run, for `maySpin`; one that uses no loop counts as the main thread. Two system
    /// calls at most, none once a second processor was seen. Any thread.
    static func lookAtProcessors() {
        if !maySpin { note(linux_only_processor(0)) }
        if !maySpin { note(linux_only_processor(linux_process())) }
    }

    /// -1: several.
    private static func note(_ processor: Int32) {
        let seen = processor < 0 ? several : processor + 1
        let (isFirst, before) = processors.compareExchange(expected: 0, desired: seen, ordering: .relaxed)
        if !isFirst && before != seen { processors.store(several, ordering: .relaxed) }
    }

    /// From here on pthread_cancel waits, for a thread that is ending anyway.
    static func forbidCancellation() { pthread_setcancelstate(Int32(PTHREAD_CANCEL_DISABLE), nil) }
}

/// A count of references, without a locked instruction as long as the process has only one thread.
extension Atomic where Value == UInt32 {
    /// Who has one reference takes another. Any thread.
    @inline(__always)
    func countUp() {
        if Thread.isAlone { return store(load(ordering: .relaxed) &+ 1, ordering: .relaxed) }
        _ = wrappingAdd(1, ordering: .relaxed)
    }

    /// Whether that was the last. Any thread.
    @inline(__always)
    func countDown() -> Bool {
        if !Thread.isAlone { return countDownShared() }
        let left = load(ordering: .relaxed) &- 1
        store(left, ordering: .relaxed)
        return left == 0
    }

    /// The same, whoever else counts. Any thread.
    @inline(__always)
    func countDownShared() -> Bool {
        if RaceDetector.isWatching { return countDownWatched() }
        return wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0
    }

    /// What others did with the object before they gave their references back is before its end.
    @inline(never)
    private func countDownWatched() -> Bool {
        RaceDetector.happensBefore(self)
        guard wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 else { return false }
        RaceDetector.happensAfter(self)
        return true
    }
}

/// The kernel lets a sleep end later than asked for, by 50 µs unless told. A loop that sleeps for a timer
/// asks for 1 ns, and gives the thread its own value back when its run is over.
enum TimerSlack {
    /// The value to give back, 0 if there is nothing to give back. Two system calls.
    static func sharpen() -> UInt {
        let before = linux_get_timer_slack()
        return before > 1 && linux_set_timer_slack(1) == 0 ? UInt(before) : 0
    }

    /// One system call.
    static func restore(_ nanoseconds: UInt) { _ = linux_set_timer_slack(nanoseconds) }
}
