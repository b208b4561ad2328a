import CLinux

/// The free memory of a slab that is in no thread's cache: a set of addresses, stored as a bitmap. In whatever order objects are freed, their
/// memory is handed out in the order of its addresses. The processor recognizes that order, and fetches the next addresses ahead of time.
///
/// The memory is not contiguous, so the bitmap is divided into regions. A hash table, at least half of which is empty, maps an address to its
/// region.
///
/// Guarded by the slab's mutex. Never freed.
struct FreeMap: ~Copyable {
    /// The objects whose addresses differ only in the last `shift + bits` bits.
    private struct Region: BitwiseCopyable {
        /// The bits that these addresses have in common.
        var number: UInt
        /// How many bits are set.
        var count: Int
        // The words with the bits follow.

        /// With objects of 64 bytes, a region is 2 MB of memory, for which it has 4 kB of bits.
        static var bits: UInt { 15 }
        static var words: Int { 1 << (bits - 6) }
        static var size: Int { MemoryLayout<Region>.stride + words * MemoryLayout<UInt64>.stride }
    }
    private typealias RegionPointer = UnsafeMutablePointer<Region>

    /// A bit stands for 1 << shift bytes: for 64, or for less if the size of an object is not a multiple of that.
    private let shift: UInt
    /// The hash table, with 1 << tableBits places, some of which are nil.
    private var table: UnsafeMutablePointer<RegionPointer?>
    private var tableBits: UInt
    private var regionCount = 0
    /// The place in the table, and the word in its region, from which `take` continues.
    private var place = 0
    private var word = 0

    /// Creates an empty map for objects of `size` bytes. Returns nil if out of memory.
    static func create(size: Int) -> UnsafeMutablePointer<FreeMap>? {
        guard let table = newTable(bits: 3) else { return nil }
        guard let map = malloc(MemoryLayout<FreeMap>.stride)?.bindMemory(to: FreeMap.self, capacity: 1) else {
            free(table)
            return nil
        }
        map.initialize(to: FreeMap(shift: UInt(min(6, size.trailingZeroBitCount)), table: table, tableBits: 3))
        return map
    }

    /// Adds addresses that are not in the map. Returns how many it has added, which are fewer than `count` only if memory ran out. O(count).
    @_optimize(speed)
    mutating func insert(_ addresses: UnsafePointer<UnsafeMutableRawPointer>, _ count: Int) -> Int {
        var lost = 0
        var (table, tableBits) = (self.table, self.tableBits)
        let shift = self.shift
        for index in 0..<count {
            let unit = UInt(bitPattern: addresses[index]) &>> shift
            let number = unit &>> Region.bits
            // Nearly all regions are at the first place.
            var found = table[Self.firstPlace(of: number, tableBits)]
            if found == nil || found.unsafelyUnwrapped.pointee.number != number {
                found = findOrAddRegion(number)
                (table, tableBits) = (self.table, self.tableBits)
            }
            guard let region = found else {
                lost &+= 1
                continue
            }
            region.pointee.count &+= 1
            Self.words(region)[Int(bitPattern: unit &>> 6) & (Region.words &- 1)] |= 1 &<< UInt64(unit & 63)
        }
        return count &- lost
    }

    /// Moves addresses from the map to an array, in descending order, and returns their number: at least `wanted`, with at most 63 more, or
    /// fewer if the end of a region is reached. The map must not be empty. O(number of regions) at worst, usually O(number of addresses).
    @_optimize(speed)
    mutating func take(_ wanted: Int, to addresses: UnsafeMutablePointer<UnsafeMutableRawPointer>) -> Int {
        while (table[place]?.pointee.count ?? 0) == 0 { (place, word) = ((place &+ 1) & (1 &<< tableBits &- 1), 0) }
        let region = table[place].unsafelyUnwrapped
        let words = Self.words(region)
        var (begin, found) = (word, 0)
        while found < wanted {
            if word == Region.words {
                if found > 0 { break }
                (begin, word) = (0, 0)
            }
            found &+= words[word].nonzeroBitCount
            word &+= 1
        }
        region.pointee.count &-= found
        var next = addresses
        for index in (begin..<word).reversed() {
            var bits = words[index]
            words[index] = 0
            let first = region.pointee.number &<< Region.bits | UInt(index) &<< 6
            while bits != 0 {
                let bit = 63 &- bits.leadingZeroBitCount
                bits ^= 1 &<< UInt64(bit)
                next.pointee = UnsafeMutableRawPointer(bitPattern: (first | UInt(bit)) &<< shift).unsafelyUnwrapped
                next += 1
            }
        }
        return found
    }

    private static func words(_ region: RegionPointer) -> UnsafeMutablePointer<UInt64> {
        UnsafeMutableRawPointer(region + 1).assumingMemoryBound(to: UInt64.self)
    }

    /// Returns the place at which the search for the region with this number begins.
    @inline(__always)
    private static func firstPlace(of number: UInt, _ tableBits: UInt) -> Int {
        Int(bitPattern: (number &* 0x9E37_79B9_7F4A_7C15) &>> (64 &- tableBits))
    }

    /// Returns the place of the region with this number in a table; if it is not there, an empty place for it. O(1) on average.
    private static func place(of number: UInt, _ table: UnsafeMutablePointer<RegionPointer?>, _ tableBits: UInt) -> Int {
        var place = firstPlace(of: number, tableBits)
        while let region = table[place], region.pointee.number != number { place = (place &+ 1) & (1 &<< tableBits &- 1) }
        return place
    }

    private static func newTable(bits: UInt) -> UnsafeMutablePointer<RegionPointer?>? {
        calloc(1 << bits, MemoryLayout<RegionPointer?>.stride)?.bindMemory(to: RegionPointer?.self, capacity: 1 << bits)
    }

    /// Returns the region with this number, an empty one if there was none; nil if out of memory.
    @inline(never)
    private mutating func findOrAddRegion(_ number: UInt) -> RegionPointer? {
        if let region = table[Self.place(of: number, table, tableBits)] { return region }
        if 2 * regionCount >= 1 << tableBits && !growTable() { return nil }
        guard let region = calloc(1, Region.size)?.bindMemory(to: Region.self, capacity: 1) else { return nil }
        region.pointee.number = number
        table[Self.place(of: number, table, tableBits)] = region
        regionCount += 1
        return region
    }

    /// Doubles the table. Returns false if out of memory.
    private mutating func growTable() -> Bool {
        guard let new = Self.newTable(bits: tableBits + 1) else { return false }
        for index in 0..<1 << tableBits {
            if let region = table[index] { new[Self.place(of: region.pointee.number, new, tableBits + 1)] = region }
        }
        free(table)
        (table, tableBits, place) = (new, tableBits + 1, 0)
        return true
    }
}
