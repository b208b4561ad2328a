import CLinux

/// What RLSet and RLDictionary are: a hash table of pointers, held and compared through the callbacks they came with.
///
/// Open addressing with linear probing; the hashes are kept, so that growing and removing call nobody. A mutable one
/// belongs to one thread at a time. Callbacks are called while the table is whole, and what was looked at before such a
/// call is looked at again, so that a callback that changes the table spoils its contents at most.
struct TableStorage: ~Copyable {
    /// An element, or room for one. A set has no values.
    struct Place: BitwiseCopyable {
        /// 0: empty.
        var hash: UInt
        var key: UnsafeRawPointer?
        var value: UnsafeRawPointer?
    }

    var header: ObjectHeader
    let isMutable: Bool
    var count: Int
    /// 0 or a power of two, at least a quarter of it empty.
    var capacity: Int
    var places: UnsafeMutablePointer<Place>?
    let keys: ElementCalls
    let values: ElementCalls
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
    /// The table that a set or a dictionary is.
    var table: TablePointer { UnsafeMutableRawPointer(self).assumingMemoryBound(to: TableStorage.self) }
}

extension TablePointer {
    /// What becomes of an element whose key is there already, or is not.
    enum Policy { case add, set, replace }

    /// The handle that C knows this object by.
    var handle: OpaquePointer { OpaquePointer(self) }

    /// An empty table; nil with ENOMEM. One allocation, two if there is to be room. Any thread.
    @inline(never)
    static func create(_ kind: Kind, isMutable: Bool, room: Int, _ keys: ElementCalls, _ values: ElementCalls) -> TablePointer? {
        guard let memory = malloc(MemoryLayout<TableStorage>.size) else { return nil }
        let table = memory.bindMemory(to: TableStorage.self, capacity: 1)
        table.initialize(
            to: TableStorage(
                header: ObjectHeader(kind), isMutable: isMutable, count: 0, capacity: 0, places: nil, keys: keys, values: values))
        guard room == 0 || table.reserve(room) else {
            free(memory)
            return nil
        }
        return table
    }

    /// The same elements, retained once more; nil with ENOMEM. O(n). Any thread.
    func copy(isMutable: Bool) -> TablePointer? {
        let kind: Kind = pointee.header.tag == Kind.set.rawValue ? .set : .dictionary
        guard let new = Self.create(kind, isMutable: isMutable, room: pointee.count, pointee.keys, pointee.values) else { return nil }
        var index = 0
        while let place = next(&index) {
            let value = pointee.values.retained(place.value)
            let copy = TableStorage.Place(hash: place.hash, key: pointee.keys.retained(place.key), value: value)
            if !new.insert(copy) { break }
        }
        return new
    }

    /// One that never changes; for one that does not, itself, retained.
    func immutableCopy() -> TablePointer? {
        if pointee.isMutable { return copy(isMutable: false) }
        pointee.header.retain()
        return self
    }

    /// Copies out all keys, and the values in the same order. O(n). Calls nobody.
    func list(_ keys: UnsafeMutablePointer<UnsafeRawPointer?>?, _ values: UnsafeMutablePointer<UnsafeRawPointer?>?) {
        var (index, count) = (0, 0)
        while let place = next(&index) {
            keys?[count] = place.key
            values?[count] = place.value
            count += 1
        }
    }

    /// Any thread. The last one calls release for each element.
    func release() {
        guard pointee.header.release() else { return }
        removeAll()
        pointee.header.tag = 0
        free(self)
    }

    /// The next element from `index` on; nil behind the last. Calls nobody.
    func next(_ index: inout Int) -> TableStorage.Place? {
        while let places = pointee.places, index < pointee.capacity {
            let place = places[index]
            index += 1
            if place.hash != 0 { return place }
        }
        return nil
    }

    /// Where a key is; nil if it is not there. O(1). Calls hash and equal.
    @inline(never)
    func find(_ key: UnsafeRawPointer?) -> TableStorage.Place? {
        guard pointee.count > 0, let index = index(of: key, pointee.keys.hash(key)) else { return nil }
        return pointee.places.unsafelyUnwrapped[index]
    }

    private func index(of key: UnsafeRawPointer?, _ hash: UInt) -> Int? {
        var step = 0
        while let places = pointee.places, step < pointee.capacity {
            let index = (Int(bitPattern: hash) &+ step) & (pointee.capacity - 1)
            let place = places[index]
            if place.hash == 0 { return nil }
            if place.hash == hash && pointee.keys.areEqual(place.key, key) {
                return index < pointee.capacity && pointee.places?[index].hash == hash ? index : nil
            }
            step += 1
        }
        return nil
    }

    /// Whether a value is there, under any key. O(n). Calls equal.
    func count(ofValue value: UnsafeRawPointer?) -> Int {
        var (index, found) = (0, 0)
        while let place = next(&index) {
            if pointee.values.areEqual(place.value, value) { found += 1 }
        }
        return found
    }

    /// False, and nothing has changed, with ENOMEM. O(1) on average. Calls hash, equal, retain and release.
    @inline(never)
    func put(_ key: UnsafeRawPointer?, _ value: UnsafeRawPointer?, _ policy: Policy) -> Bool {
        let hash = pointee.keys.hash(key)
        if index(of: key, hash) == nil {
            if policy == .replace { return true }
        } else if policy == .add {
            return true
        }
        // The value before the key, the new ones before the old: they may be the same, and CF does it so.
        let value = pointee.values.retained(value)
        let new = TableStorage.Place(hash: hash, key: pointee.keys.retained(key), value: value)
        if let index = index(of: key, hash), let places = pointee.places {
            let old = places[index]
            places[index] = new
            released(old)
            return true
        }
        if insert(new) { return true }
        released(new)
        return false
    }

    /// O(1) on average. Calls hash, equal and release.
    func remove(_ key: UnsafeRawPointer?) {
        guard pointee.count > 0, var hole = index(of: key, pointee.keys.hash(key)) else { return }
        let places = pointee.places.unsafelyUnwrapped
        let mask = pointee.capacity - 1
        let removed = places[hole]
        // Those behind it that could have stood here move up, so that no search ends too early.
        var index = hole
        while true {
            index = (index + 1) & mask
            let place = places[index]
            if place.hash == 0 { break }
            if (index &- Int(bitPattern: place.hash)) & mask >= (index &- hole) & mask {
                places[hole] = place
                hole = index
            }
        }
        places[hole].hash = 0
        pointee.count -= 1
        released(removed)
    }

    /// O(n). Calls release.
    func removeAll() {
        let (places, capacity) = (pointee.places, pointee.capacity)
        (pointee.places, pointee.capacity, pointee.count) = (nil, 0, 0)
        for index in 0..<capacity where places.unsafelyUnwrapped[index].hash != 0 { released(places.unsafelyUnwrapped[index]) }
        free(places)
    }

    private func released(_ place: TableStorage.Place) {
        pointee.values.released(place.value)
        pointee.keys.released(place.key)
    }

    /// A place for what is not there yet. Calls nobody.
    private func insert(_ new: TableStorage.Place) -> Bool {
        guard reserve(pointee.count + 1), let places = pointee.places else { return false }
        Self.store(new, places, pointee.capacity)
        pointee.count += 1
        return true
    }

    private static func store(_ new: TableStorage.Place, _ places: UnsafeMutablePointer<TableStorage.Place>, _ capacity: Int) {
        var index = Int(bitPattern: new.hash) & (capacity - 1)
        while places[index].hash != 0 { index = (index + 1) & (capacity - 1) }
        places[index] = new
    }

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
        guard let memory = calloc(capacity, MemoryLayout<TableStorage.Place>.stride) else { return false }
        let places = memory.bindMemory(to: TableStorage.Place.self, capacity: capacity)
        var index = 0
        while let place = next(&index) { Self.store(place, places, capacity) }
        free(pointee.places)
        pointee.places = places
        pointee.capacity = capacity
        return true
    }

    /// Same elements. O(n). Calls hash and equal.
    func equals(_ other: TablePointer) -> Bool {
        if self == other { return true }
        if pointee.count != other.pointee.count { return false }
        var index = 0
        while let place = next(&index) {
            guard let match = other.find(place.key), pointee.values.areEqual(place.value, match.value) else { return false }
        }
        return true
    }
}
