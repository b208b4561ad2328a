import CLinux
import Synchronization

/// RLString: UTF-8 bytes that never change, followed by a 0.
///
/// The layout is also written down in C, for the constants: `Sources/CRunLoop/Constants.c`.
struct StringStorage: ObjectStorage, ~Copyable {
    static var kind: Kind { .string }

    var header: ObjectHeader
    let byteCount: UInt32
    /// Computed when first asked for; 0 before. Any thread: all compute the same.
    let hash: Atomic<UInt32>
    let bytes: UnsafePointer<UInt8>
}

typealias StringPointer = UnsafeMutablePointer<StringStorage>

extension UnsafeMutablePointer where Pointee == StringStorage {
    /// A new string with one reference; nil with ENOMEM, or EOVERFLOW beyond 4 GiB. One allocation. Any thread.
    static func create(_ source: UnsafePointer<UInt8>?, count: Int) -> StringPointer? {
        guard count < Int(UInt32.max) else {
            systemError = EOVERFLOW
            return nil
        }
        let size = MemoryLayout<StringStorage>.size
        guard let memory = malloc(size + count + 1) else { return nil }
        let bytes = (memory + size).assumingMemoryBound(to: UInt8.self)
        if let source { memcpy(bytes, source, count) }
        bytes[count] = 0
        let string = memory.bindMemory(to: StringStorage.self, capacity: 1)
        string.initialize(
            to: StringStorage(
                header: ObjectHeader(.string), byteCount: UInt32(count), hash: Atomic(0), bytes: UnsafePointer(bytes)))
        return string
    }

    /// Any thread.
    @inline(__always)
    func retain() { pointee.header.retain() }

    /// Any thread.
    func release() {
        if pointee.header.release() {
            pointee.header.tag = 0
            free(self)
        }
    }

    /// O(1).
    @inline(__always)
    var count: Int { Int(pointee.byteCount) }

    /// The same bytes. O(1) for the same object or another length, else O(n). Any thread.
    @inline(__always)
    func equals(_ other: StringPointer) -> Bool {
        self == other
            || (pointee.byteCount == other.pointee.byteCount && memcmp(pointee.bytes, other.pointee.bytes, count) == 0)
    }

    /// Bytewise, which for UTF-8 is by code point. O(n). Any thread.
    func compare(_ other: StringPointer) -> Int {
        let order = memcmp(pointee.bytes, other.pointee.bytes, Swift.min(count, other.count))
        return order != 0 ? Int(order.signum()) : (count - other.count).signum()
    }

    /// O(n) the first time. Any thread.
    var hashValue32: UInt32 {
        let known = pointee.hash.load(ordering: .relaxed)
        if known != 0 { return known }
        let computed = max(1, Bytes.hash(pointee.bytes, count))
        pointee.hash.store(computed, ordering: .relaxed)
        return computed
    }

    /// In UTF-16 code units, which is what CFStringGetLength counts. O(n). Any thread.
    var utf16Length: Int {
        var length = 0
        for index in 0..<count {
            let byte = pointee.bytes[index]
            if byte & 0xC0 != 0x80 { length += byte >= 0xF0 ? 2 : 1 }
        }
        return length
    }
}

/// RLSTR: one string per text, for the life of the process.
enum InternedStrings {
    private static let mutex = Mutex()
    /// Open addressing, a power of two, at most half full. Guarded by `mutex`.
    private nonisolated(unsafe) static var slots: UnsafeMutablePointer<StringPointer?>?
    private nonisolated(unsafe) static var capacity = 0
    private nonisolated(unsafe) static var count = 0

    /// Around fork().
    static func lockForFork() { mutex.lock() }

    /// After it, in parent and child.
    static func unlockAfterFork() { mutex.unlock() }

    /// The string of this text, made at the first call; nil with ENOMEM. O(length). Any thread.
    static func string(_ text: UnsafePointer<UInt8>, count length: Int) -> StringPointer? {
        mutex.lock()
        defer { mutex.unlock() }
        guard count * 2 < capacity || grow() else { return nil }
        let index = place(of: text, length, Bytes.hash(text, length))
        if let known = slots.unsafelyUnwrapped[index] { return known }
        guard let new = StringPointer.create(text, count: length) else { return nil }
        new.pointee.header.references.store(ObjectHeader.immortal, ordering: .relaxed)
        slots.unsafelyUnwrapped[index] = new
        count += 1
        return new
    }

    private static func place(of text: UnsafePointer<UInt8>, _ length: Int, _ hash: UInt32) -> Int {
        let table = slots.unsafelyUnwrapped
        var index = Int(hash) & (capacity - 1)
        while let other = table[index] {
            if other.count == length && memcmp(other.pointee.bytes, text, length) == 0 { return index }
            index = (index + 1) & (capacity - 1)
        }
        return index
    }

    private static func grow() -> Bool {
        let old = slots
        let oldCapacity = capacity
        let new = max(64, capacity * 2)
        guard let memory = calloc(new, MemoryLayout<StringPointer?>.stride) else { return false }
        slots = memory.bindMemory(to: StringPointer?.self, capacity: new)
        capacity = new
        for index in 0..<oldCapacity {
            guard let string = old.unsafelyUnwrapped[index] else { continue }
            slots.unsafelyUnwrapped[place(of: string.pointee.bytes, string.count, string.hashValue32)] = string
        }
        free(old)
        return true
    }
}
