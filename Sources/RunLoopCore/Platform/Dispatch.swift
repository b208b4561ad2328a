import CLinux

/// libdispatch's interface for CFRunLoop, which serves the main queue. Available if libdispatch is in the process: its symbols are weak.
enum Dispatch {
    /// Whether libdispatch is in the process. Any thread.
    static var isThere: Bool { linux_has_dispatch() != 0 }

    /// Whether libdispatch's main queue is to be served: libdispatch is in the process, and the program was compiled with
    /// CoreFoundation/CFRunLoop.h. Any thread.
    static var isWanted: Bool { isThere && linux_wants_dispatch() != 0 }

    /// libdispatch's eventfd, which is readable when the main queue has work; created on first use. Any thread.
    static var mainQueueHandle: Int32 { linux_dispatch_handle() }

    /// Runs the functions on the main queue, which are user code. Main thread only; call without a lock held. Reads the eventfd first, so
    /// that work queued meanwhile makes it readable again.
    static func drainMainQueue() {
        var count: UInt64 = 0
        preservingSystemError { _ = linux_read(mainQueueHandle, &count, MemoryLayout<UInt64>.size) }
        linux_dispatch_drain()
    }
}
