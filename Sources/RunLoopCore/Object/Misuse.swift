import CLinux
import Synchronization

/// What is done about callers' mistakes: one line to the error handler, then the call does nothing.
/// Never inlined into a hot path; calls user code (the handler), so never with a lock held.
enum Misuse {
    typealias Handler = @convention(c) (UnsafePointer<CChar>?, UnsafeMutableRawPointer?) -> Void

    private nonisolated(unsafe) static var handler: Handler?
    private nonisolated(unsafe) static var handlerInfo: UnsafeMutableRawPointer?
    /// Guards the two above: a handler must meet its own info.
    private static let handlerMutex = Mutex()

    /// nil: standard error. Any thread.
    static func setHandler(_ new: Handler?, _ info: UnsafeMutableRawPointer?) {
        handlerMutex.lock()
        handler = new
        handlerInfo = info
        handlerMutex.unlock()
    }

    /// Around fork().
    static func lockBeforeFork() { handlerMutex.lock() }

    /// After it, in parent and child.
    static func unlockAfterFork() { handlerMutex.unlock() }

    /// `runloop: FUNCTION: PARAMETER: expected EXPECTED, got …` for a handle of the wrong kind.
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

    /// `runloop: FUNCTION: PARAMETER: PROBLEM` for everything else.
    @inline(never)
    static func report(_ function: Name, _ parameter: Name, _ problem: Name) {
        TextBuffer.build { text in
            begin(&text, function, parameter)
            text.append(problem)
            deliver(&text)
        }
    }

    /// `runloop: SUBJECT: process 123 PROBLEM` for what another process does wrong: nothing that this one could help, so it is
    /// told to the handler and aborts nothing.
    @inline(never)
    static func warn(_ subject: Name, _ parameter: Name, _ number: Int, _ problem: Name) {
        TextBuffer.build { text in
            text.append("runloop: ")
            text.append(subject)
            text.append(": ")
            text.append(parameter)
            text.append(" ", decimal: number)
            text.append(" ")
            text.append(problem)
            preservingSystemError { tell(&text) }
        }
    }

    /// `runloop: FUNCTION: PARAMETER: PROBLEMREASON` for a failure of the system that no result tells of: it aborts nothing.
    @inline(never)
    static func warn(_ function: Name, _ parameter: Name, _ problem: Name, _ reason: Name) {
        TextBuffer.build { text in
            begin(&text, function, parameter)
            text.append(problem)
            text.append(reason)
            preservingSystemError { tell(&text) }
        }
    }

    private static func begin(_ text: inout TextBuffer, _ function: Name, _ parameter: Name) {
        text.append("runloop: ")
        text.append(function)
        text.append(": ")
        text.append(parameter)
        text.append(": ")
    }

    /// errno is EINVAL afterwards: for callers that have no other failure value.
    private static func deliver(_ text: inout TextBuffer) {
        tell(&text)
        if let wish = getenv("RUNLOOP_MISUSE") {
            if strcmp(wish, "abort") == 0 { abort() }
            if strlen(wish) > 0 && !hasToldOfWish.exchange(true, ordering: .relaxed) { tellOfUnknownWish(wish) }
        }
        systemError = EINVAL
    }

    private static let hasToldOfWish = Atomic(false)

    /// Once, where a known value would have had an effect.
    @inline(never)
    private static func tellOfUnknownWish(_ wish: UnsafePointer<CChar>) {
        TextBuffer.build { text in
            text.append("runloop: RUNLOOP_MISUSE=")
            text.append(UnsafeRawPointer(wish).assumingMemoryBound(to: UInt8.self), min(Int(strlen(wish)), 64))
            text.append(": unknown value ignored; the only known one is abort")
            tell(&text)
        }
    }

    private static func tell(_ text: inout TextBuffer) {
        handlerMutex.lock()
        let current = handler
        let info = handlerInfo
        handlerMutex.unlock()
        if let current {
            text.withCString { current($0, info) }
        } else {
            text.append("\n")
            text.withBytes { StandardError.write($0, $1) }
        }
    }
}
