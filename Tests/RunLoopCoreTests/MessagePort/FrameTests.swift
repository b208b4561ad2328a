import Testing

@testable import RunLoopCore

/// Frames are read as they were written. Hostile frames are tested in Tests/fuzz and Tests/c/test-message-port-hostile.c.
@Suite struct FrameTests {
    @Test func headerHasTheSizeOfTheProtocol() {
        #expect(MemoryLayout<Frame.Head>.size == Frame.headSize)
        #expect(MemoryLayout<Frame.Head>.stride == Frame.headSize)
    }

    @Test func pooledTypesFitIntoTheirSlabs() {
        #expect(MemoryLayout<RequestStorage>.size <= 128)
        #expect(MemoryLayout<PortMessageStorage>.size <= 64)
        #expect(MemoryLayout<PendingRequest>.size <= 128)
        #expect(DataPointer.receivedLimit >= Frame.headSize + Frame.inlineLimit)
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func validFramesSurviveWritingAndReading(seed: UInt64) {
        var random = Random(seed: seed)
        for _ in 0..<scaled(20_000) {
            let (frame, receiver) = validFrame(&random)
            let isFile = frame.payloadLocation == .file
            let size = Frame.headSize + (frame.payloadLocation == .inline ? frame.length : 0)
            guard let read = Frame.parse(frame.head, size: size, hasFile: isFile, receiver: receiver) else {
                Issue.record("refused: \(frame)")
                return
            }
            expectInLoop(
                read.kind == frame.kind && read.payloadLocation == frame.payloadLocation && read.id == frame.id
                    && read.messageID == frame.messageID)
            expectInLoop(read.length == frame.length && read.deadline == frame.deadline)
            // The frame is refused by every other receiver, with a missing or extra byte, and with a missing or extra file.
            // Both ends of a connection may receive pieces and doorbells.
            let isForBoth = frame.kind == .piece || frame.kind == .doorbell
            for other in [Frame.Receiver.newServer, .server, .client] where other != receiver && (other == .newServer || !isForBoth) {
                expectInLoop(Frame.parse(frame.head, size: size, hasFile: isFile, receiver: other) == nil)
            }
            expectInLoop(Frame.parse(frame.head, size: size + 1, hasFile: isFile, receiver: receiver) == nil)
            expectInLoop(Frame.parse(frame.head, size: size - 1, hasFile: isFile, receiver: receiver) == nil)
            expectInLoop(Frame.parse(frame.head, size: size, hasFile: !isFile, receiver: receiver) == nil)
        }
    }

    private func validFrame(_ random: inout Random) -> (Frame, Frame.Receiver) {
        let deadline = Instant(nanoseconds: UInt64(random.below(1 << 40)))
        var frame = Frame(
            kind: .request, payloadLocation: .inline, id: UInt32(random.below(5)), messageID: Int32(random.below(1000)) - 500, length: 0,
            deadline: deadline)
        let locations: [Frame.PayloadLocation] = [.inline, .pieces, .absent]
        switch random.below(8) {
        case 0:
            frame.kind = .hello
            frame.id = 0
            frame.length = 1 + random.below(Frame.nameLimit)
            return (frame, .newServer)
        case 1:
            frame.payloadLocation = locations[random.below(2)]
            frame.length = length(frame.payloadLocation, &random)
            return (frame, .server)
        case 2:
            frame.kind = .reply
            frame.id += 1
            frame.payloadLocation = locations[random.below(3)]
            frame.length = length(frame.payloadLocation, &random)
            return (frame, .client)
        case 3:
            frame.kind = .ring
            frame.id = 0
            frame.payloadLocation = .file
            frame.length = Ring.size
            return (frame, .client)
        case 4, 5:
            let kinds: [Frame.Kind] = [.ring, .doorbell, .abandoned]
            frame.kind = kinds[random.below(3)]
            frame.id = 0
            frame.payloadLocation = .absent
            return (frame, .server)
        case 6:
            frame.kind = .piece
            frame.id = 0
            frame.length = 1 + random.below(Frame.pieceLimit)
            return (frame, random.below(2) == 0 ? .server : .client)
        default:
            frame.kind = .dropped
            frame.id += 1
            frame.payloadLocation = .absent
            return (frame, .client)
        }
    }

    private func length(_ payloadLocation: Frame.PayloadLocation, _ random: inout Random) -> Int {
        switch payloadLocation {
        case .absent: 0
        case .inline: random.below(Frame.inlineLimit + 1)
        case .pieces: Frame.inlineLimit + 1 + random.below(Frame.lengthLimit - Frame.inlineLimit)
        case .file: Ring.size
        }
    }
}
