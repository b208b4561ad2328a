import CLinux
import CRunLoop

// The functions that include/RunLoop/RLArray.h declares and documents.

/// A C array of pointers.
public typealias PointerList = UnsafeMutablePointer<UnsafeRawPointer?>

/// Returns the array behind a handle; otherwise reports the mistake and returns nil.
@inline(never)
private func borrow(_ array: OpaquePointer?, _ function: Name) -> ArrayPointer? { Handle.borrow(array, function, "array") }

/// Returns the array behind a handle if it may be changed; otherwise reports the mistake and returns nil.
@inline(never)
private func borrowMutable(_ array: OpaquePointer?, _ function: Name) -> ArrayPointer? {
    guard let array = borrow(array, function) else { return nil }
    if array.pointee.isMutable && !array.isBeingFreed { return array }
    Misuse.report(function, "array", array.isBeingFreed ? "being freed" : "not mutable")
    return nil
}

/// Returns the array behind a handle if `range` is within it; otherwise reports the mistake and returns nil.
@inline(never)
private func borrow(_ array: OpaquePointer?, _ range: RLRange, _ function: Name) -> ArrayPointer? {
    guard let array = borrow(array, function), checkRange(range, array.pointee.count, function) else { return nil }
    return array
}

@implementation @c
public func RLArrayGetTypeID() -> UInt { Kind.array.typeID }

@implementation @c
public func RLArrayCreate(
    _ allocator: OpaquePointer?, _ values: PointerList?, _ count: Int, _ callBacks: UnsafePointer<RLArrayCallBacks>?
) -> OpaquePointer? {
    guard checkBuffer(values, count, "RLArrayCreate", "values"), checkVersion(callBacks?.pointee.version, "RLArrayCreate") else {
        return nil
    }
    let calls = ElementCalls(callBacks?.pointee ?? RLArrayCallBacks())
    guard checkElements(values, count, acceptedBy: calls, "RLArrayCreate", "values") else { return nil }
    return ArrayPointer.create(UnsafePointer(values), count: count, calls)?.handle
}

@implementation @c
public func RLArrayCreateCopy(_ allocator: OpaquePointer?, _ array: OpaquePointer?) -> OpaquePointer? {
    borrow(array, "RLArrayCreateCopy")?.immutableCopy()?.handle
}

@implementation @c
public func RLArrayCreateMutable(_ allocator: OpaquePointer?, _ capacity: Int, _ callBacks: UnsafePointer<RLArrayCallBacks>?)
    -> OpaquePointer?
{
    guard checkNotNegative(capacity, "RLArrayCreateMutable", "capacity"),
        checkVersion(callBacks?.pointee.version, "RLArrayCreateMutable")
    else { return nil }
    return ArrayPointer.createMutable(capacity: capacity, ElementCalls(callBacks?.pointee ?? RLArrayCallBacks()))?.handle
}

@implementation @c
public func RLArrayCreateMutableCopy(_ allocator: OpaquePointer?, _ capacity: Int, _ array: OpaquePointer?) -> OpaquePointer? {
    guard let array = borrow(array, "RLArrayCreateMutableCopy"), checkNotNegative(capacity, "RLArrayCreateMutableCopy", "capacity"),
        let copy = ArrayPointer.createMutable(capacity: max(capacity, array.pointee.count), array.pointee.elementCalls)
    else { return nil }
    if copy.replace(0, 0, with: array.pointee.values, count: array.pointee.count) { return copy.handle }
    copy.release()
    return nil
}

@implementation @c
public func RLArrayGetCount(_ array: OpaquePointer?) -> Int { borrow(array, "RLArrayGetCount")?.pointee.count ?? 0 }

@implementation @c
public func RLArrayGetValueAtIndex(_ array: OpaquePointer?, _ index: Int) -> UnsafeRawPointer? {
    guard let array = borrow(array, "RLArrayGetValueAtIndex"), checkIndex(index, array.pointee.count, "RLArrayGetValueAtIndex")
    else { return nil }
    return array[value: index]
}

@implementation @c
public func RLArrayGetValues(_ array: OpaquePointer?, _ range: RLRange, _ values: PointerList?) {
    guard let array = borrow(array, range, "RLArrayGetValues"), checkBuffer(values, range.length, "RLArrayGetValues", "values"),
        let values
    else { return }
    memcpy(values, array.pointee.values + range.location, range.length * MemoryLayout<UnsafeRawPointer?>.stride)
}

@implementation @c
public func RLArrayApplyFunction(
    _ array: OpaquePointer?, _ range: RLRange,
    _ applier: (@convention(c) (UnsafeRawPointer?, UnsafeMutableRawPointer?) -> Void)?, _ context: UnsafeMutableRawPointer?
) {
    guard let array = borrow(array, range, "RLArrayApplyFunction"), checkNotNull(applier != nil, "RLArrayApplyFunction", "applier"),
        let applier
    else { return }
    for index in range.location..<(range.location + range.length) { ElementCalls.apply(applier, array[value: index], context) }
}

@implementation @c
public func RLArrayContainsValue(_ array: OpaquePointer?, _ range: RLRange, _ value: UnsafeRawPointer?) -> UInt8 {
    guard let array = borrow(array, range, "RLArrayContainsValue") else { return 0 }
    return array.firstIndex(of: value, from: range.location, range.length) == nil ? 0 : 1
}

@implementation @c
public func RLArrayGetFirstIndexOfValue(_ array: OpaquePointer?, _ range: RLRange, _ value: UnsafeRawPointer?) -> Int {
    borrow(array, range, "RLArrayGetFirstIndexOfValue")?.firstIndex(of: value, from: range.location, range.length) ?? -1
}

@implementation @c
public func RLArrayGetLastIndexOfValue(_ array: OpaquePointer?, _ range: RLRange, _ value: UnsafeRawPointer?) -> Int {
    guard let array = borrow(array, range, "RLArrayGetLastIndexOfValue") else { return -1 }
    var index = range.location + range.length - 1
    while index >= range.location && array.firstIndex(of: value, from: index, 1) == nil { index -= 1 }
    return index < range.location ? -1 : index
}

@implementation @c
public func RLArrayGetCountOfValue(_ array: OpaquePointer?, _ range: RLRange, _ value: UnsafeRawPointer?) -> Int {
    guard let array = borrow(array, range, "RLArrayGetCountOfValue") else { return 0 }
    var (count, start) = (0, range.location)
    let end = start + range.length
    while let index = array.firstIndex(of: value, from: start, end - start) {
        count += 1
        start = index + 1
    }
    return count
}

@implementation @c
public func RLArrayBSearchValues(
    _ array: OpaquePointer?, _ range: RLRange, _ value: UnsafeRawPointer?, _ comparator: ElementComparator?,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let array = borrow(array, range, "RLArrayBSearchValues"),
        checkNotNull(comparator != nil, "RLArrayBSearchValues", "comparator"), let comparator
    else { return -1 }
    return array.sortedIndex(of: value, range.location, range.length, comparator, context)
}

/// Inserts (`length` 0, `count` 1), replaces (1, 1) or removes (1, 0) one value at `index`; an `index` of nil stands for the end of the
/// array. If the arguments are wrong, reports that; if memory runs out, leaves the array unchanged and sets errno to ENOMEM. Calls retain
/// for a new value, then release for an old one.
@inline(never)
private func replaceOne(
    _ array: OpaquePointer?, _ index: Int?, _ length: Int, with value: UnsafeRawPointer?, count: Int, _ function: Name
) {
    guard let array = borrowMutable(array, function) else { return }
    let end = array.pointee.count
    let index = index ?? end
    // A value may also be inserted at the end, or set there, which appends it. Only an existing value can be removed.
    guard checkIndex(index, count == 1 ? end + 1 : end, function),
        count == 0 || checkElement(value, acceptedBy: array.pointee.elementCalls, function, "value")
    else { return }
    withUnsafePointer(to: value) { _ = array.replace(index, min(length, end - index), with: $0, count: count) }
}

@implementation @c
public func RLArrayAppendValue(_ array: OpaquePointer?, _ value: UnsafeRawPointer?) {
    replaceOne(array, nil, 0, with: value, count: 1, "RLArrayAppendValue")
}

@implementation @c
public func RLArrayInsertValueAtIndex(_ array: OpaquePointer?, _ index: Int, _ value: UnsafeRawPointer?) {
    replaceOne(array, index, 0, with: value, count: 1, "RLArrayInsertValueAtIndex")
}

@implementation @c
public func RLArraySetValueAtIndex(_ array: OpaquePointer?, _ index: Int, _ value: UnsafeRawPointer?) {
    replaceOne(array, index, 1, with: value, count: 1, "RLArraySetValueAtIndex")
}

@implementation @c
public func RLArrayRemoveValueAtIndex(_ array: OpaquePointer?, _ index: Int) {
    replaceOne(array, index, 1, with: nil, count: 0, "RLArrayRemoveValueAtIndex")
}

@implementation @c
public func RLArrayRemoveAllValues(_ array: OpaquePointer?) {
    guard let array = borrowMutable(array, "RLArrayRemoveAllValues") else { return }
    _ = array.replace(0, array.pointee.count, with: nil, count: 0)
}

@implementation @c
public func RLArrayReplaceValues(_ array: OpaquePointer?, _ range: RLRange, _ newValues: PointerList?, _ newCount: Int) {
    guard let array = borrowMutable(array, "RLArrayReplaceValues"), checkRange(range, array.pointee.count, "RLArrayReplaceValues"),
        checkBuffer(newValues, newCount, "RLArrayReplaceValues", "newValues"),
        checkElements(newValues, newCount, acceptedBy: array.pointee.elementCalls, "RLArrayReplaceValues", "newValues")
    else { return }
    _ = array.replace(range.location, range.length, with: newValues, count: newCount)
}

@implementation @c
public func RLArrayExchangeValuesAtIndices(_ array: OpaquePointer?, _ index1: Int, _ index2: Int) {
    guard let array = borrowMutable(array, "RLArrayExchangeValuesAtIndices"),
        checkIndex(index1, array.pointee.count, "RLArrayExchangeValuesAtIndices", "index1"),
        checkIndex(index2, array.pointee.count, "RLArrayExchangeValuesAtIndices", "index2")
    else { return }
    let values = array.pointee.values
    (values[index1], values[index2]) = (values[index2], values[index1])
}

@implementation @c
public func RLArraySortValues(
    _ array: OpaquePointer?, _ range: RLRange, _ comparator: ElementComparator?, _ context: UnsafeMutableRawPointer?
) {
    guard let array = borrowMutable(array, "RLArraySortValues"), checkRange(range, array.pointee.count, "RLArraySortValues"),
        checkNotNull(comparator != nil, "RLArraySortValues", "comparator"), let comparator
    else { return }
    _ = array.sort(range.location, range.length, comparator, context)
}

@implementation @c
public func RLArrayAppendArray(_ array: OpaquePointer?, _ otherArray: OpaquePointer?, _ otherRange: RLRange) {
    guard let array = borrowMutable(array, "RLArrayAppendArray"),
        let other: ArrayPointer = Handle.borrow(otherArray, "RLArrayAppendArray", "otherArray"),
        checkRange(otherRange, other.pointee.count, "RLArrayAppendArray", "otherRange")
    else { return }
    // They may be values of `array` itself: `replace` copies them first.
    let added = UnsafePointer(other.pointee.values + otherRange.location)
    guard checkElements(added, otherRange.length, acceptedBy: array.pointee.elementCalls, "RLArrayAppendArray", "otherArray") else {
        return
    }
    _ = array.replace(array.pointee.count, 0, with: added, count: otherRange.length)
}
