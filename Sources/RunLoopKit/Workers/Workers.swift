import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit
import Synchronization

/// An RLWorkers: the client's reference to a pool of threads. The pool outlives this if one of its threads drops the last reference to the
/// RLWorkers.
struct Workers: KitStorage {
    static var kind: KitKind { .workers }

    fileprivate(set) var object: KitObject
    let pool: WorkerPoolPointer

    /// Creates workers; nil with errno if out of memory or of thread-specific keys. Any thread.
    static func create(_ limit: Int) -> OpaquePointer? {
        guard let memory = malloc(MemoryLayout<Workers>.stride) else { return nil }
        guard let pool = WorkerPool.create(limit) else {
            free(memory)
            return nil
        }
        let workers = memory.bindMemory(to: Workers.self, capacity: 1)
        let object = KitObject(kind: .workers, number: limit, client: ClientContext(info: nil))
        workers.initialize(to: Workers(object: object, pool: pool))
        var context = RLRunLoopSourceContext()
        context.info = memory
        context.release = { info in
            let workers = UnsafeMutableRawPointer(mutating: info.unsafelyUnwrapped).assumingMemoryBound(to: Workers.self)
            preservingSystemError { workers.pointee.pool.close() }
            CLinux.free(workers)
        }
        context.copyDescription = KitObject.copyDescription
        // On failure, RLRunLoopSourceCreate has called the function that releases the info.
        return RLRunLoopSourceCreate(nil, 0, &context)
    }
}

typealias WorkersPointer = UnsafeMutablePointer<Workers>
