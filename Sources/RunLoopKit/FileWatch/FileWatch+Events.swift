import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit

// What the kernel has told: under the lock of the watch.

extension FileWatchPointer {
    /// Takes events from the kernel, as many as a pass may take.
    func readEvents() {
        let bytes = pointee.buffer
        var kept = 0
        var reads = 0
        repeat {
            let count = linux_read_nonblocking(pointee.inotify, bytes + kept, FileWatch.bufferSize - kept)
            let length = kept + max(count, 0)
            let mayWait = count > 0 && length <= FileWatch.bufferSize / 2
            let handled = handle(bytes.assumingMemoryBound(to: CChar.self), length, mayWait: mayWait)
            kept = length - handled
            memmove(bytes, bytes + handled, kept)
            reads += 1
            if count <= 0 { break }
        } while reads < 8 || kept > 0
        if pointee.hasOverflowed { readAgain() }
    }

    /// Handles events, and returns how many bytes they had: not all if the second half of a rename may follow what was read.
    private func handle(_ bytes: UnsafeMutablePointer<CChar>, _ length: Int, mayWait: Bool) -> Int {
        var event = linux_file_event()
        var offset = 0
        while offset < length {
            let start = offset
            offset = linux_file_event_at(bytes, start, &event)
            if event.mask & linux_in_moved_from != 0 {
                let other = secondHalf(of: event, bytes, offset, length)
                if other == nil && mayWait { return start }
                renamed(event, to: other)
            } else if event.mask & linux_in_overflow != 0 {
                pointee.hasOverflowed = true
            } else if let directory = pointee.directories.find(watch: event.watch) {
                if event.mask & (linux_in_ignored | linux_in_unmount) != 0 {
                    watchEnded(directory, event)
                } else if event.name.pointee == 0 {
                    rootChanged(directory, event)
                } else {
                    entryChanged(directory, event)
                }
            }
        }
        return length
    }

    /// The other half of a rename, which is taken out of what was read. They follow each other, or nearly so.
    private func secondHalf(
        of first: linux_file_event, _ bytes: UnsafeMutablePointer<CChar>, _ offset: Int, _ length: Int
    ) -> linux_file_event? {
        var event = linux_file_event()
        var next = offset
        while next < length {
            let start = next
            next = linux_file_event_at(bytes, start, &event)
            if event.mask & linux_in_moved_to != 0 && event.cookie == first.cookie {
                linux_forget_file_event(bytes, start)
                return event
            }
        }
        return nil
    }

    /// The kernel has taken the watch away, or is about to.
    private func watchEnded(_ directory: WatchedDirectoryPointer, _ event: linux_file_event) {
        if event.mask & linux_in_unmount != 0 {
            if directory.pointee.parent.map({ $0.pointee.identity.device != directory.pointee.identity.device }) ?? true {
                pointee.events.add(directory, "", UInt(kRLFileWatchUnmounted), isDirectory: directory.pointee.state != .file)
                pointee.directories.dropBelow(directory, pointee.inotify)
                directory.pointee.tellsContents = true
            }
            return
        }
        pointee.directories.setWatch(of: directory, to: -1)
        if directory.pointee.isRoot {
            endRoot(directory, UInt(kRLFileWatchRemoved))
        } else {
            // It was removed, which is told next, or what was mounted there is gone.
            pointee.directories.markUnread(directory)
        }
    }

    /// An event of a watch itself: of directories that are no roots the one above tells.
    private func rootChanged(_ root: WatchedDirectoryPointer, _ event: linux_file_event) {
        if !root.pointee.isRoot || root.pointee.state == .gone { return }
        if event.mask & linux_in_move_self != 0 { return endRoot(root, UInt(kRLFileWatchRenamed)) }
        if event.mask & linux_in_delete_self != 0 { return endRoot(root, UInt(kRLFileWatchRemoved)) }
        addContentEvents(root, event)
    }

    /// A root is gone: told once.
    func endRoot(_ root: WatchedDirectoryPointer, _ flag: UInt) {
        if root.pointee.state == .gone { return }
        pointee.events.add(root, "", flag | UInt(kRLFileWatchRootChanged), isDirectory: root.pointee.state != .file)
        pointee.events.forgetPaths()
        root.pointee.state = .gone
        pointee.directories.dropBelow(root, pointee.inotify)
        pointee.directories.endWatch(of: root, pointee.inotify)
    }

    private func addContentEvents(_ directory: WatchedDirectoryPointer, _ event: linux_file_event) {
        var flags: UInt = 0
        if event.mask & linux_in_modify != 0 { flags |= UInt(kRLFileWatchModified) }
        if event.mask & linux_in_attrib != 0 { flags |= UInt(kRLFileWatchAttributes) }
        if event.mask & linux_in_close_write != 0 { flags |= UInt(kRLFileWatchClosed) }
        if flags != 0 { pointee.events.add(directory, event.name, flags, isDirectory: event.mask & linux_in_directory != 0) }
    }

    /// Something has happened to an entry of a directory.
    private func entryChanged(_ directory: WatchedDirectoryPointer, _ event: linux_file_event) {
        let isDirectory = event.mask & linux_in_directory != 0
        if event.mask & linux_in_moved_to != 0 { return cameFromOutside(event) }
        if event.mask & linux_in_create != 0 {
            pointee.events.add(directory, event.name, UInt(kRLFileWatchCreated), isDirectory: isDirectory)
            if isDirectory { addDirectory(event.name, to: directory) }
        } else if event.mask & linux_in_delete != 0 {
            pointee.events.add(directory, event.name, UInt(kRLFileWatchRemoved), isDirectory: isDirectory)
            drop(event.name, in: directory)
        } else {
            addContentEvents(directory, event)
        }
    }

    private func drop(_ name: UnsafePointer<CChar>, in directory: WatchedDirectoryPointer) {
        guard let old = pointee.directories.find(name, in: directory) else { return }
        pointee.directories.detach(old)
        pointee.directories.drop(old, pointee.inotify)
    }

    /// Something was renamed, to what the other half says, or to a place outside.
    private func renamed(_ from: linux_file_event, to other: linux_file_event?) {
        let isDirectory = from.mask & linux_in_directory != 0
        guard let old = pointee.directories.find(watch: from.watch) else {
            if let other { return cameFromOutside(other) }
            return
        }
        let index = pointee.events.add(old, from.name, UInt(kRLFileWatchRemoved | kRLFileWatchRenamed), isDirectory: isDirectory)
        guard let other, let new = pointee.directories.find(watch: other.watch) else {
            drop(from.name, in: old)
            return pointee.events.forgetPaths()
        }
        if let index { pointee.events.rename(index, to: new, other.name) }
        // What it has replaced: an empty directory.
        drop(other.name, in: new)
        guard let moved = pointee.directories.find(from.name, in: old) else {
            if isDirectory { addDirectory(other.name, to: new) }
            return
        }
        pointee.directories.detach(moved)
        if let there = pointee.directories.move(moved, to: new, as: other.name) {
            pointee.directories.markUnwatched(below: there)
        } else {
            pointee.directories.drop(moved, pointee.inotify)
            pointee.events.isLost = true
        }
    }

    private func cameFromOutside(_ event: linux_file_event) {
        guard let directory = pointee.directories.find(watch: event.watch) else { return }
        let isDirectory = event.mask & linux_in_directory != 0
        drop(event.name, in: directory)
        pointee.events.add(directory, event.name, UInt(kRLFileWatchCreated | kRLFileWatchRenamed), isDirectory: isDirectory)
        if isDirectory { addDirectory(event.name, to: directory) }
    }

    /// The kernel could not keep all events: begins anew with the roots, and tells so.
    private func readAgain() {
        pointee.hasOverflowed = false
        noteMustScan()
        var root = pointee.directories.firstRoot
        while let here = root {
            root = pointee.directories.root(after: here)
            if here.pointee.state == .gone || here.pointee.state == .file { continue }
            pointee.directories.dropBelow(here, pointee.inotify)
            here.pointee.tellsContents = false
            pointee.directories.markUnread(here)
        }
    }

    /// Tells for each root that anything may have happened.
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
