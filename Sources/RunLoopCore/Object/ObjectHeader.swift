import Synchronization

/// The types of objects. The raw value is the tag in the first word of every object, so checking the kind of a handle takes one load. The
/// tag of free memory is 0.
enum Kind: UInt32 {
    case string = 0x524C_0001
    case data = 0x524C_0002
    case array = 0x524C_0003
    case runLoop = 0x524C_0004
    case source = 0x524C_0005
    case timer = 0x524C_0006
    case observer = 0x524C_0007
    case fileDescriptor = 0x524C_0008
    case socket = 0x524C_0009
    case set = 0x524C_000A
    case dictionary = 0x524C_000B
    case number = 0x524C_000C
    case boolean = 0x524C_000D
    case date = 0x524C_000E
    case notificationCenter = 0x524C_000F
    case port = 0x524C_0010
    case portMessage = 0x524C_0011
    case messagePort = 0x524C_0012
    case messagePortRequest = 0x524C_0013
    case null = 0x524C_0020

    /// The result of RLGetTypeID. CFBase.h lists these numbers, and 0x21 for allocators.
    var typeID: UInt { UInt(rawValue & 0xFF) }

    /// The kind's name in diagnostics and descriptions.
    var name: Name {
        switch self {
        case .string: "RLString"
        case .data: "RLData"
        case .array: "RLArray"
        case .runLoop: "RLRunLoop"
        case .source: "RLRunLoopSource"
        case .timer: "RLRunLoopTimer"
        case .observer: "RLRunLoopObserver"
        case .fileDescriptor: "RLFileDescriptor"
        case .socket: "RLSocket"
        case .set: "RLSet"
        case .dictionary: "RLDictionary"
        case .number: "RLNumber"
        case .boolean: "RLBoolean"
        case .date: "RLDate"
        case .notificationCenter: "RLNotificationCenter"
        case .port: "RLPort"
        case .portMessage: "RLPortMessage"
        case .messagePort: "RLMessagePort"
        case .messagePortRequest: "RLMessagePortRequest"
        case .null: "RLNull"
        }
    }
}

/// The first eight bytes of every object. Objects are plain structs rather than instances of Swift classes. So constants can be static data
/// of C, and no hot path pays for automatic reference counting.
struct ObjectHeader: ~Copyable {
    /// A `Kind`, or 0 once the object is destroyed. Written only when the object is created and when it is destroyed.
    var tag: UInt32
    /// The clients' references. The library's own are counted separately (see `ItemHeader`). Any thread.
    let references: Atomic<UInt32>

    /// A constant, which is never destroyed, has a reference count of this value or more.
    static let immortal: UInt32 = 0x8000_0000

    init(_ kind: Kind, references: UInt32 = 1) {
        tag = kind.rawValue
        self.references = Atomic(references)
    }

    /// Adds a reference. Any thread, lock-free.
    @inline(__always)
    func retain() {
        if references.load(ordering: .relaxed) < Self.immortal { references.wrappingAdd(1, ordering: .relaxed) }
    }

    /// Releases a reference. Returns true if it was the last one: the caller then destroys the object. For objects without internal
    /// references; items use `ItemPointer.release`. Any thread, lock-free.
    @inline(__always)
    func release() -> Bool {
        references.load(ordering: .relaxed) < Self.immortal && references.countDown()
    }

    /// Releases a reference to an object that no thread can find in a list or table, so that a thread can only add a reference if it has
    /// one. Then the last reference needs no locked instruction. Returns true if it was the last one. Any thread, lock-free.
    @inline(__always)
    func releaseUnlisted() -> Bool {
        if references.load(ordering: .acquiring) != 1 { return release() }
        RaceDetector.happensAfter(references)
        references.store(0, ordering: .relaxed)
        return true
    }

    /// Releases a reference unless it is the last one, in which case it returns false without a change. Any thread, lock-free.
    @inline(__always)
    func releaseUnlessLast() -> Bool {
        var seen = references.load(ordering: .acquiring)
        while seen > 1 {
            if seen >= Self.immortal { return true }
            RaceDetector.happensBefore(references)
            let (done, now) = references.weakCompareExchange(
                expected: seen, desired: seen - 1, successOrdering: .acquiringAndReleasing, failureOrdering: .acquiring)
            if done { return true }
            seen = now
        }
        return false
    }
}

/// A struct that begins with an `ObjectHeader`.
protocol ObjectStorage: ~Copyable {
    static var kind: Kind { get }
}
