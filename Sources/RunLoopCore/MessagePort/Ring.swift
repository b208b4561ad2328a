import CLinux
import Synchronization

/// A ring buffer in shared memory, through which a client sends small one-way requests without a system call. The server makes it, and
/// passes it to the client, when it sees many such requests. The client writes entries and publishes its position (`tail`); the server
/// reads them and publishes its own (`head`). The client sends a packet through the socket, the *doorbell*, only if the server may be
/// asleep, and with the first entry after a request through the socket.
///
/// The server leaves the doorbell unread in its socket while the ring has an entry that it can deliver. So the descriptor is ready, for
/// epoll and for every loop that watches it, as long as there is one.
///
///     client                                          server
///     a request went through the socket since the     is there an entry, and have all earlier requests arrived? deliver it
///         last doorbell? send a doorbell              is there a packet? if not, return
///     write the entry, tail = its end                 doorbellWanted = 1
///     doorbellWanted?                                 is there an entry now? doorbellWanted = 0, deliver it, leave the packet
///         doorbellWanted = 0, send a doorbell         otherwise take the packet
///
/// Why no entry is left behind: each end stores one of `tail` and `doorbellWanted` and then loads the other, sequentially consistent. So
/// either the client sees that a doorbell is wanted, or the server sees the entry and leaves the packet in the socket. A doorbell that the
/// server takes was there before it set `doorbellWanted`, so it is not the one that the client sends in response. As long as
/// `doorbellWanted` is 0, there is a doorbell in the socket, or the client is about to send one. Storing `tail` releases the entries;
/// storing `head` releases their memory.
///
/// Order between entries and requests through the socket: each entry records how many of those requests were sent before it, and waits
/// until they have arrived; and the server checks the ring before it takes a packet, except between pieces. (A request sent in pieces counts
/// once its first packet was sent or has arrived. The client puts no entry into the ring before it has sent the last piece.) The first
/// entry after such a request has a doorbell of its own, since the server may take an older doorbell before the request.
///
/// A client that finds the ring full sets `roomWanted`, checks again, and waits for a doorbell of the server. The server looks after each
/// entry whether it is set, without a fence, and sends that doorbell when half of the ring is free. When the ring is empty the server looks
/// behind a fence. So either the client sees the room, or the server sees that it is wanted (`Tests/model/ring-room.pml`).
///
/// `Tests/model/ring.pml` checks the rest, and that no step can be left out. Memory that the peer can change is read once and then
/// validated. Client and server each have a value of this type for their end. Guarded by the connection's mutex.
struct Ring: BitwiseCopyable {
    /// What `takeEntry` found.
    enum Taken {
        /// An entry, whose data of `length` bytes was copied.
        case entry(message: Int32, length: Int)
        case nothing
        /// An entry that has to wait, since a request that was sent before it has not arrived yet.
        case tooEarly
        /// The peer has violated the format.
        case invalid
    }

    /// The shared memory; has no address if there is no ring.
    private var mapping = MappedFile()
    /// Whether this end made the ring, so that `count` includes it.
    private var isCounted = false
    /// The position of this end, in bytes, modulo 2³².
    private var position: UInt32 = 0
    /// How far this end may advance before it has to load the other end's position: at the server the tail, at the client where the ring is
    /// full.
    private var limit: UInt32 = 0
    /// How many requests have gone through the socket since the ring was opened. Not counted before.
    private var socketRequests: UInt32 = 0
    /// Client: a request has gone through the socket since the last doorbell.
    var needsDoorbell = false
    /// Client: the ring has stayed full while a request waited for room, so requests go through the socket until there is room.
    var staysFull = false
    /// Before the ring is open: small one-way requests in a row. Afterwards, at the client: entries since the last check
    /// that the server is alive; at the server: entries since the last request through the socket, at most `burst`.
    var counter: UInt8 = 0

    /// The size of the file in bytes: one page for the positions, then room for entries.
    static var size: Int { 4096 + Int(capacity) }
    private static var capacity: UInt32 { 512 * 1024 }
    /// The most data that an entry can have, in bytes. The client can take away the pages of an entry, and then delay the server for a while
    /// at each page that it copies; so there must be few.
    static var dataLimit: Int { 4096 }
    private static var headSize: UInt32 { 16 }
    /// How many entries in a row make it likely that another one follows.
    private static var burst: UInt8 { 16 }

    /// Whether this end uses the ring. Both ends open it at the same place in the sequence of packets, so that they count the same requests
    /// through the socket.
    private(set) var isOpen = false

    /// Whether this end has mapped the memory.
    var isMapped: Bool { mapping.address != nil }

    /// How many rings the servers of this process have; at most `PortLimits.rings`. Any thread.
    private static let count = Atomic<UInt32>(0)

    private var memory: UnsafeMutableRawPointer { mapping.address.unsafelyUnwrapped }

    /// Server: makes the ring. Returns its file, which the caller passes to the client and then closes; nil if the limit is reached or the
    /// system refuses. Some system calls.
    mutating func make() -> Int32? {
        if Self.count.wrappingAdd(1, ordering: .relaxed).newValue <= PortLimits.rings, let fd = mapping.make(Self.size) {
            isCounted = true
            requestDoorbell()
            return fd
        }
        Self.count.wrappingSubtract(1, ordering: .relaxed)
        return nil
    }

    /// Client: maps the ring that the server has passed. Returns false if the file cannot be a ring, or if there is a ring already; true,
    /// with nothing mapped, if this process cannot map it. Some system calls.
    mutating func map(_ fd: Int32) -> Bool { !isMapped && mapping.open(fd, Self.size) != .invalid }

    /// Starts using the ring, at either end. Returns false if there is no ring, or if it is open already.
    mutating func open() -> Bool {
        if !isMapped || isOpen { return false }
        isOpen = true
        counter = 0
        return true
    }

    /// Unmaps the ring, if there is one. A second call has no effect.
    mutating func close() {
        mapping.unmap()
        if isCounted { Self.count.wrappingSubtract(1, ordering: .relaxed) }
        self = Ring()
    }

    /// The shared word at an offset.
    private func word(_ offset: Int) -> UnsafeMutablePointer<Atomic<UInt32>> {
        (memory + offset).assumingMemoryBound(to: Atomic<UInt32>.self)
    }

    /// The client's position. Stored by the client.
    private var tail: UnsafeMutablePointer<Atomic<UInt32>> { word(0) }
    /// The server's position. Stored by the server.
    @inline(__always)
    private var head: UnsafeMutablePointer<Atomic<UInt32>> { word(64) }
    /// 1 if the server may be asleep, so that an entry needs a doorbell. Stored by both ends.
    private var doorbellWanted: UnsafeMutablePointer<Atomic<UInt32>> { word(128) }
    /// 1 if a thread of the client may be waiting for room. Stored by both ends.
    private var roomWanted: UnsafeMutablePointer<Atomic<UInt32>> { word(192) }

    /// The memory at a position.
    private func address(_ position: UInt32) -> UnsafeMutableRawPointer {
        memory + 4096 + Int(position & (Self.capacity - 1))
    }

    /// The size of an entry with `length` bytes of data. Entries begin at multiples of 16, so that their headers never wrap around.
    private static func size(_ length: UInt32) -> UInt32 { (headSize + length + 15) & ~15 }

    /// How many of `count` bytes fit before the end of the memory; the rest goes to its beginning.
    private static func firstPart(_ position: UInt32, _ count: UInt32) -> Int { Int(min(count, capacity - position & (capacity - 1))) }

    /// Counts a request that went through the socket. At both ends.
    mutating func noteSocketRequest() {
        socketRequests &+= 1
        needsDoorbell = true
        counter = 0
    }

    // MARK: the client

    /// Whether there is room for an entry with `length` bytes of data.
    mutating func hasRoom(for length: Int) -> Bool {
        let size = Self.size(UInt32(length))
        if limit &- position >= size { return true }
        let used = position &- head.pointee.load(ordering: .acquiring)
        // An eighth has to be free. If room for a single entry counted, both ends would exchange the cache line for each entry.
        if used > Self.capacity - Self.capacity / 8 { return false }
        limit = position &+ (Self.capacity - used)
        staysFull = false
        return true
    }

    /// Asks for a doorbell when half of the ring is free. Returns false if that is so already.
    func requestRoom() -> Bool {
        roomWanted.pointee.store(1, ordering: .sequentiallyConsistent)
        return position &- head.pointee.load(ordering: .sequentiallyConsistent) > Self.capacity / 2
    }

    /// Appends an entry and publishes it. There must be room for it.
    mutating func putEntry(_ message: Int32, _ bytes: UnsafeRawPointer?, _ length: Int) {
        let entry = address(position).assumingMemoryBound(to: UInt32.self)
        entry[0] = UInt32(length)
        entry[1] = UInt32(bitPattern: message)
        entry[2] = socketRequests
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

    /// Whether the server may be asleep, so that it needs a doorbell.
    var wantsDoorbell: Bool { doorbellWanted.pointee.load(ordering: .sequentiallyConsistent) != 0 }

    // MARK: the server

    /// Requests a doorbell for the next entry, since the server may fall asleep. Also used by a client whose doorbell could not be sent,
    /// and when a connection is closed.
    func requestDoorbell() { doorbellWanted.pointee.store(1, ordering: .sequentiallyConsistent) }

    /// Withdraws `requestDoorbell`: at the server, since the doorbell that is still in the socket is sufficient; at the client before it sends
    /// one, since afterwards this could withdraw the next request.
    func cancelDoorbellRequest() { doorbellWanted.pointee.store(0, ordering: .sequentiallyConsistent) }

    /// Spins briefly for another entry, and returns whether there is one. Only in the middle of a burst, where that is cheaper than a
    /// doorbell. Loads the tail rarely, because each load takes the cache line away from the client.
    func spinForEntry() -> Bool {
        if counter < Self.burst { return false }
        for _ in 0..<8 {
            for _ in 0..<8 { pauseProcessor() }
            if tail.pointee.load(ordering: .relaxed) != position { return true }
        }
        return false
    }

    /// Whether the client waits for room, and there is much: waking a thread costs as much as many entries.
    var owesRoom: Bool {
        roomWanted.pointee.load(ordering: .relaxed) != 0 && tail.pointee.load(ordering: .relaxed) &- position <= Self.capacity / 2
    }

    /// Withdraws `requestRoom`, before the doorbell is sent: afterwards this could withdraw the next request.
    func cancelRoomRequest() { roomWanted.pointee.store(0, ordering: .sequentiallyConsistent) }

    /// Whether there is an entry, perhaps one that has to wait for a request through the socket. Loads `tail` only if no entry is known, since
    /// that takes its cache line away from the client.
    var hasEntry: Bool { position != limit || tail.pointee.load(ordering: .relaxed) != position }

    /// Ends a burst, because the ring has stayed empty after `requestDoorbell`, too: `spinForEntry` spins again only after two more
    /// entries.
    mutating func endBurst() { counter = min(counter, Self.burst - 2) }

    /// Copies the data of the next entry into `buffer`, which has room for `dataLimit` bytes, and releases the entry's memory to the
    /// client.
    mutating func takeEntry(_ buffer: UnsafeMutableRawPointer) -> Taken {
        if position == limit {
            let now = tail.pointee.load(ordering: .sequentiallyConsistent)
            if now == position { return .nothing }
            if now &- position > Self.capacity { return .invalid }
            limit = now
        }
        let entry = address(position).assumingMemoryBound(to: Atomic<UInt32>.self)
        let length = entry[0].load(ordering: .relaxed)
        let message = entry[1].load(ordering: .relaxed)
        let before = entry[2].load(ordering: .relaxed)
        if length > UInt32(Self.dataLimit) || Self.size(length) > limit &- position { return .invalid }
        if before != socketRequests { return Int32(bitPattern: before &- socketRequests) > 0 ? .tooEarly : .invalid }
        let begin = position &+ Self.headSize
        let first = Self.firstPart(begin, length)
        memcpy(buffer, address(begin), first)
        if first < Int(length) { memcpy(buffer + first, address(0), Int(length) - first) }
        position &+= Self.size(length)
        if counter < Self.burst { counter += 1 }
        head.pointee.store(position, ordering: .releasing)
        return .entry(message: Int32(bitPattern: message), length: Int(length))
    }
}
