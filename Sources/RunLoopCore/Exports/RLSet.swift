import CLinux
import CRunLoop

// The functions that include/RunLoop/RLSet.h declares and documents.

@inline(never)
private func borrow(_ set: OpaquePointer?, _ function: Name) -> TablePointer? {
    let set: SetPointer? = Handle.borrow(set, function, "set")
    return set?.table
}

@inline(never)
private func borrowMutable(_ set: OpaquePointer?, _ function: Name) -> TablePointer? {
    guard let set = borrow(set, function) else { return nil }
    if set.pointee.isMutable { return set }
    Misuse.report(function, "set", "not mutable")
    return nil
}

@implementation @c
public func RLSetGetTypeID() -> UInt { Kind.set.typeID }

@inline(never)
private func create(
    _ isMutable: Bool, _ room: Int, _ callBacks: UnsafePointer<RLSetCallBacks>?, _ function: Name
) -> TablePointer? {
    guard checkVersion(callBacks?.pointee.version, function) else { return nil }
    return TablePointer.create(.set, isMutable: isMutable, room: room, ElementCalls(callBacks?.pointee ?? RLSetCallBacks()), ElementCalls())
}

@implementation @c
public func RLSetCreate(
    _ allocator: OpaquePointer?, _ values: PointerList?, _ count: Int, _ callBacks: UnsafePointer<RLSetCallBacks>?
) -> OpaquePointer? {
    guard checkBuffer(values, count, "RLSetCreate", "values"), let set = create(false, count, callBacks, "RLSetCreate") else {
        return nil
    }
    for index in 0..<count {
        if !put(values.unsafelyUnwrapped[index], nil, .add, into: set, "RLSetCreate", "values", "values") {
            set.release()
            return nil
        }
    }
    return set.handle
}

@implementation @c
public func RLSetCreateCopy(_ allocator: OpaquePointer?, _ set: OpaquePointer?) -> OpaquePointer? {
    borrow(set, "RLSetCreateCopy")?.immutableCopy()?.handle
}

@implementation @c
public func RLSetCreateMutable(_ allocator: OpaquePointer?, _ capacity: Int, _ callBacks: UnsafePointer<RLSetCallBacks>?) -> OpaquePointer?
{
    guard checkNotNegative(capacity, "RLSetCreateMutable", "capacity") else { return nil }
    return create(true, capacity, callBacks, "RLSetCreateMutable")?.handle
}

@implementation @c
public func RLSetCreateMutableCopy(_ allocator: OpaquePointer?, _ capacity: Int, _ set: OpaquePointer?) -> OpaquePointer? {
    guard let set = borrow(set, "RLSetCreateMutableCopy"), checkNotNegative(capacity, "RLSetCreateMutableCopy", "capacity")
    else { return nil }
    return set.copy(isMutable: true)?.handle
}

@implementation @c
public func RLSetGetCount(_ set: OpaquePointer?) -> Int { borrow(set, "RLSetGetCount")?.pointee.count ?? 0 }

@implementation @c
public func RLSetGetCountOfValue(_ set: OpaquePointer?, _ value: UnsafeRawPointer?) -> Int {
    borrow(set, "RLSetGetCountOfValue")?.find(value) == nil ? 0 : 1
}

@implementation @c
public func RLSetContainsValue(_ set: OpaquePointer?, _ value: UnsafeRawPointer?) -> UInt8 {
    borrow(set, "RLSetContainsValue")?.find(value) == nil ? 0 : 1
}

@implementation @c
public func RLSetGetValue(_ set: OpaquePointer?, _ value: UnsafeRawPointer?) -> UnsafeRawPointer? {
    borrow(set, "RLSetGetValue")?.find(value)?.key
}

@implementation @c
public func RLSetGetValueIfPresent(_ set: OpaquePointer?, _ candidate: UnsafeRawPointer?, _ value: PointerList?) -> UInt8 {
    guard let entry = borrow(set, "RLSetGetValueIfPresent")?.find(candidate) else { return 0 }
    value?.pointee = entry.key
    return 1
}

@implementation @c
public func RLSetGetValues(_ set: OpaquePointer?, _ values: PointerList?) {
    guard let set = borrow(set, "RLSetGetValues"), checkBuffer(values, set.pointee.count, "RLSetGetValues", "values") else { return }
    set.list(values, nil)
}

@implementation @c
public func RLSetApplyFunction(
    _ set: OpaquePointer?, _ applier: (@convention(c) (UnsafeRawPointer?, UnsafeMutableRawPointer?) -> Void)?,
    _ context: UnsafeMutableRawPointer?
) {
    guard let set = borrow(set, "RLSetApplyFunction"), checkNotNull(applier != nil, "RLSetApplyFunction", "applier"), let applier
    else { return }
    var index = 0
    while let entry = set.next(&index) { ElementCalls.apply(applier, entry.key, context) }
}

@inline(never)
private func put(_ set: OpaquePointer?, _ value: UnsafeRawPointer?, _ policy: TablePointer.Policy, _ function: Name) {
    guard let set = borrowMutable(set, function) else { return }
    _ = put(value, nil, policy, into: set, function, "value", "value")
}

@implementation @c
public func RLSetAddValue(_ set: OpaquePointer?, _ value: UnsafeRawPointer?) {
    put(set, value, .add, "RLSetAddValue")
}

@implementation @c
public func RLSetReplaceValue(_ set: OpaquePointer?, _ value: UnsafeRawPointer?) {
    put(set, value, .replace, "RLSetReplaceValue")
}

@implementation @c
public func RLSetSetValue(_ set: OpaquePointer?, _ value: UnsafeRawPointer?) {
    put(set, value, .set, "RLSetSetValue")
}

@implementation @c
public func RLSetRemoveValue(_ set: OpaquePointer?, _ value: UnsafeRawPointer?) { borrowMutable(set, "RLSetRemoveValue")?.remove(value) }

@implementation @c
public func RLSetRemoveAllValues(_ set: OpaquePointer?) { borrowMutable(set, "RLSetRemoveAllValues")?.removeAll() }
