import CLinux
import CLinuxKit

/// Identifies a process. The process ID alone does not: in a new PID namespace, the child of a fork() may have the same ID as its parent.
struct ProcessIdentity: BitwiseCopyable {
    private let number: Int32
    private let forks: UInt32

    private init(number: Int32, forks: UInt32) {
        self.number = number
        self.forks = forks
    }

    /// The calling process. Any thread.
    static var current: ProcessIdentity { ProcessIdentity(number: linux_process(), forks: linux_kit_fork_count()) }

    /// Whether the calling process descends from this one by fork(). No system call. Any thread.
    var hasForked: Bool { forks != linux_kit_fork_count() }

    /// Whether this is the calling process. Compares the process ID too, because only fork() is counted, not _Fork() or clone(). Any
    /// thread.
    var isCurrent: Bool { forks == linux_kit_fork_count() && number == linux_process() }
}
