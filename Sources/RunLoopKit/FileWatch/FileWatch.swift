import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit

/// An RLFileWatch: a version-1 source on an epoll descriptor that covers an inotify instance and a timer.
struct FileWatch: ~Copyable, KitStorage {
    static var kind: KitKind { .fileWatch }

    fileprivate(set) var object: KitObject
    let callout: RLFileWatchCallBack
    /// The process that created the watch. The child of a later fork() is another one.
    private let process: ProcessIdentity
    let flags: UInt
    /// The latency in nanoseconds.
    let latency: UInt64
    /// The epoll descriptor. Written once, before the client has the handle.
    fileprivate(set) var port: Int32 = -1
    fileprivate(set) var inotify: Int32 = -1
    fileprivate(set) var timer: Int32 = -1
    /// Guards the variables below, since several loops may serve the watch at the same time.
    fileprivate let gate: UnsafeMutablePointer<linux_gate>
    /// The buffer for events read from the kernel, followed by room for one path.
    let buffer: UnsafeMutableRawPointer
    var directories = WatchedDirectories()
    var events = FileEvents()
    /// Whether the kernel's queue overflowed or its events contradict the directories, so that everything has to be read again.
    var readsAgain = false
    /// How often the kernel's queue was found empty. For a directory that was examined before the latest time, no older event is still
    /// queued.
    var drains: UInt32 = 1
    /// The number of consecutive passes that did not empty the queue, from 0 to 32; it restarts at 0 after that.
    var passesBehind = 0
    /// When to retry postponed directories or a failed inotify_init1(2), on the monotonic clock; 0: never.
    var retryAt: UInt64 = 0
    /// When the events are due for delivery, on the monotonic clock; 0: there are none.
    private var dueAt: UInt64 = 0
    /// With kRLFileWatchNoDefer: the earliest time of the next delivery, on the monotonic clock. Initially 0, so that the first events are
    /// delivered immediately even if the machine was booted less than a latency ago.
    private var mayTellAt: UInt64 = 0
    private var isTimerSet = false
    /// The batches being delivered, one per running callback. Freed when the callback returns, or with the watch if it never does.
    fileprivate var told: UnsafeMutablePointer<FileEvents.Block>?

    private init(
        _ callout: @escaping RLFileWatchCallBack, _ client: ClientContext, _ latency: UInt64, _ flags: UInt,
        _ gate: UnsafeMutablePointer<linux_gate>, _ buffer: UnsafeMutableRawPointer
    ) {
        object = KitObject(kind: .fileWatch, number: -1, client: client, callout: addressOfFunction(callout))
        self.callout = callout
        self.latency = latency
        self.flags = flags
        self.gate = gate
        self.buffer = buffer
        process = .current
    }

    deinit {
        var left = told
        while let block = left {
            left = block.pointee.next
            FileEvents.destroy(block)
        }
        closeDescriptors()
        linux_free_gate(gate)
        CLinux.free(buffer)
    }

    fileprivate func closeDescriptors() {
        preservingSystemError {
            if port >= 0 { linux_close(port) }
            if inotify >= 0 { linux_close(inotify) }
            if timer >= 0 { linux_close(timer) }
        }
    }

    /// Creates a watch and returns its source; nil with errno on failure. Retains the client's info, and releases it on failure. Any
    /// thread; calls user code.
    static func create(
        _ paths: UnsafePointer<UnsafePointer<CChar>?>, _ latency: UInt64, _ flags: UInt, _ callout: @escaping RLFileWatchCallBack,
        _ client: ClientContext
    ) -> OpaquePointer? {
        guard let gate = linux_make_gate() else { return nil }
        let places = (malloc(MemoryLayout<FileWatch>.stride), malloc(bufferSize + Int(PATH_MAX)))
        guard let memory = places.0, let buffer = places.1 else {
            CLinux.free(places.0)
            CLinux.free(places.1)
            linux_free_gate(gate)
            return nil
        }
        let watch = memory.bindMemory(to: FileWatch.self, capacity: 1)
        watch.initialize(to: FileWatch(callout, client.retained(), latency, flags, gate, buffer))
        do throws(SystemError) {
            try watch.open()
            try watch.addRoots(paths)
        } catch {
            preservingSystemError { watch.free() }
            return nil
        }
        var context = RLRunLoopSourceContext1()
        context.version = 1
        context.info = memory
        context.release = { info in FileWatch.pointer(info).free() }
        context.copyDescription = KitObject.copyDescription
        context.getPort = { info in FileWatch.pointer(info).pointee.port }
        context.perform = { info in FileWatch.pointer(info).perform() }
        // On failure, `makeSource` has called the function that releases the info.
        guard let source = KitObject.makeSource(&context) else { return nil }
        watch.pointee.object.source = source
        return source
    }

    fileprivate static func pointer(_ info: UnsafeRawPointer?) -> FileWatchPointer {
        UnsafeMutableRawPointer(mutating: info.unsafelyUnwrapped).assumingMemoryBound(to: FileWatch.self)
    }

    static var bufferSize: Int { 32768 }

    // MARK: when to deliver

    private static var batchLimit: Int { 4096 }
    static var retryInterval: UInt64 { 10_000_000 }

    /// Whether the calling process is not the one that created the watch, as in the child of a fork().
    fileprivate var isElsewhere: Bool { !process.isCurrent }
    fileprivate var hasForked: Bool { process.hasForked }

    /// Returns whether the events are due for delivery, and sets the timer for what else is waiting. The caller holds the lock.
    fileprivate mutating func isDue() -> Bool {
        let now = linux_monotonic_time()
        if !events.isEmpty {
            if dueAt == 0 { dueAt = flags & UInt(kRLFileWatchNoDefer) != 0 ? mayTellAt : now &+ latency }
            if dueAt <= now || latency == 0 || events.count >= Self.batchLimit {
                dueAt = 0
                mayTellAt = now &+ latency
                setTimer()
                return true
            }
        }
        setTimer()
        return false
    }

    private mutating func setTimer() {
        // Directories may be waiting for the queue to be empty. If it already is, no event would wake the loop.
        if passesBehind > 0 { return setTimer(to: 1) }
        setTimer(to: dueAt == 0 ? retryAt : retryAt == 0 ? dueAt : min(dueAt, retryAt))
    }

    /// Sets the timer to a time on the monotonic clock; 0 disarms it.
    fileprivate mutating func setTimer(to time: UInt64) {
        // The common case: the timer is not set, and stays so.
        if time == 0 && !isTimerSet { return }
        isTimerSet = time != 0
        linux_set_file_timer(timer, time)
    }
}

typealias FileWatchPointer = UnsafeMutablePointer<FileWatch>

extension FileWatchPointer {
    fileprivate func open() throws(SystemError) {
        pointee.inotify = try checked(linux_open_inotify())
        pointee.timer = try checked(linux_open_timer())
        pointee.port = try checked(linux_open_both(pointee.inotify, pointee.timer))
    }

    /// Replaces the inotify instance with a new one, which watches nothing. Returns false with errno on failure; there is none then.
    func renewQueue() -> Bool {
        let old = pointee.inotify
        pointee.inotify = -1
        pointee.inotify = linux_replace_inotify(pointee.port, old)
        return pointee.inotify >= 0
    }

    fileprivate func addRoots(_ paths: UnsafePointer<UnsafePointer<CChar>?>) throws(SystemError) {
        var next = paths
        while let path = next.pointee {
            guard let absolute = linux_absolute_path(path) else { throw .last }
            let root = pointee.directories.addRoot(absolute)
            CLinux.free(absolute)
            guard let root else { throw .make(ENOMEM) }
            try lookAtRoot(root)
            next += 1
        }
        catchUp()
        // Makes the first pass report what could not be watched.
        if !pointee.events.isEmpty || pointee.retryAt != 0 || pointee.passesBehind > 0 { pointee.setTimer(to: 1) }
    }

    /// Handles the ready descriptor: reads the pending events, and calls the client if they are due. Loop thread only; may call user code.
    fileprivate func perform() {
        if pointee.isElsewhere { return RLRunLoopSourceInvalidate(pointee.object.source) }
        linux_lock_gate(pointee.gate)
        catchUp()
        if pointee.isDue() { tell() } else { linux_unlock_gate(pointee.gate) }
    }

    /// Reads the kernel's events and examines unread directories. Events that are read after that may be older than what was seen, until
    /// the queue is found empty; so it is read again immediately, a few times.
    private func catchUp() {
        var turns = 0
        while readEvents(), lookAtUnread(), turns < 4 { turns += 1 }
    }

    /// Calls the client with all events. The caller holds the lock, which this function releases.
    private func tell() {
        if pointee.events.isLost {
            pointee.events.isLost = false
            noteMustScan()
        }
        guard let (block, count) = pointee.events.take() else {
            // Still no memory: try again when the timer fires.
            pointee.events.isLost = true
            pointee.setTimer(to: linux_monotonic_time() &+ FileWatch.retryInterval)
            return linux_unlock_gate(pointee.gate)
        }
        block.pointee.next = pointee.told
        pointee.told = block
        linux_unlock_gate(pointee.gate)
        RUNLOOP_IS_CALLING_OUT_TO_A_FILE_WATCH_CALLBACK_FUNCTION(
            pointee.callout, pointee.object.source, count, block.pointee.events, pointee.object.client.info)
        // The callback has forked, and this is the child: the lock may be held by a thread that does not exist here.
        if pointee.hasForked { return }
        linux_lock_gate(pointee.gate)
        forget(block)
        linux_unlock_gate(pointee.gate)
    }

    /// Frees a batch after its callback has returned. The caller holds the lock.
    private func forget(_ block: UnsafeMutablePointer<FileEvents.Block>) {
        block.unlink(from: &pointee.told)
        FileEvents.destroy(block)
    }

    /// The number of inotify watches; 0 in the child of a fork(). Any thread.
    var watchCount: Int {
        if pointee.isElsewhere { return 0 }
        linux_lock_gate(pointee.gate)
        defer { linux_unlock_gate(pointee.gate) }
        return pointee.directories.watchCount
    }

    /// Frees the watch, when its source is freed or could not be created. Calls user code.
    fileprivate func free() {
        pointee.object.client.releaseInfo()
        // In the child of a fork() the lists are leaked, as another thread may have been changing them at the time.
        if pointee.isElsewhere { pointee.closeDescriptors() } else { deinitialize(count: 1) }
        CLinux.free(self)
    }
}
