import CLinux
import CRunLoop

/// RLNotificationCenter. A process has one, which is static data of C; its contents are in `Observances`.
struct NotificationCenterStorage: ObjectStorage, ~Copyable {
    static var kind: Kind { .notificationCenter }

    var header: ObjectHeader
}

/// RLNotificationCallback.
public typealias NotificationCallback =
    @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?, OpaquePointer?, UnsafeRawPointer?, OpaquePointer?) -> Void

/// The observers of the notification center, in the order in which they were added.
enum Observances {
    private struct Observance: BitwiseCopyable {
        /// Identifies the entry. Ascending in the order in which observers are added; never reused.
        let number: UInt64
        let observer: UnsafeRawPointer?
        let function: NotificationCallback
        /// The name to observe, retained; nil for all names.
        let name: StringPointer?
        /// The object to observe, which is only compared; nil for all objects.
        let object: UnsafeRawPointer?

        /// Returns whether a notification with this name and object is delivered to this observer.
        func hears(_ name: StringPointer, _ object: UnsafeRawPointer?) -> Bool {
            (self.object == nil || self.object == object) && (self.name?.equals(name) ?? true)
        }
    }

    private static let mutex = Mutex()
    /// The observers, sorted by number. Guarded by `mutex`, as is `lastNumber`.
    private nonisolated(unsafe) static var list = PlainList<Observance>()
    private nonisolated(unsafe) static var lastNumber: UInt64 = 0

    /// Locks the list before fork(), so that the child finds it consistent.
    static func lockBeforeFork() { mutex.lock() }

    /// Unlocks the list after fork(), in parent and child.
    static func unlockAfterFork() { mutex.unlock() }

    /// Adds an observer. Returns false with ENOMEM if out of memory. Amortized O(1). Any thread.
    static func add(
        _ observer: UnsafeRawPointer?, _ function: @escaping NotificationCallback, _ name: StringPointer?, _ object: UnsafeRawPointer?
    ) -> Bool {
        mutex.lock()
        defer { mutex.unlock() }
        let new = Observance(number: lastNumber + 1, observer: observer, function: function, name: name, object: object)
        guard list.append(new) else { return false }
        name?.retain()
        lastNumber += 1
        return true
    }

    /// Removes the entries of `observer` for this name (nil for all names) and this object (nil for all objects). O(n). Any thread.
    @inline(never)
    static func remove(_ observer: UnsafeRawPointer?, _ name: StringPointer?, _ object: UnsafeRawPointer?) {
        mutex.lock()
        defer { mutex.unlock() }
        var kept = 0
        for index in 0..<list.count {
            let one = list[index]
            if one.observer == observer && (object == nil || one.object == object) && sameName(one.name, name) {
                one.name?.release()
            } else {
                list[kept] = one
                kept += 1
            }
        }
        list.truncate(to: kept)
    }

    private static func sameName(_ own: StringPointer?, _ wanted: StringPointer?) -> Bool {
        guard let wanted else { return true }
        return own?.equals(wanted) ?? false
    }

    /// Calls all observers that had been added when this call began, except those that are removed during the call. O(n). Any thread. Calls
    /// user code, without a lock held.
    static func post(
        _ center: OpaquePointer?, _ name: StringPointer, _ object: UnsafeRawPointer?, _ userInfo: OpaquePointer?
    ) {
        mutex.lock()
        let end = lastNumber
        var done: UInt64 = 0
        while let next = first(after: done, name, object), next.number <= end {
            mutex.unlock()
            next.function(center, UnsafeMutableRawPointer(mutating: next.observer), name.handle, object, userInfo)
            done = next.number
            mutex.lock()
        }
        mutex.unlock()
    }

    /// Returns the first entry numbered above `number` to which this notification is delivered; nil if there is none. O(log n) plus the
    /// entries that are skipped. The caller holds `mutex`.
    private static func first(after number: UInt64, _ name: StringPointer, _ object: UnsafeRawPointer?) -> Observance? {
        var (low, high) = (0, list.count)
        while low < high {
            let middle = (low + high) / 2
            if list[middle].number <= number { low = middle + 1 } else { high = middle }
        }
        while low < list.count && !list[low].hears(name, object) { low += 1 }
        return low < list.count ? list[low] : nil
    }
}
