import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit

// The roots of a watch: how they begin and end. The caller holds the watch's lock, except while a new watch examines its roots.

extension FileWatchPointer {
    /// Starts watching a root of a new watch. Throws if that is impossible.
    func lookAtRoot(_ root: WatchedDirectoryPointer) throws(SystemError) {
        guard let path = path(of: root, "") else { throw .make(ENAMETOOLONG) }
        _ = try checked(linux_identify_path(path, 1, &root.pointee.identity))
        let fd = linux_open_directory(path, 1)
        if fd >= 0 {
            linux_close(fd)
            pointee.directories.markUnread(root)
        } else if systemError == ENOTDIR {
            root.pointee.state = .file
            try watchFile(root, path)
        } else {
            throw .last
        }
        if root.pointee.state == .file { return }
        lookAtUnread()
        if root.pointee.watch < 0 { throw .last }
    }

    private func watchFile(_ root: WatchedDirectoryPointer, _ path: UnsafePointer<CChar>) throws(SystemError) {
        let watch = try checked(linux_watch_file(pointee.inotify, path))
        // Two roots that are the same file would share one watch.
        if pointee.directories.find(watch: watch) != nil { throw .make(EEXIST) }
        if !pointee.directories.setWatch(of: root, to: watch) { throw .make(ENOMEM) }
    }

    /// Watches a root that is a file in the new queue. Reports its removal if it was replaced or removed while it had no watch.
    func watchFileAgain(_ root: WatchedDirectoryPointer) {
        guard let path = path(of: root, "") else { return }
        var code: Int32 = 0
        do throws(SystemError) { try watchFile(root, path) } catch { code = error.number }
        if !isInPlace(root) { return endRoot(root, UInt(kRLFileWatchRemoved)) }
        let flag = code == 0 ? kRLFileWatchMustScan : kRLFileWatchNotWatched
        pointee.events.add(root, "", UInt(flag), isDirectory: false, error: code)
    }

    /// Handles an event for a root itself. For other directories, the parent's watch reports such events.
    func rootChanged(_ root: WatchedDirectoryPointer, _ event: linux_file_event) {
        if !root.pointee.isRoot || root.pointee.state == .gone { return }
        if event.mask & linux_in_move_self != 0 { return endRoot(root, UInt(kRLFileWatchRenamed)) }
        if event.mask & linux_in_delete_self != 0 { return endRoot(root, UInt(kRLFileWatchRemoved)) }
        // The file was renamed, unlinked, or lost a link, so its path may lead to another file that has replaced it.
        if event.mask & linux_in_attrib != 0 && root.pointee.state == .file && !isInPlace(root) {
            return endRoot(root, UInt(kRLFileWatchRemoved))
        }
        addContentEvents(root, event)
    }

    /// Reports, once, that a root is gone, and what that means for roots inside it. If it is inside another root, that one watches its
    /// directories from then on.
    func endRoot(_ root: WatchedDirectoryPointer, _ flag: UInt) {
        if root.pointee.state == .gone { return }
        pointee.events.add(root, "", flag | UInt(kRLFileWatchRootChanged), isDirectory: root.pointee.state != .file)
        pointee.events.forgetPaths()
        root.pointee.state = .gone
        pointee.directories.dropBelow(root)
        pointee.directories.endWatch(of: root)
        var next = pointee.directories.firstRoot
        while let here = next {
            next = pointee.directories.root(after: here)
            if here.pointee.state != .file { pointee.directories.markUnwatched(below: here) }
        }
        endRoots(at: "", in: root, flag)
    }

    /// Ends the roots at and below the entry `name` of a directory, or the directory itself if the name is empty, that are no longer where
    /// their paths lead. Called when that entry was removed, renamed or replaced. A root's own event may arrive too late, only when no
    /// process has it open, and none reports that a directory above it was renamed.
    func endRoots(at name: UnsafePointer<CChar>, in directory: WatchedDirectoryPointer, _ flag: UInt) {
        var next = pointee.directories.firstRoot
        while let root = next {
            next = pointee.directories.root(after: root)
            if root.pointee.state == .gone { continue }
            if let path = path(of: directory, name), linux_is_at_or_below(root.name, path) != 0, !isInPlace(root) { endRoot(root, flag) }
        }
    }

    /// Reports for each root that anything may have happened.
    func noteMustScan() {
        var root = pointee.directories.firstRoot
        while let here = root {
            if here.pointee.state != .gone {
                pointee.events.add(here, "", UInt(kRLFileWatchMustScan), isDirectory: here.pointee.state != .file)
            }
            root = pointee.directories.root(after: here)
        }
        pointee.events.forgetPaths()
    }
}
