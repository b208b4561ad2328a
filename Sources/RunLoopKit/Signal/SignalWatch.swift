import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit
import Synchronization

/// An RLSignal: an object that is notified of a signal while it is in a loop.
struct SignalWatch: ~Copyable, KitStorage {
    static var kind: KitKind { .signal }

    fileprivate(set) var object: KitObject
    /// The signal that the object watches.
    fileprivate let caught: CaughtSignalPointer
    fileprivate let callout: RLSignalCallBack
    /// The number of signals since the last callback. Signal handlers, and the loop's thread.
    fileprivate let count: Atomic<UInt>
    /// The next object of the same signal that is in a loop. Written under the kit's lock, read by handlers.
    let next: Atomic<UInt>
    /// The loops to wake. Written under the kit's lock, read by handlers.
    fileprivate var loops: ServingLoops
    /// Whether the object is in its signal's list. Under the kit's lock.
    fileprivate var isListed = false

    private init(
        _ caught: CaughtSignalPointer, _ callout: @escaping RLSignalCallBack, _ client: ClientContext, _ loops: consuming ServingLoops
    ) {
        object = KitObject(kind: .signal, number: Int(caught.pointee.number), client: client, callout: addressOfFunction(callout))
        self.caught = caught
        self.callout = callout
        self.loops = loops
        count = Atomic(0)
        next = Atomic(0)
    }

    /// Creates a source for a signal; nil if out of memory. Retains the client's info, and releases it on failure. Any thread; calls user
    /// code.
    static func create(_ number: Int32, _ order: Int, _ callout: @escaping RLSignalCallBack, _ client: ClientContext) -> OpaquePointer? {
        guard let caught = CaughtSignal.obtain(number), let loops = ServingLoops(), let memory = malloc(MemoryLayout<SignalWatch>.stride)
        else { return nil }
        let watch = memory.bindMemory(to: SignalWatch.self, capacity: 1)
        watch.initialize(to: SignalWatch(caught, callout, client.retained(), loops))
        var context = RLRunLoopSourceContext()
        context.info = memory
        context.release = { info in SignalWatch.pointer(info).free() }
        context.copyDescription = KitObject.copyDescription
        context.schedule = { info, loop, _ in SignalWatch.pointer(info).change(loop, by: 1) }
        context.cancel = { info, loop, _ in SignalWatch.pointer(info).change(loop, by: -1) }
        context.perform = { info in SignalWatch.pointer(info).perform() }
        // On failure, RLRunLoopSourceCreate has called the function that releases the info.
        guard let source = RLRunLoopSourceCreate(nil, order, &context) else { return nil }
        watch.pointee.object.source = source
        return source
    }

    fileprivate static func pointer(_ info: UnsafeRawPointer?) -> SignalWatchPointer {
        UnsafeMutableRawPointer(mutating: info.unsafelyUnwrapped).assumingMemoryBound(to: SignalWatch.self)
    }

    /// Counts a signal, signals the source, and wakes its loops. Called in the signal handler; async-signal-safe.
    func noteSignal() {
        count.add(1, ordering: .relaxed)
        RLRunLoopSourceSignal(object.source)
        loops.wake()
    }
}

typealias SignalWatchPointer = UnsafeMutablePointer<SignalWatch>

extension SignalWatchPointer {
    /// Records that the source was added to a mode of a loop (1) or removed from one (-1), and lists or unlists the object accordingly.
    /// Takes the kit's lock; may call user code (the error handler).
    fileprivate func change(_ loop: OpaquePointer?, by modes: Int) {
        guard let loop else { return }
        let caught = pointee.caught
        KitLock.lock()
        let (isDone, released) = pointee.loops.change(loop, by: modes) { caught.pointee.awaitHandlers() }
        let isInLoop = !pointee.loops.isEmpty
        var problem: Name? = isDone ? nil : "out of memory: signals will not wake this loop"
        if isInLoop != pointee.isListed {
            pointee.isListed = isInLoop
            if isInLoop { problem = caught.pointee.add(self) ?? problem } else { caught.pointee.remove(self) }
        }
        KitLock.unlock()
        if let released { RLRelease(UnsafeRawPointer(released)) }
        if let problem { Misuse.warn("RLSignal", "RLRunLoopAddSource", problem) }
    }

    /// Calls the client if signals have arrived. Loop thread only; calls user code.
    fileprivate func perform() {
        let count = pointee.count.exchange(0, ordering: .acquiringAndReleasing)
        if count == 0 { return }
        withUnsafeTemporaryAllocation(of: siginfo_t.self, capacity: 1) { memory in
            let siginfo = memory.baseAddress.unsafelyUnwrapped
            memset(siginfo, 0, MemoryLayout<siginfo_t>.size)
            pointee.caught.pointee.latest.load(into: siginfo)
            let origin = linux_origin(siginfo)
            var information = RLSignalInfo(
                number: pointee.caught.pointee.number, count: Int(count), code: origin.code, process: origin.process, user: origin.user,
                value: origin.value, siginfo: UnsafeRawPointer(siginfo))
            RUNLOOP_IS_CALLING_OUT_TO_A_SIGNAL_CALLBACK_FUNCTION(
                pointee.callout, pointee.object.source, &information, pointee.object.client.info)
        }
    }

    /// Frees the object, as its source is freed: it is in no loop, and so in no list. Calls user code.
    fileprivate func free() {
        pointee.object.client.releaseInfo()
        deinitialize(count: 1)
        CLinux.free(self)
    }
}
