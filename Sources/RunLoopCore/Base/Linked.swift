/// What lies in a list by knowing its neighbours: it goes in and out at once, without memory. A list is the pointer to its first.
///
/// Guarded by whatever guards the list; an element is in one list at a time.
protocol Linked: ~Copyable {
    /// nil for the first, and for what is in no list.
    var previous: UnsafeMutablePointer<Self>? { get set }
    /// nil for the last.
    var following: UnsafeMutablePointer<Self>? { get set }
}

extension UnsafeMutablePointer where Pointee: Linked & ~Copyable {
    /// Becomes the first of a list. O(1).
    @inline(__always)
    func link(into first: inout Self?) {
        pointee.following = first
        first?.pointee.previous = self
        first = self
    }

    /// Out of the list; false if it is in none. O(1).
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
