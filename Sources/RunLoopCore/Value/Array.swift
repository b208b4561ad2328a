import CLinux
import CRunLoop
import Synchronization

/// RLArray: an array of pointers, which are retained and compared by the callbacks that the array was created with.
///
/// The values of an immutable array directly follow this struct; those of a mutable array are in a separate block. A mutable array belongs
/// to one thread at a time. Callbacks are called only while the array is consistent, and afterwards nothing relies on a count or an address
/// that was read before. So a callback that changes the array can damage its contents, but nothing else.
struct ArrayStorage: ObjectStorage, ~Copyable {
    static var kind: Kind { .array }

    var header: ObjectHeader
    let isMutable: Bool
    var count: Int
    var capacity: Int
    /// The elements of the array.
    var values: UnsafeMutablePointer<UnsafeRawPointer?>
    /// The callbacks for the elements.
    let elementCalls: ElementCalls
}

typealias ArrayPointer = UnsafeMutablePointer<ArrayStorage>

extension ArrayPointer {
    /// Creates an immutable array. Returns nil with ENOMEM if out of memory. One allocation. Any thread. Calls retain.
    static func create(_ source: UnsafePointer<UnsafeRawPointer?>?, count: Int, _ calls: ElementCalls) -> ArrayPointer? {
        let (bytes, tooMany) = count.multipliedReportingOverflow(by: MemoryLayout<UnsafeRawPointer?>.stride)
        let (size, tooLarge) = bytes.addingReportingOverflow(MemoryLayout<ArrayStorage>.stride)
        guard !tooMany, !tooLarge, let memory = malloc(size) else {
            systemError = ENOMEM
            return nil
        }
        let array = memory.bindMemory(to: ArrayStorage.self, capacity: 1)
        let values = UnsafeMutableRawPointer(array + 1).assumingMemoryBound(to: UnsafeRawPointer?.self)
        array.initialize(
            to: ArrayStorage(
                header: ObjectHeader(.array), isMutable: false, count: count, capacity: 0, values: values, elementCalls: calls))
        calls.retain(source, count, into: values)
        return array
    }

    /// Creates a mutable array without values. Returns nil with ENOMEM if out of memory. Two allocations. Any thread.
    static func createMutable(capacity: Int, _ calls: ElementCalls) -> ArrayPointer? {
        guard let values = allocateValues(capacity) else { return nil }
        guard let memory = malloc(MemoryLayout<ArrayStorage>.size) else {
            free(values)
            return nil
        }
        let array = memory.bindMemory(to: ArrayStorage.self, capacity: 1)
        array.initialize(
            to: ArrayStorage(
                header: ObjectHeader(.array), isMutable: true, count: 0, capacity: capacity,
                values: values, elementCalls: calls))
        return array
    }

    /// Allocates memory for `count` values. Returns nil with ENOMEM if out of memory.
    private static func allocateValues(_ count: Int) -> UnsafeMutablePointer<UnsafeRawPointer?>? {
        let (size, overflow) = count.multipliedReportingOverflow(by: MemoryLayout<UnsafeRawPointer?>.stride)
        if overflow { systemError = ENOMEM }
        return overflow ? nil : malloc(Swift.max(size, 1))?.assumingMemoryBound(to: UnsafeRawPointer?.self)
    }

    /// Returns an immutable copy; for an immutable array the array itself, retained. Returns nil with ENOMEM if out of memory. Calls
    /// retain.
    func immutableCopy() -> ArrayPointer? {
        if pointee.isMutable { return Self.create(pointee.values, count: pointee.count, pointee.elementCalls) }
        pointee.header.retain()
        return self
    }

    /// Releases a reference. The last one calls release for each value and frees the array. Any thread.
    func release() {
        guard pointee.header.release() else { return }
        // As in CF, the callbacks find the values. They cannot change the array: see `isBeingFreed`.
        for index in 0..<pointee.count { pointee.elementCalls.released(pointee.values[index]) }
        pointee.header.tag = 0
        if pointee.isMutable { free(pointee.values) }
        free(self)
    }

    /// Whether the last reference has been released, so that the array must not be changed: a value that a callback removed would be released
    /// a second time.
    var isBeingFreed: Bool { pointee.header.references.load(ordering: .relaxed) == 0 }

    /// The value at an index; nil outside the array. O(1).
    subscript(value index: Int) -> UnsafeRawPointer? { index >= 0 && index < pointee.count ? pointee.values[index] : nil }

    /// Returns the index of the first of `length` values from `start` on that equals `value`; nil if none does. O(n). Calls equal.
    @inline(never)
    func firstIndex(of value: UnsafeRawPointer?, from start: Int, _ length: Int) -> Int? {
        for index in start..<(start + length) where pointee.elementCalls.areEqual(value, self[value: index]) { return index }
        return nil
    }

    /// Returns whether both arrays have equal values in the same order. O(n). Calls equal.
    func equals(_ other: ArrayPointer) -> Bool {
        if self == other { return true }
        if pointee.count != other.pointee.count { return false }
        if !pointee.elementCalls.compares(like: other.pointee.elementCalls) { return false }
        for index in 0..<pointee.count where !pointee.elementCalls.areEqual(self[value: index], other[value: index]) { return false }
        return true
    }

    /// Replaces `length` values from `start` on by `count` new ones, which may be values of this array. Returns false, without a change, if
    /// out of memory (ENOMEM) or if a callback has made the array too short (errno unchanged). O(n). Calls retain for the new values before
    /// it changes the array, and release for the old ones afterwards.
    @inline(never)
    func replace(_ start: Int, _ length: Int, with new: UnsafePointer<UnsafeRawPointer?>?, count: Int) -> Bool {
        let few = 16
        return withUnsafeTemporaryAllocation(of: UnsafeRawPointer?.self, capacity: few) { stack in
            let (both, overflow) = count.addingReportingOverflow(length)
            let many = overflow || both > few
            guard let added = many ? Self.allocateValues(overflow ? .max : both) : stack.baseAddress else { return false }
            defer { if many { free(added) } }
            pointee.elementCalls.retain(new, count, into: added)
            guard exchange(start, length, for: added, count: count, into: added + count) else {
                for index in 0..<count { pointee.elementCalls.released(added[index]) }
                return false
            }
            for index in 0..<length { pointee.elementCalls.released(added[count + index]) }
            return true
        }
    }

    /// Does what `replace` does without calling callbacks, and copies the old values to `removed`.
    private func exchange(
        _ start: Int, _ length: Int, for added: UnsafePointer<UnsafeRawPointer?>, count: Int,
        into removed: UnsafeMutablePointer<UnsafeRawPointer?>
    ) -> Bool {
        let stride = MemoryLayout<UnsafeRawPointer?>.stride
        let old = pointee.count
        guard start + length <= old, reserve(old - length + count) else { return false }
        let gap = pointee.values + start
        memcpy(removed, gap, length * stride)
        memmove(gap + count, gap + length, (old - start - length) * stride)
        memcpy(gap, added, count * stride)
        pointee.count = old - length + count
        return true
    }

    /// Makes room for `wanted` values. Returns false with ENOMEM if out of memory. Amortized O(1).
    private func reserve(_ wanted: Int) -> Bool {
        if wanted <= pointee.capacity { return true }
        let capacity = max(max(wanted, pointee.capacity * 2), 8)
        guard let grown = realloc(pointee.values, capacity * MemoryLayout<UnsafeRawPointer?>.stride) else { return false }
        pointee.values = grown.assumingMemoryBound(to: UnsafeRawPointer?.self)
        pointee.capacity = capacity
        return true
    }

    /// Sorts `length` values from `start` on; equal values keep their order. Returns false with ENOMEM, without a change, if out of memory.
    /// O(n log n), allocates. Calls the comparator, which sees the unsorted array. Changes that it makes there are overwritten; if it makes
    /// the array too short, the array is left as it is.
    func sort(_ start: Int, _ length: Int, _ comparator: ElementComparator, _ context: UnsafeMutableRawPointer?) -> Bool {
        if length < 2 { return true }
        let stride = MemoryLayout<UnsafeRawPointer?>.stride
        guard let scratch = malloc(2 * length * stride) else { return false }
        defer { free(scratch) }
        var from = scratch.assumingMemoryBound(to: UnsafeRawPointer?.self)
        var to = from + length
        memcpy(from, pointee.values + start, length * stride)
        var width = 1
        while width < length {
            var low = 0
            while low < length {
                let middle = Swift.min(low + width, length)
                let high = Swift.min(middle + width, length)
                var (left, right) = (low, middle)
                for index in low..<high {
                    let takesRight =
                        right < high && (left == middle || ElementCalls.compare(from[left], from[right], comparator, context) > 0)
                    to[index] = from[takesRight ? right : left]
                    if takesRight { right += 1 } else { left += 1 }
                }
                low = high
            }
            swap(&from, &to)
            width *= 2
        }
        if start + length <= pointee.count { memcpy(pointee.values + start, from, length * stride) }
        return true
    }

    /// Returns the index of the first of `length` sorted values from `start` on that is not less than `value`; `start + length` if all are
    /// less. O(log n). Calls the comparator.
    func sortedIndex(
        of value: UnsafeRawPointer?, _ start: Int, _ length: Int, _ comparator: ElementComparator,
        _ context: UnsafeMutableRawPointer?
    ) -> Int {
        var (low, high) = (start, start + length)
        while low < high {
            let middle = low + (high - low) / 2
            if ElementCalls.compare(self[value: middle], value, comparator, context) < 0 { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

extension ElementCalls {
    /// The callbacks for values that are objects of this library.
    static var ofObjects: ElementCalls { ElementCalls(kRLTypeArrayCallBacks) }
}
