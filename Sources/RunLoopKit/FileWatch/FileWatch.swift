import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit

/// An RLFileWatch: a version-1 source on a descriptor that stands for two, inotify's and a timer's.
struct FileWatch: ~Copyable, KitStorage {
    static var kind: KitKind { .fileWatch }

    fileprivate(set) var object: KitObject
    let callout: RLFileWatchCallBack
    /// The process that it was created in, which is not that of a later fork().
    private let process: ProcessIdentity
    let flags: UInt
    /// In nanoseconds.
    let latency: UInt64
    /// Written once, before the program has the handle.
    fileprivate(set) var port: Int32 = -1
    fileprivate(set) var inotify: Int32 = -1
    fileprivate(set) var timer: Int32 = -1
    /// Guards the variables below. Several loops may look at once.
    fileprivate let gate: UnsafeMutablePointer<linux_gate>
    /// For what is read from the kernel, and behind that for a path.
    let buffer: UnsafeMutableRawPointer
    var directories = WatchedDirectories()
    var events = FileEvents()
    /// The kernel's queue was full, or its events do not fit the directories: all is to be read again.
    var readsAgain = false
    /// How often the kernel's queue was found empty. What was looked at before the last time has no older event on its way.
    var drains: UInt32 = 1
    /// How many passes have not emptied the queue, since one did.
    var passesBehind = 0
    /// When directories that were not found are to be looked at again, on the monotonic clock; 0: there are none.
    var retryAt: UInt64 = 0
    /// When the events are to be told, on the monotonic clock; 0: there are none.
    private var dueAt: UInt64 = 0
    /// Without deferring: when the next events may be told, on the monotonic clock. At once, before any were: the clock began when the
    /// machine was started, which may be less than the latency ago.
    private var mayTellAt: UInt64 = 0
    private var isTimerSet = false
    /// Batches being delivered, one per running call. Freed when the call returns, or with the watch if the call never does.
    fileprivate var told: UnsafeMutablePointer<FileEvents.Block>?

    private init(
        _ callout: @escaping RLFileWatchCallBack, _ client: ClientContext, _ latency: UInt64, _ flags: UInt,
        _ gate: UnsafeMutablePointer<linux_gate>, _ buffer: UnsafeMutableRawPointer
    ) {
        object = KitObject(kind: .fileWatch, number: 0, client: client)
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

    /// A source; nil with errno. Retains the client's info, and releases it if there is no source. Any thread.
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
        // If there is no source, it has called the function that releases the info.
        guard let source = KitObject.makeSource(&context) else { return nil }
        watch.pointee.object.source = source
        return source
    }

    fileprivate static func pointer(_ info: UnsafeRawPointer?) -> FileWatchPointer {
        UnsafeMutableRawPointer(mutating: info.unsafelyUnwrapped).assumingMemoryBound(to: FileWatch.self)
    }

    static var bufferSize: Int { 32768 }

    // MARK: when to tell

    private static var batchLimit: Int { 4096 }
    static var retryInterval: UInt64 { 10_000_000 }

    /// Whether the process is that of a later fork().
    fileprivate var isElsewhere: Bool { !process.isCurrent }
    fileprivate var hasForked: Bool { process.hasForked }

    /// Whether the events are to be told now; otherwise sets the timer. Under the lock.
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
        // Directories may wait for the queue to be empty. It may be empty already, so no event would wake the loop.
        if passesBehind > 0 { return setTimer(to: 1) }
        setTimer(to: dueAt == 0 ? retryAt : retryAt == 0 ? dueAt : min(dueAt, retryAt))
    }

    /// On the monotonic clock; 0: never.
    fileprivate mutating func setTimer(to time: UInt64) {
        // As a rule there is no time before and none now.
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

    /// Another queue of the kernel's, which watches nothing, in place of the one before. False with errno: now there is none.
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
        // What could not be watched is told in the first pass.
        if !pointee.events.isEmpty || pointee.retryAt != 0 || pointee.passesBehind > 0 { pointee.setTimer(to: 1) }
    }

    /// Something has happened, or it is time: reads what, and tells the client. On a loop's thread.
    fileprivate func perform() {
        if pointee.isElsewhere { return RLRunLoopSourceInvalidate(pointee.object.source) }
        linux_lock_gate(pointee.gate)
        catchUp()
        if pointee.isDue() { tell() } else { linux_unlock_gate(pointee.gate) }
    }

    /// Takes the kernel's events, and looks at directories. Events that are read after a look may be older than it until the queue is found
    /// empty, so that is asked for at once.
    private func catchUp() {
        var turns = 0
        while readEvents(), lookAtUnread(), turns < 4 { turns += 1 }
    }

    /// Calls the client with all events. Under the lock, which it gives back.
    private func tell() {
        if pointee.events.isLost {
            pointee.events.isLost = false
            noteMustScan()
        }
        guard let (block, count) = pointee.events.take() else {
            // Still no memory: again when the timer has fired.
            pointee.events.isLost = true
            pointee.setTimer(to: linux_monotonic_time() &+ FileWatch.retryInterval)
            return linux_unlock_gate(pointee.gate)
        }
        block.pointee.next = pointee.told
        pointee.told = block
        linux_unlock_gate(pointee.gate)
        RUNLOOP_IS_CALLING_OUT_TO_A_FILE_WATCH_CALLBACK_FUNCTION(
            pointee.callout, pointee.object.source, count, block.pointee.events, pointee.object.client.info)
        // The client has forked, and this is the child: a thread that does not exist here may have the lock.
        if pointee.hasForked { return }
        linux_lock_gate(pointee.gate)
        forget(block)
        linux_unlock_gate(pointee.gate)
    }

    /// The call has returned. Under the lock.
    private func forget(_ block: UnsafeMutablePointer<FileEvents.Block>) {
        block.unlink(from: &pointee.told)
        FileEvents.destroy(block)
    }

    /// How many watches there are. Any thread.
    var watchCount: Int {
        if pointee.isElsewhere { return 0 }
        linux_lock_gate(pointee.gate)
        defer { linux_unlock_gate(pointee.gate) }
        return pointee.directories.watchCount
    }

    /// The source was freed, or there is none.
    fileprivate func free() {
        pointee.object.client.releaseInfo()
        // Another thread may have been changing the lists at the time of fork(): they stay.
        if pointee.isElsewhere { pointee.closeDescriptors() } else { deinitialize(count: 1) }
        CLinux.free(self)
    }
}
