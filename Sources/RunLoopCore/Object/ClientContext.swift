import CRunLoop

/// The fields that all of CF's contexts have in common. No other file calls a context's functions. They are user code: never call
/// them with a lock held.
struct ClientContext: BitwiseCopyable, @unchecked Sendable {
    var info: UnsafeMutableRawPointer?
    var retain: (@convention(c) (UnsafeRawPointer?) -> UnsafeRawPointer?)?
    var release: (@convention(c) (UnsafeRawPointer?) -> Void)?
    var copyDescription: (@convention(c) (UnsafeRawPointer?) -> OpaquePointer?)?

    static let empty = ClientContext(info: nil)

    /// Whether the context has any function, not only an info pointer.
    var hasFunctions: Bool { retain != nil || release != nil || copyDescription != nil }

    /// Retains the info; returns the pointer to keep, which `retain` may have replaced.
    func retained() -> UnsafeMutableRawPointer? {
        guard let retain else { return info }
        return UnsafeMutableRawPointer(mutating: retain(info))
    }

    /// Releases an info that `retained` has returned.
    func released(_ info: UnsafeMutableRawPointer?) {
        if let release { release(info) }
    }

    /// The client's description of an info, a string that the caller owns; nil if the context has no such function, or if it returned NULL.
    func description(of info: UnsafeMutableRawPointer?) -> OpaquePointer? { copyDescription?(info) }
}

extension RLRunLoopSourceContext {
    /// Asks the client's function whether two infos are equal. Calls user code.
    static func areEqual(
        _ equal: @convention(c) (UnsafeRawPointer?, UnsafeRawPointer?) -> UInt8, _ left: UnsafeRawPointer?,
        _ right: UnsafeRawPointer?
    ) -> Bool { equal(left, right) != 0 }

    /// The hash of an info, by the client's function. Calls user code.
    static func hash(_ hash: @convention(c) (UnsafeRawPointer?) -> UInt, _ info: UnsafeRawPointer?) -> UInt { hash(info) }
}
