/// What is said on a connection: a packet that begins with 32 bytes, followed by the data unless that is in a file.
///
/// Both ends are on one machine and of one user, but nothing that comes is believed: `parse` is the only way in, and what it
/// lets through is safe to use. Numbers are in the machine's own order. Pure; any thread.
struct Frame: BitwiseCopyable {
    /// What it is for.
    enum Kind: UInt8 {
        /// The first of a client; the data is the name it wants.
        case hello = 1
        case request = 2
        case reply = 3
        /// The server will not answer a request.
        case dropped = 4
        /// The client hands a ring over: see `Ring`.
        case ring = 5
        /// There may be something in the ring.
        case doorbell = 6
        /// The server has read the lent file of a request that wants no reply.
        case read = 7
    }

    /// Where the data of a frame is.
    enum PayloadLocation: UInt8 {
        /// There is none (a NULL reply).
        case absent = 0
        /// Behind the head.
        case inline = 1
        /// In a memory file that was passed with the packet.
        case file = 2
        /// The same, but the sender wants to use the file again: the receiver counts it as read.
        case sharedBuffer = 3
        /// In the file that the receiver has lent last: a reply, and the file is returned with it.
        case returnedBuffer = 4
    }

    var kind: Kind
    var payloadLocation: PayloadLocation
    /// Of the request, chosen by the client; 0 if it wants no reply.
    var id: UInt32
    /// The client's message id.
    var message: Int32
    /// Of the data.
    var length: Int
    /// Until when the client waits for the reply.
    var deadline: Instant
    /// How many lent files the sender of this frame has read on this connection so far, modulo 2¹⁶.
    var buffersRead: UInt16 = 0

    static var magic: UInt32 { 0x314D_4C52 }
    static var headSize: Int { 32 }
    /// CF's own limit.
    static var lengthLimit: Int { 0x6000_0000 }
    /// What goes into a packet; the rest goes into files.
    static var inlineLimit: Int { 32 * 1024 }
    /// What is worth keeping a file for.
    static var sharedLimit: Int { 8 * 1024 * 1024 }
    static var nameLimit: Int { 255 }

    /// The 32 bytes.
    typealias Head = (UInt32, UInt8, UInt8, UInt16, UInt32, Int32, UInt64, UInt64)

    /// O(1).
    var head: Head { (Self.magic, kind.rawValue, payloadLocation.rawValue, buffersRead, id, message, UInt64(length), deadline.nanoseconds) }

    /// Whether a packet of `size` bytes that came without a file is one that `parse` lets through, and what there is most of: a request
    /// with its data, or a reply. What it says of itself is in the head then. Whoever listens may be told that kind. O(1).
    @inline(__always)
    static func isCommonCase(_ head: Head, size: Int, _ kind: Kind) -> Bool {
        size >= headSize && size <= headSize + inlineLimit && head.0 == magic && head.1 == kind.rawValue
            && head.2 == PayloadLocation.inline.rawValue && head.4 != 0 && head.6 == UInt64(size - headSize)
    }

    /// What may follow what.
    enum Side {
        /// A server that has not been told a name yet, one that has, a client.
        case newServer, server, client
    }

    /// The frame of a packet of `size` bytes, with or without a passed file; nil if it is not what `side` may be told. O(1).
    static func parse(_ head: Head, size: Int, hasFile: Bool, side: Side) -> Frame? {
        guard size >= headSize, head.0 == magic, let kind = Kind(rawValue: head.1),
            let payloadLocation = PayloadLocation(rawValue: head.2), head.6 <= UInt64(lengthLimit)
        else { return nil }
        let frame = Frame(
            kind: kind, payloadLocation: payloadLocation, id: head.4, message: head.5, length: Int(head.6),
            deadline: Instant(nanoseconds: head.7),
            buffersRead: head.3)
        return frame.isSane(size, hasFile) && frame.isFor(side) ? frame : nil
    }

    private func isSane(_ size: Int, _ hasFile: Bool) -> Bool {
        switch payloadLocation {
        case .absent: length == 0 && size == Self.headSize && !hasFile
        case .inline: length <= Self.inlineLimit && size == Self.headSize + length && !hasFile
        case .file: length > Self.inlineLimit && size == Self.headSize && hasFile
        case .sharedBuffer: length > Self.inlineLimit && length <= Self.sharedLimit && size == Self.headSize && hasFile
        case .returnedBuffer: length > Self.inlineLimit && length <= Self.sharedLimit && size == Self.headSize && !hasFile
        }
    }

    private func isFor(_ side: Side) -> Bool {
        switch (side, kind) {
        case (.newServer, .hello): payloadLocation == .inline && length > 0 && length <= Self.nameLimit && id == 0
        case (.server, .request): payloadLocation != .absent && payloadLocation != .returnedBuffer
        case (.server, .ring): payloadLocation == .file && length == Ring.size && id == 0
        case (.server, .doorbell): payloadLocation == .absent && id == 0
        case (.client, .reply): id != 0
        case (.client, .dropped): id != 0 && payloadLocation == .absent
        case (.client, .read): id == 0 && payloadLocation == .absent
        default: false
        }
    }
}
