import Testing

@testable import RunLoopCore

/// What was received before the loop could deliver it comes out in order, and takes no more memory than what waits.
@Suite struct ReceivedAheadTests {
    private func packet(_ number: Int) -> ReceivedPacket {
        var packet = ReceivedPacket()
        packet.frame = Frame(kind: .request, payloadLocation: .absent, id: 0, message: Int32(number), length: 0, deadline: .never)
        return packet
    }

    /// The list is never empty, so it is never freed: packets that were taken make room for others.
    @Test(arguments: [1, 7, 8, 100])
    func memoryIsUsedAgain(waiting: Int) {
        var ahead = ReceivedAhead()
        var taken = 0
        for number in 0..<20_000 {
            let mayReceive = ahead.begin()
            #expect(mayReceive)
            ahead.finish(packet(number))
            if number < waiting { continue }
            let first = ahead.takeFirst()
            #expect(first.map { Int($0.frame.message) } == taken)
            taken += 1
        }
        let capacity = ahead.packets.capacity
        #expect(capacity <= 4 * max(waiting, 8))
        while let first = ahead.takeFirst() {
            #expect(Int(first.frame.message) == taken)
            taken += 1
        }
        #expect(taken == 20_000)
    }
}
