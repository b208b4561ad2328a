import CRunLoop
import Testing

@testable import RunLoopCore

/// Which callbacks are called in a pass and which have to wait for the next one: small versions of what random scripts have found.
@Suite struct TurnTests {
    /// RLRunLoopTimer.h promises "earlier dates first".
    @Test func pastTimersFireByDate() {
        let seen = Bench.log { bench in
            RLRunLoopAddTimer(bench.loop, bench.timer("T0", secondsAgo: 0.1), kRLRunLoopDefaultMode)
            bench.pass()
            RLRunLoopAddTimer(bench.loop, bench.timer("T1", secondsAgo: 0.5), kRLRunLoopDefaultMode)
            RLRunLoopAddTimer(bench.loop, bench.timer("T2", secondsAgo: 0.8), kRLRunLoopDefaultMode)
            bench.pass()
        }
        #expect(seen == ["T0", "T2", "T1"])
    }

    /// RLRunLoop.h says about AddSource: "one that is signalled already performs in the next pass".
    @Test func sourceAddedToTheModeWaitsForTheNextPass() {
        let seen = Bench.log { bench in
            let joining = bench.source("S1", order: 1)
            let first = bench.source("S0") { RLRunLoopAddSource(bench.loop, joining, kRLRunLoopDefaultMode) }
            RLRunLoopAddSource(bench.loop, joining, bench.mode("other"))
            RLRunLoopAddSource(bench.loop, first, kRLRunLoopDefaultMode)
            RLRunLoopSourceSignal(joining)
            RLRunLoopSourceSignal(first)
            bench.pass()
            bench.log.append("next")
            bench.pass()
        }
        #expect(seen == ["S0", "next", "S1"])
    }

    /// A source that is removed after the pass has chosen it is still performed, as in CFRunLoop.
    @Test func sourceRemovedFromTheModeKeepsItsTurn() {
        let seen = Bench.log { bench in
            let leaving = bench.source("S1", order: 1)
            let first = bench.source("S0") { RLRunLoopRemoveSource(bench.loop, leaving, kRLRunLoopDefaultMode) }
            RLRunLoopAddSource(bench.loop, leaving, bench.mode("other"))
            RLRunLoopAddSource(bench.loop, leaving, kRLRunLoopDefaultMode)
            RLRunLoopAddSource(bench.loop, first, kRLRunLoopDefaultMode)
            RLRunLoopSourceSignal(leaving)
            RLRunLoopSourceSignal(first)
            bench.pass()
        }
        #expect(seen == ["S0", "S1"])
    }

    @Test func removedSourceDoesNotPerformInALaterRun() {
        let seen = Bench.log { bench in
            let other = bench.mode("other")
            let leaving = bench.source("S1", order: 1)
            let staying = bench.source("S2", order: 2)
            let first = bench.source("S0") {
                RLRunLoopRemoveSource(bench.loop, leaving, other)
                bench.pass(other)
            }
            RLRunLoopAddSource(bench.loop, leaving, other)
            RLRunLoopAddSource(bench.loop, staying, other)
            RLRunLoopAddSource(bench.loop, first, kRLRunLoopDefaultMode)
            RLRunLoopSourceSignal(leaving)
            RLRunLoopSourceSignal(first)
            bench.pass()
        }
        #expect(seen == ["S0"])
    }

    /// The source was performed in the previous pass, and nothing of that may be left over.
    @Test func sourceSignalledInThePassWaitsForTheNext() {
        let seen = Bench.log { bench in
            let second = bench.source("S1", order: 1)
            let third = bench.source("S2", order: 2)
            let first = bench.source("S0") { if bench.log.contains("next") { RLRunLoopSourceSignal(second) } }
            for source in [first, second, third] { RLRunLoopAddSource(bench.loop, source, kRLRunLoopDefaultMode) }
            RLRunLoopSourceSignal(first)
            RLRunLoopSourceSignal(second)
            bench.pass()
            bench.log.append("next")
            RLRunLoopSourceSignal(first)
            RLRunLoopSourceSignal(third)
            bench.pass()
            bench.log.append("last")
            bench.pass()
        }
        #expect(seen == ["S0", "S1", "next", "S0", "S2", "last", "S1"])
    }

    /// All ports reported by one poll are called, even if their data has been read since. RLRunLoopSource.h documents this difference.
    @Test func sourcesReadyAtTheSameTimeAreAllCalled() {
        let seen = Bench.log { bench in
            let pipes = [Pipe(), Pipe()]
            // The first callback empties both pipes.
            func empty() { for pipe in pipes { pipe.take() } }
            for (index, pipe) in pipes.enumerated() {
                pipe.put()
                RLRunLoopAddSource(
                    bench.loop, bench.port("P\(index)", pipe.readEnd) { if bench.log.count == 1 { empty() } }, kRLRunLoopDefaultMode)
            }
            let idle = bench.observer("", 32) { RLRunLoopStop(bench.loop) }
            RLRunLoopAddObserver(bench.loop, idle, kRLRunLoopDefaultMode)
            RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 0)
            bench.log.removeAll { $0 == "" }
        }
        #expect(seen == ["P0", "P1"] || seen == ["P1", "P0"])
    }
}
