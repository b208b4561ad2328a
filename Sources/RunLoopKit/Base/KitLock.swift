import CLinuxKit

/// The lock of the kit: for the lists of objects that signal handlers and workers read. Held for a few instructions; no function of the
/// program is called under it but a probe's `sent`, which is async-signal-safe.
enum KitLock {
    /// Has fork() take the lock, so that a child does not find it held, and lets the child forget what other threads were doing.
    private static let forkIsPrepared: Bool = {
        pthread_atfork(
            { linux_kit_lock() }, { linux_kit_unlock() },
            {
                CaughtSignal.forgetReaders()
                linux_kit_unlock()
            })
        return true
    }()

    /// Any thread.
    static func lock() {
        _ = forkIsPrepared
        linux_kit_lock()
    }

    /// The thread that holds it.
    static func unlock() { linux_kit_unlock() }
}
