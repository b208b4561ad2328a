import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit

/// Events that have not been delivered yet, with their paths. Guarded by the watch's lock.
struct FileEvents: ~Copyable {
    /// The header of the memory that holds a batch's paths.
    struct Block: KitLinked {
        /// The next batch that is being delivered.
        var next: UnsafeMutablePointer<Block>?
        var events: UnsafeMutablePointer<RLFileWatchEvent>?
    }

    /// Until `take`, the paths are offsets into `bytes`, which may move.
    private var events: UnsafeMutablePointer<RLFileWatchEvent>?
    private(set) var count = 0
    private var capacity = 0
    private var bytes: UnsafeMutableRawPointer?
    private var used = MemoryLayout<Block>.stride
    private var size = 0
    /// The latest event for each path, as its index plus 1, in an open-addressing hash table. Entries for events before `firstRemembered`
    /// count as empty.
    private var latest: UnsafeMutablePointer<UInt32>?
    private var latestCapacity = 0
    private var firstRemembered = 0
    /// Whether an event was dropped because memory ran out.
    var isLost = false

    deinit {
        free(events)
        free(bytes)
        free(latest)
    }

    var isEmpty: Bool { count == 0 && !isLost }

    /// Identical consecutive events for one path are merged if they have one of these flags.
    private static var repeatable: UInt { UInt(kRLFileWatchModified | kRLFileWatchAttributes) }

    /// Adds an event for the entry `name` of a directory or, if the name is empty, for the directory itself. Returns its index; nil if out
    /// of memory, or if it repeats the latest event for this path.
    @discardableResult
    mutating func add(
        _ directory: WatchedDirectoryPointer, _ name: UnsafePointer<CChar>, _ flags: UInt, isDirectory: Bool, error: Int32 = 0
    ) -> Int? {
        let flags = isDirectory ? flags | UInt(kRLFileWatchIsDirectory) : flags
        guard let path = addPath(directory, name), reserve() else {
            isLost = true
            return nil
        }
        let isRepeated = remember(path, flags)
        if isRepeated {
            used = path
            return nil
        }
        events.unsafelyUnwrapped[count] = RLFileWatchEvent(path: Self.pointer(path), oldPath: nil, flags: flags, error: error)
        count += 1
        return count - 1
    }

    /// Turns a removal into a rename to another path.
    mutating func rename(_ index: Int, to directory: WatchedDirectoryPointer, _ name: UnsafePointer<CChar>) {
        guard let path = addPath(directory, name), let events else {
            isLost = true
            return
        }
        events[index].oldPath = events[index].path
        events[index].path = Self.pointer(path)
        events[index].flags = UInt(kRLFileWatchRenamed) | events[index].flags & UInt(kRLFileWatchIsDirectory)
        forgetPaths()
    }

    /// Stops merging with earlier events, because a path may refer to another file from here on.
    mutating func forgetPaths() { firstRemembered = count }

    private static func pointer(_ offset: Int) -> UnsafePointer<CChar>? { UnsafePointer(bitPattern: offset) }

    private mutating func addPath(_ directory: WatchedDirectoryPointer, _ name: UnsafePointer<CChar>) -> Int? {
        let length = directory.pathLength(of: name) + 1
        if used + length > size {
            let larger = max(size * 2, used + length, 1024)
            guard let memory = realloc(bytes, larger) else { return nil }
            bytes = memory
            size = larger
        }
        let offset = used
        directory.writePath(of: name, to: (bytes.unsafelyUnwrapped + offset).assumingMemoryBound(to: CChar.self))
        used += length
        return offset
    }

    private mutating func reserve() -> Bool {
        if count < capacity { return true }
        let larger = max(capacity * 2, 32)
        guard let memory = realloc(events, larger * MemoryLayout<RLFileWatchEvent>.stride) else { return false }
        events = memory.assumingMemoryBound(to: RLFileWatchEvent.self)
        capacity = larger
        return true
    }

    // MARK: the latest event of a path

    private func path(_ offset: Int) -> UnsafePointer<CChar> {
        UnsafePointer((bytes.unsafelyUnwrapped + offset).assumingMemoryBound(to: CChar.self))
    }

    private func hash(_ offset: Int) -> Int {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        var next = path(offset)
        while next.pointee != 0 {
            hash = (hash ^ UInt64(UInt8(bitPattern: next.pointee))) &* 0x0000_0100_0000_01B3
            next += 1
        }
        return Int(truncatingIfNeeded: (hash ^ hash >> 29) & 0x7FFF_FFFF)
    }

    /// Returns whether the event that is about to be added only repeats the latest for its path. Otherwise records it as the latest.
    /// Records nothing if out of memory: an event may then be delivered twice.
    private mutating func remember(_ offset: Int, _ flags: UInt) -> Bool {
        guard reserveLatest(), let latest, let events else { return false }
        let mask = latestCapacity - 1
        var index = hash(offset) & mask
        while Int(latest[index]) > firstRemembered {
            let event = events + Int(latest[index] - 1)
            if strcmp(path(Int(bitPattern: event.pointee.path)), path(offset)) == 0 {
                if event.pointee.flags == flags && flags & Self.repeatable != 0 { return true }
                break
            }
            index = (index + 1) & mask
        }
        latest[index] = UInt32(count + 1)
        return false
    }

    private mutating func reserveLatest() -> Bool {
        if (count - firstRemembered + 1) * 2 <= latestCapacity { return true }
        let capacity = max(latestCapacity * 2, 64)
        guard let memory = calloc(capacity, 4) else { return false }
        free(latest)
        let slots = memory.assumingMemoryBound(to: UInt32.self)
        latest = slots
        latestCapacity = capacity
        guard let events else { return true }
        for event in firstRemembered..<count {
            var index = hash(Int(bitPattern: events[event].path)) & (capacity - 1)
            while slots[index] != 0
                && strcmp(path(Int(bitPattern: events[Int(slots[index] - 1)].path)), path(Int(bitPattern: events[event].path))) != 0
            {
                index = (index + 1) & (capacity - 1)
            }
            slots[index] = UInt32(event + 1)
        }
        return true
    }

    // MARK: delivery

    /// Removes and returns all events, in memory that the caller frees with `destroy`; nil if there are none.
    mutating func take() -> (block: UnsafeMutablePointer<Block>, count: Int)? {
        guard count > 0, let events, let bytes else { return nil }
        for index in 0..<count {
            events[index].path = UnsafePointer((bytes + Int(bitPattern: events[index].path)).assumingMemoryBound(to: CChar.self))
            if let old = events[index].oldPath {
                events[index].oldPath = UnsafePointer((bytes + Int(bitPattern: old)).assumingMemoryBound(to: CChar.self))
            }
        }
        let block = bytes.bindMemory(to: Block.self, capacity: 1)
        block.initialize(to: Block(next: nil, events: events))
        defer {
            self.events = nil
            capacity = 0
            count = 0
            self.bytes = nil
            size = 0
            used = MemoryLayout<Block>.stride
            firstRemembered = 0
            free(latest)
            latest = nil
            latestCapacity = 0
        }
        return (block, count)
    }

    static func destroy(_ block: UnsafeMutablePointer<Block>) {
        CLinux.free(block.pointee.events)
        CLinux.free(block)
    }
}
