import CLinux

/// The stack position of a loop's activation, used to detect that longjmp has left one of its callbacks. The activation no longer exists
/// then, but still counts as running. Continuing would cause errors that show much later, so the process ends with a diagnostic.
struct StackPlace: BitwiseCopyable {
    private let frame: UInt
    private let returnAddress: UInt

    /// Creates the value that stands for no activation.
    init() {
        frame = 0
        returnAddress = 0
    }

    /// Creates the position of an activation. `frame` is the stack frame of the function that runs the loop, from `linux_frame`.
    init(frame: UInt) {
        self.frame = frame
        returnAddress = linux_return_address(frame)
    }

    /// Returns whether a jump has left this activation, judging from a new one that begins while this one counts as running. The stack
    /// grows downwards. So a new activation that is not below this one proves a jump, provided that both are on the thread's own stack: a
    /// coroutine's stack may be anywhere. If it is below, a changed return address proves a jump: calls made after a jump soon overwrite
    /// the address, and a coroutine never does.
    func isLeft(by inner: StackPlace) -> Bool {
        if inner.frame >= frame { return Self.isOnOwnStack(frame) && Self.isOnOwnStack(inner.frame) }
        return linux_return_address(frame) != returnAddress
    }

    /// Returns whether an address is on the calling thread's own stack. Slow: for the main thread, this reads /proc/self/maps.
    @inline(never)
    private static func isOnOwnStack(_ address: UInt) -> Bool { linux_stack_has(address) != 0 }

    /// Reports that longjmp left a callback, and ends the process.
    @inline(never)
    static func reportJump() -> Never {
        TextBuffer.build { text in
            text.append("runloop: longjmp left a run loop callback; a callback must return or end its thread (see RLBase.h); aborting\n")
            text.withBytes { StandardError.write($0, $1) }
        }
        abort()
    }
}
