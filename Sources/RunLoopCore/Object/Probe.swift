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
        report(object, part.rawValue << 4 | kind.rawValue, number, function, info)
    }

    /// Reports an event whose part and kind are in `topic`, so that each place passes one argument for the two. The arguments stay in their
    /// registers, and the client's function is jumped to. Those for calls (`RLRunLoopProbeCallFunction`) declare only the first one.
    @inline(never)
    private static func report(
        _ object: UnsafeRawPointer?, _ topic: UInt32, _ number: UInt, _ function: UInt, _ info: UnsafeRawPointer?
    ) {
        guard isSet else { return }
        typealias Function = @convention(c) (UnsafeRawPointer?, UInt32, UInt, UInt, UnsafeRawPointer?) -> Void
        let offset = Int(topic >> 4 + 1) * MemoryLayout<RLIndex>.size
        linux_probe().load(fromByteOffset: offset, as: Function?.self)?(object, topic & 15, number, function, info)
    }

    // MARK: calls

    /// A call. Its beginning is an `RLRunLoopProbeCall`, whose last two fields are the first two words.
    private struct Call {
        var function: (info: UInt, address: UInt)
        let kind: UInt32
        let words: (UInt, UInt, UInt, UInt, UInt, UInt)
    }

    /// What `call` has to know about a kind of callback: the kind in the lower four bits, and above them the index of the word that is the
    /// info, which the function follows. The largest layout is that of a socket's callback. It is less than the address of any function.
    @inline(__always)
    private static func layout(_ kind: Kind) -> UInt {
        let info: UInt32 =
            switch kind {
            case .source, .function: 0
            case .timer, .invalidation: 1
            case .port, .observer, .fileDescriptor: 2
            case .socket: 4
            default: 3
            }
        return UInt(info << 4 | kind.rawValue)
    }

    /// A callback of any type. On x86-64 and arm64 up to five arguments are passed in registers, and a function ignores those that it does
    /// not declare.
    private typealias Callback = @convention(c) (UInt, UInt, UInt, UInt, UInt) -> UInt

    /// Calls a callback, which is passed here after its own arguments, and reports the beginning and the end of the call to the probe. Returns
    /// what the callback returns, if anything. After the call there is a barrier: without it the compiler would make a tail call, which leaves
    /// no frame in backtraces. The loop's thread, without a lock; calls user code.
    @inline(__always)
    @discardableResult
    static func call(
        _ kind: Kind, _ first: UInt, _ second: UInt, _ third: UInt = linux_unspecified(), _ fourth: UInt = linux_unspecified(),
        _ fifth: UInt = linux_unspecified()
    ) -> UInt {
        defer { linux_compiler_barrier() }
        return call(first, second, third, fourth, fifth, layout(kind))
    }

    /// Does what `call` does, for the callback of a socket. That has so many arguments that its address is passed in place of the layout.
    @inline(__always)
    static func callSocket(_ socket: UInt, _ type: UInt, _ address: UInt, _ data: UInt, _ info: UInt, _ function: UInt) {
        _ = call(socket, type, address, data, info, function)
        linux_compiler_barrier()
    }

    /// Calls a callback. One function for callbacks of all types is smaller than one for each. `last` is the layout or, for a socket, the
    /// address of its callback, from which the layout follows.
    @inline(never)
    private static func call(_ first: UInt, _ second: UInt, _ third: UInt, _ fourth: UInt, _ fifth: UInt, _ last: UInt) -> UInt {
        let layout = UInt32(truncatingIfNeeded: min(last, layout(.socket)))
        var call = Call(function: (0, 0), kind: layout & 15, words: (first, second, third, fourth, fifth, last))
        // A local function, because the compiler would not inline a closure of this size.
        @inline(__always)
        func make(_ call: UnsafeMutablePointer<Call>) -> UInt {
            let words = UnsafeRawPointer(call) + MemoryLayout<RLRunLoopProbeCall>.size - 2 * MemoryLayout<UInt>.size
            let offset = Int(layout >> 4) * MemoryLayout<UInt>.size
            call.pointee.function = words.loadUnaligned(fromByteOffset: offset, as: (UInt, UInt).self)
            report(.willCall, call)
            let (first, second, third, fourth, fifth, _) = call.pointee.words
            let (_, address) = call.pointee.function
            let result = unsafeBitCast(address, to: Callback.self)(first, second, third, fourth, fifth)
            report(.didCall, call)
            return result
        }
        return withUnsafeMutablePointer(to: &call, make)
    }

    /// Reports the beginning or end of a call.
    @inline(__always)
    private static func report(_ part: Part, _ call: UnsafeMutablePointer<Call>) {
        report(
            call, part.rawValue << 4, linux_unspecified(), linux_unspecified(), UnsafeRawPointer(bitPattern: linux_unspecified()))
    }
}

/// The address of a C function; 0 for none.
func addressOfFunction<Function>(_ function: Function) -> UInt { unsafeBitCast(function, to: UInt.self) }
