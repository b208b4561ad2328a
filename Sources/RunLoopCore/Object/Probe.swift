import CLinux
import CRunLoop

/// The client's probe, to which events of all loops are reported (RLRunLoopProbe.h). A report costs two instructions while no probe is set:
///
///     if Probe.isSet { Probe.report(…) }
///
/// In each post and callback the condition is `_slowPath(Probe.isSet)`: then no jump is taken without a probe, for some bytes more of code.
/// Where something has failed or has been cancelled, where the kernel puts a thread to sleep or wakes it, and in requests to message ports,
/// `report` is called without this test: one call more makes no difference there. docs/DESIGN.md counts the bytes.
enum Probe {
    /// What an event is about, with the values of the public header.
    enum Kind: UInt32 {
        case source = 1
        case timer, observer, function, fileDescriptor, socket, port, messagePort, reply, invalidation, sleep, wake, pass, wakeUp
    }

    /// Which function of the probe is called: its place in the public struct, after the version.
    enum Part: UInt32 {
        case willCall
        case didCall, willSleep, didSleep, sent, received, dropped, willPass
    }

    /// Whether there is a probe. Any thread, async-signal-safe.
    static var isSet: Bool { linux_has_probe() != 0 }

    /// Reports an event to the probe; nothing happens if it has no such function. Callers leave out the arguments that the public header does
    /// not list for the kind, so that no instruction sets them: the client's function gets whatever their registers hold. Any thread, without
    /// a lock; async-signal-safe as far as the client's function is. Calls user code.
    @inline(__always)
    static func report(
        _ part: Part, _ kind: Kind, _ object: UnsafeRawPointer? = UnsafeRawPointer(bitPattern: linux_unspecified()),
        number: UInt = linux_unspecified(), function: UInt = linux_unspecified(),
        info: UnsafeRawPointer? = UnsafeRawPointer(bitPattern: linux_unspecified())
    ) {
        report(part.rawValue << 4 | kind.rawValue, object, number, function, info)
    }

    /// Reports an event whose part and kind are in `topic`, so that each place passes one argument for the two. The arguments stay in their
    /// registers, and the client's function is jumped to.
    @inline(never)
    private static func report(
        _ topic: UInt32, _ object: UnsafeRawPointer?, _ number: UInt, _ function: UInt, _ info: UnsafeRawPointer?
    ) {
        guard isSet else { return }
        typealias Function = @convention(c) (UInt32, UnsafeRawPointer?, UInt, UInt, UnsafeRawPointer?) -> Void
        let offset = Int(topic >> 4 + 1) * MemoryLayout<RLIndex>.size
        linux_probe().load(fromByteOffset: offset, as: Function?.self)?(topic & 15, object, number, function, info)
    }

    /// A call. Its beginning is an `RLRunLoopProbeCall`, whose last two fields are the first two arguments.
    private struct Call {
        var function: (info: UInt, address: UInt)
        let layout: UInt32
        let arguments: (UInt, UInt, UInt, UInt, UInt, UInt)
    }

    /// A callback of any type. On x86-64 and arm64 up to five arguments are passed in registers, and a function ignores those that it does
    /// not declare.
    private typealias Callback = @convention(c) (UInt, UInt, UInt, UInt, UInt) -> UInt

    /// Calls a callback, which is passed here after its own arguments, and tells the probe before and after. Returns what the callback
    /// returns, if anything. The loop's thread, without a lock; calls user code.
    @inline(__always)
    @discardableResult
    static func call(
        _ kind: Kind, _ first: UInt, _ second: UInt, _ third: UInt = linux_unspecified(), _ fourth: UInt = linux_unspecified(),
        _ fifth: UInt = linux_unspecified(), _ sixth: UInt = linux_unspecified()
    ) -> UInt {
        // Which argument is the info. The function follows it.
        let info: UInt32 =
            switch kind {
            case .source, .function: 0
            case .timer, .invalidation: 1
            case .port, .observer, .fileDescriptor: 2
            case .socket: 4
            default: 3
            }
        let offset = info * UInt32(MemoryLayout<UInt>.size)
        return call(first, second, third, fourth, fifth, sixth, offset << 16 | kind.rawValue)
    }

    /// Calls a callback with reports to one probe, even if the callback sets another. One function for callbacks of all types is smaller than
    /// one for each. `layout` has the kind in its lower half, as the public struct does, and in its upper half the offset of the info among the
    /// arguments.
    @inline(never)
    private static func call(
        _ first: UInt, _ second: UInt, _ third: UInt, _ fourth: UInt, _ fifth: UInt, _ sixth: UInt, _ layout: UInt32
    ) -> UInt {
        var call = Call(function: (0, 0), layout: layout, arguments: (first, second, third, fourth, fifth, sixth))
        return withUnsafeMutablePointer(to: &call) { call in
            let arguments = UnsafeRawPointer(call) + MemoryLayout<RLRunLoopProbeCall>.size - 2 * MemoryLayout<UInt>.size
            call.pointee.function = arguments.loadUnaligned(fromByteOffset: Int(layout >> 16), as: (UInt, UInt).self)
            let probe = linux_probe()
            report(call, to: probe, .willCall)
            let (first, second, third, fourth, fifth, _) = call.pointee.arguments
            let (_, address) = call.pointee.function
            let result = unsafeBitCast(address, to: Callback.self)(first, second, third, fourth, fifth)
            report(call, to: probe, .didCall)
            return result
        }
    }

    /// Reports a call to this probe, which another thread may have replaced meanwhile.
    @inline(__always)
    private static func report(_ call: UnsafeMutablePointer<Call>, to probe: UnsafeRawPointer, _ part: Part) {
        let offset = Int(part.rawValue + 1) * MemoryLayout<RLIndex>.size
        let function = probe.load(fromByteOffset: offset, as: RLRunLoopProbeCallFunction?.self)
        function?(UnsafeRawPointer(call).assumingMemoryBound(to: RLRunLoopProbeCall.self))
    }
}

/// The address of a C function; 0 for none.
func addressOfFunction<Function>(_ function: Function) -> UInt { unsafeBitCast(function, to: UInt.self) }
