import CLinux

/// Builds a short text (a diagnostic, a description) without allocating; text that does not fit is cut off. Used instead of Swift's String,
/// which would add Unicode tables to the library.
struct TextBuffer: ~Copyable {
    static var capacity: Int { 1000 }

    private let bytes: UnsafeMutablePointer<UInt8>
    private(set) var count: Int

    private init(_ memory: UnsafeMutablePointer<UInt8>) {
        bytes = memory
        count = 0
    }

    /// Calls `body` with an empty buffer on the stack, and returns its result.
    static func build<Result>(_ body: (inout TextBuffer) -> Result) -> Result {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: capacity + 1) { memory in
            var text = TextBuffer(memory.baseAddress.unsafelyUnwrapped)
            return body(&text)
        }
    }

    /// Appends a literal. O(n).
    @inline(never)
    mutating func append(_ name: Name) { append(name.text, Int(strlen(UnsafeRawPointer(name.text).assumingMemoryBound(to: CChar.self)))) }

    /// Appends bytes. O(n).
    @inline(never)
    mutating func append(_ source: UnsafePointer<UInt8>, _ length: Int) {
        var fitting = min(length, Self.capacity - count)
        // Do not cut within a character: the text must remain UTF-8.
        while fitting > 0 && fitting < length && source[fitting] & 0xC0 == 0x80 { fitting -= 1 }
        memcpy(bytes + count, source, fitting)
        count += fitting
    }

    /// Appends one byte. O(1).
    @inline(never)
    mutating func append(_ byte: UInt8) {
        if count < Self.capacity {
            bytes[count] = byte
            count += 1
        }
    }

    /// Appends a literal, followed by a decimal number. O(n).
    @inline(never)
    mutating func append(_ name: Name, decimal value: Int) {
        append(name)
        append(decimal: value)
    }

    /// Appends a decimal number. O(digits).
    @inline(never)
    mutating func append(decimal value: Int) {
        if value < 0 { append(UInt8(ascii: "-")) }
        appendDigits(value.magnitude, radix: 10)
    }

    /// Appends an address as 0x and hexadecimal digits. O(digits).
    mutating func append(address: UnsafeRawPointer?) {
        append("0x")
        appendDigits(UInt(bitPattern: address), radix: 16)
    }

    /// Appends a number with three digits after the decimal point.
    mutating func append(seconds value: Double) { append(value, isExact: false) }

    /// Appends a number with enough digits to distinguish it from all others.
    mutating func append(double value: Double) { append(value, isExact: true) }

    @inline(never)
    private mutating func append(_ value: Double, isExact: Bool) {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
            let length = Int(linux_format_double(buffer.baseAddress, 64, value, isExact ? 1 : 0))
            buffer.withMemoryRebound(to: UInt8.self) { append($0.baseAddress.unsafelyUnwrapped, min(length, 63)) }
        }
    }

    private mutating func appendDigits(_ value: UInt, radix: UInt) {
        if value >= radix { appendDigits(value / radix, radix: radix) }
        let digit = UInt8(value % radix)
        append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
    }

    /// Returns whether there is room for `room` more bytes. If not, removes what has been appended since the text was `start` bytes long.
    mutating func keep(since start: Int, leaving room: Int) -> Bool {
        if count <= Self.capacity - room { return true }
        count = start
        return false
    }

    /// Calls `body` with the text, and returns its result.
    func withBytes<Result>(_ body: (UnsafePointer<UInt8>, Int) -> Result) -> Result { body(bytes, count) }

    /// Calls `body` with the text and a newline, for which there is always room.
    func withLine(_ body: (UnsafePointer<UInt8>, Int) -> Void) {
        bytes[count] = UInt8(ascii: "\n")
        body(bytes, count + 1)
    }

    /// Calls `body` with the text and a terminating 0, and returns its result.
    func withCString<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
        bytes[count] = 0
        return body(UnsafeRawPointer(bytes).assumingMemoryBound(to: CChar.self))
    }

}
