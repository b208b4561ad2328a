import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit

/// The query and the result of an RLHostResolve. This is the info of a work item, which frees it.
struct HostResolve {
    fileprivate let host: UnsafeMutablePointer<CChar>?
    fileprivate let service: UnsafeMutablePointer<CChar>?
    fileprivate let hints: addrinfo
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
    /// The references: first that of `create`, then that of the work item.
    fileprivate var references = 1
}

typealias HostResolvePointer = UnsafeMutablePointer<HostResolve>

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
                host: copies.0, service: copies.1, hints: linux_hints(hints), callout: callout, client: client.retained())
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
            named: addressOfFunction(callout), limit: timeout >= 1e10 ? .infinity : timeout,
            whenExpired: { info in HostResolve.pointer(info).call(nil, Int32(kRLHostResolveTimedOut)) })
        if let work { resolve.pointee.work = work }
        return work
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

    fileprivate func call(_ addresses: OpaquePointer?, _ error: Int32) {
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
        if let answer = pointee.answer { freeaddrinfo(answer) }
        if let addresses = pointee.addresses { RLRelease(UnsafeRawPointer(addresses)) }
        CLinux.free(pointee.host)
        CLinux.free(pointee.service)
        pointee.client.releaseInfo()
        CLinux.free(self)
    }
}
