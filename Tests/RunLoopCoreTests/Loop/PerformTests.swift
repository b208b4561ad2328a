import CLinux
import CRunLoop
import Synchronization
import Testing

@testable import RunLoopCore

/// Compares the functions sent to a loop with a plain queue.
@Suite struct PerformTests {
    private struct Queued {
        var number: Int
        /// The mode; nil for the common modes.
        var mode: Int?
    }

    private final class Record {
        var called: [Int] = []
    }

    private final class Entry {
        let record: Record
        let number: Int
        init(_ record: Record, _ number: Int) { (self.record, self.number) = (record, number) }
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func agreesWithQueue(seed: UInt64) {
        let problem = onThread { Self.run(seed: seed, steps: scaled(3_000)) }
        #expect(problem == nil)
    }

    private static func run(seed: UInt64, steps: Int) -> String? {
        var random = Random(seed: seed)
        let loop = RLRunLoopGetCurrent()
        let modes = [kRLRunLoopDefaultMode!, RLStringMakeConstant("one")!, RLStringMakeConstant("two")!]
        let record = Record()
        let entries = (0..<20).map { Entry(record, $0) }
        var common: Set<Int> = [0]
        var queue: [Queued] = []
        func info(_ number: Int) -> UnsafeMutableRawPointer { Unmanaged.passUnretained(entries[number]).toOpaque() }
        for step in 0..<steps {
            let number = random.below(entries.count)
            let mode: Int? = random.chance(25) ? nil : random.below(modes.count)
            switch random.below(20) {
            case 0...11:
                let name = mode.map { modes[$0] } ?? kRLRunLoopCommonModes
                guard
                    RLRunLoopPerformFunction(
                        loop, UnsafeRawPointer(name),
                        {
                            let entry = Unmanaged<Entry>.fromOpaque($0!).takeUnretainedValue()
                            entry.record.called.append(entry.number)
                        }, info(number)) == 1
                else { return "step \(step): refused" }
                queue.append(Queued(number: number, mode: mode))
            case 12...14:
                let count = RLRunLoopCancelPerformFunction(loop, nil, info(number))
                let expected = queue.filter { $0.number == number }.count
                if count != expected { return "step \(step): \(count) cancelled instead of \(expected)" }
                queue.removeAll { $0.number == number }
            case 15 where step > steps / 2:
                guard let mode else { break }
                RLRunLoopAddCommonMode(loop, modes[mode])
                common.insert(mode)
            default:
                let running = random.below(modes.count)
                func matches(_ queued: Queued) -> Bool { queued.mode == running || (queued.mode == nil && common.contains(running)) }
                record.called = []
                let result = RLRunLoopRunInMode(modes[running], 0, 0)
                let expected = queue.filter(matches).map(\.number)
                if record.called != expected { return "step \(step): \(record.called) instead of \(expected)" }
                if (result == 1) != expected.isEmpty { return "step \(step): result \(result) with \(expected.count) functions" }
                queue.removeAll(where: matches)
            }
        }
        return nil
    }

    @Test func functionsOfModeArraysRunInEachMode() {
        let seen = Bench.log { bench in
            var callBacks = kRLTypeArrayCallBacks
            var names = ["one", "two"].map { UnsafeRawPointer(bench.mode($0)) as UnsafeRawPointer? }
            let array = RLArrayCreate(nil, &names, names.count, &callBacks)!
            _ = bench.perform("F0", in: array)
            _ = bench.perform("F1", in: array)
            RLRelease(UnsafeRawPointer(array))
            for mode in ["three", "two", "one"] { bench.log.append("\(mode) \(bench.pass(bench.mode(mode)))") }
        }
        #expect(seen == ["three 1", "F0", "F1", "two 3", "one 1"])
    }

    /// Whatever many threads send arrives exactly once, and the functions of each thread arrive in order.
    @Test func noFunctionIsLostBetweenThreads() {
        let producers = 3
        let each = scaled(8_000)
        let problem = onThread { () -> String? in
            let loop = RLRunLoopGetCurrent()
            let record = Record()
            let entries = (0..<(producers * each)).map { Entry(record, $0) }
            let threads = (0..<producers).map { producer in
                spawn {
                    for turn in 0..<each {
                        let info = Unmanaged.passUnretained(entries[producer * each + turn]).toOpaque()
                        _ = RLRunLoopPostFunction(
                            loop, UnsafeRawPointer(kRLRunLoopDefaultMode!),
                            {
                                let entry = Unmanaged<Entry>.fromOpaque($0!).takeUnretainedValue()
                                entry.record.called.append(entry.number)
                            }, info)
                    }
                }
            }
            // A timer that is never due keeps the mode from being empty.
            let timer = RLRunLoopTimerCreate(nil, 1e12, 0, 0, 0, { _, _ in }, nil)
            RLRunLoopAddTimer(loop, timer, kRLRunLoopDefaultMode)
            while record.called.count < entries.count { RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.05, 0) }
            for thread in threads { thread.join() }
            RLRelease(UnsafeRawPointer(timer))
            for producer in 0..<producers {
                let own = record.called.filter { $0 / each == producer }
                if own != Array((producer * each)..<((producer + 1) * each)) { return "producer \(producer)" }
            }
            return record.called.count == entries.count ? nil : "\(record.called.count) calls"
        }
        #expect(problem == nil)
    }

    @Test func inboxRequestsOneWakeUp() {
        let inbox = Pinned(PerformInbox())
        inbox.pointer.setOpen(true)
        let request = PerformRequest(UnsafeRawPointer(kRLRunLoopDefaultMode!), { _ in }, nil)
        func leave(wakes: Bool) -> PerformInbox.Outcome { inbox.pointer.enqueue(request, wakes: wakes) }
        #expect(inbox.pointer.isEmpty == true)
        #expect(leave(wakes: false) == .queued)
        #expect(leave(wakes: true) == .queuedAndWakeNeeded)
        #expect(leave(wakes: true) == .queued, "the loop is on its way")
        var list = PlainList<PerformRequest>()
        #expect(inbox.pointer.empty(into: &list, room: 0) == true)
        #expect(list.count == 3)
        #expect(inbox.pointer.isEmpty == true)
        #expect(leave(wakes: true) == .queuedAndWakeNeeded)
        #expect(inbox.pointer.empty(into: &list, room: 0) == true)
        #expect(list.count == 4, "behind what is there")
        inbox.pointer.setOpen(false)
        systemError = 0
        let outcome = leave(wakes: true)
        let error = systemError
        #expect(outcome == .failed)
        #expect(error == ESRCH)
    }

    @Test func cancelReachesTheRunningBatch() {
        let seen = Bench.log { bench in
            var infos: [UnsafeMutableRawPointer] = []
            infos.append(
                bench.perform("F0", in: kRLRunLoopDefaultMode) {
                    let count = RLRunLoopCancelPerformFunction(bench.loop, nil, infos[2])
                    bench.log.append("cancelled \(count)")
                    bench.pass()
                })
            infos.append(bench.perform("F1", in: kRLRunLoopDefaultMode))
            infos.append(bench.perform("F2", in: kRLRunLoopDefaultMode))
            bench.pass()
        }
        #expect(seen == ["F0", "cancelled 1", "F1"], "and a run inside of a function does not see the rest")
    }

    private final class LongQueue {
        static let first = 4_096
        static let posted = 50_000
        var called = 0
        var largest = 0
    }

    /// Functions posted while passes work through a long queue stay in the inbox until the end of that queue. Moving them behind the rest
    /// in each pass would make a pass as long as everything that is waiting.
    @Test func postsWaitInTheInboxWhileALongQueueRuns() {
        let queue = onThread {
            let queue = LongQueue()
            let info = Unmanaged.passUnretained(queue).toOpaque()
            let loop = RLRunLoopGetCurrent()
            for _ in 0..<LongQueue.first { RLRunLoopPerformFunction(loop, UnsafeRawPointer(kRLRunLoopDefaultMode), Self.takesTime, info) }
            while queue.called < LongQueue.first + LongQueue.posted {
                _ = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e9, 1)
            }
            return queue
        }
        #expect(queue.largest > 0)
        #expect(queue.largest <= LongQueue.first)
    }

    /// A slow function. The first call posts the others.
    private static let takesTime: RLRunLoopFunction = { info in
        let queue = Unmanaged<LongQueue>.fromOpaque(info!).takeUnretainedValue()
        let loop = RunLoopPointer(ThreadContextPointer.current!)
        queue.called += 1
        queue.largest = max(queue.largest, loop.pointee.batches[0].count)
        if queue.called == 1 {
            for _ in 0..<LongQueue.posted {
                RLRunLoopPerformFunction(
                    RLRunLoopGetCurrent(), UnsafeRawPointer(kRLRunLoopDefaultMode),
                    { info in
                        Unmanaged<LongQueue>.fromOpaque(info!).takeUnretainedValue().called += 1
                        RLRunLoopStop(RLRunLoopGetCurrent())
                    }, info)
            }
        }
        let end = Clock.now.advanced(by: 5_000)
        while Clock.now < end {}
    }
}
