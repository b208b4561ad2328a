import CLinux
import CRunLoop
import Synchronization

/// RLPort: receives messages within the process. Any thread that has a reference may send to it. The loops that have the port's run loop
/// source deliver the messages to its callback.
struct PortStorage: PortObject, ~Copyable {
    static var kind: Kind { .port }
    typealias Callout = @convention(c) (OpaquePointer?, OpaquePointer?, UnsafeMutableRawPointer?) -> Void

    var base: PortHeader
    let callout: Callout

    init(_ callout: @escaping Callout, _ context: ClientContext) {
        base = PortHeader(
            .port, context,
            PortHeader.Functions(
                deliver: {
                    let portSource = PortSourcePointer($0)
                    PortPointer(portSource.pointee.port).deliverMessages(portSource)
                },
                close: { PortPointer($0).close() },
                destroy: { PortPointer($0).deallocatePort() }))
        self.callout = callout
    }
}

typealias PortPointer = UnsafeMutablePointer<PortStorage>

extension PortPointer {
    /// Creates a port with one reference. Returns nil with ENOMEM if out of memory. Takes over `context.info`, which the caller has
    /// retained, unless it fails. One allocation. Any thread.
    static func create(_ callout: @escaping PortStorage.Callout, _ context: ClientContext) -> PortPointer? {
        guard let port = allocate() else { return nil }
        port.initialize(to: PortStorage(callout, context))
        PortRegistry.insert(port.base)
        return port
    }

    // MARK: receiving

    /// The perform function of the port's source: delivers one message, and further ones as long as no client can observe that they are
    /// delivered in the same pass. Loop thread only; call without a lock held. Calls the port's callback.
    fileprivate func deliverMessages(_ portSource: PortSourcePointer) {
        guard let threadContext = ThreadContextPointer.current else { return }
        let loop = RunLoopPointer(threadContext)
        var count = 0
        if base.beginCall() {
            var empty = emptyMessage(portSource, threadContext)
            let level = loop.pushCleanup(CleanupHandler(function: { abandonDelivery($0, $1, $2) }, object: self, part: empty))
            while let message = empty, let queued = queue.takeNext(portSource, inStream: count > 1) {
                count += 1
                message.receive(queued)
                RUNLOOP_IS_CALLING_OUT_TO_A_PORT_CALLBACK_FUNCTION(handle, message.handle, pointee.base.context.info, pointee.callout)
                if !message.finishDelivery() {
                    empty = emptyMessage(portSource, threadContext)
                    loop.updateCleanup(level, part: empty)
                }
                if !loop.mayContinue(portSource.pointee.source) { break }
            }
            loop.popCleanup(level)
            _ = empty?.release()
            base.endCall()
        }
        if count == 0 { loop.pointee.performedNothing = true }
    }

    /// Creates a message to receive into. If out of memory, returns nil and signals the source, so that the next pass tries again.
    private func emptyMessage(_ portSource: PortSourcePointer, _ threadContext: ThreadContextPointer) -> PortMessagePointer? {
        let message = PortMessagePointer.create(threadContext, sendPort: nil, receivePort: self, nil)
        if message == nil {
            portSource.pointee.source.signal()
            RunLoopPointer(threadContext).wakeUp()
        }
        return message
    }

    /// Drops the messages that are left, because the port is invalid, and invalidates the source. Call without a lock held. Calls user code.
    fileprivate func close() {
        while let queued = queue.takeNext(nil) { queued.release() }
        queue.invalidateSource()
    }
}

/// Cleanup of a thread that has ended inside a port's callback.
private func abandonDelivery(_ port: UnsafeMutableRawPointer, _ message: UnsafeMutableRawPointer?, _: UnsafeMutableRawPointer?) {
    let message: PortMessagePointer? = message.map { Handle.storage(UnsafeRawPointer($0)) }
    let port = PortPointer(port)
    if let message, message.finishDelivery() { _ = message.release() }
    port.base.endCall()
}
