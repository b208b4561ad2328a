import CLinux
import Synchronization

/// Annotations for race detectors that watch a program which uses this library. ThreadSanitizer sees only what the program does, not the
/// library (unless both are built with it); Helgrind and DRD see everything, but know only the locks of pthreads. All of them would report
/// false races for data that threads pass through the library. So the library declares the order: `happensBefore` where a thread hands
/// something over, `happensAfter` where another thread receives it. Any thread. Calls no user code.
///
/// Without a detector, each of these two costs two instructions. With one, all locks take their slow paths, which end in `Mutex`, whose
/// annotations cover everything that the locks guard.
enum RaceDetector {
    /// Looks for Valgrind's tools. Called before the first lock is created. A program's ThreadSanitizer is detected when the library is
    /// loaded.
    static func detect() { linux_detect_valgrind() }

    /// Whether a detector watches the process. Costs two instructions. Any thread, async-signal-safe.
    static var isWatching: Bool { linux_is_watched() != 0 }

    /// Declares that all that this thread has done happens before what another thread does after `happensAfter` with the same address.
    static func happensBefore(_ address: UnsafeRawPointer) {
        if isWatching { linux_happens_before(address) }
    }

    /// Declares the receiving side of `happensBefore`, with the same address.
    static func happensAfter(_ address: UnsafeRawPointer) {
        if isWatching { linux_happens_after(address) }
    }

    /// Returns `taken`, after a call of `happensAfter` if it is true.
    static func taken(_ taken: Bool, at address: UnsafeRawPointer) -> Bool {
        if isWatching && taken { linux_happens_after(address) }
        return taken
    }

    /// Declares both sides, for a thread that takes what is at `address` and leaves something new there, under a lock without annotations.
    static func handsOver(_ address: UnsafeRawPointer) {
        happensAfter(address)
        happensBefore(address)
    }

    /// Does what `handsOver` does, for a thread that is about to append an element to `list`. Detectors track allocating and freeing
    /// memory, so the list allocates room for the element before the order is declared to the threads that come later.
    /// Not inlined: where messages are appended, this is a test and a call.
    @inline(never)
    static func handsOver<Element>(_ address: UnsafeRawPointer, enlarging list: inout PlainList<Element>) {
        happensAfter(address)
        _ = list.reserve(list.count + 1)
        happensBefore(address)
    }

    /// Reports to ThreadSanitizer that the calling thread has locked the lock whose state is in `word`, so that it finds locks that are
    /// locked in different orders. Empty unless the library itself is built with ThreadSanitizer. `word` is the lock's identity and must
    /// not move.
    static func noteLock(_ word: borrowing Atomic<UInt32>) { linux_note_lock(withUnsafePointer(to: word) { UnsafeRawPointer($0) }) }

    /// Reports to ThreadSanitizer that the calling thread is about to unlock the lock whose state is in `word`: see `noteLock`.
    static func noteUnlock(_ word: borrowing Atomic<UInt32>) { linux_note_unlock(withUnsafePointer(to: word) { UnsafeRawPointer($0) }) }

    /// Declares `happensBefore` with the address of an atomic, which never moves.
    static func happensBefore(_ word: borrowing Atomic<UInt32>) {
        if isWatching { linux_happens_before(withUnsafePointer(to: word) { UnsafeRawPointer($0) }) }
    }

    /// Declares `happensAfter` with the address of an atomic, which never moves.
    static func happensAfter(_ word: borrowing Atomic<UInt32>) {
        if isWatching { linux_happens_after(withUnsafePointer(to: word) { UnsafeRawPointer($0) }) }
    }
}
