import CLinux

// What a hostile peer can write into a ring. As the client, the input is the server's progress, the tail, and the bytes between them.
// Accepted entries are compared with the same bytes, which are parsed here again. As the server, the input is what it writes over its
// position before each entry, and the entry's length.

/// A server's end, and the memory as its client maps it.
private struct Stage {
    var client = Ring()
    let memory: UnsafeMutableRawPointer
    let buffer = UnsafeMutablePointer<UInt8>.allocate(capacity: Ring.dataLimit)

    init() {
        let fd = client.make().unsafelyUnwrapped
        memory = linux_map(fd, Ring.size)
        _ = client.open()
        Descriptor.close(fd)
    }
}

private nonisolated(unsafe) var stage = Stage()
private let room = Ring.size - 4096

private func byte(_ position: Int) -> UnsafeMutablePointer<UInt8> {
    (stage.memory + 4096 + position % room).assumingMemoryBound(to: UInt8.self)
}

private func number(_ position: Int) -> Int { (0..<4).reduce(0) { $0 | Int(byte(position + $1).pointee) << ($1 * 8) } }

func fuzzRing(_ bytes: UnsafePointer<UInt8>, _ count: Int) {
    if count < 6 { return }
    memset(stage.memory, 0, 256)
    var server = stage.client
    var writer = stage.client
    // This many entries were put and taken before.
    for _ in 0..<Int(bytes[0] % 40) {
        precondition(writer.hasRoom(for: Ring.dataLimit - 16 * Int(bytes[1] & 15)))
        writer.putEntry(1, stage.buffer, Ring.dataLimit - 16 * Int(bytes[1] & 15))
        guard case .entry = server.takeEntry(stage.buffer) else { preconditionFailure() }
    }
    let words = stage.memory.assumingMemoryBound(to: UInt32.self)
    var position = Int(words[16])
    for index in 6..<count { byte(position + index - 6).pointee = bytes[index] }
    let tail = UInt32(bytes[2]) | UInt32(bytes[3]) << 8 | UInt32(bytes[4]) << 16 | UInt32(bytes[5]) << 24
    words[0] = UInt32(position) &+ tail
    var requests = 0
    for _ in 0..<100 {
        let left = Int(words[0] &- UInt32(position))
        let (length, before) = (number(position), number(position + 8))
        switch server.takeEntry(stage.buffer) {
        case .nothing:
            precondition(left == 0)
            return
        case .invalid:
            precondition(left > room || length > 4096 || (length + 31) & ~15 > left || before < requests || before >= 1 << 31)
            return
        case .tooEarly:
            precondition(before > requests && left <= room)
            requests += 1
            server.noteSocketRequest()
        case .entry(let message, let itsLength):
            precondition(itsLength == length && length <= 4096 && (length + 31) & ~15 <= left && left <= room && before == requests)
            precondition(UInt32(bitPattern: message) == UInt32(number(position + 4)))
            for index in 0..<length { precondition(stage.buffer[index] == byte(position + 16 + index).pointee) }
            position += (length + 31) & ~15
            precondition(words[16] == UInt32(position))
        }
    }
}

/// The client's end: whatever position the server reports, an entry is written where the last one ended, and apart from it only the tail is
/// written.
func fuzzClientOfRing(_ bytes: UnsafePointer<UInt8>, _ count: Int) {
    memset(stage.memory, 0, 256)
    var client = stage.client
    let words = stage.memory.assumingMemoryBound(to: UInt32.self)
    var position = UInt32(0)
    for index in stride(from: 0, to: count - 5, by: 6) {
        let said = (0..<4).reduce(UInt32(0)) { $0 | UInt32(bytes[index + $1]) << (UInt32($1) * 8) }
        let length = (Int(bytes[index + 4]) << 8 | Int(bytes[index + 5])) % (Ring.dataLimit + 1)
        // Half of the positions are near the true one; otherwise most inputs would mean a full ring.
        words[16] = bytes[index] & 1 != 0 ? position &- said % UInt32(2 * room) : said
        words[32] = said
        memset(stage.buffer, Int32(bytes[index]), length)
        let before = (words[16], words[32])
        if !client.hasRoom(for: length) { continue }
        client.putEntry(7, stage.buffer, length)
        let begin = Int(position) % room
        precondition(number(begin) == length && number(begin + 4) == 7 && number(begin + 8) == 0)
        for offset in stride(from: 0, to: length, by: 61) { precondition(byte(begin + 16 + offset).pointee == bytes[index]) }
        position &+= UInt32((length + 31) & ~15)
        precondition(words[0] == position && words[16] == before.0 && words[32] == before.1)
    }
    for word in 1..<64 where word != 16 && word != 32 { precondition(words[word] == 0) }
}
