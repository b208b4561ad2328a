import CRunLoop
import Synchronization
import Testing

@testable import RunLoopCore

@Suite struct RegistryTests {
    @Test func oneLoopPerThread() {
        let seen = onThread { () -> [Bool] in
            let slot = Thread.slot == nil
            let loop = Registry.current
            let isSame = Registry.current == loop && loop != nil
            let isKnown = Thread.slot == UnsafeMutableRawPointer(loop)
            let other = onThread { Registry.current }
            return [slot, isSame, isKnown, other != loop, loop!.pointee.isOpen, loop!.isCurrent]
        }
        #expect(seen == [true, true, true, true, true, true])
    }

    @Test func simultaneousLoopsAreDistinct() {
        let count = 12
        let loops = Guarded<[UInt]>([])
        inParallel(count) { _ in
            let loop = UInt(bitPattern: Registry.current)
            loops.with { $0.append(loop) }
            while loops.with({ $0.count }) < count { pauseProcessor() }
        }
        #expect(Set(loops.with { $0 }).count == count)
    }

    /// Threads run one after the other: the memory of a loop is reused for the next thread, unless a reference to it is left.
    @Test func memoryIsRecycled() {
        var addresses = Set<UInt>()
        for _ in 0..<200 { addresses.insert(onThread { UInt(bitPattern: Registry.current) }) }
        #expect(addresses.count < 100, "other tests take loops too, but not that many")
    }

    @Test func retainedLoopIsNotRecycled() {
        let kept = onThread { () -> RunLoopPointer in
            let loop = Registry.current!
            _ = RLRetain(UnsafeRawPointer(loop))
            return loop
        }
        #expect(kept.pointee.isOpen == false)
        let isUsedAgain = (0..<20).contains { _ in onThread { Registry.current == kept } }
        #expect(!isUsedAgain)
        // Functions called with this loop do nothing.
        #expect(RLRunLoopIsWaiting(kept.handle) == 0)
        #expect(RLRunLoopCopyCurrentMode(kept.handle) == nil)
        RLRunLoopWakeUp(kept.handle)
        RLRunLoopStop(kept.handle)
        let done = RLRunLoopPerformFunction(kept.handle, UnsafeRawPointer(kRLRunLoopDefaultMode!), { _ in }, nil)
        let error = systemError
        #expect(done == 0)
        #expect(error == 3, "ESRCH")
        RLRelease(UnsafeRawPointer(kept))
    }

    @Test func recycledLoopIsEmpty() {
        for _ in 0..<20 {
            let seen = onThread { () -> [Int] in
                let loop = Registry.current!
                let before = [
                    loop.pointee.modes.count, loop.pointee.sets.count, loop.pointee.observers.count, loop.pointee.registrations.count,
                    loop.pointee.held.count, loop.pointee.activation.depth,
                ]
                // Leaves as much as possible behind.
                let bench = Bench()
                for name in ["a", "b", "c"] {
                    let source = bench.source(name)
                    RLRunLoopAddSource(bench.loop, source, bench.mode(name))
                    RLRunLoopSourceSignal(source)
                    RLRunLoopAddTimer(bench.loop, bench.timer(name, secondsAgo: 1), kRLRunLoopCommonModes)
                    RLRunLoopAddObserver(bench.loop, bench.observer(name, 255), bench.mode(name))
                    _ = bench.perform(name, in: bench.mode(name))
                }
                RLRunLoopStop(bench.loop)
                return before
            }
            // The default mode is registered, and nothing is in front of it, in the slot of the common modes.
            #expect(seen == [2, 0, 0, 0, 0, 0])
        }
    }

    @Test func threadExitReleasesTheItemsOfTheLoop() {
        let releases = Pinned(Atomic<Int>(0))
        let raw = UnsafeMutableRawPointer(releases.pointer)
        onThread {
            let release: @convention(c) (UnsafeRawPointer?) -> Void = {
                UnsafeMutableRawPointer(mutating: $0!).assumingMemoryBound(to: Atomic<Int>.self).pointee.add(1, ordering: .relaxed)
            }
            let loop = RLRunLoopGetCurrent()
            var source = RLRunLoopSourceContext()
            (source.info, source.release) = (raw, release)
            var timer = RLRunLoopTimerContext()
            (timer.info, timer.release) = (raw, release)
            var observer = RLRunLoopObserverContext()
            (observer.info, observer.release) = (raw, release)
            let items = [
                RLRunLoopSourceCreate(nil, 0, &source), RLRunLoopTimerCreate(nil, 1e9, 1, 0, 0, { _, _ in }, &timer),
                RLRunLoopObserverCreate(nil, 1, 1, 0, { _, _, _ in }, &observer),
            ]
            RLRunLoopAddSource(loop, items[0], kRLRunLoopCommonModes)
            RLRunLoopAddTimer(loop, items[1], kRLRunLoopCommonModes)
            RLRunLoopAddObserver(loop, items[2], kRLRunLoopCommonModes)
            for item in items { RLRelease(UnsafeRawPointer(item)) }
            _ = RLRunLoopPerformFunctionWithRelease(
                loop, UnsafeRawPointer(kRLRunLoopDefaultMode!), { _ in }, raw,
                { $0!.assumingMemoryBound(to: Atomic<Int>.self).pointee.add(1, ordering: .relaxed) })
        }
        #expect(releases.pointer.pointee.load(ordering: .relaxed) == 4)
    }
}
