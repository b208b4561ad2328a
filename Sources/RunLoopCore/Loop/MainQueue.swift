import CLinux
import CRunLoop
import Synchronization

/// The main loop's source that runs the work on libdispatch's main queue: an ordinary version-1 source in the common modes. libdispatch
/// defines this queue as the main thread's, so only the main loop can serve it. Steps 5 and 9 call the source like any other of its
/// version.
enum MainQueue {
    /// The source, with a reference held by the library; `beingCreated`; or 0. Any thread.
    private static let source = Atomic<UInt>(0)

    /// Called when the main thread first uses the library: serves the queue if the program was compiled with CoreFoundation/CFRunLoop.h and
    /// has libdispatch. Reports no failure; RLRunLoopSetServicesDispatchMainQueue tries again.
    static func serveIfWanted(by loop: RunLoopPointer) {
        if Dispatch.isWanted { preservingSystemError { _ = serve(by: loop) } }
    }

    /// Whether work of the queue is running. A run nested in that work cannot serve the queue, so during it the source does not keep a mode
    /// from being empty, as in CFRunLoop. Written by the main thread.
    nonisolated(unsafe) private(set) static var isDraining = false

    /// Runs the work on the queue. This is the source's perform function. Main thread only; calls user code.
    static func drain() {
        if isDraining { return Dispatch.drainMainQueue() }
        isDraining = true
        // The source is retained, because the work may remove it.
        let bits = source.load(ordering: .acquiring)
        let served = bits > beingCreated ? SourcePointer(bitPattern: bits) : nil
        if let served {
            served.pointee.item.object.retain()
            RunLoopPointer.setUnreferenced(served, true)
        }
        Dispatch.drainMainQueue()
        if let served {
            RunLoopPointer.setUnreferenced(served, false)
            served.release()
        }
        isDraining = false
    }

    /// Stored in `source` while a thread creates the source.
    private static let beingCreated: UInt = 1

    /// Makes the main loop serve the queue. Returns true also if the queue is already served, or if another thread is about to make it so.
    /// Returns false with errno: ENOSYS without libdispatch, otherwise the error of adding the source. Any thread that has a loop; call
    /// without a lock held.
    static func serve(by loop: RunLoopPointer) -> Bool {
        guard Dispatch.isThere, let threadContext = ThreadContextPointer.current else {
            systemError = ENOSYS
            return false
        }
        guard source.compareExchange(expected: 0, desired: beingCreated, ordering: .acquiringAndReleasing).exchanged else { return true }
        let new = SourcePointer.create(
            threadContext, order: 0, info: nil, perform: { _ in MainQueue.drain() }, getPort: { _ in Dispatch.mainQueueHandle },
            SourceDetail())
        guard let new, loop.add(new, in: ModeName.common) else {
            if let new, new.item.release() == .dead { new.destroy() }
            // Either memory ran out, or libdispatch's descriptor cannot be watched.
            source.store(0, ordering: .releasing)
            return false
        }
        source.store(UInt(bitPattern: new), ordering: .releasing)
        return true
    }

    /// Returns the library's source with its reference, for the caller to invalidate and release; nil if the queue is not served. Any
    /// thread.
    static func detach() -> SourcePointer? {
        let old = source.load(ordering: .acquiring)
        guard old > beingCreated, source.compareExchange(expected: old, desired: 0, ordering: .acquiringAndReleasing).exchanged
        else { return nil }
        return SourcePointer(bitPattern: old)
    }
}
