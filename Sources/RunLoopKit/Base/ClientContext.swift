import CRunLoop
import CRunLoopKit

/// The fields that the contexts of all objects of the kit have in common. Their functions are user code: never call them with the lock
/// held.
struct ClientContext: BitwiseCopyable {
    var info: UnsafeMutableRawPointer?
    var retain: (@convention(c) (UnsafeRawPointer?) -> UnsafeRawPointer?)?
    var release: (@convention(c) (UnsafeRawPointer?) -> Void)?
    var copyDescription: (@convention(c) (UnsafeRawPointer?) -> OpaquePointer?)?

    /// The context that a client passes; nil, and one diagnostic, if its version is not 0. All of the kit's begin with the version, and
    /// then have the fields of this struct.
    @inline(never)
    static func load(_ context: UnsafeRawPointer?, _ function: Name) -> ClientContext? {
        guard let context else { return ClientContext(info: nil) }
        guard context.load(as: Int.self) == 0 else {
            Misuse.report(function, "context", "version must be 0")
            return nil
        }
        return context.load(fromByteOffset: 8, as: ClientContext.self)
    }

    /// The context with the info that the client's function has retained, and may have replaced.
    func retained() -> ClientContext {
        var retained = self
        if let retain { retained.info = UnsafeMutableRawPointer(mutating: retain(info)) }
        return retained
    }

    /// Has the client release the info, of a context that `retained` has returned. Leaves errno as it was.
    func releaseInfo() {
        if let release { preservingSystemError { release(info) } }
    }
}
