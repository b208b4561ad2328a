import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit

// What the kernel has told: under the lock of the watch.

extension FileWatchPointer {
    /// Takes events from the kernel, as many as a pass may take. Returns whether it is time to look at directories: there are no more, so
    /// what the disk shows has been told, or there is no end of them.
    func readEvents() -> Bool {
        let bytes = pointee.buffer
        var kept = 0
        var reads = 0
        var isDrained = false
        repeat {
            let count = linux_read_nonblocking(pointee.inotify, bytes + kept, FileWatch.bufferSize - kept)
            let length = kept + max(count, 0)
            let mayWait = count > 0 && length <= FileWatch.bufferSize / 2
            let handled = handle(bytes.assumingMemoryBound(to: CChar.self), length, mayWait: mayWait)
            kept = length - handled
            memmove(bytes, bytes + handled, kept)
            reads += 1
            isDrained = count <= 0
        } while !isDrained && (reads < 8 || kept > 0)
        if isDrained { pointee.drains &+= 1 }
        if pointee.readsAgain { readAgain() } else if isDrained { endWatches() }
        pointee.passesBehind = isDrained || pointee.passesBehind == 32 ? 0 : pointee.passesBehind + 1
        return pointee.passesBehind == 0
    }

    /// Removes watches from the kernel: only some at once, as each removal puts an event into the queue, which must not be full of them.
    private func endWatches() {
        var left = 4096
        while left > 0, let watch = pointee.directories.takeEnded() {
            if linux_remove_watch(pointee.inotify, watch) == 0 { left -= 1 }
        }
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
                pointee.readsAgain = true
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
                pointee.directories.dropBelow(directory)
                directory.willTell(.created)
            }
            return
        }
        pointee.directories.setWatch(of: directory, to: -1)
        if directory.pointee.isRoot {
            endRoot(directory, UInt(kRLFileWatchRemoved))
        } else {
            // The watch ended because the directory was removed, of which an event follows, or what was mounted there is gone.
            directory.willTellOfGap()
            pointee.directories.markUnread(directory)
        }
    }

    /// An event of a watch itself: of directories that are no roots the one above tells.
    private func rootChanged(_ root: WatchedDirectoryPointer, _ event: linux_file_event) {
        if !root.pointee.isRoot || root.pointee.state == .gone { return }
        if event.mask & linux_in_move_self != 0 { return endRoot(root, UInt(kRLFileWatchRenamed)) }
        if event.mask & linux_in_delete_self != 0 { return endRoot(root, UInt(kRLFileWatchRemoved)) }
        // A file that has another name, or none, or one link less: its path may lead to another file, which has replaced it.
        if event.mask & linux_in_attrib != 0 && root.pointee.state == .file && !isInPlace(root) {
            return endRoot(root, UInt(kRLFileWatchRemoved))
        }
        addContentEvents(root, event)
    }

    /// A root is gone: told once. If it is in another root, that one is to watch what it watched.
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
        if event.mask & linux_in_moved_to != 0 { return addFromOutside(event, directory) }
        if event.mask & (linux_in_create | linux_in_delete) != 0 { directory.pointee.arrival = WatchedDirectory.Arrival() }
        if event.mask & linux_in_create != 0 {
            pointee.events.add(directory, event.name, UInt(kRLFileWatchCreated), isDirectory: isDirectory)
            if isDirectory { addDirectory(event.name, to: directory, telling: .created) }
        } else if event.mask & linux_in_delete != 0 {
            pointee.events.add(directory, event.name, UInt(kRLFileWatchRemoved), isDirectory: isDirectory)
            drop(event.name, in: directory)
            if isDirectory { endRoot(at: event.name, in: directory) }
        } else {
            addContentEvents(directory, event)
        }
    }

    /// A directory was removed: if it was a root in another root, it has ended. Its own event comes when nothing has it open any more, and
    /// its path may lead to a new directory by then.
    private func endRoot(at name: UnsafePointer<CChar>, in directory: WatchedDirectoryPointer) {
        var next = pointee.directories.firstRoot
        while let root = next {
            next = pointee.directories.root(after: root)
            if let path = path(of: directory, name), strcmp(path, root.name) == 0, !isInPlace(root) {
                endRoot(root, UInt(kRLFileWatchRemoved))
            }
        }
    }

    private func drop(_ name: UnsafePointer<CChar>, in directory: WatchedDirectoryPointer) {
        guard let old = pointee.directories.find(name, in: directory) else { return }
        pointee.directories.detach(old)
        pointee.directories.drop(old)
    }

    // MARK: renames

    /// Something was renamed, to what the other half says, or to a place outside.
    private func renamed(_ from: linux_file_event, to other: linux_file_event?) {
        let target = other.flatMap { pointee.directories.find(watch: $0.watch) }
        guard let old = pointee.directories.find(watch: from.watch) else {
            if let other, let target { addFromOutside(other, target) }
            return
        }
        let isDirectory = from.mask & linux_in_directory != 0
        guard let other, let target else { return leftForOutside(from, old) }
        let exchanged =
            mayBeExchange(from, old, other) ? old.pointee.arrival : hasFilledGap(from, old, other, target) ? target.pointee.arrival : nil
        old.pointee.arrival = WatchedDirectory.Arrival()
        // Also of an exchange: what looks like its second half may be the first half of another one.
        noteArrival(other, target, from: from)
        if isAround(other.name, in: target, old) || isAround(from.name, in: old, target) { pointee.readsAgain = true }
        if let exchanged {
            pointee.events.forgetPaths()
            if pointee.readsAgain { return }
            // Anything may be at both places now.
            setUncertain(from, old, isDirectory: exchanged.isDirectory)
            return setUncertain(other, target, isDirectory: isDirectory)
        }
        let index = pointee.events.add(old, from.name, UInt(kRLFileWatchRemoved | kRLFileWatchRenamed), isDirectory: isDirectory)
        if let index { pointee.events.rename(index, to: target, other.name) }
        if !pointee.readsAgain { move(from.name, in: old, to: target, other.name, isDirectory) }
    }

    private func leftForOutside(_ from: linux_file_event, _ directory: WatchedDirectoryPointer) {
        let arrival = directory.pointee.arrival
        let isDirectory = from.mask & linux_in_directory != 0
        directory.pointee.arrival = WatchedDirectory.Arrival(oldName: WatchedDirectory.Arrival.hash(from.name), isDirectory: isDirectory)
        pointee.events.forgetPaths()
        // What has just come here was exchanged, perhaps, for what leaves: it is here still.
        if arrival.name == WatchedDirectory.Arrival.hash(from.name) && !isGone(from.name, in: directory) {
            return setUncertain(from, directory, isDirectory: arrival.isDirectory)
        }
        pointee.events.add(directory, from.name, UInt(kRLFileWatchRemoved | kRLFileWatchRenamed), isDirectory: isDirectory)
        drop(from.name, in: directory)
        pointee.events.forgetPaths()
    }

    /// Whether a directory lies in an entry of another one that is moved or replaced. No kernel does that: what was seen on the disk
    /// is newer than the event.
    private func isAround(_ name: UnsafePointer<CChar>, in directory: WatchedDirectoryPointer, _ other: WatchedDirectoryPointer) -> Bool {
        pointee.directories.find(name, in: directory).map { other.isInside($0) } ?? false
    }

    private func move(
        _ oldName: UnsafePointer<CChar>, in old: WatchedDirectoryPointer, to new: WatchedDirectoryPointer, _ name: UnsafePointer<CChar>,
        _ isDirectory: Bool
    ) {
        // What it has replaced: an empty directory.
        drop(name, in: new)
        guard isDirectory else { return drop(oldName, in: old) }
        guard let moved = pointee.directories.find(oldName, in: old) else { return addDirectory(name, to: new, telling: .created) }
        pointee.directories.detach(moved)
        // One that was looked at when the event was on its way may be another one, which came later.
        let isCertain = moved.pointee.watch < 0 || moved.pointee.lookedAt != pointee.drains
        if isCertain && pointee.directories.move(moved, to: new, as: name) {
            pointee.directories.markUnwatched(below: moved)
        } else {
            pointee.directories.drop(moved)
            addDirectory(name, to: new, telling: .mustScan)
        }
    }

    private func addFromOutside(_ event: linux_file_event, _ directory: WatchedDirectoryPointer) {
        noteArrival(event, directory, from: nil)
        let isDirectory = event.mask & linux_in_directory != 0
        drop(event.name, in: directory)
        pointee.events.add(directory, event.name, UInt(kRLFileWatchCreated | kRLFileWatchRenamed), isDirectory: isDirectory)
        if isDirectory { addDirectory(event.name, to: directory, telling: .created) }
    }

    // MARK: exchanges

    // The kernel tells an exchange of two files as two renames, there and back, and a rename there and back in the same way. Nothing else
    // happens to names in the two directories between those two, but anything may happen in others. If the other place is not watched, the
    // kernel tells an arrival and then a departure; and it merges the arrival with the event before, if that was one at the same name.
    // If the other place is watched from the middle of the exchange on, a departure is told, and then a rename to the same name.

    private func noteArrival(_ to: linux_file_event, _ directory: WatchedDirectoryPointer, from: linux_file_event?) {
        directory.pointee.arrival = WatchedDirectory.Arrival(
            name: WatchedDirectory.Arrival.hash(to.name), oldName: from.map { WatchedDirectory.Arrival.hash($0.name) } ?? 0,
            oldWatch: from?.watch ?? -1, drains: pointee.drains, isDirectory: to.mask & linux_in_directory != 0)
    }

    /// Whether this may be the second half of an exchange.
    private func mayBeExchange(_ from: linux_file_event, _ directory: WatchedDirectoryPointer, _ to: linux_file_event) -> Bool {
        let arrival = directory.pointee.arrival
        if arrival.name != WatchedDirectory.Arrival.hash(from.name) { return false }
        // What is not known to have been at the other place has no other thing in its place there.
        if arrival.oldWatch < 0 { return !isGone(from.name, in: directory) }
        if arrival.oldWatch != to.watch || arrival.oldName != WatchedDirectory.Arrival.hash(to.name) { return false }
        return arrival.drains == pointee.drains || !isUndone(from, directory, to)
    }

    /// Whether this may be the second half of an exchange with a directory that was not watched during the first half.
    private func hasFilledGap(
        _ from: linux_file_event, _ directory: WatchedDirectoryPointer, _ to: linux_file_event, _ target: WatchedDirectoryPointer
    ) -> Bool {
        let departure = target.pointee.arrival
        if directory == target || departure.name != 0 || departure.oldName != WatchedDirectory.Arrival.hash(to.name) { return false }
        return !isGone(from.name, in: directory)
    }

    /// Whether nothing is at a place. If the path leads to another directory by now, that is not known.
    private func isGone(_ name: UnsafePointer<CChar>, in directory: WatchedDirectoryPointer) -> Bool {
        identity(of: name, in: directory) == nil && isInPlace(directory)
    }

    /// Whether the rename before was undone later: nothing is where that one led to, and what was there is back.
    private func isUndone(_ from: linux_file_event, _ directory: WatchedDirectoryPointer, _ to: linux_file_event) -> Bool {
        guard let other = pointee.directories.find(watch: to.watch), isGone(from.name, in: directory) else { return false }
        guard let moved = pointee.directories.find(from.name, in: directory) else { return true }
        return identity(of: to.name, in: other)?.isSame(as: moved.pointee.identity) ?? false
    }

    /// An entry is to be scanned.
    private func setUncertain(_ event: linux_file_event, _ directory: WatchedDirectoryPointer, isDirectory: Bool) {
        drop(event.name, in: directory)
        if isDirectory && isRecursive {
            addDirectory(event.name, to: directory, telling: .mustScan)
        } else {
            pointee.events.add(directory, event.name, UInt(kRLFileWatchMustScan), isDirectory: isDirectory)
        }
    }

    /// Begins anew with the roots, and tells so when they are watched again. The queue is another one: no event in it is older than what is
    /// seen then, and the watches that there were need not be removed one by one, which would fill it once more.
    private func readAgain() {
        pointee.readsAgain = !renewQueue()
        if pointee.readsAgain {
            // No descriptor is left: again when the timer has fired.
            pointee.retryAt = linux_monotonic_time() &+ FileWatch.retryInterval
            return
        }
        var root = pointee.directories.firstRoot
        while let here = root {
            root = pointee.directories.root(after: here)
            pointee.directories.dropBelow(here)
            pointee.directories.setWatch(of: here, to: -1)
            here.pointee.arrival = WatchedDirectory.Arrival()
        }
        pointee.directories.forgetEnded()
        root = pointee.directories.firstRoot
        while let here = root {
            root = pointee.directories.root(after: here)
            if here.pointee.state == .gone { continue }
            if here.pointee.state == .file {
                watchFileAgain(here)
            } else {
                here.willTell(.mustScan)
                pointee.directories.markUnread(here)
            }
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
