import CLinux
import Synchronization

/// RLPortMessage: what is sent from port to port. 64 bytes at most, a cache line.
///
/// Sending makes a second message for the receiver, in which the two ports have changed places and which shares the
/// components. So the sender's stays the sender's, and no lock is needed: each side has a message of its own.
struct PortMessageStorage: ObjectStorage, ~Copyable {
    static var kind: Kind { .portMessage }

    var header: ObjectHeader
    /// The client's. Whoever owns the message.
    var id: UInt32 = 0
    /// Whether `receivePort` is retained: the receiver's message borrows it while its port's function runs.
    var ownsReceivePort = true
    /// Where a reply goes, or where this message is to go: retained, may be nil.
    let sendPort: PortPointer?
    var receivePort: PortPointer?
    /// Data and ports: retained, may be nil.
    let components: ArrayPointer?
}

typealias PortMessagePointer = UnsafeMutablePointer<PortMessageStorage>

extension UnsafeMutablePointer where Pointee == PortMessageStorage {
    /// What a queue has in it.
    @inline(__always)
    init(queued message: UnsafeMutableRawPointer) { self = message.assumingMemoryBound(to: PortMessageStorage.self) }

    /// A message with one reference; nil with ENOMEM. Retains what it is given. O(1), no system call. Any thread that has a Home.
    @inline(__always)
    static func create(
        _ home: HomePointer, id: UInt32, sendPort: PortPointer?, receivePort: PortPointer?, ownsReceivePort: Bool,
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
                header: ObjectHeader(.portMessage), id: id, ownsReceivePort: ownsReceivePort, sendPort: sendPort,
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

    /// The receiver has seen it. Whoever kept it keeps the port, too.
    @inline(__always)
    func releaseReceived() {
        if pointee.header.references.load(ordering: .acquiring) > 1 {
            pointee.receivePort?.retain()
            pointee.ownsReceivePort = true
        }
        _ = release()
    }

    @inline(never)
    private func destroy() {
        let sendPort = pointee.sendPort
        let receivePort = pointee.ownsReceivePort ? pointee.receivePort : nil
        let components = pointee.components
        if let home = HomePointer.current {
            Home.messageSlab.deallocate(self, &home.pointee.messages)
        } else {
            Home.messageSlab.deallocateWithoutCache(self)
        }
        components?.release()
        if let sendPort { _ = sendPort.release() }
        if let receivePort { _ = receivePort.release() }
    }
}
