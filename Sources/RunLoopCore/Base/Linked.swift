/// An element of a doubly linked list, which has the pointers to its neighbours: adding and removing it takes no memory. A list is
/// the pointer to its first element.
///
/// Guarded by whatever guards the list. An element is in one list at a time.
protocol Linked: ~Copyable {
    /// nil for the first element, and for one that is in no list.
    var previous: UnsafeMutablePointer<Self>? { get set }
    /// nil for the last element.
    var following: UnsafeMutablePointer<Self>? { get set }
}

extension UnsafeMutablePointer where Pointee: Linked & ~Copyable {
    /// Adds the element to the front of a list. O(1).
    func link(into first: inout Self?) {
        pointee.following = first
        first?.pointee.previous = self
        first = self
    }

    /// Removes the element from its list; false if it is in none. O(1).
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
}
