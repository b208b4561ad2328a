import CLinux
import CLinuxKit
import CRunLoop
import Synchronization

/// Threads, and the queue from which they take work items. Freed when the client's reference and all threads are gone.
struct WorkerPool: ~Copyable {
    /// The pool's lock, which guards the variables below, with a condition that wakes idle threads.
    fileprivate let gate: UnsafeMutablePointer<linux_gate>
    fileprivate let limit: Int
    /// The process that created the pool. A child of fork() has no worker threads, and the gate may stay locked there.
    fileprivate let process: ProcessIdentity
    fileprivate var first: WorkPointer?
    fileprivate var last: WorkPointer?
    fileprivate var queued = 0
    /// The number of threads that are waiting for work.
    fileprivate var idle = 0
    /// The number of threads that have not ended.
    fileprivate var threads = 0
    /// The list of the running threads, and of those that have ended and are still to be joined.
    fileprivate var workers: WorkerPointer?
    /// Whether the client has released the workers.
    fileprivate var isClosed = false
    /// The client's reference, and one for each thread. Any thread.
    fileprivate let references: Atomic<UInt32>

    fileprivate init(_ gate: UnsafeMutablePointer<linux_gate>, _ limit: Int) {
        self.gate = gate
        self.limit = limit
        process = .current
        references = Atomic(1)
    }

    /// Creates a pool without threads. Returns nil with errno if out of memory or of thread-specific keys: the destructor of a key detects
    /// that a function has ended its thread.
    static func create(_ limit: Int) -> WorkerPoolPointer? {
        if linux_prepare_workers() == 0 {
            systemError = EAGAIN
            return nil
        }
        guard let gate = linux_make_gate() else { return nil }
        guard let memory = malloc(MemoryLayout<WorkerPool>.stride) else {
            linux_free_gate(gate)
            return nil
        }
        let pool = memory.bindMemory(to: WorkerPool.self, capacity: 1)
        pool.initialize(to: WorkerPool(gate, limit))
        return pool
    }
}

typealias WorkerPoolPointer = UnsafeMutablePointer<WorkerPool>
typealias WorkerPointer = UnsafeMutablePointer<linux_worker>

// A C pointer is imported as an implicitly unwrapped optional, but the protocol requires a plain one.
extension linux_worker: KitLinked {
    var next: UnsafeMutablePointer<linux_worker>? {
        get { following }
        set { following = newValue }
    }
}

// MARK: called by the client

extension WorkerPoolPointer {
    /// Submits a work item. Throws if it was submitted before or is invalid, or if there is no thread for it and none can be started. Any
    /// thread.
    func submit(_ work: WorkPointer) throws(SystemError) {
        // The pool belongs to another process, whose threads do not exist here.
        if !pointee.process.isCurrent { throw .make(ESRCH) }
        if !work.isValid { throw .make(ECANCELED) }
        if !work.enqueue() { throw .make(EALREADY) }
        work.retainHandle()
        linux_lock_gate(pointee.gate)
        let isServed = pointee.idle > pointee.queued || pointee.threads >= pointee.limit || startThread() || pointee.threads > 0
        if isServed { append(work) }
        linux_unlock_gate(pointee.gate)
        if isServed { return }
        work.dequeue()
        work.releaseHandle()
        throw .make(EAGAIN)
    }

    private func append(_ work: WorkPointer) {
        work.pointee.next = nil
        if let last = pointee.last { last.pointee.next = work } else { pointee.first = work }
        pointee.last = work
        pointee.queued += 1
        if pointee.idle > 0 { linux_wake_at_gate(pointee.gate) }
    }

    /// Drops the client's reference: cancels work items that have not begun, and waits for all threads except the calling one. No effect in
    /// the child of a fork(). Call without a lock held.
    func close() {
        if !pointee.process.isCurrent { return }
        linux_lock_gate(pointee.gate)
        pointee.isClosed = true
        var dropped = pointee.first
        pointee.first = nil
        pointee.last = nil
        pointee.queued = 0
        let threads = pointee.workers
        pointee.workers = nil
        linux_wake_all_at_gate(pointee.gate)
        linux_unlock_gate(pointee.gate)
        while let work = dropped {
            dropped = work.pointee.next
            work.drop()
            work.releaseHandle()
        }
        join(threads)
        drop()
    }

    private func join(_ threads: WorkerPointer?) {
        var worker = threads
        while let here = worker {
            worker = here.pointee.next
            if linux_is_this_thread(here.pointee.thread) != 0 {
                here.pointee.isDetached = 1
                pthread_detach(here.pointee.thread)
            } else {
                _ = linux_join(here.pointee.thread)
                free(here)
            }
        }
    }

    /// Drops a reference; the last one frees the pool.
    private func drop() {
        if pointee.references.subtract(1, ordering: .acquiringAndReleasing).newValue != 0 { return }
        linux_free_gate(pointee.gate)
        deinitialize(count: 1)
        free(self)
    }
}

// MARK: the threads

extension WorkerPoolPointer {
    /// Starts a thread. Returns false if the system refuses. The caller holds the pool's lock.
    private func startThread() -> Bool {
        guard let memory = calloc(1, MemoryLayout<linux_worker>.stride) else { return false }
        let worker = memory.bindMemory(to: linux_worker.self, capacity: 1)
        worker.pointee.pool = UnsafeMutableRawPointer(self)
        worker.pointee.atEnd = { worker in Self.threadWasEnded(worker.unsafelyUnwrapped) }
        pointee.references.add(1, ordering: .relaxed)
        pointee.threads += 1
        let error = linux_start_thread(&worker.pointee.thread, { Self.threadBody($0) }, worker)
        if error == 0 {
            worker.pointee.next = pointee.workers
            pointee.workers = worker
            return true
        }
        pointee.threads -= 1
        pointee.references.subtract(1, ordering: .relaxed)
        free(worker)
        return false
    }

    /// The body of each thread: runs work items from the queue until the client has released the workers.
    private static func threadBody(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        let worker = argument.unsafelyUnwrapped.assumingMemoryBound(to: linux_worker.self)
        let pool = worker.pointee.pool.assumingMemoryBound(to: WorkerPool.self)
        _ = linux_become_worker(worker)
        while let work = pool.next() {
            worker.pointee.work = UnsafeMutableRawPointer(work)
            work.run()
            // The function has forked, and this is the child.
            if !pool.pointee.process.isCurrent { break }
            worker.pointee.work = nil
            work.releaseHandle()
        }
        linux_end_worker()
        if !pool.pointee.process.isCurrent { return nil }
        if worker.pointee.isDetached != 0 { free(worker) }
        pool.drop()
        return nil
    }

    /// Waits for the next work item; returns nil once the client has released the workers and the queue is empty.
    private func next() -> WorkPointer? {
        linux_lock_gate(pointee.gate)
        defer { linux_unlock_gate(pointee.gate) }
        while pointee.first == nil && !pointee.isClosed {
            pointee.idle += 1
            linux_wait_at_gate(pointee.gate)
            pointee.idle -= 1
        }
        guard let work = pointee.first else {
            pointee.threads -= 1
            return nil
        }
        pointee.first = work.pointee.next
        if pointee.first == nil { pointee.last = nil }
        pointee.queued -= 1
        return work
    }

    /// Cleans up after a function that has ended its thread, as by pthread_exit(): its work item counts as complete. Another thread takes
    /// over the queue; if none is left, this one waits until one can be started. Called on the thread that ends.
    private static func threadWasEnded(_ worker: WorkerPointer) {
        let pool = worker.pointee.pool.assumingMemoryBound(to: WorkerPool.self)
        // In the child of a fork() no other thread takes over, and the lock may never be released.
        if !pool.pointee.process.isCurrent { return }
        if let work = worker.pointee.work?.assumingMemoryBound(to: Work.self) {
            work.complete()
            work.releaseHandle()
        }
        linux_lock_gate(pool.pointee.gate)
        pool.pointee.threads -= 1
        // If the client has released the workers, it joins this thread.
        if !pool.pointee.isClosed { pool.detach(worker) }
        while pool.pointee.queued > pool.pointee.idle && !pool.pointee.isClosed && !pool.startThread() && pool.pointee.threads == 0 {
            linux_unlock_gate(pool.pointee.gate)
            linux_kit_pause()
            linux_lock_gate(pool.pointee.gate)
        }
        linux_unlock_gate(pool.pointee.gate)
        if worker.pointee.isDetached != 0 { free(worker) }
        pool.drop()
    }

    /// Removes the calling thread from the list, as no other thread will join it. The caller holds the pool's lock.
    private func detach(_ worker: WorkerPointer) {
        worker.unlink(from: &pointee.workers)
        worker.pointee.isDetached = 1
        pthread_detach(linux_this_thread())
    }
}
