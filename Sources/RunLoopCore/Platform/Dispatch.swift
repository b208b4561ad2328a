import CLinux

/// The interface that libdispatch has for CFRunLoop, if libdispatch is in the process (its symbols are weak): serving the main queue.
enum Dispatch {
    /// Whether libdispatch is in the process.
    static var isThere: Bool { linux_has_dispatch() != 0 }

    /// Whether libdispatch's main queue is to be served: if the program was compiled with CoreFoundation/CFRunLoop.h.
    static var isWanted: Bool { isThere && linux_wants_dispatch() != 0 }

    /// libdispatch's eventfd, readable when the main queue has work; made at the first call. Any thread.
    static var mainQueueHandle: Int32 { linux_dispatch_handle() }

    /// Runs the functions on the main queue, which are user code. The main thread, without a lock. The eventfd is read first, so that work
    /// queued meanwhile makes it readable again.
    static func drainMainQueue() {
        var count: UInt64 = 0
        preservingSystemError { _ = linux_read(mainQueueHandle, &count, MemoryLayout<UInt64>.size) }
        linux_dispatch_drain()
    }
}
