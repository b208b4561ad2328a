import CLinux
import CRunLoop

/// RLNotificationCenter: who wants to hear of what. There is one in a process, static data of C.
struct NotificationCenterStorage: ObjectStorage, ~Copyable {
    static var kind: Kind { .notificationCenter }

    var header: ObjectHeader
}

/// RLNotificationCallback.
public typealias NotificationCallback =
    @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?, OpaquePointer?, UnsafeRawPointer?, OpaquePointer?) -> Void

/// What the centre keeps: a list in the order in which observers were added.
enum Observances {
    private struct Observance: BitwiseCopyable {
        /// Ascending, never used again.
        let number: UInt64
        let observer: UnsafeRawPointer?
        let function: NotificationCallback
        /// nil: all names. Retained.
        let name: StringPointer?
        /// nil: all objects. Only compared.
        let object: UnsafeRawPointer?

        func hears(_ name: StringPointer, _ object: UnsafeRawPointer?) -> Bool {
            (self.object == nil || self.object == object) && (self.name?.equals(name) ?? true)
        }
    }

    private static let mutex = Mutex()
    /// Sorted by number. Guarded by `mutex`, as the next one.
    private nonisolated(unsafe) static var list = PlainList<Observance>()
    private nonisolated(unsafe) static var lastNumber: UInt64 = 0

    /// Around fork().
    static func lockBeforeFork() { mutex.lock() }

    /// After it, in parent and child.
    static func unlockAfterFork() { mutex.unlock() }

    /// False with ENOMEM. O(1). Any thread.
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

    /// Those of `observer` for this name (nil: any) and this object (nil: any). O(n). Any thread.
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

    /// Calls every observer that was there when it began and still is when its turn comes. O(n). Any thread, no lock held
    /// during the calls.
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

    /// Under `mutex`. O(log n) to where it was, then to the next that hears it.
    @inline(never)
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
