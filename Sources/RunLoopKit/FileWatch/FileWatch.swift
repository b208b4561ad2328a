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
    private let process: Int32
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
    /// The kernel's queue was full.
    var hasOverflowed = false
    /// Some directories are to be looked at again a little later.
    var retries = false
    /// When the events are to be told, on the monotonic clock; 0: there are none.
    private var dueAt: UInt64 = 0
    private var toldAt: UInt64 = 0
    /// What is being told: kept until the call returns, which it may not, or until this is freed.
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
        process = linux_process()
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
        let source = withUnsafeMutableBytes(of: &context) { bytes in
            RLRunLoopSourceCreate(nil, 0, bytes.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: RLRunLoopSourceContext.self))
        }
        // If there is no source, it has called the function that releases the info.
        guard let source else { return nil }
        watch.pointee.object.source = source
        return source
    }

    fileprivate static func pointer(_ info: UnsafeRawPointer?) -> FileWatchPointer {
        UnsafeMutableRawPointer(mutating: info.unsafelyUnwrapped).assumingMemoryBound(to: FileWatch.self)
    }

    static var bufferSize: Int { 32768 }

    // MARK: when to tell

    private static var batchLimit: Int { 4096 }
    fileprivate static var retryInterval: UInt64 { 10_000_000 }

    /// Whether the process is that of a later fork().
    fileprivate var isElsewhere: Bool { process != linux_process() }

    /// Whether the events are to be told now; otherwise sets the timer. Under the lock.
    fileprivate mutating func isDue() -> Bool {
        let now = linux_monotonic_time()
        if !events.isEmpty {
            if dueAt == 0 { dueAt = (flags & UInt(kRLFileWatchNoDefer) != 0 ? toldAt : now) &+ latency }
            if dueAt <= now || latency == 0 || events.count >= Self.batchLimit {
                dueAt = 0
                toldAt = now
                setTimer(now)
                return true
            }
        }
        setTimer(now)
        return false
    }

    private func setTimer(_ now: UInt64) {
        let retryAt = retries ? now &+ Self.retryInterval : 0
        linux_set_file_timer(timer, dueAt == 0 ? retryAt : retryAt == 0 ? dueAt : min(dueAt, retryAt))
    }
}

typealias FileWatchPointer = UnsafeMutablePointer<FileWatch>

extension FileWatchPointer {
    fileprivate func open() throws(SystemError) {
        pointee.inotify = try checked(linux_open_inotify())
        pointee.timer = try checked(linux_open_timer())
        pointee.port = try checked(linux_open_both(pointee.inotify, pointee.timer))
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
        lookAtUnread()
        // What could not be watched is told in the first pass.
        if !pointee.events.isEmpty || pointee.retries { linux_set_file_timer(pointee.timer, 1) }
    }

    /// Something has happened, or it is time: reads what, and tells the client. On a loop's thread.
    fileprivate func perform() {
        if pointee.isElsewhere { return RLRunLoopSourceInvalidate(pointee.object.source) }
        linux_lock_gate(pointee.gate)
        readEvents()
        lookAtUnread()
        if pointee.isDue() { tell() } else { linux_unlock_gate(pointee.gate) }
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
            linux_set_file_timer(pointee.timer, linux_monotonic_time() &+ FileWatch.retryInterval)
            return linux_unlock_gate(pointee.gate)
        }
        block.pointee.next = pointee.told
        pointee.told = block
        linux_unlock_gate(pointee.gate)
        RUNLOOP_IS_CALLING_OUT_TO_A_FILE_WATCH_CALLBACK_FUNCTION(
            pointee.callout, pointee.object.source, count, block.pointee.events, pointee.object.client.info)
        linux_lock_gate(pointee.gate)
        forget(block)
        linux_unlock_gate(pointee.gate)
    }

    /// The call has returned. Under the lock.
    private func forget(_ block: UnsafeMutablePointer<FileEvents.Block>) {
        if pointee.told == block {
            pointee.told = block.pointee.next
        } else {
            var before = pointee.told
            while let here = before, here.pointee.next != block { before = here.pointee.next }
            before?.pointee.next = block.pointee.next
        }
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
