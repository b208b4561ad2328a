import CLinux
import CRunLoop

/// RLNotificationCenter. There is one in a process, static data of C; its contents are `Observances`.
struct NotificationCenterStorage: ObjectStorage, ~Copyable {
    static var kind: Kind { .notificationCenter }

    var header: ObjectHeader
}

/// RLNotificationCallback.
public typealias NotificationCallback =
    @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?, OpaquePointer?, UnsafeRawPointer?, OpaquePointer?) -> Void

/// The observers of the notification centre, in the order in which they were added.
enum Observances {
    private struct Observance: BitwiseCopyable {
        /// Ascending in the order of adding; never reused.
        let number: UInt64
        let observer: UnsafeRawPointer?
        let function: NotificationCallback
        /// The name to observe, retained; nil: all names.
        let name: StringPointer?
        /// The object to observe, only compared; nil: all objects.
        let object: UnsafeRawPointer?

        /// Whether a notification with this name and object is for it.
        func hears(_ name: StringPointer, _ object: UnsafeRawPointer?) -> Bool {
            (self.object == nil || self.object == object) && (self.name?.equals(name) ?? true)
        }
    }

    private static let mutex = Mutex()
    /// Sorted by number. Guarded by `mutex`, as is `lastNumber`.
    private nonisolated(unsafe) static var list = PlainList<Observance>()
    private nonisolated(unsafe) static var lastNumber: UInt64 = 0

    /// Before fork(), so that the child finds the list consistent.
    static func lockBeforeFork() { mutex.lock() }

    /// In parent and child, after `lockBeforeFork`.
    static func unlockAfterFork() { mutex.unlock() }

    /// Adds an observer; false with ENOMEM. Amortized O(1). Any thread.
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

    /// Removes the entries of `observer` for this name (nil: all) and this object (nil: all). O(n). Any thread.
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

    /// Calls all observers that were there when the call began, except those that have been removed since. O(n). Any thread; no
    /// lock is held during the calls.
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

    /// The first entry numbered above `number` that hears this notification. O(log n) plus the observers that are skipped. Under `mutex`.
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
