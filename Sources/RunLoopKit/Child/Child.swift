import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit
import Synchronization

/// An RLChild: a child process, and a version-1 source on an epoll that reports its pidfd once for each change of it: when the child has
/// ended, and when a tracer that has kept its end to itself (gdb) lets go of it.
struct Child: ~Copyable, KitStorage {
    static var kind: KitKind { .child }

    /// How far the wait for a child's end is.
    fileprivate enum Progress: UInt8, AtomicRepresentable {
        /// The child was not seen to have ended.
        case running
        /// A loop calls waitid() for the child, which takes no time.
        case waiting
        /// The child was waited for: its status is known.
        case ended
    }

    fileprivate(set) var object: KitObject
    fileprivate let callout: RLChildCallBack
    /// The process whose child it is; a later fork() makes another process, to which this child does not belong.
    fileprivate let parent: ProcessIdentity
    /// Open until the object is freed, so that a signal never reaches another process. Written once, before the program has the handle.
    fileprivate(set) var pidfd: Int32 = -1
    /// The descriptor that the loops watch. Written before the program has the handle.
    fileprivate var port: Int32 = -1
    /// Our ends of the pipes to its descriptors 0, 1 and 2.
    let pipes: ChildPipes
    /// How far the wait for the end has come. Any thread.
    fileprivate let progress: Atomic<Progress>
    /// Written by the loop that waits, before `progress` is `ended`, and not changed after that.
    fileprivate var end = linux_end()

    fileprivate init(_ callout: @escaping RLChildCallBack, _ client: ClientContext, _ pipes: consuming ChildPipes) {
        object = KitObject(kind: .child, number: 0, client: client)
        self.callout = callout
        self.pipes = pipes
        parent = .current
        progress = Atomic(.running)
    }

    deinit {
        if pidfd >= 0 { linux_close(pidfd) }
        if port >= 0 { linux_close(port) }
    }

    /// An object and its source, for a child that is yet to come; nil if out of memory. Retains the client's info. If it fails, and when
    /// the source is freed, the info is released and the pipes are closed. Any thread.
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
        // On failure `makeSource` has called the function that releases the info.
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
    /// Gives the object its child. Throws if the process is no child of this one, or there is no descriptor. Before the program has the
    /// handle.
    func attach(_ process: Int32) throws(SystemError) {
        let pidfd = linux_pidfd_open(process)
        // EINVAL, or ENOENT since Linux 6.16: it is a thread.
        if pidfd < 0 { throw systemError == EINVAL || systemError == ENOENT ? SystemError.make(ESRCH) : .last }
        pointee.pidfd = pidfd
        pointee.object.number = Int(process)
        // EINVAL: Linux before 5.4.
        if linux_is_child(pidfd) == 0 { throw systemError == EINVAL ? SystemError.make(ENOSYS) : .last }
        pointee.port = try checked(linux_open_changes(pidfd))
    }

    /// Gives the object a child that has ended already, and that something else has waited for: its loop finds that at once.
    /// Before the program has the handle.
    func attachLost(_ process: Int32) throws(SystemError) {
        let stand = try checked(linux_readable_descriptor())
        if pointee.port >= 0 { linux_close(pointee.port) }
        pointee.port = stand
        pointee.object.number = Int(process)
    }

    /// Sends a signal. Throws ESRCH if there is nothing left of the child. Any thread.
    func send(_ signal: Int32) throws(SystemError) {
        if linux_pidfd_send_signal(pointee.pidfd, signal) == 0 { return }
        // EBADF: there never was a pidfd.
        throw systemError == EBADF ? SystemError.make(ESRCH) : .last
    }

    /// Drops the only reference, of an object that the program has not seen. Leaves errno as it was.
    func discard() { preservingSystemError { RLRelease(UnsafeRawPointer(pointee.object.source)) } }

    /// What is known of the end; nil if it has not ended. Any thread.
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
            process: Int32(pointee.object.number), end: Int32(how), status: pointee.end.status,
            userTime: Self.seconds(pointee.end.usage.ru_utime), systemTime: Self.seconds(pointee.end.usage.ru_stime),
            peakMemory: Int64(pointee.end.usage.ru_maxrss) * 1024, rusage: usage)
    }

    private static func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) * 1e-6 }

    /// Waits for the child, if it has ended and no other loop does; true once. The status is known then. On the loop's thread.
    private func wait() -> Bool {
        guard pointee.progress.compareExchange(expected: .running, desired: .waiting, ordering: .acquiring).exchanged else { return false }
        var result = linux_wait_for_end(pointee.pidfd, &pointee.end)
        while result != 0 && systemError == EINTR { result = linux_wait_for_end(pointee.pidfd, &pointee.end) }
        // What was found ready may be so no more.
        let hasEnded = result != 0 || pointee.end.process != 0
        pointee.progress.store(hasEnded ? .ended : .running, ordering: .releasing)
        return hasEnded
    }

    /// The pidfd is ready: ends the source, and calls the client. On the loop's thread.
    fileprivate func perform() {
        // After a fork(): it is the parent's child.
        if !pointee.parent.isCurrent { return RLRunLoopSourceInvalidate(pointee.object.source) }
        // A change from here on makes it ready again.
        linux_forget_changes(pointee.port)
        guard wait(), var status = status else { return }
        RLRunLoopSourceInvalidate(pointee.object.source)
        RUNLOOP_IS_CALLING_OUT_TO_A_CHILD_CALLBACK_FUNCTION(
            pointee.callout, pointee.object.source, &status, pointee.object.client.info)
    }

    /// The source was freed.
    fileprivate func free() {
        pointee.object.client.releaseInfo()
        deinitialize(count: 1)
        CLinux.free(self)
    }
}
