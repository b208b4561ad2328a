import CLinuxKit

/// The kit's one global mutex. It guards the lists that signal handlers read, the table of signals, the members of stream groups, and the
/// recovery of stream locks after fork(). Not recursive; a thread that needs it and a stream's lock takes the stream's first. Signal
/// handlers do not take it: a thread that unlinks something holds it and waits until no handler is reading (`awaitHandlers`). Loops are
/// woken with it held, which may call a probe's `sent`; that function must be async-signal-safe, and no other user code may run with it
/// held. fork() takes it before or after librunloop's locks (see `ForkHandlers`), so no function of librunloop that takes a lock may be
/// called with it held.
enum KitLock {
    /// Locks the mutex. Any thread.
    static func lock() { linux_kit_lock() }

    /// Unlocks the mutex. Only the thread that locked it.
    static func unlock() { linux_kit_unlock() }
}
