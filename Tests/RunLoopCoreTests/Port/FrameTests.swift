import Testing

@testable import RunLoopCore

/// Frames as they are written and read. What hostile ones do is in Tests/fuzz and Tests/c/test-message-port-hostile.c.
@Suite struct FrameTests {
    @Test func headHasTheSizeThatIsSent() {
        #expect(MemoryLayout<Frame.Head>.size == Frame.headSize)
        #expect(MemoryLayout<Frame.Head>.stride == Frame.headSize)
    }

    /// `Home` makes their slabs, and does not know them.
    @Test func whatIsPooledFitsIntoItsPlace() {
        #expect(MemoryLayout<RequestStorage>.size <= 128)
        #expect(MemoryLayout<PortMessageStorage>.size <= 64)
        #expect(DataPointer.receivedLimit >= Frame.headSize + Frame.insideLimit)
    }

    /// What is usual is nothing that would not be let through, and all of what there is most of.
    @Test(arguments: [4, 5, 6] as [UInt64])
    func whatIsUsualIsSane(seed: UInt64) {
        var random = Random(seed: seed)
        var count = 0
        for _ in 0..<scaled(20_000) {
            let (frame, side) = sane(&random)
            let size = Frame.headSize + (frame.place == .inside ? frame.length : 0)
            let kind = side == .client ? Frame.Kind.reply : .request
            let isUsual = Frame.isUsual(frame.head, size: size, kind)
            #expect(isUsual == (frame.kind == kind && frame.place == .inside && frame.id != 0))
            if isUsual { count += 1 }
            // One byte of it, or its size, is something else.
            var head = frame.head
            let place = random.below(Frame.headSize)
            withUnsafeMutableBytes(of: &head) { $0[place] ^= UInt8(1 + random.below(255)) }
            let sizes = [size, size + 1, size - 1, Frame.headSize - 1, Frame.headSize + Frame.insideLimit + 1, -1]
            for size in sizes where Frame.isUsual(head, size: size, kind) {
                #expect(Frame.parse(head, size: size, hasFile: false, side: side == .newServer ? .server : side) != nil)
            }
        }
        #expect(count > 0)
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func whatIsSaneIsReadAsItWasWritten(seed: UInt64) {
        var random = Random(seed: seed)
        for _ in 0..<scaled(20_000) {
            let (frame, side) = sane(&random)
            let isFile = frame.place == .file || frame.place == .lentFile
            let size = Frame.headSize + (frame.place == .inside ? frame.length : 0)
            guard let read = Frame.parse(frame.head, size: size, hasFile: isFile, side: side) else {
                Issue.record("refused: \(frame)")
                return
            }
            #expect(read.kind == frame.kind && read.place == frame.place && read.id == frame.id && read.message == frame.message)
            #expect(read.length == frame.length && read.deadline == frame.deadline && read.filesRead == frame.filesRead)
            // Nobody else may be told that, and nothing may be missing or too much.
            for other in [Frame.Side.newServer, .server, .client] where other != side {
                #expect(Frame.parse(frame.head, size: size, hasFile: isFile, side: other) == nil)
            }
            #expect(Frame.parse(frame.head, size: size + 1, hasFile: isFile, side: side) == nil)
            #expect(Frame.parse(frame.head, size: size - 1, hasFile: isFile, side: side) == nil)
            #expect(Frame.parse(frame.head, size: size, hasFile: !isFile, side: side) == nil)
        }
    }

    private func sane(_ random: inout Random) -> (Frame, Frame.Side) {
        let deadline = Instant(nanoseconds: UInt64(random.below(1 << 40)))
        var frame = Frame(
            kind: .request, place: .inside, id: UInt32(random.below(5)), message: Int32(random.below(1000)) - 500, length: 0,
            deadline: deadline, filesRead: UInt16(random.below(65536)))
        let places: [Frame.Place] = [.inside, .file, .lentFile]
        switch random.below(7) {
        case 0:
            frame.kind = .hello
            frame.id = 0
            frame.length = 1 + random.below(Frame.nameLimit)
            return (frame, .newServer)
        case 1:
            frame.place = places[random.below(3)]
            frame.length = length(frame.place, &random)
            return (frame, .server)
        case 2:
            frame.kind = .reply
            frame.id += 1
            let ofReplies: [Frame.Place] = places + [.nowhere, .returnedFile]
            frame.place = ofReplies[random.below(5)]
            frame.length = length(frame.place, &random)
            return (frame, .client)
        case 3:
            frame.kind = .ring
            frame.id = 0
            frame.place = .file
            frame.length = Ring.size
            return (frame, .server)
        case 4:
            frame.kind = .doorbell
            frame.id = 0
            frame.place = .nowhere
            return (frame, .server)
        case 5:
            frame.kind = .read
            frame.id = 0
            frame.place = .nowhere
            return (frame, .client)
        default:
            frame.kind = .dropped
            frame.id += 1
            frame.place = .nowhere
            return (frame, .client)
        }
    }

    private func length(_ place: Frame.Place, _ random: inout Random) -> Int {
        switch place {
        case .nowhere: 0
        case .inside: random.below(Frame.insideLimit + 1)
        case .file: Frame.insideLimit + 1 + random.below(Frame.lengthLimit - Frame.insideLimit)
        case .lentFile, .returnedFile: Frame.insideLimit + 1 + random.below(Frame.lentLimit - Frame.insideLimit)
        }
    }
}
