import CLinux

/// Why the system refused a request: an errno value.
///
/// All of `Platform` reports failures as follows:
/// - A function that can fail throws a `SystemError` and leaves its number in errno. So an exported C function that fails for
///   that reason has errno set already.
/// - A function that does not throw preserves errno.
/// - An outcome that is not a failure (nothing to receive, a full queue, an expired time limit) is part of the result: nil,
///   false, or a case of an enum.
/// - An allocation that fails returns nil.
struct SystemError: Error, Equatable, BitwiseCopyable {
    let number: Int32

    /// Creates the error with this number. Preserves errno. O(1).
    init(_ number: Int32) { self.number = number }

    /// Returns an error that the kernel does not report by itself, and stores its number in errno as well.
    @inline(never)
    static func make(_ number: Int32) -> SystemError {
        systemError = number
        return SystemError(number)
    }

    /// The error of this thread's last system call, for a call that is known to have failed.
    static var last: SystemError { SystemError(systemError) }

    /// Whether the process or the system is out of descriptors or memory.
    var isShortage: Bool { number == EMFILE || number == ENFILE || number == ENOMEM || number == ENOBUFS }

    /// Whether the call may succeed if it is repeated a little later.
    var isTemporary: Bool { number == EAGAIN || number == EINTR }
}

/// The value that a closure returned or the error that it threw, to pass through a function that can only return.
typealias Outcome<Value> = Result<Value, SystemError>

/// Returns the result of a system call, or throws errno if the result is negative.
@discardableResult
func checked(_ result: Int32) throws(SystemError) -> Int32 {
    if result < 0 { throw .last }
    return result
}

/// The calling thread's errno. O(1). Any thread.
var systemError: Int32 {
    get { linux_errno() }
    set { linux_set_errno(newValue) }
}

/// Runs `body` and restores errno afterwards, for code that its caller must not notice there.
@discardableResult
func preservingSystemError<Result>(_ body: () -> Result) -> Result {
    let saved = linux_errno()
    let result = body()
    linux_set_errno(saved)
    return result
}

/// The stream to which diagnostics are written.
enum StandardError {
    /// Writes bytes unchanged; what cannot be written is lost. One system call. Any thread.
    static func write(_ bytes: UnsafePointer<UInt8>, _ count: Int) {
        preservingSystemError { linux_write(2, bytes, count) }
    }
}
