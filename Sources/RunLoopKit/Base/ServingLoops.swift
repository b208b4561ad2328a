import CLinux
import CLinuxKit
import CRunLoop
import Synchronization

/// The loops that a source is in, to wake them. "The lock" is the kit's, or that of the object if it has one of its own. Changes are made
/// by the `schedule` and `cancel` functions of the source; for an RLSignal a signal handler may read the list at any time.
struct ServingLoops: ~Copyable {
    /// A loop of the list.
    struct Link: ~Copyable {
        /// A reference of the list. Written once.
        let loop: OpaquePointer
        /// In how many of the loop's modes the source is. Two threads that add and remove may report in either order, so it may be
        /// negative for a moment. Under the lock.
        var modes: Int
        /// The timer of an object with a time limit, in the same modes of the loop as the source. A reference. Under the lock.
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
    /// Memory for a link, so that adding the source to a first loop cannot fail. Under the lock.
    private var spare: LinkPointer?

    /// nil if out of memory.
    init?() {
        guard let memory = malloc(MemoryLayout<Link>.stride) else { return nil }
        spare = memory.bindMemory(to: Link.self, capacity: 1)
        first = Atomic(0)
    }

    /// The list is empty, as its source is in no loop.
    deinit { free(spare) }

    /// Whether the source is in a mode of a loop. Under the lock.
    var isEmpty: Bool {
        var link = Self.pointer(first)
        while let here = link {
            if here.pointee.modes > 0 { return false }
            link = Self.pointer(here.pointee.next)
        }
        return true
    }

    /// Calls `body` with each link until it returns false; returns whether it never did. Under the lock.
    @discardableResult
    func allSatisfy(_ body: (LinkPointer) -> Bool) -> Bool {
        var link = Self.pointer(first)
        while let here = link {
            if !body(here) { return false }
            link = Self.pointer(here.pointee.next)
        }
        return true
    }

    /// Wakes all loops of the list. Under the lock, or in a signal handler that `change` waits for.
    func wake() {
        var link = Self.pointer(first)
        while let here = link {
            RLRunLoopWakeUp(here.pointee.loop)
            link = Self.pointer(here.pointee.next)
        }
    }

    /// The source was added to a mode of a loop (1) or removed from one (-1). `awaitReaders` returns when no signal handler can have seen
    /// what was taken out before. Returns a loop that the caller releases without the lock; false if out of memory. Under the lock.
    mutating func change(_ loop: OpaquePointer, by modes: Int, awaitReaders: () -> Void) -> (isDone: Bool, released: OpaquePointer?) {
        var before: LinkPointer?
        var link = Self.pointer(first)
        while let here = link, here.pointee.loop != loop {
            before = here
            link = Self.pointer(here.pointee.next)
        }
        guard let found = link else { return (add(loop, modes, behind: before), nil) }
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

    /// Adds a loop to the end of the list, and retains it. False if out of memory.
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
