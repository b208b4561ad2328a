import CLinux
import CLinuxKit
import Synchronization

/// The kernel's information about the latest signal of a number. Signal handlers on several threads write it and loops read it, at any time
/// and without waiting for each other. A handler that finds a slot in use takes the next one, and there are more slots than are in use at
/// once in practice.
struct LatestSignal: ~Copyable {
    /// A copy of a siginfo_t, with the sequence number of its signal.
    private struct Slot: ~Copyable {
        /// 1 while a thread reads or writes the rest.
        let isInUse: Atomic<UInt32>
        /// The sequence number; 0 if nothing was written yet.
        var number: UInt
        var information: siginfo_t
    }

    private typealias SlotPointer = UnsafeMutablePointer<Slot>

    /// A reader may hold one slot, and a handler that interrupts it or runs concurrently takes another. Further handlers at the same
    /// instant take the rest. One that finds no free slot belongs to one of several simultaneous signals, any of which may count as the
    /// latest.
    private static var slotCount: UInt { 4 }
    private let slots: SlotPointer
    /// The number of signals so far. Any thread.
    private let count: Atomic<UInt>

    /// Allocates the slots. nil if out of memory.
    init?() {
        guard let memory = calloc(Int(Self.slotCount), MemoryLayout<Slot>.stride) else { return nil }
        slots = memory.assumingMemoryBound(to: Slot.self)
        count = Atomic(0)
    }

    /// Runs only if the rest of a `CaughtSignal` could not be created: handlers may use a complete one at any time.
    deinit { free(slots) }

    /// Records a signal. Async-signal-safe.
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

    /// Copies the information about the latest signal; leaves the memory alone if there is none. Any thread.
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
