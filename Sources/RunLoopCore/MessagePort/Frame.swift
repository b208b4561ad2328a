/// One packet of a connection: a header of 32 bytes, usually followed by the payload. A payload that is too large for this packet follows
/// in further packets, the *pieces*. Between pieces, only frames without a payload may be sent.
///
/// Both ends are on the same machine, yet nothing that arrives is trusted: each packet passes `parse`, and what that accepts is safe to
/// use. Numbers are in native byte order. Plain values; any thread.
struct Frame: BitwiseCopyable {
    /// What the packet is for.
    enum Kind: UInt8 {
        /// The first packet of a client. The payload is the name of the port that it wants.
        case hello = 1
        /// A request of the client.
        case request = 2
        /// The server's answer to a request.
        case reply = 3
        /// The server's notice that it will not answer a request.
        case dropped = 4
        /// The server passes a ring; the client sends a frame of this kind back when it starts to use the ring. See `Ring`.
        case ring = 5
        /// Wakes a server that may be asleep: the ring may have entries. Or wakes a client that waits for room in the ring: half of it is free.
        case doorbell = 6
        /// The next part of a payload.
        case piece = 7
        /// The client will not send the rest of a payload, so the request that began with it does not exist.
        case abandoned = 8
    }

    /// Where the payload of a frame is.
    enum PayloadLocation: UInt8 {
        /// There is none. In a reply, this means NULL.
        case absent = 0
        /// In the packet, after the header.
        case inline = 1
        /// In the pieces that follow.
        case pieces = 2
        /// In a memory file whose descriptor is passed with the packet. Only for rings.
        case file = 3
    }

    var kind: Kind
    var payloadLocation = PayloadLocation.absent
    /// The number of a request, chosen by the client, or of the request that a reply answers; 0 for a request that wants no reply.
    var id: UInt32 = 0
    /// The message id that the sending program has passed.
    var messageID: Int32 = 0
    /// The size of the payload in bytes; with `pieces`, of all pieces together.
    var length = 0
    /// When the client stops waiting for the reply.
    var deadline = Instant.never

    /// Identifies the protocol ("RLM2"). A release whose protocol differs from that of the release before needs another number.
    static var magic: UInt32 { 0x324D_4C52 }
    static var headSize: Int { 32 }
    /// The largest payload, which is CF's limit, too.
    static var lengthLimit: Int { 0x6000_0000 }
    /// The largest payload of one packet, except for pieces; a larger one follows in pieces.
    static var inlineLimit: Int { 64 * 1024 }
    /// The largest piece.
    static var pieceLimit: Int { 128 * 1024 }
    /// The longest name of a port, in bytes.
    static var nameLimit: Int { 255 }

    /// The 32 bytes of the header: magic number, kind, location of the payload, 0, id, message id, length, deadline.
    typealias Head = (UInt32, UInt8, UInt8, UInt16, UInt32, Int32, UInt64, UInt64)

    /// The header as it is sent. O(1).
    var head: Head { (Self.magic, kind.rawValue, payloadLocation.rawValue, 0, id, messageID, UInt64(length), deadline.nanoseconds) }

    /// The end that receives a frame, which determines what frames may be sent to it.
    enum Receiver {
        /// `newServer`: a server whose client has not yet sent its hello.
        case newServer, server, client
    }

    /// Returns the frame of a packet of `size` bytes that came with a file if `hasFile`. Returns nil if the packet is malformed, or must
    /// not be sent to `receiver`. O(1).
    static func parse(_ head: Head, size: Int, hasFile: Bool, receiver: Receiver) -> Frame? {
        guard size >= headSize, head.0 == magic, head.3 == 0, let kind = Kind(rawValue: head.1),
            let payloadLocation = PayloadLocation(rawValue: head.2), head.6 <= UInt64(lengthLimit)
        else { return nil }
        let frame = Frame(
            kind: kind, payloadLocation: payloadLocation, id: head.4, messageID: head.5, length: Int(head.6),
            deadline: Instant(nanoseconds: head.7))
        let isWhole = size == headSize + (payloadLocation == .inline ? frame.length : 0) && hasFile == (payloadLocation == .file)
        return isWhole && frame.isAllowed(receiver) ? frame : nil
    }

    /// Whether a frame of this kind, with this payload and id, may be sent to `receiver`.
    @inline(__always)
    private func isAllowed(_ receiver: Receiver) -> Bool {
        let isEmpty = payloadLocation == .absent && length == 0
        let isInline = payloadLocation == .inline
        let isBody = isInline && length <= Self.inlineLimit || payloadLocation == .pieces && length > Self.inlineLimit
        return switch kind {
        case .request: receiver == .server && isBody
        case .reply: receiver == .client && id != 0 && (isBody || isEmpty)
        case .hello: receiver == .newServer && isInline && length > 0 && length <= Self.nameLimit && id == 0
        case .ring where receiver == .client: payloadLocation == .file && length == Ring.size && id == 0
        case .doorbell: receiver != .newServer && isEmpty && id == 0
        case .ring, .abandoned: receiver == .server && isEmpty && id == 0
        case .piece: receiver != .newServer && isInline && length > 0 && length <= Self.pieceLimit && id == 0
        case .dropped: receiver == .client && id != 0 && isEmpty
        }
    }
}

/// Limits on what a peer can make this process spend. Each number is a promise of RLMessagePort.h, RLMessagePortRequest.h or SECURITY.md,
/// and has a test.
enum PortLimits {
    /// How many bytes of payloads one connection may move before other sources are served.
    static var bytesPerTurn: Int { 1024 * 1024 }
    /// How many one-way requests of one connection are received before other sources are served.
    static var requestsPerTurn: Int { 64 }
    /// The most memory, in bytes, that a payload takes before its bytes have arrived.
    static var unseenBytes: Int { 1024 * 1024 }
    /// How much memory, in bytes, the large payloads that a port is receiving from one client process, or from all processes of another
    /// user, may take together, not counting one exempt payload.
    static var unfinishedBytes: Int { 64 * 1024 * 1024 }
    /// How large the requests to a port of one client process, or of all processes of another user, that were taken over
    /// (RLMessagePortCopyRequest) and not answered may be together, in bytes, before nothing more is read from them. The number of such
    /// requests of each connection is limited by the capacity of the port.
    static var unansweredBytes: Int { 64 * 1024 * 1024 }
    /// How large these may be, in bytes, when the peer is read again: less than the limit, since all connections of the port are checked
    /// whenever that changes.
    static var unansweredBytesToContinue: Int { 60 * 1024 * 1024 }
    /// How long, in nanoseconds, an accepted client may stay silent if others connect.
    static var greeting: UInt64 { 2_000_000_000 }
    /// How long, in nanoseconds, an accepted client may stay silent if there is no descriptor for another one.
    static var shortGreeting: UInt64 { 50_000_000 }
    /// How many rings, of 516 kB each, the servers of a process make; further connections use packets only.
    static var rings: UInt32 { 128 }
    /// How many bytes of a large payload wait in a socket until the peer reads them, where the system allows as many.
    static var sendBuffer: Int32 { 1024 * 1024 }
    /// How many bytes a request that is kept counts for in addition to its data, since a small one takes more than its bytes.
    static var costOfRequest: Int { 256 }
    /// How many bytes of one connection's requests may be received ahead: see `ReceivedAhead`.
    static var bytesAhead: Int { 16 * 1024 * 1024 }
    /// How many bytes all connections of the process together may have received ahead, not counting one packet or payload of each.
    static var allBytesAhead: Int { 64 * 1024 * 1024 }
    /// How long, in nanoseconds, a port that ends waits for queued replies while no client reads any of them; and how long the replies that
    /// a server has left are received.
    static var lastReply: UInt64 { 100_000_000 }
    /// How long, in nanoseconds, a port, or all ports of a process that ends, wait for queued replies.
    static var lastReplies: UInt64 { 1_000_000_000 }
    /// How long, in nanoseconds, a large one-way request that has begun is sent even if the sender's time limit is shorter: the server has
    /// to read its pieces.
    static var graceForPieces: UInt64 { 50_000_000 }
}
