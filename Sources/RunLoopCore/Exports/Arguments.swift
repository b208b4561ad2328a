import CRunLoop

// Checks that the exports of several headers share. Never inlined: they are many calls of few instructions.

/// A byte pointer may be NULL for no bytes only.
@inline(never)
func isSane(_ bytes: UnsafePointer<UInt8>?, _ count: Int, _ function: Name, _ name: Name = "count") -> Bool {
    guard isNotNegative(count, function, name) else { return false }
    if bytes == nil && count > 0 {
        Misuse.report(function, "bytes", expected: "bytes", got: nil)
        return false
    }
    return true
}

/// A list of pointers may be NULL for no pointers only.
@inline(never)
func isSane(
    _ values: UnsafeMutablePointer<UnsafeRawPointer?>?, _ count: Int, _ function: Name, _ name: Name
) -> Bool {
    guard isNotNegative(count, function, "count") else { return false }
    if values == nil && count > 0 {
        Misuse.report(function, name, expected: "values", got: nil)
        return false
    }
    return true
}

/// A diagnostic for a number that is less than 0.
@inline(never)
func isNotNegative(_ number: Int, _ function: Name, _ name: Name) -> Bool {
    if number >= 0 { return true }
    Misuse.report(function, name, "negative")
    return false
}

/// All structs of callbacks have version 0.
@inline(never)
func isKnown(version: Int?, _ function: Name, _ name: Name = "callBacks") -> Bool {
    if (version ?? 0) == 0 { return true }
    Misuse.report(function, name, "version must be 0")
    return false
}

/// A diagnostic for a function or a place that is NULL.
@inline(never)
func isThere(_ pointer: Bool, _ function: Name, _ name: Name) -> Bool {
    if pointer { return true }
    Misuse.report(function, name, "NULL")
    return false
}

/// Whether a client's range lies within `count` elements; a diagnostic if not.
@inline(never)
func isInside(_ range: RLRange, _ count: Int, _ function: Name, _ name: Name = "range") -> Bool {
    if range.location >= 0 && range.length >= 0 && range.location <= count && range.length <= count - range.location { return true }
    Misuse.report(function, name, "out of bounds")
    return false
}

/// Whether a client's index is below `count`; a diagnostic if not.
@inline(never)
func isInside(_ index: Int, _ count: Int, _ function: Name, _ name: Name = "index") -> Bool {
    if index >= 0 && index < count { return true }
    Misuse.report(function, name, "out of bounds")
    return false
}
