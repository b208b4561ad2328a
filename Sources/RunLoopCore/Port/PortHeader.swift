import CLinux
import Synchronization

/// The beginning of both kinds of ports: all that they have in common.
///
/// There are two reference counts. `object` counts the program's references, among them those of its messages and of the run loop source
/// that it has created; before the last one is released, the port is invalidated. `internalReferences` counts the library's own reasons to
/// keep the port: connections and requests. When the last of these is released, the port is freed. One internal
/// reference (`isKept`) stands for all references of the program and all calls of the port's callbacks, which may retain the port again.
struct PortHeader: Linked, Locked, CallbackInfo, ~Copyable {
    typealias InvalidationCallout = @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Void

    /// The functions in which the kinds differ. Their first argument is the port, except for `deliver` and `follow`.
    struct Functions {
        /// The perform function of the port's source. Its argument is the `PortSource`.
        let deliver: @convention(c) (UnsafeMutableRawPointer?) -> Void
        /// Ends all that an invalid port was doing, and drops what is left in its queue, which is closed. Called once, without a lock held.
        /// Calls user code.
        let close: @convention(c) (UnsafeMutableRawPointer) -> Void
        /// Frees the port, to which there are no references.
        let destroy: @convention(c) (UnsafeMutableRawPointer) -> Void
        /// The schedule and the cancel function of the port's source. Any thread; called without a lock held.
        var follow: SourceDetail.Schedule?
        /// Performs one `ForkStep`, so far as `PortHeaderPointer.fork` does not.
        var fork: (@convention(c) (UnsafeMutableRawPointer, UInt8) -> Void)?
    }

    /// The steps of a fork(). Each is performed for all ports before the next one begins. No user code is called.
    enum ForkStep: UInt8 {
        /// The forking thread takes all locks of the port.
        case lock
        /// Parent and child release the locks that `lock` has taken.
        case unlock
        /// The child forgets what threads that do not exist there were doing.
        case reset
        /// The child ends what belongs to the parent.
        case end
    }

    /// In one cache line with what senders write: a receiver touches neither the references nor those fields for each message.
    var object: ObjectHeader
    var queue: PortQueue
    let functions: Functions
    let internalReferences = Atomic<UInt32>(1)
    /// Guards the fields below, and those of a message port. Under it no user code is called and no loop is locked.
    let mutex = Mutex()
    var isValid = true
    /// Whether a thread is releasing the program's last reference, which invalidates the port first: see `PortHeaderPointer.release`.
    var isLastReleased = false
    /// Whether one of the internal references stands for the references of the program and the running calls.
    var isKept = true
    /// How many calls of the port's callbacks are under way; all that one perform of an RLPort delivers count once, and so does invalidating
    /// the port.
    var runningCalls: UInt32 = 0
    /// Empty once the port is invalid and its last callback has returned.
    var context: ClientContext
    var invalidation: InvalidationCallout?
    // Links of the list of all ports. Guarded by `PortRegistry.mutex`.
    var previous: PortHeaderPointer?
    var following: PortHeaderPointer?

    init(_ kind: Kind, _ context: ClientContext, _ functions: Functions) {
        object = ObjectHeader(kind)
        // How many messages may wait before senders have to wait, unless the program sets another number.
        queue = PortQueue(capacity: 1024)
        self.functions = functions
        self.context = context
    }
}

typealias PortHeaderPointer = UnsafeMutablePointer<PortHeader>

extension PortHeaderPointer {
    /// The queue by its address: an inout access would promise the compiler that no other thread uses the queue.
    var queue: PortQueuePointer { PortQueuePointer(mutating: withUnsafePointer(to: pointee.queue) { $0 }) }
}

/// A struct that begins with a `PortHeader`.
protocol PortObject: ObjectStorage, CallbackInfo, ~Copyable {}

extension UnsafeMutablePointer where Pointee: PortObject & ~Copyable {
    var base: PortHeaderPointer { UnsafeMutableRawPointer(self).assumingMemoryBound(to: PortHeader.self) }
    var queue: PortQueuePointer { base.queue }

    /// Allocates memory for a port. Returns nil with ENOMEM if there is none, or if the registry could not be set up. Any thread.
    static func allocate() -> UnsafeMutablePointer? {
        guard PortRegistry.isPrepared, let memory = aligned_alloc(64, (MemoryLayout<Pointee>.size + 63) & ~63) else {
            systemError = ENOMEM
            return nil
        }
        return memory.bindMemory(to: Pointee.self, capacity: 1)
    }

    /// Frees a port that has no references left, and removes it from the registry. Any thread.
    func deallocatePort() {
        PortRegistry.remove(base)
        base.pointee.object.tag = 0
        deinitialize(count: 1)
        free(self)
    }

    /// Adds a reference. Any thread, lock-free.
    @inline(__always)
    func retain() { base.pointee.object.retain() }

    /// Releases a reference: see `PortHeaderPointer.release`. Returns false if there was none. Any thread; may call user code.
    func release() -> Bool { base.release() }
}

/// A type that has a mutex.
protocol Locked: ~Copyable {
    var mutex: Mutex { get }
}

extension UnsafeMutablePointer where Pointee: Locked & ~Copyable {
    /// Runs `body` under the mutex. Any thread.
    func locked<Result>(_ body: () -> Result) -> Result { pointee.mutex.locked(body) }
}

extension Atomic<UInt32> {
    /// Adds a reference to an object that was found in a list. Returns false if its last reference was released. Any thread.
    @inline(never)
    func countUpUnlessZero() -> Bool {
        var seen = load(ordering: .acquiring)
        while seen > 0 {
            let (done, now) = weakCompareExchange(
                expected: seen, desired: seen + 1, successOrdering: .acquiringAndReleasing, failureOrdering: .acquiring)
            if done { return true }
            seen = now
        }
        return false
    }
}
