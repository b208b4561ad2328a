import CLinux
import CRunLoop

// The functions that include/RunLoop/RLNumber.h declares and documents.

@inline(never)
private func borrow(_ number: OpaquePointer?, _ function: Name, _ name: Name = "number") -> NumberPointer? {
    Handle.borrow(number, function, name)
}

/// Returns the type in which a value of an RLNumberType is stored; nil, after a diagnostic, if `type` is not an RLNumberType.
@inline(never)
private func stored(_ type: Int, _ function: Name) -> NumberType? {
    if let type = NumberType(type) { return type }
    Misuse.report(function, "type", "not an RLNumberType")
    return nil
}

@implementation @c
public func RLNullGetTypeID() -> UInt { Kind.null.typeID }

@implementation @c
public func RLBooleanGetTypeID() -> UInt { Kind.boolean.typeID }

@implementation @c
public func RLBooleanGetValue(_ boolean: OpaquePointer?) -> UInt8 {
    guard let truth: TruthPointer = Handle.borrow(boolean, "RLBooleanGetValue", "boolean") else { return 0 }
    return truth.pointee.value == 0 ? 0 : 1
}

@implementation @c
public func RLNumberGetTypeID() -> UInt { Kind.number.typeID }

@implementation @c
public func RLNumberCreate(_ allocator: OpaquePointer?, _ type: Int, _ valuePtr: UnsafeRawPointer?) -> OpaquePointer? {
    guard let type = stored(type, "RLNumberCreate"), checkNotNull(valuePtr != nil, "RLNumberCreate", "valuePtr"), let valuePtr
    else { return nil }
    return NumberPointer.create(type, valuePtr)?.handle
}

@implementation @c
public func RLNumberGetType(_ number: OpaquePointer?) -> Int { borrow(number, "RLNumberGetType")?.type.rawValue ?? 0 }

@implementation @c
public func RLNumberGetByteSize(_ number: OpaquePointer?) -> Int { borrow(number, "RLNumberGetByteSize")?.type.size ?? 0 }

@implementation @c
public func RLNumberIsFloatType(_ number: OpaquePointer?) -> UInt8 {
    guard let number = borrow(number, "RLNumberIsFloatType") else { return 0 }
    return number.type.isFloat ? 1 : 0
}

@implementation @c
public func RLNumberGetValue(_ number: OpaquePointer?, _ type: Int, _ valuePtr: UnsafeMutableRawPointer?) -> UInt8 {
    guard let number = borrow(number, "RLNumberGetValue"), let type = stored(type, "RLNumberGetValue"),
        checkNotNull(valuePtr != nil, "RLNumberGetValue", "valuePtr"), let valuePtr
    else { return 0 }
    return number.write(type, to: valuePtr) ? 1 : 0
}

@implementation @c
public func RLNumberCompare(_ number: OpaquePointer?, _ otherNumber: OpaquePointer?, _ context: UnsafeMutableRawPointer?) -> Int {
    guard let number = borrow(number, "RLNumberCompare"), let other = borrow(otherNumber, "RLNumberCompare", "otherNumber")
    else { return 0 }
    return number.compare(other)
}
