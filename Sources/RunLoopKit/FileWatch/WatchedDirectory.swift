import CLinux
import CLinuxKit

/// A root or a directory below one, in its own allocation. Directories refer to each other by pointers and store only their own names, so
/// renaming one renames everything below it. Guarded by the watch's lock.
struct WatchedDirectory {
    /// The name, or a root's path, with a terminating 0. Stored right after this struct; in a separate allocation after a rename to a
    /// longer name.
    fileprivate(set) var name: UnsafeMutablePointer<CChar>
    /// The parent directory; nil for a root.
    var parent: WatchedDirectoryPointer?
    var firstChild: WatchedDirectoryPointer?
    var next: WatchedDirectoryPointer?
    var previous: WatchedDirectoryPointer?
    /// The next directory to be read.
    var nextUnread: WatchedDirectoryPointer?
    var identity = linux_identity()
    /// The inotify watch descriptor; -1: none.
    var watch: Int32 = -1
    fileprivate(set) var nameLength: Int32
    var isRoot = false
    var state = State.new
    /// What is reported when the directory is read.
    var tells = Tells.nothing
    /// Whether it is in a list of directories to be read.
    var isUnread = false
    /// Whether it was dropped from the tree, so that only a list of directories to be read still refers to it.
    var isDropped = false
    /// How often in a row its path has led to nothing, or to another directory.
    var misses: UInt8 = 0
    /// How often it was scanned again because something below it was not where the tree has it, since a directory last appeared in it.
    var repairs: UInt8 = 0
    /// The value of the watch's `drains` when it was last examined.
    var lookedAt: UInt32 = 0
    /// The latest event for a name in it, if that was a rename to the name, or from the name out of the roots.
    var arrival = Arrival()

    /// A rename into a directory, or from it out of the roots. Names are stored as hashes; a collision only causes more to be reported as
    /// kRLFileWatchMustScan.
    struct Arrival {
        /// The new name; 0 if something else has happened since.
        var name: UInt32 = 0
        /// The name that it had before. If `name` is 0: the name of the entry that left the directory for a place outside, or 0 if
        /// something else has happened since.
        var oldName: UInt32 = 0
        /// The watch descriptor of the directory that it came from; -1: it came from outside, or the kernel reported the two halves
        /// separately.
        var oldWatch: Int32 = -1
        /// The value of the watch's `drains` at the time.
        var drains: UInt32 = 0
        var isDirectory = false

        static func hash(_ name: UnsafePointer<CChar>) -> UInt32 {
            UInt32(truncatingIfNeeded: WatchedDirectories.hash(0, name)) | 1
        }
    }

    enum State: UInt8 {
        /// Not examined yet.
        case new
        /// Watched, or the event for its removal is still queued.
        case seen
        /// Cannot be watched, which was reported.
        case refused
        /// A root that was removed or renamed.
        case gone
        /// A root that is not a directory.
        case file
    }

    /// What is reported when a directory is read, in ascending order of urgency.
    enum Tells: UInt8 {
        case nothing
        /// Everything in it and below it, as created.
        case created
        /// That the directory must be scanned.
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

    /// Creates a directory that is not in the tree yet; nil if out of memory.
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

    /// Sets the name. Returns false if out of memory; the old name remains then.
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

    /// The length of the directory's path in bytes.
    var pathLength: Int {
        var length = Int(pointee.nameLength)
        var directory = pointee.parent
        while let here = directory {
            // The path of the root directory already ends with a slash.
            length += Int(here.pointee.nameLength) + (here.isSlash ? 0 : 1)
            directory = here.pointee.parent
        }
        return length
    }

    /// Whether this directory is `other` or is below it.
    func isInside(_ other: WatchedDirectoryPointer) -> Bool {
        var here = self
        while here != other {
            guard let parent = here.pointee.parent else { return false }
            here = parent
        }
        return true
    }

    /// Makes the next read of the directory report at least `what`.
    func willTell(_ what: WatchedDirectory.Tells) {
        if what.rawValue > pointee.tells.rawValue { pointee.tells = what }
    }

    /// Records that changes may have been missed while the directory had no watch: unless reading it reports more, that it must be scanned.
    func willTellOfGap() {
        if pointee.tells == .nothing { pointee.tells = .mustScan }
    }

    var isSlash: Bool { pointee.isRoot && pointee.nameLength == 1 }

    /// Writes the directory's path, without a terminating 0, so that it ends before `end`. Returns where it begins.
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

    /// Returns the length in bytes of the path of an entry in the directory or, if the name is empty, of the directory's own.
    func pathLength(of name: UnsafePointer<CChar>) -> Int {
        let length = strlen(name)
        return length == 0 ? pathLength : pathLength + length + (isSlash ? 0 : 1)
    }

    /// Writes the path of an entry in the directory (or, if `name` is empty, its own) and a terminating 0: `pathLength(of: name) + 1` bytes
    /// at `place`.
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
