import CLinux
import CLinuxKit

/// Which process this is. Its number alone does not say: in a PID namespace of its own the child of a fork() may have that of its parent.
struct ProcessIdentity: BitwiseCopyable {
    private let number: Int32
    private let forks: UInt32

    private init(number: Int32, forks: UInt32) {
        self.number = number
        self.forks = forks
    }

    /// The calling process. Any thread.
    static var current: ProcessIdentity { ProcessIdentity(number: linux_process(), forks: linux_kit_fork_count()) }

    /// Whether the calling process is a child, by fork(). No system call. Any thread.
    var hasForked: Bool { forks != linux_kit_fork_count() }

    /// Whether it is the calling process. The number is asked for, too, as fork() alone is counted, and not _Fork() or clone(). Any thread.
    var isCurrent: Bool { forks == linux_kit_fork_count() && number == linux_process() }
}
