import CLinux
import CLinuxKit

/// A directory below a root, or a root, in memory of its own. Directories know each other by pointers and names, so a rename of one renames
/// all below it. Under the lock of its watch.
struct WatchedDirectory {
    /// Its name, or a root's path, and a 0. Stored right after this struct, or, if a longer name came later, in memory of their own.
    fileprivate(set) var name: UnsafeMutablePointer<CChar>
    /// nil: a root.
    var parent: WatchedDirectoryPointer?
    var firstChild: WatchedDirectoryPointer?
    var next: WatchedDirectoryPointer?
    var previous: WatchedDirectoryPointer?
    /// The next directory to be read.
    var nextUnread: WatchedDirectoryPointer?
    var identity = linux_identity()
    /// inotify's number; -1: none.
    var watch: Int32 = -1
    fileprivate(set) var nameLength: Int32
    var isRoot = false
    var state = State.new
    /// What the program is told when the directory is read.
    var tells = Tells.nothing
    /// Whether it is in the list of directories to be read.
    var isUnread = false
    /// Whether it has left the tree, so that only the list of directories to be read still refers to it.
    var isDropped = false
    /// How often in a row its path has led to nothing, or to another directory.
    var misses: UInt8 = 0
    /// How often it was scanned again because something below it was not where the tree has it, since a directory came to be in it.
    var repairs: UInt8 = 0
    /// How often the kernel's queue had been emptied when it was looked at.
    var lookedAt: UInt32 = 0
    /// The last event for a name in it, if that was a rename to that name, or from it to a place outside.
    var arrival = Arrival()

    /// What was renamed to a name in a directory. Hashes stand for names: a wrong guess means that more is told to be scanned.
    struct Arrival {
        /// 0: something else has happened since.
        var name: UInt32 = 0
        /// The name that it had before; or, if `name` is 0, of what has left the directory alone, 0 if something else has happened since.
        var oldName: UInt32 = 0
        /// The number of the directory that it came from; -1: it came from outside, or the kernel reported the two halves separately.
        var oldWatch: Int32 = -1
        /// How often the kernel's queue had been emptied.
        var drains: UInt32 = 0
        var isDirectory = false

        static func hash(_ name: UnsafePointer<CChar>) -> UInt32 {
            UInt32(truncatingIfNeeded: WatchedDirectories.hash(0, name)) | 1
        }
    }

    enum State: UInt8 {
        /// Not looked at yet.
        case new
        /// Watched, or the event of its removal is on its way.
        case seen
        /// Cannot be watched, and the program was told.
        case refused
        /// A root that was removed or renamed.
        case gone
        /// A root that is no directory.
        case file
    }

    /// In ascending order of what they say.
    enum Tells: UInt8 {
        case nothing
        /// What is found in it, and below it, as created.
        case created
        /// That it is to be scanned.
        case mustScan
    }
}

extension linux_identity {
    func isSame(as other: linux_identity) -> Bool { inode == other.inode && device == other.device }
}

typealias WatchedDirectoryPointer = UnsafeMutablePointer<WatchedDirectory>

extension WatchedDirectoryPointer {
    var name: UnsafeMutablePointer<CChar> { pointee.name }

    private var firstName: UnsafeMutablePointer<CChar> {
        (UnsafeMutableRawPointer(self) + MemoryLayout<WatchedDirectory>.stride).assumingMemoryBound(to: CChar.self)
    }

    /// A directory that is not in the tree yet; nil if out of memory.
    static func make(_ name: UnsafePointer<CChar>) -> WatchedDirectoryPointer? {
        let length = strlen(name)
        guard let memory = malloc(MemoryLayout<WatchedDirectory>.stride + length + 1) else { return nil }
        let directory = memory.bindMemory(to: WatchedDirectory.self, capacity: 1)
        directory.initialize(to: WatchedDirectory(name: directory.firstName, nameLength: Int32(length)))
        memcpy(directory.name, name, length + 1)
        return directory
    }

    func destroy() {
        if name != firstName { CLinux.free(name) }
        CLinux.free(self)
    }

    /// False if out of memory: then it has the old name.
    func setName(_ new: UnsafePointer<CChar>) -> Bool {
        let length = strlen(new)
        if length > Int(pointee.nameLength) {
            guard let memory = malloc(length + 1) else { return false }
            if name != firstName { CLinux.free(name) }
            pointee.name = memory.assumingMemoryBound(to: CChar.self)
        }
        memcpy(name, new, length + 1)
        pointee.nameLength = Int32(length)
        return true
    }

    /// The length of the path in bytes.
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

    /// Whether it is `other`, or below it.
    func isInside(_ other: WatchedDirectoryPointer) -> Bool {
        var here = self
        while here != other {
            guard let parent = here.pointee.parent else { return false }
            here = parent
        }
        return true
    }

    /// Makes the next reading tell the program at least `what`.
    func willTell(_ what: WatchedDirectory.Tells) {
        if what.rawValue > pointee.tells.rawValue { pointee.tells = what }
    }

    /// Changes may have been missed while the directory had no watch: unless reading it tells more, the program is told to scan it.
    func willTellOfGap() {
        if pointee.tells == .nothing { pointee.tells = .mustScan }
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

    /// Writes the path of something in the directory (or, if `name` is empty, its own) and a 0: `pathLength(of: name) + 1` bytes at
    /// `place`.
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
