import CLinux
import Synchronization

/// Threads: the library's one pointer per thread, thread exit, fork(), and processor affinity.
enum Thread {
    /// The calling thread's pointer, initially nil. One instruction. Async-signal-safe.
    static var slot: UnsafeMutableRawPointer? {
        get { linux_thread_slot() }
        set { linux_set_thread_slot(newValue) }
    }

    /// Returns whether `pointer` is the calling thread's pointer. Any thread.
    static func has(_ pointer: UnsafeMutableRawPointer) -> Bool { linux_thread_has(pointer) != 0 }

    /// Whether the process has no other thread, so that only signal handlers can run while this thread waits. One load. Any thread.
    static var isAlone: Bool { linux_is_single_threaded() != 0 }

    /// Whether the calling thread is the process's initial thread. Two system calls. Any thread.
    static var isMain: Bool { linux_is_main_thread() != 0 }

    private nonisolated(unsafe) static var exitKey = pthread_key_t()

    /// Sets the function that each thread calls when it ends, provided that it has called `reserveCallAtExit`. The function receives the
    /// value that `callAtExit` has set. Called once per process. Returns false if the process has no thread-specific key left.
    static func prepareExit(_ atExit: @escaping @convention(c) (UnsafeMutableRawPointer?) -> Void) -> Bool {
        pthread_key_create(&exitKey, atExit) == 0
    }

    /// Makes the calling thread call the function set by `prepareExit` when it ends. Until `callAtExit` sets the value for that call, the
    /// value is 1. Returns false with errno if out of memory.
    static func reserveCallAtExit() -> Bool {
        let error = pthread_setspecific(exitKey, UnsafeRawPointer(bitPattern: 1))
        if error != 0 { systemError = error }
        return error == 0
    }

    /// Sets the value with which the calling thread calls the function; nil: does not call it. Requires `reserveCallAtExit`, which has
    /// allocated the memory, so this cannot fail.
    static func callAtExit(with value: UnsafeMutableRawPointer?) { pthread_setspecific(exitKey, value) }

    /// Registers functions to be called before fork(), and after it in parent and child, in addition to those registered before. Never
    /// undone: the library is linked so that it stays loaded (-z nodelete). If memory runs out, the functions are not registered, and a
    /// child of fork() may find locks held.
    static func prepareFork(
        before: @escaping @convention(c) () -> Void, inParent: @escaping @convention(c) () -> Void,
        inChild: @escaping @convention(c) () -> Void
    ) {
        pthread_atfork(before, inParent, inChild)
    }

    /// Registers a function to be called when the process exits by exit(3) or returns from main(). If memory runs out, it is not called.
    static func callAtProcessExit(_ function: @escaping @convention(c) () -> Void) { _ = atexit(function) }

    /// Where the process's threads may run, as far as is known: 0 if unknown, `several`, or 1 + the number of the only processor. Any
    /// thread.
    private static let processors = Atomic<Int32>(0)
    private static var several: Int32 { .max }

    /// Whether spinning makes sense: another thread can run meanwhile, as not all threads are bound to one processor. One load. Any thread.
    static var maySpin: Bool { processors.load(ordering: .relaxed) == several }

    /// Determines, for `maySpin`, where the calling thread and the main thread may run; the main thread represents threads without a loop.
    /// At most three system calls, none once a second processor has been seen. Any thread.
    static func detectProcessors() {
        if !maySpin { note(linux_only_processor(0)) }
        if !maySpin { note(linux_only_processor(linux_process())) }
    }

    /// Records on which processor a thread may run; -1 stands for several processors.
    private static func note(_ processor: Int32) {
        let seen = processor < 0 ? several : processor + 1
        let (isFirst, before) = processors.compareExchange(expected: 0, desired: seen, ordering: .relaxed)
        if !isFirst && before != seen { processors.store(several, ordering: .relaxed) }
    }

    /// Makes a pthread_cancel of the calling thread stay pending from here on, because the thread is ending anyway.
    static func forbidCancellation() { pthread_setcancelstate(Int32(PTHREAD_CANCEL_DISABLE), nil) }
}

/// Reference counts.
extension Atomic where Value == UInt32 {
    /// Adds a reference. Any thread that owns a reference.
    func countUp() { wrappingAdd(1, ordering: .relaxed) }

    /// Releases a reference, which the calling thread owns. Returns true if it was the last one.
    func countDown() -> Bool {
        if RaceDetector.isWatching { return countDownWatched() }
        return wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0
    }

    /// Does what `countDown` does, and tells the race detector that all uses of the object happen before its destruction.
    @inline(never)
    private func countDownWatched() -> Bool {
        RaceDetector.happensBefore(self)
        guard wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 else { return false }
        RaceDetector.happensAfter(self)
        return true
    }
}

/// The timer slack of a loop's thread during a run. The kernel may end a sleep late by the thread's slack, which is 50 µs by default. A
/// loop that sleeps for a timer sets it to 1 ns and restores the thread's own value when its run ends.
enum TimerSlack: BitwiseCopyable {
    /// This run has not read the slack.
    case unknown
    /// There is nothing to restore: the slack is as small as possible, as in a real-time thread, which has none, or it could not be
    /// changed.
    case ownIsSharp
    /// The slack has been set to 1 ns; the associated value is the thread's own slack, in nanoseconds.
    case sharpened(own: UInt)

    /// Sets the slack to 1 ns, unless this run has already tried. The thread itself only. Two system calls.
    mutating func sharpen() {
        guard case .unknown = self else { return }
        let own = linux_get_timer_slack()
        self = own > 1 && linux_set_timer_slack(1) == 0 ? .sharpened(own: UInt(own)) : .ownIsSharp
    }

    /// Restores the thread's own slack. The thread itself only. One system call if the slack was changed.
    mutating func restore() {
        if case .sharpened(let own) = self { _ = linux_set_timer_slack(own) }
        self = .unknown
    }
}
