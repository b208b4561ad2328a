import Synchronization

/// What a loop has to do before a source that has just handled a message may handle its next one.
///
/// A pass costs more than most callbacks. A source that has several messages therefore hands out the next one at once, without a
/// pass, if that pass would do nothing else: then no client can tell the difference. Both shortcuts of that kind, messages of ports
/// and one-way requests of a connection, ask `mayContinue`, and nothing else in the core asks such a question. A change that gives a pass
/// something new to do adds a case here, and a test to `Tests/c/test-shortcuts.c` that fails without it.
///
/// Steps 4 and 9, between two messages of a port and between two requests of a connection.
enum OtherWork {
    /// A pass would only call the source again.
    case none
    /// The source has left the mode that runs, or it is in another loop as well, which may take the next message.
    case otherLoop
    /// The run returns after a source that was handled.
    case returnAfterSource
    /// The run was asked to stop.
    case stop
    /// Nothing keeps the run going any more: the source has become unreferenced.
    case emptied
    /// Functions are to be performed, perhaps in another mode.
    case functions
    /// Another source has been signalled, and the loop has not yet looked in which mode it is.
    case signals
    /// Signalled sources of the mode are queued, which includes all of a batch of several that this pass performs.
    case queuedSources
    /// An observer of the mode is notified when a pass begins.
    case observers
    /// Objects were autoreleased in this pass, which releases them at its end.
    case autoreleased
    /// Events have been fetched but not dispatched, or the mode has descriptors that the next pass asks the kernel about. For a source that
    /// is itself on a descriptor only the former counts: it limits how often it continues.
    case descriptors
    /// Watches are to be registered again, or the loss of one is to be reported.
    case watchTrouble
    /// A timer of the mode is due, or the run is over by now.
    case time
}

/// A source on a descriptor that has its next message in memory. The next pass calls this source without asking the kernel; otherwise a
/// program that runs the loop once per message would ask each time. This is done only a few times in a row, so that others have their turn.
/// Step 5 looks for such a source.
struct KnownReady: BitwiseCopyable {
    static var limit: UInt32 { 16 }

    /// The source's event; 0 if there is none.
    var tag: UInt64 = 0
    /// The mode in which it was called.
    var mode: ModePointer?
    /// How many passes in a row have called such a source.
    var count: UInt32 = 0
}

extension RunLoopPointer {
    /// The internal source that is being called has another message in memory, so its descriptor is ready. The loop's thread, without the
    /// lock.
    func expectMore() {
        // A run that does not return after a source takes several at once.
        if !pointee.activation.returnsAfterSource { return }
        lockInlined()
        pointee.knownReady.tag = pointee.dispatchFrame.source?.eventTag ?? 0
        pointee.knownReady.mode = pointee.activation.mode
        unlockInlined()
    }

    /// If a source is known to be ready and may be called now, begins a batch with its event, and returns true. The loop's thread, without
    /// the lock.
    func takeKnownReady(_ mode: ModePointer) -> Bool { pointee.knownReady.tag != 0 && takeKnownReadySlow(mode) }

    /// The rest of `takeKnownReady`. False if the source belongs to another mode, has had its turns, or others have an order.
    @inline(never)
    private func takeKnownReadySlow(_ mode: ModePointer) -> Bool {
        let known = pointee.knownReady
        pointee.knownReady.tag = 0
        if known.count >= KnownReady.limit || known.mode != mode || pointee.orderedRegistrations > 0 {
            pointee.knownReady.count = 0
            return false
        }
        pointee.knownReady.count += 1
        return pointee.eventBatch.begin(withReadable: known.tag)
    }

    /// Whether an internal source that is being called may handle its next message without a pass. Reads the clock if the run or a
    /// timer has a deadline. O(number of sets of the mode). The loop's thread, without the lock; calls no user code.
    func mayContinue(_ source: SourcePointer) -> Bool {
        lockInlined()
        let work = otherWork(besides: source)
        unlockInlined()
        return work == .none
    }

    /// What else there is to do in the mode that runs; the first that applies. Under the lock.
    @inline(__always)
    func otherWork(besides source: SourcePointer) -> OtherWork {
        guard let mode = pointee.activation.mode, let registration = source.onlyRegistration, isOneOfSets(registration.set, of: mode) else {
            return .otherLoop
        }
        if pointee.activation.returnsAfterSource { return .returnAfterSource }
        if pointee.stop.load(ordering: .relaxed) != 0 { return .stop }
        if !hasItems(mode) { return .emptied }
        if !inbox.isEmpty || mayHaveHeld(mode) { return .functions }
        if hasSignals(besides: source, registration) { return .signals }
        if !isQueueEmpty(mode) { return .queuedSources }
        if observes(mode, .beforeTimers, .beforeSources) { return .observers }
        if pointee.activation.autoreleasedCount != 0 { return .autoreleased }
        if !pointee.eventBatch.isEmpty || (!source.hasDescriptor && portCount(mode) != 0) { return .descriptors }
        if hasWatchTrouble { return .watchTrouble }
        let limit = Swift.min(pointee.activation.deadline.nanoseconds, firstTimer(mode)?.key.deadline ?? .max)
        return limit != .max && Clock.now.nanoseconds >= limit ? .time : .none
    }

    /// Whether the set, which may be that of another loop, contains the mode. O(number of sets of the mode).
    @inline(__always)
    private func isOneOfSets(_ set: ModeSetPointer?, of mode: ModePointer) -> Bool {
        for index in 0..<mode.pointee.sets.count where mode.pointee.sets[index] == set { return true }
        return false
    }

    /// Whether a source other than this one has been signalled since the loop last took signals.
    private func hasSignals(besides source: SourcePointer, _ registration: RegistrationPointer) -> Bool {
        let isAnySet =
            source.hasDescriptor ? !pointee.pendingSignals.isEmpty : pointee.pendingSignals.isAnySet(besides: registration.slot)
        return isAnySet || SharedSignals.count != pointee.sharedSignalsSeen
    }
}
