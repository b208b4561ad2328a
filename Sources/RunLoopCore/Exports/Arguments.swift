import CRunLoop

// Checks that the exports of several headers share. Never inlined: they are many calls of few instructions.

/// A byte pointer may be NULL for no bytes only.
@inline(never)
func isValidBuffer(_ bytes: UnsafePointer<UInt8>?, _ count: Int, _ function: Name, _ name: Name = "count") -> Bool {
    guard isNotNegative(count, function, name) else { return false }
    if bytes == nil && count > 0 {
        Misuse.report(function, "bytes", expected: "bytes", got: nil)
        return false
    }
    return true
}

/// A list of pointers may be NULL for no pointers only.
@inline(never)
func isValidBuffer(
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
func isSupported(version: Int?, _ function: Name, _ name: Name = "callBacks") -> Bool {
    if (version ?? 0) == 0 { return true }
    Misuse.report(function, name, "version must be 0")
    return false
}

/// A diagnostic for a function or a place that is NULL.
@inline(never)
func isNotNull(_ pointer: Bool, _ function: Name, _ name: Name) -> Bool {
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

/// How many messages a port of either kind holds; nothing for nil.
@inline(never)
func setCapacity(of queue: UnsafeMutablePointer<PortQueue>?, _ capacity: Int, _ function: Name) {
    guard let queue else { return }
    guard capacity > 0 else { return Misuse.report(function, "capacity", "not positive") }
    queue.setCapacity(UInt32(min(capacity, Int(Int32.max))))
}

// MARK: contexts. Those of all objects but sources are alike: a version, which is 0, then what `ClientContext` has (a test compares).

/// A diagnostic for a context that has another version.
@inline(never)
private func isSupported(context: UnsafeRawPointer, _ function: Name) -> Bool {
    isSupported(version: context.load(as: Int.self), function, "context")
}

/// What a client gives an object when it makes it; nil, and a diagnostic, for another version.
@inline(never)
func loadContext(_ context: UnsafeRawPointer?, _ function: Name) -> ClientContext? {
    guard let context else { return .empty }
    return isSupported(context: context, function) ? context.load(fromByteOffset: 8, as: ClientContext.self) : nil
}

/// Tells a client what `own` is now, if it has a place for it.
@inline(__always)
func storeContext(_ context: UnsafeMutableRawPointer?, _ function: Name, _ own: () -> ClientContext) {
    if let context = output(context, function) { context.storeBytes(of: own(), toByteOffset: 8, as: ClientContext.self) }
}

/// A place for a context; nil, and a diagnostic, if there is none or the client wants another version.
@inline(never)
private func output(_ context: UnsafeMutableRawPointer?, _ function: Name) -> UnsafeMutableRawPointer? {
    guard let context else {
        Misuse.report(function, "context", expected: "a context", got: nil)
        return nil
    }
    return isSupported(context: context, function) ? context : nil
}
