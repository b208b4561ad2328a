/// Our own mistakes are not treated kindly: a broken invariant ends the process at once.
/// Callers' mistakes never come here; they are reported by `Object/Misuse.swift`.
///
/// O(1), any thread, calls no user code. Compiled out of nothing: checks are cheap and stay.
@inline(__always)
func invariant(_ condition: @autoclosure () -> Bool) {
    if !condition() { brokenInvariant() }
}

/// Kept out of line so that a check costs a compare and a branch where it stands.
@inline(never)
func brokenInvariant() -> Never {
    fatalError("runloop: broken invariant")
}
