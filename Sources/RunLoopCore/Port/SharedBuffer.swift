import CLinux

/// A memory file that a connection uses for one large piece of data after another: its pages are there already, which is most of the
/// price of a new file. The other end reads it and says so in whatever frame it sends next; until then, for what is
/// larger than is worth keeping, and for the first of them, which may be the only one, a file of its own has to do. A server may
/// return it with its reply in it: the four pieces of memory that data goes through then stay in the processor's cache where
/// five do not.
///
/// It is given up when only small data has been sent for a while. Guarded by the connection's mutex.
struct SharedBuffer: ~Copyable {
    private var file: Int32 = -1
    /// Its owner is who has lent and not sent yet.
    private var mapping = MappedFile()
    /// There was large data not long ago.
    private var isWanted = false
    /// How many times it was lent, and how many times the other end has said that it was read, modulo 2¹⁶.
    private var lent: UInt16 = 0
    private var read: UInt16 = 0
    /// A thread writes to it and has not sent it yet, or reads a reply, without the mutex: nobody else gets the file meanwhile, or closes it,
    /// whatever the other end says.
    private var isBusy = false
    /// How many frames, or entries of a ring, came or went since.
    private var idleFrames = 0
    /// The other end says at once that it has read the file.
    private var isOneWay = false

    /// After so many frames without large data it is given up.
    fileprivate static var idleLimit: Int { 64 }

    init() {}

    /// The file, for so many bytes, until `returned` or `takeBack`; -1 if the other end has it still, or there is none to be had.
    /// `isOneWay`: the other end need not think of an answer.
    mutating func take(_ count: Int, isOneWay: Bool) -> Int32 {
        if count > Frame.sharedLimit || lent != read || isBusy { return -1 }
        idleFrames = 0
        if !isWanted {
            isWanted = true
            return -1
        }
        if file < 0 || mapping.size < count || !mapping.keep(file) {
            end()
            // With some room, so that it serves what grows.
            file = mapping.make(min(count + count / 4, Frame.sharedLimit))
        }
        if file < 0 { return -1 }
        lent &+= 1
        isBusy = true
        self.isOneWay = isOneWay
        return file
    }

    /// Whether it is worth waiting for the file.
    var isExpected: Bool { isOneWay && lent != read }

    /// It did not come as soon as that.
    mutating func expectNothing() { isOneWay = false }

    /// Copies data into the file that was taken. By the one who took it, without the mutex. Once it is sent, `endUse`.
    func write(_ bytes: UnsafeRawPointer, _ count: Int) { mapping.write(bytes, count) }

    /// The other end returns the file with a reply in it, and has read so many: false if it has not got it. Then `read`, and
    /// `endUse`.
    mutating func beginReading(_ count: UInt16) -> Bool {
        if file < 0 || isBusy || lent &- read != 1 || count != lent { return false }
        isBusy = true
        return true
    }

    /// Copies the first bytes of the returned file out. By the one who began to, without the mutex. False if they are not there.
    mutating func read(_ buffer: UnsafeMutableRawPointer, _ count: Int) -> Bool {
        if mapping.size < count || !mapping.keep(file) { return false }
        mapping.read(buffer, count)
        return true
    }

    /// It was sent, or the reply has been read.
    mutating func endUse() { isBusy = false }

    /// It was not sent after all.
    mutating func takeBack() {
        lent &-= 1
        endUse()
    }

    /// The other end has sent a frame, and says how many it has read.
    @inline(__always)
    mutating func returned(_ count: UInt16) {
        read = count
        noteSmall()
    }

    /// Something small came or went.
    @inline(__always)
    mutating func noteSmall() { if isWanted { noteFrame() } }

    private mutating func noteFrame() {
        idleFrames += 1
        if idleFrames <= Self.idleLimit || lent != read || isBusy { return }
        end()
        isWanted = false
    }

    /// The file is not needed any more.
    mutating func end() {
        if file >= 0 { PacketSocket.close(file) }
        file = -1
        mapping.end()
    }
}

/// The other side of a `SharedBuffer`: how much of the other end's file was read, and the file as memory. Guarded by the connection's mutex.
struct PeerBuffer: ~Copyable {
    /// How many times the file has been read, modulo 2¹⁶.
    private var count: UInt16 = 0
    private var mapping = MappedFile()
    /// The other end has not been told yet that the last one has been read: a reply may be put into it.
    private var isInHand = false
    /// It has one in it, which was not sent yet.
    private var isAnswer = false
    /// How many frames came since.
    private var idleFrames = 0

    init() {}

    /// A frame has come. Who gets only small data gives the mapping up.
    @inline(__always)
    mutating func noteFrame() {
        if !mapping.isThere { return }
        idleFrames += 1
        if idleFrames > SharedBuffer.idleLimit { end() }
    }

    /// The mapping, to be used without the mutex: whoever comes meanwhile makes one of its own.
    mutating func take() -> MappedFile {
        defer { mapping = MappedFile() }
        return mapping
    }

    /// A file could not be received: it counts as read.
    mutating func skip() { count &+= 1 }

    /// After `take`, when the data has been read.
    mutating func giveBack(_ used: MappedFile) {
        count &+= 1
        idleFrames = 0
        isInHand = true
        keep(used)
    }

    private mutating func keep(_ used: MappedFile) {
        mapping.end()
        mapping = used
    }

    /// The file that was read last, for a reply of `count` bytes: to be written to without the mutex, then `keepReply`. nil if it
    /// is too small, or not there any more.
    mutating func takeForReply(_ count: Int) -> MappedFile? {
        if !isInHand || isAnswer || !mapping.hasRoom(count) { return nil }
        isInHand = false
        isAnswer = true
        return take()
    }

    /// The reply is in it.
    mutating func keepReply(_ used: MappedFile) { keep(used) }

    /// The frame that has the reply was sent.
    mutating func answered() { isAnswer = false }

    /// How many files a frame says have been read: the one with a reply in it only in the frame that has that reply.
    mutating func told(inAnswer: Bool) -> UInt16 {
        if isAnswer { return inAnswer ? count : count &- 1 }
        isInHand = false
        return count
    }

    /// Copies the first bytes of a lent file out. False if they are not there, or if the file is none of ours.
    static func read(_ mapping: inout MappedFile, _ fd: Int32, _ buffer: UnsafeMutableRawPointer, _ count: Int) -> Bool {
        if let bytes = mapping.reach(fd, count, limit: Frame.sharedLimit) {
            memcpy(buffer, bytes, count)
            return true
        }
        return MemoryFile.isSane(fd, count) && MemoryFile.read(fd, buffer, count)
    }

    /// The mapping is not needed any more.
    mutating func end() { mapping.end() }
}
