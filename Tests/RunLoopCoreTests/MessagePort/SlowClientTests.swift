import CLinux
import CRunLoop
import Synchronization
import Testing

@testable import RunLoopCore

/// A server's connection to a peer that is a plain socket.
private final class ServerEnd {
    let port = RLMessagePortCreateLocal(nil, nil, { _, _, _, _ in nil }, nil, nil)
    let connection: ConnectionPointer
    let peer: Int32

    init() {
        var ends: [Int32] = [-1, -1]
        precondition(socketpair(AF_UNIX, linux_SOCK_SEQPACKET, 0, &ends) == 0)
        peer = ends[1]
        let storage: MessagePortPointer = Handle.storage(UnsafeRawPointer(port.unsafelyUnwrapped))
        connection = ConnectionPointer.make(.server, ends[0], storage).unsafelyUnwrapped
    }

    deinit {
        connection.release()
        RLMessagePortInvalidate(port)
        RLRelease(UnsafeRawPointer(port))
        close(peer)
    }

    var hasBacklog: Bool { connection.has(.hasBacklog) }

    func reply(_ id: UInt32, _ length: Int) {
        let data = DataPointer.create([UInt8](repeating: UInt8(truncatingIfNeeded: id), count: length), count: length)
        connection.send(Frame(kind: .reply, payloadLocation: .absent, id: id, messageID: 0, length: 0, deadline: .never), data)
        data?.release()
    }

    /// Returns the ID and the size of the next packet received; nil if there is none.
    func receive() -> (id: UInt32, length: Int)? {
        var packet = [UInt8](repeating: 0, count: Frame.headSize + Frame.pieceLimit)
        let received = PacketSocket.receive(peer, &packet, packet.count, nil, acceptingDescriptorsFrom: nil)
        if received.kind != .packet { return nil }
        return (packet.withUnsafeBytes { $0.load(as: Frame.Head.self).4 }, received.size - Frame.headSize)
    }

    /// Does what the loop does when the socket becomes writable.
    func handleRoom() -> DispatchResult { connection.handleEvents(Events.writable.rawValue) }
}

/// How a server treats clients that read slowly or send nothing. Serialized, since the list of silent clients is per process.
@Suite(.serialized) struct SlowClientTests {
    /// A flush that sends nothing is followed by a pause; one that sends something is not.
    @Test func queuedPacketsAreSentAsRoomBecomesAvailable() {
        let server = ServerEnd()
        PacketSocket.setSendBuffer(server.connection.pointee.fd, 1)
        var count: UInt32 = 0
        while count < 8 || !server.hasBacklog {
            count += 1
            server.reply(count, 1000)
        }
        for _ in 0..<4 {
            count += 1
            server.reply(count, 1000)
        }
        #expect(!server.connection.flush())
        #expect(server.handleRoom() == .retryLater)
        var next: UInt32 = 1
        while let packet = server.receive() {
            #expect(packet.id == next && packet.length == 1000)
            next += 1
            #expect(server.handleRoom() == .unwanted)
        }
        #expect(next == count + 1 && !server.hasBacklog)
        #expect(server.connection.flush())
    }

    /// Each piece of a payload that was sent counts as something.
    @Test func queuedPiecesAreSentAsRoomBecomesAvailable() {
        let length = 3_000_000
        let server = ServerEnd()
        PacketSocket.setSendBuffer(server.connection.pointee.fd, 1)
        server.reply(1, length)
        #expect(server.hasBacklog)
        // There may be more room than when the payload was sent.
        #expect((0..<100).contains { _ in !server.connection.flush() })
        #expect(server.handleRoom() == .retryLater)
        let first = server.receive()
        #expect(first?.id == 1 && first?.length == 0)
        var received = 0
        while let piece = server.receive() {
            received += piece.length
            while server.receive().map({ received += $0.length }) != nil {}
            #expect(server.handleRoom() == .unwanted)
        }
        #expect(received == length && !server.hasBacklog)
    }

    /// The oldest client that has sent nothing is disconnected first. Data that has not been received yet counts as sent.
    @Test func oldestSilentClientIsDisconnectedFirst() {
        let polite = ServerEnd()
        let old = ServerEnd()
        let new = ServerEnd()
        #expect(write(polite.peer, "x", 1) == 1)
        #expect(!SilentClients.disconnectFirst(acceptedBefore: .distantPast))
        #expect(SilentClients.disconnectFirst(acceptedBefore: .never))
        #expect([polite, old, new].map { $0.connection.pointee.isOpen } == [true, false, true])
        #expect(SilentClients.disconnectFirst(acceptedBefore: .never))
        #expect(!SilentClients.disconnectFirst(acceptedBefore: .never))
        #expect([polite, old, new].map { $0.connection.pointee.isOpen } == [true, false, false])
    }
}
