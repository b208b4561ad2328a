import CLinux
import CRunLoop

/// Diagnostics of API misuse, as in librunloop: one line goes to the error handler, or to standard error if there is none, and the function
/// returns its failure value. Calls user code (the error handler), so call without a lock held. Any thread.
enum Misuse {
    /// Reports `runloop: FUNCTION: PARAMETER: PROBLEM`. Sets errno to EINVAL, for functions whose result cannot show the failure.
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

    /// Reports, in the words of librunloop, that a handle was freed while the kit still had references to it: a client has released it too
    /// often. The caller leaves the object's memory allocated, because the kit goes on using it. Preserves errno.
    @inline(never)
    static func reportOverRelease() {
        preservingSystemError { report("RLRelease", "object", "released more often than retained") }
    }

    /// Reports `runloop: FUNCTION: PARAMETER: PROBLEM` for a system failure that no function's result shows. Never aborts. Preserves errno.
    @inline(never)
    static func warn(_ function: Name, _ parameter: Name, _ problem: Name) {
        RLReportError(function.characters, parameter.characters, problem.characters, 0)
    }
}

extension Name {
    fileprivate var characters: UnsafePointer<CChar> { UnsafeRawPointer(text).assumingMemoryBound(to: CChar.self) }
}
