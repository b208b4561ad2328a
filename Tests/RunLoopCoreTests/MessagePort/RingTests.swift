import CLinux
import Synchronization
import Testing

@testable import RunLoopCore

/// Compares a ring with an array; both ends are in one process. Hostile ends are tested in Tests/fuzz and
/// Tests/c/test-message-port-ring-hostile.c, doorbells in Tests/model/ring.pml and Tests/c/test-message-port-ring.c.
@Suite struct RingTests {
    /// A client's end and a server's end with the same mapping, so that ThreadSanitizer detects races between them.
    private final class Bench {
        var client = Ring()
        var server = Ring()

        init() {
            close(server.make()!)
            client = server
            _ = client.open()
            _ = server.open()
        }

        deinit { server.close() }
    }

    private struct Message: Equatable {
        var id: Int32
        var bytes: [UInt8]

        init(_ id: Int32, length: Int) {
            self.id = id
            bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ Int(id)) }
        }
    }

    private func length(_ random: inout Random) -> Int {
        switch random.below(10) {
        case 0: Ring.dataLimit - random.below(20)
        case 1: random.below(Ring.dataLimit + 1)
        default: random.below(100)
        }
    }

    @Test func emptyRingWantsADoorbell() {
        let bench = Bench()
        #expect(bench.client.isOpen)
        #expect(bench.client.wantsDoorbell == true, "a server that has not read anything needs a doorbell")
        #expect(bench.client.needsDoorbell == false)
        guard case .nothing = take(bench).taken else {
            Issue.record("an empty ring has an entry")
            return
        }
        bench.client.cancelDoorbellRequest()
        #expect(bench.client.wantsDoorbell == false)
        bench.client.requestDoorbell()
        #expect(bench.client.wantsDoorbell == true, "the doorbell was not sent")
        bench.client.cancelDoorbellRequest()
        bench.server.requestDoorbell()
        #expect(bench.client.wantsDoorbell == true)
    }

    /// The client maps the server's file, and each end starts to use its own mapping, once.
    @Test func twoMappingsShareARing() {
        var client = Ring()
        var server = Ring()
        let fd = server.make()!
        let early = client.open()
        #expect(!server.isOpen && !early)
        #expect(client.map(fd) == true)
        #expect(client.map(fd) == false)
        close(fd)
        let opened = [client.open(), server.open(), client.open(), server.open()]
        #expect(opened == [true, true, false, false])
        let message = Message(5, length: 100)
        client.putEntry(message.id, message.bytes, 100)
        let (_, received) = take(&server)
        #expect(received == message)
        client.close()
        server.close()
        #expect(!client.isOpen && !server.isOpen)
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func agreesWithArray(seed: UInt64) {
        var random = Random(seed: seed)
        let bench = Bench()
        var model: [(message: Message, before: Int)] = []
        var sent = 0
        var received = 0
        var wasFull = false
        for number in 0..<scaled(5_000) {
            switch random.below(wasFull ? 6 : 12) {
            case 0...4:
                let (taken, message) = take(bench)
                if model.isEmpty {
                    guard case .nothing = taken else {
                        Issue.record("took an entry that was not written")
                        return
                    }
                } else if model[0].before > received {
                    guard case .tooEarly = taken else {
                        Issue.record("took an entry before its request")
                        return
                    }
                    received += 1
                    bench.server.noteSocketRequest()
                } else if message != model.removeFirst().message {
                    Issue.record("took another entry at \(number)")
                    return
                }
                if model.isEmpty { wasFull = false }
            case 5 where sent < 1000:
                sent += 1
                bench.client.noteSocketRequest()
            default:
                let message = Message(Int32(number), length: length(&random))
                wasFull = !bench.client.hasRoom(for: message.bytes.count)
                if wasFull { continue }
                bench.client.putEntry(message.id, message.bytes, message.bytes.count)
                model.append((message, sent))
                if model.reduce(0, { $0 + ($1.message.bytes.count + 31) & ~15 }) > Ring.size - 4096 {
                    Issue.record("more entries than there is room for")
                    return
                }
            }
        }
    }

    /// Two threads without doorbells: the server polls.
    @Test func twoThreadsExchangeMessages() {
        let bench = Bench()
        let count = Int32(scaled(20_000))
        let problem = Pinned(0)
        inParallel(2) { number in
            var random = Random(seed: 9)
            for id in 0..<count {
                let length = self.length(&random) & 255
                if number == 0 {
                    let message = Message(id, length: length)
                    while !bench.client.hasRoom(for: length) { sched_yield() }
                    bench.client.putEntry(id, message.bytes, length)
                } else {
                    var (taken, message) = self.take(&bench.server)
                    while case .nothing = taken {
                        sched_yield()
                        (taken, message) = self.take(&bench.server)
                    }
                    if message != Message(id, length: length) { problem.pointer.pointee += 1 }
                }
            }
        }
        #expect(problem.pointer.pointee == 0)
    }

    /// A server looks for the next entry after a callback, in which nested runs may have taken it.
    @Test func theNextEntryIsThereUntilItIsTaken() {
        let bench = Bench()
        bench.client.putEntry(1, nil, 0)
        bench.client.putEntry(2, nil, 0)
        #expect(bench.server.hasEntry)
        _ = take(bench)
        #expect(bench.server.hasEntry)
        _ = take(bench)
        #expect(!bench.server.hasEntry)
        bench.client.putEntry(3, nil, 0)
        #expect(bench.server.hasEntry)
    }

    /// Runs that receive one request each keep to the turn that a run receives at once: the first request, and those that are known.
    @Test func aTurnHasTheSameLengthInAllRuns() { #expect(KnownReady.limit + 1 == UInt32(PortLimits.requestsPerTurn)) }

    private func take(_ bench: Bench) -> (taken: Ring.Taken, message: Message?) { take(&bench.server) }

    private func take(_ ring: inout Ring) -> (taken: Ring.Taken, message: Message?) {
        withUnsafeTemporaryAllocation(byteCount: Ring.dataLimit, alignment: 8) { buffer in
            let taken = ring.takeEntry(buffer.baseAddress.unsafelyUnwrapped)
            guard case .entry(let id, let length) = taken else { return (taken, nil) }
            var message = Message(id, length: 0)
            message.bytes = Array(buffer[0..<length])
            return (taken, message)
        }
    }
}
