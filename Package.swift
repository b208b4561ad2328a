// swift-tools-version: 6.0
import PackageDescription

// The same sources make two things. `swift build` and `swift test` compile them as ordinary Swift: for white-box
// tests, sanitizers and coverage. The product that C programs link is Embedded Swift, needs nothing of Swift at run
// time and is made by `make`, because SwiftPM cannot pass a linker version script or build a C library's symlinks.
// RUNLOOP_EMBEDDED=1 compiles the core as Embedded here too, to see whether it still can be.
let embedded = Context.environment["RUNLOOP_EMBEDDED"] == "1"

// Every module that includes the system's headers must see the same ones, those of Swift's own Glibc module too.
let systemHeaders: [SwiftSetting] = [.unsafeFlags(["-Xcc", "-D_GNU_SOURCE"])]
let coreSettings: [SwiftSetting] =
    systemHeaders + [.enableExperimentalFeature("Extern")]
    + (embedded ? [.enableExperimentalFeature("Embedded"), .unsafeFlags(["-wmo"])] : [])

let package = Package(
    name: "RunLoop",
    products: [.library(name: "RunLoopCore", targets: ["RunLoopCore"])],
    targets: [
        .target(name: "CLinux", path: "Sources/CLinux", linkerSettings: [.linkedLibrary("bsd")]),
        .target(name: "CRunLoop", path: "Sources/CRunLoop", publicHeadersPath: "include"),
        .target(name: "RunLoopCore", dependencies: ["CLinux", "CRunLoop"], swiftSettings: coreSettings),
        // librunloop-kit: of the core only three files that know nothing of run loops, which are links in its folder Shared.
        .target(name: "CLinuxKit", dependencies: ["CLinux"], path: "Sources/CLinuxKit"),
        .target(name: "CRunLoopKit", dependencies: ["CRunLoop"], path: "Sources/CRunLoopKit"),
        .target(
            name: "RunLoopKit", dependencies: ["CLinux", "CLinuxKit", "CRunLoop", "CRunLoopKit"], exclude: ["exports.map"],
            swiftSettings: coreSettings),
    ]
        + (embedded
            ? []
            : [.testTarget(name: "RunLoopCoreTests", dependencies: ["RunLoopCore", "CLinux", "CRunLoop"], swiftSettings: systemHeaders)])
)
