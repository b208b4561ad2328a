import CRunLoop
import CRunLoopKit

/// The fields that follow the version in every context of the kit. The functions are user code: never call them with the kit's lock held.
struct ClientContext: BitwiseCopyable {
    var info: UnsafeMutableRawPointer?
    var retain: (@convention(c) (UnsafeRawPointer?) -> UnsafeRawPointer?)?
    var release: (@convention(c) (UnsafeRawPointer?) -> Void)?
    var copyDescription: (@convention(c) (UnsafeRawPointer?) -> OpaquePointer?)?

    /// Reads the context that a client passes for a new object, a version followed by the fields of this struct; NULL gives a context with
    /// a NULL info and no functions. Returns nil after a diagnostic if the version is not 0, and nil with errno if the kit cannot be set
    /// up.
    @inline(never)
    static func load(_ context: UnsafeRawPointer?, _ function: Name) -> ClientContext? {
        if !KitObject.prepare() { return nil }
        guard let context else { return ClientContext(info: nil) }
        guard context.load(as: Int.self) == 0 else {
            Misuse.report(function, "context", "version must be 0")
            return nil
        }
        return context.load(fromByteOffset: 8, as: ClientContext.self)
    }

    /// Returns a copy of this context whose info is what the client's retain has returned. Calls user code.
    func retained() -> ClientContext {
        var retained = self
        if let retain { retained.info = UnsafeMutableRawPointer(mutating: retain(info)) }
        return retained
    }

    /// Calls the client's release on the info of a context that `retained` has returned. Preserves errno.
    func releaseInfo() {
        if let release { preservingSystemError { release(info) } }
    }

    /// Appends a space and the client's description of the info, if there is one. Calls user code.
    func describe(_ text: inout TextBuffer) {
        guard let own = copyDescription?(info) else { return }
        if let characters = RLStringGetCStringPtr(own, UInt32(kRLStringEncodingUTF8)) {
            text.append(" ")
            text.append(Name(characters))
        }
        RLRelease(UnsafeRawPointer(own))
    }
}
