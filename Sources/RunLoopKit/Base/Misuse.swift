import CLinux

/// Diagnostics of callers' mistakes, as librunloop's: one line on standard error, then the function returns its failure value. Any
/// thread.
enum Misuse {
    /// Reports `runloop: FUNCTION: PARAMETER: PROBLEM`.
    @inline(never)
    static func report(_ function: Name, _ parameter: Name, _ problem: Name) {
        line(function, parameter) { $0.append(problem) }
        finish()
    }

    /// Reports `runloop: FUNCTION: PARAMETER: expected EXPECTED, got GOT`, for an argument of the wrong kind.
    @inline(never)
    static func report(_ function: Name, _ parameter: Name, expected: Name, got: Name) {
        line(function, parameter) { text in
            text.append("expected ")
            text.append(expected)
            text.append(", got ")
            text.append(got)
        }
        finish()
    }

    /// Writes `runloop: FUNCTION: PARAMETER: PROBLEM` for a failure of the system that no result of a function shows. Never aborts. Leaves
    /// errno as it was.
    @inline(never)
    static func warn(_ function: Name, _ parameter: Name, _ problem: Name) {
        line(function, parameter) { $0.append(problem) }
    }

    private static func line(_ function: Name, _ parameter: Name, _ problem: (inout TextBuffer) -> Void) {
        TextBuffer.build { text in
            text.append("runloop: ")
            text.append(function)
            text.append(": ")
            text.append(parameter)
            text.append(": ")
            problem(&text)
            text.withLine { StandardError.write($0, $1) }
        }
    }

    /// Aborts if RUNLOOP_MISUSE says so, and sets errno to EINVAL, for functions that have no other failure value.
    private static func finish() {
        if let setting = getenv("RUNLOOP_MISUSE"), strcmp(setting, "abort") == 0 { abort() }
        systemError = EINVAL
    }
}
