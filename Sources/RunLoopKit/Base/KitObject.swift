import CLinux
import CLinuxKit
import CRunLoop
import Synchronization

/// The header of every kit object's memory. The object itself is a run loop source whose info points to this, so librunloop manages its
/// references, loops and modes. No field changes after the client has received the handle.
struct KitObject {
    /// Must be the first field: librunloop-trace.so reads it.
    private let header: linux_kit_header
    /// The number that describes the object: a signal, a process ID, a descriptor, or a limit. Negative if there is none: descriptions then
    /// omit it.
    var number: Int
    let client: ClientContext
    /// The source, which owns this memory and frees it. Not retained.
    var source: OpaquePointer?

    /// `callout` is the address of the client's callback, by which traces and explanations name the object; 0 if it has none.
    init(kind: KitKind, number: Int, client: ClientContext, callout: UInt = 0) {
        header = linux_kit_header(kind.rawValue, callout)
        self.number = number
        self.client = client
    }

    var kind: KitKind { KitKind(rawValue: header.kind).unsafelyUnwrapped }
    /// The address of the client's callback; 0 if there is none.
    var callout: UInt { header.callout }
}

/// The address of a C function; 0 for none.
func addressOfFunction<Function>(_ function: Function) -> UInt { unsafeBitCast(function, to: UInt.self) }

/// The number of references that the kit itself has to a handle. If the client releases a handle too often, it is freed although the kit
/// still has some. Any thread.
struct HandleHolders: ~Copyable {
    /// `freed` is added when the handle is freed.
    private let count = Atomic<UInt32>(0)
    private static var freed: UInt32 { 1 << 31 }

    /// Whether the handle was freed.
    var isHandleFreed: Bool { count.load(ordering: .acquiring) >= Self.freed }

    /// Adds a reference to the handle, and retains it unless it was freed. The caller has a reference to the object's memory.
    func retain(_ handle: OpaquePointer?) {
        // In this order, so that `restore` never finds too few references because another thread is inside this function.
        if !isHandleFreed { RLRetain(UnsafeRawPointer(handle)) }
        count.add(1, ordering: .acquiringAndReleasing)
    }

    /// Called by a source's cancel callback. If the client has released the handle too often, retains it as often as that, so that the kit
    /// has all its references again, and returns true. While it runs, no other thread may first remove a reference and then add one.
    func restore(_ handle: OpaquePointer?) -> Bool {
        // librunloop itself has a reference during the callback, and another one while it invalidates the source.
        let others = RLRunLoopSourceIsValid(handle) != 0 ? 1 : 2
        var before = count.load(ordering: .acquiring)
        while before < Self.freed {
            let missing = Int(before) + others - RLGetRetainCount(UnsafeRawPointer(handle))
            let after = count.load(ordering: .acquiring)
            if before == after {
                for _ in 0..<max(missing, 0) { RLRetain(UnsafeRawPointer(handle)) }
                return missing > 0
            }
            before = after
        }
        return false
    }

    /// Removes a reference that `retain` has added. Returns whether the caller has to release the handle: not if it was freed.
    func remove() -> Bool { count.subtract(1, ordering: .acquiringAndReleasing).newValue < Self.freed }

    /// Notes that the handle is being freed. Returns whether the client has released it too often: the kit still has references, so the
    /// caller keeps the object's memory.
    func handleWasFreed() -> Bool { count.add(Self.freed, ordering: .acquiringAndReleasing).oldValue > 0 }
}

/// The kinds of kit objects.
enum KitKind: UInt32 {
    case signal, child, work, workers, hostResolve, stream, fileWatch, listener, streamGroup

    /// The kind's name in diagnostics and descriptions.
    var name: Name {
        switch self {
        case .signal: "RLSignal"
        case .child: "RLChild"
        case .work: "RLWork"
        case .workers: "RLWorkers"
        case .hostResolve: "RLHostResolve"
        case .stream: "RLStream"
        case .fileWatch: "RLFileWatch"
        case .listener: "RLListener"
        case .streamGroup: "RLStreamGroup"
        }
    }
}

/// A struct that begins with a `KitObject`.
protocol KitStorage: ~Copyable {
    static var kind: KitKind { get }
}

extension KitObject {
    /// Returns the object behind a client's handle; nil, after one diagnostic, if the handle is of another kind. Adds no reference. Any
    /// thread.
    static func borrow<Storage: KitStorage & ~Copyable>(
        _ handle: OpaquePointer?, _ function: Name, _ parameter: Name
    ) -> UnsafeMutablePointer<Storage>? {
        find(handle, Storage.kind, function, parameter)?.assumingMemoryBound(to: Storage.self)
    }

    /// Called before each object is created: registers the kit's fork() handlers, and creates the thread's loop. Without a loop,
    /// RLRunLoopSourceCreate would return nil before it takes over the info, so it would not call the context's release. Returns false with
    /// errno if out of memory. Any thread.
    static func prepare() -> Bool { ForkHandlers.prepare() && RLRunLoopGetCurrent() != nil }

    /// Creates a version-1 source, which watches a descriptor. Returns nil if out of memory, after calling the context's release. Any
    /// thread.
    static func makeSource(_ context: inout RLRunLoopSourceContext1) -> OpaquePointer? {
        withUnsafeMutableBytes(of: &context) { bytes in
            RLRunLoopSourceCreate(nil, 0, bytes.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: RLRunLoopSourceContext.self))
        }
    }

    /// The info of a context that RLRunLoopSourceGetContext has not filled in.
    private static var unfilled: UnsafeMutableRawPointer? { UnsafeMutableRawPointer(bitPattern: 1) }

    @inline(never)
    private static func find(
        _ handle: OpaquePointer?, _ kind: KitKind, _ function: Name, _ parameter: Name
    ) -> UnsafeMutableRawPointer? {
        guard let handle else {
            Misuse.report(function, parameter, expected: kind.name, got: "NULL")
            return nil
        }
        var context = RLRunLoopSourceContext()
        context.info = unfilled
        RLRunLoopSourceGetContext(handle, &context)
        // The handle is not a source; librunloop has reported that.
        if context.info == unfilled { return nil }
        if isOfTheKit(context), let object = context.info {
            let found = object.assumingMemoryBound(to: KitObject.self).pointee.kind
            // An RLHostResolve is a work item of its own kind.
            if found == kind || (found == .hostResolve && kind == .work) { return object }
            Misuse.report(function, parameter, expected: kind.name, got: found.name)
        } else {
            Misuse.report(function, parameter, expected: kind.name, got: "another source")
        }
        return nil
    }

    /// Whether a source belongs to the kit: its `copyDescription` is the kit's, so its info is a `KitObject`.
    private static func isOfTheKit(_ context: RLRunLoopSourceContext) -> Bool {
        guard let describe = context.copyDescription else { return false }
        return addressOfFunction(describe) == addressOfFunction(copyDescription)
    }

    /// Describes a source of any kind: its kind, its number, and the client's description of its info. Calls user code.
    static let copyDescription: @convention(c) (UnsafeRawPointer?) -> OpaquePointer? = { info in
        guard let info else { return nil }
        let object = info.assumingMemoryBound(to: KitObject.self)
        return TextBuffer.build { text in
            text.append(object.pointee.kind.name)
            if object.pointee.number >= 0 { text.append(" ", decimal: object.pointee.number) }
            object.pointee.client.describe(&text)
            return text.withBytes { RLStringCreateWithBytes(nil, $0, $1, UInt32(kRLStringEncodingUTF8), 0) }
        }
    }
}
