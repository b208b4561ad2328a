import CLinux
import CLinuxKit

/// A directory below a root, or a root, in memory of its own with its name behind it. Directories know each other by pointers and names, so
/// a rename of one renames all below it. Under the lock of its watch.
struct WatchedDirectory {
    /// nil: a root.
    var parent: WatchedDirectoryPointer?
    var firstChild: WatchedDirectoryPointer?
    var next: WatchedDirectoryPointer?
    var previous: WatchedDirectoryPointer?
    /// The next of those that are to be read.
    var nextUnread: WatchedDirectoryPointer?
    var identity = linux_identity()
    /// inotify's number; -1: none.
    var watch: Int32 = -1
    var nameLength: Int32
    var isRoot = false
    var state = State.new
    /// What is found in it is told as created.
    var tellsContents = false
    /// It is in the list of those that are to be read.
    var isUnread = false
    /// It is gone; only that list has it.
    var isDropped = false
    /// How often it was found to be elsewhere than its path says.
    var misses: UInt8 = 0
    /// How often its watch turned out to be another directory's.
    var losses: UInt8 = 0

    enum State: UInt8 {
        /// It was not looked at.
        case new
        /// It is watched, or its removal is on its way.
        case seen
        /// It cannot be watched, and that was told.
        case refused
        /// A root that was removed or renamed.
        case gone
        /// A root that is no directory.
        case file
    }
}

typealias WatchedDirectoryPointer = UnsafeMutablePointer<WatchedDirectory>

extension WatchedDirectoryPointer {
    /// The bytes of its name; of a root, of its path. A 0 follows.
    var name: UnsafeMutablePointer<CChar> {
        (UnsafeMutableRawPointer(self) + MemoryLayout<WatchedDirectory>.stride).assumingMemoryBound(to: CChar.self)
    }

    /// One that belongs nowhere; nil if out of memory.
    static func make(_ name: UnsafePointer<CChar>) -> WatchedDirectoryPointer? {
        let length = strlen(name)
        guard let memory = malloc(MemoryLayout<WatchedDirectory>.stride + length + 1) else { return nil }
        let directory = memory.bindMemory(to: WatchedDirectory.self, capacity: 1)
        directory.initialize(to: WatchedDirectory(nameLength: Int32(length)))
        memcpy(directory.name, name, length + 1)
        return directory
    }

    /// How many bytes the path has.
    var pathLength: Int {
        var length = Int(pointee.nameLength)
        var directory = pointee.parent
        while let here = directory {
            // The root directory's path ends with the slash.
            length += Int(here.pointee.nameLength) + (here.isSlash ? 0 : 1)
            directory = here.pointee.parent
        }
        return length
    }

    var isSlash: Bool { pointee.isRoot && pointee.nameLength == 1 }

    /// Writes the path, without a 0, so that it ends before `end`. Returns where it begins.
    @discardableResult
    func writePath(endingAt end: UnsafeMutablePointer<CChar>) -> UnsafeMutablePointer<CChar> {
        var start = end
        var directory: WatchedDirectoryPointer? = self
        while let here = directory {
            if here != self && !here.isSlash {
                start -= 1
                start.pointee = 47
            }
            if here != self && here.isSlash {
                start -= 1
                start.pointee = 47
            } else {
                start -= Int(here.pointee.nameLength)
                memcpy(start, here.name, Int(here.pointee.nameLength))
            }
            directory = here.pointee.parent
        }
        return start
    }

    /// How many bytes the path of something in it has, or, if the name is empty, its own.
    func pathLength(of name: UnsafePointer<CChar>) -> Int {
        let length = strlen(name)
        return length == 0 ? pathLength : pathLength + length + (isSlash ? 0 : 1)
    }

    /// Writes that path and a 0.
    func writePath(of name: UnsafePointer<CChar>, to place: UnsafeMutablePointer<CChar>) {
        let own = pathLength
        writePath(endingAt: place + own)
        var end = place + own
        let length = strlen(name)
        if length > 0 && !isSlash {
            end.pointee = 47
            end += 1
        }
        memcpy(end, name, length)
        end[length] = 0
    }
}
