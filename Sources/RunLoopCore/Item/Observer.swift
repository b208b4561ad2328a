import CRunLoop

/// RLRunLoopObserver. Guarded by the lock of `item.owner`.
struct ObserverStorage: ObjectStorage, ~Copyable {
    static var kind: Kind { .observer }
    typealias Callout = @convention(c) (OpaquePointer?, UInt, UnsafeMutableRawPointer?) -> Void

    var item: ItemHeader
    let activities: UInt
    let order: Int
    let callout: Callout
    /// `info` becomes nil at invalidation.
    var context: ClientContext
    /// nil while it is in no loop.
    var set: ModeSetPointer?
    /// Another thread has invalidated the observer while its function runs: this is released when that returns.
    var owedRelease: UnsafeMutableRawPointer?

    static let slab = Slab(size: MemoryLayout<ObserverStorage>.stride)
}

typealias ObserverPointer = UnsafeMutablePointer<ObserverStorage>

extension ObserverPointer {
    @inline(__always)
    var item: ItemPointer { UnsafeMutableRawPointer(self).assumingMemoryBound(to: ItemHeader.self) }

    /// An observer in no loop with one reference, guarded by the calling thread's context. nil if out of memory.
    /// `context.info` is retained already. Calls no user code.
    static func create(
        _ threadContext: ThreadContextPointer, activities: UInt, repeats: Bool, order: Int, _ callout: @escaping ObserverStorage.Callout,
        _ context: ClientContext
    ) -> ObserverPointer? {
        guard let memory = ObserverStorage.slab.allocate(threadContext) else { return nil }
        let observer = memory.assumingMemoryBound(to: ObserverStorage.self)
        observer.initialize(
            to: ObserverStorage(
                item: ItemHeader(.observer, owner: threadContext, flags: repeats ? ItemHeader.repeats : 0), activities: activities,
                order: order, callout: callout, context: context, set: nil))
        return observer
    }

    /// No reference is left, neither a client's nor an internal one. Any thread; calls the context's release if it was never invalidated.
    func destroy() {
        if pointee.item.has(ItemHeader.valid) { pointee.context.released(pointee.context.info) }
        ObserverStorage.slab.deallocate(self)
    }
}
