import CLinux
import Synchronization

/// Diagnostics of callers' mistakes: one line to the error handler, then the function returns its failure value. Calls user code
/// (the handler), so never with a lock held; never inlined into a hot path.
enum Misuse {
    typealias Handler = @convention(c) (UnsafePointer<CChar>?, UnsafeMutableRawPointer?) -> Void

    private nonisolated(unsafe) static var handler: Handler?
    private nonisolated(unsafe) static var handlerInfo: UnsafeMutableRawPointer?
    /// Guards `handler` and `handlerInfo`, so that a handler is called with its own info.
    private static let handlerMutex = Mutex()

    /// Whether fork() takes the mutex, so that a child does not find it locked. No other lock is taken under it, and it is taken under none.
    private static let forkIsPrepared: Bool = {
        Thread.prepareFork(before: { handlerMutex.lock() }, inParent: { handlerMutex.unlock() }, inChild: { handlerMutex.unlock() })
        return true
    }()

    /// Sets the client's error handler; nil: lines go to standard error. Any thread.
    static func setHandler(_ new: Handler?, _ info: UnsafeMutableRawPointer?) {
        _ = forkIsPrepared
        handlerMutex.lock()
        handler = new
        handlerInfo = info
        handlerMutex.unlock()
    }

    /// Reports `runloop: FUNCTION: PARAMETER: expected EXPECTED, got …`, for a handle of the wrong kind. Sets errno, and may abort: see
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
                "something that is not a live object"
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

    /// Reports `runloop: FUNCTION: PARAMETER: PROBLEM`, for every other mistake. Sets errno, and may abort: see `deliver`.
    @inline(never)
    static func report(_ function: Name, _ parameter: Name, _ problem: Name) {
        TextBuffer.build { text in
            begin(&text, function, parameter)
            text.append(problem)
            deliver(&text)
        }
    }

    /// Reports `runloop: SUBJECT: PARAMETER NUMBER PROBLEM`, for mistakes of another process. Never aborts, since this process cannot
    /// prevent them. Leaves errno as it was.
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

    /// Reports `runloop: FUNCTION: PARAMETER: PROBLEM` and a reason, for a failure of the system that no result of a function
    /// shows. Never aborts. Leaves errno as it was.
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

    /// Reports a mistake, and aborts if RUNLOOP_MISUSE says so. Sets errno to EINVAL, for functions that have no other failure
    /// value.
    private static func deliver(_ text: inout TextBuffer) {
        write(&text)
        if let setting = getenv("RUNLOOP_MISUSE") {
            if strcmp(setting, "abort") == 0 { abort() }
            if setting.pointee != 0 && !hasReportedSetting.exchange(true, ordering: .relaxed) {
                warn("RUNLOOP_MISUSE", Name(setting), "unknown value ignored; the only known one is abort", "")
            }
        }
        systemError = EINVAL
    }

    /// Whether an unknown value of RUNLOOP_MISUSE has been reported, which happens once.
    private static let hasReportedSetting = Atomic(false)

    /// Hands a line to the client's error handler, or writes it to standard error.
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
