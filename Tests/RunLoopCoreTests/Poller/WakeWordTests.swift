import CLinux
import Synchronization
import Testing

@testable import RunLoopCore

/// Every transition of the word, with the writes to the eventfd that it causes.
@Suite struct WakeWordTests {
    private final class Bench {
        let word = Pinned(WakeWord())
        let descriptor = try! EventDescriptor.create()

        deinit { Descriptor.close(descriptor) }

        var wake: UnsafeMutablePointer<WakeWord> { word.pointer }

        func goToSleep() -> Bool { wake.pointee.goToSleep(inEpoll: descriptor) }

        /// Returns how often the eventfd was written to since the last call.
        func writes() -> UInt64 {
            var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard CLinux.poll(&poll, 1, 0) == 1 else { return 0 }
            var count: UInt64 = 0
            return read(descriptor, &count, 8) == 8 ? count : 0
        }

        /// The pending and sleeping flags.
        var state: [Bool] { [wake.pointee.isPending, wake.pointee.isSleeping] }
    }

    private let awake = [false, false]
    private let pending = [true, false]
    private let sleeping = [false, true]

    @Test func transitionsFromAwake() {
        let bench = Bench()
        #expect(bench.state == awake)
        #expect(bench.wake.pointee.takePending() == false)
        bench.wake.pointee.adjust()
        #expect(bench.state == awake, "no wake-up")
        #expect(bench.goToSleep() == false, "what the loop was going to sleep for has changed")
        #expect(bench.wake.pointee.wakeFromSleep() == .adjusted)
        #expect(bench.goToSleep())
        #expect(bench.wake.pointee.wakeFromSleep() == .nothing)
        bench.wake.pointee.wakeUp()
        #expect(bench.state == pending)
        #expect(bench.writes() == 0, "a loop that is awake needs no system call")
    }

    @Test func transitionsFromPending() {
        let bench = Bench()
        bench.wake.pointee.wakeUp()
        bench.wake.pointee.wakeUp()
        bench.wake.pointee.adjust()
        #expect(bench.state == pending)
        #expect(bench.goToSleep() == false)
        #expect(bench.state == pending, "a refused sleep keeps the wake-up")
        #expect(bench.wake.pointee.takePending() == true)
        #expect(bench.state == awake)
        #expect(bench.wake.pointee.takePending() == false, "taken once")
        #expect(bench.writes() == 0)
    }

    @Test func transitionsFromSleeping() {
        let bench = Bench()
        #expect(bench.goToSleep())
        #expect(bench.state == sleeping)
        #expect(bench.wake.pointee.takePending() == false)
        #expect(bench.wake.pointee.wakeFromSleep() == .nothing)
        #expect(bench.state == awake)

        #expect(bench.goToSleep())
        bench.wake.pointee.wakeUp()
        #expect(bench.state == pending)
        bench.wake.pointee.wakeUp()
        bench.wake.pointee.adjust()
        #expect(bench.writes() == 1, "only the first to come makes a system call")
        #expect(bench.wake.pointee.wakeFromSleep() == .wokenUp)
        #expect(bench.state == awake)
    }

    @Test func transitionsFromAdjusting() {
        let bench = Bench()
        #expect(bench.goToSleep())
        bench.wake.pointee.adjust()
        bench.wake.pointee.adjust()
        #expect(bench.state == awake, "as good as awake")
        #expect(bench.writes() == 1)
        #expect(bench.wake.pointee.takePending() == false, "an adjustment is no wake-up")
        #expect(bench.wake.pointee.wakeFromSleep() == .adjusted)
        #expect(bench.state == awake)

        #expect(bench.goToSleep())
        bench.wake.pointee.adjust()
        bench.wake.pointee.wakeUp()
        #expect(bench.state == pending)
        #expect(bench.writes() == 1, "the adjustment has ended the sleep already")
        #expect(bench.wake.pointee.wakeFromSleep() == .wokenUp)
    }

    @Test func preservesErrno() {
        let bench = Bench()
        #expect(bench.goToSleep())
        systemError = 55
        bench.wake.pointee.wakeUp()
        let after = systemError
        #expect(after == 55)
        #expect(bench.writes() == 1)
    }

    @Test func pendingWakeUpPreventsTheSleep() {
        let bench = Bench()
        #expect(bench.wake.pointee.goToSleep(inEpoll: nil) == true)
        bench.wake.pointee.wakeUp()
        bench.wake.pointee.sleepOnWord(until: .never)
        #expect(bench.wake.pointee.wakeFromSleep() == .wokenUp)
        #expect(bench.writes() == 0, "the futex was asked for")
    }

    @Test func spinEndsAtTheDeadlineOrAWakeUp() {
        let bench = Bench()
        let deadline = Clock.now.advanced(by: 100_000)
        bench.wake.pointee.spin(until: deadline)
        #expect(Clock.now >= deadline)
        bench.wake.pointee.wakeUp()
        bench.wake.pointee.spin(until: .never)
        #expect(bench.wake.pointee.isPending == true)
    }

    /// Several threads queue work and wake the sleeper, which must see all of it. A lost wake-up shows as a sleep that only its deadline
    /// ends.
    @Test(arguments: [true, false])
    func noWakeUpIsLost(withEventDescriptor: Bool) {
        let bench = Bench()
        let each = scaled(20_000)
        let wakers = 2
        let work = Pinned(Atomic<Int>(0))
        let overslept = Pinned(0)
        let epoll = try! Epoll.create()
        try! Epoll.add(epoll, bench.descriptor, .readable, isEdgeTriggered: true, tag: 0)
        inParallel(wakers + 1) { number in
            if number > 0 {
                for turn in 0..<each {
                    work.pointer.pointee.add(1, ordering: .relaxed)
                    bench.wake.pointee.wakeUp()
                    if turn % 16 == 0 { sched_yield() }
                }
                return
            }
            let events = UnsafeMutablePointer<epoll_event>.allocate(capacity: 1)
            defer { events.deallocate() }
            while true {
                _ = bench.wake.pointee.takePending()
                if work.pointer.pointee.load(ordering: .relaxed) == wakers * each { return }
                guard bench.wake.pointee.goToSleep(inEpoll: withEventDescriptor ? bench.descriptor : nil) else { continue }
                let limit: UInt64 = 30_000_000_000
                let deadline = Clock.now.advanced(by: limit)
                if withEventDescriptor {
                    _ = Epoll.wait(epoll, events, capacity: 1, timeout: limit)
                } else {
                    bench.wake.pointee.sleepOnWord(until: deadline)
                }
                if bench.wake.pointee.wakeFromSleep() == .nothing && Clock.now >= deadline { overslept.pointer.pointee += 1 }
            }
        }
        close(epoll)
        #expect(overslept.pointer.pointee == 0)
    }
}
