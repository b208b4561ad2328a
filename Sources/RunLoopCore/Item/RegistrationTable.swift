import CLinux
import Synchronization

/// All registrations of one loop, which can be found by slot and by the hash of their source. Guarded by the loop's lock. Calls no user
/// code.
struct RegistrationTable: ~Copyable {
    private var bySlot = PlainList<RegistrationPointer?>()
    private var freeSlots = PlainList<UInt32>()
    /// The first registration of each bucket. The number of buckets is 0 or a power of two, and at least two thirds of the number of
    /// registrations.
    private var buckets: UnsafeMutablePointer<RegistrationPointer?>?
    private var bucketCount = 0
    private(set) var count = 0
    /// The bucket at which the next call of `any` starts searching.
    private var anyBucket = 0

    init() {}

    deinit { free(buckets) }

    /// Returns the registration with this slot; nil if there is none. O(1).
    subscript(slot slot: Int) -> RegistrationPointer? { slot < bySlot.count ? bySlot[slot] : nil }

    /// Calls `body` for every registration whose source has this hash. O(1) on average. `body` must not change the table.
    func forEach(hash: UInt32, _ body: (RegistrationPointer) -> Void) {
        if count == 0 { return }
        var next = buckets.unsafelyUnwrapped[bucket(of: hash)]
        while let registration = next {
            next = registration.pointee.nextInBucket
            if registration.pointee.hash == hash { body(registration) }
        }
    }

    private func bucket(of hash: UInt32) -> Int { Int(hash) & (bucketCount &- 1) }

    /// Adds a registration of `source`, in the modes of `set`, and returns it; nil if out of memory. `pendingSignals` is the loop's bitmap,
    /// with a bit for each slot. If all slots are in use, or there is no memory for another bit, the registration has `noSlot`. The caller
    /// links it to the source. Amortized O(1).
    mutating func add(
        _ source: SourcePointer, _ hash: UInt32, _ set: ModeSetPointer, _ pendingSignals: UnsafePointer<PendingSignals>
    ) -> RegistrationPointer? {
        let needsSlot = !source.hasDescriptor
        guard 2 &* count < 3 &* bucketCount || growBuckets(), !needsSlot || reserveSlot(), let registration = unusedRegistration(of: source)
        else {
            return nil
        }
        registration.fill(in: set, pendingSignals, hash: hash)
        if needsSlot { registration.slot = takeSlot(registration, pendingSignals) }
        count += 1
        insert(registration)
        return registration
    }

    private mutating func reserveSlot() -> Bool { bySlot.reserve(bySlot.count + 1) && freeSlots.reserve(bySlot.count + 1) }

    /// Returns an unused registration: the one inside the source if that is unused, otherwise a new one; nil if out of memory.
    private func unusedRegistration(of source: SourcePointer) -> RegistrationPointer? {
        if source.inlineRegistration.set == nil { return source.inlineRegistration }
        return ThreadContextPointer.current.flatMap { RegistrationPointer.make(for: source, $0) }
    }

    /// Removes a registration from the table and frees its slot. Its fields other than the slot can still be read. O(1) on average.
    mutating func remove(_ registration: RegistrationPointer) {
        var link = buckets.unsafelyUnwrapped + bucket(of: registration.pointee.hash)
        while let other = link.pointee, other != registration { link = other.nextInBucketLink }
        link.pointee = registration.pointee.nextInBucket
        if !registration.source.hasDescriptor && registration.slot != Registration.noSlot {
            bySlot[Int(registration.slot)] = nil
            _ = freeSlots.append(registration.slot)
        }
        count -= 1
    }

    private mutating func takeSlot(_ registration: RegistrationPointer, _ pendingSignals: UnsafePointer<PendingSignals>) -> UInt32 {
        if freeSlots.count > 0 {
            let slot = freeSlots[freeSlots.count - 1]
            freeSlots.truncate(to: freeSlots.count - 1)
            bySlot[Int(slot)] = registration
            return slot
        }
        let slot = bySlot.count
        if slot >= PendingSignals.slotLimit || !pendingSignals.pointee.allocate(slot) { return Registration.noSlot }
        _ = bySlot.append(registration)
        return UInt32(slot)
    }

    /// Doubles the number of buckets. Returns false if out of memory.
    private mutating func growBuckets() -> Bool {
        let (old, oldCount, new) = (buckets, bucketCount, max(16, bucketCount * 2))
        guard let memory = calloc(new, MemoryLayout<RegistrationPointer?>.stride) else { return false }
        buckets = memory.bindMemory(to: RegistrationPointer?.self, capacity: new)
        bucketCount = new
        for index in 0..<oldCount {
            var next = old.unsafelyUnwrapped[index]
            while let registration = next {
                next = registration.pointee.nextInBucket
                insert(registration)
            }
        }
        free(old)
        return true
    }

    private func insert(_ registration: RegistrationPointer) {
        let first = buckets.unsafelyUnwrapped + bucket(of: registration.pointee.hash)
        registration.pointee.nextInBucket = first.pointee
        first.pointee = registration
    }

    /// Returns any one of the registrations; nil if the table is empty. For callers that remove each registration before the next call,
    /// and add none: then it takes O(1) on average.
    mutating func any() -> RegistrationPointer? {
        while anyBucket < bucketCount {
            if let registration = buckets.unsafelyUnwrapped[anyBucket] { return registration }
            anyBucket += 1
        }
        anyBucket = 0
        return nil
    }

    /// Calls `body` for every registration, in no particular order. O(number of buckets). `body` must not change the table.
    func forEach(_ body: (RegistrationPointer) -> Void) {
        for index in 0..<bucketCount {
            var next = buckets.unsafelyUnwrapped[index]
            while let registration = next {
                next = registration.pointee.nextInBucket
                body(registration)
            }
        }
    }
}

extension RegistrationPointer {
    fileprivate var nextInBucketLink: UnsafeMutablePointer<RegistrationPointer?> {
        withUnsafeMutablePointer(to: &pointee.nextInBucket) { $0 }
    }
}
