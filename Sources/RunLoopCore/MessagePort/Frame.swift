/// One packet of a connection: a header of 32 bytes, followed by the payload. A payload that is too large for a packet follows in packets
/// of its own, the *pieces*; between them come no frames but those without a payload.
///
/// Both ends are on one machine, yet nothing that arrives is trusted: `parse` is the only way in, and what it accepts is safe to use.
/// Numbers are in the machine's byte order. Pure values; any thread.
struct Frame: BitwiseCopyable {
    /// What the packet is for.
    enum Kind: UInt8 {
        /// The first packet of a client; the payload is the name of the port that it wants.
        case hello = 1
        case request = 2
        case reply = 3
        /// The server will not answer a request.
        case dropped = 4
        /// The server passes a ring; the client answers when it begins to use it. See `Ring`.
        case ring = 5
        /// There may be entries in the ring.
        case doorbell = 6
        /// The next part of a payload.
        case piece = 7
        /// The rest of a payload will not come, so there is no such request.
        case abandoned = 8
    }

    /// Where the payload of a frame is.
    enum PayloadLocation: UInt8 {
        /// There is none: a NULL reply.
        case absent = 0
        /// In the packet, behind the header.
        case inline = 1
        /// In the pieces that follow.
        case pieces = 2
        /// In a memory file that is passed with the packet.
        case file = 3
    }

    var kind: Kind
    var payloadLocation = PayloadLocation.absent
    /// The number of a request or of the one that a reply answers, chosen by the client; 0 for a request that wants no reply.
    var id: UInt32 = 0
    /// The message id that the client of the API chose.
    var message: Int32 = 0
    /// Bytes of payload; with `pieces`, of all of them together.
    var length = 0
    /// How long the client waits for the reply.
    var deadline = Instant.never

    static var magic: UInt32 { 0x324D_4C52 }
    static var headSize: Int { 32 }
    /// The largest payload; CF's own limit.
    static var lengthLimit: Int { 0x6000_0000 }
    /// The largest payload of a packet; larger ones follow in pieces.
    static var inlineLimit: Int { 32 * 1024 }
    /// The largest piece.
    static var pieceLimit: Int { 128 * 1024 }
    /// The longest name of a port, in bytes.
    static var nameLimit: Int { 255 }

    /// The 32 bytes of the header.
    typealias Head = (UInt32, UInt8, UInt8, UInt16, UInt32, Int32, UInt64, UInt64)

    /// The header as it is sent. O(1).
    var head: Head { (Self.magic, kind.rawValue, payloadLocation.rawValue, 0, id, message, UInt64(length), deadline.nanoseconds) }

    /// Whether a packet of `size` bytes without a file is of the most frequent kind: a request that wants a reply, or a reply, with its
    /// payload inside. Implies that `parse` accepts it for a receiver that may get `kind`; its fields are those of the header. O(1).
    static func isCommonCase(_ head: Head, size: Int, _ kind: Kind) -> Bool {
        size >= headSize && size <= headSize + inlineLimit && head.0 == magic && head.1 == kind.rawValue
            && head.2 == PayloadLocation.inline.rawValue && head.3 == 0 && head.4 != 0 && head.6 == UInt64(size - headSize)
    }

    /// Which end receives a frame, and with that which frames it may be sent.
    enum Receiver {
        /// `newServer`: a server whose client has not sent the name yet.
        case newServer, server, client
    }

    /// The frame of a packet of `size` bytes, with or without a passed file; nil if the packet is malformed, or must not be sent to
    /// `receiver`. O(1).
    @inline(never)
    static func parse(_ head: Head, size: Int, hasFile: Bool, receiver: Receiver) -> Frame? {
        guard size >= headSize, head.0 == magic, head.3 == 0, let kind = Kind(rawValue: head.1),
            let payloadLocation = PayloadLocation(rawValue: head.2), head.6 <= UInt64(lengthLimit)
        else { return nil }
        let frame = Frame(
            kind: kind, payloadLocation: payloadLocation, id: head.4, message: head.5, length: Int(head.6),
            deadline: Instant(nanoseconds: head.7))
        return frame.hasValidLength(size, hasFile) && frame.isAllowed(receiver) ? frame : nil
    }

    /// Whether the length fits the packet and the location of the payload.
    private func hasValidLength(_ size: Int, _ hasFile: Bool) -> Bool {
        switch payloadLocation {
        case .absent: length == 0 && size == Self.headSize && !hasFile
        case .inline: length <= (kind == .piece ? Self.pieceLimit : Self.inlineLimit) && size == Self.headSize + length && !hasFile
        case .pieces: length > Self.inlineLimit && size == Self.headSize && !hasFile
        case .file: size == Self.headSize && hasFile
        }
    }

    /// Whether this kind of frame may be sent to `receiver`.
    private func isAllowed(_ receiver: Receiver) -> Bool {
        switch (receiver, kind) {
        case (.newServer, .hello): payloadLocation == .inline && length > 0 && length <= Self.nameLimit && id == 0
        case (.server, .request): payloadLocation == .inline || payloadLocation == .pieces
        case (.client, .ring): payloadLocation == .file && length == Ring.size && id == 0
        case (.server, .ring), (.server, .doorbell), (.server, .abandoned): payloadLocation == .absent && id == 0
        case (.server, .piece), (.client, .piece): payloadLocation == .inline && length > 0 && id == 0
        case (.client, .reply): id != 0 && payloadLocation != .file
        case (.client, .dropped): id != 0 && payloadLocation == .absent
        default: false
        }
    }
}

/// What a peer can make this process spend. Each number is a promise of RLMessagePort.h, RLMessagePortRequest.h or
/// SECURITY.md, and has a test.
enum PortLimits {
    /// How many bytes of large payloads one connection may move before others have their turn.
    static var bytesPerTurn: Int { 1024 * 1024 }
    /// How many small one-way requests of one connection are received before others have their turn.
    static var requestsPerTurn: Int { 32 }
    /// The most memory that a payload takes before its bytes have come.
    static var unseenBytes: Int { 1024 * 1024 }
    /// How much memory the large payloads that a process's servers are receiving take together, apart from one payload.
    static var unfinishedBytes: Int { 256 * 1024 * 1024 }
    /// Of that, the payloads of one client process take no more than one part in so many of what is free; nor do those of all processes
    /// of another user.
    static var shareOfFree: Int { 4 }
    /// How often, in nanoseconds, the server looks whether payloads stand still while others wait for memory.
    static var moment: UInt64 { 50_000_000 }
    /// How many bytes of a payload have to come in such a time, and how many may be missing: it may stand still for 2 s.
    static var leastBytesInMoment: Int { 200 * 1024 }
    static var mostBytesLate: Int { 40 * leastBytesInMoment }
    /// How often that may find a piece that no loop receives, before another payload is exempt from the limit: for 2 s.
    static var mostMomentsUnread: Int { 40 }
    /// How many bytes of requests that were taken over and not answered a client may have before it is not read any more. The number of
    /// these requests is limited by the capacity of the port.
    static var takenBytes: Int { 64 * 1024 * 1024 }
    /// For how many nanoseconds after it was accepted a client may say nothing, if others connect.
    static var greeting: UInt64 { 2_000_000_000 }
    /// How many rings the servers of a process make, of 132 kB each; other connections use packets.
    static var rings: UInt32 { 256 }
    /// How many bytes of large payloads wait in a socket until the other end reads them, where the system allows as many.
    static var sendBuffer: Int32 { 1024 * 1024 }
    /// How many bytes of requests of one connection may be received ahead: see `ReceivedAhead`.
    static var bytesAhead: Int { 16 * 1024 * 1024 }
    /// How many bytes all connections of the process together may have received ahead, apart from one packet or payload of each.
    static var allBytesAhead: Int { 64 * 1024 * 1024 }
    /// For how many nanoseconds a large request that has begun goes on whatever the sender's time limit is: its pieces need a reader.
    static var graceForPieces: UInt64 { 50_000_000 }
}
