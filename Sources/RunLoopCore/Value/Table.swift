import CLinux

/// The contents of RLSet and RLDictionary: a hash table of pointers, which are retained and compared by the callbacks that the collection
/// was created with.
///
/// Open addressing with linear probing. The hashes are stored, so growing, and closing the gap after a removal, call no callbacks. A
/// mutable table belongs to one thread at a time. Callbacks are called only while the table is consistent, and what was read before a
/// callback is read again after it. So a callback that changes the table can damage its contents, but nothing else.
struct TableStorage: ~Copyable {
    /// One element, or room for one. In a set, `value` is not used.
    struct Bucket: BitwiseCopyable {
        /// 0 if the bucket is empty.
        var hash: UInt
        var key: UnsafeRawPointer?
        var value: UnsafeRawPointer?
    }

    var header: ObjectHeader
    let isMutable: Bool
    var count: Int
    /// 0 or a power of two; at least a quarter of the buckets are empty.
    var capacity: Int
    var buckets: UnsafeMutablePointer<Bucket>?
    /// The callbacks for the keys, and those for the values.
    let keyCalls: ElementCalls
    let valueCalls: ElementCalls
}

/// RLSet.
struct SetStorage: ObjectStorage, ~Copyable {
    static var kind: Kind { .set }

    var table: TableStorage
}

/// RLDictionary.
struct DictionaryStorage: ObjectStorage, ~Copyable {
    static var kind: Kind { .dictionary }

    var table: TableStorage
}

typealias SetPointer = UnsafeMutablePointer<SetStorage>
typealias DictionaryPointer = UnsafeMutablePointer<DictionaryStorage>
typealias TablePointer = UnsafeMutablePointer<TableStorage>

extension UnsafeMutablePointer where Pointee: ObjectStorage & ~Copyable {
    /// The table of a set or of a dictionary.
    var table: TablePointer { UnsafeMutableRawPointer(self).assumingMemoryBound(to: TableStorage.self) }
}

extension TablePointer {
    /// What `put` does: add only if the key is absent, replace only if it is present, or either (`set`).
    enum Policy { case add, set, replace }

    /// The handle by which C programs refer to this object.
    var handle: OpaquePointer { OpaquePointer(self) }

    /// Creates an empty table. Returns nil with ENOMEM if out of memory. One allocation, two if `room` is not 0. Any thread.
    @inline(never)
    static func create(_ kind: Kind, isMutable: Bool, room: Int, _ keyCalls: ElementCalls, _ valueCalls: ElementCalls) -> TablePointer? {
        guard let memory = malloc(MemoryLayout<TableStorage>.size) else { return nil }
        let table = memory.bindMemory(to: TableStorage.self, capacity: 1)
        table.initialize(
            to: TableStorage(
                header: ObjectHeader(kind), isMutable: isMutable, count: 0, capacity: 0, buckets: nil, keyCalls: keyCalls,
                valueCalls: valueCalls))
        guard room == 0 || table.reserve(room) else {
            free(memory)
            return nil
        }
        return table
    }

    /// Returns a new table with the same elements, each retained once more; nil with ENOMEM if out of memory. O(n). Any thread. Calls
    /// retain.
    func copy(isMutable: Bool) -> TablePointer? {
        let kind: Kind = pointee.header.tag == Kind.set.rawValue ? .set : .dictionary
        guard let new = Self.create(kind, isMutable: isMutable, room: pointee.count, pointee.keyCalls, pointee.valueCalls) else {
            return nil
        }
        var index = 0
        while let bucket = next(&index) {
            let value = pointee.valueCalls.retained(bucket.value)
            let copy = TableStorage.Bucket(hash: bucket.hash, key: pointee.keyCalls.retained(bucket.key), value: value)
            if !new.insert(copy) { break }
        }
        return new
    }

    /// Returns an immutable copy; for an immutable table the table itself, retained. Returns nil with ENOMEM if out of memory. Calls
    /// retain.
    func immutableCopy() -> TablePointer? {
        if pointee.isMutable { return copy(isMutable: false) }
        pointee.header.retain()
        return self
    }

    /// Copies all keys, and the values in the same order. O(n). Calls no callbacks.
    func list(_ keys: UnsafeMutablePointer<UnsafeRawPointer?>?, _ values: UnsafeMutablePointer<UnsafeRawPointer?>?) {
        var (index, count) = (0, 0)
        while let bucket = next(&index) {
            keys?[count] = bucket.key
            values?[count] = bucket.value
            count += 1
        }
    }

    /// Releases a reference. The last one calls release for each element. Any thread.
    func release() {
        guard pointee.header.release() else { return }
        removeAll()
        pointee.header.tag = 0
        free(self)
    }

    /// Returns the next element from bucket `index` on and advances `index`; nil after the last element. Calls no callbacks.
    func next(_ index: inout Int) -> TableStorage.Bucket? {
        while let buckets = pointee.buckets, index < pointee.capacity {
            let bucket = buckets[index]
            index += 1
            if bucket.hash != 0 { return bucket }
        }
        return nil
    }

    /// Returns the element with a key; nil if there is none. O(1) on average. Calls hash and equal.
    @inline(never)
    func find(_ key: UnsafeRawPointer?) -> TableStorage.Bucket? {
        guard pointee.count > 0, let index = index(of: key, pointee.keyCalls.hash(key)) else { return nil }
        return pointee.buckets.unsafelyUnwrapped[index]
    }

    /// Returns the bucket of a key with this hash, which is never 0; nil if there is none. Calls equal, which may change the table, so the
    /// bucket is checked again afterwards.
    private func index(of key: UnsafeRawPointer?, _ hash: UInt) -> Int? {
        var step = 0
        while let buckets = pointee.buckets, step < pointee.capacity {
            let index = (Int(bitPattern: hash) &+ step) & (pointee.capacity - 1)
            let bucket = buckets[index]
            if bucket.hash == 0 { return nil }
            if bucket.hash == hash && pointee.keyCalls.areEqual(bucket.key, key) {
                return index < pointee.capacity && pointee.buckets?[index].hash == hash ? index : nil
            }
            step += 1
        }
        return nil
    }

    /// Returns how many keys have this value. O(n). Calls equal.
    func count(ofValue value: UnsafeRawPointer?) -> Int {
        var (index, found) = (0, 0)
        while let bucket = next(&index) {
            if pointee.valueCalls.areEqual(bucket.value, value) { found += 1 }
        }
        return found
    }

    /// Adds or replaces an element, depending on `policy`. Returns false with ENOMEM, without a change, if out of memory. O(1) on average.
    /// Calls hash, equal, retain and release.
    @inline(never)
    func put(_ key: UnsafeRawPointer?, _ value: UnsafeRawPointer?, _ policy: Policy) -> Bool {
        let hash = pointee.keyCalls.hash(key)
        if index(of: key, hash) == nil {
            if policy == .replace { return true }
        } else if policy == .add {
            return true
        }
        // Retain the new pointers before releasing the old ones: they may be the same. Retain the value before the key, as CF does.
        let value = pointee.valueCalls.retained(value)
        let new = TableStorage.Bucket(hash: hash, key: pointee.keyCalls.retained(key), value: value)
        if let index = index(of: key, hash), let buckets = pointee.buckets {
            let old = buckets[index]
            buckets[index] = new
            released(old)
            return true
        }
        if insert(new) { return true }
        released(new)
        return false
    }

    /// Removes the element with a key, if there is one. O(1) on average. Calls hash, equal and release.
    func remove(_ key: UnsafeRawPointer?) {
        guard pointee.count > 0, var hole = index(of: key, pointee.keyCalls.hash(key)) else { return }
        let buckets = pointee.buckets.unsafelyUnwrapped
        let mask = pointee.capacity - 1
        let removed = buckets[hole]
        // Later elements that could have been in this bucket move up, so that no search ends at the gap.
        var index = hole
        while true {
            index = (index + 1) & mask
            let bucket = buckets[index]
            if bucket.hash == 0 { break }
            if (index &- Int(bitPattern: bucket.hash)) & mask >= (index &- hole) & mask {
                buckets[hole] = bucket
                hole = index
            }
        }
        buckets[hole].hash = 0
        pointee.count -= 1
        released(removed)
    }

    /// Removes all elements. O(n). Calls release.
    func removeAll() {
        let (buckets, capacity) = (pointee.buckets, pointee.capacity)
        (pointee.buckets, pointee.capacity, pointee.count) = (nil, 0, 0)
        for index in 0..<capacity where buckets.unsafelyUnwrapped[index].hash != 0 { released(buckets.unsafelyUnwrapped[index]) }
        free(buckets)
    }

    /// Releases the value and the key of an element. Calls release.
    private func released(_ bucket: TableStorage.Bucket) {
        pointee.valueCalls.released(bucket.value)
        pointee.keyCalls.released(bucket.key)
    }

    /// Adds an element whose key is absent. Returns false if out of memory. Calls no callbacks.
    private func insert(_ new: TableStorage.Bucket) -> Bool {
        guard reserve(pointee.count + 1), let buckets = pointee.buckets else { return false }
        Self.store(new, buckets, pointee.capacity)
        pointee.count += 1
        return true
    }

    /// Stores an element in the first free bucket for its hash. There must be a free bucket.
    private static func store(_ new: TableStorage.Bucket, _ buckets: UnsafeMutablePointer<TableStorage.Bucket>, _ capacity: Int) {
        var index = Int(bitPattern: new.hash) & (capacity - 1)
        while buckets[index].hash != 0 { index = (index + 1) & (capacity - 1) }
        buckets[index] = new
    }

    /// Makes room for `wanted` elements. Returns false with ENOMEM if out of memory. Amortized O(1). Calls no callbacks.
    @inline(never)
    private func reserve(_ wanted: Int) -> Bool {
        if wanted <= pointee.capacity / 4 * 3 { return true }
        var capacity = Swift.max(pointee.capacity, 8)
        while wanted > capacity / 4 * 3 {
            capacity = capacity &* 2
            if capacity <= 0 {
                systemError = ENOMEM
                return false
            }
        }
        guard let memory = calloc(capacity, MemoryLayout<TableStorage.Bucket>.stride) else { return false }
        let buckets = memory.bindMemory(to: TableStorage.Bucket.self, capacity: capacity)
        var index = 0
        while let bucket = next(&index) { Self.store(bucket, buckets, capacity) }
        free(pointee.buckets)
        pointee.buckets = buckets
        pointee.capacity = capacity
        return true
    }

    /// Returns whether both tables have the same elements. O(n). Calls hash and equal.
    func equals(_ other: TablePointer) -> Bool {
        if self == other { return true }
        if pointee.count != other.pointee.count { return false }
        var index = 0
        while let bucket = next(&index) {
            guard let match = other.find(bucket.key), pointee.valueCalls.areEqual(bucket.value, match.value) else { return false }
        }
        return true
    }
}
