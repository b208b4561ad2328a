import CLinux

/// RLData: a sequence of bytes. The bytes of immutable data directly follow this struct, unless the client has passed its own block; those
/// of mutable data are in a separate block. Mutable data belongs to one thread at a time.
struct DataStorage: ObjectStorage, ~Copyable {
    static var kind: Kind { .data }

    /// Where the bytes are stored, and what frees them. `inline`: directly after the struct. `adopted`: in a client's block, which the
    /// library frees. `noCopy`: in a client's block, which the library does not free. `growing`: in a block that can be replaced by a
    /// larger one; only mutable data has this.
    enum PayloadLocation: UInt8 {
        case inline, adopted, noCopy, growing
        /// After the struct, in memory of `smallSlab`.
        case pooled
        /// In a block of `Memory.allocateLarge`.
        case large
        /// After the struct, in memory that was a thread's temporary memory (`ThreadContext.scratch`).
        case scratch
    }

    var header: ObjectHeader
    let payloadLocation: PayloadLocation
    var count: Int
    var capacity: Int
    var bytes: UnsafeMutablePointer<UInt8>

    /// Memory for structs that are followed by a few bytes.
    static let smallSlab = Slab(size: smallSlabSize)
    static var smallSlabSize: Int { 128 }
}

typealias DataPointer = UnsafeMutablePointer<DataStorage>

extension DataPointer {
    /// Creates a copy of `count` bytes, with one reference. Returns nil with ENOMEM if out of memory. One allocation. Any thread.
    @inline(never)
    static func create(_ source: UnsafePointer<UInt8>?, count: Int) -> DataPointer? {
        let offset = MemoryLayout<DataStorage>.stride
        let (size, overflow) = count.addingReportingOverflow(offset)
        guard !overflow, let memory = malloc(size) else {
            systemError = ENOMEM
            return nil
        }
        let bytes = (memory + offset).assumingMemoryBound(to: UInt8.self)
        if let source { memcpy(bytes, source, count) }
        return create(in: memory, .inline, bytes, count: count, capacity: count)
    }

    /// Like `create`, for data that is created very often: a small copy costs no allocation. `threadContext` is the calling thread's.
    static func createPooled(_ source: UnsafePointer<UInt8>, count: Int, _ threadContext: ThreadContextPointer) -> DataPointer? {
        guard count <= DataStorage.smallSlabSize - MemoryLayout<DataStorage>.stride,
            let memory = DataStorage.smallSlab.allocate(threadContext)
        else {
            return create(source, count: count)
        }
        let bytes = (memory + MemoryLayout<DataStorage>.stride).assumingMemoryBound(to: UInt8.self)
        memcpy(bytes, source, count)
        return create(in: memory, .pooled, bytes, count: count, capacity: count)
    }

    /// Returns memory into which the calling thread may receive up to `receivedLimit` bytes, for `createReceived`; nil if out of memory.
    /// Aligned to 16 bytes. `threadContext` is the calling thread's.
    static func receivingMemory(_ threadContext: ThreadContextPointer) -> UnsafeMutableRawPointer? {
        threadContext.pointee.scratch().map { $0 + room }
    }

    /// The distance from the struct to the bytes that follow it.
    private var offset: Int { UnsafeRawPointer(pointee.bytes) - UnsafeRawPointer(self) }

    private static var room: Int { (MemoryLayout<DataStorage>.stride + 15) & ~15 }
    static var receivedLimit: Int { ThreadContext.scratchSize - room }

    /// Creates data from bytes that were received into `receivingMemory`, or from a part of them. Returns nil with ENOMEM if out of memory.
    /// A part of more than a quarter of the memory is not copied: the data takes over the memory. Called by the thread that received the
    /// bytes.
    static func createReceived(_ source: UnsafeMutableRawPointer, count: Int, _ threadContext: ThreadContextPointer) -> DataPointer? {
        let bytes = source.assumingMemoryBound(to: UInt8.self)
        return count <= receivedLimit / 4
            ? createPooled(bytes, count: count, threadContext) : createInScratch(bytes, count: count, threadContext)
    }

    /// Creates data within the thread's temporary memory itself, which the thread gives up.
    @inline(never)
    private static func createInScratch(_ bytes: UnsafeMutablePointer<UInt8>, count: Int, _ threadContext: ThreadContextPointer)
        -> DataPointer?
    {
        guard let memory = threadContext.pointee.scratch() else { return nil }
        threadContext.pointee.detachScratch()
        return create(in: memory, .scratch, bytes, count: count, capacity: receivedLimit)
    }

    /// Creates data that uses a block of the caller's, of `capacity` bytes. Returns nil with ENOMEM if out of memory: the caller then keeps
    /// the block. One allocation. Any thread.
    static func create(
        around bytes: UnsafeMutablePointer<UInt8>, count: Int, capacity: Int? = nil, _ location: DataStorage.PayloadLocation
    ) -> DataPointer? {
        guard let memory = malloc(MemoryLayout<DataStorage>.size) else { return nil }
        return create(in: memory, location, bytes, count: count, capacity: capacity ?? count)
    }

    /// Creates mutable data without bytes. Returns nil with ENOMEM if out of memory. Two allocations. Any thread.
    static func createMutable(capacity: Int) -> DataPointer? {
        guard let block = malloc(Swift.max(capacity, 1)) else { return nil }
        guard let memory = malloc(MemoryLayout<DataStorage>.size) else {
            free(block)
            return nil
        }
        return create(in: memory, .growing, block.assumingMemoryBound(to: UInt8.self), count: 0, capacity: capacity)
    }

    private static func create(
        in memory: UnsafeMutableRawPointer, _ location: DataStorage.PayloadLocation, _ bytes: UnsafeMutablePointer<UInt8>, count: Int,
        capacity: Int
    ) -> DataPointer {
        let data = memory.bindMemory(to: DataStorage.self, capacity: 1)
        data.initialize(
            to: DataStorage(header: ObjectHeader(.data), payloadLocation: location, count: count, capacity: capacity, bytes: bytes))
        return data
    }

    /// Creates data from bytes that `fill` writes into memory for `capacity` bytes; `fill` returns their number. Returns nil with ENOMEM,
    /// without a call of `fill`, if out of memory. Frees the rest of the memory if it is large. Two allocations at most. Any thread.
    static func create(capacity: Int, _ fill: (UnsafeMutablePointer<UInt8>) -> Int) -> DataPointer? {
        guard let data = create(nil, count: capacity) else { return nil }
        let count = fill(data.pointee.bytes)
        data.pointee.count = count
        let offset = data.offset
        guard capacity - count >= 256, let smaller = realloc(data, offset + count) else { return data }
        let moved = smaller.assumingMemoryBound(to: DataStorage.self)
        moved.pointee.bytes = (smaller + offset).assumingMemoryBound(to: UInt8.self)
        return moved
    }

    /// Releases a reference. The last one frees the object and its bytes, unless these are `noCopy`. Any thread.
    @inline(never)
    func release() {
        guard pointee.header.releaseUnlisted() else { return }
        pointee.header.tag = 0
        switch pointee.payloadLocation {
        case .pooled: return DataStorage.smallSlab.deallocate(self)
        case .scratch:
            if let threadContext = ThreadContextPointer.current { return threadContext.pointee.recycleScratch(self) }
        case .adopted, .growing: free(pointee.bytes)
        case .large: Memory.freeLarge(pointee.bytes, pointee.capacity)
        case .inline, .noCopy: break
        }
        free(self)
    }

    /// Returns data with these bytes that may be kept longer than the current call: this object, retained, if its bytes cannot change;
    /// otherwise a copy. Returns nil with ENOMEM if out of memory.
    func lastingCopy() -> DataPointer? {
        // Bytes that are `noCopy` are valid only until the data is destroyed, and the client relies on when that is.
        if pointee.payloadLocation == .growing || pointee.payloadLocation == .noCopy { return Self.create(bytes, count: pointee.count) }
        pointee.header.retain()
        return self
    }

    /// The bytes. Valid until the object is destroyed or, if it is mutable, changed. O(1).
    var bytes: UnsafePointer<UInt8> { UnsafePointer(pointee.bytes) }

    /// Returns whether both objects have the same bytes. O(n). Any thread.
    func equals(_ other: DataPointer) -> Bool {
        self == other || (pointee.count == other.pointee.count && memcmp(bytes, other.bytes, pointee.count) == 0)
    }

    /// Replaces `length` bytes from `start` on by `count` bytes of `source` (zeros if nil), which may point into the data itself. Returns
    /// false with ENOMEM, without a change, if out of memory. O(n).
    @inline(never)
    func replace(_ start: Int, _ length: Int, with source: UnsafePointer<UInt8>?, count: Int) -> Bool {
        let rest = pointee.count - start - length
        let (total, overflow) = (start + rest).addingReportingOverflow(count)
        // A source within the data would be moved together with it.
        var copy: UnsafeMutableRawPointer?
        var source = source
        if let given = source, given < bytes + pointee.count, bytes < given + count, count > 0 {
            copy = malloc(count)
            guard let copy else { return false }
            source = UnsafePointer(copy.assumingMemoryBound(to: UInt8.self))
            memcpy(copy, given, count)
        }
        defer { free(copy) }
        guard !overflow, reserve(total) else {
            systemError = ENOMEM
            return false
        }
        let target = pointee.bytes + start
        memmove(target + count, target + length, rest)
        if let source { memcpy(target, source, count) } else { memset(target, 0, count) }
        pointee.count = total
        return true
    }

    /// Makes room for `wanted` bytes. Returns false if out of memory. Amortized O(1).
    private func reserve(_ wanted: Int) -> Bool {
        if wanted <= pointee.capacity { return true }
        let capacity = Swift.max(Swift.max(wanted, pointee.capacity &* 2), 16)
        guard let grown = realloc(pointee.bytes, capacity) else { return false }
        pointee.bytes = grown.assumingMemoryBound(to: UInt8.self)
        pointee.capacity = capacity
        return true
    }

    /// Returns the index of the first occurrence of `pattern` in a part of the bytes, or with `backwards` of the last one; nil if there is
    /// none. With `anchored`, it must be at the beginning of the part, or at its end. An empty pattern never occurs. O(n × m).
    func find(_ pattern: DataPointer, from start: Int, _ length: Int, backwards: Bool, anchored: Bool) -> Int? {
        let last = start + length - pattern.pointee.count
        guard pattern.pointee.count > 0, last >= start else { return nil }
        var index = backwards ? last : start
        while index >= start && index <= last {
            if memcmp(bytes + index, pattern.bytes, pattern.pointee.count) == 0 { return index }
            if anchored { return nil }
            index += backwards ? -1 : 1
        }
        return nil
    }
}
