import CLinux

/// A growable array of plain values (pointers, small structs without destructors) that owns its memory. Used instead of Swift's Array,
/// which retains, checks, and traps where this library has to report "out of memory" and continue.
///
/// Not thread-safe: guarded by whatever guards its owner. Calls no user code.
struct PlainList<Element: BitwiseCopyable>: ~Copyable {
    private var memory = ListMemory()
    private(set) var count = 0

    init() {}

    deinit { free(memory.start) }

    /// The address of the first element; nil until the list has memory.
    var elements: UnsafeMutablePointer<Element>? { memory.start?.assumingMemoryBound(to: Element.self) }

    /// The value of `elements` in a list that has memory.
    private var base: UnsafeMutablePointer<Element> { memory.start.unsafelyUnwrapped.assumingMemoryBound(to: Element.self) }

    /// The number of elements for which there is memory. O(1).
    var capacity: Int { memory.capacity }

    /// The element at `index`, which must exist. O(1).
    subscript(index: Int) -> Element {
        get { base[index] }
        set { base[index] = newValue }
    }

    /// Makes room for `total` elements. Returns false if out of memory. Amortized O(1).
    @inline(never)
    mutating func reserve(_ total: Int) -> Bool { reserveInlined(total) }

    /// Like `reserve`, for hot paths.
    mutating func reserveInlined(_ total: Int) -> Bool {
        total <= capacity || memory.grow(atLeast: total, stride: MemoryLayout<Element>.stride)
    }

    /// Appends an element. Returns false if out of memory. Amortized O(1).
    @inline(never)
    mutating func append(_ element: Element) -> Bool { appendInlined(element) }

    /// Like `append`, for hot paths.
    @inline(__always)
    mutating func appendInlined(_ element: Element) -> Bool {
        if count == capacity && !memory.grow(atLeast: count &+ 1, stride: MemoryLayout<Element>.stride) { return false }
        base[count] = element
        count &+= 1
        return true
    }

    /// Inserts an element at `index`. Returns false if out of memory. O(n).
    mutating func insert(_ element: Element, at index: Int) -> Bool {
        guard append(element) else { return false }
        let base = base
        var hole = count - 1
        while hole > index {
            base[hole] = base[hole - 1]
            hole -= 1
        }
        base[index] = element
        return true
    }

    /// Inserts the elements of another list at the front. Returns false if out of memory. O(n).
    mutating func prepend(_ others: borrowing PlainList<Element>) -> Bool {
        guard reserve(count + others.count), let elements, let first = others.elements else { return others.count == 0 }
        memmove(elements + others.count, elements, count * MemoryLayout<Element>.stride)
        memcpy(elements, first, others.count * MemoryLayout<Element>.stride)
        count += others.count
        return true
    }

    /// Removes an element and keeps the order of the others. O(n).
    mutating func remove(at index: Int) {
        let base = base
        for next in (index + 1)..<max(count, index + 1) { base[next - 1] = base[next] }
        count -= 1
    }

    /// Removes the first `number` elements and keeps the order of the others. O(n).
    mutating func removeFirst(_ number: Int) {
        if number == 0 { return }
        memmove(base, base + number, (count - number) * MemoryLayout<Element>.stride)
        count -= number
    }

    /// Removes the elements from index `newCount` on. Keeps the memory. O(1).
    mutating func truncate(to newCount: Int) { count = newCount }

    /// Removes all elements and frees the memory. O(1).
    mutating func removeAll() {
        free(memory.start)
        memory = ListMemory()
        count = 0
    }
}

extension PlainList where Element: Equatable {
    /// Removes the first element that equals `element`, if there is one, and keeps the order of the others. O(n).
    @inline(never)
    mutating func remove(_ element: Element) {
        for index in 0..<count where self[index] == element { return remove(at: index) }
    }
}

/// The memory of a list, independent of the type of its elements, so that lists of all types share the function that grows them.
private struct ListMemory {
    var start: UnsafeMutableRawPointer?
    var capacity = 0

    /// Makes room for twice as many elements, or for `total` if that is more. Returns false, without a change, if out of memory.
    @inline(never)
    mutating func grow(atLeast total: Int, stride: Int) -> Bool {
        let wanted = max(max(total, capacity * 2), 8)
        guard let grown = realloc(start, wanted * stride) else { return false }
        start = grown
        capacity = wanted
        return true
    }
}
