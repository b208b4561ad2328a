/// Ends the process if `condition` is false: the library itself has a bug. Callers' mistakes are reported instead, by
/// `Object/Misuse.swift`.
///
/// O(1), any thread, calls no user code. Also checked in release builds.
func invariant(_ condition: @autoclosure () -> Bool) {
    if !condition() { brokenInvariant() }
}

/// Ends the process. Not inlined, so that a check costs only a comparison and a branch where it is made.
@inline(never)
func brokenInvariant() -> Never {
    fatalError("runloop: broken invariant")
}
