import CLinux
import Synchronization

/// ThreadSanitizer in a program that links this library: what the program does it sees, what the library does it does not. Helgrind and
/// DRD see all, and understand no lock that is not pthread's. Data that goes from thread to thread through the library, in good order, would be reported as races. So the library tells it
/// of the order: `happensBefore` where one thread leaves something, `happensAfter` where another takes it.
///
/// It costs two instructions where nobody watches. Where somebody does, locks take their slow ways, which all end in `Mutex`:
/// so what is guarded by any lock of a loop is told of there.
enum RaceDetector {
    /// ThreadSanitizer is known from the start. Before the first lock is made.
    static func look() { linux_look_for_valgrind() }

    /// Two instructions. Any thread, async-signal-safe.
    @inline(__always)
    static var isWatching: Bool { linux_is_watched() != 0 }

    /// What this thread did so far is before what another does after `happensAfter` with the same address.
    @inline(__always)
    static func happensBefore(_ address: UnsafeRawPointer) {
        if isWatching { linux_happens_before(address) }
    }

    /// See `happensBefore`.
    @inline(__always)
    static func happensAfter(_ address: UnsafeRawPointer) {
        if isWatching { linux_happens_after(address) }
    }

    /// `happensAfter` if something was taken, which is the result.
    @inline(__always)
    static func taken(_ taken: Bool, at address: UnsafeRawPointer) -> Bool {
        if isWatching && taken { linux_happens_after(address) }
        return taken
    }

    /// Both, for who takes what lies at `address`, and leaves something there: under a lock that is not told of itself.
    @inline(__always)
    static func handsOver(_ address: UnsafeRawPointer) {
        if isWatching { takeAndLeave(address) }
    }

    /// `handsOver` where it is known that somebody watches.
    @inline(never)
    static func takeAndLeave(_ address: UnsafeRawPointer) {
        linux_happens_after(address)
        linux_happens_before(address)
    }

    /// `happensBefore` for the word of a protocol, which never moves.
    @inline(__always)
    static func happensBefore(_ word: borrowing Atomic<UInt32>) {
        if isWatching { linux_happens_before(withUnsafePointer(to: word) { UnsafeRawPointer($0) }) }
    }

    /// `happensAfter` for the word of a protocol.
    @inline(__always)
    static func happensAfter(_ word: borrowing Atomic<UInt32>) {
        if isWatching { linux_happens_after(withUnsafePointer(to: word) { UnsafeRawPointer($0) }) }
    }
}
