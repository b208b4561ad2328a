import CLinux
import CRunLoop
import Synchronization

/// A loop and a mode in which replies of a remote port are delivered: CF's reply source. Made at the first request from there and
/// kept, so that a request adds and removes nothing; in the background, unless somebody waits for a reply.
///
/// Freed with its source. Guarded by the remote port's mutex.
struct Outlet: Linked, ~Copyable {
    /// Held.
    let port: MessagePortPointer
    let loop: RunLoopPointer
    /// Retained.
    let mode: StringPointer
    /// Signalled when a reply has come, or will not. Retained until the outlet is no longer in the port's list.
    var source: SourcePointer?
    /// The mode itself, once `source` is in it.
    var place: ModePointer?
    /// How many requests wait here. Written by the loop's thread.
    var waiting: UInt32 = 0
    /// They, or some of them, need the loop to run: the source is not in the background. The loop's thread only.
    var needsRun = false
    /// How many threads' requests are over without the thread having seen it, one run in another.
    var satisfied: UInt32 = 0
    /// Requests that nobody waits for, over and to be told of.
    var over: PendingPointer?
    var lastOver: PendingPointer?
    var previous: OutletPointer?
    var following: OutletPointer?
}

typealias OutletPointer = UnsafeMutablePointer<Outlet>

extension UnsafeMutablePointer where Pointee == MessagePortStorage {
    /// The outlet of this thread's loop in a mode, made if there is none, for a request that begins to wait there, until
    /// `endWait`. nil if the port has ended, if out of memory, or if the loop cannot watch.
    @inline(never)
    func beginWait(_ loop: RunLoopPointer, _ mode: StringPointer) -> OutletPointer? {
        locked { knownOutlet(loop, mode) } ?? makeOutlet(loop, mode)
    }

    /// Not of a port that has ended: an outlet that is idle then is anybody's to dismiss. Under the mutex.
    func knownOutlet(_ loop: RunLoopPointer, _ mode: StringPointer) -> OutletPointer? {
        var next = pointee.isValid ? pointee.outlets : nil
        while let outlet = next {
            if outlet.pointee.loop == loop && outlet.pointee.mode.equals(mode) {
                outlet.pointee.waiting += 1
                return outlet
            }
            next = outlet.pointee.following
        }
        return nil
    }

    /// A new one, at which somebody waits already. Without the mutex.
    @inline(never)
    func makeOutlet(_ loop: RunLoopPointer, _ mode: StringPointer) -> OutletPointer? {
        guard let memory = malloc(MemoryLayout<Outlet>.size) else { return nil }
        let outlet = memory.bindMemory(to: Outlet.self, capacity: 1)
        outlet.initialize(to: Outlet(port: self, loop: loop, mode: mode))
        outlet.pointee.waiting = 1
        let detail = SourceDetail(release: { outletOf($0).free() }, cancel: { info, _, _ in outletOf(info).leave() })
        hold()
        mode.retain()
        guard
            let source = SourcePointer.create(
                loop.home, order: -100, info: memory, perform: { outletOf($0).perform() }, getPort: nil, detail)
        else {
            outlet.free()
            return nil
        }
        source.pointee.item.set(ItemHeader.background)
        outlet.pointee.source = source
        let isWanted = locked { () -> Bool in
            if !pointee.isValid { return false }
            outlet.link(into: &pointee.outlets)
            return true
        }
        if !isWanted {
            source.giveBack()
            return nil
        }
        let wireSource = locked { pointee.wire?.sharedSource }
        let isWatched = loop.add(source, in: mode) && (wireSource == nil || loop.add(wireSource.unsafelyUnwrapped, in: mode))
        wireSource?.giveBack()
        if isWatched {
            outlet.pointee.place = loop.locked { loop.mode(named: mode) }
            return outlet
        }
        source.pointee.item.object.retain()
        dismiss(outlet, source)
        return nil
    }

    /// The outlet is not wanted any more. The reference to its source, which keeps it, is given back.
    private func dismiss(_ outlet: OutletPointer, _ source: SourcePointer) {
        // Its cancel function takes it out of the list, if a loop has it.
        RunLoopPointer.invalidate(source)
        outlet.leave()
        source.giveBack()
    }

    /// A port that has ended keeps only the outlets that somebody waits at. Any thread.
    @inline(never)
    func tidyOutlets() {
        while let (outlet, source) = locked({ idleOutlet }) { dismiss(outlet, source) }
    }

    /// With a reference to its source for the caller. Under the mutex.
    private var idleOutlet: (OutletPointer, SourcePointer)? {
        if pointee.isValid { return nil }
        var next = pointee.outlets
        while let outlet = next, outlet.pointee.waiting > 0 || outlet.pointee.over != nil { next = outlet.pointee.following }
        guard let outlet = next, let source = outlet.pointee.source else { return nil }
        source.pointee.item.object.retain()
        return (outlet, source)
    }
}

extension UnsafeMutablePointer where Pointee == Outlet {
    /// The loop is to be run for a request that waits here: the mode is not empty until `endWait`. The loop's thread.
    func needRun() {
        if pointee.needsRun { return }
        pointee.needsRun = true
        if let source = pointee.source { pointee.loop.setBackground(source, false) }
    }

    /// A request that waited here is over, or nobody waits any longer; `pending` is that of a thread, which disposes of it
    /// now. The loop's thread. The outlet may be gone afterwards.
    @inline(never)
    func endWait(of pending: PendingPointer? = nil) {
        let port = pointee.port
        if pointee.waiting == 1 && pointee.needsRun {
            pointee.needsRun = false
            if let source = pointee.source { pointee.loop.setBackground(source, true) }
        }
        let isValid = port.locked { () -> Bool in
            if pointee.waiting > 0 { pointee.waiting -= 1 }
            if let pending, !pending.pointee.isOver {
                port.unlink(pending)
            } else if pending != nil && pointee.satisfied > 0 {
                pointee.satisfied -= 1
            }
            // A run outside this one waits for what came while this one took the signals.
            if pointee.satisfied > 0 || pointee.over != nil { signalAndWakeLocked() } else { takeSignalLocked() }
            return port.pointee.isValid
        }
        if !isValid { port.tidyOutlets() }
    }

    /// The loop's attention: something is over here. Under the port's mutex, which keeps the source alive.
    @inline(never)
    func signalAndWakeLocked() {
        pointee.source?.signal()
        if !pointee.loop.isCurrent { pointee.loop.wakeUp() }
    }

    /// Nothing that needs it is over any more. Under the port's mutex, as whoever signals.
    @inline(__always)
    private func takeSignalLocked() {
        if let source = pointee.source, source.isSignalled { _ = source.takeSignal() }
    }

    /// The loop's thread: tells of what is over. What a thread waits for it sees itself, when this ends its run.
    fileprivate func perform() {
        let port = pointee.port
        while let pending = port.locked({ takeOver() }) { port.tell(pending) }
    }

    /// Under the mutex.
    private func takeOver() -> PendingPointer? {
        guard let pending = pointee.over else { return nil }
        pointee.over = pending.pointee.following
        if pointee.over == nil { pointee.lastOver = nil }
        return pending
    }

    /// Out of the port's list: the loop has ended, or nobody needs it. What waits here will never be told of. A second call
    /// has no effect.
    @inline(never)
    fileprivate func leave() {
        let port = pointee.port
        var dropped: PendingPointer?
        let source = port.locked { () -> SourcePointer? in
            guard let source = pointee.source else { return nil }
            pointee.source = nil
            unlink(from: &port.pointee.outlets)
            dropped = port.abandon(self)
            return source
        }
        while let pending = dropped {
            dropped = pending.pointee.following
            port.discard(pending)
        }
        source?.giveBack()
    }

    /// The source is gone.
    fileprivate func free() {
        let port = pointee.port
        pointee.mode.release()
        deinitialize(count: 1)
        CLinux.free(self)
        port.unhold()
    }
}

private func outletOf(_ info: UnsafeRawPointer?) -> OutletPointer {
    UnsafeMutableRawPointer(mutating: info.unsafelyUnwrapped).assumingMemoryBound(to: Outlet.self)
}
