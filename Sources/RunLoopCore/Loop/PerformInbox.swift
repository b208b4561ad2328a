import CLinux
import Synchronization

/// The queue in which any thread enqueues functions for a loop. There are two buffers: the loop takes the full one and leaves an empty one,
/// so a steady flow allocates nothing. A post does not wake the loop if a wake-up is already pending. Steps 4 and 9 empty the inbox, and so
/// does every function that has to see all waiting requests (`takeIntoHeld`).
struct PerformInbox: ~Copyable {
    fileprivate let mutex = StoreMutex()
    /// The queued requests. Guarded by `mutex`, like the next two fields.
    fileprivate var incoming = PlainList<PerformRequest>()
    /// Whether a thread has woken the loop for the queued requests, or is about to.
    fileprivate var wakeIsOwed = false
    fileprivate var isOpen = false
    private let apart = CacheLine()
    /// 1 while `incoming` is not empty, for reading without the mutex. The loop reads it often and must not slow down the posting threads,
    /// so it is written only when it changes, and is on a cache line of its own.
    fileprivate let nonEmptyFlag = Atomic<UInt32>(0)

    init() {}

    /// Closes the inbox of a loop whose thread does not exist in the child of fork(): no request will ever be taken out. The caller holds
    /// the mutex.
    mutating func abandon() {
        isOpen = false
    }

    /// The outcome of enqueueing a request.
    enum Outcome { case queued, queuedAndWakeNeeded, failed }
}

/// Used through a pointer, because many threads access the inbox at the same time, each only the fields that the mutex allows.
typealias PerformInboxPointer = UnsafeMutablePointer<PerformInbox>

extension PerformInboxPointer {
    /// Enqueues a request. Returns `failed` with errno ENOMEM, or ESRCH once the loop's thread has exited. Any thread.
    @inline(__always)
    func enqueue(_ request: PerformRequest, wakes: Bool) -> PerformInbox.Outcome {
        pointee.mutex.lock()
        guard pointee.isOpen else {
            pointee.mutex.unlock()
            systemError = ESRCH
            return .failed
        }
        if RaceDetector.isWatching { RaceDetector.handsOver(self, enlarging: &pointee.incoming) }
        guard pointee.incoming.appendInlined(request) else {
            pointee.mutex.unlock()
            systemError = ENOMEM
            return .failed
        }
        if pointee.incoming.count == 1 { pointee.nonEmptyFlag.store(1, ordering: .relaxed) }
        let mustWake = wakes && !pointee.wakeIsOwed
        if mustWake { pointee.wakeIsOwed = true }
        pointee.mutex.unlock()
        return mustWake ? .queuedAndWakeNeeded : .queued
    }

    /// Whether the inbox is empty. One load. Any thread.
    var isEmpty: Bool { nonEmptyBits == 0 }

    /// Nonzero while the inbox is not empty. One load. Any thread.
    var nonEmptyBits: UInt32 { pointee.nonEmptyFlag.load(ordering: .acquiring) }

    /// Appends all requests to `list` and reserves room for `room` more; if `list` is empty and `room` is 0, swaps buffers instead. Returns
    /// false if memory runs out: then the requests stay here, and the caller must wake the loop. The caller holds the loop's lock.
    func empty(into list: inout PlainList<PerformRequest>, room: Int) -> Bool {
        pointee.mutex.lock()
        defer { pointee.mutex.unlock() }
        RaceDetector.handsOver(self)
        if room > 0 && !list.reserve(list.count + pointee.incoming.count + room) {
            pointee.wakeIsOwed = false
            return false
        }
        if list.count == 0 && room == 0 {
            swap(&pointee.incoming, &list)
        } else {
            guard list.reserve(list.count + pointee.incoming.count) else {
                pointee.wakeIsOwed = false
                return false
            }
            for index in 0..<pointee.incoming.count { _ = list.append(pointee.incoming[index]) }
            pointee.incoming.truncate(to: 0)
        }
        pointee.nonEmptyFlag.store(0, ordering: .releasing)
        pointee.wakeIsOwed = false
        return true
    }

    /// Calls `body` with each request that is in the inbox, for a caller that had no memory to take the requests out. `body` may mark a
    /// request as finished, which removes it, and must not call user code. The caller holds the loop's lock.
    @inline(never)
    func forEach(_ body: (UnsafeMutablePointer<PerformRequest>) -> Void) {
        pointee.mutex.lock()
        RaceDetector.handsOver(self)
        var kept = 0
        for index in 0..<pointee.incoming.count {
            body(pointee.incoming.elements.unsafelyUnwrapped + index)
            if pointee.incoming[index].modes == nil { continue }
            pointee.incoming[kept] = pointee.incoming[index]
            kept += 1
        }
        pointee.incoming.truncate(to: kept)
        if kept == 0 { pointee.nonEmptyFlag.store(0, ordering: .releasing) }
        pointee.mutex.unlock()
    }

    /// Opens the inbox when a thread acquires this loop, and closes it when the thread exits.
    func setOpen(_ open: Bool) {
        pointee.mutex.lock()
        pointee.isOpen = open
        pointee.mutex.unlock()
    }

    /// Locks the inbox before fork(), so that no other thread is using it then.
    func lockBeforeFork() { pointee.mutex.lock() }
    /// Unlocks the inbox after fork(), in parent and child.
    func unlockAfterFork() { pointee.mutex.unlock() }
}
