import Testing

@testable import RunLoopCore

/// Packets received before the loop could deliver them come out in order, and take no more memory than the waiting packets need. The tests
/// run one after the other, as one of them fills what the process may receive ahead.
@Suite(.serialized) struct ReceivedAheadTests {
    private func packet(_ number: Int) -> ReceivedPacket {
        var packet = ReceivedPacket()
        packet.frame = Frame(kind: .request, payloadLocation: .absent, id: 0, messageID: Int32(number), length: 0, deadline: .never)
        return packet
    }

    /// The list is never empty, so its memory is never freed: packets that were taken make room for others.
    @Test(arguments: [1, 7, 8, 100])
    func memoryIsReused(waiting: Int) {
        var ahead = ReceivedAhead()
        var taken = 0
        for number in 0..<20_000 {
            let hasRoom = ahead.hasRoom(toFinish: false)
            expectInLoop(hasRoom)
            ahead.append(packet(number))
            if number < waiting { continue }
            let first = ahead.takeFirst()
            expectInLoop(first.map { Int($0.frame.messageID) } == taken)
            taken += 1
        }
        let capacity = ahead.packets.capacity
        #expect(capacity <= 4 * max(waiting, 8))
        while let first = ahead.takeFirst() {
            expectInLoop(Int(first.frame.messageID) == taken)
            taken += 1
        }
        #expect(taken == 20_000)
    }

    /// One connection can fill its own share, several together the share of the process. Then each gets one more packet, and all continue
    /// once some packets have been taken. A payload that has begun is finished nevertheless.
    @Test func processHasALimit() {
        let megabyte = DataPointer.create([UInt8](repeating: 7, count: 1 << 20), count: 1 << 20)!
        defer { megabyte.release() }
        var large = packet(1)
        large.data = megabyte
        let connections = UnsafeMutablePointer<ReceivedAhead>.allocate(capacity: 5)
        for index in 0..<5 { (connections + index).initialize(to: ReceivedAhead()) }
        defer {
            connections.deinitialize(count: 5)
            connections.deallocate()
        }
        func fill(_ ahead: inout ReceivedAhead) -> Int {
            var count = 0
            while ahead.hasRoom(toFinish: false) {
                megabyte.pointee.header.retain()
                ahead.append(large)
                count += 1
            }
            return count
        }
        let counts = [fill(&connections[0]), fill(&connections[1]), fill(&connections[2]), fill(&connections[3]), fill(&connections[4])]
        #expect(counts == [16, 16, 16, 16, 1])
        let finishes = [connections[0].hasRoom(toFinish: true), connections[4].hasRoom(toFinish: true)]
        #expect(finishes == [true, true])
        for _ in 0..<3 { connections[0].takeFirst()?.data?.release() }
        #expect(fill(&connections[4]) == 2)
        connections[0].removeAll()
        #expect(fill(&connections[4]) == 13)
        for index in 1..<5 { connections[index].removeAll() }
    }
}
