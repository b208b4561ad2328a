import CLinux
import Synchronization

/// RLPortMessage: a message from port to port. At most 64 bytes, a cache line.
///
/// Sending puts the parts of a message into a queue, as a `QueuedMessage`. The receiver gets a message object of its own, with the two
/// ports exchanged and the same components. So the sender keeps its message, and messages need no lock.
struct PortMessageStorage: ObjectStorage, ~Copyable {
    static var kind: Kind { .portMessage }

    var header: ObjectHeader
    /// Set by the program. Only the thread that owns the message touches it.
    var id: UInt32 = 0
    /// In a message to be sent, its destination; in a received one, the port for replies. Retained; may be nil.
    var sendPort: PortPointer?
    /// In a message to be sent, the port for replies; in a received one, the port that it has arrived at. Retained; may be nil.
    var receivePort: PortPointer?
    /// The data and ports that the message carries. Retained; may be nil.
    var components: ArrayPointer?

    static let slab = Slab(size: 64)
}

typealias PortMessagePointer = UnsafeMutablePointer<PortMessageStorage>

extension PortMessagePointer {
    /// Creates a message with one reference. Returns nil with ENOMEM if out of memory. Retains its arguments. O(1), no system call. Any
    /// thread that has a context.
    static func create(
        _ threadContext: ThreadContextPointer, sendPort: PortPointer?, receivePort: PortPointer?, _ components: ArrayPointer?
    ) -> PortMessagePointer? {
        guard let memory = PortMessageStorage.slab.allocate(threadContext) else {
            systemError = ENOMEM
            return nil
        }
        sendPort?.retain()
        receivePort?.retain()
        components?.pointee.header.retain()
        let message = memory.assumingMemoryBound(to: PortMessageStorage.self)
        message.initialize(
            to: PortMessageStorage(
                header: ObjectHeader(.portMessage), sendPort: sendPort, receivePort: receivePort, components: components))
        return message
    }

    /// Releases a reference. Returns false if there was none. Any thread that has a context; may call user code.
    @inline(__always)
    func release() -> Bool {
        if pointee.header.references.load(ordering: .acquiring) == 0 { return false }
        // In case the program releases the message too often, `finishDelivery` then sees that no reference is left.
        if pointee.header.releaseUnlisted() { destroy() }
        return true
    }

    /// Fills an empty message with an entry that was taken out of a queue, and takes over its references. The receiving thread.
    func receive(_ queued: QueuedMessage) {
        pointee.id = queued.id
        pointee.sendPort = queued.replyPort
        pointee.components = queued.components
    }

    /// Ends the delivery of the message to the port's callback. Returns true if the callback has not kept the message: it is then empty,
    /// and can take the next entry. Returns false if the callback has retained it: from now on it belongs to the program.
    @inline(__always)
    func finishDelivery() -> Bool {
        let references = pointee.header.references.load(ordering: .acquiring)
        if references == 1 {
            if pointee.components != nil || pointee.sendPort != nil { releaseParts() }
            return true
        }
        // With 0 references, the program has released one that it did not have. Otherwise this one may be the last, if the program has
        // released its own meanwhile.
        if references != 0 { _ = release() }
        return false
    }

    /// Releases the parts that were delivered, and leaves the message empty.
    @inline(never)
    private func releaseParts() {
        let parts = QueuedMessage(pointee.components, replyPort: pointee.sendPort)
        pointee.components = nil
        pointee.sendPort = nil
        parts.release()
    }

    /// Frees the message and releases its parts.
    @inline(never)
    private func destroy() {
        let parts = QueuedMessage(pointee.components, replyPort: pointee.sendPort)
        let receivePort = pointee.receivePort
        PortMessageStorage.slab.deallocate(self)
        parts.release()
        if let receivePort { _ = receivePort.release() }
    }
}

extension QueuedMessage {
    /// Adds a reference to each part. Any thread.
    @inline(__always)
    func retain() {
        replyPort?.retain()
        components?.pointee.header.retain()
    }

    /// Releases a reference to each part. Any thread that has a context; may call user code.
    @inline(never)
    func release() {
        components?.release()
        if let replyPort { _ = replyPort.release() }
    }

    fileprivate var components: ArrayPointer? { content.map { Handle.storage(UnsafeRawPointer($0)) } }
}
