import CRunLoop

/// The part that all contexts have in common, and the only place that calls a context's functions.
/// All of them are user code: never with a lock held.
struct ClientContext: BitwiseCopyable, @unchecked Sendable {
    var info: UnsafeMutableRawPointer?
    var retain: (@convention(c) (UnsafeRawPointer?) -> UnsafeRawPointer?)?
    var release: (@convention(c) (UnsafeRawPointer?) -> Void)?
    var copyDescription: (@convention(c) (UnsafeRawPointer?) -> OpaquePointer?)?

    static let empty = ClientContext(info: nil)

    /// Whether there is more than the info pointer in it.
    @inline(__always)
    var hasFunctions: Bool { retain != nil || release != nil || copyDescription != nil }

    /// The info to keep: what `retain` makes of it.
    func retained() -> UnsafeMutableRawPointer? {
        guard let retain else { return info }
        return UnsafeMutableRawPointer(mutating: retain(info))
    }

    /// Gives up an info that `retained` returned.
    func released(_ info: UnsafeMutableRawPointer?) {
        if let release { release(info) }
    }

    /// A string the caller owns, nil if there is no such function or it gave none.
    func description(of info: UnsafeMutableRawPointer?) -> OpaquePointer? { copyDescription?(info) }
}

extension RLRunLoopSourceContext {
    /// Whether two infos are the same to the client. Calls user code.
    static func areEqual(
        _ equal: @convention(c) (UnsafeRawPointer?, UnsafeRawPointer?) -> UInt8, _ left: UnsafeRawPointer?,
        _ right: UnsafeRawPointer?
    ) -> Bool { equal(left, right) != 0 }

    /// What the client's hash function makes of an info. Calls user code.
    static func hash(_ hash: @convention(c) (UnsafeRawPointer?) -> UInt, _ info: UnsafeRawPointer?) -> UInt { hash(info) }
}
