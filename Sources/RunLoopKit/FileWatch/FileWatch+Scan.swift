import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit

// Reading directories, and watching them. Under the lock of the watch, but for a root of a new one.
//
// A directory is watched before it is read, so what comes to be in it meanwhile is told by the kernel, perhaps in addition. The kernel's
// events lie behind the state of the disk: a path may lead to another directory than the one that is meant. So a directory is opened,
// what is open is watched, and it counts only if the directory above it is the one that it should be in. Otherwise events are on their way
// that say what has happened, and it is looked at again.

extension FileWatchPointer {
    private var isRecursive: Bool { pointee.flags & UInt(kRLFileWatchNotRecursive) == 0 }

    /// A directory has come to be: it is watched and read, and what is in it is told.
    func addDirectory(_ name: UnsafePointer<CChar>, to parent: WatchedDirectoryPointer) {
        if !isRecursive { return }
        let known = pointee.directories.find(name, in: parent)
        guard let directory = known ?? pointee.directories.add(name, to: parent) else { return refuse(parent, name, ENOMEM) }
        // If it is known already, by reading the directory above, it may be another one by now.
        directory.pointee.tellsContents = true
        pointee.directories.markUnread(directory)
    }

    /// Begins to watch a root of a new watch. Throws if that is impossible.
    func lookAtRoot(_ root: WatchedDirectoryPointer) throws(SystemError) {
        guard let path = path(of: root) else { throw .make(ENAMETOOLONG) }
        let fd = linux_open_directory(path, 1)
        if fd >= 0 {
            linux_close(fd)
            pointee.directories.markUnread(root)
        } else if systemError == ENOTDIR {
            let watch = try checked(linux_watch_file(pointee.inotify, path))
            // Two roots that are one file have one watch.
            if pointee.directories.find(watch: watch) != nil { throw .make(EEXIST) }
            root.pointee.state = .file
            if !pointee.directories.setWatch(of: root, to: watch) { throw .make(ENOMEM) }
        } else {
            throw .last
        }
        if root.pointee.state == .file { return }
        lookAtUnread()
        if root.pointee.watch < 0 { throw .last }
    }

    /// Looks at all directories that are to be read.
    func lookAtUnread() {
        while let directory = pointee.directories.takeUnread() {
            if directory.pointee.state == .gone || look(at: directory) { continue }
            directory.pointee.misses += 1
            pointee.directories.postpone(directory)
        }
        pointee.retries = pointee.directories.endPostponing()
    }

    /// The directory's path, until the next call; nil if the kernel does not take paths of that length.
    private func path(of directory: WatchedDirectoryPointer) -> UnsafePointer<CChar>? {
        if directory.pathLength >= Int(PATH_MAX) { return nil }
        let path = (pointee.buffer + FileWatch.bufferSize).assumingMemoryBound(to: CChar.self)
        directory.writePath(of: "", to: path)
        return UnsafePointer(path)
    }

    /// Watches a directory and reads it. False if it is not where it should be: look again later.
    private func look(at directory: WatchedDirectoryPointer) -> Bool {
        guard let path = path(of: directory) else {
            refuse(directory, ENAMETOOLONG)
            return true
        }
        let parent = directory.pointee.parent
        let fd = linux_open_directory(path, parent == nil ? 1 : 0)
        if fd < 0 {
            // It is gone, or another file is there: that is told by events.
            let isGone = systemError == ENOENT || systemError == ENOTDIR || systemError == ELOOP
            if !isGone {
                refuse(directory, systemError)
            } else if directory.pointee.isRoot && directory.pointee.state != .new {
                endRoot(directory, UInt(kRLFileWatchRemoved))
            } else {
                directory.pointee.state = .seen
            }
            return true
        }
        var identity = linux_identity()
        var above = linux_identity()
        let isKnown = linux_identify(fd, &identity, &above) == 0
        if let parent, isKnown, directory.pointee.misses < 3,
            above.inode != parent.pointee.identity.inode || above.device != parent.pointee.identity.device
        {
            linux_close(fd)
            return false
        }
        let watch = linux_watch_directory(pointee.inotify, fd, path, parent == nil ? 1 : 0)
        if watch < 0 {
            refuse(directory, systemError)
            preservingSystemError { linux_close(fd) }
            return true
        }
        directory.pointee.identity = identity
        directory.pointee.misses = 0
        directory.pointee.state = .seen
        if take(directory, watch) { read(directory, fd) } else { preservingSystemError { linux_close(fd) } }
        return true
    }

    /// The directory has this watch; false if it is told of by another one.
    private func take(_ directory: WatchedDirectoryPointer, _ watch: Int32) -> Bool {
        let other = pointee.directories.find(watch: watch)
        if other == directory { return true }
        if let other {
            // A root below another root, or one that is named twice.
            if other.pointee.isRoot {
                systemError = EEXIST
                return false
            }
            pointee.directories.setWatch(of: other, to: -1)
            pointee.directories.dropBelow(other, pointee.inotify)
            // It is elsewhere by now, as a rule; but a directory may be mounted at two places, which have one watch.
            other.pointee.losses &+= 1
            if !directory.pointee.isRoot && other.pointee.losses < 8 {
                pointee.events.add(other, "", UInt(kRLFileWatchMustScan), isDirectory: true)
                other.pointee.state = .new
                pointee.directories.markUnread(other)
            }
        }
        if directory.pointee.watch >= 0 {
            // Another directory was here.
            pointee.directories.dropBelow(directory, pointee.inotify)
            pointee.directories.endWatch(of: directory, pointee.inotify)
        }
        if pointee.directories.setWatch(of: directory, to: watch) { return true }
        refuse(directory, ENOMEM)
        return false
    }

    /// Reads an open directory, which this closes.
    private func read(_ directory: WatchedDirectoryPointer, _ fd: Int32) {
        let tells = directory.pointee.tellsContents
        if !tells && !isRecursive {
            linux_close(fd)
            return
        }
        guard let entries = fdopendir(fd) else {
            linux_close(fd)
            return noteUnreadable(directory)
        }
        var entry = linux_entry()
        var result = linux_next_entry(entries, &entry)
        while result > 0 {
            let isDirectory = entry.isDirectory != 0
            if tells { pointee.events.add(directory, entry.name, UInt(kRLFileWatchCreated), isDirectory: isDirectory) }
            if isDirectory && isRecursive && pointee.directories.find(entry.name, in: directory) == nil {
                if let new = pointee.directories.add(entry.name, to: directory) {
                    new.pointee.tellsContents = tells
                    pointee.directories.markUnread(new)
                } else {
                    refuse(directory, entry.name, ENOMEM)
                }
            }
            result = linux_next_entry(entries, &entry)
        }
        if result < 0 { noteUnreadable(directory) }
        closedir(entries)
    }

    private func noteUnreadable(_ directory: WatchedDirectoryPointer) {
        pointee.events.add(directory, "", UInt(kRLFileWatchMustScan), isDirectory: true)
    }

    /// A directory is not watched: told once. Leaves errno as it was.
    private func refuse(_ directory: WatchedDirectoryPointer, _ error: Int32) {
        let wasRefused = directory.pointee.state == .refused
        directory.pointee.state = .refused
        if !wasRefused { refuse(directory, "", error) }
    }

    private func refuse(_ directory: WatchedDirectoryPointer, _ name: UnsafePointer<CChar>, _ error: Int32) {
        preservingSystemError {
            _ = pointee.events.add(directory, name, UInt(kRLFileWatchNotWatched), isDirectory: true, error: error)
        }
    }
}
