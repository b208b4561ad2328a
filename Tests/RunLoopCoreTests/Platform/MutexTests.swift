import CLinux
import Synchronization
import Testing

@testable import RunLoopCore

@Suite struct MutexTests {
    @Test(arguments: [2, 5])
    func excludes(threads: Int) {
        let turns = scaled(60_000)
        #expect(sum(threads: threads, turns: turns) { pauseProcessor() } == threads * turns)
    }

    /// Tests sleeping, not only spinning: the holder lets other threads run before it releases the lock.
    @Test func wakesSleepers() {
        let turns = scaled(800)
        #expect(sum(threads: 4, turns: turns) { sched_yield() } == 4 * turns)
    }

    /// Counts up a plain number under the lock.
    private func sum(threads: Int, turns: Int, _ meanwhile: @escaping () -> Void) -> Int {
        let mutex = Pinned(RunLoopCore.Mutex())
        let sum = Pinned(0)
        inParallel(threads) { _ in
            for _ in 0..<turns {
                mutex.pointer.pointee.lock()
                let before = sum.pointer.pointee
                meanwhile()
                sum.pointer.pointee = before + 1
                mutex.pointer.pointee.unlock()
            }
        }
        return sum.pointer.pointee
    }

    @Test func resetFreesAHeldLock() {
        let mutex = Pinned(RunLoopCore.Mutex())
        mutex.pointer.pointee.lock()
        mutex.pointer.pointee.reset()
        mutex.pointer.pointee.lock()
        mutex.pointer.pointee.unlock()
    }
}

@Suite struct StoreMutexTests {
    @Test(arguments: [1, 2, 5])
    func excludes(threads: Int) {
        let turns = scaled(60_000)
        #expect(sum(threads: threads, turns: turns) { pauseProcessor() } == threads * turns)
    }

    /// Tests sleeping, not only spinning: the holder lets other threads run before it releases the mutex.
    @Test(arguments: [2, 6])
    func wakesSleepers(threads: Int) {
        let turns = scaled(800)
        #expect(sum(threads: threads, turns: turns) { sched_yield() } == threads * turns)
    }

    /// Counts up a plain number under the mutex.
    private func sum(threads: Int, turns: Int, _ meanwhile: @escaping () -> Void) -> Int {
        let mutex = Pinned(StoreMutex())
        let sum = Pinned(0)
        inParallel(threads) { _ in
            for _ in 0..<turns {
                mutex.pointer.pointee.lock()
                let before = sum.pointer.pointee
                meanwhile()
                sum.pointer.pointee = before + 1
                mutex.pointer.pointee.unlock()
            }
        }
        return sum.pointer.pointee
    }

    /// All sleepers are woken in turn, although each waker wakes only one.
    @Test func everySleeperAcquiresTheMutex() {
        let mutex = Pinned(StoreMutex())
        let entered = Guarded(0)
        mutex.pointer.pointee.lock()
        let sleepers = (0..<4).map { _ in
            spawn {
                mutex.pointer.pointee.lock()
                entered.with { $0 += 1 }
                mutex.pointer.pointee.unlock()
            }
        }
        // Usually enough time to fall asleep; the result does not depend on it.
        for _ in 0..<500 { sched_yield() }
        #expect(entered.with { $0 } == 0)
        mutex.pointer.pointee.unlock()
        for sleeper in sleepers { sleeper.join() }
        #expect(entered.with { $0 } == 4)
    }
}

@Suite struct FutexTests {
    private func millisecondsFromNow(_ milliseconds: UInt64) -> Instant { Clock.now.advanced(by: milliseconds * 1_000_000) }

    @Test func doesNotSleepIfTheValueDiffers() {
        let word = Pinned(Atomic<UInt32>(1))
        #expect(Futex.wait(word.pointer.pointee, while: 2, until: .never) == .woken)
    }

    @Test func pastDeadlineTimesOut() {
        let word = Pinned(Atomic<UInt32>(1))
        #expect(Futex.wait(word.pointer.pointee, while: 1, until: .distantPast) == .timedOut)
        #expect(Futex.wait(word.pointer.pointee, while: 1, until: Clock.now) == .timedOut)
    }

    @Test(arguments: [1, 50_000, 1_000_001, 3_000_000] as [UInt64])
    func doesNotTimeOutEarly(nanoseconds: UInt64) {
        let word = Pinned(Atomic<UInt32>(7))
        let deadline = Clock.now.advanced(by: nanoseconds)
        // A signal to the test process may end a wait early, which is reported as woken.
        var outcome = Futex.Outcome.woken
        while outcome == .woken { outcome = Futex.wait(word.pointer.pointee, while: 7, until: deadline) }
        #expect(Clock.now >= deadline)
    }

    @Test func preservesErrno() {
        let word = Pinned(Atomic<UInt32>(1))
        let seen = onThread { () -> [Int32] in
            systemError = 123
            _ = Futex.wait(word.pointer.pointee, while: 2, until: .never)
            _ = Futex.wait(word.pointer.pointee, while: 1, until: .distantPast)
            let afterWait = systemError
            Futex.wake(word.pointer.pointee, count: 1)
            return [afterWait, systemError]
        }
        #expect(seen == [123, 123])
    }

    @Test func sleeperIsWoken() {
        let word = Pinned(Atomic<UInt32>(0))
        let p = word.pointer
        let rounds = UInt32(scaled(2_000))
        inParallel(2) { number in
            for round in 0..<rounds {
                let mine = round * 2 + UInt32(number)
                while true {
                    let now = p.pointee.load(ordering: .acquiring)
                    if now == mine { break }
                    _ = Futex.wait(p.pointee, while: now, until: .never)
                }
                p.pointee.store(mine + 1, ordering: .releasing)
                Futex.wake(p.pointee, count: 1)
            }
        }
        #expect(word.pointer.pointee.load(ordering: .relaxed) == rounds * 2)
    }
}
