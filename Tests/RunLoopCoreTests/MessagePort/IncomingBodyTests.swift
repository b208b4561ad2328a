import CLinux
import Testing

@testable import RunLoopCore

extension IncomingBody {
    /// Returns the memory for the next piece; nil if the piece is not to be kept, or has to wait.
    fileprivate mutating func nextRoom() -> UnsafeMutableRawBufferPointer? { makeRoom() ? room : nil }
}

/// A large payload that arrives in pieces of any size equals the bytes sent, and takes no memory before they arrive.
@Suite struct IncomingBodyTests {
    private func announcing(_ length: Int) -> Frame {
        Frame(kind: .request, payloadLocation: .pieces, id: 3, messageID: 4, length: length, deadline: .never)
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func piecesFormThePayload(seed: UInt64) {
        var random = Random(seed: seed)
        var body = IncomingBody(nil)
        for _ in 0..<8 {
            let length = Frame.inlineLimit + 1 + random.below(random.below(2) == 0 ? 100_000 : 3_000_000)
            body.begin(announcing(length))
            var sent = 0
            var marks: [(Int, UInt8)] = []
            while sent < length {
                guard let room = body.nextRoom() else {
                    Issue.record("no room")
                    return
                }
                #expect(room.count == min(Frame.pieceLimit, length - sent))
                let piece = random.below(8) == 0 ? 1 + random.below(room.count) : room.count
                memset(room.baseAddress!, Int32(sent / 1000 & 0xff), piece)
                marks.append((sent, UInt8(truncatingIfNeeded: sent / 1000)))
                let isAccepted = body.add(piece)
                #expect(isAccepted)
                sent += piece
            }
            let takesMore = body.add(1)
            #expect(sent == length && !takesMore)
            guard let (frame, data) = body.finish(), let data else {
                Issue.record("no payload")
                return
            }
            let isUnderWay = body.isUnderWay
            #expect(frame.id == 3 && frame.messageID == 4 && data.pointee.count == length && !isUnderWay)
            #expect(marks.allSatisfy { data.bytes[$0.0] == $0.1 })
            data.release()
        }
    }

    private func receive(_ length: Int) -> DataPointer? {
        var body = IncomingBody(nil)
        body.begin(announcing(length))
        while true {
            if let (_, data) = body.finish() { return data }
            guard let room = body.nextRoom(), body.add(room.count) else { return nil }
        }
    }

    /// Payloads that a server keeps take about as much memory as its limits count, whatever the size of the previous payload.
    @Test func smallPayloadDoesNotKeepALargeBlock() {
        var kept: [DataPointer] = []
        for _ in 0..<8 {
            receive(4_000_000)?.release()
            guard let small = receive(40_000) else {
                Issue.record("no payload")
                return
            }
            kept.append(small)
        }
        #expect(kept.allSatisfy { $0.pointee.capacity <= 80_000 })
        for data in kept { data.release() }
    }

    @Test func morePiecesThanAnnouncedAreRefused() {
        var body = IncomingBody(nil)
        var accepted = [body.add(1), body.finish() != nil]
        body.begin(announcing(40_000))
        let room = body.nextRoom()?.count
        accepted += [body.add(39_999), body.finish() != nil, body.add(2), body.add(1)]
        #expect(accepted == [false, false, true, false, false, true] && room == 40_000)
        body.reset()
        let isUnderWay = body.isUnderWay
        #expect(!isUnderWay)
    }

    /// A payload that is not waited for is counted, but not kept. Other payloads are unaffected.
    @Test func skippedPayloadHasNoData() {
        var body = IncomingBody(nil)
        body.begin(announcing(100_000))
        body.skip(9)
        let isKept = body.nextRoom() != nil
        body.skip(3)
        let isStillKept = body.nextRoom() != nil
        let isCounted = body.add(50_000) && body.add(50_000)
        #expect(isKept && !isStillKept && isCounted)
        guard let (frame, data) = body.finish() else {
            Issue.record("not complete")
            return
        }
        #expect(frame.length == 100_000 && data == nil)
    }

    /// Begins a payload of `length` bytes. Returns whether there is memory for its first piece.
    private func begin(_ body: inout IncomingBody, _ length: Int) -> Bool {
        body.begin(announcing(length))
        return body.makeRoom()
    }

    /// What exceeds the memory of a peer has to wait, except for one payload. Each that ends makes room for others.
    @Test func payloadsOfAPeerShareItsMemory() {
        var peers: PeerPointer?
        guard let peer = PeerPointer.join(1, &peers) else {
            Issue.record("no memory")
            return
        }
        #expect(PortLimits.unseenBytes * 64 == PortLimits.unfinishedBytes)
        peer.pointee.reserved.store(63 * PortLimits.unseenBytes, ordering: .relaxed)
        var first = IncomingBody(peer)
        var exempt = IncomingBody(peer)
        var third = IncomingBody(peer)
        let begun = [begin(&first, 9_000_000), begin(&exempt, 9_000_000), begin(&third, 40_000)]
        exempt.reset()
        let afterExempt = third.makeRoom()
        first.reset()
        third.reset()
        let afterAll = begin(&exempt, 40_000)
        let used = peer.pointee.reserved.load(ordering: .relaxed)
        exempt.reset()
        #expect(begun == [true, true, false] && afterExempt && afterAll && used == 63 * PortLimits.unseenBytes + 40_000)
        #expect(peer.pointee.reserved.load(ordering: .relaxed) == 63 * PortLimits.unseenBytes)
        peer.leave(&peers, isOpen: true)
    }

    /// If the client is gone, nothing more will come than the socket contains.
    @Test func payloadOfAClientThatIsGoneDoesNotWait() {
        var peers: PeerPointer?
        guard let peer = PeerPointer.join(1, &peers) else {
            Issue.record("no memory")
            return
        }
        var exempt = IncomingBody(peer)
        var waiting = IncomingBody(peer)
        var incomplete = IncomingBody(peer)
        peer.pointee.reserved.store(PortLimits.unfinishedBytes, ordering: .relaxed)
        let begun = [begin(&exempt, 40_000), begin(&waiting, 40_000), begin(&incomplete, 40_000)]
        waiting.noteHangUp(40_000)
        incomplete.noteHangUp(39_999)
        let isKept = [waiting.nextRoom() != nil, incomplete.nextRoom() != nil]
        #expect(begun == [true, false, false] && isKept == [true, false])
        waiting.reset()
        incomplete.reset()
        exempt.reset()
        #expect(peer.pointee.reserved.load(ordering: .relaxed) == PortLimits.unfinishedBytes)
        peer.leave(&peers, isOpen: true)
    }

    /// The connections of a process share its memory; a later process with the same ID starts anew. Processes of another user count as one.
    @Test func connectionsOfAPeerShareItsLimits() {
        var peers: PeerPointer?
        func join(_ process: Int32, _ user: UInt32) -> PeerPointer {
            let credentials = PacketSocket.Credentials(process: process, user: user, group: 0)
            return PeerPointer.join(credentials.sender(asUser: user != 7), &peers).unsafelyUnwrapped
        }
        let first = join(-5, 7)
        let other = join(-6, 7)
        let stranger = join(-5, 8)
        first.pointee.reserved.store(99, ordering: .relaxed)
        #expect(first != other && first != stranger && join(-5, 7) == first && join(-6, 8) == stranger)
        first.leave(&peers, isOpen: true)
        #expect(join(-5, 7).pointee.reserved.load(ordering: .relaxed) == 99)
        first.leave(&peers, isOpen: true)
        first.leave(&peers, isOpen: true)
        let later = join(-5, 7)
        #expect(later.pointee.reserved.load(ordering: .relaxed) == 0)
        for peer in [later, other, stranger, stranger] { peer.leave(&peers, isOpen: true) }
        #expect(peers == nil)
    }
}
