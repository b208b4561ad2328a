import CLinux
import CLinuxKit
import Synchronization

/// Has fork() call functions of the kit. No object is made before: a child might find a lock held by a thread that does not exist there.
enum ForkHandlers {
    private static let arePrepared = Atomic(false)

    /// Registers the functions, once: called before each object is made. False with errno if out of memory; a later call tries again. Any
    /// thread.
    static func prepare() -> Bool {
        register(
            arePrepared, before: { linux_kit_lock() }, inParent: { linux_kit_unlock() },
            inChild: {
                linux_kit_note_fork()
                linux_kit_unlock()
            })
    }

    /// Registers functions once: `isDone` says whether they are. False with errno if out of memory. Any thread, without a lock.
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
