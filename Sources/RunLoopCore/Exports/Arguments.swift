import CRunLoop

// Checks that the exports of several headers share.

/// A byte pointer may be NULL for no bytes only.
func isSane(_ bytes: UnsafePointer<UInt8>?, _ count: Int, _ function: StaticString, _ name: StaticString = "count") -> Bool {
    if count < 0 {
        Misuse.report(function, name, "negative")
        return false
    }
    if bytes == nil && count > 0 {
        Misuse.report(function, "bytes", expected: "bytes", got: nil)
        return false
    }
    return true
}

/// Whether a client's range lies within `count` elements; a diagnostic if not.
func isInside(_ range: RLRange, _ count: Int, _ function: StaticString) -> Bool {
    if range.location >= 0 && range.length >= 0 && range.location <= count && range.length <= count - range.location { return true }
    Misuse.report(function, "range", "out of bounds")
    return false
}
