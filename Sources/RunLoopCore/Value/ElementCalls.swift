import CLinux
import CRunLoop

/// RLComparatorFunction: the order of two elements.
public typealias ElementComparator = @convention(c) (UnsafeRawPointer?, UnsafeRawPointer?, UnsafeMutableRawPointer?) -> Int

/// What a collection does with its elements: the callbacks that it was made with, and the only calls of them.
/// All of it is user code: never with a lock held, and only while the collection is whole.
struct ElementCalls: BitwiseCopyable {
    private let retainElement: (@convention(c) (OpaquePointer?, UnsafeRawPointer?) -> UnsafeRawPointer?)?
    private let releaseElement: (@convention(c) (OpaquePointer?, UnsafeRawPointer?) -> Void)?
    private let equal: (@convention(c) (UnsafeRawPointer?, UnsafeRawPointer?) -> UInt8)?
    private let hashElement: (@convention(c) (UnsafeRawPointer?) -> UInt)?

    /// Plain pointers.
    init() { (retainElement, releaseElement, equal, hashElement) = (nil, nil, nil, nil) }

    init(_ given: RLArrayCallBacks) {
        (retainElement, releaseElement, equal, hashElement) = (given.retain, given.release, given.equal, nil)
    }

    init(_ given: RLSetCallBacks) {
        (retainElement, releaseElement, equal, hashElement) = (given.retain, given.release, given.equal, given.hash)
    }

    init(_ given: RLDictionaryKeyCallBacks) {
        (retainElement, releaseElement, equal, hashElement) = (given.retain, given.release, given.equal, given.hash)
    }

    init(_ given: RLDictionaryValueCallBacks) {
        (retainElement, releaseElement, equal, hashElement) = (given.retain, given.release, given.equal, nil)
    }

    /// What to store for a value.
    func retained(_ value: UnsafeRawPointer?) -> UnsafeRawPointer? {
        guard let retainElement else { return value }
        return retainElement(nil, value)
    }

    /// Retains `count` values of a list. The list is read first: the callback may change the array that it belongs to.
    @inline(never)
    func retain(_ source: UnsafePointer<UnsafeRawPointer?>?, _ count: Int, into stored: UnsafeMutablePointer<UnsafeRawPointer?>) {
        guard let source else { return }
        memcpy(stored, source, count * MemoryLayout<UnsafeRawPointer?>.stride)
        for index in 0..<count { stored[index] = retained(stored[index]) }
    }

    /// Releases a stored value. Calls user code.
    func released(_ value: UnsafeRawPointer?) { releaseElement?(nil, value) }

    /// Whether two values are one pointer, or equal by the client's callback. Calls user code.
    func areEqual(_ left: UnsafeRawPointer?, _ right: UnsafeRawPointer?) -> Bool {
        if left == right { return true }
        guard let equal else { return false }
        return equal(left, right) != 0
    }

    /// Never 0: that marks an empty bucket.
    func hash(_ value: UnsafeRawPointer?) -> UInt { max(1, Bytes.mix(hashElement?(value) ?? UInt(bitPattern: value))) }

    /// Whether what is stored is retained as an object of ours.
    var holdsObjects: Bool { unsafeBitCast(retainElement, to: UInt.self) == unsafeBitCast(kRLTypeArrayCallBacks.retain, to: UInt.self) }

    /// Whether two collections tell equality in the same way.
    func compares(like other: ElementCalls) -> Bool {
        unsafeBitCast(equal, to: UInt.self) == unsafeBitCast(other.equal, to: UInt.self)
    }

    /// What a client's function says of the order.
    static func compare(
        _ left: UnsafeRawPointer?, _ right: UnsafeRawPointer?, _ comparator: ElementComparator, _ context: UnsafeMutableRawPointer?
    ) -> Int { comparator(left, right, context) }

    /// Hands one element to a client's function.
    static func apply(
        _ function: @convention(c) (UnsafeRawPointer?, UnsafeMutableRawPointer?) -> Void, _ value: UnsafeRawPointer?,
        _ context: UnsafeMutableRawPointer?
    ) { function(value, context) }

    /// Hands a key and its value to a client's function.
    static func apply(
        _ function: @convention(c) (UnsafeRawPointer?, UnsafeRawPointer?, UnsafeMutableRawPointer?) -> Void,
        _ key: UnsafeRawPointer?, _ value: UnsafeRawPointer?, _ context: UnsafeMutableRawPointer?
    ) { function(key, value, context) }
}
