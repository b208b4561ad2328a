import CLinux
import CRunLoop

/// The client's probe, to which events of all loops are reported (RLRunLoopProbe.h). A report costs two instructions while no probe is set:
///
///     if Probe.isSet { Probe.report(…) }
///
/// In each pass, post and callback the condition is `_slowPath(Probe.isSet)`: then no jump is taken without a probe, for some bytes more of
/// code. Where something has failed or has been cancelled, and where the kernel puts a thread to sleep or wakes it, `report` is called
/// without this test: one call more makes no difference there.
enum Probe {
    /// What an event is about, with the values of the public header.
    enum Kind: UInt32 {
        case source = 1
        case timer, observer, function, fileDescriptor, socket, port, messagePort, reply, invalidation, sleep, wake, pass, wakeUp
    }

    /// Which function of the probe an event is for: the function's place in the public struct, after the version.
    enum Part: UInt32 {
        case willCall
        case didCall, willSleep, didSleep, sent, received, dropped, willPass
    }

    /// Whether there is a probe. Any thread, async-signal-safe.
    static var isSet: Bool { linux_has_probe() != 0 }

    /// Reports an event to the probe; nothing happens if it has no such function. `value` is the function's address where the event is about
    /// a source or a function, and the event's number elsewhere. Any thread, without a lock; async-signal-safe as far as the client's
    /// function is. Calls user code.
    @inline(__always)
    static func report(
        _ part: Part, _ kind: Kind, _ object: UnsafeRawPointer?, info: UnsafeRawPointer? = nil, _ value: UInt = 0, detail: UInt32 = 0
    ) {
        report(topic(part, kind, detail: detail), object, info, value)
    }

    /// A part, a kind and a detail in one word, so that callers pass one argument for them.
    static func topic(_ part: Part, _ kind: Kind, detail: UInt32 = 0) -> UInt {
        UInt(detail) << 32 | UInt(part.rawValue << 4 | kind.rawValue)
    }

    /// Reports an event whose part, kind and detail are in `topic`. An `RLRunLoopProbeEvent` has five words: `value` is the third,
    /// the function, if the kind is less than 8, else the fifth, the number.
    @inline(never)
    static func report(_ topic: UInt, _ object: UnsafeRawPointer?, _ info: UnsafeRawPointer?, _ value: UInt) {
        guard isSet else { return }
        var words = (topic & ~0xF0, object, UInt(0), info, UInt(0))
        withUnsafeMutablePointer(to: &words) { words in
            let event = UnsafeMutableRawPointer(words)
            event.storeBytes(of: value, toByteOffset: 16 + Int(topic & 8) * 2, as: UInt.self)
            report(linux_probe(), UInt32(truncatingIfNeeded: topic) >> 4, event.assumingMemoryBound(to: RLRunLoopProbeEvent.self))
        }
    }

    /// Reports an event to this probe, which another thread may have replaced meanwhile.
    @inline(__always)
    private static func report(_ probe: UnsafeRawPointer, _ part: UInt32, _ event: UnsafePointer<RLRunLoopProbeEvent>) {
        let offset = Int(part + 1) * MemoryLayout<RLIndex>.size
        if let function = probe.load(fromByteOffset: offset, as: RLRunLoopProbeFunction?.self) { function(event) }
    }

    /// A call with its event, both in memory while the probe is told.
    private struct Call {
        var event: RLRunLoopProbeEvent
        let arguments: (UInt, UInt, UInt, UInt, UInt, UInt)
    }

    private typealias AnyFunction = @convention(c) () -> Void

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
        // Which argument is the last one, the info, and whether the second is the detail. The first is the object unless it is the last.
        let (last, hasDetail): (UInt32, Bool) =
            switch kind {
            case .source, .function: (0, false)
            case .timer, .invalidation: (1, false)
            case .port: (2, false)
            case .observer, .fileDescriptor: (2, true)
            case .socket: (4, true)
            default: (3, true)
            }
        return call(first, second, third, fourth, fifth, sixth, last << 3 | kind.rawValue << 8 | (hasDetail ? 1 << 31 : 0))
    }

    /// Calls a callback with events for one probe, even if the callback sets another. One function for callbacks of all types is smaller than
    /// one for each. `layout` has the kind, and what the arguments are.
    @inline(never)
    private static func call(
        _ first: UInt, _ second: UInt, _ third: UInt, _ fourth: UInt, _ fifth: UInt, _ sixth: UInt, _ layout: UInt32
    ) -> UInt {
        let detail = UInt32(truncatingIfNeeded: second) & UInt32(bitPattern: Int32(bitPattern: layout) >> 31)
        let event = RLRunLoopProbeEvent(
            kind: layout >> 8 & 0xFF, detail: detail, object: layout & 0xFF == 0 ? nil : UnsafeRawPointer(bitPattern: first), function: nil,
            info: nil, number: 0)
        var call = Call(event: event, arguments: (first, second, third, fourth, fifth, sixth))
        return withUnsafeMutablePointer(to: &call) { call in
            let last = UnsafeRawPointer(call) + MemoryLayout<RLRunLoopProbeEvent>.size + Int(layout & 0xFF)
            call.pointee.event.info = last.load(as: UnsafeRawPointer?.self)
            call.pointee.event.function = last.load(fromByteOffset: 8, as: AnyFunction?.self)
            let probe = linux_probe()
            report(probe, Part.willCall.rawValue, &call.pointee.event)
            let (first, second, third, fourth, fifth, _) = call.pointee.arguments
            let address = addressOfFunction(call.pointee.event.function)
            let result = unsafeBitCast(address, to: Callback.self)(first, second, third, fourth, fifth)
            report(probe, Part.didCall.rawValue, &call.pointee.event)
            return result
        }
    }

    /// The number by which a request and its reply are known in both processes: made of the sending process's number, the request's number
    /// there, and the port's name. Any thread.
    static func flow(process: Int32, _ id: UInt32, nameHash: UInt32) -> UInt {
        (UInt(UInt32(bitPattern: process)) << 32 | UInt(id)) ^ UInt(nameHash) << 20
    }
}

/// The address of a C function; 0 for none.
func addressOfFunction<Function>(_ function: Function) -> UInt { unsafeBitCast(function, to: UInt.self) }
