import CRunLoop

/// The fields that all of CF's context structs have in common. Only this file calls a context's functions. They are user code: never call
/// them with a lock held.
struct ClientContext: BitwiseCopyable, @unchecked Sendable {
    var info: UnsafeMutableRawPointer?
    var retain: (@convention(c) (UnsafeRawPointer?) -> UnsafeRawPointer?)?
    var release: (@convention(c) (UnsafeRawPointer?) -> Void)?
    var copyDescription: (@convention(c) (UnsafeRawPointer?) -> OpaquePointer?)?

    static let empty = ClientContext(info: nil)

    /// Whether the context has any function, rather than only an info pointer.
    var hasFunctions: Bool { retain != nil || release != nil || copyDescription != nil }

    /// Retains the info and returns the pointer to keep, which the client's `retain` may have replaced. Calls user code.
    func retained() -> UnsafeMutableRawPointer? {
        guard let retain else { return info }
        return UnsafeMutableRawPointer(mutating: retain(info))
    }

    /// Releases an info that `retained` returned. Calls user code.
    func released(_ info: UnsafeMutableRawPointer?) {
        if let release { release(info) }
    }

    /// Returns the client's description of an info, a string that the caller owns; nil if the context has no such function, or if the
    /// function returned NULL. Calls user code.
    func description(of info: UnsafeMutableRawPointer?) -> OpaquePointer? { copyDescription?(info) }
}

extension RLRunLoopSourceContext {
    /// Returns whether two infos are equal, as the client's function decides. Calls user code.
    static func areEqual(
        _ equal: @convention(c) (UnsafeRawPointer?, UnsafeRawPointer?) -> UInt8, _ left: UnsafeRawPointer?,
        _ right: UnsafeRawPointer?
    ) -> Bool { equal(left, right) != 0 }

    /// Returns the hash of an info, computed by the client's function. Calls user code.
    static func hash(_ hash: @convention(c) (UnsafeRawPointer?) -> UInt, _ info: UnsafeRawPointer?) -> UInt { hash(info) }
}

/// A struct whose address is the info of one of the library's own sources or timers, or the object of a cleanup handler.
protocol CallbackInfo: ~Copyable {}

extension UnsafeMutablePointer where Pointee: CallbackInfo & ~Copyable {
    /// The struct by the address that a function of the source, the timer or the handler receives.
    init(_ info: UnsafeRawPointer?) {
        self = UnsafeMutableRawPointer(mutating: info.unsafelyUnwrapped).assumingMemoryBound(to: Pointee.self)
    }
}
