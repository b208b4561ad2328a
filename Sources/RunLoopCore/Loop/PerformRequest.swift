import CLinux
import Synchronization

/// A function that waits to be called by a loop, in step 4 or 9 of a pass (`Run.swift`).
///
/// A request has three words, because millions of requests move from thread to thread, and the cost is in the cache lines that move. What
/// only few requests need (a release function, or a waiting thread) is in a `PerformExtra`.
struct PerformRequest: BitwiseCopyable {
    typealias Function = @convention(c) (UnsafeMutableRawPointer?) -> Void

    /// The retained modes, a string or an array of strings. Bit 0 is set if `detail` is the address of a `PerformExtra`. The whole word is
    /// 0 in an entry of a list whose request is finished: it was called, or cancelled.
    private var taggedModes: UInt
    let function: Function
    /// The client's `info`, or the address of the `PerformExtra`, which contains it.
    private var detail: UnsafeMutableRawPointer?

    /// Makes a plain request.
    init(_ modes: UnsafeRawPointer, _ function: @escaping Function, _ info: UnsafeMutableRawPointer?) {
        taggedModes = UInt(bitPattern: modes)
        self.function = function
        detail = info
    }

    /// Makes a request with a release function or with the ticket of a thread that waits for it: one of the two is nil. Takes over the
    /// request's reference to the ticket, unless this returns nil, because memory ran out.
    init?(
        _ modes: UnsafeRawPointer, _ function: @escaping Function, _ info: UnsafeMutableRawPointer?, release: Function?,
        ticket: PerformTicketPointer?
    ) {
        guard let memory = malloc(MemoryLayout<PerformExtra>.size) else { return nil }
        memory.bindMemory(to: PerformExtra.self, capacity: 1)
            .initialize(to: PerformExtra(info: info, release: release, ticket: ticket))
        taggedModes = UInt(bitPattern: modes) | 1
        self.function = function
        detail = memory
    }

    private var extra: PerformExtraPointer? {
        taggedModes & 1 == 0 ? nil : detail.unsafelyUnwrapped.assumingMemoryBound(to: PerformExtra.self)
    }

    /// The retained modes, a string or an array of strings; nil in an entry whose request is finished.
    var modes: UnsafeRawPointer? { UnsafeRawPointer(bitPattern: taggedModes & ~1) }

    /// The client's `info`.
    var info: UnsafeMutableRawPointer? { if let extra { extra.pointee.info } else { detail } }

    var ticket: PerformTicketPointer? { extra?.pointee.ticket }

    /// Marks this entry of a list as one whose request is finished. The entry stays where it is, and the functions that walk the list skip
    /// it.
    mutating func markFinished() { taggedModes = 0 }

    /// If the request has a release function, takes its `PerformExtra` out and leaves a plain request; otherwise returns nil. The caller
    /// owns the result.
    mutating func takeRelease() -> PerformExtraPointer? { extra?.pointee.release == nil ? nil : takeExtra() }

    /// Takes the `PerformExtra` out and leaves a plain request. Returns nil if there is none. The caller owns the result.
    private mutating func takeExtra() -> PerformExtraPointer? {
        guard let extra else { return nil }
        taggedModes &= ~1
        detail = extra.pointee.info
        return extra
    }

    /// Finishes a request that has run: releases the modes, and then does the work of `finishExtra`, in which the thread may end. For a
    /// request that will not run, use `finishUncalled`. Call without a lock held. May call user code.
    func finish(_ outcome: PerformTicket.State) {
        if let modes { Self.release(modes: modes) }
        if let extra { Self.finishExtra(extra, outcome) }
    }

    /// Finishes a request that will not run, and reports that to the probe. If `outcome` is nil, the request was never queued: its release
    /// function is not called, and its reference to the ticket is the caller's again. Call without a lock held. Calls user code: the probe,
    /// and the release function if there still is one (`takeRelease`).
    @inline(never)
    func finishUncalled(_ outcome: PerformTicket.State?) {
        var plain = self
        let extra = plain.takeExtra()
        Probe.report(.dropped, .function, function: addressOfFunction(function), info: plain.detail)
        if let extra {
            if let outcome { Self.finishExtra(extra, outcome) } else { free(extra) }
        }
        if let modes { Self.release(modes: modes) }
    }

    /// Calls the release function, or wakes the waiting thread and releases the request's reference to the ticket. Frees the
    /// `PerformExtra`. Call without a lock held. May call user code.
    @inline(never)
    static func finishExtra(_ extra: PerformExtraPointer, _ outcome: PerformTicket.State) {
        let content = extra.pointee
        free(extra)
        if let release = content.release { RUNLOOP_IS_CALLING_OUT_TO_A_PERFORMED_FUNCTION(content.info, release) }
        content.ticket?.complete(with: outcome)
    }

    /// Whether the request, which is not finished, may run in the mode with this name. `isCommon`: whether that mode is a common one. O(1)
    /// if the request has one mode. Calls no user code.
    func matches(_ name: StringPointer, isCommon: Bool) -> Bool {
        let modes = modes.unsafelyUnwrapped
        return modes == UnsafeRawPointer(name) || Self.matches(modes, name, isCommon: isCommon)
    }

    /// Whether one of `modes`, a string or an array of strings, names this mode or includes it as a common mode.
    private static func matches(_ modes: UnsafeRawPointer, _ name: StringPointer, isCommon: Bool) -> Bool {
        if Handle.isKind(.string, modes) { return names(Handle.storage(modes), name, isCommon: isCommon) }
        let array: ArrayPointer = Handle.storage(modes)
        for index in 0..<array.pointee.count {
            guard let element = array[value: index], Handle.isKind(.string, element) else { continue }
            if names(Handle.storage(element), name, isCommon: isCommon) { return true }
        }
        return false
    }

    /// Whether `wanted` is this name, or names the common modes while the mode is one of them.
    private static func names(_ wanted: StringPointer, _ name: StringPointer, isCommon: Bool) -> Bool {
        wanted.equals(name) || (isCommon && wanted.isCommonModes)
    }

    /// Calls `body` for each mode that the request names; not at all if the request is finished.
    func forEachMode(_ body: (StringPointer) -> Void) {
        guard let modes else { return }
        if Handle.isKind(.string, modes) { return body(Handle.storage(modes)) }
        let array: ArrayPointer = Handle.storage(modes)
        for index in 0..<array.pointee.count {
            if let element = array[value: index], Handle.isKind(.string, element) { body(Handle.storage(element)) }
        }
    }

    /// Retains a request's modes while it is queued. Any thread.
    static func retain(modes: UnsafeRawPointer) {
        Handle.header(modes).pointee.retain()
    }

    /// Releases a request's modes. Any thread, without a lock.
    @inline(__always)
    static func release(modes: UnsafeRawPointer) {
        if Handle.isKind(.string, modes) {
            let string: StringPointer = Handle.storage(modes)
            string.release()
        } else {
            let array: ArrayPointer = Handle.storage(modes)
            array.release()
        }
    }
}

/// The fields that only some requests need.
struct PerformExtra: BitwiseCopyable {
    let info: UnsafeMutableRawPointer?
    /// Called with `info` once the function has been called or is certain never to be.
    let release: PerformRequest.Function?
    /// Where a thread waits for the request, if one does. A request has a release function or a ticket, never both.
    let ticket: PerformTicketPointer?
    /// Used once the request has been cancelled: the withdrawal that cancelled it, and the next entry of `RunLoopStorage.withdrawn`.
    /// Guarded by the loop's lock.
    var withdrawal = 0
    var next: PerformExtraPointer?
}

typealias PerformExtraPointer = UnsafeMutablePointer<PerformExtra>

/// Lets a thread wait until a loop has called its function. The waiting thread and the request each have a reference, and the release of
/// the second one frees the ticket, so neither of them has to outlive the other.
struct PerformTicket: ~Copyable {
    /// A raw `State`. Serves as the futex word, too.
    let state: Atomic<UInt32>
    /// How many of the two references have not been released.
    let references: Atomic<UInt32>

    /// The progress of the request.
    enum State: UInt32 {
        case queued
        case done
        case cancelled
        case loopIsGone
    }
}

typealias PerformTicketPointer = UnsafeMutablePointer<PerformTicket>

extension PerformTicketPointer {
    /// Creates a ticket with two references, one for the thread and one for the request. Returns nil if out of memory. One allocation. Any
    /// thread.
    static func create() -> PerformTicketPointer? {
        guard let memory = malloc(MemoryLayout<PerformTicket>.size) else { return nil }
        let ticket = memory.bindMemory(to: PerformTicket.self, capacity: 1)
        ticket.initialize(to: PerformTicket(state: Atomic(PerformTicket.State.queued.rawValue), references: Atomic(2)))
        return ticket
    }

    /// Called for the request when it is finished: stores the outcome, wakes the waiting thread, and releases the request's reference. Any
    /// thread. Calls no user code.
    func complete(with state: PerformTicket.State) {
        RaceDetector.happensBefore(self)
        pointee.state.store(state.rawValue, ordering: .releasing)
        Futex.wake(pointee.state, count: 1)
        release()
    }

    /// Sleeps until the request is finished and returns the outcome. Returns `.queued` if `deadline` passes first. Called by the waiting
    /// thread, without a lock held.
    func wait(until deadline: Instant) -> PerformTicket.State {
        while true {
            let state = PerformTicket.State(rawValue: pointee.state.load(ordering: .acquiring)).unsafelyUnwrapped
            if state != .queued {
                RaceDetector.happensAfter(self)
                return state
            }
            if Clock.now >= deadline { return state }
            _ = Futex.wait(pointee.state, while: PerformTicket.State.queued.rawValue, until: deadline)
        }
    }

    /// Releases one of the two references. The second call frees the ticket. Any thread, with or without a lock held. Calls no user code.
    func release() {
        if pointee.references.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 { free(self) }
    }
}

/// Selects the requests to cancel.
struct PerformChoice: BitwiseCopyable {
    /// The address of the function; 0 for any function.
    private var address: UInt = 0
    private var info: UnsafeMutableRawPointer?
    private var ticket: PerformTicketPointer?
    private var isAll = false

    static var all: PerformChoice {
        var choice = PerformChoice()
        choice.isAll = true
        return choice
    }

    /// Selects all requests with this info and, if `function` is not nil, with this function.
    static func all(of function: PerformRequest.Function?, _ info: UnsafeMutableRawPointer?) -> PerformChoice {
        PerformChoice(address: unsafeBitCast(function, to: UInt.self), info: info)
    }

    /// Selects the request with this ticket.
    static func one(_ ticket: PerformTicketPointer) -> PerformChoice { PerformChoice(ticket: ticket) }

    /// Whether the choice includes plain requests with this function and info. O(1).
    func includes(_ function: PerformRequest.Function, _ requestInfo: UnsafeMutableRawPointer?) -> Bool {
        isAll || (ticket == nil && requestInfo == info && (address == 0 || address == unsafeBitCast(function, to: UInt.self)))
    }

    /// Whether the choice includes this request. O(1).
    func includes(_ request: PerformRequest) -> Bool {
        ticket == nil ? includes(request.function, request.info) : request.ticket == ticket
    }
}
