import CLinux

/// A memory file that a wire uses for one large piece of data after another: its pages are there already, which is most of the
/// price of a new file. The other end reads it and says so in whatever frame it sends next; until then, for what is
/// larger than is worth keeping, and for the first of them, which may be the only one, a file of its own has to do.
///
/// It is given up when only small data has been sent for a while. Guarded by the wire's mutex.
struct Loan: ~Copyable {
    private var file: Int32 = -1
    /// Its owner is who has lent and not sent yet.
    private var mapping = MappedFile()
    /// There was large data not long ago.
    private var isWanted = false
    /// How many times it was lent, and how many times the other end has said that it was read, modulo 2¹⁶.
    private var lent: UInt16 = 0
    private var read: UInt16 = 0
    /// How many frames came since.
    private var idleFrames = 0

    /// After so many frames without large data it is given up.
    fileprivate static var patience: Int { 64 }

    init() {}

    /// The file, for so many bytes, until `returned` or `takeBack`; -1 if the other end has it still, or there is none to be had.
    mutating func take(_ count: Int) -> Int32 {
        if count > Frame.lentLimit || lent != read { return -1 }
        idleFrames = 0
        if !isWanted {
            isWanted = true
            return -1
        }
        if file < 0 || mapping.size < count {
            end()
            // With some room, so that it serves what grows.
            file = mapping.make(min(count + count / 4, Frame.lentLimit))
        }
        if file >= 0 { lent &+= 1 }
        return file
    }

    /// Copies data into the file that was taken. By the one who took it, without the mutex.
    func write(_ bytes: UnsafeRawPointer, _ count: Int) { mapping.write(bytes, count) }

    /// It was not sent after all.
    mutating func takeBack() { lent &-= 1 }

    /// The other end has sent a frame, and says how many it has read.
    mutating func returned(_ count: UInt16) {
        read = count
        if !isWanted { return }
        idleFrames += 1
        if idleFrames <= Self.patience || lent != read { return }
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

/// The other side of a `Loan`: how much of the other end's file was read, and the file as memory. Guarded by the wire's mutex.
struct Borrowing: ~Copyable {
    /// How many times the file has been read, modulo 2¹⁶.
    private(set) var count: UInt16 = 0
    private var mapping = MappedFile()
    /// How many frames came since.
    private var idleFrames = 0

    init() {}

    /// A frame has come. Who gets only small data gives the mapping up.
    mutating func noteFrame() {
        idleFrames += 1
        if idleFrames > Loan.patience { end() }
    }

    /// The mapping, to be used without the mutex: whoever comes meanwhile makes one of its own.
    mutating func take() -> MappedFile {
        defer { mapping = MappedFile() }
        return mapping
    }

    /// After it, when the data has been read.
    mutating func giveBack(_ used: MappedFile) {
        count &+= 1
        idleFrames = 0
        mapping.end()
        mapping = used
    }

    /// Copies the first bytes of a lent file out. False if they are not there, or if the file is none of ours.
    static func read(_ mapping: inout MappedFile, _ fd: Int32, _ buffer: UnsafeMutableRawPointer, _ count: Int) -> Bool {
        if let bytes = mapping.reach(fd, count, limit: Frame.lentLimit) {
            memcpy(buffer, bytes, count)
            return true
        }
        return MemoryFile.isSane(fd, count) && MemoryFile.read(fd, buffer, count)
    }

    /// The mapping is not needed any more.
    mutating func end() { mapping.end() }
}
