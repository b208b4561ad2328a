import CLinux
import CLinuxKit

/// The directories of a watch, which are found by inotify's number, and by their name and the directory above. Under the lock of the watch.
struct WatchedDirectories: ~Copyable {
    /// Two tables with open addressing: of half as many entries as slots, at most.
    private var byWatch = Table()
    private var byName = Table()
    private(set) var firstRoot: WatchedDirectoryPointer?
    private var unread: WatchedDirectoryPointer?
    private var postponed: WatchedDirectoryPointer?
    /// Numbers of watches that no directory needs any more.
    private var ended: UnsafeMutablePointer<Int32>?
    private var endedCount = 0
    private var endedCapacity = 0
    /// How many are watched.
    var watchCount: Int { byWatch.count }
    private var rootCount = 0
    /// Some are not watched.
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

    /// Frees what is not in a list of those that are to be read; that is done when the list is.
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

    /// False if out of memory.
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
        // Entries that lie behind the hole only because its slot was taken move up.
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

    /// The directory with inotify's number.
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

    /// A root; nil if out of memory.
    mutating func addRoot(_ path: UnsafePointer<CChar>) -> WatchedDirectoryPointer? {
        guard let root = WatchedDirectoryPointer.make(path) else { return nil }
        root.pointee.isRoot = true
        root.pointee.next = firstRoot
        firstRoot = root
        rootCount += 1
        return root
    }

    /// The root after another one.
    func root(after root: WatchedDirectoryPointer) -> WatchedDirectoryPointer? { root.pointee.next }

    /// A directory that is to be read; nil if out of memory.
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

    /// Takes a directory, with all below it, from where it is.
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

    /// Puts a directory that was detached to another place, or under another name. False if that place is in the directory itself, or out
    /// of memory: then it stays detached.
    mutating func move(_ directory: WatchedDirectoryPointer, to parent: WatchedDirectoryPointer, as name: UnsafePointer<CChar>) -> Bool {
        if parent.isInside(directory) || !Self.reserve(&byName, true) || !directory.setName(name) { return false }
        attach(directory, to: parent)
        return true
    }

    /// Sets inotify's number; false if out of memory.
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

    /// Frees a detached directory and all below it, and ends their watches.
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

    /// A directory needs its watch no more. The kernel has it until it is taken from here, and reports events of it that are ignored. If
    /// out of memory it stays.
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

    /// The number of a watch that the kernel is to remove; nil: none. A directory that has come back has its watch again.
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

    // MARK: those that are to be read

    mutating func markUnread(_ directory: WatchedDirectoryPointer) {
        if directory.pointee.isUnread { return }
        directory.pointee.isUnread = true
        directory.pointee.nextUnread = unread
        unread = directory
    }

    /// All below a directory that are not watched and may be, after it has another path.
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

    /// Puts one that was just taken aside, until `endPostponing`.
    mutating func postpone(_ directory: WatchedDirectoryPointer) {
        directory.pointee.isUnread = true
        directory.pointee.nextUnread = postponed
        postponed = directory
    }

    /// What was put aside is to be read as well.
    mutating func endPostponing() {
        while let directory = postponed {
            postponed = directory.pointee.nextUnread
            directory.pointee.nextUnread = unread
            unread = directory
        }
    }

    /// The next one; nil if there is none.
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
