/// A memory file that a wire uses for one large piece of data after another: its pages are there already, which is most of the
/// price of a new file. The other end reads it and says so in whatever frame it sends next; until then, and for what is
/// larger than is worth keeping, a file of its own has to do. What the other end writes into it, it will read itself.
///
/// It is given up when only small data has been sent for a while. Guarded by the wire's mutex.
struct Loan: ~Copyable {
    private var file: Int32 = -1
    /// How many times it was lent, and how many times the other end has said that it was read, modulo 2¹⁶.
    private var lent: UInt16 = 0
    private var read: UInt16 = 0
    /// How many frames came since.
    private var idleFrames = 0

    /// What is worth keeping for a wire, in bytes.
    private static var limit: Int { 8 * 1024 * 1024 }
    /// After so many frames without large data it is given up.
    private static var patience: Int { 64 }

    init() {}

    /// The file, for so many bytes, until `returned` or `takeBack`; -1 if the other end has it still, or there is none to be had.
    mutating func take(_ count: Int) -> Int32 {
        if count > Self.limit || lent != read { return -1 }
        if file < 0 { file = MemoryFile.make() }
        if file < 0 { return -1 }
        lent &+= 1
        idleFrames = 0
        return file
    }

    /// It was not sent after all.
    mutating func takeBack() { lent &-= 1 }

    /// The other end has sent a frame, and says how many it has read.
    mutating func returned(_ count: UInt16) {
        read = count
        if file < 0 { return }
        idleFrames += 1
        if idleFrames > Self.patience && lent == read { end() }
    }

    /// The file is not needed any more.
    mutating func end() {
        if file >= 0 { PacketSocket.close(file) }
        file = -1
    }
}
