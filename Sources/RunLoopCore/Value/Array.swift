import CLinux
import CRunLoop

/// RLArray: values that never change, held and compared through the callbacks it was made with.
struct ArrayStorage: ObjectStorage, ~Copyable {
    static var kind: Kind { .array }

    var header: ObjectHeader
    let count: Int
    let callBacks: RLArrayCallBacks
}

typealias ArrayPointer = UnsafeMutablePointer<ArrayStorage>

extension UnsafeMutablePointer where Pointee == ArrayStorage {
    /// A new array with one reference; nil with ENOMEM. One allocation. Any thread. Calls `callBacks.retain`.
    static func create(_ source: UnsafePointer<UnsafeRawPointer?>?, count: Int, _ callBacks: RLArrayCallBacks) -> ArrayPointer? {
        let (bytes, tooMany) = count.multipliedReportingOverflow(by: MemoryLayout<UnsafeRawPointer?>.stride)
        let (size, tooLarge) = bytes.addingReportingOverflow(MemoryLayout<ArrayStorage>.size)
        guard !tooMany, !tooLarge, let memory = malloc(size) else {
            systemError = ENOMEM
            return nil
        }
        let array = memory.bindMemory(to: ArrayStorage.self, capacity: 1)
        array.initialize(to: ArrayStorage(header: ObjectHeader(.array), count: count, callBacks: callBacks))
        for index in 0..<count {
            let value = source.unsafelyUnwrapped[index]
            array.values[index] = callBacks.retain == nil ? value : callBacks.retain(nil, value)
        }
        return array
    }

    /// Any thread. The last one calls `callBacks.release` for each value.
    func release() {
        guard pointee.header.release() else { return }
        if let releaseValue = pointee.callBacks.release {
            for index in 0..<pointee.count { releaseValue(nil, values[index]) }
        }
        pointee.header.tag = 0
        free(self)
    }

    private var values: UnsafeMutablePointer<UnsafeRawPointer?> {
        (UnsafeMutableRawPointer(self) + MemoryLayout<ArrayStorage>.size).assumingMemoryBound(to: UnsafeRawPointer?.self)
    }

    /// The caller has looked at the bounds. O(1).
    subscript(value index: Int) -> UnsafeRawPointer? { values[index] }

    /// Whether `value` is among those from `start` on, `length` of them. O(n). Calls `callBacks.equal`.
    func contains(_ value: UnsafeRawPointer?, from start: Int, _ length: Int) -> Bool {
        for index in start..<(start + length) {
            let other = values[index]
            if other == value { return true }
            if let equal = pointee.callBacks.equal, equal(value, other) != 0 { return true }
        }
        return false
    }

    /// Same values in the same order. O(n). Calls `callBacks.equal`.
    func equals(_ other: ArrayPointer) -> Bool {
        if self == other { return true }
        if pointee.count != other.pointee.count { return false }
        for index in 0..<pointee.count where !other.contains(values[index], from: index, 1) { return false }
        return true
    }
}

extension RLArrayCallBacks {
    /// For values that are objects.
    static var ofObjects: RLArrayCallBacks { kRLTypeArrayCallBacks }
}
