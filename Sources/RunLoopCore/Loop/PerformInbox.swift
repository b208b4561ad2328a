import CLinux
import Synchronization

/// Where any thread enqueues functions for a loop. There are two buffers: the loop takes the full one and leaves an empty one, so a steady
/// flow allocates nothing. A post does not wake the loop if a wake-up is already pending. Steps 4 and 9 empty it; so does whatever has to
/// look at all waiting requests (`takeIntoHeld`).
struct PerformInbox: ~Copyable {
    fileprivate let mutex = StoreMutex()
    /// Guarded by `mutex`, like the next four.
    fileprivate var incoming = PlainList<PerformRequest>()
    /// A thread has woken the loop, or is about to, for what is in here.
    fileprivate var wakeIsOwed = false
    fileprivate var isOpen = false
    /// Replaces `isOpen` under a race detector: see `isOpenAndWatched`.
    fileprivate var isOpenIfWatched = false
    /// How many requests in `incoming` were posted by other threads that do not wait for them.
    fileprivate var posts = 0
    private let apart = CacheLine()
    /// 1 while `incoming` is not empty, to be read without the mutex. Written only when that changes, and on a cache line of its
    /// own: the loop reads it often, and must not slow down the threads that post.
    fileprivate let nonEmptyFlag = Atomic<UInt32>(0)

    init() {}

    /// In a child of fork(), under the mutex, for a loop without its thread: nothing will ever be taken out.
    mutating func abandon() {
        isOpen = false
        isOpenIfWatched = false
    }

    /// What became of a request that was enqueued.
    enum Outcome { case queued, queuedAndWakeNeeded, failed }
}

/// Through a pointer, because many threads use it at once, each only the fields that the mutex allows.
typealias PerformInboxPointer = UnsafeMutablePointer<PerformInbox>

extension PerformInboxPointer {
    /// Enqueues a request; `failed` with errno ENOMEM, or ESRCH when the loop's thread has ended. Any thread.
    @inline(__always)
    func enqueue(_ request: PerformRequest, wakes: Bool, isPost: Bool) -> PerformInbox.Outcome {
        pointee.mutex.lock()
        guard pointee.isOpen || isOpenAndWatched else {
            pointee.mutex.unlock()
            systemError = ESRCH
            return .failed
        }
        guard pointee.incoming.appendInlined(request) else {
            pointee.mutex.unlock()
            systemError = ENOMEM
            return .failed
        }
        if isPost { pointee.posts &+= 1 }
        if pointee.incoming.count == 1 { pointee.nonEmptyFlag.store(1, ordering: .relaxed) }
        let mustWake = wakes && !pointee.wakeIsOwed
        if mustWake { pointee.wakeIsOwed = true }
        pointee.mutex.unlock()
        return mustWake ? .queuedAndWakeNeeded : .queued
    }

    /// Under a race detector `isOpen` is never set, so every thread that enqueues comes here. Under `mutex`.
    @inline(never)
    private var isOpenAndWatched: Bool {
        if pointee.isOpenIfWatched { RaceDetector.handsOver(self, enlarging: &pointee.incoming) }
        return pointee.isOpenIfWatched
    }

    /// One load. Any thread.
    var isEmpty: Bool { nonEmptyBits == 0 }

    /// Not 0 while the inbox is not empty. One load. Any thread.
    var nonEmptyBits: UInt32 { pointee.nonEmptyFlag.load(ordering: .acquiring) }

    /// Appends all requests to `list` and reserves room for `room` more; swaps buffers instead if `list` is empty and `room` is 0. Returns
    /// how many were posts of other threads; nil if out of memory: then the requests stay here, and the caller must wake the loop. Under
    /// the loop's lock.
    func empty(into list: inout PlainList<PerformRequest>, room: Int) -> Int? {
        pointee.mutex.lock()
        defer { pointee.mutex.unlock() }
        RaceDetector.handsOver(self)
        if room > 0 && !list.reserve(list.count + pointee.incoming.count + room) {
            pointee.wakeIsOwed = false
            return nil
        }
        if list.count == 0 && room == 0 {
            swap(&pointee.incoming, &list)
        } else {
            guard list.reserve(list.count + pointee.incoming.count) else {
                pointee.wakeIsOwed = false
                return nil
            }
            for index in 0..<pointee.incoming.count { _ = list.append(pointee.incoming[index]) }
            pointee.incoming.truncate(to: 0)
        }
        pointee.nonEmptyFlag.store(0, ordering: .releasing)
        pointee.wakeIsOwed = false
        let posts = pointee.posts
        pointee.posts = 0
        return posts
    }

    /// Opens the inbox when a thread gets this loop, and closes it when the thread ends.
    func setOpen(_ open: Bool) {
        pointee.mutex.lock()
        pointee.isOpen = open && !RaceDetector.isWatching
        pointee.isOpenIfWatched = open && RaceDetector.isWatching
        pointee.mutex.unlock()
    }

    /// Locks before fork(), so that no other thread is inside.
    func lockBeforeFork() { pointee.mutex.lock() }
    /// After fork(), in parent and child.
    func unlockAfterFork() { pointee.mutex.unlock() }
}
