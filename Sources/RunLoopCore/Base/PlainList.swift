import CLinux

/// A growable array of plain values (pointers, small structs without destructors) that owns its memory.
///
/// Exists because the standard Array retains, checks and traps where this library must answer "out of
/// memory" and go on. Not thread-safe: guarded by whatever guards its owner. Calls no user code.
struct PlainList<Element: BitwiseCopyable>: ~Copyable {
    private var memory = ListMemory()
    private(set) var count = 0

    init() {}

    deinit { free(memory.start) }

    var elements: UnsafeMutablePointer<Element>? {
        @inline(__always) get { memory.start?.assumingMemoryBound(to: Element.self) }
    }

    /// The same where there is memory.
    private var base: UnsafeMutablePointer<Element> {
        @inline(__always) get { memory.start.unsafelyUnwrapped.assumingMemoryBound(to: Element.self) }
    }

    /// O(1).
    var capacity: Int {
        @inline(__always) get { memory.capacity }
    }

    /// O(1).
    subscript(index: Int) -> Element {
        @inline(__always) get { base[index] }
        @inline(__always) set { base[index] = newValue }
    }

    /// Amortised O(1); false if out of memory.
    @inline(never)
    mutating func reserve(_ total: Int) -> Bool { reserveInlined(total) }

    /// The same on a hot path.
    @inline(__always)
    mutating func reserveInlined(_ total: Int) -> Bool {
        total <= capacity || memory.grow(atLeast: total, stride: MemoryLayout<Element>.stride)
    }

    /// Amortised O(1); false if out of memory.
    @inline(never)
    mutating func append(_ element: Element) -> Bool { appendInlined(element) }

    /// The same on a hot path.
    @inline(__always)
    mutating func appendInlined(_ element: Element) -> Bool {
        if count == capacity && !memory.grow(atLeast: count &+ 1, stride: MemoryLayout<Element>.stride) { return false }
        base[count] = element
        count &+= 1
        return true
    }

    /// O(n); false if out of memory.
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
        let base = base
        for next in (index + 1)..<max(count, index + 1) { base[next - 1] = base[next] }
        count -= 1
    }

    /// Keeps the first `newCount` elements. O(1).
    @inline(__always)
    mutating func truncate(to newCount: Int) { count = newCount }

    /// Gives the memory back. O(1).
    mutating func discard() {
        free(memory.start)
        memory = ListMemory()
        count = 0
    }
}

/// Where the elements of a list are, whatever they are: lists grow in very many places, which share one function.
private struct ListMemory {
    var start: UnsafeMutableRawPointer?
    var capacity = 0

    /// Room for twice as many elements, or `total`; false if there is none, and then nothing has changed.
    @inline(never)
    mutating func grow(atLeast total: Int, stride: Int) -> Bool {
        let wanted = max(max(total, capacity * 2), 8)
        guard let grown = realloc(start, wanted * stride) else { return false }
        start = grown
        capacity = wanted
        return true
    }
}
