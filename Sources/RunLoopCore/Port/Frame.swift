/// One packet of a connection: a header of 32 bytes, followed by the payload unless that is in a file.
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
        /// The client shares a ring: see `Ring`.
        case ring = 5
        /// There may be entries in the ring.
        case doorbell = 6
        /// The server has read the shared buffer that came with a one-way request.
        case bufferRead = 7
    }

    /// Where the payload of a frame is.
    enum PayloadLocation: UInt8 {
        /// There is none: a NULL reply.
        case absent = 0
        /// In the packet, behind the header.
        case inline = 1
        /// In a memory file that is passed with the packet, and belongs to the receiver.
        case file = 2
        /// In the sender's shared buffer, whose descriptor is passed with the packet; the receiver reports when it has read it.
        case sharedBuffer = 3
        /// In the shared buffer that the receiver of this reply sent last: the server has put its reply there.
        case returnedBuffer = 4
    }

    var kind: Kind
    var payloadLocation: PayloadLocation
    /// The number of a request or of the one that a reply answers, chosen by the client; 0 for a request that wants no reply.
    var id: UInt32
    /// The message id that the client of the API chose.
    var message: Int32
    /// Bytes of payload.
    var length: Int
    /// How long the client waits for the reply.
    var deadline: Instant
    /// How many shared buffers the sender of this frame has read on this connection, modulo 2¹⁶.
    var buffersRead: UInt16 = 0

    static var magic: UInt32 { 0x314D_4C52 }
    static var headSize: Int { 32 }
    /// The largest payload; CF's own limit.
    static var lengthLimit: Int { 0x6000_0000 }
    /// The largest payload of a packet; larger ones go through files.
    static var inlineLimit: Int { 32 * 1024 }
    /// The largest payload for which it pays to keep a buffer.
    static var sharedLimit: Int { 8 * 1024 * 1024 }
    /// The longest name of a port, in bytes.
    static var nameLimit: Int { 255 }

    /// The 32 bytes of the header.
    typealias Head = (UInt32, UInt8, UInt8, UInt16, UInt32, Int32, UInt64, UInt64)

    /// The header as it is sent. O(1).
    var head: Head { (Self.magic, kind.rawValue, payloadLocation.rawValue, buffersRead, id, message, UInt64(length), deadline.nanoseconds) }

    /// Whether a packet of `size` bytes without a file is of the most frequent kind: a request that wants a reply, or a reply, with its
    /// payload inside. Implies that `parse` accepts it for a receiver that may get `kind`; its fields are those of the header. O(1).
    @inline(__always)
    static func isCommonCase(_ head: Head, size: Int, _ kind: Kind) -> Bool {
        size >= headSize && size <= headSize + inlineLimit && head.0 == magic && head.1 == kind.rawValue
            && head.2 == PayloadLocation.inline.rawValue && head.4 != 0 && head.6 == UInt64(size - headSize)
    }

    /// Which end receives a frame, and with that which frames it may be sent.
    enum Receiver {
        /// `newServer`: a server whose client has not sent the name yet.
        case newServer, server, client
    }

    /// The frame of a packet of `size` bytes, with or without a passed file; nil if the packet is malformed, or must not be sent to
    /// `receiver`. O(1).
    static func parse(_ head: Head, size: Int, hasFile: Bool, receiver: Receiver) -> Frame? {
        guard size >= headSize, head.0 == magic, let kind = Kind(rawValue: head.1),
            let payloadLocation = PayloadLocation(rawValue: head.2), head.6 <= UInt64(lengthLimit)
        else { return nil }
        let frame = Frame(
            kind: kind, payloadLocation: payloadLocation, id: head.4, message: head.5, length: Int(head.6),
            deadline: Instant(nanoseconds: head.7),
            buffersRead: head.3)
        return frame.hasValidLength(size, hasFile) && frame.isAllowed(receiver) ? frame : nil
    }

    /// Whether the length fits the packet and the location of the payload.
    private func hasValidLength(_ size: Int, _ hasFile: Bool) -> Bool {
        switch payloadLocation {
        case .absent: length == 0 && size == Self.headSize && !hasFile
        case .inline: length <= Self.inlineLimit && size == Self.headSize + length && !hasFile
        case .file: length > Self.inlineLimit && size == Self.headSize && hasFile
        case .sharedBuffer: length > Self.inlineLimit && length <= Self.sharedLimit && size == Self.headSize && hasFile
        case .returnedBuffer: length > Self.inlineLimit && length <= Self.sharedLimit && size == Self.headSize && !hasFile
        }
    }

    /// Whether this kind of frame may be sent to `receiver`.
    private func isAllowed(_ receiver: Receiver) -> Bool {
        switch (receiver, kind) {
        case (.newServer, .hello): payloadLocation == .inline && length > 0 && length <= Self.nameLimit && id == 0
        case (.server, .request): payloadLocation != .absent && payloadLocation != .returnedBuffer
        case (.server, .ring): payloadLocation == .file && length == Ring.size && id == 0
        case (.server, .doorbell): payloadLocation == .absent && id == 0
        case (.client, .reply): id != 0
        case (.client, .dropped): id != 0 && payloadLocation == .absent
        case (.client, .bufferRead): id == 0 && payloadLocation == .absent
        default: false
        }
    }
}
