import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit
import Synchronization

// The idle limit, and the time limit of connecting. Reads and writes only record the time. A timer in each loop checks it when it fires,
// and is then set to the time that is left.

extension StreamPointer {
    /// Sets the idle limit in seconds; 0: none. Any thread.
    func setIdleLimit(_ seconds: Double) {
        lock()
        pointee.idleLimit = seconds
        if seconds > 0 { pointee.state.insert(.hasIdleLimit) } else { pointee.state.remove(.hasIdleLimit) }
        noteActivity()
        checkTime()
        leave()
    }

    /// Records the time of a read or write. The caller holds the lock.
    @inline(never)
    func noteActivity() { pointee.lastActivity = linux_monotonic_time() }

    /// Fails a stream that was idle for too long, tries the next address of one that is connecting, and sets the timers. The caller holds
    /// the lock.
    func checkTime() {
        if pointee.state.contains(.closed) { return }
        var left = tryAddresses()
        if pointee.state.contains(.hasIdleLimit) {
            var idle = timeLeft
            if idle <= 0 && isReady {
                noteActivity()
                idle = timeLeft
            }
            left = min(left, idle)
            if idle <= 0 {
                pointee.state.remove(.hasIdleLimit)
                left = .infinity
                fail(Stream.Failure(result: RLStreamResult(kRLStreamFailed), error: ETIMEDOUT))
            }
        }
        setTimers(left)
    }

    /// The time in seconds until the stream has been idle for too long. The caller holds the lock.
    private var timeLeft: Double { pointee.idleLimit - Double(linux_monotonic_time() &- pointee.lastActivity) * 1e-9 }

    /// Whether the descriptor is ready and the loop has not served it yet: the program was slow, not the peer. The caller holds the lock.
    private var isReady: Bool {
        var events: Int32 = 0
        if wantsToReadLater { events |= POLLIN }
        if pointee.state.contains(.awaitingRoom) { events |= POLLOUT }
        return events != 0 && linux_is_ready(pointee.descriptor, Int16(events)) != 0
    }

    /// Has the timer of each loop fire in `delay` seconds; infinity: never. Fails the stream if out of memory. The caller holds the lock.
    private func setTimers(_ delay: Double) {
        var context = RLRunLoopTimerContext()
        context.info = UnsafeMutableRawPointer(self)
        context.retain = { info in StreamPointer(info: info).retainMemory() }
        context.release = { info in StreamPointer(info: info).dropMemory() }
        let isSet = pointee.loops.setTimers(delay, of: source, &context) { _, info in
            let stream = StreamPointer(info: info)
            stream.lock()
            stream.checkTime()
            stream.leave()
        }
        if !isSet { failWithoutMemory() }
    }

    /// Adds one of `references`, which `dropMemory` gives up. Returns the memory. Any thread.
    func retainMemory() -> UnsafeRawPointer {
        pointee.references.add(1, ordering: .relaxed)
        return UnsafeRawPointer(self)
    }
}
