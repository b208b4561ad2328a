import CLinux
import CRunLoop

/// RLComparatorFunction, which returns the order of two elements.
public typealias ElementComparator = @convention(c) (UnsafeRawPointer?, UnsafeRawPointer?, UnsafeMutableRawPointer?) -> Int

/// The callbacks with which a collection was created. Only this file calls them, and the functions that clients pass to a collection's
/// other functions. They are user code: call without a lock held, and only while the collection is consistent.
struct ElementCalls: BitwiseCopyable {
    private let retainElement: (@convention(c) (OpaquePointer?, UnsafeRawPointer?) -> UnsafeRawPointer?)?
    private let releaseElement: (@convention(c) (OpaquePointer?, UnsafeRawPointer?) -> Void)?
    private let equal: (@convention(c) (UnsafeRawPointer?, UnsafeRawPointer?) -> UInt8)?
    private let hashElement: (@convention(c) (UnsafeRawPointer?) -> UInt)?

    /// Creates the callbacks of a collection of plain pointers: none.
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

    /// Retains a value and returns the pointer to store. Calls user code.
    func retained(_ value: UnsafeRawPointer?) -> UnsafeRawPointer? {
        guard let retainElement else { return value }
        return retainElement(nil, value)
    }

    /// Retains `count` values of a list. Reads the whole list first, because the callback may change the array to which the list belongs.
    /// Calls user code.
    func retain(_ source: UnsafePointer<UnsafeRawPointer?>?, _ count: Int, into stored: UnsafeMutablePointer<UnsafeRawPointer?>) {
        guard let source else { return }
        memcpy(stored, source, count * MemoryLayout<UnsafeRawPointer?>.stride)
        for index in 0..<count { stored[index] = retained(stored[index]) }
    }

    /// Releases a value that was stored. Calls user code.
    func released(_ value: UnsafeRawPointer?) { releaseElement?(nil, value) }

    /// Returns whether two values are the same pointer, or equal according to the client's callback. May call user code.
    func areEqual(_ left: UnsafeRawPointer?, _ right: UnsafeRawPointer?) -> Bool {
        if left == right { return true }
        guard let equal else { return false }
        return equal(left, right) != 0
    }

    /// Returns the hash of a value; never 0, which marks an empty bucket. May call user code.
    func hash(_ value: UnsafeRawPointer?) -> UInt { max(1, Bytes.mix(hashElement?(value) ?? UInt(bitPattern: value))) }

    /// Whether the collection retains its values as objects of this library.
    var holdsObjects: Bool { unsafeBitCast(retainElement, to: UInt.self) == unsafeBitCast(kRLTypeArrayCallBacks.retain, to: UInt.self) }

    /// Returns whether a value may be stored: a collection that retains objects accepts only objects of this library.
    func accepts(_ value: UnsafeRawPointer?) -> Bool { !holdsObjects || Handle.kind(of: value) != nil }

    /// Returns whether two collections compare values with the same callback.
    func compares(like other: ElementCalls) -> Bool {
        unsafeBitCast(equal, to: UInt.self) == unsafeBitCast(other.equal, to: UInt.self)
    }

    /// Calls a client's comparator.
    static func compare(
        _ left: UnsafeRawPointer?, _ right: UnsafeRawPointer?, _ comparator: ElementComparator, _ context: UnsafeMutableRawPointer?
    ) -> Int { comparator(left, right, context) }

    /// Calls a client's function with one element.
    static func apply(
        _ function: @convention(c) (UnsafeRawPointer?, UnsafeMutableRawPointer?) -> Void, _ value: UnsafeRawPointer?,
        _ context: UnsafeMutableRawPointer?
    ) { function(value, context) }

    /// Calls a client's function with a key and its value.
    static func apply(
        _ function: @convention(c) (UnsafeRawPointer?, UnsafeRawPointer?, UnsafeMutableRawPointer?) -> Void,
        _ key: UnsafeRawPointer?, _ value: UnsafeRawPointer?, _ context: UnsafeMutableRawPointer?
    ) { function(key, value, context) }
}
