import CLinux
import Testing

@testable import RunLoopCore

/// Tests the poller with real pipes. Descriptor numbers from 1001 on are reserved for these tests; other tests get the lowest free numbers.
@Suite(.serialized) struct PollerTests {
    @Test func reportsReadableDescriptors() {
        let pipe = Pipe()
        var watcher = Watcher()
        let index = watcher.add(pipe.readEnd)
        #expect(watcher.poller.index(of: pipe.readEnd) == index)
        #expect(watcher.poller[index].client == 2)
        #expect(watcher.look() == [])
        pipe.put()
        #expect(watcher.look() == [index])
        #expect(watcher.look() == [index], "level-triggered: as long as it is not read")
        pipe.take()
        #expect(watcher.look() == [])
        pipe.closeWriteEnd()
        #expect(watcher.look() == [index], "the end is readable too")
        watcher.close()
    }

    @Test func removedWatchIsSilent() {
        let pipe = Pipe()
        var watcher = Watcher()
        let index = watcher.add(pipe.readEnd)
        pipe.put()
        watcher.poller.remove(index)
        #expect(watcher.poller.index(of: pipe.readEnd) == nil)
        #expect(watcher.poller[index].state == .free)
        #expect(watcher.look() == [])
        watcher.poller.remove(index)
        #expect(watcher.add(pipe.readEnd) == index, "a free index is used again, once")
        #expect(watcher.poller.indexLimit == 1)
        watcher.close()
    }

    /// An event fetched before a watch was removed must not reach the next watch with its index.
    @Test func oldEventsDoNotReachTheNextWatch() {
        let old = Pipe()
        let new = Pipe()
        var watcher = Watcher()
        let index = watcher.add(old.readEnd)
        let generation = watcher.poller[index].generation
        old.put()
        watcher.wait()
        #expect(watcher.eventBatch.isEmpty == false)
        watcher.poller.remove(index)
        #expect(watcher.add(new.readEnd) == index)
        #expect(watcher.poller[index].generation != generation)
        #expect(watcher.take() == [])
        #expect(watcher.look() == [])
        new.put()
        #expect(watcher.look() == [index])
        watcher.close()
    }

    @Test func droppedEventsAreReportedAgain() {
        let pipe = Pipe()
        var watcher = Watcher()
        let index = watcher.add(pipe.readEnd)
        pipe.put()
        watcher.wait()
        watcher.eventBatch.drop()
        #expect(watcher.eventBatch.isEmpty == true)
        #expect(watcher.take() == [])
        #expect(watcher.look() == [index])
        watcher.close()
    }

    @Test func silentWatchGetsNoEvents() {
        let pipe = Pipe()
        var watcher = Watcher()
        let index = watcher.add(pipe.readEnd)
        pipe.put()
        watcher.poller.reduce(index, to: [])
        watcher.poller.reduce(index, to: [])
        #expect(watcher.poller.underRegisteredCount == 1)
        #expect(watcher.look() == [])
        pipe.closeWriteEnd()
        #expect(watcher.look() == [], "epoll reports hang-ups whether asked for or not")
        #expect(watcher.poller.listen(index) == true)
        #expect(watcher.poller.listen(index) == true)
        #expect(watcher.poller.underRegisteredCount == 0)
        #expect(watcher.look() == [index])
        watcher.poller.reduce(index, to: [])
        watcher.poller.remove(index)
        #expect(watcher.poller.underRegisteredCount == 0)
        watcher.close()
    }

    @Test func alwaysReadyFilesTakeTurns() {
        let files = (0..<3).map { _ in openNull() }
        let pipe = Pipe()
        var watcher = Watcher()
        let piped = watcher.add(pipe.readEnd)
        let indexes = files.map { watcher.add($0) }
        for index in indexes { #expect(watcher.poller[index].state == .alwaysReady) }
        var turns: [Int] = []
        for _ in 0..<6 {
            // The wait does not sleep, although its deadline is never.
            watcher.wait(until: .never, alwaysReady: true)
            #expect(watcher.take() == [])
            if let index = watcher.takeAlwaysReady({ _ in true }) { turns.append(index) }
            #expect(watcher.takeAlwaysReady { _ in true } == nil, "once per look")
        }
        #expect(Set(turns.prefix(3)) == Set(indexes))
        #expect(Array(turns.suffix(3)) == Array(turns.prefix(3)))
        watcher.wait(until: .never, alwaysReady: true)
        #expect(watcher.take() == [])
        #expect(watcher.takeAlwaysReady { $0 == indexes[1] } == indexes[1])
        #expect(watcher.poller.hasAlwaysReady { $0 == piped } == false)
        for index in indexes { watcher.poller.remove(index) }
        #expect(watcher.poller.hasAlwaysReady { _ in true } == false)
        watcher.close()
        for file in files { close(file) }
    }

    @Test func invalidDescriptorsAreNeverReady() {
        var watcher = Watcher()
        for fd in [-1, -5, 1009] as [Int32] {
            let index = watcher.add(fd)
            #expect(watcher.poller[index].state == .broken)
            #expect(watcher.look() == [])
            watcher.poller.remove(index)
        }
        #expect(watcher.poller.indexLimit == 1)
        watcher.close()
    }

    /// A descriptor was closed without being removed, and its number has since been reused for another file.
    @Test func descriptorNumberIsReused() {
        var watcher = Watcher()
        let first = Pipe(readEndAt: 1001)
        let index = watcher.add(1001)
        first.closeReadEnd()
        watcher.poller.remove(index)
        let second = Pipe(readEndAt: 1001)
        let again = watcher.add(1001)
        second.put()
        #expect(watcher.look() == [again])
        watcher.close()
    }

    @Test func listenDetectsAReusedNumber() {
        var watcher = Watcher()
        let first = Pipe(readEndAt: 1002)
        let index = watcher.add(1002)
        first.closeReadEnd()
        let second = Pipe(readEndAt: 1002)
        second.put()
        #expect(watcher.look() == [], "epoll knows the closed file only")
        #expect(watcher.poller.listen(index) == true)
        #expect(watcher.look() == [index])
        watcher.close()
    }

    /// A duplicate keeps the closed descriptor in the epoll set, from which it cannot be removed. Its reports are dropped, and after a
    /// while the poller leaves it behind.
    @Test func closedDescriptorWithADuplicateDoesNotSpin() {
        var watcher = Watcher()
        let other = Pipe()
        let ghost = Pipe(readEndAt: 1003)
        let duplicate = dup(ghost.readEnd)
        let kept = watcher.add(other.readEnd)
        let index = watcher.add(1003)
        ghost.put()
        ghost.closeReadEnd()
        watcher.poller.remove(index)
        for _ in 0..<10 {
            #expect(watcher.look() == [])
        }
        // Nothing is ready: the poller sleeps until its deadline instead of spinning.
        let deadline = Clock.now.advanced(by: 3_000_000)
        watcher.wait(until: deadline)
        #expect(Clock.now >= deadline)
        other.put()
        #expect(watcher.look() == [kept])
        watcher.close()
        close(duplicate)
    }

    @Test func moreReadyDescriptorsThanABatchHoldsAreAllReported() {
        let pipe = Pipe()
        pipe.put()
        let duplicates = (0..<600).map { _ in dup(pipe.readEnd) }
        var watcher = Watcher()
        let indexes = duplicates.map { watcher.add($0) }
        var seen = Set<Int>()
        for _ in 0..<6 { seen.formUnion(watcher.look()) }
        #expect(seen == Set(indexes), "each gets its turn")
        watcher.close()
        for fd in duplicates { close(fd) }
    }

    @Test func waitIsNotEarly() {
        let pipe = Pipe()
        var watcher = Watcher()
        _ = watcher.add(pipe.readEnd)
        for nanoseconds in [1, 70_000, 1_500_000] as [UInt64] {
            let deadline = Clock.now.advanced(by: nanoseconds)
            watcher.wait(until: deadline)
            #expect(Clock.now >= deadline)
            #expect(watcher.eventBatch.isEmpty == true)
        }
        watcher.close()
    }

    @Test func writeToTheWakeDescriptorEndsTheWait() {
        let pipe = Pipe()
        var watcher = Watcher()
        _ = watcher.add(pipe.readEnd)
        let descriptor = watcher.poller.wakeDescriptor
        for _ in 0..<2 {
            let waker = spawn { EventDescriptor.signal(descriptor) }
            watcher.wait(until: .never)
            #expect(watcher.take() == [], "the wake descriptor is not a watch")
            waker.join()
            watcher.eventBatch.countWake()
        }
        // Closing waits for the two writes that were counted; it would wait without limit for a third.
        watcher.close()
        #expect(watcher.poller.wakeDescriptor == -1)
        #expect(watcher.poller.epoll == -1)
    }

    @Test func closedPollerCanBeReused() {
        let pipe = Pipe()
        var watcher = Watcher()
        _ = watcher.add(pipe.readEnd)
        pipe.put()
        watcher.close()
        #expect(watcher.poller.index(of: pipe.readEnd) == nil)
        let index = watcher.add(pipe.readEnd)
        #expect(watcher.look() == [index])
        watcher.close()
    }

    /// Does what the child of fork() does, without a fork: new kernel objects, the same watches.
    @Test func detachedPollerStartsOver() {
        let pipes = [Pipe(), Pipe(), Pipe()]
        var watcher = Watcher()
        let indexes = pipes.map { watcher.add($0.readEnd) }
        let null = openNull()
        let ready = watcher.add(null)
        watcher.poller.reduce(indexes[1], to: [])
        for pipe in pipes { pipe.put() }
        watcher.wait()
        watcher.poller.detachAfterFork()
        watcher.eventBatch.reset()
        #expect(watcher.poller.epoll == -1)
        #expect(watcher.eventBatch.isEmpty == true, "what the parent fetched is the parent's")
        #expect(watcher.poller.underRegisteredCount == 3)
        #expect(watcher.poller[ready].state == .alwaysReady)
        #expect(watcher.poller.listen(indexes[0]) == true)
        #expect(watcher.poller.listen(indexes[2]) == true)
        #expect(watcher.look() == [indexes[0], indexes[2]])
        watcher.close()
        close(null)
    }

    @Test(arguments: [3, 300])
    func eachReadyDescriptorHasItsTurn(count: Int) {
        var watcher = Watcher()
        let pipes = (0..<count).map { _ in Pipe() }
        for pipe in pipes {
            pipe.put()
            _ = watcher.add(pipe.readEnd)
        }
        // Descriptors taken one by one.
        var turns = (0..<count).compactMap { _ in watcher.takeOne(.one, served: { _ in false }) }
        #expect(Set(turns).count == count)
        // A batch of which all but the first are dropped: the others come next.
        var served = Set([watcher.takeOne(.all, served: { _ in false }) ?? -1])
        turns = []
        for _ in 0..<(count + 300) {
            guard let index = watcher.takeOne(.all, served: { served.contains($0) }) else { break }
            turns.append(index)
            served.insert(index)
        }
        #expect(served.count == count)
        watcher.close()
    }
}
