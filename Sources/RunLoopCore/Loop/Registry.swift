import CLinux
import Synchronization

/// All loops: one for each thread that has used the library, created at the first use and closed when the thread ends. No step of the
/// iteration: called at these two moments, and by fork().
enum Registry {
    private static let mutex = Mutex()
    /// All loops ever created, with a thread or without: items of ended threads go on using their locks. Sorted by address, the
    /// order in which locks are taken. Guarded by `mutex`, as the next three.
    private nonisolated(unsafe) static var loops = PlainList<RunLoopPointer>()
    /// The memory of loops without a thread and without references. Never unmapped: see `ThreadContext`.
    private nonisolated(unsafe) static var unused = PlainList<RunLoopPointer>()
    private nonisolated(unsafe) static var main: RunLoopPointer?
    /// In a child of fork() the thread that forked is the main thread, whatever the kernel's ids say.
    private nonisolated(unsafe) static var mainIsForker = false

    /// What the library sets up in the process, once. False if the process has no thread key left.
    private static let isPrepared: Bool = {
        guard Thread.prepareExit({ threadEnds($0) }) else { return false }
        Clock.sampleClocks()
        Thread.prepareFork(before: { beforeFork() }, inParent: { afterFork() }, inChild: { afterForkInChild() })
        return true
    }()

    /// Sets up the process for rooms that need no loop but must be consistent in a child of fork(). False with ENOMEM.
    static func prepare() -> Bool {
        if !isPrepared { systemError = ENOMEM }
        return isPrepared
    }

    /// The calling thread's loop, created at the first call; nil with errno if out of memory. Not async-signal-safe.
    static var current: RunLoopPointer? {
        if let threadContext = ThreadContextPointer.current { return RunLoopPointer(threadContext) }
        return makeCurrent()
    }

    /// Gives the calling thread a loop: the main loop, which another thread may have created already, or its own.
    private static func makeCurrent() -> RunLoopPointer? {
        guard isPrepared else {
            systemError = ENOMEM
            return nil
        }
        Thread.lookAtProcessors()
        mutex.lock()
        let isMain = !mainIsForker && Thread.isMain
        guard let loop = isMain && main != nil ? main : makeLoop(), Thread.callAtExit(with: loop) else {
            mutex.unlock()
            return nil
        }
        if isMain { main = loop }
        Thread.slot = UnsafeMutableRawPointer(loop)
        mutex.unlock()
        if isMain { MainQueue.serveIfWanted(by: loop) }
        return loop
    }

    /// The loop of the process's first thread or, in a child of fork(), of the thread that forked; created if that thread has not used the
    /// library yet. nil if out of memory.
    static var mainLoop: RunLoopPointer? {
        if Thread.slot == nil && !mainIsForker && Thread.isMain { return current }
        guard isPrepared else { return nil }
        mutex.lock()
        defer { mutex.unlock() }
        if main == nil { main = makeLoop() }
        return main
    }

    /// Returns a loop that is ready for a thread: an unused one, or a new one; nil with errno if out of memory. Under `mutex`.
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
            var index = loops.count
            while index > 0 && loops[index - 1] > loop { index -= 1 }
            _ = loops.insert(loop, at: index)
        }
        guard loop.open() else {
            _ = unused.append(loop)
            return nil
        }
        return loop
    }

    /// The destructor of the thread key: closes the thread's loop. A thread that calls the library afterwards gets another loop.
    private static func threadEnds(_ slot: UnsafeMutableRawPointer?) {
        guard let threadContext = ThreadContextPointer.current, UnsafeMutableRawPointer(threadContext) == slot else { return }
        let loop = RunLoopPointer(threadContext)
        Thread.forbidCancellation()
        loop.close()
        loop.trimCaches()
        Thread.slot = nil
        // Every thread may use the main loop's handle (RLRunLoopGetMain), which counts no reference: it stays the valid handle of a closed
        // loop.
        mutex.lock()
        let isMain = main == loop
        mutex.unlock()
        if !isMain { loop.release() }
    }

    /// A loop without a thread and without references can be the next thread's.
    fileprivate static func recycle(_ loop: RunLoopPointer) {
        loop.pointee.threadContext.header.tag = 0
        mutex.lock()
        _ = unused.append(loop)
        mutex.unlock()
    }

    // MARK: fork

    /// Takes the locks of all loops and of the rooms above, on the forking thread, so that the child finds nothing half done. Ports, sockets
    /// and `Misuse` lock theirs in handlers of their own.
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

    /// Whether a thread that does not exist in this process was in a client's function with a cleanup handler. Written in the child of a
    /// fork(), before it has threads.
    private nonisolated(unsafe) static var hasAbandonedCleanups = false

    /// In a child of fork(): a cleanup handler for a call of this object's function, by a thread that does not exist here; nil if there is
    /// none (left). The caller runs it. Any thread.
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

    /// Only the forking thread exists in the child. Its loop goes on; the others are abandoned.
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
            // The thread of a loop that is abandoned may have been about to close it.
            if loop.pointee.isOpen || loop.pointee.sets.count > 0 { loop.abandon() }
        }
        for index in 0..<loops.count where loops[index].pointee.isAbandoned && loops[index].pointee.cleanupHandlers.count > 0 {
            hasAbandonedCleanups = true
        }
        main = survivor
        mainIsForker = survivor != nil
        SlabList.resetSlabsAfterFork()
        afterFork()
    }
}

extension RunLoopPointer {
    /// RLRelease. Any thread. False, without effect, if the only reference left is that of the loop's own thread: the caller had none.
    @discardableResult
    func release() -> Bool {
        if pointee.threadContext.header.releaseUnlessLast() { return true }
        if locked({ pointee.isOpen }) { return false }
        if pointee.threadContext.header.release() { Registry.recycle(self) }
        return true
    }
}
