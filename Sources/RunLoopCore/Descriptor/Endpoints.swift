import CLinux
import Synchronization

/// All endpoints: the lock for their rare changes, and the table of sockets by descriptor.
enum Endpoints {
    /// Taken before any lock of a loop. Guards the endpoints' sources and the table. Calls no user code.
    static let mutex = Mutex()

    /// The socket on each descriptor number, with a reference, so that a socket lives until it is invalidated, as in CFSocket.
    private nonisolated(unsafe) static var sockets = PlainList<SocketPointer?>()

    /// Whether fork() takes the mutex, so that a child does not find it locked, or the table half changed.
    private static let forkIsPrepared: Bool = {
        Thread.prepareFork(before: { mutex.lock() }, inParent: { mutex.unlock() }, inChild: { afterForkInChild() })
        return true
    }()

    /// Ends the uses of threads that do not exist in the child: it would wait for them before it closes a descriptor.
    private static func afterForkInChild() {
        for fd in 0..<sockets.count { sockets[fd]?.endpoint.resetUsesAfterFork() }
        mutex.unlock()
    }

    /// Must be called before the first endpoint is made. Any thread.
    static func prepare() { _ = forkIsPrepared }

    /// The valid socket on a descriptor, with a reference for the caller; nil if there is none. O(1). Any thread.
    static func socket(on fd: Int32) -> SocketPointer? {
        mutex.lock()
        defer { mutex.unlock() }
        guard fd >= 0, Int(fd) < sockets.count, let socket = sockets[Int(fd)] else { return nil }
        socket.endpoint.pointee.item.object.retain()
        return socket
    }

    /// The result of `add`.
    enum Outcome {
        case added
        /// Another thread has added one for the same descriptor: with a reference for the caller.
        case found(SocketPointer)
        case outOfMemory
    }

    /// Adds a socket to the table. Amortised O(1). Any thread.
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

    /// Removes a socket from the table, before its descriptor is closed; the caller has to release the table's reference. False if it was not
    /// there. O(1). Any thread.
    static func remove(_ socket: SocketPointer) -> Bool {
        let fd = Int(socket.endpoint.pointee.fd)
        mutex.lock()
        defer { mutex.unlock() }
        guard fd >= 0, fd < sockets.count, sockets[fd] == socket else { return false }
        sockets[fd] = nil
        return true
    }
}
