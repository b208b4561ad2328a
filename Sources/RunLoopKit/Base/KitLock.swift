import CLinuxKit

/// The kit's one global mutex: it guards the lists that loops, workers and signal handlers read, the table of signals, and the recovery of
/// stream locks after fork(). Not recursive. Handlers do not take it: a thread that unlinks something waits, holding it, until no handler
/// is reading (`awaitHandlers`). Loops are woken under it, so a probe's `sent`, which must be async-signal-safe, is the only function of
/// the program that may be called under it. fork() takes it: `ForkHandlers`.
enum KitLock {
    /// Any thread.
    static func lock() { linux_kit_lock() }

    /// Only the thread that locked it.
    static func unlock() { linux_kit_unlock() }
}
