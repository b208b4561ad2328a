import CLinux
import Synchronization

/// All endpoints (descriptor objects and sockets): the lock for their rare changes, and the table of sockets by descriptor.
enum Endpoints {
    /// Guards the endpoints' sources, the table, and the last known addresses of sockets. Taken before the lock of any loop. No user code
    /// is called under it.
    static let mutex = Mutex()

    /// The socket on each descriptor number. The table holds references, so a socket lives until it is invalidated, as in CFSocket.
    private nonisolated(unsafe) static var sockets = PlainList<SocketPointer?>()

    /// Registers the fork handlers at the first use. fork() takes the mutex, so that a child finds it free and the table consistent.
    private static let forkIsPrepared: Bool = {
        Thread.prepareFork(before: { mutex.lock() }, inParent: { mutex.unlock() }, inChild: { afterForkInChild() })
        return true
    }()

    /// In the child: forgets that threads which do not exist here were using a descriptor. Otherwise a socket would count as in use
    /// permanently, and invalidating it would never close the descriptor.
    private static func afterForkInChild() {
        for fd in 0..<sockets.count { sockets[fd]?.endpoint.resetUsesAfterFork() }
        if files >= 0 { replaceFilesAfterFork() }
        mutex.unlock()
    }

    /// Prepares for fork(). Call before the first endpoint is created. Any thread.
    static func prepare() { _ = forkIsPrepared }

    /// Returns the valid socket on a descriptor, with a reference for the caller; nil if there is none. O(1). Any thread.
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
        /// Another thread has added a socket for this descriptor. The value is that socket, with a reference for the caller.
        case found(SocketPointer)
        case outOfMemory
    }

    /// Adds a socket, and a reference to it, to the table. Amortized O(1). Any thread.
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
        noteFile(of: socket)
        return .added
    }

    /// Removes a socket from the table, before its descriptor is closed. Returns true if the caller has to release the table's reference,
    /// false if the socket was not in the table. O(1). Any thread.
    static func remove(_ socket: SocketPointer) -> Bool {
        let fd = Int(socket.endpoint.pointee.fd)
        mutex.lock()
        defer { mutex.unlock() }
        guard fd >= 0, fd < sockets.count, sockets[fd] == socket else { return false }
        sockets[fd] = nil
        removeFile(of: socket)
        return true
    }

    // MARK: files that look the same

    /// An epoll instance that contains the table's descriptors other than kernel sockets, because `Descriptor.identity` cannot tell one
    /// eventfd from another. The loops' epolls do not contain all of them. It is never waited on: epoll forgets a file that was closed, so
    /// it knows whether a number still refers to the same one. -1 while there is none. Guarded by the mutex.
    private nonisolated(unsafe) static var files: Int32 = -1
    private nonisolated(unsafe) static var fileCount = 0

    /// Whether the descriptor of a socket in the table refers to another file than when the socket was created, if its identity does not
    /// show that. At most one system call. Any thread.
    static func hasLostFile(_ socket: SocketPointer) -> Bool {
        mutex.lock()
        defer { mutex.unlock() }
        return socket.pointee.isFileKnown && !has(socket.endpoint.pointee.fd, in: files)
    }

    /// Whether an epoll still knows the file that a descriptor refers to. One system call.
    private static func has(_ fd: Int32, in files: Int32) -> Bool {
        if files < 0 { return false }
        return preservingSystemError {
            do throws(SystemError) { try Epoll.modify(files, fd, [], tag: 0) } catch { return error.number != ENOENT }
            return true
        }
    }

    /// Adds the file of a socket to `files`, if its identity does not tell it from others. No effect if descriptors or memory run out, or
    /// if epoll refuses the file. That is then a regular file: opened again, it is the same file. The caller holds the mutex.
    private static func noteFile(of socket: SocketPointer) {
        if socket.pointee.identity == 0 || Descriptor.isOfSocket(socket.pointee.identity) { return }
        preservingSystemError {
            let isFirst = files < 0
            if isFirst { files = (try? Epoll.create()) ?? -1 }
            if files < 0 { return }
            var isNoted = true
            do throws(SystemError) { try Epoll.add(files, socket.endpoint.pointee.fd, [], tag: 0) } catch {
                isNoted = error.number == EEXIST
            }
            socket.pointee.isFileKnown = isNoted
            if isNoted { fileCount += 1 } else if isFirst { closeFiles() }
        }
    }

    /// Removes the file of a socket from `files`. Closes `files` if that was the last one in it. The caller holds the mutex.
    private static func removeFile(of socket: SocketPointer) {
        if !socket.pointee.isFileKnown { return }
        socket.pointee.isFileKnown = false
        fileCount -= 1
        // Closed only if it is certainly our epoll: a program that closes all descriptors may have reused the number.
        if Epoll.remove(files, socket.endpoint.pointee.fd) && fileCount == 0 { closeFiles() }
    }

    /// Closes the epoll `files`. The caller holds the mutex.
    private static func closeFiles() {
        Descriptor.close(files)
        files = -1
    }

    /// In the child, which shares the epoll with its parent: replaces it. A file that was lost before the fork is left out, so that the
    /// child sees that it is lost, too. The caller holds the mutex.
    private static func replaceFilesAfterFork() {
        let shared = files
        files = -1
        for fd in 0..<sockets.count {
            guard let socket = sockets[fd], socket.pointee.isFileKnown, has(Int32(fd), in: shared) else { continue }
            socket.pointee.isFileKnown = false
            fileCount -= 1
            noteFile(of: socket)
        }
        Descriptor.close(shared)
    }
}
