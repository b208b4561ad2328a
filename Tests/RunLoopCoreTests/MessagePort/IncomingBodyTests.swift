import CLinux
import Testing

@testable import RunLoopCore

/// A large payload that arrives in pieces of any size equals the bytes sent, and takes no memory before they arrive.
@Suite struct IncomingBodyTests {
    private func announcing(_ length: Int) -> Frame {
        Frame(kind: .request, payloadLocation: .pieces, id: 3, messageID: 4, length: length, deadline: .never)
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func piecesFormThePayload(seed: UInt64) {
        var random = Random(seed: seed)
        var body = IncomingBody()
        for _ in 0..<8 {
            let length = Frame.inlineLimit + 1 + random.below(random.below(2) == 0 ? 100_000 : 3_000_000)
            body.begin(announcing(length))
            var sent = 0
            var marks: [(Int, UInt8)] = []
            while sent < length {
                guard let room = body.room() else {
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
        var body = IncomingBody()
        body.begin(announcing(length))
        while true {
            if let (_, data) = body.finish() { return data }
            guard let room = body.room(), body.add(room.count) else { return nil }
        }
    }

    /// Payloads that a server keeps take about as much memory as its limits count, whatever the size of the previous payload.
    @Test func smallPayloadDoesNotKeepALargeBlock() {
        var kept: [DataPointer] = []
        for _ in 0..<8 {
            receive(4_000_000)?.release()
            guard let small = receive(70_000) else {
                Issue.record("no payload")
                return
            }
            kept.append(small)
        }
        #expect(kept.allSatisfy { $0.pointee.capacity <= 140_000 })
        for data in kept { data.release() }
    }

    @Test func morePiecesThanAnnouncedAreRefused() {
        var body = IncomingBody()
        var accepted = [body.add(1), body.finish() != nil]
        body.begin(announcing(70_000))
        let room = body.room()?.count
        accepted += [body.add(69_999), body.finish() != nil, body.add(2), body.add(1)]
        #expect(accepted == [false, false, true, false, false, true] && room == 70_000)
        body.reset()
        let isUnderWay = body.isUnderWay
        #expect(!isUnderWay)
    }

    /// A payload that is not waited for is counted, but not kept. Other payloads are unaffected.
    @Test func skippedPayloadHasNoData() {
        var body = IncomingBody()
        body.begin(announcing(100_000))
        body.skip(9)
        let isKept = body.room() != nil
        body.skip(3)
        let isStillKept = body.room() != nil
        let isCounted = body.add(50_000) && body.add(50_000)
        #expect(isKept && !isStillKept && isCounted)
        guard let (frame, data) = body.finish() else {
            Issue.record("not complete")
            return
        }
        #expect(frame.length == 100_000 && data == nil)
    }

    /// If the client is gone, nothing more will come than the socket contains.
    @Test func payloadThatCannotBeCompletedIsNotKept() {
        var complete = IncomingBody()
        var incomplete = IncomingBody()
        complete.begin(announcing(100_000))
        incomplete.begin(announcing(100_000))
        let isDropped = [complete.noteHangUp(100_000), incomplete.noteHangUp(99_999)]
        let isKept = [complete.room() != nil, incomplete.room() != nil]
        #expect(isDropped == [false, true] && isKept == [true, false])
        complete.reset()
        incomplete.reset()
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
        first.pointee.reservedBytes = 99
        #expect(first != other && first != stranger && join(-5, 7) == first && join(-6, 8) == stranger)
        first.leave(&peers)
        #expect(join(-5, 7).pointee.reservedBytes == 99)
        first.leave(&peers)
        first.leave(&peers)
        let later = join(-5, 7)
        #expect(later.pointee.reservedBytes == 0)
        for peer in [later, other, stranger, stranger] { peer.leave(&peers) }
        #expect(peers == nil)
    }
}
