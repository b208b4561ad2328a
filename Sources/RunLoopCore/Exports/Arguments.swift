import CRunLoop

// Argument checks, and other helpers, that the functions of several headers share. Each check reports what is wrong. Most are not inlined,
// because they are called from many places.

/// Returns whether a byte pointer and a count match: NULL is valid only for 0 bytes.
@inline(never)
func isValidBuffer(_ bytes: UnsafePointer<UInt8>?, _ count: Int, _ function: Name, _ name: Name = "count") -> Bool {
    guard isNotNegative(count, function, name) else { return false }
    if bytes == nil && count > 0 {
        Misuse.report(function, "bytes", expected: "bytes", got: nil)
        return false
    }
    return true
}

/// Returns whether a list of pointers and a count match: NULL is valid only for an empty list.
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

/// Returns whether a collection accepts these values.
func isTaken(
    _ values: UnsafePointer<UnsafeRawPointer?>?, _ count: Int, by elements: ElementCalls, _ function: Name, _ name: Name
) -> Bool {
    // A collection that accepts anything also accepts NULL. A count that exceeds the available memory is refused where memory is allocated.
    guard let values, !elements.takes(nil) else { return true }
    for index in 0..<count where !elements.takes(values[index]) {
        Misuse.report(function, name, expected: "an object", got: values[index])
        return false
    }
    return true
}

/// Returns whether a collection accepts this value.
func isTaken(_ value: UnsafeRawPointer?, by elements: ElementCalls, _ function: Name, _ name: Name) -> Bool {
    withUnsafePointer(to: value) { isTaken($0, 1, by: elements, function, name) }
}

/// Puts an element into a set or a dictionary. Returns false if the collection does not accept it. As in CF, a value that would not be
/// stored is not checked.
@inline(never)
func put(
    _ key: UnsafeRawPointer?, _ value: UnsafeRawPointer?, _ policy: TablePointer.Policy, into table: TablePointer, _ function: Name,
    _ keyName: Name, _ valueName: Name
) -> Bool {
    if policy == .replace && table.pointee.count == 0 { return true }
    guard isTaken(key, by: table.pointee.keys, function, keyName) else { return false }
    if !table.pointee.values.takes(value) {
        let isPresent = table.find(key) != nil
        let isStored = policy == .set || isPresent == (policy == .replace)
        return !isStored || isTaken(value, by: table.pointee.values, function, valueName)
    }
    _ = table.put(key, value, policy)
    return true
}

/// Returns whether a number is at least 0.
@inline(never)
func isNotNegative(_ number: Int, _ function: Name, _ name: Name) -> Bool {
    if number >= 0 { return true }
    Misuse.report(function, name, "negative")
    return false
}

/// Returns whether a struct of callbacks has version 0, the only one there is; nil stands for no struct.
@inline(never)
func isSupported(version: Int?, _ function: Name, _ name: Name = "callBacks") -> Bool {
    if (version ?? 0) == 0 { return true }
    Misuse.report(function, name, "version must be 0")
    return false
}

/// Returns `pointer`, which is whether a client's pointer is not NULL, and reports NULL if it is false.
@inline(never)
func isNotNull(_ pointer: Bool, _ function: Name, _ name: Name) -> Bool {
    if pointer { return true }
    Misuse.report(function, name, "NULL")
    return false
}

/// Returns whether a client's range lies within `count` elements.
@inline(never)
func isInside(_ range: RLRange, _ count: Int, _ function: Name, _ name: Name = "range") -> Bool {
    if range.location >= 0 && range.length >= 0 && range.location <= count && range.length <= count - range.location { return true }
    Misuse.report(function, name, "out of bounds")
    return false
}

/// Returns whether a client's index is at least 0 and less than `count`.
@inline(never)
func isInside(_ index: Int, _ count: Int, _ function: Name, _ name: Name = "index") -> Bool {
    if index >= 0 && index < count { return true }
    Misuse.report(function, name, "out of bounds")
    return false
}

/// Sets the capacity of a port's queue, in messages, for ports of either kind. Does nothing for a port without a queue.
@inline(never)
func setCapacity(of queue: UnsafeMutablePointer<PortQueue>?, _ capacity: Int, _ function: Name) {
    guard let queue else { return }
    guard capacity > 0 else { return Misuse.report(function, "capacity", "not positive") }
    queue.setCapacity(UInt32(min(capacity, Int(Int32.max))))
}

// MARK: contexts

// All contexts except those of sources have the same layout: a version, which is 0, followed by the fields of `ClientContext`. A test
// checks this.

/// Returns whether a context has version 0.
@inline(never)
private func isSupported(context: UnsafeRawPointer, _ function: Name) -> Bool {
    isSupported(version: context.load(as: Int.self), function, "context")
}

/// Returns the context that a client passes to a function that creates an object; nil if its version is not 0. NULL is an empty context.
@inline(never)
func loadContext(_ context: UnsafeRawPointer?, _ function: Name) -> ClientContext? {
    guard let context else { return .empty }
    return isSupported(context: context, function) ? context.load(fromByteOffset: 8, as: ClientContext.self) : nil
}

/// Stores the context that `own` returns in the client's struct, unless that is NULL or requests a version other than 0.
func storeContext(_ context: UnsafeMutableRawPointer?, _ function: Name, _ own: () -> ClientContext) {
    if let context = output(context, function) { context.storeBytes(of: own(), toByteOffset: 8, as: ClientContext.self) }
}

/// Returns the client's struct for a context to be stored in; nil if it is NULL or requests a version other than 0.
@inline(never)
private func output(_ context: UnsafeMutableRawPointer?, _ function: Name) -> UnsafeMutableRawPointer? {
    guard let context else {
        Misuse.report(function, "context", expected: "a context", got: nil)
        return nil
    }
    return isSupported(context: context, function) ? context : nil
}
