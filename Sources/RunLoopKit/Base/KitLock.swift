import CLinuxKit

/// The lock of the kit: for the lists of objects that signal handlers and workers read. Held for a few instructions; no function of the
/// program is called under it but a probe's `sent`, which is async-signal-safe. fork() takes it: `ForkHandlers`.
enum KitLock {
    /// Any thread.
    static func lock() { linux_kit_lock() }

    /// The thread that holds it.
    static func unlock() { linux_kit_unlock() }
}
