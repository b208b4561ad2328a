import CLinux
import Synchronization

/// Annotations for race detectors that watch a program which uses this library. ThreadSanitizer sees only what the program does, not the
/// library; Helgrind and DRD see everything, but know only pthread's locks. Both would report false races for data that threads pass
/// through the library. So the library declares the order: `happensBefore` where a thread hands something over, `happensAfter` where
/// another takes it.
///
/// Without a detector this costs two instructions. With one, all locks take their slow paths, which end in `Mutex`, whose annotations cover
/// all that the locks guard.
enum RaceDetector {
    /// Looks for Valgrind's tools. To be called before the first lock is made. ThreadSanitizer is detected when the library is loaded.
    static func look() { linux_look_for_valgrind() }

    /// Whether there is a detector. Costs two instructions. Any thread, async-signal-safe.
    static var isWatching: Bool { linux_is_watched() != 0 }

    /// Everything this thread has done happens before what another thread does after `happensAfter` with the same address.
    static func happensBefore(_ address: UnsafeRawPointer) {
        if isWatching { linux_happens_before(address) }
    }

    /// The receiving side of `happensBefore`.
    static func happensAfter(_ address: UnsafeRawPointer) {
        if isWatching { linux_happens_after(address) }
    }

    /// Returns `taken`, after `happensAfter` if it is true.
    static func taken(_ taken: Bool, at address: UnsafeRawPointer) -> Bool {
        if isWatching && taken { linux_happens_after(address) }
        return taken
    }

    /// For a thread that takes what is at `address` and leaves something new there, under a lock without annotations: both sides at once.
    static func handsOver(_ address: UnsafeRawPointer) {
        happensAfter(address)
        happensBefore(address)
    }

    /// `handsOver` for a thread that is going to append one element to `list`. A detector knows of memory that is allocated and freed, so
    /// the list gets room for the element before the other threads are told that they come later.
    @inline(never)
    static func handsOver<Element>(_ address: UnsafeRawPointer, enlarging list: inout PlainList<Element>) {
        happensAfter(address)
        _ = list.reserve(list.count + 1)
        happensBefore(address)
    }

    /// `happensBefore` with the address of an atomic, which never moves.
    static func happensBefore(_ word: borrowing Atomic<UInt32>) {
        if isWatching { linux_happens_before(withUnsafePointer(to: word) { UnsafeRawPointer($0) }) }
    }

    /// `happensAfter` with the address of an atomic, which never moves.
    static func happensAfter(_ word: borrowing Atomic<UInt32>) {
        if isWatching { linux_happens_after(withUnsafePointer(to: word) { UnsafeRawPointer($0) }) }
    }
}
