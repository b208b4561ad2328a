import CLinux

/// The system's error number of the calling thread. O(1), any thread.
var systemError: Int32 {
    @inline(__always) get { linux_errno() }
    @inline(__always) set { linux_set_errno(newValue) }
}

/// Where diagnostics go.
enum StandardError {
    /// Writes bytes as they are; what cannot be written is lost. One system call. Leaves errno as it was. Any thread.
    static func write(_ bytes: UnsafePointer<UInt8>, _ count: Int) {
        preservingSystemError { _ = linux_write(2, bytes, count) }
    }
}

/// Runs `body` and puts errno back: for what must be invisible to the code it interrupts or follows.
@inline(__always)
func preservingSystemError(_ body: () -> Void) {
    let saved = linux_errno()
    body()
    linux_set_errno(saved)
}
