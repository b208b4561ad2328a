import CLinux
import Synchronization

/// What concerns all endpoints: the lock for what happens seldom, and which socket has which descriptor.
enum Endpoints {
    /// Taken before any lock of a loop. Guards the endpoints' sources and the table. Calls no user code.
    static let mutex = Mutex()

    /// Descriptor number → its socket, with a reference: a socket lives until it is invalidated, as in CFSocket.
    private nonisolated(unsafe) static var sockets = PlainList<SocketPointer?>()

    /// fork() waits until nobody is inside, and the child finds nothing half done.
    private static let forkIsPrepared: Bool = {
        Thread.prepareFork(before: { mutex.lock() }, inParent: { mutex.unlock() }, inChild: { afterForkInChild() })
        return true
    }()

    /// Threads that were sending or connecting do not exist in the child: what is invalidated there is closed at once.
    private static func afterForkInChild() {
        for fd in 0..<sockets.count { sockets[fd]?.endpoint.resetUsesAfterFork() }
        mutex.unlock()
    }

    /// Before the first endpoint. Any thread.
    static func prepare() { _ = forkIsPrepared }

    /// The valid socket on a descriptor with a reference for the caller; nil if there is none. O(1). Any thread.
    static func socket(on fd: Int32) -> SocketPointer? {
        mutex.lock()
        defer { mutex.unlock() }
        guard fd >= 0, Int(fd) < sockets.count, let socket = sockets[Int(fd)] else { return nil }
        socket.endpoint.pointee.item.object.retain()
        return socket
    }

    /// What became of a socket that was to be put into the table.
    enum Outcome {
        case added
        /// Another thread was faster: with a reference for the caller.
        case found(SocketPointer)
        case outOfMemory
    }

    /// Amortised O(1). Any thread.
    static func add(_ socket: SocketPointer) -> Outcome {
        let fd = Int(socket.endpoint.pointee.fd)
        mutex.lock()
        defer { mutex.unlock() }
        while sockets.count <= fd { if !sockets.append(nil) { return .outOfMemory } }
        if let other = sockets[fd] {
            other.endpoint.pointee.item.object.retain()
            return .found(other)
        }
        sockets[fd] = socket
        socket.endpoint.pointee.item.object.retain()
        return .added
    }

    /// Takes out a socket that was invalidated, before its descriptor is closed; the caller gives back the table's reference. False if it was not in. O(1).
    /// Any thread.
    static func remove(_ socket: SocketPointer) -> Bool {
        let fd = Int(socket.endpoint.pointee.fd)
        mutex.lock()
        defer { mutex.unlock() }
        guard fd >= 0, fd < sockets.count, sockets[fd] == socket else { return false }
        sockets[fd] = nil
        return true
    }
}
