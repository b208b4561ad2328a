import CLinux
import CLinuxKit

/// The tree of a watch's directories. They are found by inotify's watch descriptor, and by parent and name. Guarded by the watch's lock.
struct WatchedDirectories: ~Copyable {
    /// Two open-addressing hash tables, at most half full.
    private var byWatch = Table()
    private var byName = Table()
    private(set) var firstRoot: WatchedDirectoryPointer?
    private var unread: WatchedDirectoryPointer?
    private var postponed: WatchedDirectoryPointer?
    /// Watch descriptors that no directory needs, still to be removed from the kernel.
    private var ended: UnsafeMutablePointer<Int32>?
    private var endedCount = 0
    private var endedCapacity = 0
    /// The number of watched directories, and of roots that are watched files.
    var watchCount: Int { byWatch.count }
    private var rootCount = 0
    /// Whether at least one directory or root is not watched.
    private var hasUnwatched: Bool { byName.count + rootCount > byWatch.count }

    private struct Table {
        var slots: UnsafeMutablePointer<WatchedDirectoryPointer?>?
        var capacity = 0
        var count = 0
    }

    deinit {
        var root = firstRoot
        while let here = root {
            root = here.pointee.next
            Self.freeAll(here)
        }
        Self.freeList(unread)
        Self.freeList(postponed)
        free(byWatch.slots)
        free(byName.slots)
        free(ended)
    }

    private static func freeList(_ first: WatchedDirectoryPointer?) {
        var left = first
        while let here = left {
            left = here.pointee.nextUnread
            here.destroy()
        }
    }

    /// Frees a directory and everything below it, except for directories in a list to be read, which are freed with that list.
    private static func freeAll(_ top: WatchedDirectoryPointer) {
        var here = top
        while true {
            while let child = here.pointee.firstChild { here = child }
            let parent = here.pointee.parent
            let next = here.pointee.next
            let isTop = here == top
            if here.pointee.isUnread { here.pointee.isDropped = true } else { here.destroy() }
            if isTop { return }
            parent.unsafelyUnwrapped.pointee.firstChild = next
            here = parent.unsafelyUnwrapped
        }
    }

    // MARK: tables

    private static func hash(_ watch: Int32) -> Int { Int(UInt32(bitPattern: watch) &* 2_654_435_761) }

    private static func hash(_ parent: WatchedDirectoryPointer, _ name: UnsafePointer<CChar>) -> Int {
        hash(UInt64(UInt(bitPattern: parent)), name)
    }

    static func hash(_ number: UInt64, _ name: UnsafePointer<CChar>) -> Int {
        var hash = number &* 0x9E37_79B9_7F4A_7C15
        var next = name
        while next.pointee != 0 {
            hash = (hash ^ UInt64(UInt8(bitPattern: next.pointee))) &* 0x0000_0100_0000_01B3
            next += 1
        }
        return Int(truncatingIfNeeded: (hash ^ hash >> 29) & 0x7FFF_FFFF)
    }

    private static func hash(_ directory: WatchedDirectoryPointer, _ isByName: Bool) -> Int {
        isByName ? hash(directory.pointee.parent.unsafelyUnwrapped, directory.name) : hash(directory.pointee.watch)
    }

    /// Makes room for another entry. Returns false if out of memory.
    private static func reserve(_ table: inout Table, _ isByName: Bool) -> Bool {
        if (table.count + 1) * 2 <= table.capacity { return true }
        let capacity = max(table.capacity * 2, 16)
        guard let memory = calloc(capacity, MemoryLayout<WatchedDirectoryPointer?>.stride) else { return false }
        let old = table
        table = Table(slots: memory.assumingMemoryBound(to: WatchedDirectoryPointer?.self), capacity: capacity)
        for index in 0..<old.capacity { if let directory = old.slots.unsafelyUnwrapped[index] { insert(directory, &table, isByName) } }
        free(old.slots)
        return true
    }

    private static func insert(_ directory: WatchedDirectoryPointer, _ table: inout Table, _ isByName: Bool) {
        let slots = table.slots.unsafelyUnwrapped
        var index = hash(directory, isByName) & (table.capacity - 1)
        while slots[index] != nil { index = (index + 1) & (table.capacity - 1) }
        slots[index] = directory
        table.count += 1
    }

    private static func remove(_ directory: WatchedDirectoryPointer, _ table: inout Table, _ isByName: Bool) {
        guard let slots = table.slots else { return }
        let mask = table.capacity - 1
        var hole = hash(directory, isByName) & mask
        while let other = slots[hole], other != directory { hole = (hole + 1) & mask }
        if slots[hole] == nil { return }
        table.count -= 1
        // Entries that were displaced past the hole move up into it.
        var index = hole
        while true {
            index = (index + 1) & mask
            guard let other = slots[index] else { break }
            let wanted = hash(other, isByName) & mask
            if (index - wanted) & mask >= (index - hole) & mask {
                slots[hole] = other
                hole = index
            }
        }
        slots[hole] = nil
    }

    /// Returns the directory with this watch descriptor; nil if there is none. O(1) on average.
    func find(watch: Int32) -> WatchedDirectoryPointer? {
        guard let slots = byWatch.slots else { return nil }
        var index = Self.hash(watch) & (byWatch.capacity - 1)
        while let directory = slots[index] {
            if directory.pointee.watch == watch { return directory }
            index = (index + 1) & (byWatch.capacity - 1)
        }
        return nil
    }

    func find(_ name: UnsafePointer<CChar>, in parent: WatchedDirectoryPointer) -> WatchedDirectoryPointer? {
        guard let slots = byName.slots else { return nil }
        var index = Self.hash(parent, name) & (byName.capacity - 1)
        while let directory = slots[index] {
            if directory.pointee.parent == parent && strcmp(directory.name, name) == 0 { return directory }
            index = (index + 1) & (byName.capacity - 1)
        }
        return nil
    }

    // MARK: the tree

    /// Adds a root; nil if out of memory.
    mutating func addRoot(_ path: UnsafePointer<CChar>) -> WatchedDirectoryPointer? {
        guard let root = WatchedDirectoryPointer.make(path) else { return nil }
        root.pointee.isRoot = true
        root.pointee.next = firstRoot
        firstRoot = root
        rootCount += 1
        return root
    }

    /// Returns the root after another one; nil after the last.
    func root(after root: WatchedDirectoryPointer) -> WatchedDirectoryPointer? { root.pointee.next }

    /// Adds a directory to the tree; nil if out of memory. The caller marks it as unread.
    mutating func add(_ name: UnsafePointer<CChar>, to parent: WatchedDirectoryPointer) -> WatchedDirectoryPointer? {
        guard Self.reserve(&byName, true), let directory = WatchedDirectoryPointer.make(name) else { return nil }
        attach(directory, to: parent)
        return directory
    }

    private mutating func attach(_ directory: WatchedDirectoryPointer, to parent: WatchedDirectoryPointer) {
        directory.pointee.parent = parent
        directory.pointee.previous = nil
        directory.pointee.next = parent.pointee.firstChild
        parent.pointee.firstChild?.pointee.previous = directory
        parent.pointee.firstChild = directory
        Self.insert(directory, &byName, true)
    }

    /// Removes a directory, with everything below it, from the tree.
    mutating func detach(_ directory: WatchedDirectoryPointer) {
        guard let parent = directory.pointee.parent else { return }
        Self.remove(directory, &byName, true)
        if parent.pointee.firstChild == directory { parent.pointee.firstChild = directory.pointee.next }
        directory.pointee.previous?.pointee.next = directory.pointee.next
        directory.pointee.next?.pointee.previous = directory.pointee.previous
        directory.pointee.parent = nil
        directory.pointee.next = nil
        directory.pointee.previous = nil
    }

    /// Attaches a detached directory at another place or under another name. Returns false, and leaves it detached, if that place is inside
    /// the directory itself, or if out of memory.
    mutating func move(_ directory: WatchedDirectoryPointer, to parent: WatchedDirectoryPointer, as name: UnsafePointer<CChar>) -> Bool {
        if parent.isInside(directory) || !Self.reserve(&byName, true) || !directory.setName(name) { return false }
        attach(directory, to: parent)
        return true
    }

    /// Sets a directory's watch descriptor; -1 for none. Returns false if out of memory; it has none then.
    @discardableResult
    mutating func setWatch(of directory: WatchedDirectoryPointer, to watch: Int32) -> Bool {
        if directory.pointee.watch >= 0 { Self.remove(directory, &byWatch, false) }
        directory.pointee.watch = -1
        if watch < 0 { return true }
        guard Self.reserve(&byWatch, false) else { return false }
        directory.pointee.watch = watch
        Self.insert(directory, &byWatch, false)
        return true
    }

    /// Frees a detached directory and everything below it, and ends their watches. Unread directories are freed when they are taken from
    /// their list.
    mutating func drop(_ top: WatchedDirectoryPointer) {
        dropBelow(top)
        endWatch(of: top)
        if top.pointee.isUnread { top.pointee.isDropped = true } else { top.destroy() }
    }

    mutating func dropBelow(_ top: WatchedDirectoryPointer) {
        while var here = top.pointee.firstChild {
            while let child = here.pointee.firstChild { here = child }
            detach(here)
            endWatch(of: here)
            if here.pointee.isUnread { here.pointee.isDropped = true } else { here.destroy() }
        }
    }

    // MARK: watches that have ended

    /// Ends a directory's watch. The kernel keeps it until `takeEnded` returns it; its events are ignored meanwhile. If out of memory, it
    /// stays in the kernel.
    mutating func endWatch(of directory: WatchedDirectoryPointer) {
        let watch = directory.pointee.watch
        if watch < 0 { return }
        setWatch(of: directory, to: -1)
        if endedCount == endedCapacity {
            let capacity = max(endedCapacity * 2, 16)
            guard let memory = realloc(ended, capacity * MemoryLayout<Int32>.stride) else { return }
            ended = memory.assumingMemoryBound(to: Int32.self)
            endedCapacity = capacity
        }
        ended.unsafelyUnwrapped[endedCount] = watch
        endedCount += 1
    }

    /// Returns a watch descriptor for the caller to remove from the kernel; nil if there is none. Skips a watch that a directory has again.
    mutating func takeEnded() -> Int32? {
        while endedCount > 0 {
            endedCount -= 1
            let watch = ended.unsafelyUnwrapped[endedCount]
            if find(watch: watch) == nil { return watch }
        }
        forgetEnded()
        return nil
    }

    mutating func forgetEnded() {
        free(ended)
        ended = nil
        endedCount = 0
        endedCapacity = 0
    }

    // MARK: directories to be read

    mutating func markUnread(_ directory: WatchedDirectoryPointer) {
        if directory.pointee.isUnread { return }
        directory.pointee.isUnread = true
        directory.pointee.nextUnread = unread
        unread = directory
    }

    /// Marks as unread a directory and everything below it, as far as it has no watch: a change of paths or roots may have made one
    /// possible.
    mutating func markUnwatched(below top: WatchedDirectoryPointer) {
        if !hasUnwatched { return }
        var here = top
        while true {
            if here.pointee.watch < 0 && here.pointee.state != .gone {
                here.pointee.state = .new
                here.pointee.misses = 0
                here.willTellOfGap()
                markUnread(here)
            }
            if let child = here.pointee.firstChild {
                here = child
                continue
            }
            while here != top && here.pointee.next == nil { here = here.pointee.parent.unsafelyUnwrapped }
            if here == top { return }
            here = here.pointee.next.unsafelyUnwrapped
        }
    }

    var hasUnread: Bool { unread != nil }
    var hasPostponed: Bool { postponed != nil }

    /// Sets aside a directory that was just taken, until `endPostponing`.
    mutating func postpone(_ directory: WatchedDirectoryPointer) {
        directory.pointee.isUnread = true
        directory.pointee.nextUnread = postponed
        postponed = directory
    }

    /// Moves the directories that were set aside back to the unread list.
    mutating func endPostponing() {
        while let directory = postponed {
            postponed = directory.pointee.nextUnread
            directory.pointee.nextUnread = unread
            unread = directory
        }
    }

    /// Removes and returns the next unread directory; nil if there is none. Frees dropped ones on the way.
    mutating func takeUnread() -> WatchedDirectoryPointer? {
        while let directory = unread {
            unread = directory.pointee.nextUnread
            directory.pointee.isUnread = false
            if !directory.pointee.isDropped { return directory }
            directory.destroy()
        }
        return nil
    }
}
