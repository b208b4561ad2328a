/// Sanitizers make everything many times slower; tests do less then. The core is compiled without knowing of them,
/// so the process is asked whether their run-time library is in it.
enum Sanitizer {
    static let isActive = symbol(nil, "__tsan_init") != nil || symbol(nil, "__asan_init") != nil
}

/// dlsym(3). Glibc cannot be imported beside CLinux: both define fd_set, with different feature macros.
@_silgen_name("dlsym")
private func symbol(_ library: UnsafeMutableRawPointer?, _ name: UnsafePointer<CChar>) -> UnsafeMutableRawPointer?

/// How often to do something: `count` times, fewer under a sanitizer.
func scaled(_ count: Int) -> Int { Sanitizer.isActive ? max(1, count / 4) : count }

/// Memory of slabs and of PendingSignals is never freed, by design, and XCTest leaks a little; so leaks are not reported.
@_cdecl("__lsan_default_suppressions")
public func lsanDefaultSuppressions() -> UnsafePointer<CChar>? {
    suppressions.utf8Start.withMemoryRebound(to: CChar.self, capacity: 1) { $0 }
}

private let suppressions: StaticString = "leak:RunLoopCore4Slab\nleak:RunLoopCore14PendingSignals\nleak:PendingSignalsTests\nleak:XCTest\n"
