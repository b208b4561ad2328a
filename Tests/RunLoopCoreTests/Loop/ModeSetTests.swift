import CRunLoop
import Testing

@testable import RunLoopCore

/// Compares the modes of items with dictionaries. There are more modes than bits in one word of a bit set.
@Suite struct ModeSetTests {
    private static let modeCount = 70

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func agreesWithDictionary(seed: UInt64) {
        let problem = onThread { Self.run(seed: seed, steps: scaled(400)) }
        #expect(problem == nil)
    }

    private struct Member {
        /// The item's modes, by number; -1 is the common modes.
        var modes: Set<Int> = []
        var keepsMode = true
    }

    private static func run(seed: UInt64, steps: Int) -> String? {
        var random = Random(seed: seed)
        let bench = Bench()
        let loop = bench.loop
        let modes = (0..<modeCount).map { $0 == 0 ? kRLRunLoopDefaultMode! : bench.mode("mode \($0)") }
        let items: [OpaquePointer] = (0..<12).map { index in
            switch index % 3 {
            case 0: bench.source("s\(index)")
            case 1: bench.timer("t\(index)", secondsAgo: -1e6)
            default: bench.observer("o\(index)", 1)
            }
        }
        var members = [Member](repeating: Member(), count: items.count)
        var common: Set<Int> = [0]

        func handle(_ mode: Int) -> OpaquePointer { mode < 0 ? kRLRunLoopCommonModes : modes[mode] }
        func add(_ item: Int, _ mode: Int) {
            switch item % 3 {
            case 0: RLRunLoopAddSource(loop, items[item], handle(mode))
            case 1: RLRunLoopAddTimer(loop, items[item], handle(mode))
            default: RLRunLoopAddObserver(loop, items[item], handle(mode))
            }
        }
        func remove(_ item: Int, _ mode: Int) {
            switch item % 3 {
            case 0: RLRunLoopRemoveSource(loop, items[item], handle(mode))
            case 1: RLRunLoopRemoveTimer(loop, items[item], handle(mode))
            default: RLRunLoopRemoveObserver(loop, items[item], handle(mode))
            }
        }
        func keep(_ item: Int, _ keeps: Bool) {
            switch item % 3 {
            case 0: RLRunLoopSourceSetKeepsModeRunning(items[item], keeps ? 1 : 0)
            case 1: RLRunLoopTimerSetKeepsModeRunning(items[item], keeps ? 1 : 0)
            default: break
            }
        }
        func contains(_ item: Int, _ mode: Int) -> Bool {
            switch item % 3 {
            case 0: RLRunLoopContainsSource(loop, items[item], handle(mode)) != 0
            case 1: RLRunLoopContainsTimer(loop, items[item], handle(mode)) != 0
            default: RLRunLoopContainsObserver(loop, items[item], handle(mode)) != 0
            }
        }

        for step in 0..<steps {
            let item = random.below(items.count)
            // Mostly a few modes, so that memberships coincide.
            let mode = random.chance(20) ? -1 : random.chance(70) ? random.below(4) : random.below(modeCount)
            switch random.below(20) {
            case 0...10:
                add(item, mode)
                members[item].modes.insert(mode)
                if mode < 0 { members[item].modes.formUnion(common) }
            case 11...17:
                remove(item, mode)
                if members[item].modes.contains(mode) {
                    members[item].modes.remove(mode)
                    if mode < 0 { members[item].modes.subtract(common) }
                }
            case 18 where mode >= 0:
                RLRunLoopAddCommonMode(loop, modes[mode])
                if common.insert(mode).inserted {
                    for index in members.indices where members[index].modes.contains(-1) { members[index].modes.insert(mode) }
                }
            case 19:
                members[item].keepsMode.toggle()
                keep(item, members[item].keepsMode)
            default: break
            }
            let looked = step % 40 == 0 ? Array(-1..<modeCount) : [mode]
            for mode in looked {
                for item in items.indices where contains(item, mode) != members[item].modes.contains(mode) {
                    return "step \(step): item \(item) in mode \(mode): \(contains(item, mode))"
                }
                if mode < 0 { continue }
                // A mode is empty if it has no source and no timer; observers, and items that do not keep the mode running, do not count.
                let isEmpty = !members.indices.contains { $0 % 3 != 2 && members[$0].keepsMode && members[$0].modes.contains(mode) }
                if (bench.pass(modes[mode]) == 1) != isEmpty { return "step \(step): mode \(mode) is empty: \(isEmpty)" }
            }
            if let problem = counts(bench.loop!) { return "step \(step): \(problem)" }
        }
        return nil
    }

    /// Checks that sets are unique, and that each mode lists exactly the sets that contain it. Returns the first error.
    private static func counts(_ handle: OpaquePointer) -> String? {
        let loop: RunLoopPointer = Handle.storage(UnsafeRawPointer(handle))
        for number in 1..<loop.pointee.modes.count {
            guard let mode = loop.pointee.modes[number] else { return "no mode \(number)" }
            var known = Set<ModeSetPointer>()
            for index in 0..<mode.pointee.sets.count { known.insert(mode.pointee.sets[index]) }
            if known.count != mode.pointee.sets.count { return "mode \(number) has a set twice" }
            for index in 0..<loop.pointee.sets.count {
                let set = loop.pointee.sets[index]
                if set.pointee.modes.contains(number) != known.contains(set) { return "mode \(number) and set \(index)" }
                let counts = (set.pointee.sourceCount, set.pointee.timerCount, set.pointee.unreferencedCount)
                if counts.0 < 0 || counts.1 < 0 || !(0...(counts.0 + counts.1) ~= counts.2) { return "counts of set \(index): \(counts)" }
            }
        }
        return nil
    }

    @Test func modesAreListedInTheOrderAdded() {
        let names = onThread { () -> [String] in
            let bench = Bench()
            for name in ["x", "y", "x", "z"] { RLRunLoopAddTimer(bench.loop, bench.timer("", secondsAgo: -1e6), bench.mode(name)) }
            let array = RLRunLoopCopyAllModes(bench.loop)
            defer { RLRelease(UnsafeRawPointer(array)) }
            return (0..<RLArrayGetCount(array)).map {
                String(cString: RLStringGetCStringPtr(OpaquePointer(RLArrayGetValueAtIndex(array, $0)), UInt32(kRLStringEncodingUTF8)))
            }
        }
        #expect(names == ["kCFRunLoopDefaultMode", "x", "y", "z"])
    }
}
