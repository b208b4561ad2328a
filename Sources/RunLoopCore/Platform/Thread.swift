import CLinux

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

    /// Whether another thread can do something while this one watches a word. Looked at once.
    static var maySpin: Bool {
        // Never inlined: whoever looks should not have to look whether it has been asked.
        @inline(never) get { hasSeveralProcessors }
    }

    private static let hasSeveralProcessors = sysconf(Int32(_SC_NPROCESSORS_ONLN)) > 1

    /// From here on pthread_cancel waits, for a thread that is ending anyway.
    static func forbidCancellation() { pthread_setcancelstate(Int32(PTHREAD_CANCEL_DISABLE), nil) }
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
