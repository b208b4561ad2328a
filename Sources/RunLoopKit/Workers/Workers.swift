import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit
import Synchronization

/// What stands behind an RLWorkers: the program's reference to a pool of threads, which may outlive it if one of them drops it.
struct Workers: KitStorage {
    static var kind: KitKind { .workers }

    fileprivate(set) var object: KitObject
    let pool: WorkerPoolPointer

    /// Workers; nil if out of memory. Any thread.
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
        // If there is no source, it has called the function that releases the info.
        return RLRunLoopSourceCreate(nil, 0, &context)
    }
}

typealias WorkersPointer = UnsafeMutablePointer<Workers>
