/// An element of a singly linked list.
protocol KitLinked {
    var next: UnsafeMutablePointer<Self>? { get set }
}

extension UnsafeMutablePointer where Pointee: KitLinked {
    /// Removes this element from the list that begins with `first`. No effect if it is not in that list. O(length). The caller holds the
    /// list's lock. Calls no user code.
    func unlink(from first: inout Self?) {
        if first == self {
            first = pointee.next
            return
        }
        var before = first
        while let here = before, here.pointee.next != self { before = here.pointee.next }
        before?.pointee.next = pointee.next
    }
}
