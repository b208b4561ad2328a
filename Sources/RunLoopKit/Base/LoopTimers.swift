import CLinux
import CRunLoop

// Time limits of objects: a timer in each loop that the object's handle is in, as a timer can be in one loop only.

extension ServingLoops {
    /// Has the timers fire in `delay` seconds, infinity: never. Makes those that are missing, in all modes of `handle`. They do not keep
    /// modes from being empty. False if out of memory. Under the object's lock; calls the context's functions.
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

    /// The handle was added to a mode of a loop, or removed from one: so is the loop's timer. Under the object's lock.
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

    /// Calls `body` with each mode of a loop that the handle is in. False if out of memory. Under the object's lock.
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
    /// Ends the timer in this loop, if there is one. Under the object's lock.
    func endTimer() {
        guard let timer = pointee.timer else { return }
        pointee.timer = nil
        RLRunLoopTimerInvalidate(timer)
        RLRelease(UnsafeRawPointer(timer))
    }
}
