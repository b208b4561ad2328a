import CLinux
import Synchronization

/// All loops: one for each thread that has used the library, created at the first use and closed when the thread exits. No step of the
/// iteration: called at these two moments, and by fork().
enum Registry {
    private static let mutex = Mutex()
    /// All loops ever created, with or without a thread, since the items of a thread that has exited continue to use its loop's lock.
    /// Sorted by address, the order in which locks are acquired. Guarded by `mutex`, like the next three variables.
    private nonisolated(unsafe) static var loops = PlainList<RunLoopPointer>()
    /// The memory of loops without a thread and without references. Never unmapped: see `ThreadContext`.
    private nonisolated(unsafe) static var unused = PlainList<RunLoopPointer>()
    private nonisolated(unsafe) static var main: RunLoopPointer?
    /// Whether this is the child of a fork() by a thread that had a loop. That thread then counts as the main thread, whatever the kernel's
    /// IDs are.
    private nonisolated(unsafe) static var forkerIsMain = false

    /// Sets up the process once. False if the process has no thread key left.
    private static let isPrepared: Bool = {
        guard Thread.prepareExit({ threadEnds($0) }) else { return false }
        Clock.sampleClocks()
        Thread.prepareFork(before: { beforeFork() }, inParent: { afterFork() }, inChild: { afterForkInChild() })
        return true
    }()

    /// Sets up the process for parts of the library that need no loop, but fork() handlers. Returns false with ENOMEM.
    static func prepare() -> Bool {
        if !isPrepared { systemError = ENOMEM }
        return isPrepared
    }

    /// The calling thread's loop, created at the first call; nil with errno if out of memory. Not async-signal-safe.
    static var current: RunLoopPointer? {
        if let threadContext = ThreadContextPointer.current { return RunLoopPointer(threadContext) }
        return makeCurrent()
    }

    /// Gives the calling thread a loop: the main loop, which another thread may have created already, or a loop for this thread alone.
    private static func makeCurrent() -> RunLoopPointer? {
        guard prepare(), Thread.reserveCallAtExit() else { return nil }
        Thread.detectProcessors()
        mutex.lock()
        let isMain = !forkerIsMain && Thread.isMain
        guard let loop = isMain && main != nil ? main : makeLoop() else {
            mutex.unlock()
            return nil
        }
        Thread.callAtExit(with: loop)
        if isMain { main = loop }
        Thread.slot = UnsafeMutableRawPointer(loop)
        mutex.unlock()
        if isMain { MainQueue.serveIfWanted(by: loop) }
        return loop
    }

    /// The loop of the process's first thread or, in the child of fork(), of the thread that forked. Created if that thread has not used
    /// the library yet; nil with errno if out of memory.
    static var mainLoop: RunLoopPointer? {
        if Thread.slot == nil && !forkerIsMain && Thread.isMain { return current }
        guard prepare() else { return nil }
        mutex.lock()
        defer { mutex.unlock() }
        if main == nil { main = makeLoop() }
        return main
    }

    /// Returns a loop that is ready for a thread, either an unused one or a new one; nil with errno if out of memory. The caller holds
    /// `mutex`.
    private static func makeLoop() -> RunLoopPointer? {
        guard loops.reserve(loops.count + 1), unused.reserve(loops.count + 1) else { return nil }
        let loop: RunLoopPointer
        if unused.count > 0 {
            loop = unused[unused.count - 1]
            loop.pointee.threadContext.header.references.store(1, ordering: .relaxed)
            loop.pointee.threadContext.header.tag = Kind.runLoop.rawValue
            unused.truncate(to: unused.count - 1)
        } else {
            guard let memory = aligned_alloc(64, (MemoryLayout<RunLoopStorage>.size + 63) & ~63) else { return nil }
            loop = memory.bindMemory(to: RunLoopStorage.self, capacity: 1)
            loop.initialize(to: RunLoopStorage())
            loop.pointee.pendingSignals.loopAddress.store(UInt(bitPattern: loop), ordering: .relaxed)
            var index = loops.count
            while index > 0 && loops[index - 1] > loop { index -= 1 }
            _ = loops.insert(loop, at: index)
        }
        guard loop.open() else {
            loop.pointee.threadContext.header.tag = 0
            _ = unused.append(loop)
            return nil
        }
        return loop
    }

    /// The destructor of the thread key, which closes the thread's loop. If the thread calls the library afterwards, it is given another
    /// loop.
    private static func threadEnds(_ slot: UnsafeMutableRawPointer?) {
        guard let threadContext = ThreadContextPointer.current, UnsafeMutableRawPointer(threadContext) == slot else { return }
        let loop = RunLoopPointer(threadContext)
        Thread.forbidCancellation()
        // If a callback ends the thread once more, this function is called again.
        Thread.callAtExit(with: UnsafeMutableRawPointer(threadContext))
        loop.close()
        loop.trimCaches()
        Thread.callAtExit(with: nil)
        Thread.slot = nil
        // Any thread may use the main loop's handle without holding a reference (RLRunLoopGetMain). So this loop is not released: the
        // handle remains valid and refers to a closed loop.
        mutex.lock()
        let isMain = main == loop
        mutex.unlock()
        if !isMain { loop.release() }
    }

    /// Makes a loop without a thread and without references available to the next thread.
    fileprivate static func recycle(_ loop: RunLoopPointer) {
        loop.pointee.threadContext.header.tag = 0
        mutex.lock()
        _ = unused.append(loop)
        mutex.unlock()
    }

    // MARK: fork

    /// Acquires `mutex` and the locks of all loops, the notification observers, the interned strings and the slabs, on the forking
    /// thread, so that the child finds what they guard in a consistent state. Ports, sockets and `Misuse` have handlers of their own.
    private static func beforeFork() {
        mutex.lock()
        for index in 0..<loops.count { loops[index].threadContext.lockBeforeFork() }
        for index in 0..<loops.count { loops[index].inbox.lockBeforeFork() }
        Observances.lockBeforeFork()
        InternedStrings.lockBeforeFork()
        SlabList.lockBeforeFork()
    }

    /// Releases what `beforeFork` has locked.
    private static func afterFork() {
        SlabList.unlockAfterFork()
        InternedStrings.unlockAfterFork()
        Observances.unlockAfterFork()
        for index in 0..<loops.count { loops[index].inbox.unlockAfterFork() }
        for index in 0..<loops.count { loops[index].threadContext.unlockAfterFork() }
        mutex.unlock()
    }

    /// Whether some thread that does not exist in this process was inside a callback for whose end the library had registered a cleanup
    /// handler. Written in the child of fork(), before it has other threads.
    private nonisolated(unsafe) static var hasAbandonedCleanups = false

    /// In the child of fork(): returns the cleanup handler of a call of this object's callback that was in progress on a thread which does
    /// not exist here; nil if none is left. The caller runs it. Any thread.
    @inline(never)
    static func takeAbandonedCleanup(of object: UnsafeMutableRawPointer) -> CleanupHandler? {
        if !hasAbandonedCleanups { return nil }
        mutex.lock()
        defer { mutex.unlock() }
        for index in 0..<loops.count where loops[index].pointee.isAbandoned {
            if let handler = loops[index].takeCleanup(of: object) { return handler }
        }
        return nil
    }

    /// Repairs the loops in the child, in which only the forking thread exists, and unlocks what `beforeFork` has locked. That
    /// thread's loop, if it has one, continues as the main loop; those of other threads are abandoned.
    private static func afterForkInChild() {
        Membarrier.registerAfterFork()
        let survivor = ThreadContextPointer.current.map { RunLoopPointer($0) }
        for index in 0..<loops.count {
            let loop = loops[index]
            if loop == survivor {
                if loop.pointee.isOpen { loop.survive() }
                continue
            }
            loop.threadContext.pointee.lock.resetOwnerAfterFork()
            // A loop that is not open but has sets was being closed by its thread when the process forked.
            if loop.pointee.isOpen || loop.pointee.sets.count > 0 { loop.abandon() }
        }
        for index in 0..<loops.count where loops[index].pointee.isAbandoned && loops[index].pointee.cleanupHandlers.count > 0 {
            hasAbandonedCleanups = true
        }
        main = survivor
        forkerIsMain = survivor != nil
        afterFork()
    }
}

extension RunLoopPointer {
    /// RLRelease. Returns false, without effect, if the only reference left is that of the loop's own thread: the caller had none. Any
    /// thread.
    @discardableResult
    func release() -> Bool {
        if pointee.threadContext.header.releaseUnlessLast() { return true }
        if locked({ pointee.isOpen }) { return false }
        if pointee.threadContext.header.release() { Registry.recycle(self) }
        return true
    }
}
