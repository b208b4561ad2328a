import CLinux
import Synchronization

// Signalling a version-0 source, from any thread and from signal handlers, and taking the signal in the thread of a loop.
extension SourcePointer {
    /// RLRunLoopSourceSignal: sets the flag first, then the bit that makes the loop look at the flag. A thread that adds the source to
    /// a loop publishes the registration first, then looks at the flag. All four are sequentially consistent, so one of the two
    /// sees what the other did. Any thread, async-signal-safe.
    @inline(__always)
    func signal() {
        if RaceDetector.isWatching { signalWatched() } else { signalUnwatched() }
    }

    private func signalWatched() {
        RaceDetector.happensBefore(self)
        signalUnwatched()
    }

    /// `signal` without telling a race detector. On the usual path only its last statement may be a call: then it need not save
    /// registers.
    @inline(__always)
    private func signalUnwatched() {
        let isFirst = signalFlag.pointee.exchange(1, ordering: .sequentiallyConsistent) == 0
        let slot = inlineRegistration.onlySlot
        guard slot < UInt32(PendingSignals.nearSlots), let pendingSignals = inlineRegistration.pendingSignals else {
            return setPendingSlow(slot, isFirst: isFirst)
        }
        let bits = pendingSignals.pointee.nearBitsForSetting
        if isFirst {
            if bits != 0 { return setPendingWithTime(slot) }
            signalTime = 0
        }
        pendingSignals.pointee.setNear(slot, besides: bits)
    }

    /// Notes the time of the signal, then sets the bit: sources of equal order are performed by the time of their first signal. Most
    /// signals are alone when the loop takes them, and need no clock: see `RunLoopStorage.signalsTaken`.
    private func setPendingWithTime(_ slot: UInt32) {
        noteSignalTimeByClock()
        inlineRegistration.setPending(slot)
    }

    private func noteSignalTimeByClock() { signalTime = Clock.now.nanoseconds }

    /// `signal`, not inlined.
    func signalSlow() { signal() }

    /// 1 from `signal` until a loop takes it, just before it performs the source. Stored in the header, in the field that timers use
    /// for their heap index: that cache line is read anyway. Any thread.
    private var signalFlag: UnsafeMutablePointer<Atomic<UInt32>> {
        (UnsafeMutableRawPointer(self) + ItemHeader.positionOffset).assumingMemoryBound(to: Atomic<UInt32>.self)
    }

    /// The rest of `signal` for a source without a near slot. `isFirst`: the flag was not set before.
    private func setPendingSlow(_ slot: UInt32, isFirst: Bool) {
        if isFirst {
            let isAlone = slot != Registration.noSlot && !inlineRegistration.loopHasPendingSignals
            if isAlone { signalTime = 0 } else { noteSignalTimeByClock() }
        }
        if slot != Registration.noSlot {
            inlineRegistration.setPending(slot)
        } else if let registration = onlyRegistration {
            registration.setPending()
        } else {
            // The source is in no loop, or in several. Counted first: then a loop that takes the bits has looked at the source.
            SharedSignals.increment()
            setPendingWithoutSlot()
        }
    }

    /// Marks the bitmaps of loops that this source is in, or was in last. Otherwise another source of such a loop that is signalled later
    /// would find its bitmap empty: its signal would count as the only one, and so as the earlier one. Any thread, async-signal-safe.
    ///
    /// A registration may leave the list meanwhile and come into that of another source. Then one loop has a bit too many, and another may
    /// have none: a loop that the source was just added to, or is about to leave.
    private func setPendingWithoutSlot() {
        inlineRegistration.setPendingWithoutSlot()
        var next = registrations
        var left = Self.registrationsLookedAt
        while let registration = next, left > 0 {
            registration.setPendingWithoutSlot()
            next = registration.nextOfSource
            left -= 1
        }
    }

    /// The most registrations to look at, in case the list keeps changing.
    private static var registrationsLookedAt: Int { 1000 }

    /// Prefetches what `signal` reads first. Call it shortly before; any address will do.
    static func prefetchSignal(_ handle: OpaquePointer?) {
        if let handle { linux_prefetch(UnsafeRawPointer(handle) + 64) }
    }

    /// Clears the signal; true if there was one. Of two loops that take it at the same time only one gets true. A loop's thread.
    @inline(__always)
    func takeSignal() -> Bool { RaceDetector.taken(signalFlag.pointee.exchange(0, ordering: .sequentiallyConsistent) != 0, at: self) }

    /// Whether a signal has not been taken yet. Any thread, async-signal-safe.
    var isSignalled: Bool { signalFlag.pointee.load(ordering: .sequentiallyConsistent) != 0 }

    /// The source's registration if it is in exactly one loop. Any thread; stable under that loop's lock.
    var onlyRegistration: RegistrationPointer? {
        RegistrationPointer(bitPattern: pointee.onlyRegistration.load(ordering: .sequentiallyConsistent))
    }

    /// Stores for signallers which bit to set, and sets it if the source is signalled already. Under the source's lock, after every
    /// change of `registrations`; also for sources on descriptors.
    func publishOnlyRegistration() {
        let only = registrations.flatMap { $0.nextOfSource == nil ? $0 : nil }
        pointee.onlyRegistration.store(UInt(bitPattern: only), ordering: .sequentiallyConsistent)
        if hasDescriptor { return }
        inlineRegistration.onlySlot = only == inlineRegistration ? inlineRegistration.slot : Registration.noSlot
        if isSignalled {
            if let only { only.setPending() } else { SharedSignals.increment() }
        }
    }
}
