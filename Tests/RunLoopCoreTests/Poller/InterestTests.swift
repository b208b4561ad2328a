import CLinux
import Testing

@testable import RunLoopCore

/// What a watch is interested in, when epoll is updated, and the order of reports. Uses real socket pairs.
@Suite struct InterestTests {
    private final class Pair {
        let near: Int32
        let far: Int32

        init() {
            var ends: [Int32] = [-1, -1]
            precondition(socketpair(AF_UNIX, linux_SOCK_STREAM, 0, &ends) == 0)
            (near, far) = (ends[0], ends[1])
        }

        deinit {
            close(near)
            close(far)
        }

        func put() {
            var byte: UInt8 = 1
            precondition(write(far, &byte, 1) == 1)
        }
    }

    private let both: Events = [.readable, .writable]

    private func client(_ number: Int) -> UInt64 { UInt64(number) << 1 }

    @Test func moreInterestIsRegisteredBeforeTheNextWaitAndLessAfterAnEvent() {
        let pair = Pair()
        var watcher = Watcher()
        let index = watcher.poller.add(pair.near, interest: [], client: client(1))!
        #expect(watcher.poller[index].state == .silent)
        #expect(watcher.poller.epoll == -1, "nothing is wanted: nothing is opened")
        watcher.poller.setInterest(.writable, at: index)
        #expect(watcher.poller.hasChanges == true)
        #expect(watcher.applyChanges() == "")
        #expect(watcher.poller.hasChanges == false)
        #expect(watcher.poller[index].registered == .writable)
        #expect(watcher.look() == [index])
        watcher.poller.setInterest([], at: index)
        #expect(watcher.poller.hasChanges == false)
        #expect(watcher.look() == [index], "not yet")
        watcher.poller.setInterest(.writable, at: index)
        #expect(watcher.poller.hasChanges == false, "it knows")
        watcher.poller.setInterest([], at: index)
        watcher.poller.reduce(index, to: [])
        #expect(watcher.poller[index].state == .silent)
        #expect(watcher.look() == [])
        watcher.poller.setInterest(.readable, at: index)
        watcher.poller.setInterest(both, at: index)
        watcher.poller.setInterest(.readable, at: index)
        #expect(watcher.applyChanges() == "")
        #expect(watcher.poller[index].registered == .readable, "merged")
        #expect(watcher.look() == [])
        pair.put()
        #expect(watcher.look() == [index])
        watcher.close()
    }

    @Test func aRevertedChangeCostsNothing() {
        let pair = Pair()
        var watcher = Watcher()
        let index = watcher.add(pair.near)
        watcher.poller.setInterest(both, at: index)
        #expect(watcher.poller.underRegisteredCount == 1)
        watcher.poller.setInterest(.readable, at: index)
        #expect(watcher.poller.underRegisteredCount == 0)
        #expect(watcher.applyChanges() == "")
        #expect(watcher.poller[index].registered == .readable)
        watcher.close()
    }

    @Test func aChangeOfARemovedWatchDoesNotAffectTheNextUser() {
        let first = Pair()
        let second = Pair()
        var watcher = Watcher()
        let index = watcher.add(first.near)
        watcher.poller.setInterest(both, at: index)
        watcher.poller.remove(index)
        #expect(watcher.add(second.near) == index)
        #expect(watcher.applyChanges() == "")
        #expect(watcher.poller[index].registered == .readable)
        watcher.poller.setInterest(both, at: index)
        #expect(watcher.applyChanges() == "")
        #expect(watcher.look() == [index])
        watcher.close()
    }

    @Test func aClosedDescriptorIsReportedLostOnce() {
        var watcher = Watcher()
        let pair = Pair()
        let fd = duplicate(pair.near, as: 1004)
        let index = watcher.add(fd)
        close(fd)
        watcher.poller.setInterest(both, at: index)
        #expect(watcher.applyChanges() == "lost")
        #expect(watcher.poller[index].state == .broken)
        watcher.poller.setInterest(.writable, at: index)
        #expect(watcher.poller.hasChanges == false)
        // Another file gets the same number.
        duplicate(pair.near, as: fd)
        #expect(watcher.poller.listenAnew(index) == true)
        #expect(watcher.look() == [index])
        watcher.close()
        close(fd)
    }

    /// epoll reports a hang-up even if it was not asked for.
    @Test func watchWithoutInterestIsNotInTheEpollSet() {
        var watcher = Watcher()
        let pipes = (0..<3).map { _ in Pipe() }
        let indexes = pipes.map { watcher.add($0.readEnd) }
        for index in indexes { watcher.poller.setInterest([], at: index) }
        #expect(watcher.poller.listen(indexes[0]) == true)
        watcher.poller.reduce(indexes[1], to: [])
        #expect(watcher.poller.rebuild() == true)
        for pipe in pipes { pipe.closeWriteEnd() }
        #expect(watcher.look() == [])
        for index in indexes { #expect(watcher.poller[index].state == .silent) }
        watcher.close()
    }

    /// The file was closed and opened again under the same number, while a duplicate keeps it in the epoll set.
    @Test func theSameFileUnderTheSameNumberIsWatchedAgain() {
        let pair = Pair()
        var watcher = Watcher()
        let fd = duplicate(pair.near, as: 1005)
        let index = watcher.add(fd)
        close(fd)
        watcher.poller.reduce(index, to: [])
        duplicate(pair.near, as: fd)
        pair.put()
        #expect(watcher.poller.listen(index) == true)
        #expect(watcher.poller[index].state == .listening)
        #expect(watcher.look() == [index])
        watcher.close()
        close(fd)
    }

    /// Compares the reports with lists of the wanted and the ready events.
    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func agreesWithModel(seed: UInt64) {
        var random = Random(seed: seed)
        let pairs = (0..<8).map { _ in Pair() }
        var wanted = [Events](repeating: [], count: pairs.count)
        var ready = [Events](repeating: .writable, count: pairs.count)
        var watcher = Watcher()
        let indexes = pairs.enumerated().map { watcher.poller.add($1.near, interest: [], client: client($0 + 1))! }
        let masks: [Events] = [[], .readable, .writable, both]
        for step in 0..<scaled(2_000) {
            let which = random.below(pairs.count)
            switch random.below(4) {
            case 0, 1:
                wanted[which] = masks[random.below(4)]
                watcher.poller.setInterest(wanted[which], at: indexes[which])
            case 2 where !ready[which].contains(.readable):
                pairs[which].put()
                ready[which].insert(.readable)
            default:
                #expect(watcher.applyChanges() == "")
                if watcher.poller.epoll < 0 { continue }
                watcher.wait()
                var seen: [Int: Events] = [:]
                while let event = watcher.eventBatch.take() {
                    if let index = watcher.poller.index(ofTag: event.tag) { seen[index] = event.events }
                }
                for (number, index) in indexes.enumerated() {
                    let due = wanted[number].intersection(ready[number])
                    let got = seen[index] ?? []
                    guard due.isSubset(of: got), got.isSubset(of: ready[number]) else {
                        Issue.record("step \(step): \(got) of \(number) instead of \(due)")
                        return
                    }
                    // As the loop does when no client is interested.
                    if got.intersection(wanted[number]).isEmpty { watcher.poller.reduce(index, to: wanted[number]) }
                    guard wanted[number].isSubset(of: watcher.poller[index].registered) else {
                        Issue.record("step \(step): epoll was not updated")
                        return
                    }
                }
            }
        }
        #expect(watcher.poller.underRegisteredCount >= 0)
        watcher.close()
    }

    // MARK: the order of eventBatch

    @Test(arguments: [1, 2, 3] as [UInt64])
    func eventsAreSortedStably(seed: UInt64) {
        var random = Random(seed: seed)
        let pairs = (0..<40).map { _ in Pair() }
        for pair in pairs { pair.put() }
        var watcher = Watcher()
        let indexes = pairs.map { watcher.add($0.near) }
        var ranks: [Int: Int] = [:]
        for index in indexes { ranks[index] = random.below(5) - 2 }
        watcher.wait()
        #expect(watcher.eventBatch.isFresh == true)
        let plain = tags(&watcher)
        watcher.wait()
        watcher.eventBatch.sort { ranks[Int(UInt32(truncatingIfNeeded: $0) >> 1)]! }
        _ = watcher.eventBatch.begin { _ in true }
        #expect(watcher.eventBatch.isFresh == false)
        let sorted = tags(&watcher)
        let expected = plain.enumerated().sorted { (ranks[$0.element]!, $0.offset) < (ranks[$1.element]!, $1.offset) }.map(\.element)
        #expect(sorted.count == indexes.count)
        // epoll reports descriptors that stay ready in the same order again.
        #expect(sorted == expected)
        watcher.close()
    }

    private func tags(_ watcher: inout Watcher) -> [Int] {
        var list: [Int] = []
        while let event = watcher.eventBatch.take() { list.append(Int(UInt32(truncatingIfNeeded: event.tag) >> 1)) }
        return list
    }
}
