import CLinux
import Synchronization

/// RLPortMessage: what is sent from port to port. 64 bytes at most, a cache line.
///
/// Sending leaves the parts of a message in a queue, a `QueuedMessage`; the receiver has a message of its own, in which the two ports have
/// changed places and which shares the components. So the sender's stays the sender's, and no lock is needed.
struct PortMessageStorage: ObjectStorage, ~Copyable {
    static var kind: Kind { .portMessage }

    var header: ObjectHeader
    /// The client's. Whoever owns the message.
    var id: UInt32 = 0
    /// Whether `receivePort` is retained: the receiver's message borrows it while its port's function runs.
    var ownsReceivePort = true
    /// Where a reply goes, or where this message is to go: retained, may be nil.
    var sendPort: PortPointer?
    var receivePort: PortPointer?
    /// Data and ports: retained, may be nil.
    var components: ArrayPointer?
}

typealias PortMessagePointer = UnsafeMutablePointer<PortMessageStorage>

extension UnsafeMutablePointer where Pointee == PortMessageStorage {
    /// A message with one reference; nil with ENOMEM. Retains what it is given. O(1), no system call. Any thread that has a Home.
    @inline(__always)
    static func create(
        _ home: HomePointer, sendPort: PortPointer?, receivePort: PortPointer?, ownsReceivePort: Bool,
        _ components: ArrayPointer?
    ) -> PortMessagePointer? {
        guard let memory = Home.messageSlab.allocate(&home.pointee.messages) else {
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

    /// One reference less. Any thread. False if there was none.
    @inline(__always)
    func release() -> Bool {
        let references = pointee.header.references.load(ordering: .acquiring)
        if references == 0 { return false }
        // The only one, and it is the caller's: nobody else can look.
        if references == 1 || pointee.header.release() { destroy() }
        return true
    }

    /// What arrives: the references of the queued message are this message's from now on. The receiver, of a message that is empty.
    @inline(__always)
    func receive(_ queued: QueuedMessage) {
        pointee.id = queued.id
        pointee.sendPort = queued.replyPort
        pointee.components = queued.components
    }

    /// The receiver has seen it. True if nobody else has it, and it is empty: it will do for the next. Whoever kept it keeps the
    /// port, too.
    @inline(__always)
    func finish() -> Bool {
        if pointee.header.references.load(ordering: .acquiring) != 1 { return leave() }
        if pointee.components != nil || pointee.sendPort != nil { letGo() }
        return true
    }

    /// The parts of the queued message, which nobody has kept.
    @inline(never)
    private func letGo() {
        let parts = QueuedMessage(pointee.components, replyPort: pointee.sendPort)
        pointee.components = nil
        pointee.sendPort = nil
        parts.release()
    }

    /// Not the receiver's any more: what it borrowed is retained now, for whoever kept the message. False.
    @inline(never)
    private func leave() -> Bool {
        if pointee.header.references.load(ordering: .acquiring) > 1 {
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
        // For the receiver, if its function has released what it only borrows.
        pointee.header.references.store(0, ordering: .relaxed)
        if let home = HomePointer.current {
            Home.messageSlab.deallocate(self, &home.pointee.messages)
        } else {
            Home.messageSlab.deallocateWithoutCache(self)
        }
        parts.release()
        if let receivePort { _ = receivePort.release() }
    }
}

extension QueuedMessage {
    /// What a message has for its receiver. O(1). Any thread that has the message.
    @inline(__always)
    init(_ message: PortMessagePointer) {
        self.init(message.pointee.components, replyPort: message.pointee.receivePort, id: message.pointee.id)
    }

    /// One more reference to each part of a message. Any thread.
    @inline(__always)
    func retain() {
        replyPort?.retain()
        components?.pointee.header.retain()
    }

    /// One less. Any thread that has a Home.
    @inline(never)
    func release() {
        components?.release()
        if let replyPort { _ = replyPort.release() }
    }

    @inline(__always)
    fileprivate var components: ArrayPointer? { content.map { Handle.storage(UnsafeRawPointer($0)) } }
}
