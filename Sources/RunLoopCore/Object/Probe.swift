import CLinux
import CRunLoop

/// The client's probe, which is told what all loops do (RLRunLoopProbe.h). A place that tells it costs two instructions while there is none:
///
///     if Probe.isSet { Probe.tell(…) }
enum Probe {
    /// What an event is about, with the values of the public header.
    enum Kind: UInt32 {
        case source = 1
        case timer, observer, function, fileDescriptor, socket, port, messagePort, reply, invalidation, sleep, wake, pass, wakeUp
    }

    /// Which function of the probe an event is for: its place in the public struct, behind the version.
    enum Part: UInt32 {
        case willCall = 1
        case didCall, willSleep, didSleep, sent, received, dropped, willPass
    }

    /// Whether there is a probe. Any thread, async-signal-safe.
    @inline(__always)
    static var isSet: Bool { linux_probe() != nil }

    /// How far behind the address of a loop its wake word is. Written before there is a probe, each time with the same value.
    nonisolated(unsafe) private(set) static var offsetOfWakeWord = 0

    /// Sets the client's probe. Any thread.
    static func set(_ probe: UnsafePointer<RLRunLoopProbe>?, offsetOfWakeWord: Int) {
        self.offsetOfWakeWord = offsetOfWakeWord
        linux_set_probe(probe)
    }

    /// Tells the probe of an event; nothing happens if it has no such function. Any thread, without a lock; async-signal-safe as far as the
    /// client's function is. Calls user code.
    @inline(__always)
    static func tell(
        _ part: Part, _ kind: Kind, _ object: UnsafeRawPointer?, _ function: UInt = 0, _ info: UnsafeRawPointer? = nil,
        detail: UInt32 = 0, number: UInt64 = 0
    ) {
        tell(part.rawValue << 8 | kind.rawValue, detail, object, function, info, number)
    }

    @inline(never)
    private static func tell(
        _ partAndKind: UInt32, _ detail: UInt32, _ object: UnsafeRawPointer?, _ address: UInt, _ info: UnsafeRawPointer?,
        _ number: UInt64
    ) {
        tell(linux_probe(), partAndKind, detail, object, address, info, number)
    }

    /// Tells a probe, which may have been replaced, of an event.
    @inline(never)
    private static func tell(
        _ probe: UnsafeRawPointer?, _ partAndKind: UInt32, _ detail: UInt32, _ object: UnsafeRawPointer?, _ address: UInt,
        _ info: UnsafeRawPointer?, _ number: UInt64
    ) {
        let place = Int(partAndKind >> 8) * MemoryLayout<RLIndex>.size
        guard let tell = probe?.load(fromByteOffset: place, as: RLRunLoopProbeFunction?.self) else { return }
        var event = RLRunLoopProbeEvent(
            kind: partAndKind & 0xFF, detail: detail, object: object,
            function: unsafeBitCast(address, to: AnyFunction?.self), info: info, number: number)
        tell(&event)
    }

    private typealias AnyFunction = @convention(c) () -> Void

    /// A callback of any type but a socket's, as both processors call it: up to four arguments in registers, of which it ignores those that it
    /// does not have. One function instead of ten saves 800 bytes.
    private typealias Callback = @convention(c) (UInt, UInt, UInt, UInt) -> UInt

    /// Tells a probe of the beginning or the end of a call.
    @inline(__always)
    private static func tell(
        _ probe: UnsafeRawPointer?, _ part: Part, _ kind: Kind, _ object: UnsafeRawPointer?, _ function: UInt, _ info: UnsafeRawPointer?,
        _ detail: UInt32
    ) {
        tell(probe, part.rawValue << 8 | kind.rawValue, detail, object, function, info, 0)
    }

    /// Calls a callback, with an event before and after, both for one probe, even if the callback sets another. Returns what the callback
    /// returns, if anything. The loop's thread, without a lock; calls user code.
    @inline(never)
    @discardableResult
    static func call(
        _ first: UInt, _ second: UInt = 0, _ third: UInt = 0, _ fourth: UInt = 0, function address: UInt, _ kind: Kind
    ) -> UInt {
        var (object, info, detail) = (first, fourth, UInt32(truncatingIfNeeded: second))
        switch kind {
        case .source, .function: (object, info, detail) = (0, first, 0)
        case .timer, .invalidation: (info, detail) = (second, 0)
        case .port: (info, detail) = (third, 0)
        case .observer, .fileDescriptor: info = third
        default: break
        }
        let (item, itsInfo) = (UnsafeRawPointer(bitPattern: object), UnsafeRawPointer(bitPattern: info))
        let probe = linux_probe()
        tell(probe, .willCall, kind, item, address, itsInfo, detail)
        let result = unsafeBitCast(address, to: Callback.self)(first, second, third, fourth)
        tell(probe, .didCall, kind, item, address, itsInfo, detail)
        return result
    }

    /// `call` for a socket's callback, which has one argument too many for that.
    @inline(never)
    static func call(
        _ socket: OpaquePointer, _ type: UInt, _ address: OpaquePointer?, _ data: UnsafeRawPointer?, _ info: UnsafeMutableRawPointer?,
        _ callout: @convention(c) (OpaquePointer?, UInt, OpaquePointer?, UnsafeRawPointer?, UnsafeMutableRawPointer?) -> Void
    ) {
        let (item, function, detail) = (UnsafeRawPointer(socket), addressOfFunction(callout), UInt32(truncatingIfNeeded: type))
        let probe = linux_probe()
        tell(probe, .willCall, .socket, item, function, info, detail)
        callout(socket, type, address, data, info)
        tell(probe, .didCall, .socket, item, function, info, detail)
    }

    /// The number that a request and its reply have in both processes: of the process that sends the request, its number there, and the
    /// port's name. Any thread.
    static func flow(process: Int32, _ id: UInt32, nameHash: UInt32) -> UInt64 {
        let number = UInt64(UInt32(bitPattern: process)) << 32 | UInt64(id)
        return (number ^ UInt64(nameHash) << 20) &* 0x9E37_79B9_7F4A_7C15 | 1
    }
}

/// The address of a C function; 0 for none.
@inline(__always)
func addressOfFunction<Function>(_ function: Function) -> UInt { unsafeBitCast(function, to: UInt.self) }
