import CLinux

/// ThreadSanitizer makes everything many times slower; tests do less then. With AddressSanitizer they do everything: `make check` has
/// no white-box tests without a sanitizer. The core is compiled without knowing of them, so the process is asked whether their
/// run-time library is in it.
enum Sanitizer {
    static let isSlow = symbol(nil, "__tsan_init") != nil
    static let isActive = isSlow || symbol(nil, "__asan_init") != nil
    /// What does not fit into memory ends a process with a sanitizer, unless it is told to let malloc(3) fail: Makefile.check.
    static let letsMallocFail = !isActive || getenv("ASAN_OPTIONS").map { String(cString: $0) } == "allocator_may_return_null=1"
}

/// dlsym(3). Glibc cannot be imported beside CLinux: both define fd_set, with different feature macros.
@_silgen_name("dlsym")
private func symbol(_ library: UnsafeMutableRawPointer?, _ name: UnsafePointer<CChar>) -> UnsafeMutableRawPointer?

/// How often to do something: `count` times, fewer under ThreadSanitizer.
func scaled(_ count: Int) -> Int { Sanitizer.isSlow ? max(1, count / 4) : count }

/// Memory of slabs and of PendingSignals is never freed, by design, and XCTest leaks a little; so leaks are not reported.
@_cdecl("__lsan_default_suppressions")
public func lsanDefaultSuppressions() -> UnsafePointer<CChar>? {
    suppressions.utf8Start.withMemoryRebound(to: CChar.self, capacity: 1) { $0 }
}

private let suppressions: StaticString = "leak:RunLoopCore4Slab\nleak:RunLoopCore14PendingSignals\nleak:PendingSignalsTests\nleak:XCTest\n"
