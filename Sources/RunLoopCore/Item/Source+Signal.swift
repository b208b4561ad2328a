import CLinux
import Synchronization

// Signalling a version-0 source, from any thread and from signal handlers, and taking the signal on the thread of a loop.
extension SourcePointer {
    /// RLRunLoopSourceSignal: sets the flag, then the bit that makes the loop check the flag. A thread that adds the source to a loop
    /// publishes the registration first, then checks the flag. All four operations are sequentially consistent, so at least one of the two
    /// threads sees what the other one did. Any thread, async-signal-safe.
    @inline(never)
    func signal() {
        RaceDetector.happensBefore(self)
        let isFirst = signalFlag.pointee.exchange(1, ordering: .sequentiallyConsistent) == 0
        if let registration = onlyRegistration, case let slot = registration.slot, slot != Registration.noSlot,
            let pendingSignals = registration.pendingSignals
        {
            if isFirst { noteSignalTime(isAlone: pendingSignals.pointee.isEmpty) }
            pendingSignals.pointee.set(Int(slot))
        } else {
            setPendingWithoutSlot(isFirst: isFirst)
        }
    }

    /// Stores the time of the first signal, before the bit is set: sources of equal order are performed by that time. Most signals are alone
    /// when the loop takes them, and need no clock: see `RunLoopStorage.signalsTaken`.
    private func noteSignalTime(isAlone: Bool) { signalTime = isAlone ? 0 : Clock.now.nanoseconds }

    /// 1 from `signal` until a loop takes the signal, just before it performs the source. Stored in the header, in the field that timers
    /// use for their heap index, because that cache line is read anyway. Any thread.
    private var signalFlag: UnsafeMutablePointer<Atomic<UInt32>> {
        (UnsafeMutableRawPointer(self) + ItemHeader.positionOffset).assumingMemoryBound(to: Atomic<UInt32>.self)
    }

    /// Makes the loops check the flag of a source that is in no loop, in several, or in one where no slot was left.
    @inline(never)
    private func setPendingWithoutSlot(isFirst: Bool) {
        if isFirst { noteSignalTime(isAlone: false) }
        // The count comes first, so that a loop that takes the bits also finds the count changed, and searches its sources.
        SharedSignals.increment()
        markBitmaps()
    }

    /// Marks the bitmaps of the loops that this source is in, or was in last. Otherwise another source of such a loop, signalled later,
    /// would find the bitmap empty, and its signal would count as the only one, and so as the earlier one. Any thread, async-signal-safe.
    ///
    /// A registration may leave the list in the meantime and join that of another source. Then one loop has a bit too many, and another may
    /// have none: a loop to which the source was just added, or which it is about to leave.
    private func markBitmaps() {
        inlineRegistration.setPendingWithoutSlot()
        forEachRegistration { $0.setPendingWithoutSlot() }
    }

    /// Calls `body` for the source's registrations, without a lock: see `markBitmaps`. Any thread, async-signal-safe.
    func forEachRegistration(_ body: (RegistrationPointer) -> Void) {
        var next = registrations
        var left = Self.registrationsLookedAt
        while let registration = next, left > 0 {
            body(registration)
            next = registration.nextOfSource
            left -= 1
        }
    }

    /// The maximum number of registrations to visit, in case the list keeps changing.
    private static var registrationsLookedAt: Int { 1000 }

    /// Takes the signal. Returns true if there was one. If two loops take it at the same time, only one of them receives true. Called on
    /// the thread of a loop.
    @inline(__always)
    func takeSignal() -> Bool { RaceDetector.taken(signalFlag.pointee.exchange(0, ordering: .sequentiallyConsistent) != 0, at: self) }

    /// Whether there is a signal that has not been taken yet. Any thread, async-signal-safe.
    var isSignalled: Bool { signalFlag.pointee.load(ordering: .sequentiallyConsistent) != 0 }

    /// The source's registration if it is in exactly one loop. Any thread; stable while that loop's lock is held.
    var onlyRegistration: RegistrationPointer? {
        RegistrationPointer(bitPattern: pointee.onlyRegistration.load(ordering: .sequentiallyConsistent))
    }

    /// Stores for signallers which bit to set, and sets that bit if the source is signalled already. Called after every change of
    /// `registrations`, also for sources on descriptors. The caller holds the source's lock.
    func publishOnlyRegistration() {
        let only = registrations.flatMap { $0.nextOfSource == nil ? $0 : nil }
        pointee.onlyRegistration.store(UInt(bitPattern: only), ordering: .sequentiallyConsistent)
        if hasDescriptor { return }
        if isSignalled {
            if let only { return only.setPending() }
            SharedSignals.increment()
            // So that later signals of other sources in the loop to which this one was just added read the clock, and order behind this one.
            markBitmaps()
        }
    }
}
