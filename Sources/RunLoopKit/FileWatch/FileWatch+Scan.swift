import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit

// Reading and watching directories. The caller holds the watch's lock, except while a new watch examines its roots.
//
// A directory is watched before it is read, so that nothing created in between is missed, though it may be reported twice. Events lag
// behind the disk: a path may already lead to another directory. Therefore directories are examined once all pending events are read. A
// directory is opened, the open one is watched, and it is accepted only if its parent on the disk is the expected one. If not, events that
// explain this should follow, and it is tried again. If none arrive, the tree here is wrong, and that part of it is scanned again.

extension FileWatchPointer {
    var isRecursive: Bool { pointee.flags & UInt(kRLFileWatchNotRecursive) == 0 }

    /// Queues a directory that has appeared, so that it is watched and read; `what` is reported then. No effect if the watch is not
    /// recursive.
    func addDirectory(_ name: UnsafePointer<CChar>, to parent: WatchedDirectoryPointer, telling what: WatchedDirectory.Tells) {
        if !isRecursive { return }
        let known = pointee.directories.find(name, in: parent)
        guard let directory = known ?? pointee.directories.add(name, to: parent) else { return refuse(parent, name, ENOMEM) }
        // The parent has changed since it was last repaired, so it may be repaired again.
        parent.pointee.repairs = 0
        // A known directory was found by reading its parent, and may have been replaced since.
        directory.willTell(what)
        directory.pointee.misses = 0
        pointee.directories.markUnread(directory)
    }

    /// Forgets everything below a directory, reads it again, and reports that it must be scanned.
    func scanAgain(_ directory: WatchedDirectoryPointer) {
        pointee.directories.dropBelow(directory)
        directory.willTell(.mustScan)
        pointee.directories.markUnread(directory)
    }

    /// Examines all unread directories. Returns false if there were none, or if nothing can be watched until `readAgain` succeeds.
    @discardableResult
    func lookAtUnread() -> Bool {
        if pointee.inotify < 0 { return false }
        if pointee.retryAt != 0 && pointee.retryAt <= linux_monotonic_time() {
            pointee.retryAt = 0
            pointee.directories.endPostponing()
        }
        if !pointee.directories.hasUnread { return false }
        while let directory = pointee.directories.takeUnread() {
            if directory.pointee.state == .gone { continue }
            let error = look(at: directory)
            if error == 0 { continue }
            directory.pointee.misses += 1
            if directory.pointee.misses > 3 {
                repair(directory, error)
            } else {
                // Changes that happen until it is watched would go unreported.
                if directory.pointee.watch < 0 { directory.willTellOfGap() }
                pointee.directories.postpone(directory)
            }
        }
        if pointee.retryAt == 0 && pointee.directories.hasPostponed { pointee.retryAt = linux_monotonic_time() &+ FileWatch.retryInterval }
        return true
    }

    /// Returns the path of a directory, or of an entry in it; nil if it is too long for the kernel. Valid until the next call.
    func path(of directory: WatchedDirectoryPointer, _ name: UnsafePointer<CChar>) -> UnsafePointer<CChar>? {
        if directory.pathLength(of: name) >= Int(PATH_MAX) { return nil }
        let path = (pointee.buffer + FileWatch.bufferSize).assumingMemoryBound(to: CChar.self)
        directory.writePath(of: name, to: path)
        return UnsafePointer(path)
    }

    /// Returns the identity of what the disk has under a name in a directory or, if the name is empty, at the directory's own path; nil if
    /// there is nothing or it cannot be determined.
    func identity(of name: UnsafePointer<CChar>, in directory: WatchedDirectoryPointer) -> linux_identity? {
        var identity = linux_identity()
        let follows: Int32 = directory.pointee.isRoot && name.pointee == 0 ? 1 : 0
        guard let path = path(of: directory, name), linux_identify_path(path, follows, &identity) == 0 else { return nil }
        return identity
    }

    /// Whether the directory's path still leads to what it led to when it was last examined.
    func isInPlace(_ directory: WatchedDirectoryPointer) -> Bool {
        identity(of: "", in: directory)?.isSame(as: directory.pointee.identity) ?? false
    }

    /// Watches a directory and reads it. Returns 0, or an error if it cannot be read or is not where it should be, so that it has to be
    /// retried.
    private func look(at directory: WatchedDirectoryPointer) -> Int32 {
        guard let path = path(of: directory, "") else {
            refuse(directory, ENAMETOOLONG)
            return 0
        }
        let parent = directory.pointee.parent
        let fd = linux_open_directory(path, parent == nil ? 1 : 0)
        if fd < 0 {
            // Events will report that the directory is gone, or that another file has replaced it.
            let isGone = systemError == ENOENT || systemError == ENOTDIR || systemError == ELOOP
            if isGone && parent != nil { return ENOENT }
            if isGone && directory.pointee.state != .new {
                endRoot(directory, UInt(kRLFileWatchRemoved))
            } else {
                refuse(directory, systemError)
            }
            return 0
        }
        var identity = linux_identity()
        var above = linux_identity()
        let isKnown = linux_identify(fd, &identity, &above) == 0
        if let parent, isKnown, !above.isSame(as: parent.pointee.identity) {
            linux_close(fd)
            return ESTALE
        }
        if parent == nil && directory.pointee.state != .new && !identity.isSame(as: directory.pointee.identity) {
            linux_close(fd)
            endRoot(directory, UInt(kRLFileWatchRemoved))
            return 0
        }
        let watch = linux_watch_directory(pointee.inotify, fd, path, parent == nil ? 1 : 0)
        if watch < 0 {
            refuse(directory, systemError)
            preservingSystemError { linux_close(fd) }
            return 0
        }
        if !mayTake(directory, watch) {
            linux_close(fd)
            return EEXIST
        }
        directory.pointee.identity = identity
        directory.pointee.lookedAt = pointee.drains
        directory.pointee.state = .seen
        if !take(directory, watch) {
            preservingSystemError { linux_close(fd) }
            return 0
        }
        let error = read(directory, fd)
        if error == 0 { directory.pointee.misses = 0 }
        return error
    }

    /// Repairs the tree after a directory was repeatedly not where it should be, without an event that explains it.
    private func repair(_ directory: WatchedDirectoryPointer, _ error: Int32) {
        var wrong: WatchedDirectoryPointer?
        var above = directory.pointee.parent
        while let here = above {
            if !isInPlace(here) { wrong = here }
            above = here.pointee.parent
        }
        if let wrong, wrong.pointee.isRoot { return endRoot(wrong, UInt(kRLFileWatchRenamed)) }
        if let parent = wrong?.pointee.parent, parent.pointee.repairs < 8 {
            parent.pointee.repairs += 1
            return scanAgain(parent)
        }
        if wrong != nil || error != ENOENT { return refuse(directory, error) }
        pointee.events.add(directory, "", UInt(kRLFileWatchRemoved), isDirectory: true)
        pointee.directories.detach(directory)
        pointee.directories.drop(directory)
    }

    /// Whether a directory may have this watch: not if another directory has it and is still in place, or contains this one. Mounts can
    /// show one directory at two places, or below itself. If either is a root, `take` decides.
    private func mayTake(_ directory: WatchedDirectoryPointer, _ watch: Int32) -> Bool {
        guard let other = pointee.directories.find(watch: watch), other != directory else { return true }
        if directory.pointee.isRoot || other.pointee.isRoot { return true }
        return !directory.isInside(other) && !isInPlace(other)
    }

    /// Assigns a watch to a directory, taking it from another one if necessary. Returns false with errno if a client's root has that watch
    /// and reports its events, or if out of memory.
    private func take(_ directory: WatchedDirectoryPointer, _ watch: Int32) -> Bool {
        let other = pointee.directories.find(watch: watch)
        if other == directory { return true }
        if let other, other.pointee.isRoot {
            if directory.isInside(other) || isInPlace(other) {
                // One root is inside another, or one directory is named as two roots.
                if !isNamed(directory, other) { refuse(directory, EEXIST) }
                systemError = EEXIST
                return false
            }
            // A directory above that root was renamed.
            endRoot(other, UInt(kRLFileWatchRenamed))
        } else if let other {
            pointee.directories.setWatch(of: other, to: -1)
            pointee.directories.dropBelow(other)
            if directory.pointee.isRoot {
                if !isNamed(other, directory) { refuse(other, EEXIST) }
            } else {
                // `other` was moved here, and a queued event reports what is at its old path now.
                other.willTell(.mustScan)
                other.pointee.state = .new
                pointee.directories.markUnread(other)
            }
        }
        if directory.pointee.watch >= 0 {
            // `directory` had a watch already, so another directory was at its path before.
            directory.willTell(.mustScan)
            pointee.directories.dropBelow(directory)
            pointee.directories.endWatch(of: directory)
        }
        if pointee.directories.setWatch(of: directory, to: watch) { return true }
        refuse(directory, ENOMEM)
        return false
    }

    /// Whether the directory has the same path as this root, so that the root's events cover it.
    private func isNamed(_ directory: WatchedDirectoryPointer, _ root: WatchedDirectoryPointer) -> Bool {
        path(of: directory, "").map { strcmp($0, root.name) == 0 } ?? false
    }

    /// Reads an open directory and closes it. Returns 0, or an error; the directory then has to be read again, as what was not read is not
    /// watched.
    private func read(_ directory: WatchedDirectoryPointer, _ fd: Int32) -> Int32 {
        let what = directory.pointee.tells
        directory.pointee.tells = .nothing
        let error = readEntries(directory, fd, tells: what == .created)
        if error != 0 {
            directory.willTell(.mustScan)
        } else if what == .mustScan {
            noteMustScan(directory)
        }
        return error
    }

    /// Adds the subdirectories of an open directory to the tree, and closes it. With `tells`, reports each entry as created. Returns 0 or
    /// an error.
    private func readEntries(_ directory: WatchedDirectoryPointer, _ fd: Int32, tells: Bool) -> Int32 {
        if !tells && !isRecursive {
            linux_close(fd)
            return 0
        }
        guard let entries = fdopendir(fd) else {
            linux_close(fd)
            return ENOMEM
        }
        var entry = linux_entry()
        var result = linux_next_entry(entries, &entry)
        while result > 0 {
            let isDirectory = entry.isDirectory != 0
            if tells { pointee.events.add(directory, entry.name, UInt(kRLFileWatchCreated), isDirectory: isDirectory) }
            if isDirectory && isRecursive && pointee.directories.find(entry.name, in: directory) == nil {
                if let new = pointee.directories.add(entry.name, to: directory) {
                    if tells { new.willTell(.created) }
                    pointee.directories.markUnread(new)
                } else {
                    refuse(directory, entry.name, ENOMEM)
                }
            }
            result = linux_next_entry(entries, &entry)
        }
        let error = result < 0 ? systemError : 0
        closedir(entries)
        return error
    }

    func noteMustScan(_ directory: WatchedDirectoryPointer) {
        pointee.events.add(directory, "", UInt(kRLFileWatchMustScan), isDirectory: true)
    }

    /// Reports, once, that a directory is not watched, and stops watching it and everything below. Preserves errno.
    private func refuse(_ directory: WatchedDirectoryPointer, _ error: Int32) {
        let wasRefused = directory.pointee.state == .refused
        directory.pointee.state = .refused
        // The directory may have been watched until now, but nothing more in it is to be reported.
        pointee.directories.dropBelow(directory)
        preservingSystemError { pointee.directories.endWatch(of: directory) }
        if wasRefused { return }
        if directory.pointee.tells == .mustScan { preservingSystemError { noteMustScan(directory) } }
        refuse(directory, "", error)
    }

    private func refuse(_ directory: WatchedDirectoryPointer, _ name: UnsafePointer<CChar>, _ error: Int32) {
        preservingSystemError {
            _ = pointee.events.add(directory, name, UInt(kRLFileWatchNotWatched), isDirectory: true, error: error)
        }
    }
}
