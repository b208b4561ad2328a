import CLinux
import CLinuxKit
import CRunLoop
import Synchronization

/// The loops that a source is in, kept so that they can be woken. "The lock" is the kit's for an RLSignal, and otherwise the object's own.
/// The source's `schedule` and `cancel` callbacks update the list. For an RLSignal, a signal handler may read it at any time.
struct ServingLoops: ~Copyable {
    /// One loop in the list.
    struct Link: ~Copyable {
        /// The loop, retained by the list. Written once.
        let loop: OpaquePointer
        /// The number of the loop's modes that the source is in. Negative for a moment if two threads add and remove, since they may report
        /// in either order. Under the lock.
        var modes: Int
        /// The timer of an object with a time limit, in the same modes of the loop as the source. Retained. Under the lock.
        var timer: OpaquePointer?
        /// The next link, 0 at the end. Written under the lock, read by signal handlers.
        let next: Atomic<UInt>

        init(_ loop: OpaquePointer, _ modes: Int) {
            self.loop = loop
            self.modes = modes
            next = Atomic(0)
        }
    }

    typealias LinkPointer = UnsafeMutablePointer<Link>

    /// The first link, 0 if there is none. Written under the lock, read by signal handlers.
    private let first: Atomic<UInt>
    /// Memory reserved for one link, so that adding the source to its first loop cannot fail. Under the lock.
    private var spare: LinkPointer?
    /// The additions that were not recorded because memory ran out, minus the removals that were not recorded for that reason or because
    /// they undo such an addition. Under the lock.
    private var unrecorded = 0

    /// Creates an empty list with a reserved link. nil if out of memory.
    init?() {
        guard let memory = malloc(MemoryLayout<Link>.stride) else { return nil }
        spare = memory.bindMemory(to: Link.self, capacity: 1)
        first = Atomic(0)
    }

    /// Frees the reserved link. The list is empty, as its source is in no loop.
    deinit { free(spare) }

    /// Whether the source is in no mode of any loop. The caller holds the lock.
    var isEmpty: Bool {
        var link = Self.pointer(first)
        while let here = link {
            if here.pointee.modes > 0 { return false }
            link = Self.pointer(here.pointee.next)
        }
        return true
    }

    /// Calls `body` for each link until it returns false. Returns whether it never did. The caller holds the lock.
    @discardableResult
    func allSatisfy(_ body: (LinkPointer) -> Bool) -> Bool {
        var link = Self.pointer(first)
        while let here = link {
            if !body(here) { return false }
            link = Self.pointer(here.pointee.next)
        }
        return true
    }

    /// Wakes all loops in the list. Call with the lock held, or in a signal handler that `change` waits for.
    func wake() {
        var link = Self.pointer(first)
        while let here = link {
            RLRunLoopWakeUp(here.pointee.loop)
            link = Self.pointer(here.pointee.next)
        }
    }

    /// Records that the source was added to a mode of a loop (1) or removed from one (-1). `awaitReaders` returns when no signal handler
    /// can still be using a link that was unlinked before. `released` is a loop that the caller releases after unlocking; `isDone` is false
    /// if out of memory. The caller holds the lock.
    mutating func change(_ loop: OpaquePointer, by modes: Int, awaitReaders: () -> Void) -> (isDone: Bool, released: OpaquePointer?) {
        var before: LinkPointer?
        var link = Self.pointer(first)
        while let here = link, here.pointee.loop != loop {
            before = here
            link = Self.pointer(here.pointee.next)
        }
        guard let found = link else {
            let undoesUnrecorded = unrecorded * modes < 0
            if !undoesUnrecorded && add(loop, modes, behind: before) { return (true, nil) }
            unrecorded += modes
            return (undoesUnrecorded || modes < 0, nil)
        }
        found.pointee.modes += modes
        if found.pointee.modes != 0 { return (true, nil) }
        let next = found.pointee.next.load(ordering: .relaxed)
        if let before {
            before.pointee.next.store(next, ordering: .sequentiallyConsistent)
        } else {
            first.store(next, ordering: .sequentiallyConsistent)
        }
        awaitReaders()
        found.endTimer()
        if spare == nil { spare = found } else { free(found) }
        return (true, loop)
    }

    /// Appends a loop to the list and retains it. Returns false if out of memory. The caller holds the lock.
    private mutating func add(_ loop: OpaquePointer, _ modes: Int, behind last: LinkPointer?) -> Bool {
        guard let link = spare ?? malloc(MemoryLayout<Link>.stride)?.bindMemory(to: Link.self, capacity: 1) else { return false }
        spare = nil
        RLRetain(UnsafeRawPointer(loop))
        link.initialize(to: Link(loop, modes))
        if let last {
            last.pointee.next.store(UInt(bitPattern: link), ordering: .sequentiallyConsistent)
        } else {
            first.store(UInt(bitPattern: link), ordering: .sequentiallyConsistent)
        }
        return true
    }

    private static func pointer(_ word: borrowing Atomic<UInt>) -> LinkPointer? {
        LinkPointer(bitPattern: word.load(ordering: .sequentiallyConsistent))
    }
}
