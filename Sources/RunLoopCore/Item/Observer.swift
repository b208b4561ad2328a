import CRunLoop

/// RLRunLoopObserver. Guarded by the lock of `item.owner`.
struct ObserverStorage: ObjectStorage, ~Copyable {
    static var kind: Kind { .observer }
    typealias Callout = @convention(c) (OpaquePointer?, UInt, UnsafeMutableRawPointer?) -> Void

    var item: ItemHeader
    let activities: UInt
    let order: Int
    let callout: Callout
    /// The client's context. `info` is nil after invalidation.
    var context: ClientContext
    /// The set of the modes that the observer is in; nil while it is in no loop.
    var set: ModeSetPointer?
    /// The info, if another thread has invalidated the observer during its callback. Released when the callback returns.
    var owedRelease: UnsafeMutableRawPointer?

    static let slab = Slab(size: MemoryLayout<ObserverStorage>.stride)
}

typealias ObserverPointer = UnsafeMutablePointer<ObserverStorage>

extension ObserverPointer {
    var item: ItemPointer { UnsafeMutableRawPointer(self).assumingMemoryBound(to: ItemHeader.self) }

    /// Creates an observer with one reference, in no loop, owned by the calling thread's context. Returns nil if out of memory.
    /// `context.info` has been retained by the caller. Calls no user code.
    static func create(
        _ threadContext: ThreadContextPointer, activities: UInt, repeats: Bool, order: Int, _ callout: @escaping ObserverStorage.Callout,
        _ context: ClientContext
    ) -> ObserverPointer? {
        guard let memory = ObserverStorage.slab.allocate(threadContext) else { return nil }
        let observer = memory.assumingMemoryBound(to: ObserverStorage.self)
        observer.initialize(
            to: ObserverStorage(
                item: ItemHeader(.observer, owner: threadContext, flags: repeats ? .repeats : []), activities: activities,
                order: order, callout: callout, context: context, set: nil))
        return observer
    }

    /// Frees the memory once no reference of either kind is left. Calls the context's release if the observer was never invalidated. Any
    /// thread.
    func destroy() {
        if pointee.item.has(.valid) { pointee.context.released(pointee.context.info) }
        // In the child of fork(): release what was left to a call that never returned.
        if let owed = pointee.owedRelease { pointee.context.released(owed) }
        ObserverStorage.slab.deallocate(self)
    }
}
