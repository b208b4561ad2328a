import CLinux
import CRunLoop

/// Diagnostics of callers' mistakes, as librunloop's: one line to its error handler, or on standard error, then the function returns its
/// failure value. Calls user code (the handler), so never with a lock held. Any thread.
enum Misuse {
    /// Reports `runloop: FUNCTION: PARAMETER: PROBLEM`. Sets errno to EINVAL, for functions that have no other failure value.
    @inline(never)
    static func report(_ function: Name, _ parameter: Name, _ problem: Name) {
        RLReportError(function.characters, parameter.characters, problem.characters, 1)
    }

    /// Reports `runloop: FUNCTION: PARAMETER: expected EXPECTED, got GOT`, for an argument of the wrong kind. Sets errno to EINVAL.
    @inline(never)
    static func report(_ function: Name, _ parameter: Name, expected: Name, got: Name) {
        TextBuffer.build { text in
            text.append("expected ")
            text.append(expected)
            text.append(", got ")
            text.append(got)
            text.withCString { report(function, parameter, Name($0)) }
        }
    }

    /// Reports `runloop: FUNCTION: PARAMETER: PROBLEM` for a failure of the system that no result of a function shows. Never aborts. Leaves
    /// errno as it was.
    @inline(never)
    static func warn(_ function: Name, _ parameter: Name, _ problem: Name) {
        RLReportError(function.characters, parameter.characters, problem.characters, 0)
    }
}

extension Name {
    fileprivate var characters: UnsafePointer<CChar> { UnsafeRawPointer(text).assumingMemoryBound(to: CChar.self) }
}
