import CLinux

/// libdispatch's main queue, if libdispatch is in the process: what it offers to CFRunLoop. The symbols are weak.
enum Dispatch {
    static var isThere: Bool { linux_has_dispatch() != 0 }

    /// Whether the program was compiled with CoreFoundation/CFRunLoop.h.
    static var isWanted: Bool { isThere && linux_wants_dispatch() != 0 }

    /// An eventfd, readable when the main queue has work; made at the first call. Any thread.
    static var mainQueueHandle: Int32 { linux_dispatch_handle() }

    /// Runs what is on the main queue; calls user code. The main thread. The eventfd is taken back first, so that work that
    /// comes meanwhile makes it readable again.
    static func drainMainQueue() {
        var count: UInt64 = 0
        preservingSystemError { _ = linux_read(mainQueueHandle, &count, MemoryLayout<UInt64>.size) }
        linux_dispatch_drain()
    }
}
