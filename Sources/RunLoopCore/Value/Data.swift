import CLinux

/// RLData: bytes that never change.
struct DataStorage: ObjectStorage, ~Copyable {
    static var kind: Kind { .data }

    var header: ObjectHeader
    fileprivate(set) var count: Int
}

typealias DataPointer = UnsafeMutablePointer<DataStorage>

extension UnsafeMutablePointer where Pointee == DataStorage {
    /// A copy of `count` bytes with one reference; nil with ENOMEM. One allocation. Any thread.
    static func create(_ source: UnsafePointer<UInt8>?, count: Int) -> DataPointer? {
        let (size, overflow) = count.addingReportingOverflow(MemoryLayout<DataStorage>.size)
        guard !overflow, let memory = malloc(size) else {
            systemError = ENOMEM
            return nil
        }
        let data = memory.bindMemory(to: DataStorage.self, capacity: 1)
        data.initialize(to: DataStorage(header: ObjectHeader(.data), count: count))
        if let source { memcpy(data.mutableBytes, source, count) }
        return data
    }

    /// What `fill` writes into room for `capacity` bytes, as many as it says; nil with ENOMEM. The rest of the room is given
    /// back. Two allocations. Any thread.
    static func create(capacity: Int, _ fill: (UnsafeMutablePointer<UInt8>) -> Int) -> DataPointer? {
        guard let data = create(nil, count: capacity) else { return nil }
        data.pointee.count = fill(data.mutableBytes)
        let smaller = realloc(data, MemoryLayout<DataStorage>.size + data.pointee.count)
        return smaller?.assumingMemoryBound(to: DataStorage.self) ?? data
    }

    /// Any thread.
    func release() {
        if pointee.header.release() {
            pointee.header.tag = 0
            free(self)
        }
    }

    private var mutableBytes: UnsafeMutablePointer<UInt8> {
        (UnsafeMutableRawPointer(self) + MemoryLayout<DataStorage>.size).assumingMemoryBound(to: UInt8.self)
    }

    /// Valid as long as the object. O(1).
    var bytes: UnsafePointer<UInt8> { UnsafePointer(mutableBytes) }

    /// O(n). Any thread.
    func equals(_ other: DataPointer) -> Bool {
        self == other || (pointee.count == other.pointee.count && memcmp(bytes, other.bytes, pointee.count) == 0)
    }
}
