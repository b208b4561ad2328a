import CLinux
import Synchronization

/// Small requests one way, without a system call: memory that both ends of a connection have. The client writes entries and says how far
/// it has come, the server reads them and says how far it has. The server is told by a packet, a *doorbell*, only if it sleeps.
///
/// The doorbell stays in the server's socket, unread, until the ring is empty: so the descriptor is ready, for epoll and for every loop that
/// watches it, as long as there is something to deliver.
///
///     client                                          server
///     a request went by the socket: doorbell              is there an entry whose requests have all come? deliver it
///     write the entry, tail = its end                 is there a packet? else it is over
///     doorbellWanted? doorbellWanted = 0, doorbell                doorbellWanted = 1
///                                                     is there an entry now? doorbellWanted = 0, deliver it, leave the packet
///                                                     take the packet
///
/// `tail`, `doorbellWanted`: stored by one end, then the other is loaded, all sequentially consistent: either the client sees that a doorbell is
/// wanted, or the server sees the entry and takes no packet. A doorbell that is taken was there before the server said that it wants one,
/// so it is not the one that the client sends because of that. If it is left, it stands for the one that is not wanted after all. While
/// `doorbellWanted` is 0 a doorbell is in the socket, or will be.
/// `tail` releases what was written, `head` that it was read.
///
/// Order with requests that go by the socket: each entry says how many of them were sent before it, and waits for them; and the
/// server looks at the ring once a packet is there, before it takes it. The first entry behind such a request is
/// announced by a doorbell of its own, since older ones may be read before the request.
///
/// `Tests/model/ring.pml` checks this, and that each step is needed. Nothing that the other end may change is believed, or looked at twice.
/// Guarded by the connection's mutex; who is at the other end does not matter here.
struct Ring: BitwiseCopyable {
    /// What there is to read.
    enum Taken {
        /// `length` bytes of data were copied.
        case entry(message: Int32, length: Int)
        case nothing
        /// An entry, but requests that were sent before it have not come.
        case tooEarly
        case nonsense
    }

    private var file = MappedFile()
    /// How far this end has come, in bytes, modulo 2³².
    private var position: UInt32 = 0
    /// How far it can go: to the tail, or until the ring is full.
    private var limit: UInt32 = 0
    /// How many requests have gone by the socket since the ring was handed over.
    private var requests: UInt32 = 0
    /// Client: that was so after the last doorbell.
    private(set) var needsDoorbell = false
    /// Client: it was full, and has not become emptier while others ran.
    var isStuck = false
    /// Client: entries since it has looked at the socket; before there is a ring, requests that might have been entries. Server: entries
    /// since the last request by the socket, or as many as count.
    var count: UInt8 = 0

    /// Of the file: a page for what both ends say, and room for entries.
    static var size: Int { 4096 + Int(room) }
    private static var room: UInt32 { 128 * 1024 }
    /// What one entry may hold.
    static var dataLimit: Int { 4096 }
    private static var headSize: UInt32 { 16 }
    /// So many entries are many.
    private static var burst: UInt8 { 16 }

    init() {}

    @inline(__always)
    var isThere: Bool { file.address != nil }

    @inline(__always)
    private var memory: UnsafeMutableRawPointer { file.address.unsafelyUnwrapped }

    /// Client: makes the file, which the caller passes on and closes; -1 if it is not to be had. Some system calls.
    mutating func make() -> Int32 {
        var fd: Int32 = -1
        preservingSystemError { if MappedFile.canKeep { fd = file.make(Self.size) } }
        if fd >= 0 { requestDoorbell() }
        return fd
    }

    /// Server: takes over what a client has passed; false if that is anything but a ring, nil if out of memory. Some system calls.
    mutating func open(_ fd: Int32) -> Bool? {
        if isThere { return false }
        if file.reach(fd, Self.size, limit: Self.size) != nil && file.hasRoom(Self.size) { return true }
        let isOpen: Bool? = file.lacksMemory ? nil : false
        end()
        return isOpen
    }

    /// There is none any more.
    mutating func end() {
        file.end()
        self = Ring()
    }

    @inline(__always)
    private func word(_ offset: Int) -> UnsafeMutablePointer<Atomic<UInt32>> {
        (memory + offset).assumingMemoryBound(to: Atomic<UInt32>.self)
    }

    /// Written by the client.
    @inline(__always)
    private var tail: UnsafeMutablePointer<Atomic<UInt32>> { word(0) }
    /// Written by the server.
    @inline(__always)
    private var head: UnsafeMutablePointer<Atomic<UInt32>> { word(64) }
    @inline(__always)
    private var doorbellWanted: UnsafeMutablePointer<Atomic<UInt32>> { word(128) }

    @inline(__always)
    private func address(_ position: UInt32) -> UnsafeMutableRawPointer {
        memory + 4096 + Int(position & (Self.room - 1))
    }

    /// Of an entry with so much data. Entries begin at multiples of 16, so their heads are in one piece.
    @inline(__always)
    private static func size(_ length: UInt32) -> UInt32 { (headSize + length + 15) & ~15 }

    /// How much of so many bytes lies before the end of the memory; the rest is at its beginning.
    @inline(__always)
    private static func firstPart(_ position: UInt32, _ count: UInt32) -> Int { Int(min(count, room - position & (room - 1))) }

    /// A request went by the socket.
    mutating func noteRequest() {
        requests &+= 1
        needsDoorbell = true
        count = 0
    }

    // MARK: the client

    /// Whether there is room for so much data.
    mutating func hasRoom(for length: Int) -> Bool {
        let size = Self.size(UInt32(length))
        if limit &- position >= size { return true }
        let used = position &- head.pointee.load(ordering: .acquiring)
        // Not for one entry: both ends would wait for each other's cache line each time.
        if used > Self.room - Self.room / 8 { return false }
        limit = position &+ (Self.room - used)
        isStuck = false
        return true
    }

    /// Where there is room.
    mutating func put(_ message: Int32, _ bytes: UnsafeRawPointer?, _ length: Int) {
        let entry = address(position).assumingMemoryBound(to: UInt32.self)
        entry[0] = UInt32(length)
        entry[1] = UInt32(bitPattern: message)
        entry[2] = requests
        entry[3] = 0
        let begin = position &+ Self.headSize
        let first = Self.firstPart(begin, UInt32(length))
        if let bytes {
            memcpy(address(begin), bytes, first)
            if first < length { memcpy(address(0), bytes + first, length - first) }
        }
        position &+= Self.size(UInt32(length))
        tail.pointee.store(position, ordering: .sequentiallyConsistent)
    }

    /// Whether the server may sleep.
    @inline(__always)
    var wantsDoorbell: Bool { doorbellWanted.pointee.load(ordering: .sequentiallyConsistent) != 0 }

    /// A doorbell is about to be sent.
    mutating func prepareDoorbell() { doorbellWanted.pointee.store(0, ordering: .sequentiallyConsistent) }

    /// It was not sent, after all.
    mutating func noteDoorbell(_ wasSent: Bool) {
        if wasSent { needsDoorbell = false } else { requestDoorbell() }
    }

    // MARK: the server

    /// May sleep from now on. The client too: it will send a doorbell in any case.
    func requestDoorbell() { doorbellWanted.pointee.store(1, ordering: .sequentiallyConsistent) }

    /// One that has not been taken out of the socket will do: the client need not send another.
    func cancelDoorbellRequest() { doorbellWanted.pointee.store(0, ordering: .sequentiallyConsistent) }

    /// Whether there is something to read, after a short wait if there have been many entries, more than one of them since it was last
    /// empty, and no request by the socket among them: a doorbell costs both ends more than that. It is looked for now and then only, since
    /// each look takes the words away from the client.
    @inline(never)
    func awaitEntry() -> Bool {
        if count < Self.burst { return false }
        for _ in 0..<8 {
            for _ in 0..<8 { pauseProcessor() }
            if tail.pointee.load(ordering: .relaxed) != position { return true }
        }
        return false
    }

    /// It was empty twice.
    mutating func noteEmpty() { count = min(count, Self.burst - 2) }

    /// The next entry, if it is its turn. There is room for `dataLimit` bytes.
    mutating func take(_ buffer: UnsafeMutableRawPointer) -> Taken {
        if position == limit {
            let now = tail.pointee.load(ordering: .sequentiallyConsistent)
            if now == position { return .nothing }
            if now &- position > Self.room { return .nonsense }
            limit = now
        }
        let entry = address(position).assumingMemoryBound(to: Atomic<UInt32>.self)
        let length = entry[0].load(ordering: .relaxed)
        let message = entry[1].load(ordering: .relaxed)
        let before = entry[2].load(ordering: .relaxed)
        if length > UInt32(Self.dataLimit) || Self.size(length) > limit &- position { return .nonsense }
        if before != requests { return Int32(bitPattern: before &- requests) > 0 ? .tooEarly : .nonsense }
        let begin = position &+ Self.headSize
        let first = Self.firstPart(begin, length)
        memcpy(buffer, address(begin), first)
        if first < Int(length) { memcpy(buffer + first, address(0), Int(length) - first) }
        position &+= Self.size(length)
        if count < Self.burst { count += 1 }
        head.pointee.store(position, ordering: .releasing)
        return .entry(message: Int32(bitPattern: message), length: Int(length))
    }
}
