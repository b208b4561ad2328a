import CLinux
import Synchronization

/// Diagnostics of callers' mistakes: one line to the error handler, after which the function returns its failure value. Calls user code
/// (the handler): call without a lock held. Never inlined into a hot path.
enum Misuse {
    typealias Handler = @convention(c) (UnsafePointer<CChar>?, UnsafeMutableRawPointer?) -> Void

    private nonisolated(unsafe) static var handler: Handler?
    private nonisolated(unsafe) static var handlerInfo: UnsafeMutableRawPointer?
    /// Guards `handler` and `handlerInfo`, so that a handler is always called with its own info.
    private static let handlerMutex = Mutex()

    /// Makes fork() acquire the mutex, so that the child does not find it locked. Outside fork(), it is never held together with another
    /// lock.
    private static let forkIsPrepared: Bool = {
        Thread.prepareFork(before: { handlerMutex.lock() }, inParent: { handlerMutex.unlock() }, inChild: { handlerMutex.unlock() })
        return true
    }()

    /// Sets the client's error handler. With nil, lines go to standard error. Any thread.
    static func setHandler(_ new: Handler?, _ info: UnsafeMutableRawPointer?) {
        _ = forkIsPrepared
        handlerMutex.lock()
        handler = new
        handlerInfo = info
        handlerMutex.unlock()
    }

    /// Reports a handle of the wrong kind as `runloop: FUNCTION: PARAMETER: expected EXPECTED, got …`. Sets errno, and may abort: see
    /// `deliver`.
    @inline(never)
    static func report(
        _ function: Name, _ parameter: Name, expected: Name, got handle: UnsafeRawPointer?
    ) {
        let got: Name =
            if handle == nil {
                "NULL"
            } else if let kind = Handle.kind(of: handle) {
                kind.name
            } else {
                "an invalid or freed pointer"
            }
        TextBuffer.build { text in
            begin(&text, function, parameter)
            text.append("expected ")
            text.append(expected)
            text.append(", got ")
            text.append(got)
            deliver(&text)
        }
    }

    /// Reports any other mistake as `runloop: FUNCTION: PARAMETER: PROBLEM`. Sets errno, and may abort: see `deliver`.
    @inline(never)
    static func report(_ function: Name, _ parameter: Name, _ problem: Name) {
        TextBuffer.build { text in
            begin(&text, function, parameter)
            text.append(problem)
            deliver(&text)
        }
    }

    /// Reports a mistake as `runloop: FUNCTION: PARAMETER: SUBJECT NUMBER PROBLEM`. Sets errno, and may abort: see `deliver`.
    static func report(_ function: Name, _ parameter: Name, _ subject: Name, _ number: Int, _ problem: Name) {
        TextBuffer.build { text in
            begin(&text, function, parameter)
            text.append(subject)
            text.append(" ", decimal: number)
            text.append(" ")
            text.append(problem)
            deliver(&text)
        }
    }

    /// Reports a mistake of another process as `runloop: SUBJECT: PARAMETER NUMBER PROBLEM`. Never aborts, since this process cannot
    /// prevent such mistakes. Preserves errno.
    static func warn(_ subject: Name, _ parameter: Name, _ number: Int, _ problem: Name) {
        TextBuffer.build { text in
            text.append("runloop: ")
            text.append(subject)
            text.append(": ")
            text.append(parameter)
            text.append(" ", decimal: number)
            text.append(" ")
            text.append(problem)
            preservingSystemError { write(&text) }
        }
    }

    /// Reports a failure of the system that no function's result shows, as `runloop: FUNCTION: PARAMETER: PROBLEM` followed by a reason.
    /// Never aborts. Preserves errno.
    @inline(never)
    static func warn(_ function: Name, _ parameter: Name, _ problem: Name, _ reason: Name) {
        TextBuffer.build { text in
            begin(&text, function, parameter)
            text.append(problem)
            text.append(reason)
            preservingSystemError { write(&text) }
        }
    }

    /// Appends `runloop: FUNCTION: PARAMETER: `.
    private static func begin(_ text: inout TextBuffer, _ function: Name, _ parameter: Name) {
        text.append("runloop: ")
        text.append(function)
        text.append(": ")
        text.append(parameter)
        text.append(": ")
    }

    /// Reports a mistake, and aborts if RUNLOOP_MISUSE is `abort`. Sets errno to EINVAL, for functions that have no other failure value.
    private static func deliver(_ text: inout TextBuffer) {
        write(&text)
        if let setting = getenv("RUNLOOP_MISUSE") {
            if strcmp(setting, "abort") == 0 { abort() }
            if setting.pointee != 0 && !hasReportedSetting.exchange(true, ordering: .relaxed) {
                warn("RUNLOOP_MISUSE", Name(setting), "unknown value ignored; the only valid value is abort", "")
            }
        }
        systemError = EINVAL
    }

    /// Whether an unknown value of RUNLOOP_MISUSE has been reported, which happens only once.
    private static let hasReportedSetting = Atomic(false)

    /// Passes a line to the client's error handler, or writes it to standard error if there is none.
    private static func write(_ text: inout TextBuffer) {
        _ = forkIsPrepared
        handlerMutex.lock()
        let current = handler
        let info = handlerInfo
        handlerMutex.unlock()
        if let current {
            text.withCString { current($0, info) }
        } else {
            text.withLine { StandardError.write($0, $1) }
        }
    }
}
