import CLinux
import Synchronization

/// RLPortMessage: a message from port to port. At most 64 bytes, a cache line.
///
/// Sending puts the parts of a message into a queue as a `QueuedMessage`. The receiver gets a message object of its own, with the two
/// ports exchanged and with the same components. So the sender keeps its message, and messages need no lock.
struct PortMessageStorage: ObjectStorage, ~Copyable {
    static var kind: Kind { .portMessage }

    var header: ObjectHeader
    /// Chosen by the client. Only the thread that owns the message touches it.
    var id: UInt32 = 0
    /// Whether `receivePort` is retained. The receiver's message only borrows it as long as the port's function runs.
    var ownsReceivePort = true
    /// In a message to be sent, its destination; in a received one, the port for a reply. Retained; may be nil.
    var sendPort: PortPointer?
    var receivePort: PortPointer?
    /// The data and ports that the message carries. Retained; may be nil.
    var components: ArrayPointer?

    static let slab = Slab(size: 64)
}

typealias PortMessagePointer = UnsafeMutablePointer<PortMessageStorage>

extension PortMessagePointer {
    /// Creates a message with one reference; nil with ENOMEM. Retains its arguments. O(1), no system call. Any thread that has a context.
    static func create(
        _ threadContext: ThreadContextPointer, sendPort: PortPointer?, receivePort: PortPointer?, ownsReceivePort: Bool,
        _ components: ArrayPointer?
    ) -> PortMessagePointer? {
        guard let memory = PortMessageStorage.slab.allocate(threadContext) else {
            systemError = ENOMEM
            return nil
        }
        sendPort?.retain()
        if ownsReceivePort { receivePort?.retain() }
        components?.pointee.header.retain()
        let message = memory.assumingMemoryBound(to: PortMessageStorage.self)
        message.initialize(
            to: PortMessageStorage(
                header: ObjectHeader(.portMessage), ownsReceivePort: ownsReceivePort, sendPort: sendPort,
                receivePort: receivePort, components: components))
        return message
    }

    /// Releases a reference; false if there was none. Any thread.
    @inline(__always)
    func release() -> Bool {
        let references = pointee.header.references.load(ordering: .acquiring)
        if references == 0 { return false }
        // If the caller has the only reference, no other thread can change the count.
        if references == 1 || pointee.header.release() { destroy() }
        return true
    }

    /// Fills an empty message with what was taken out of a queue, taking over the references. The receiving thread.
    func receive(_ queued: QueuedMessage) {
        pointee.id = queued.id
        pointee.sendPort = queued.replyPort
        pointee.components = queued.components
    }

    /// Ends the delivery of the message to the port's function. True if no client has kept it: it is empty now, and can take the next
    /// queued message. False if a client has, to which it belongs from now on.
    @inline(__always)
    func finishDelivery() -> Bool {
        if pointee.header.references.load(ordering: .acquiring) != 1 { return keepForClient() }
        if pointee.components != nil || pointee.sendPort != nil { releaseParts() }
        return true
    }

    /// Releases what was delivered, and leaves the message empty.
    @inline(never)
    private func releaseParts() {
        let parts = QueuedMessage(pointee.components, replyPort: pointee.sendPort)
        pointee.components = nil
        pointee.sendPort = nil
        parts.release()
    }

    /// Leaves the message to the clients that have retained it: `receivePort`, which was borrowed, is retained for them. They may release it
    /// meanwhile; then this releases the last reference. 0 references: a client has released one that it did not have. Returns false.
    @inline(never)
    private func keepForClient() -> Bool {
        if pointee.header.references.load(ordering: .acquiring) != 0 {
            pointee.receivePort?.retain()
            pointee.ownsReceivePort = true
            _ = release()
        }
        return false
    }

    @inline(never)
    private func destroy() {
        let parts = QueuedMessage(pointee.components, replyPort: pointee.sendPort)
        let receivePort = pointee.ownsReceivePort ? pointee.receivePort : nil
        // If the client has released the message too often: `finishDelivery` sees that none is left.
        pointee.header.references.store(0, ordering: .relaxed)
        PortMessageStorage.slab.deallocate(self)
        parts.release()
        if let receivePort { _ = receivePort.release() }
    }
}

extension QueuedMessage {
    /// The parts of a message as its receiver gets them, without references. O(1). Any thread that has the message.
    init(_ message: PortMessagePointer) {
        self.init(message.pointee.components, replyPort: message.pointee.receivePort, id: message.pointee.id)
    }

    /// Retains the parts. Any thread.
    @inline(__always)
    func retain() {
        replyPort?.retain()
        components?.pointee.header.retain()
    }

    /// Releases the parts. Any thread that has a context; may call user code.
    @inline(never)
    func release() {
        components?.release()
        if let replyPort { _ = replyPort.release() }
    }

    fileprivate var components: ArrayPointer? { content.map { Handle.storage(UnsafeRawPointer($0)) } }
}
