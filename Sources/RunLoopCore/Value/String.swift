import CLinux
import Synchronization

/// RLString: immutable UTF-8 bytes, followed by a 0.
///
/// Constants in C have the same layout: `Sources/CRunLoop/Constants.c`. So do the objects that clang creates for `CFSTR("…")`: a class
/// pointer, an int, a pointer to the text, the text's length. The class pointer is the symbol `__CFConstantStringClassReference`, which
/// this library's headers and librunloop-cf.so define as an absolute symbol whose value is the header (the first eight bytes) of an
/// immortal string. So the linker turns such an object into an RLString, without any conversion.
struct StringStorage: ObjectStorage, ~Copyable {
    static var kind: Kind { .string }

    /// The form of UTF-8 text: that of clang's objects for ASCII text, and of all strings that this library creates.
    static let narrow: UInt32 = 0x7C8
    /// The form of clang's objects for other text, which is UTF-16.
    private static let wide: UInt32 = 0x7D0

    var header: ObjectHeader
    /// `narrow`, or `wide` in a UTF-16 constant before its first use. clang calls this the flags. Changed at most once, together with
    /// `address` and `length`, under the mutex of `InternedStrings`; read by any thread.
    private let form: Atomic<UInt32>
    /// The hash, computed on first use; 0 before. Any thread may store it, as all compute the same value.
    let hash = Atomic<UInt32>(0)
    private let address: Atomic<UInt>
    private let length: Atomic<Int>

    init(_ bytes: UnsafePointer<UInt8>, count: Int) {
        header = ObjectHeader(.string)
        form = Atomic(Self.narrow)
        address = Atomic(UInt(bitPattern: bytes))
        length = Atomic(count)
    }

    /// The UTF-8 text, followed by a 0. Valid until the object is destroyed. O(1), except for the first use of a constant that is not
    /// ASCII. Any thread.
    var bytes: UnsafePointer<UInt8> {
        get {
            if form.load(ordering: .acquiring) == Self.wide { narrowDown() }
            return UnsafePointer(bitPattern: address.load(ordering: .relaxed)).unsafelyUnwrapped
        }
    }

    /// The number of bytes without the terminating 0. O(1), except for the first use of a constant that is not ASCII. Any thread.
    var byteCount: Int {
        get {
            if form.load(ordering: .acquiring) == Self.wide { narrowDown() }
            return length.load(ordering: .relaxed)
        }
    }

    /// Converts a UTF-16 constant to UTF-8 in place, which is possible because clang puts such constants into writable memory. If memory
    /// runs out, the constant becomes the empty string.
    @inline(never)
    private func narrowDown() {
        InternedStrings.locked {
            guard form.load(ordering: .relaxed) == Self.wide,
                let units = UnsafePointer<UInt16>(bitPattern: address.load(ordering: .relaxed))
            else { return }
            let count = length.load(ordering: .relaxed)
            let text = malloc(3 * count + 1)?.assumingMemoryBound(to: UInt8.self)
            let size = text.map { Bytes.encode(units, count, into: $0) } ?? 0
            address.store(text.map { UInt(bitPattern: $0) } ?? UInt(bitPattern: StaticString("").utf8Start), ordering: .relaxed)
            length.store(size, ordering: .relaxed)
            form.store(Self.narrow, ordering: .releasing)
        }
    }
}

typealias StringPointer = UnsafeMutablePointer<StringStorage>

extension StringPointer {
    /// Creates a string with one reference. Returns nil with ENOMEM if out of memory, or with EOVERFLOW if the text and its terminating 0
    /// take 4 GiB or more. One allocation. Any thread.
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
        string.initialize(to: StringStorage(bytes, count: count))
        return string
    }

    /// Adds a reference. Any thread.
    @inline(__always)
    func retain() { pointee.header.retain() }

    /// Releases a reference. Any thread.
    func release() {
        if pointee.header.release() {
            pointee.header.tag = 0
            free(self)
        }
    }

    /// The number of bytes. O(1), except for the first use of a constant that is not ASCII.
    var count: Int { pointee.byteCount }

    /// Returns whether both strings have the same bytes. O(1) for the same object or another length, otherwise O(n). Any thread.
    func equals(_ other: StringPointer) -> Bool { self == other || hasBytes(of: other) }

    /// Compares the bytes of two objects. Not inlined, because usually both are the same object.
    @inline(never)
    private func hasBytes(of other: StringPointer) -> Bool {
        count == other.count && memcmp(pointee.bytes, other.pointee.bytes, count) == 0
    }

    /// Compares the bytes of two strings, which for UTF-8 is the order of code points. Returns -1, 0 or 1. O(n). Any thread.
    func compare(_ other: StringPointer) -> Int {
        let order = memcmp(pointee.bytes, other.pointee.bytes, Swift.min(count, other.count))
        return order != 0 ? Int(order.signum()) : (count - other.count).signum()
    }

    /// The hash of the bytes, computed once. O(n) the first time. Any thread.
    var hashValue32: UInt32 {
        let known = pointee.hash.load(ordering: .relaxed)
        if known != 0 { return known }
        let computed = max(1, Bytes.hash(pointee.bytes, count))
        pointee.hash.store(computed, ordering: .relaxed)
        return computed
    }

    /// The number of UTF-16 code units, which is what CFStringGetLength returns. O(n). Any thread.
    var utf16Length: Int { Encoding.utf16Length(pointee.bytes, count) }
}

/// The strings of RLSTR: one for each text, never destroyed.
enum InternedStrings {
    private static let mutex = Mutex()
    /// An open-addressing hash table; the capacity is a power of two, and at most half of the slots are in use. Guarded by `mutex`.
    private nonisolated(unsafe) static var slots: UnsafeMutablePointer<StringPointer?>?
    private nonisolated(unsafe) static var capacity = 0
    private nonisolated(unsafe) static var count = 0

    /// Locks the table before fork(), so that the child finds it consistent.
    static func lockBeforeFork() { mutex.lock() }

    /// Unlocks the table after fork(), in parent and child.
    static func unlockAfterFork() { mutex.unlock() }

    /// Calls `body` with the mutex held; also used for the one-time conversion of a constant. `body` must not call user code.
    static func locked(_ body: () -> Void) {
        mutex.lock()
        body()
        mutex.unlock()
    }

    /// Returns the string with this text, which the first call creates. Returns nil with errno if that fails, or if there is no memory for
    /// a larger table, which is allocated before the text is looked up. O(length), amortized. Any thread.
    static func string(_ text: UnsafePointer<UInt8>, count length: Int) -> StringPointer? {
        mutex.lock()
        defer { mutex.unlock() }
        guard count * 2 < capacity || grow() else { return nil }
        let index = slot(of: text, length, Bytes.hash(text, length))
        if let known = slots.unsafelyUnwrapped[index] { return known }
        guard let new = StringPointer.create(text, count: length) else { return nil }
        new.pointee.header.references.store(ObjectHeader.immortal, ordering: .relaxed)
        slots.unsafelyUnwrapped[index] = new
        count += 1
        return new
    }

    /// Returns the index of this text in the table, or of the empty slot for it. The caller holds `mutex`.
    private static func slot(of text: UnsafePointer<UInt8>, _ length: Int, _ hash: UInt32) -> Int {
        let table = slots.unsafelyUnwrapped
        var index = Int(hash) & (capacity - 1)
        while let other = table[index] {
            if other.count == length && memcmp(other.pointee.bytes, text, length) == 0 { return index }
            index = (index + 1) & (capacity - 1)
        }
        return index
    }

    /// Doubles the table. Returns false if out of memory. O(n). The caller holds `mutex`.
    private static func grow() -> Bool {
        let old = slots
        let oldCapacity = capacity
        let new = max(64, capacity * 2)
        guard let memory = calloc(new, MemoryLayout<StringPointer?>.stride) else { return false }
        slots = memory.bindMemory(to: StringPointer?.self, capacity: new)
        capacity = new
        for index in 0..<oldCapacity {
            guard let string = old.unsafelyUnwrapped[index] else { continue }
            slots.unsafelyUnwrapped[slot(of: string.pointee.bytes, string.count, string.hashValue32)] = string
        }
        free(old)
        return true
    }
}
