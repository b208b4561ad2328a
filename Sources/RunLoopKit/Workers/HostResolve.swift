import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit
import Synchronization

/// The query and the result of an RLHostResolve. This is the info of a work item, which frees it.
struct HostResolve {
    fileprivate let host: UnsafeMutablePointer<CChar>?
    fileprivate let service: UnsafeMutablePointer<CChar>?
    fileprivate let hints: addrinfo
    fileprivate let timeout: Double
    fileprivate let callout: RLHostResolveCallBack
    fileprivate let client: ClientContext
    /// The work item, which owns this. Not retained. Written once.
    fileprivate var work: OpaquePointer?
    /// The result of getaddrinfo(). Written by the worker, before the work item is done.
    fileprivate var answer: UnsafeMutablePointer<addrinfo>?
    fileprivate var error: Int32 = 0
    /// The addresses that are passed to the client. Written on the loop's thread, and kept until this is freed, as the callback may end its
    /// thread.
    fileprivate var addresses: OpaquePointer?
    /// The timers of the loops that the work item is in. Under the kit's lock.
    fileprivate var timers: LoopTimerPointer?
    /// When the time limit began: when the work item was added to a loop while it was in none. Under the kit's lock.
    fileprivate var start: UInt64 = 0
    /// The references: first that of `create`, then that of the work item.
    fileprivate var references = 1
}

typealias HostResolvePointer = UnsafeMutablePointer<HostResolve>

/// The timer of a work item in one loop. Under the kit's lock.
private struct LoopTimer: KitLinked {
    /// The loop. Not retained, as the work item is in it.
    let loop: OpaquePointer
    /// The timer, retained; nil if a removal from the loop was reported before the addition.
    let timer: OpaquePointer?
    /// The number of the loop's modes that the work item is in. Negative for a moment if two threads add and remove, since they may report
    /// in either order.
    var modes = 0
    var next: LoopTimerPointer?
}

private typealias LoopTimerPointer = UnsafeMutablePointer<LoopTimer>

extension HostResolve {
    /// Creates a work item that looks up addresses; nil if out of memory. Retains the client's info, and releases it on failure. Any
    /// thread; calls user code.
    static func create(
        _ host: UnsafePointer<CChar>?, _ service: UnsafePointer<CChar>?, _ hints: UnsafePointer<addrinfo>?, _ timeout: Double,
        _ callout: @escaping RLHostResolveCallBack, _ client: ClientContext
    ) -> OpaquePointer? {
        guard let memory = malloc(MemoryLayout<HostResolve>.stride) else { return nil }
        let resolve = memory.bindMemory(to: HostResolve.self, capacity: 1)
        let copies = (host.flatMap { strdup($0) }, service.flatMap { strdup($0) })
        resolve.initialize(
            to: HostResolve(
                host: copies.0, service: copies.1, hints: linux_hints(hints), timeout: timeout, callout: callout, client: client.retained())
        )
        // The reference of this function; the work item has its own.
        defer { resolve.release() }
        if (host != nil && copies.0 == nil) || (service != nil && copies.1 == nil) { return nil }
        var own = ClientContext(info: memory)
        own.retain = { info in
            HostResolve.pointer(info).pointee.references += 1
            return info
        }
        own.release = { info in HostResolve.pointer(info).release() }
        own.copyDescription = { info in HostResolve.pointer(info).describe() }
        let work = Work.create(
            0, { _, info in HostResolve.pointer(info).ask() }, { _, info in HostResolve.pointer(info).call() }, own, kind: .hostResolve,
            { info, loop, mode, change in HostResolve.pointer(info).change(loop, mode, by: change) })
        if let work { resolve.pointee.work = work }
        return work
    }

    /// Handles a timer that has fired: calls the client, unless the work item is done. Loop thread only; calls user code.
    fileprivate static func timeIsOver(_ handle: UnsafeMutableRawPointer?) {
        guard let handle, let work: WorkPointer = KitObject.borrow(OpaquePointer(handle), "RLHostResolve", "work"), work.expire() else {
            return
        }
        pointer(work.pointee.object.client.info).timeIsOver()
    }

    fileprivate static func pointer(_ info: UnsafeRawPointer?) -> HostResolvePointer {
        UnsafeMutableRawPointer(mutating: info.unsafelyUnwrapped).assumingMemoryBound(to: HostResolve.self)
    }
}

extension HostResolvePointer {
    /// Looks up the addresses. Called on a worker.
    fileprivate func ask() {
        var hints = pointee.hints
        var answer: UnsafeMutablePointer<addrinfo>?
        pointee.error = linux_find_addresses(pointee.host, pointee.service, &hints, &answer)
        if pointee.error == 0 { pointee.answer = answer }
    }

    /// Calls the client with the result. Loop thread only; calls user code.
    fileprivate func call() {
        if pointee.error == 0 { pointee.addresses = copyAddresses() }
        call(pointee.addresses, pointee.error == 0 && pointee.addresses == nil ? EAI_MEMORY : pointee.error)
    }

    private func call(_ addresses: OpaquePointer?, _ error: Int32) {
        RUNLOOP_IS_CALLING_OUT_TO_A_HOST_RESOLVE_CALLBACK_FUNCTION(
            pointee.callout, pointee.work, addresses, error, pointee.client.info)
    }

    /// Returns the addresses as an array of data objects; nil if out of memory.
    private func copyAddresses() -> OpaquePointer? {
        var callBacks = kRLTypeArrayCallBacks
        guard let array = RLArrayCreateMutable(nil, 0, &callBacks) else { return nil }
        var count = 0
        var next = pointee.answer
        while let address = next {
            let bytes = UnsafeRawPointer(address.pointee.ai_addr).assumingMemoryBound(to: UInt8.self)
            if let data = RLDataCreate(nil, bytes, Int(address.pointee.ai_addrlen)) {
                RLArrayAppendValue(array, UnsafeRawPointer(data))
                RLRelease(UnsafeRawPointer(data))
            }
            count += 1
            next = address.pointee.ai_next
        }
        if RLArrayGetCount(array) == count { return array }
        RLRelease(UnsafeRawPointer(array))
        return nil
    }

    // MARK: the time limit

    /// Records that the work item was added to a mode of a loop (1) or removed from one (-1), and does the same with its timer in that
    /// loop. The timer exists while the work item is in a mode of the loop. Takes the kit's lock; may call user code.
    fileprivate func change(_ loop: OpaquePointer, _ mode: OpaquePointer, by change: Int) {
        if pointee.timeout >= 1e10 { return }
        KitLock.lock()
        if pointee.timers == nil { pointee.start = linux_monotonic_time() }
        let known = find(loop)?.pointee
        let start = pointee.start
        KitLock.unlock()
        // The timer is created without the lock held, so another thread may create one as well; the loser's is destroyed below.
        let new = known != nil ? nil : change > 0 ? makeTimer(loop, since: start) : makePlace(loop, nil)
        KitLock.lock()
        if let new, find(loop) == nil {
            new.pointee.next = pointee.timers
            pointee.timers = new
        }
        guard let own = find(loop) else { return KitLock.unlock() }
        own.pointee.modes += change
        let timer = own.pointee.timer
        let isLast = own.pointee.modes == 0
        if isLast { own.unlink(from: &pointee.timers) } else if let timer { RLRetain(UnsafeRawPointer(timer)) }
        KitLock.unlock()
        if let new, new != own { Self.destroy(new) }
        if isLast { return Self.destroy(own) }
        guard let timer else { return }
        if change > 0 { RLRunLoopAddTimer(loop, timer, mode) } else { RLRunLoopRemoveTimer(loop, timer, mode) }
        RLRelease(UnsafeRawPointer(timer))
    }

    /// Returns the list node for a loop; nil if there is none. The caller holds the kit's lock.
    private func find(_ loop: OpaquePointer) -> LoopTimerPointer? {
        var timer = pointee.timers
        while let here = timer, here.pointee.loop != loop { timer = here.pointee.next }
        return timer
    }

    /// Frees a node that is in no list, and invalidates its timer. Call without a lock held.
    private static func destroy(_ timer: LoopTimerPointer) {
        if let own = timer.pointee.timer {
            RLRunLoopTimerInvalidate(own)
            RLRelease(UnsafeRawPointer(own))
        }
        CLinux.free(timer)
    }

    /// Creates a list node with a timer, which retains the work item while it is valid; nil, after a diagnostic, if out of memory.
    private func makeTimer(_ loop: OpaquePointer, since start: UInt64) -> LoopTimerPointer? {
        var context = RLRunLoopTimerContext()
        context.info = pointee.work.map { UnsafeMutableRawPointer($0) }
        context.retain = { work in RLRetain(work) }
        context.release = { work in RLRelease(work) }
        let left = pointee.timeout - Double(linux_monotonic_time() &- start) * 1e-9
        let timer = RLRunLoopTimerCreateWithDelay(nil, max(left, 0), 0, { _, work in HostResolve.timeIsOver(work) }, &context)
        // Only the work item keeps its modes from being empty.
        if let timer { RLRunLoopTimerSetKeepsModeRunning(timer, 0) }
        let new = timer.flatMap { makePlace(loop, $0) }
        if new == nil {
            Misuse.warn("RLHostResolve", "RLRunLoopAddSource", "out of memory: the timeout will not apply")
            if let timer { RLRelease(UnsafeRawPointer(timer)) }
        }
        return new
    }

    /// Creates a list node for `loop`; nil if out of memory. `timer` is nil if a removal was reported before its addition.
    private func makePlace(_ loop: OpaquePointer, _ timer: OpaquePointer?) -> LoopTimerPointer? {
        guard let memory = malloc(MemoryLayout<LoopTimer>.stride) else { return nil }
        let new = memory.bindMemory(to: LoopTimer.self, capacity: 1)
        new.initialize(to: LoopTimer(loop: loop, timer: timer))
        return new
    }

    /// Invalidates the work item and calls the client with kRLHostResolveTimedOut. Loop thread only; calls user code.
    fileprivate func timeIsOver() {
        RLRunLoopSourceInvalidate(pointee.work)
        call(nil, Int32(kRLHostResolveTimedOut))
    }

    /// Describes the query: its host and service, and the client's description of its info. Calls user code.
    fileprivate func describe() -> OpaquePointer? {
        TextBuffer.build { text in
            if let host = pointee.host { text.append(Name(host)) }
            if let service = pointee.service {
                text.append(":")
                text.append(Name(service))
            }
            pointee.client.describe(&text)
            return text.withBytes { RLStringCreateWithBytes(nil, $0, $1, UInt32(kRLStringEncodingUTF8), 0) }
        }
    }

    /// Drops a reference; the last one frees the query and its result. Calls user code.
    fileprivate func release() {
        pointee.references -= 1
        if pointee.references > 0 { return }
        while let place = pointee.timers {
            pointee.timers = place.pointee.next
            Self.destroy(place)
        }
        if let answer = pointee.answer { freeaddrinfo(answer) }
        if let addresses = pointee.addresses { RLRelease(UnsafeRawPointer(addresses)) }
        CLinux.free(pointee.host)
        CLinux.free(pointee.service)
        pointee.client.releaseInfo()
        CLinux.free(self)
    }
}
