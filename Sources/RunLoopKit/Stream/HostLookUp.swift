import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit

/// The look-up of a stream's host. It is the info of a work, which frees it.
struct HostLookUp {
    /// The stream that waits for the answer. The look-up holds one of its `references`.
    fileprivate let stream: StreamPointer
    fileprivate let host: UnsafeMutablePointer<CChar>?
    fileprivate let service: UnsafeMutablePointer<CChar>?
    /// The number of references: the work's, and one that `submit` holds until it returns.
    fileprivate var references = 1

    /// Returns the address of a host that is given by a numeric address; otherwise nil and an error of getaddrinfo. Never queries a name
    /// server. Any thread.
    static func inFigures(
        _ host: UnsafePointer<CChar>?, _ service: UnsafePointer<CChar>?
    ) -> (answer: UnsafeMutablePointer<addrinfo>?, error: Int32) {
        ask(host, service, AI_NUMERICHOST)
    }

    fileprivate static func ask(
        _ host: UnsafePointer<CChar>?, _ service: UnsafePointer<CChar>?, _ flags: Int32
    ) -> (answer: UnsafeMutablePointer<addrinfo>?, error: Int32) {
        var hints = linux_hints(nil)
        hints.ai_flags = flags
        var answer: UnsafeMutablePointer<addrinfo>?
        let error = linux_find_addresses(host, service, &hints, &answer)
        return (error == 0 ? answer : nil, error)
    }

    /// Has a worker look up the host and pass the answer to the stream. Returns the work, which the caller releases; nil with errno on
    /// failure. The caller holds the stream's lock.
    static func submit(
        _ stream: StreamPointer, _ host: UnsafePointer<CChar>?, _ service: UnsafePointer<CChar>?, to workers: WorkersPointer
    ) -> OpaquePointer? {
        guard let memory = malloc(MemoryLayout<HostLookUp>.stride) else { return nil }
        let lookUp = memory.bindMemory(to: HostLookUp.self, capacity: 1)
        let copies = (host.flatMap { strdup($0) }, service.flatMap { strdup($0) })
        _ = stream.retainMemory()
        lookUp.initialize(to: HostLookUp(stream: stream, host: copies.0, service: copies.1))
        var own = ClientContext(info: memory)
        own.retain = { info in
            HostLookUp.pointer(info).pointee.references += 1
            return info
        }
        own.release = { info in HostLookUp.pointer(info).release() }
        let isCopied = (host == nil || copies.0 != nil) && (service == nil || copies.1 != nil)
        let source =
            isCopied
            ? Work.create(
                0, { _, info in HostLookUp.pointer(info).run() }, nil, own, named: stream.pointee.object.callout,
                whenDropped: { info in HostLookUp.pointer(info).wasDropped() })
            : nil
        // The work holds its own reference.
        lookUp.release()
        guard let source else { return nil }
        do throws(SystemError) {
            guard let submitted: WorkPointer = KitObject.borrow(source, "RLStreamCreateConnectedToHost", "work") else { return nil }
            try workers.pointee.pool.submit(submitted)
            return source
        } catch {
            preservingSystemError { RLRelease(UnsafeRawPointer(source)) }
            return nil
        }
    }

    fileprivate static func pointer(_ info: UnsafeRawPointer?) -> UnsafeMutablePointer<HostLookUp> {
        UnsafeMutableRawPointer(mutating: info.unsafelyUnwrapped).assumingMemoryBound(to: HostLookUp.self)
    }
}

extension UnsafeMutablePointer<HostLookUp> {
    /// Looks up the host and passes the answer to the stream. Worker only.
    fileprivate func run() {
        let (answer, error) = HostLookUp.ask(pointee.host, pointee.service, 0)
        pointee.stream.lookUpEnded(answer, error, systemError)
    }

    /// Passes ECANCELED to the stream, because the workers were released before the look-up's turn. Any thread.
    fileprivate func wasDropped() { pointee.stream.lookUpEnded(nil, EAI_SYSTEM, ECANCELED) }

    /// Drops a reference; the last one frees the memory. The count is not atomic: `submit` drops its reference before a worker can see the
    /// work, whose reference is the only one from then on.
    fileprivate func release() {
        pointee.references -= 1
        if pointee.references > 0 { return }
        pointee.stream.dropMemory()
        CLinux.free(pointee.host)
        CLinux.free(pointee.service)
        CLinux.free(self)
    }
}
