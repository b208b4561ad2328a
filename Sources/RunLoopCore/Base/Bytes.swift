/// What is done with runs of bytes. Pure; any thread.
enum Bytes {
    /// FNV-1a. O(n).
    static func hash(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> UInt32 {
        var hash: UInt32 = 0x811C_9DC5
        for index in 0..<count { hash = (hash ^ UInt32(bytes[index])) &* 0x0100_0193 }
        return hash
    }

    /// Spreads a pointer or a client's hash over 64 bits (splitmix64's last steps). O(1).
    @inline(__always)
    static func mix(_ value: UInt) -> UInt {
        var mixed = value
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// O(n).
    static func isASCII(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> Bool {
        for index in 0..<count where bytes[index] >= 0x80 { return false }
        return true
    }

    /// Well-formed UTF-8: shortest forms, no surrogates, nothing above U+10FFFF. O(n).
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
}
