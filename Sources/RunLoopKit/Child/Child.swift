import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit
import Synchronization

/// An RLChild: a child process and a version-1 source. The source watches an epoll instance that is edge-triggered on the child's pidfd, so
/// it becomes ready once for each change: when the child ends, and when a tracer (gdb) that has held back the exit lets go of the child.
struct Child: ~Copyable, KitStorage {
    static var kind: KitKind { .child }

    /// The stages of waiting for a child's end.
    fileprivate enum Progress: UInt8, AtomicRepresentable {
        /// The child is not known to have ended.
        case running
        /// A loop is calling waitid() for the child, without blocking.
        case waiting
        /// The child has been waited for, by this object or by other code, so its status is known or lost.
        case ended
    }

    fileprivate(set) var object: KitObject
    fileprivate let callout: RLChildCallBack
    /// The parent: the process that created the object. After a fork(), the object in the new process is not about a child of that process.
    fileprivate let parent: ProcessIdentity
    /// The child's pidfd, open until the object is freed. Signals are sent through it, so they never reach a process that reuses the
    /// child's process ID. -1 if there is none. Written once, before the client has the handle.
    fileprivate(set) var pidfd: Int32 = -1
    /// The descriptor that the loops watch. Written before the client has the handle.
    fileprivate var port: Int32 = -1
    /// This process's ends of the pipes to the child's descriptors 0, 1 and 2.
    let pipes: ChildPipes
    /// How far waiting for the child has progressed. Any thread.
    fileprivate let progress: Atomic<Progress>
    /// How the child ended. Written by the loop that waits for the child, before `progress` becomes `ended`; constant afterwards.
    fileprivate var end = linux_end()

    fileprivate init(_ callout: @escaping RLChildCallBack, _ client: ClientContext, _ pipes: consuming ChildPipes) {
        object = KitObject(kind: .child, number: 0, client: client, callout: addressOfFunction(callout))
        self.callout = callout
        self.pipes = pipes
        parent = .current
        progress = Atomic(.running)
    }

    deinit {
        if pidfd >= 0 { linux_close(pidfd) }
        if port >= 0 { linux_close(port) }
    }

    /// Creates an object and its source for a child that is attached later; returns nil if out of memory. Retains the client's info. On
    /// failure, and when the source is freed, the info is released and the pipes are closed. Any thread; calls user code.
    static func make(_ callout: @escaping RLChildCallBack, _ client: ClientContext, _ pipes: consuming ChildPipes) -> ChildPointer? {
        guard let memory = malloc(MemoryLayout<Child>.stride) else { return nil }
        let child = memory.bindMemory(to: Child.self, capacity: 1)
        child.initialize(to: Child(callout, client.retained(), pipes))
        var context = RLRunLoopSourceContext1()
        context.version = 1
        context.info = memory
        context.release = { info in Child.pointer(info).free() }
        context.copyDescription = KitObject.copyDescription
        context.getPort = { info in Child.pointer(info).pointee.port }
        context.perform = { info in Child.pointer(info).perform() }
        // On failure, `makeSource` has called the function that releases the info.
        guard let source = KitObject.makeSource(&context) else { return nil }
        child.pointee.object.source = source
        return child
    }

    fileprivate static func pointer(_ info: UnsafeRawPointer?) -> ChildPointer {
        UnsafeMutableRawPointer(mutating: info.unsafelyUnwrapped).assumingMemoryBound(to: Child.self)
    }
}

typealias ChildPointer = UnsafeMutablePointer<Child>

extension ChildPointer {
    /// Attaches a child process to the object. Throws if the process is not a child of this one, or if no descriptor is available. Call
    /// before the client has the handle.
    func attach(_ process: Int32) throws(SystemError) {
        let pidfd = linux_pidfd_open(process)
        // EINVAL, or ENOENT since Linux 6.16: the number is that of a thread.
        if pidfd < 0 { throw systemError == EINVAL || systemError == ENOENT ? SystemError.make(ESRCH) : .last }
        pointee.pidfd = pidfd
        pointee.object.number = Int(process)
        // EINVAL: Linux before 5.4.
        if linux_is_child(pidfd) == 0 { throw systemError == EINVAL ? SystemError.make(ENOSYS) : .last }
        pointee.port = try checked(linux_open_changes(pidfd))
    }

    /// Attaches a child that has ended and that other code has already waited for. An always readable descriptor takes the place of the
    /// pidfd's epoll, so the loop reports the lost status in its next pass. Call before the client has the handle.
    func attachLost(_ process: Int32) throws(SystemError) {
        let stand = try checked(linux_readable_descriptor())
        if pointee.port >= 0 { linux_close(pointee.port) }
        pointee.port = stand
        pointee.object.number = Int(process)
    }

    /// Sends a signal to the child. Throws ESRCH if the child has been waited for. Any thread.
    func send(_ signal: Int32) throws(SystemError) {
        // A child whose status the kernel discards can still receive signals for a moment.
        if pointee.progress.load(ordering: .acquiring) == .ended || pointee.pidfd < 0 {
            systemError = ESRCH
        } else if linux_pidfd_send_signal(pointee.pidfd, signal) == 0 {
            return
        }
        throw .last
    }

    /// Releases an object that the client has not seen, dropping its only reference. Preserves errno.
    func discard() { preservingSystemError { RLRelease(UnsafeRawPointer(pointee.object.source)) } }

    /// How the child ended; nil while it has not been waited for. Any thread.
    var status: RLChildStatus? {
        guard pointee.progress.load(ordering: .acquiring) == .ended else { return nil }
        let how =
            switch pointee.end.code {
            case linux_CLD_EXITED: kRLChildExited
            case linux_CLD_KILLED: kRLChildKilled
            case linux_CLD_DUMPED: kRLChildDumped
            default: kRLChildLost
            }
        let usage = withUnsafePointer(to: &pointee.end.usage) { UnsafeRawPointer($0) }
        return RLChildStatus(
            version: 0, process: Int32(pointee.object.number), end: Int32(how), status: pointee.end.status,
            userTime: Self.seconds(pointee.end.usage.ru_utime), systemTime: Self.seconds(pointee.end.usage.ru_stime),
            peakMemory: Int64(pointee.end.usage.ru_maxrss) * 1024, rusage: usage)
    }

    private static func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) * 1e-6 }

    /// Waits for the child without blocking, unless another loop is doing so. Returns true once, when the child has ended; its status is
    /// known then. Loop thread only.
    private func wait() -> Bool {
        guard pointee.progress.compareExchange(expected: .running, desired: .waiting, ordering: .acquiring).exchanged else { return false }
        var result = linux_wait_for_end(pointee.pidfd, &pointee.end)
        while result != 0 && systemError == EINTR { result = linux_wait_for_end(pointee.pidfd, &pointee.end) }
        // A ready pidfd does not guarantee that the child can be waited for: a tracer may still hold back the exit.
        let hasEnded = result != 0 || pointee.end.process != 0
        pointee.progress.store(hasEnded ? .ended : .running, ordering: .releasing)
        return hasEnded
    }

    /// Handles a ready descriptor: if the child has ended, invalidates the source and calls the client. Loop thread only; calls user code.
    fileprivate func perform() {
        // After a fork(): the child belongs to the parent process.
        if !pointee.parent.isCurrent { return RLRunLoopSourceInvalidate(pointee.object.source) }
        // A change from here on makes the descriptor ready again.
        linux_forget_changes(pointee.port)
        guard wait(), var status = status else { return }
        RLRunLoopSourceInvalidate(pointee.object.source)
        RUNLOOP_IS_CALLING_OUT_TO_A_CHILD_CALLBACK_FUNCTION(
            pointee.callout, pointee.object.source, &status, pointee.object.client.info)
    }

    /// Frees the object, as its source is freed. Calls user code.
    fileprivate func free() {
        pointee.object.client.releaseInfo()
        deinitialize(count: 1)
        CLinux.free(self)
    }
}
