import CLinux
import CLinuxKit
import Synchronization

/// The kit's fork() handlers. They are registered before the first object is created; otherwise a child could find a lock held by a thread
/// that does not exist there.
enum ForkHandlers {
    private static let arePrepared = Atomic(false)

    /// Registers the kit's handlers once. Returns false with errno if out of memory; a later call tries again. Any thread.
    static func prepare() -> Bool {
        register(
            arePrepared, before: { linux_kit_lock() }, inParent: { linux_kit_unlock() },
            inChild: {
                linux_kit_note_fork()
                linux_kit_unlock()
            })
    }

    /// Registers handlers once; `isDone` records that. Returns false with errno if out of memory. Any thread; call without a lock held.
    static func register(
        _ isDone: borrowing Atomic<Bool>, before: (@convention(c) () -> Void)?, inParent: (@convention(c) () -> Void)?,
        inChild: (@convention(c) () -> Void)?
    ) -> Bool {
        if isDone.load(ordering: .acquiring) { return true }
        linux_lock_fork_handlers()
        defer { linux_unlock_fork_handlers() }
        if isDone.load(ordering: .relaxed) { return true }
        let error = pthread_atfork(before, inParent, inChild)
        if error != 0 { systemError = error } else { isDone.store(true, ordering: .releasing) }
        return error == 0
    }
}
