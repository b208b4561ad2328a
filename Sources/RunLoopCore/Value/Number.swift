import CLinux
import CRunLoop

/// RLNumber: a signed 64-bit integer or a double, and the type that the value had. Never changes.
///
/// The constants kRLNumberNaN and the like are static objects of this layout in `Sources/CRunLoop/Constants.c`.
struct NumberStorage: ObjectStorage, ~Copyable {
    static var kind: Kind { .number }

    var header: ObjectHeader
    /// The raw value of a `NumberType`, which RLNumberGetType returns.
    let type: Int
    /// The integer, or the bits of the double. All integers are widened to 64 bits, a float to a double.
    let bits: UInt64
}

typealias NumberPointer = UnsafeMutablePointer<NumberStorage>

/// RLBoolean, of which there are two objects, which are static data of C.
struct TruthStorage: ObjectStorage, ~Copyable {
    static var kind: Kind { .boolean }

    var header: ObjectHeader
    let value: UInt64
}

typealias TruthPointer = UnsafeMutablePointer<TruthStorage>

/// RLDate: a point in time.
struct DateStorage: ObjectStorage, ~Copyable {
    static var kind: Kind { .date }

    var header: ObjectHeader
    let time: Double
}

typealias DatePointer = UnsafeMutablePointer<DateStorage>

extension DatePointer {
    /// Creates a date with one reference. Returns nil with ENOMEM if out of memory. One allocation. Any thread.
    static func create(_ time: Double) -> DatePointer? {
        guard let memory = malloc(MemoryLayout<DateStorage>.size) else { return nil }
        let date = memory.bindMemory(to: DateStorage.self, capacity: 1)
        date.initialize(to: DateStorage(header: ObjectHeader(.date), time: time))
        return date
    }

    /// Releases a reference. Any thread.
    func release() {
        guard pointee.header.release() else { return }
        pointee.header.tag = 0
        free(self)
    }

    /// Returns whether both dates denote the same point in time. A date that is not a number equals only itself. O(1).
    func equals(_ other: DatePointer) -> Bool { self == other || pointee.time == other.pointee.time }

    /// The hash of the date. Equal dates have equal hashes, including 0.0 and -0.0.
    var hash: UInt { Bytes.mix(pointee.time == 0 ? 0 : UInt(pointee.time.bitPattern)) }
}

/// The types of numbers that differ in size or kind: the first six of RLNumberType, with the same raw values. The others, such as `long`,
/// are synonyms of these.
enum NumberType: Int {
    case int8 = 1
    case int16, int32, int64, float32, float64

    /// Converts from any RLNumberType, synonyms included; nil if `type` is not an RLNumberType.
    init?(_ type: Int) {
        switch type {
        case 1...6: self = NumberType(rawValue: type).unsafelyUnwrapped
        case 7: self = .int8  // char
        case 8: self = .int16  // short
        case 9: self = .int32  // int
        case 10, 11, 14, 15: self = .int64  // long, long long, RLIndex, NSInteger
        case 12: self = .float32  // float
        case 13, 16: self = .float64  // double, CGFloat
        default: return nil
        }
    }

    var isFloat: Bool { rawValue >= NumberType.float32.rawValue }

    var size: Int {
        switch self {
        case .int8: 1
        case .int16: 2
        case .int32, .float32: 4
        case .int64, .float64: 8
        }
    }
}

extension NumberPointer {
    /// Creates a number from the C value of this type at `value`, which need not be aligned and is copied. The caller owns the one
    /// reference. Returns nil with ENOMEM if out of memory. One allocation. Any thread.
    static func create(_ type: NumberType, _ value: UnsafeRawPointer) -> NumberPointer? {
        guard let memory = malloc(MemoryLayout<NumberStorage>.size) else { return nil }
        let bits: UInt64 =
            switch type {
            case .int8: UInt64(bitPattern: Int64(value.load(as: Int8.self)))
            case .int16: UInt64(bitPattern: Int64(value.loadUnaligned(as: Int16.self)))
            case .int32: UInt64(bitPattern: Int64(value.loadUnaligned(as: Int32.self)))
            case .int64, .float64: value.loadUnaligned(as: UInt64.self)
            case .float32: Double(value.loadUnaligned(as: Float.self)).bitPattern
            }
        let number = memory.bindMemory(to: NumberStorage.self, capacity: 1)
        number.initialize(to: NumberStorage(header: ObjectHeader(.number), type: type.rawValue, bits: bits))
        return number
    }

    /// Releases a reference. Any thread.
    func release() {
        guard pointee.header.release() else { return }
        pointee.header.tag = 0
        free(self)
    }

    /// The type with which the number was created, or the one it is a synonym of.
    var type: NumberType { NumberType(rawValue: pointee.type).unsafelyUnwrapped }

    private var integer: Int64 { Int64(bitPattern: pointee.bits) }

    /// The value as a double. An integer of more than 53 bits is rounded.
    private var double: Double { type.isFloat ? Double(bitPattern: pointee.bits) : Double(integer) }

    /// Converts the value to another type and stores it at `destination`. Returns false if the conversion was not exact. O(1).
    func write(_ wanted: NumberType, to destination: UnsafeMutableRawPointer) -> Bool {
        if wanted.isFloat {
            let exact = type.isFloat || (double < 0x1p63 && Int64(double) == integer)
            if wanted == .float64 {
                destination.storeBytes(of: double, as: Double.self)
                return exact
            }
            let narrow = Float(double)
            destination.storeBytes(of: narrow, as: Float.self)
            return exact && (Double(narrow) == double || double.isNaN)
        }
        let whole: Int64
        let exact: Bool
        if type.isFloat {
            // A value out of range becomes the nearest integer.
            whole = double.isNaN ? 0 : double >= 0x1p63 ? .max : double < -0x1p63 ? .min : Int64(double)
            exact = Double(whole) == double && double < 0x1p63
        } else {
            whole = integer
            exact = true
        }
        switch wanted {
        case .int8:
            destination.storeBytes(of: Int8(truncatingIfNeeded: whole), as: Int8.self)
            return exact && Int8(exactly: whole) != nil
        case .int16:
            destination.storeBytes(of: Int16(truncatingIfNeeded: whole), as: Int16.self)
            return exact && Int16(exactly: whole) != nil
        case .int32:
            destination.storeBytes(of: Int32(truncatingIfNeeded: whole), as: Int32.self)
            return exact && Int32(exactly: whole) != nil
        default:
            destination.storeBytes(of: whole, as: Int64.self)
            return exact
        }
    }

    /// Compares two numbers by value, whatever their types. Returns -1, 0 or 1. NaN equals NaN; it is greater than negative numbers,
    /// including -0.0, and less than all others. -0.0 is less than 0.0. O(1).
    func compare(_ other: NumberPointer) -> Int {
        if !type.isFloat && !other.type.isFloat { return integer < other.integer ? -1 : integer > other.integer ? 1 : 0 }
        let (left, right) = (double, other.double)
        if left.isNaN || right.isNaN {
            if left.isNaN && right.isNaN { return 0 }
            return left.isNaN ? (right.sign == .minus ? 1 : -1) : (left.sign == .minus ? -1 : 1)
        }
        if left != right { return left < right ? -1 : 1 }
        if left == 0 { return (left.sign == .minus ? 0 : 1) - (right.sign == .minus ? 0 : 1) }
        if type.isFloat == other.type.isFloat { return 0 }
        // The integer was rounded in the conversion to double. At 2^63 and above there is no such integer.
        if left >= 0x1p63 { return type.isFloat ? 1 : -1 }
        let (a, b) = (type.isFloat ? Int64(left) : integer, other.type.isFloat ? Int64(right) : other.integer)
        return a < b ? -1 : a > b ? 1 : 0
    }

    /// The hash of the number. Numbers that compare equal have equal hashes.
    var hash: UInt {
        let value = double
        if type.isFloat && value >= -0x1p63 && value < 0x1p63 && Double(Int64(value)) == value {
            return Bytes.mix(UInt(bitPattern: Int(Int64(value))))
        }
        return Bytes.mix(UInt(type.isFloat ? (value.isNaN ? 1 : pointee.bits) : pointee.bits))
    }

    /// Appends the digits, formatted as CFNumber does.
    func describe(_ text: inout TextBuffer) {
        guard type.isFloat else { return text.append(decimal: Int(integer)) }
        if double == 0 { return text.append("0.0") }
        if double.isInfinite { return text.append(double < 0 ? "-infinity" : "+infinity") }
        text.append(double: double)
    }
}
