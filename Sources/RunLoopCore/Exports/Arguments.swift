import CRunLoop

// Argument checks, and other helpers, that the functions of several headers share. A function whose name begins with `check` returns true
// if an argument is valid; otherwise it reports the mistake (`Misuse`), which may call the client's error handler, and returns false. Call
// without a lock held. `function` is the name of the exported function that the client has called. Most are not inlined, because they are
// called from many places.

/// Checks that a byte pointer and a count match: NULL is valid only for 0 bytes. `name` is the parameter with the count.
@inline(never)
func checkBuffer(_ bytes: UnsafePointer<UInt8>?, _ count: Int, _ function: Name, _ name: Name = "count") -> Bool {
    guard checkNotNegative(count, function, name) else { return false }
    if bytes == nil && count > 0 {
        Misuse.report(function, "bytes", expected: "bytes", got: nil)
        return false
    }
    return true
}

/// Checks that a list of pointers and a count match: NULL is valid only for an empty list. `name` is the parameter with the list.
@inline(never)
func checkBuffer(
    _ values: UnsafeMutablePointer<UnsafeRawPointer?>?, _ count: Int, _ function: Name, _ name: Name
) -> Bool {
    guard checkNotNegative(count, function, "count") else { return false }
    if values == nil && count > 0 {
        Misuse.report(function, name, expected: "values", got: nil)
        return false
    }
    return true
}

/// Checks that a collection with these callbacks accepts the values. Retains nothing.
func checkElements(
    _ values: UnsafePointer<UnsafeRawPointer?>?, _ count: Int, acceptedBy calls: ElementCalls, _ function: Name, _ name: Name
) -> Bool {
    // A collection that accepts anything also accepts NULL. A count that exceeds the available memory is refused where memory is allocated.
    guard let values, !calls.accepts(nil) else { return true }
    for index in 0..<count where !calls.accepts(values[index]) {
        Misuse.report(function, name, expected: "an object", got: values[index])
        return false
    }
    return true
}

/// Checks that a collection with these callbacks accepts the value. Retains nothing.
func checkElement(_ value: UnsafeRawPointer?, acceptedBy calls: ElementCalls, _ function: Name, _ name: Name) -> Bool {
    withUnsafePointer(to: value) { checkElements($0, 1, acceptedBy: calls, function, name) }
}

/// Puts an element into a set or a dictionary. Returns false, after a report, if the collection does not accept it. As in CF, a value that
/// would not be stored is not checked. If memory runs out, returns true with ENOMEM and the collection is unchanged. Calls hash, equal,
/// retain and release.
@inline(never)
func put(
    _ key: UnsafeRawPointer?, _ value: UnsafeRawPointer?, _ policy: TablePointer.Policy, into table: TablePointer, _ function: Name,
    _ keyName: Name, _ valueName: Name
) -> Bool {
    if policy == .replace && table.pointee.count == 0 { return true }
    guard checkElement(key, acceptedBy: table.pointee.keyCalls, function, keyName) else { return false }
    if !table.pointee.valueCalls.accepts(value) {
        let isPresent = table.find(key) != nil
        let isStored = policy == .set || isPresent == (policy == .replace)
        return !isStored || checkElement(value, acceptedBy: table.pointee.valueCalls, function, valueName)
    }
    _ = table.put(key, value, policy)
    return true
}

/// Checks that a number is at least 0.
@inline(never)
func checkNotNegative(_ number: Int, _ function: Name, _ name: Name) -> Bool {
    if number >= 0 { return true }
    Misuse.report(function, name, "negative")
    return false
}

/// Checks that a struct of callbacks has version 0, the only one there is; nil stands for no struct.
@inline(never)
func checkVersion(_ version: Int?, _ function: Name, _ name: Name = "callBacks") -> Bool {
    if (version ?? 0) == 0 { return true }
    Misuse.report(function, name, "version must be 0")
    return false
}

/// Checks that a pointer is not NULL. The caller passes whether it is not, because pointers have many types.
@inline(never)
func checkNotNull(_ isPresent: Bool, _ function: Name, _ name: Name) -> Bool {
    if isPresent { return true }
    Misuse.report(function, name, "NULL")
    return false
}

/// Checks that a range lies within `count` elements.
@inline(never)
func checkRange(_ range: RLRange, _ count: Int, _ function: Name, _ name: Name = "range") -> Bool {
    if range.location >= 0 && range.length >= 0 && range.location <= count && range.length <= count - range.location { return true }
    Misuse.report(function, name, "out of bounds")
    return false
}

/// Checks that an index is at least 0 and less than `count`.
@inline(never)
func checkIndex(_ index: Int, _ count: Int, _ function: Name, _ name: Name = "index") -> Bool {
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

/// Checks that a context has version 0.
@inline(never)
private func checkVersion(of context: UnsafeRawPointer, _ function: Name) -> Bool {
    checkVersion(context.load(as: Int.self), function, "context")
}

/// Returns the context that a client passes to a function that creates an object; nil, after a report, if its version is not 0. NULL stands
/// for an empty context.
@inline(never)
func loadContext(_ context: UnsafeRawPointer?, _ function: Name) -> ClientContext? {
    guard let context else { return .empty }
    return checkVersion(of: context, function) ? context.load(fromByteOffset: 8, as: ClientContext.self) : nil
}

/// Stores the context that `own` returns in the client's struct, unless that is NULL or requests a version other than 0, which is reported.
func storeContext(_ context: UnsafeMutableRawPointer?, _ function: Name, _ own: () -> ClientContext) {
    if let context = output(context, function) { context.storeBytes(of: own(), toByteOffset: 8, as: ClientContext.self) }
}

/// Returns the client's struct for a context to be stored in; nil, after a report, if it is NULL or requests a version other than 0.
@inline(never)
private func output(_ context: UnsafeMutableRawPointer?, _ function: Name) -> UnsafeMutableRawPointer? {
    guard let context else {
        Misuse.report(function, "context", expected: "a context", got: nil)
        return nil
    }
    return checkVersion(of: context, function) ? context : nil
}
