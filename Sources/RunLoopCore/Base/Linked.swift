/// An element of a doubly linked list. It contains the pointers to its neighbors, so adding and removing it allocates no memory. A list is
/// a pointer to its first element.
///
/// Guarded by whatever guards the list. An element is in at most one list at a time.
protocol Linked: ~Copyable {
    /// The previous element; nil for the first element, and for one that is in no list.
    var previous: UnsafeMutablePointer<Self>? { get set }
    /// The next element; nil for the last element.
    var following: UnsafeMutablePointer<Self>? { get set }
}

extension UnsafeMutablePointer where Pointee: Linked & ~Copyable {
    /// Adds the element to the front of a list. O(1).
    func link(into first: inout Self?) {
        pointee.following = first
        first?.pointee.previous = self
        first = self
    }

    /// Removes the element from its list. Returns false if it is in no list. O(1).
    @inline(__always)
    @discardableResult
    func unlink(from first: inout Self?) -> Bool {
        if let previous = pointee.previous {
            previous.pointee.following = pointee.following
        } else if first == self {
            first = pointee.following
        } else {
            return false
        }
        pointee.following?.pointee.previous = pointee.previous
        pointee.previous = nil
        pointee.following = nil
        return true
    }

    /// Returns the first element, from this one on, for which `condition` holds; nil if there is none. O(n).
    @inline(__always)
    func first(where condition: (Self) -> Bool) -> Self? {
        var next: Self? = self
        while let element = next, !condition(element) { next = element.pointee.following }
        return next
    }

    /// Calls `body` for each element from this one on. It may remove and free its element. O(n).
    @inline(__always)
    func forEach(_ body: (Self) -> Void) {
        var next: Self? = self
        while let element = next {
            next = element.pointee.following
            body(element)
        }
    }
}

/// A list that keeps the order in which elements were added. Guarded, together with the elements' links, by whatever guards its owner.
struct LinkedQueue<Element: Linked & ~Copyable>: BitwiseCopyable {
    /// The oldest element.
    private(set) var first: UnsafeMutablePointer<Element>?
    private var last: UnsafeMutablePointer<Element>?

    /// Appends an element, which must be in no list. O(1).
    @inline(__always)
    mutating func append(_ element: UnsafeMutablePointer<Element>) {
        element.pointee.previous = last
        last?.pointee.following = element
        last = element
        if first == nil { first = element }
    }

    /// Removes an element. Does nothing if it is in no list. O(1).
    @inline(__always)
    mutating func remove(_ element: UnsafeMutablePointer<Element>) {
        if last == element { last = element.pointee.previous }
        element.unlink(from: &first)
    }
}
