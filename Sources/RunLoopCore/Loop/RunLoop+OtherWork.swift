import Synchronization

/// The other work that a loop has to do before a source that has just handled a message may handle its next one.
///
/// A pass costs more than most callbacks. So a source with several messages delivers the next one immediately, without a pass, if that pass
/// would do nothing else. Then no client can tell the difference. There are two shortcuts of that kind, for messages of ports and for
/// one-way requests of a connection. Both ask `mayContinue`, and nothing else in the core makes such a decision. A change that gives a pass
/// something new to do adds a case here, and a test to `Tests/c/test-shortcuts.c` that fails without it.
///
/// Used in steps 4 and 9, between two messages of a port and between two requests of a connection.
enum OtherWork {
    /// A pass would do nothing but call the source again.
    case none
    /// The source has left the current mode, or is in another loop as well, which may take the next message.
    case otherLoop
    /// The run returns after it has handled a source.
    case returnAfterSource
    /// The run was asked to stop.
    case stop
    /// The source has become unreferenced, and nothing else keeps the run going.
    case emptied
    /// Functions wait to be performed, perhaps in another mode.
    case functions
    /// Another source has been signalled, and the loop has not yet determined in which mode it is.
    case signals
    /// Signalled sources of the mode are queued. That includes all sources of a batch of several that this pass performs.
    case queuedSources
    /// An observer of the mode is to be notified when a pass begins.
    case observers
    /// Objects were autoreleased in this pass, to be released at its end.
    case autoreleased
    /// Events have been fetched but not dispatched, or the mode has descriptors about which the next pass asks the kernel. For a source
    /// that is itself on a descriptor only the former counts, since such a source limits how often it continues.
    case descriptors
    /// Watches are to be registered again, or the loss of one is to be reported.
    case watchTrouble
    /// A timer of the mode is due, or the run's time limit has been reached.
    case time
}

/// A source on a descriptor that probably has its next message in memory, which step 5 looks for. The next pass calls this source without
/// polling the kernel; otherwise a program that runs the loop once per message would poll each time. With the message that came before,
/// this makes at most one turn of a connection (`PortLimits.requestsPerTurn`) in a row; then other sources have their turn.
struct KnownReady: BitwiseCopyable {
    static var limit: UInt32 { 63 }

    /// The tag of the source's event; 0 if there is none.
    var tag: UInt64 = 0
    /// The mode in which the source was called.
    var mode: ModePointer?
    /// How many passes have called such a source since `limit` was last reached, or one was not called.
    var count: UInt32 = 0
}

extension RunLoopPointer {
    /// Records that the internal source with this tag, which was just called, has another message in memory, so that its descriptor is
    /// ready. Does nothing if the source has left the loop meanwhile: its tag has changed. Loop thread only; the caller holds the lock.
    func expectMore(_ tag: UInt64, _ mode: ModePointer) {
        // A run that does not return after a source handles several messages in one pass.
        if !pointee.activation.returnsAfterSource || SourcePointer(eventTag: tag) == nil { return }
        pointee.knownReady.tag = tag
        pointee.knownReady.mode = mode
    }

    /// Begins a batch with the event of the source that is known to be ready, if there is one and it may be called now. Returns true if so.
    /// Returns false if the source belongs to another mode, if it has had its turns, or if other sources have an order. Loop thread only;
    /// call without the lock held.
    func takeKnownReady(_ mode: ModePointer) -> Bool {
        let known = pointee.knownReady
        if known.tag == 0 { return false }
        pointee.knownReady.tag = 0
        if known.count >= KnownReady.limit || known.mode != mode || pointee.orderedRegistrations > 0 {
            pointee.knownReady.count = 0
            return false
        }
        pointee.knownReady.count += 1
        return pointee.eventBatch.begin(withReadable: known.tag)
    }

    /// Whether an internal source that is being called may handle its next message without a pass. Reads the clock if the run or a timer
    /// has a deadline. O(number of sets of the mode). Loop thread only; call without the lock held. Calls no user code.
    func mayContinue(_ source: SourcePointer) -> Bool {
        let work: OtherWork = pointee.activation.returnsAfterSource ? .returnAfterSource : locked { otherWork(besides: source) }
        return work == .none
    }

    /// Returns the first other kind of work that applies in the current mode, apart from that of `source`. The caller holds the lock.
    @inline(__always)
    func otherWork(besides source: SourcePointer) -> OtherWork {
        guard let mode = pointee.activation.mode, let registration = source.onlyRegistration, isOneOfSets(registration.set, of: mode) else {
            return .otherLoop
        }
        if pointee.stop.load(ordering: .relaxed) != 0 { return .stop }
        if !hasItems(mode) { return .emptied }
        if !inbox.isEmpty || mayHaveHeld(mode) { return .functions }
        if hasSignals(besides: source, registration) { return .signals }
        if !isQueueEmpty(mode) { return .queuedSources }
        if observes(mode, .beforeTimers, .beforeSources) { return .observers }
        if pointee.activation.autoreleasedCount != 0 { return .autoreleased }
        if !pointee.eventBatch.isEmpty || (!source.hasDescriptor && descriptorSourceCount(mode) != 0) { return .descriptors }
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

    /// Whether a source other than this one has been signalled since the loop last took pending signals.
    private func hasSignals(besides source: SourcePointer, _ registration: RegistrationPointer) -> Bool {
        let isAnySet =
            source.hasDescriptor ? !pointee.pendingSignals.isEmpty : pointee.pendingSignals.isAnySet(besides: registration.slot)
        return isAnySet || SharedSignals.count != pointee.sharedSignalsSeen
    }
}
