import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit

/// A stream's look-up of its host: the info of a work, which frees it.
struct HostLookUp {
    /// The stream that asks. One of its `references` is the look-up's.
    fileprivate let stream: StreamPointer
    fileprivate let host: UnsafeMutablePointer<CChar>?
    fileprivate let service: UnsafeMutablePointer<CChar>?
    /// One is the work's; the other is that of `submit`, until it returns.
    fileprivate var references = 1

    /// The address of a host that is given in figures; else nil and an error of getaddrinfo. Never asks a name server. Any thread.
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

    /// Has a worker look the host up and give the stream the answer. Returns the work, which the caller releases; nil with errno if there
    /// is none. Under the stream's lock.
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
                0, { _, info in HostLookUp.pointer(info).run() }, nil, own, whenDropped: { info in HostLookUp.pointer(info).wasDropped() })
            : nil
        // The work has a reference of its own.
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
    /// Looks the host up, and gives the stream the answer. On a worker.
    fileprivate func run() {
        let (answer, error) = HostLookUp.ask(pointee.host, pointee.service, 0)
        pointee.stream.lookUpEnded(answer, error, systemError)
    }

    /// The workers were released before its turn. Any thread.
    fileprivate func wasDropped() { pointee.stream.lookUpEnded(nil, EAI_SYSTEM, ECANCELED) }

    /// Drops a reference; the last frees it.
    fileprivate func release() {
        pointee.references -= 1
        if pointee.references > 0 { return }
        pointee.stream.dropMemory()
        CLinux.free(pointee.host)
        CLinux.free(pointee.service)
        CLinux.free(self)
    }
}
