import CLinux
import CRunLoop
import Synchronization

/// The source of the main loop that runs what is on libdispatch's main queue: an ordinary version-1 source in the common modes.
/// libdispatch calls this queue the main thread's, so only the main loop can have it. Steps 5 and 9 call it like any such source.
enum MainQueue {
    /// The source, `inTheMaking`, or 0. Any thread. We hold one reference.
    private static let source = Atomic<UInt>(0)

    /// Called when the main thread first uses the library: serves the queue if the program was compiled with CoreFoundation/CFRunLoop.h and
    /// has libdispatch. Reports no failure; RLRunLoopSetServicesDispatchMainQueue tries again.
    static func serveIfWanted(by loop: RunLoopPointer) {
        if Dispatch.isWanted { preservingSystemError { _ = serve(by: loop) } }
    }

    /// Whether work of the queue is running. A run nested in it cannot serve the queue, so there the source does not keep a mode
    /// from being empty, as in CFRunLoop. The main thread.
    nonisolated(unsafe) private(set) static var isDraining = false

    /// Runs the work on the queue: the source's perform function. The main thread; calls user code.
    static func drain() {
        if isDraining { return Dispatch.drainMainQueue() }
        isDraining = true
        // Retained, since the work may take the source away.
        let bits = source.load(ordering: .acquiring)
        let served = bits > inTheMaking ? SourcePointer(bitPattern: bits) : nil
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

    /// Stored while a thread creates the source.
    private static let inTheMaking: UInt = 1

    /// Makes the loop serve the queue, if it is not served yet. False with errno: ENOSYS without libdispatch, otherwise as adding the source
    /// failed. Any thread that has a loop.
    static func serve(by loop: RunLoopPointer) -> Bool {
        guard Dispatch.isThere, let threadContext = ThreadContextPointer.current else {
            systemError = ENOSYS
            return false
        }
        guard source.compareExchange(expected: 0, desired: inTheMaking, ordering: .acquiringAndReleasing).exchanged else { return true }
        let new = SourcePointer.create(
            threadContext, order: 0, info: nil, perform: { _ in MainQueue.drain() }, getPort: { _ in Dispatch.mainQueueHandle },
            SourceDetail())
        guard let new, loop.add(new, in: ModeName.common) else {
            if let new, new.item.release() == .dead { new.destroy() }
            // Out of memory, or libdispatch's descriptor cannot be watched.
            source.store(0, ordering: .releasing)
            return false
        }
        source.store(UInt(bitPattern: new), ordering: .releasing)
        return true
    }

    /// Takes away the source, which the caller then invalidates and releases; nil if there is none. Any thread.
    static func takeAway() -> SourcePointer? {
        let old = source.load(ordering: .acquiring)
        guard old > inTheMaking, source.compareExchange(expected: old, desired: 0, ordering: .acquiringAndReleasing).exchanged
        else { return nil }
        return SourcePointer(bitPattern: old)
    }
}
