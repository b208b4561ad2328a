import CLinux
import Synchronization

/// Sleeping on a 32-bit word. Preserves errno.
enum Futex {
    /// Why a sleep ended.
    enum Outcome { case woken, timedOut }

    /// Sleeps while `word` holds `value`, until a wake-up, `deadline`, or a signal. A signal counts as a wake-up, so callers test the word
    /// again. `isShared`: the word is in memory that processes share. One system call. Any thread.
    @inline(never)
    static func wait(_ word: borrowing Atomic<UInt32>, while value: UInt32, until deadline: Instant, isShared: Bool = false) -> Outcome {
        let saved = systemError
        defer { systemError = saved }
        let address = unsafeAddress(of: word)
        if deadline == .never {
            _ = linux_futex_wait(address, value, nil, isShared ? 1 : 0)
            return .woken
        }
        var time = deadline.timespec
        return linux_futex_wait(address, value, &time, isShared ? 1 : 0) != 0 && systemError == ETIMEDOUT ? .timedOut : .woken
    }

    /// Wakes up to `count` sleepers. One system call. Any thread, async-signal-safe.
    @inline(never)
    static func wake(_ word: borrowing Atomic<UInt32>, count: Int32, isShared: Bool = false) {
        let saved = systemError
        linux_futex_wake(unsafeAddress(of: word), count, isShared ? 1 : 0)
        systemError = saved
    }

    /// Returns the address of an atomic. Swift does not offer it, but the library's atomics are in memory that never moves, so it is
    /// stable.
    private static func unsafeAddress(of word: borrowing Atomic<UInt32>) -> UnsafeRawPointer {
        withUnsafePointer(to: word) { UnsafeRawPointer($0) }
    }
}
