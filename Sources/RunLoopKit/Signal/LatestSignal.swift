import CLinux
import CLinuxKit
import Synchronization

/// What the kernel said of the latest signal of a number. Written by signal handlers on several threads, read by loops, all at any time and
/// without waiting for each other: there are more slots than a handler will find in use, and a handler that finds one in use takes the
/// next.
struct LatestSignal: ~Copyable {
    /// A copy of a siginfo_t, and which of all it is.
    private struct Slot: ~Copyable {
        /// 1 while a thread reads or writes the rest.
        let isInUse: Atomic<UInt32>
        /// 0: nothing was written yet.
        var number: UInt
        var information: siginfo_t
    }

    private typealias SlotPointer = UnsafeMutablePointer<Slot>

    /// A reader may have one, and the handler that interrupts it, or runs beside it, takes another. Further handlers at the same instant
    /// have the rest; what finds none is one of four signals that came at once, each of which may be called the last.
    private static var slotCount: UInt { 4 }
    private let slots: SlotPointer
    /// How many signals have come.
    private let count: Atomic<UInt>

    /// nil if out of memory.
    init?() {
        guard let memory = calloc(Int(Self.slotCount), MemoryLayout<Slot>.stride) else { return nil }
        slots = memory.assumingMemoryBound(to: Slot.self)
        count = Atomic(0)
    }

    /// Only if the rest of a `CaughtSignal` could not be made: handlers may use a complete one at any time.
    deinit { free(slots) }

    /// Remembers a signal. Async-signal-safe.
    func note(_ information: UnsafePointer<siginfo_t>) {
        let number = count.wrappingAdd(1, ordering: .relaxed).newValue
        for offset in 0..<Self.slotCount {
            let slot = slots + Int((number &+ offset) % Self.slotCount)
            if slot.pointee.isInUse.exchange(1, ordering: .acquiring) != 0 { continue }
            let isNewer = slot.pointee.number < number
            if isNewer {
                slot.pointee.number = number
                slot.pointee.information = information.pointee
            }
            slot.pointee.isInUse.store(0, ordering: .releasing)
            if isNewer { return }
        }
    }

    /// Copies the latest signal. Any thread.
    func load(into information: UnsafeMutablePointer<siginfo_t>) {
        var latest: UInt = 0
        for index in 0..<Int(Self.slotCount) {
            let slot = slots + index
            if slot.pointee.isInUse.exchange(1, ordering: .acquiring) != 0 { continue }
            if slot.pointee.number > latest {
                latest = slot.pointee.number
                information.pointee = slot.pointee.information
            }
            slot.pointee.isInUse.store(0, ordering: .releasing)
        }
    }
}
