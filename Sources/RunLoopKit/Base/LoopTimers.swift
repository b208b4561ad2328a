import CLinux
import CRunLoop

// Time limits of objects. A timer can be in one loop only, so there is one in each loop that the object's handle is in.

extension ServingLoops {
    /// Sets the timer in each loop to fire in `delay` seconds; infinity disarms it. Creates a missing timer, unless `delay` is infinity,
    /// and adds it to all modes that `handle` is in. The timers do not keep modes from being empty. Returns false if out of memory. The
    /// caller holds the object's lock. Calls the context's functions.
    func setTimers(
        _ delay: Double, of handle: OpaquePointer?, _ context: inout RLRunLoopTimerContext, _ callout: @escaping RLRunLoopTimerCallBack
    ) -> Bool {
        allSatisfy { link in
            if link.pointee.modes <= 0 { return true }
            if link.pointee.timer == nil {
                if delay == .infinity { return true }
                guard let timer = RLRunLoopTimerCreateRearmable(nil, callout, &context) else { return false }
                RLRunLoopTimerSetKeepsModeRunning(timer, 0)
                link.pointee.timer = timer
                if !Self.forEachMode(link.pointee.loop, of: handle, { RLRunLoopAddTimer(link.pointee.loop, timer, $0) }) {
                    link.endTimer()
                    return false
                }
            }
            RLRunLoopTimerSetNextFireDelay(link.pointee.timer, delay)
            return true
        }
    }

    /// Adds the loop's timer, if there is one, to `mode` if the handle is in that mode; otherwise removes it. Called when the handle was
    /// added or removed. The caller holds the object's lock.
    func followWithTimer(_ handle: OpaquePointer?, _ loop: OpaquePointer, _ mode: OpaquePointer) {
        allSatisfy { link in
            if link.pointee.loop != loop { return true }
            guard let timer = link.pointee.timer else { return false }
            if RLRunLoopContainsSource(loop, handle, mode) != 0 {
                RLRunLoopAddTimer(loop, timer, mode)
            } else {
                RLRunLoopRemoveTimer(loop, timer, mode)
            }
            return false
        }
    }

    /// Calls `body` for each mode of a loop that the handle is in. Returns false if out of memory. Any thread.
    static func forEachMode(_ loop: OpaquePointer, of handle: OpaquePointer?, _ body: (OpaquePointer) -> Void) -> Bool {
        guard let modes = RLRunLoopCopyAllModes(loop) else { return false }
        for index in 0..<RLArrayGetCount(modes) {
            guard let mode = RLArrayGetValueAtIndex(modes, index).map({ OpaquePointer($0) }) else { continue }
            if RLRunLoopContainsSource(loop, handle, mode) != 0 { body(mode) }
        }
        RLRelease(UnsafeRawPointer(modes))
        return true
    }
}

extension ServingLoops.LinkPointer {
    /// Invalidates and releases this loop's timer, if there is one. The caller holds the lock of the list.
    func endTimer() {
        guard let timer = pointee.timer else { return }
        pointee.timer = nil
        RLRunLoopTimerInvalidate(timer)
        RLRelease(UnsafeRawPointer(timer))
    }
}
