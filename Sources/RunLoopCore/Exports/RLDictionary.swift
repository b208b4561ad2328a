import CLinux
import CRunLoop

// The functions that include/RunLoop/RLDictionary.h declares and documents.

@inline(never)
private func borrow(_ dictionary: OpaquePointer?, _ function: Name) -> TablePointer? {
    let dictionary: DictionaryPointer? = Handle.borrow(dictionary, function, "dictionary")
    return dictionary?.table
}

@inline(never)
private func borrowMutable(_ dictionary: OpaquePointer?, _ function: Name) -> TablePointer? {
    guard let dictionary = borrow(dictionary, function) else { return nil }
    if dictionary.pointee.isMutable { return dictionary }
    Misuse.report(function, "dictionary", "not mutable")
    return nil
}

@implementation @c
public func RLDictionaryGetTypeID() -> UInt { Kind.dictionary.typeID }

@inline(never)
private func create(
    _ isMutable: Bool, _ room: Int, _ keys: UnsafePointer<RLDictionaryKeyCallBacks>?,
    _ values: UnsafePointer<RLDictionaryValueCallBacks>?, _ function: Name
) -> TablePointer? {
    guard checkVersion(keys?.pointee.version, function, "keyCallBacks"),
        checkVersion(values?.pointee.version, function, "valueCallBacks")
    else { return nil }
    return TablePointer.create(
        .dictionary, isMutable: isMutable, room: room, ElementCalls(keys?.pointee ?? RLDictionaryKeyCallBacks()),
        ElementCalls(values?.pointee ?? RLDictionaryValueCallBacks()))
}

@implementation @c
public func RLDictionaryCreate(
    _ allocator: OpaquePointer?, _ keys: PointerList?, _ values: PointerList?, _ count: Int,
    _ keyCallBacks: UnsafePointer<RLDictionaryKeyCallBacks>?, _ valueCallBacks: UnsafePointer<RLDictionaryValueCallBacks>?
) -> OpaquePointer? {
    guard checkBuffer(keys, count, "RLDictionaryCreate", "keys"), checkBuffer(values, count, "RLDictionaryCreate", "values"),
        let dictionary = create(false, count, keyCallBacks, valueCallBacks, "RLDictionaryCreate")
    else { return nil }
    for index in 0..<count {
        let (key, value) = (keys.unsafelyUnwrapped[index], values.unsafelyUnwrapped[index])
        if !put(key, value, .add, into: dictionary, "RLDictionaryCreate", "keys", "values") {
            dictionary.release()
            return nil
        }
    }
    return dictionary.handle
}

@implementation @c
public func RLDictionaryCreateCopy(_ allocator: OpaquePointer?, _ dictionary: OpaquePointer?) -> OpaquePointer? {
    borrow(dictionary, "RLDictionaryCreateCopy")?.immutableCopy()?.handle
}

@implementation @c
public func RLDictionaryCreateMutable(
    _ allocator: OpaquePointer?, _ capacity: Int, _ keyCallBacks: UnsafePointer<RLDictionaryKeyCallBacks>?,
    _ valueCallBacks: UnsafePointer<RLDictionaryValueCallBacks>?
) -> OpaquePointer? {
    guard checkNotNegative(capacity, "RLDictionaryCreateMutable", "capacity") else { return nil }
    return create(true, capacity, keyCallBacks, valueCallBacks, "RLDictionaryCreateMutable")?.handle
}

@implementation @c
public func RLDictionaryCreateMutableCopy(_ allocator: OpaquePointer?, _ capacity: Int, _ dictionary: OpaquePointer?) -> OpaquePointer? {
    guard let dictionary = borrow(dictionary, "RLDictionaryCreateMutableCopy"),
        checkNotNegative(capacity, "RLDictionaryCreateMutableCopy", "capacity")
    else { return nil }
    return dictionary.copy(isMutable: true)?.handle
}

@implementation @c
public func RLDictionaryGetCount(_ dictionary: OpaquePointer?) -> Int { borrow(dictionary, "RLDictionaryGetCount")?.pointee.count ?? 0 }

@implementation @c
public func RLDictionaryGetCountOfKey(_ dictionary: OpaquePointer?, _ key: UnsafeRawPointer?) -> Int {
    borrow(dictionary, "RLDictionaryGetCountOfKey")?.find(key) == nil ? 0 : 1
}

@implementation @c
public func RLDictionaryGetCountOfValue(_ dictionary: OpaquePointer?, _ value: UnsafeRawPointer?) -> Int {
    borrow(dictionary, "RLDictionaryGetCountOfValue")?.count(ofValue: value) ?? 0
}

@implementation @c
public func RLDictionaryContainsKey(_ dictionary: OpaquePointer?, _ key: UnsafeRawPointer?) -> UInt8 {
    borrow(dictionary, "RLDictionaryContainsKey")?.find(key) == nil ? 0 : 1
}

@implementation @c
public func RLDictionaryContainsValue(_ dictionary: OpaquePointer?, _ value: UnsafeRawPointer?) -> UInt8 {
    (borrow(dictionary, "RLDictionaryContainsValue")?.count(ofValue: value) ?? 0) == 0 ? 0 : 1
}

@implementation @c
public func RLDictionaryGetValue(_ dictionary: OpaquePointer?, _ key: UnsafeRawPointer?) -> UnsafeRawPointer? {
    borrow(dictionary, "RLDictionaryGetValue")?.find(key)?.value
}

@implementation @c
public func RLDictionaryGetValueIfPresent(_ dictionary: OpaquePointer?, _ key: UnsafeRawPointer?, _ value: PointerList?) -> UInt8 {
    guard let entry = borrow(dictionary, "RLDictionaryGetValueIfPresent")?.find(key) else { return 0 }
    value?.pointee = entry.value
    return 1
}

@implementation @c
public func RLDictionaryGetKeysAndValues(_ dictionary: OpaquePointer?, _ keys: PointerList?, _ values: PointerList?) {
    borrow(dictionary, "RLDictionaryGetKeysAndValues")?.list(keys, values)
}

@implementation @c
public func RLDictionaryApplyFunction(
    _ dictionary: OpaquePointer?,
    _ applier: (@convention(c) (UnsafeRawPointer?, UnsafeRawPointer?, UnsafeMutableRawPointer?) -> Void)?,
    _ context: UnsafeMutableRawPointer?
) {
    guard let dictionary = borrow(dictionary, "RLDictionaryApplyFunction"),
        checkNotNull(applier != nil, "RLDictionaryApplyFunction", "applier"), let applier
    else { return }
    var index = 0
    while let entry = dictionary.next(&index) { ElementCalls.apply(applier, entry.key, entry.value, context) }
}

@inline(never)
private func put(
    _ dictionary: OpaquePointer?, _ key: UnsafeRawPointer?, _ value: UnsafeRawPointer?, _ policy: TablePointer.Policy, _ function: Name
) {
    guard let dictionary = borrowMutable(dictionary, function) else { return }
    _ = put(key, value, policy, into: dictionary, function, "key", "value")
}

@implementation @c
public func RLDictionaryAddValue(_ dictionary: OpaquePointer?, _ key: UnsafeRawPointer?, _ value: UnsafeRawPointer?) {
    put(dictionary, key, value, .add, "RLDictionaryAddValue")
}

@implementation @c
public func RLDictionarySetValue(_ dictionary: OpaquePointer?, _ key: UnsafeRawPointer?, _ value: UnsafeRawPointer?) {
    put(dictionary, key, value, .set, "RLDictionarySetValue")
}

@implementation @c
public func RLDictionaryReplaceValue(_ dictionary: OpaquePointer?, _ key: UnsafeRawPointer?, _ value: UnsafeRawPointer?) {
    put(dictionary, key, value, .replace, "RLDictionaryReplaceValue")
}

@implementation @c
public func RLDictionaryRemoveValue(_ dictionary: OpaquePointer?, _ key: UnsafeRawPointer?) {
    borrowMutable(dictionary, "RLDictionaryRemoveValue")?.remove(key)
}

@implementation @c
public func RLDictionaryRemoveAllValues(_ dictionary: OpaquePointer?) {
    borrowMutable(dictionary, "RLDictionaryRemoveAllValues")?.removeAll()
}
