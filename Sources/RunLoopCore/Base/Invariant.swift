/// Ends the process if `condition` is false, which means that the library itself has a bug. Callers' mistakes are reported by
/// `Object/Misuse.swift` instead.
///
/// Also checked in release builds. O(1). Any thread. Calls no user code.
func invariant(_ condition: @autoclosure () -> Bool) {
    if !condition() { brokenInvariant() }
}

/// Ends the process. Not inlined, so that a check costs only a comparison and a branch at the place where it is made.
@inline(never)
func brokenInvariant() -> Never {
    fatalError("runloop: broken invariant")
}
