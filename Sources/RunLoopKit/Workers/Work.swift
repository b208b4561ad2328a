import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit
import Synchronization

/// An RLWork: a work item. It has a function for a worker, and a version-0 source that is signalled when the function has returned. An
/// RLHostResolve is a work item, too.
struct Work: ~Copyable, KitStorage {
    static var kind: KitKind { .work }

    /// The stages of a work item. The thread that advances it performs the next step.
    enum Progress: UInt8, AtomicRepresentable {
        /// The work item has not been submitted to workers yet.
        case idle
        /// The work item is waiting for its turn.
        case queued
        /// The function is running.
        case running
        /// The function has returned.
        case done
        /// The completion has been or is about to be called, or never will be.
        case over
    }

    /// Receives the client's info, a loop, a mode, and 1 or -1.
    typealias Observer = @convention(thin) (UnsafeMutableRawPointer?, OpaquePointer, OpaquePointer, Int) -> Void

    fileprivate(set) var object: KitObject
    fileprivate let function: RLWorkFunction
    fileprivate let callout: RLWorkCallBack?
    /// Called with the client's info when the work item was added to a mode of a loop (1) or removed from one (-1). nil, except for the
    /// kit's own kinds of work items.
    fileprivate let observer: Observer?
    /// Called with the client's info if the workers are released before the work item's turn. nil, except for the kit's own kinds of work
    /// items.
    fileprivate let whenDropped: (@convention(thin) (UnsafeMutableRawPointer?) -> Void)?
    /// The stage that the work item has reached. Any thread.
    fileprivate let progress: Atomic<Progress>
    /// The loops to wake. Under the kit's lock.
    fileprivate var loops: ServingLoops
    /// The next work item in the queue of the workers. Under the pool's lock.
    var next: WorkPointer?

    fileprivate init(
        _ kind: KitKind, _ function: @escaping RLWorkFunction, _ callout: RLWorkCallBack?, _ client: ClientContext, _ observer: Observer?,
        _ whenDropped: (@convention(thin) (UnsafeMutableRawPointer?) -> Void)?, _ loops: consuming ServingLoops
    ) {
        object = KitObject(kind: kind, number: -1, client: client)
        self.function = function
        self.callout = callout
        self.observer = observer
        self.whenDropped = whenDropped
        self.loops = loops
        progress = Atomic(.idle)
    }

    /// Creates a work item; nil if out of memory. Retains the client's info, and releases it on failure. Any thread; calls user code.
    static func create(
        _ order: Int, _ function: @escaping RLWorkFunction, _ callout: RLWorkCallBack?, _ client: ClientContext,
        kind: KitKind = .work, _ observer: Observer? = nil,
        whenDropped: (@convention(thin) (UnsafeMutableRawPointer?) -> Void)? = nil
    ) -> OpaquePointer? {
        guard let loops = ServingLoops(), let memory = malloc(MemoryLayout<Work>.stride) else { return nil }
        let work = memory.bindMemory(to: Work.self, capacity: 1)
        work.initialize(to: Work(kind, function, callout, client.retained(), observer, whenDropped, loops))
        var context = RLRunLoopSourceContext()
        context.info = memory
        context.release = { info in Work.pointer(info).free() }
        context.copyDescription = KitObject.copyDescription
        context.schedule = { info, loop, mode in Work.pointer(info).change(loop, mode, by: 1) }
        context.cancel = { info, loop, mode in Work.pointer(info).change(loop, mode, by: -1) }
        context.perform = { info in Work.pointer(info).perform() }
        // On failure, RLRunLoopSourceCreate has called the function that releases the info.
        guard let source = RLRunLoopSourceCreate(nil, order, &context) else { return nil }
        work.pointee.object.source = source
        return source
    }

    fileprivate static func pointer(_ info: UnsafeRawPointer?) -> WorkPointer {
        UnsafeMutableRawPointer(mutating: info.unsafelyUnwrapped).assumingMemoryBound(to: Work.self)
    }
}

typealias WorkPointer = UnsafeMutablePointer<Work>

extension WorkPointer {
    /// Advances the work item from one stage to another. Returns false if it is at a different one. Any thread.
    @discardableResult
    private func move(_ from: Work.Progress, to next: Work.Progress) -> Bool {
        pointee.progress.compareExchange(expected: from, desired: next, ordering: .acquiringAndReleasing).exchanged
    }

    /// Whether the work item is still valid. Any thread.
    var isValid: Bool { RLRunLoopSourceIsValid(pointee.object.source) != 0 }

    /// Marks the work item as submitted. Returns false if it was before. Any thread.
    func enqueue() -> Bool { move(.idle, to: .queued) }

    /// Undoes `enqueue` if no worker can run the work item after all. Only the thread that called `enqueue`.
    func dequeue() { move(.queued, to: .idle) }

    /// Calls the function, unless the work item was cancelled. Called on a worker when it is the work item's turn. Calls user code.
    func run() {
        if !isValid { move(.queued, to: .over) }
        guard move(.queued, to: .running) else { return }
        RUNLOOP_IS_CALLING_OUT_TO_A_WORK_FUNCTION(pointee.function, pointee.object.source, pointee.object.client.info)
        complete()
    }

    /// Has a loop call the completion, after the function has returned or its thread has ended. Worker only.
    func complete() {
        guard move(.running, to: .done) else { return }
        RLRunLoopSourceSignal(pointee.object.source)
        KitLock.lock()
        pointee.loops.wake()
        KitLock.unlock()
    }

    /// Cancels the work item: its completion will not be called, nor its function if that has not begun. Returns true if the function would
    /// otherwise still have been called. Any thread.
    func cancel() -> Bool {
        let hasNotBegun = move(.queued, to: .over) || move(.idle, to: .over)
        RLRunLoopSourceInvalidate(pointee.object.source)
        return hasNotBegun
    }

    /// Cancels the work item because the workers were released before its turn. Any thread; call without a lock held.
    func drop() {
        if cancel() { pointee.whenDropped?(pointee.object.client.info) }
    }

    /// Ends the work item at its time limit. Returns true if its completion was not called and will not be. Any thread.
    func expire() -> Bool { move(.idle, to: .over) || move(.queued, to: .over) || move(.running, to: .over) }

    /// Calls the completion, if the function has returned. Loop thread only; calls user code.
    fileprivate func perform() {
        guard move(.done, to: .over) else { return }
        RLRunLoopSourceInvalidate(pointee.object.source)
        guard let callout = pointee.callout else { return }
        RUNLOOP_IS_CALLING_OUT_TO_A_WORK_COMPLETION_FUNCTION(callout, pointee.object.source, pointee.object.client.info)
    }

    /// Records that the source was added to a mode of a loop (1) or removed from one (-1). Takes the kit's lock; may call user code.
    fileprivate func change(_ loop: OpaquePointer?, _ mode: OpaquePointer?, by modes: Int) {
        guard let loop, let mode else { return }
        pointee.observer?(pointee.object.client.info, loop, mode, modes)
        KitLock.lock()
        let (isDone, released) = pointee.loops.change(loop, by: modes) {}
        KitLock.unlock()
        if let released { RLRelease(UnsafeRawPointer(released)) }
        if !isDone { Misuse.warn("RLWork", "RLRunLoopAddSource", "out of memory: completion of the work will not wake this loop") }
    }

    /// Frees the work item, as its source is freed. Calls user code.
    fileprivate func free() {
        pointee.object.client.releaseInfo()
        deinitialize(count: 1)
        CLinux.free(self)
    }
}
