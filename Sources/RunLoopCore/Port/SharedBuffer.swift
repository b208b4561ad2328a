import CLinux

/// A memory file of this end that carries one large payload after another. Its pages exist already, and making them is most of the price
/// of a new file. The peer reads the file, and reports that in the next frame it sends; until then the file is *in flight*, and payloads
/// go in files of their own. So do those that are too large to be worth keeping a buffer for, and the first one, which may be the only
/// one.
///
/// A server may put its reply into the buffer that held the request: then the data passes through four blocks of memory, which stay in
/// the processor's cache where five do not.
///
/// The file is closed after a while in which only small payloads were sent. Guarded by the connection's mutex.
struct SharedBuffer: ~Copyable {
    private var file: Int32 = -1
    /// The file as memory. While `isInUse` it belongs to the thread that acquired the buffer.
    private var mapping = MappedFile()
    /// There was a large payload not long ago.
    private var isWanted = false
    /// How many times the file was sent, and how many times the peer has reported that it has read it, modulo 2¹⁶. They differ while the
    /// file is in flight.
    private var timesSent: UInt16 = 0
    private var timesRead: UInt16 = 0
    /// A thread writes to the file before sending it, or reads a reply from it, without the mutex. Until it is done no other thread gets
    /// the file or closes it, whatever the peer reports.
    private var isInUse = false
    /// How many small frames, or entries of a ring, came or went since the last large payload.
    private var idleFrames = 0
    /// The request in the file wants no reply: the peer reports at once when it has read it.
    private var isOneWay = false

    /// After this many small frames the file is closed.
    fileprivate static var idleLimit: Int { 64 }

    init() {}

    /// Returns the file, with room for `count` bytes, for the caller to write to and send; -1 if it is in flight or in use, or if there
    /// is none to be had. Then come `write` and, once it is sent, `endUse`, or `cancelSend`. `isOneWay`: the request wants no reply.
    mutating func acquire(_ count: Int, isOneWay: Bool) -> Int32 {
        if count > Frame.sharedLimit || timesSent != timesRead || isInUse { return -1 }
        idleFrames = 0
        if !isWanted {
            isWanted = true
            return -1
        }
        if file < 0 || mapping.size < count || !mapping.keepsPages(file) {
            close()
            // With some room, so that it serves what grows.
            file = (try? mapping.make(min(count + count / 4, Frame.sharedLimit))) ?? -1
        }
        if file < 0 { return -1 }
        timesSent &+= 1
        isInUse = true
        self.isOneWay = isOneWay
        return file
    }

    /// Whether the file is in flight with a request that wants no reply, so that the peer returns it soon: worth waiting for.
    var isExpectedSoon: Bool { isOneWay && timesSent != timesRead }

    /// The file did not come back in that time: do not wait for it again.
    mutating func stopExpecting() { isOneWay = false }

    /// Copies the payload into the file. The thread that has acquired it, without the mutex.
    func write(_ bytes: UnsafeRawPointer, _ count: Int) { mapping.write(bytes, count) }

    /// The peer claims to have put its reply into the file after reading `count` of them; false if it cannot have. Then come `read` and
    /// `endUse`.
    mutating func beginReading(_ count: UInt16) -> Bool {
        if file < 0 || isInUse || timesSent &- timesRead != 1 || count != timesSent { return false }
        isInUse = true
        return true
    }

    /// Copies the reply out of the file; false if it is not long enough. After `beginReading`, by the same thread, without the mutex.
    mutating func read(_ buffer: UnsafeMutableRawPointer, _ count: Int) -> Bool {
        if mapping.size < count || !mapping.keepsPages(file) { return false }
        mapping.read(buffer, count)
        return true
    }

    /// The payload was sent, or the reply has been read.
    mutating func endUse() { isInUse = false }

    /// The acquired file was not sent after all.
    mutating func cancelSend() {
        timesSent &-= 1
        endUse()
    }

    /// Stores what the peer reports in each frame: how many times it has read the file.
    @inline(__always)
    mutating func noteRead(_ count: UInt16) {
        timesRead = count
        noteSmallFrame()
    }

    /// Counts a frame or ring entry without a large payload.
    @inline(__always)
    mutating func noteSmallFrame() { if isWanted { noteFrame() } }

    private mutating func noteFrame() {
        idleFrames += 1
        if idleFrames <= Self.idleLimit || timesSent != timesRead || isInUse { return }
        close()
        isWanted = false
    }

    /// Closes the file. Can be called again.
    mutating func close() {
        if file >= 0 { Descriptor.close(file) }
        file = -1
        mapping.unmap()
    }
}

/// The peer's `SharedBuffer` at this end: its file as memory, and how often it was read. Guarded by the connection's mutex.
struct PeerBuffer: ~Copyable {
    /// How many times the file has been read, modulo 2¹⁶.
    private var timesRead: UInt16 = 0
    private var mapping = MappedFile()
    /// The last reading has not been reported yet, so the peer does not touch the file: a reply may be put into it.
    private var canHoldReply = false
    /// There is a reply in it that has not been sent yet.
    private var holdsUnsentReply = false
    /// How many frames came since the file was read last.
    private var idleFrames = 0

    init() {}

    /// Counts a frame that has come. After many small ones the file is unmapped.
    @inline(__always)
    mutating func noteFrame() {
        if !mapping.isMapped { return }
        idleFrames += 1
        if idleFrames > SharedBuffer.idleLimit { close() }
    }

    /// The mapping, for use without the mutex. Another thread that needs one meanwhile makes its own.
    mutating func takeMapping() -> MappedFile {
        defer { mapping = MappedFile() }
        return mapping
    }

    /// Counts a file that could not be received as read, so that the peer can go on using it.
    mutating func skipUnreadable() { timesRead &+= 1 }

    /// Ends what `takeMapping` has begun: the payload has been read.
    mutating func finishReading(_ used: MappedFile) {
        timesRead &+= 1
        idleFrames = 0
        canHoldReply = true
        keep(used)
    }

    private mutating func keep(_ used: MappedFile) {
        mapping.unmap()
        mapping = used
    }

    /// The file that was read last, for the caller to write a reply of `count` bytes to without the mutex; then comes `keepReply`. nil if
    /// the file is too small, or the peer may be using it again.
    mutating func takeForReply(_ count: Int) -> MappedFile? {
        if !canHoldReply || holdsUnsentReply || !mapping.hasRoom(count) { return nil }
        canHoldReply = false
        holdsUnsentReply = true
        return takeMapping()
    }

    /// Ends what `takeForReply` has begun: the reply is in the file.
    mutating func keepReply(_ used: MappedFile) { keep(used) }

    /// The frame that announces the reply in the file was sent.
    mutating func noteReplySent() { holdsUnsentReply = false }

    /// How many readings the next frame has to report. A file that holds an unsent reply is reported only by the frame of that reply
    /// (`inReply`), since the peer writes to a file that is reported as read.
    mutating func countToReport(inReply: Bool) -> UInt16 {
        if holdsUnsentReply { return inReply ? timesRead : timesRead &- 1 }
        canHoldReply = false
        return timesRead
    }

    /// Copies the first bytes of a file that the peer has passed. False if they are not there, or if the file is not a sealed memory
    /// file.
    static func read(_ mapping: inout MappedFile, _ fd: Int32, _ buffer: UnsafeMutableRawPointer, _ count: Int) -> Bool {
        if let bytes = mapping.map(fd, count, limit: Frame.sharedLimit) {
            memcpy(buffer, bytes, count)
            return true
        }
        return MemoryFile.isUsable(fd, count) && MemoryFile.read(fd, buffer, count)
    }

    /// Unmaps the file.
    mutating func close() { mapping.unmap() }
}
