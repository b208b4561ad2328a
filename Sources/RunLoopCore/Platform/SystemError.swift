import CLinux

/// Why the system refused something: an error number of errno(3).
///
/// How all of `Platform` reports failures:
/// - A function that can fail throws a `SystemError`, and leaves the same number in errno. So a C function of ours that fails for
///   that reason has errno set already.
/// - A function that throws nothing leaves errno as it was.
/// - An outcome that is no failure (nothing to receive yet, the queue is full, the time is over) is part of the result: nil, false, or
///   a case of an enum.
/// - An allocation that fails returns nil.
struct SystemError: Error, Equatable, BitwiseCopyable {
    let number: Int32

    /// The error with this number. Does not change errno. O(1).
    init(_ number: Int32) { self.number = number }

    /// An error that the kernel does not report by itself: leaves its number in errno, too.
    @inline(never)
    static func make(_ number: Int32) -> SystemError {
        systemError = number
        return SystemError(number)
    }

    /// What the last system call of this thread failed with. For a call that is known to have failed.
    static var last: SystemError { SystemError(systemError) }

    /// The process or the system has no descriptor or memory left.
    var isShortage: Bool { number == EMFILE || number == ENFILE || number == ENOMEM || number == ENOBUFS }

    /// The call may succeed if it is repeated a little later.
    var isTemporary: Bool { number == EAGAIN || number == EINTR }
}

/// What a closure has returned or thrown, to pass it through a function that only returns.
typealias Outcome<Value> = Result<Value, SystemError>

/// The result of a system call that returns -1 with errno if it fails.
@discardableResult
func checked(_ result: Int32) throws(SystemError) -> Int32 {
    if result < 0 { throw .last }
    return result
}

/// errno of the calling thread. O(1), any thread.
var systemError: Int32 {
    get { linux_errno() }
    set { linux_set_errno(newValue) }
}

/// Runs `body` and restores errno, for code whose caller must not notice it.
@discardableResult
func preservingSystemError<Result>(_ body: () -> Result) -> Result {
    let saved = linux_errno()
    let result = body()
    linux_set_errno(saved)
    return result
}

/// Where diagnostics go.
enum StandardError {
    /// Writes bytes as they are; what cannot be written is lost. One system call. Any thread.
    static func write(_ bytes: UnsafePointer<UInt8>, _ count: Int) {
        preservingSystemError { linux_write(2, bytes, count) }
    }
}
