import CLinux

/// A growable array of plain values (pointers, small structs without destructors) that owns its memory.
///
/// Exists because the standard Array retains, checks and traps where this library must answer "out of
/// memory" and go on. Not thread-safe: guarded by whatever guards its owner. Calls no user code.
struct PlainList<Element: BitwiseCopyable>: ~Copyable {
    private(set) var elements: UnsafeMutablePointer<Element>?
    private(set) var count: Int
    private(set) var capacity: Int

    init() {
        elements = nil
        count = 0
        capacity = 0
    }

    deinit { free(elements) }

    /// O(1).
    subscript(index: Int) -> Element {
        @inline(__always) get { elements.unsafelyUnwrapped[index] }
        @inline(__always) set { elements.unsafelyUnwrapped[index] = newValue }
    }

    /// Amortised O(1); false if out of memory.
    @inline(__always)
    mutating func reserve(_ total: Int) -> Bool {
        if total <= capacity { return true }
        guard let grown = grown(elements, stride: MemoryLayout<Element>.stride, &capacity, atLeast: total) else { return false }
        elements = grown.assumingMemoryBound(to: Element.self)
        return true
    }

    /// Amortised O(1); false if out of memory.
    @inline(__always)
    mutating func append(_ element: Element) -> Bool {
        if count == capacity && !reserve(count + 1) { return false }
        elements.unsafelyUnwrapped[count] = element
        count &+= 1
        return true
    }

    /// Where `reserve` has made room. O(1).
    @inline(__always)
    mutating func appendReserved(_ element: Element) {
        elements.unsafelyUnwrapped[count] = element
        count &+= 1
    }

    /// O(n); false if out of memory.
    mutating func insert(_ element: Element, at index: Int) -> Bool {
        guard append(element) else { return false }
        let base = elements.unsafelyUnwrapped
        var hole = count - 1
        while hole > index {
            base[hole] = base[hole - 1]
            hole -= 1
        }
        base[index] = element
        return true
    }

    /// Puts others in front of all. O(n); false if out of memory.
    mutating func prepend(_ others: borrowing PlainList<Element>) -> Bool {
        guard reserve(count + others.count), let elements, let first = others.elements else { return others.count == 0 }
        memmove(elements + others.count, elements, count * MemoryLayout<Element>.stride)
        memcpy(elements, first, others.count * MemoryLayout<Element>.stride)
        count += others.count
        return true
    }

    /// Keeps the order. O(n).
    mutating func remove(at index: Int) {
        let base = elements.unsafelyUnwrapped
        for next in (index + 1)..<max(count, index + 1) { base[next - 1] = base[next] }
        count -= 1
    }

    /// Keeps the first `newCount` elements. O(1).
    @inline(__always)
    mutating func truncate(to newCount: Int) { count = newCount }

    /// Gives the memory back. O(1).
    mutating func discard() {
        free(elements)
        elements = nil
        count = 0
        capacity = 0
    }
}

/// The memory of a list with room for twice as many elements, or `total`; nil if there is none, and then nothing has changed.
/// One function for all kinds of elements: lists grow in very many places.
@inline(never)
private func grown(
    _ memory: UnsafeMutableRawPointer?, stride: Int, _ capacity: inout Int, atLeast total: Int
) -> UnsafeMutableRawPointer? {
    let wanted = max(total, capacity * 2, 8)
    guard let grown = realloc(memory, wanted * stride) else { return nil }
    capacity = wanted
    return grown
}
