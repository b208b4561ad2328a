import CLinux

/// ThreadSanitizer makes everything many times slower, so tests do less with it. With AddressSanitizer they do everything: `make check` has
/// no white-box tests without a sanitizer. The core is compiled without knowledge of sanitizers, so this checks whether their run-time
/// library is in the process.
enum Sanitizer {
    static let isSlow = symbol(nil, "__tsan_init") != nil
    static let isActive = isSlow || symbol(nil, "__asan_init") != nil
    /// An allocation that does not fit into memory ends a process with a sanitizer, unless malloc(3) is set to fail: see Makefile.check.
    static let letsMallocFail = !isActive || getenv("ASAN_OPTIONS").map { String(cString: $0) } == "allocator_may_return_null=1"
}

/// Declares dlsym(3). Glibc cannot be imported next to CLinux: both define fd_set, with different feature macros.
@_silgen_name("dlsym")
private func symbol(_ library: UnsafeMutableRawPointer?, _ name: UnsafePointer<CChar>) -> UnsafeMutableRawPointer?

/// Returns how often to do something: `count` times, or fewer under ThreadSanitizer.
func scaled(_ count: Int) -> Int { Sanitizer.isSlow ? max(1, count / 4) : count }

/// Turns leak reports off: memory of slabs and PendingSignals is never freed, by design, and XCTest leaks a little.
@_cdecl("__lsan_default_suppressions")
public func lsanDefaultSuppressions() -> UnsafePointer<CChar>? {
    suppressions.utf8Start.withMemoryRebound(to: CChar.self, capacity: 1) { $0 }
}

private let suppressions: StaticString = """
    leak:RunLoopCore4Slab
    leak:RunLoopCore14PendingSignals
    leak:PendingSignalsTests
    leak:FreeMapTests
    leak:XCTest

    """
