/// Functions on arrays of bytes. Pure. Any thread.
enum Bytes {
    /// Returns the FNV-1a hash of the bytes. O(n).
    static func hash(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> UInt32 {
        var hash: UInt32 = 0x811C_9DC5
        for index in 0..<count { hash = (hash ^ UInt32(bytes[index])) &* 0x0100_0193 }
        return hash
    }

    /// Distributes the bits of a pointer or of a client's hash over the whole word (the last steps of splitmix64). O(1).
    static func mix(_ value: UInt) -> UInt {
        var mixed = value
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Returns whether all bytes are ASCII. O(n).
    static func isASCII(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> Bool {
        for index in 0..<count where bytes[index] >= 0x80 { return false }
        return true
    }

    /// Returns whether the bytes are well-formed UTF-8: shortest forms, no surrogates, nothing above U+10FFFF. O(n).
    static func isUTF8(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> Bool {
        var index = 0
        while index < count {
            let lead = bytes[index]
            let length: Int
            var low: UInt8 = 0x80
            var high: UInt8 = 0xBF
            switch lead {
            case 0x00...0x7F: length = 1
            case 0xC2...0xDF: length = 2
            case 0xE0: (length, low) = (3, 0xA0)
            case 0xED: (length, high) = (3, 0x9F)
            case 0xE1...0xEF: length = 3
            case 0xF0: (length, low) = (4, 0x90)
            case 0xF1...0xF3: length = 4
            case 0xF4: (length, high) = (4, 0x8F)
            default: return false
            }
            if index + length > count { return false }
            for offset in 1..<max(length, 1) {
                let byte = bytes[index + offset]
                if byte < low || byte > high { return false }
                (low, high) = (0x80, 0xBF)
            }
            index += length
        }
        return true
    }

    /// Returns an ASCII letter in lower case, and any other byte unchanged. O(1).
    static func lower(_ byte: UInt8) -> UInt8 { byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte }

    /// Returns whether a byte is an ASCII digit. O(1).
    static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }

    /// Converts UTF-16 to UTF-8 with a terminating 0. A surrogate without its partner becomes U+FFFD. Returns the number of bytes without
    /// the 0, which is at most 3 per unit. O(n).
    static func encode(_ units: UnsafePointer<UInt16>, _ count: Int, into bytes: UnsafeMutablePointer<UInt8>) -> Int {
        var (index, size) = (0, 0)
        func put(_ byte: UInt32) {
            bytes[size] = UInt8(truncatingIfNeeded: byte)
            size += 1
        }
        while index < count {
            var code = UInt32(units[index])
            index += 1
            if code & 0xF800 == 0xD800 {
                let next: UInt32 = code < 0xDC00 && index < count ? UInt32(units[index]) : 0
                if next & 0xFC00 == 0xDC00 {
                    code = 0x1_0000 + (code & 0x3FF) << 10 + next & 0x3FF
                    index += 1
                } else {
                    code = 0xFFFD
                }
            }
            if code < 0x80 {
                put(code)
                continue
            }
            if code < 0x800 {
                put(0xC0 | code >> 6)
            } else {
                if code < 0x1_0000 {
                    put(0xE0 | code >> 12)
                } else {
                    put(0xF0 | code >> 18)
                    put(0x80 | code >> 12 & 0x3F)
                }
                put(0x80 | code >> 6 & 0x3F)
            }
            put(0x80 | code & 0x3F)
        }
        bytes[size] = 0
        return size
    }
}
