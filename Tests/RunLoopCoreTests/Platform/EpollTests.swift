import CLinux
import Testing

@testable import RunLoopCore

@Suite struct EpollTests {
    private func withEpoll(_ body: (Int32, UnsafeMutablePointer<epoll_event>) -> Void) {
        let epoll = try! Epoll.create()
        #expect(linux_fcntl(epoll, F_GETFD, 0) == FD_CLOEXEC)
        let events = UnsafeMutablePointer<epoll_event>.allocate(capacity: 8)
        body(epoll, events)
        events.deallocate()
        close(epoll)
    }

    @Test(arguments: [1, 999, 50_000, 999_999, 1_300_000, 4_000_001] as [UInt64])
    func timeOutIsNotEarly(nanoseconds: UInt64) {
        withEpoll { epoll, events in
            let before = Clock.now
            let count = Epoll.wait(epoll, events, capacity: 8, timeout: nanoseconds)
            #expect(Clock.now >= before.advanced(by: nanoseconds))
            #expect(count == 0)
        }
    }

    @Test func errnoIsPreserved() {
        withEpoll { epoll, events in
            systemError = 99
            _ = Epoll.wait(epoll, events, capacity: 8, timeout: 0)
            _ = Epoll.wait(epoll, events, capacity: 8, timeout: 1)
            #expect(Epoll.wait(-1, events, capacity: 8, timeout: 1) == nil)
            #expect(Epoll.poll(-1, events, capacity: 8) == nil)
            Epoll.remove(epoll, 0)
            let after = systemError
            #expect(after == 99)
        }
    }

    @Test func errorsContainErrno() {
        withEpoll { epoll, _ in
            #expect(throws: SystemError(EBADF)) { try Epoll.add(epoll, -1, .readable, tag: 0) }
            #expect(throws: SystemError(EINVAL)) { try Epoll.add(epoll, epoll, .readable, tag: 0) }
            let null = openNull()
            #expect(throws: SystemError(EPERM)) { try Epoll.add(epoll, null, .readable, tag: 0) }
            close(null)
        }
    }

    @Test func tagsAreReturned() {
        withEpoll { epoll, events in
            let descriptor = try! EventDescriptor.create()
            try! Epoll.add(epoll, descriptor, .readable, tag: 0xDEAD_BEEF_0123_4567)
            #expect(Epoll.wait(epoll, events, capacity: 8, timeout: 0) == 0)
            EventDescriptor.signal(descriptor)
            #expect(Epoll.wait(epoll, events, capacity: 8, timeout: nil) == 1)
            #expect(linux_epoll_tag(events) == 0xDEAD_BEEF_0123_4567)
            try! Epoll.modify(epoll, descriptor, .readable, tag: 5)
            #expect(Epoll.wait(epoll, events, capacity: 8, timeout: 1_000_000_000) == 1)
            #expect(linux_epoll_tag(events) == 5)
            Epoll.remove(epoll, descriptor)
            #expect(Epoll.wait(epoll, events, capacity: 8, timeout: 0) == 0)
            Descriptor.close(descriptor)
        }
    }

    /// The reason why waking costs the sleeper no system call: every write is a new edge, although the eventfd is never read.
    @Test func everyWriteIsAnEdge() {
        withEpoll { epoll, events in
            let descriptor = try! EventDescriptor.create()
            try! Epoll.add(epoll, descriptor, .readable, isEdgeTriggered: true, tag: 1)
            for _ in 0..<3 {
                EventDescriptor.signal(descriptor)
                #expect(Epoll.wait(epoll, events, capacity: 8, timeout: nil) == 1)
                #expect(Epoll.wait(epoll, events, capacity: 8, timeout: 0) == 0)
            }
            EventDescriptor.drain(descriptor, wakes: 3)
            Descriptor.close(descriptor)
        }
    }

    /// `drain` would wait without limit if it counted wrongly.
    @Test func drainWaitsForAllWrites() {
        let descriptor = try! EventDescriptor.create()
        EventDescriptor.signal(descriptor)
        let late = spawn { EventDescriptor.signal(descriptor) }
        EventDescriptor.drain(descriptor, wakes: 2)
        late.join()
        EventDescriptor.drain(descriptor, wakes: 0)
        Descriptor.close(descriptor)
    }
}

@Suite struct ThreadTests {
    @Test func slotIsPerThread() {
        let marker = UnsafeMutableRawPointer.allocate(byteCount: 8, alignment: 8)
        defer { marker.deallocate() }
        let seen = onThread { () -> [Bool] in
            let atFirst = Thread.slot == nil
            Thread.slot = marker
            let other = onThread { Thread.slot == nil }
            let own = Thread.slot == marker
            Thread.slot = nil
            return [atFirst, other, own]
        }
        #expect(seen == [true, true, true])
    }

    @Test func onlyTheFirstThreadIsMain() { #expect(onThread { !Thread.isMain }) }

    @Test func timerSlackIsRestored() {
        let seen = onThread { () -> [Int] in
            _ = linux_set_timer_slack(70_000)
            var slack = TimerSlack.unknown
            slack.sharpen()
            let sharp = Int(linux_get_timer_slack())
            var nothingToDo = TimerSlack.unknown
            nothingToDo.sharpen()
            nothingToDo.restore()
            let stillSharp = Int(linux_get_timer_slack())
            slack.restore()
            return [sharp, stillSharp, Int(linux_get_timer_slack())]
        }
        #expect(seen == [1, 1, 70_000])
    }
}
