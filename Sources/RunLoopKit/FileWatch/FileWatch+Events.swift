import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit

// Handling of inotify events. The caller holds the watch's lock, except while a new watch examines its roots.

extension FileWatchPointer {
    /// Reads and handles events, up to the limit of a pass. Returns whether directories may be examined now: the queue is empty, so every
    /// change that the disk shows has been handled, or it has not been empty for 32 passes.
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

    /// Removes ended watches from the kernel. Only some at a time, because each removal queues an event and the queue must not overflow.
    private func endWatches() {
        var left = 4096
        while left > 0, let watch = pointee.directories.takeEnded() {
            if linux_remove_watch(pointee.inotify, watch) == 0 { left -= 1 }
        }
    }

    /// Handles events and returns how many bytes they occupied. With `mayWait`, stops at a rename whose second half may follow later.
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

    /// Finds the second half of a rename in what was read, and blanks it there. The two halves are adjacent, or nearly so.
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

    /// Handles the end of a watch that the kernel has removed or is about to remove.
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
            // Either the directory was removed, and an event for that follows, or the file system that was mounted there is gone.
            directory.willTellOfGap()
            pointee.directories.markUnread(directory)
        }
    }

    func addContentEvents(_ directory: WatchedDirectoryPointer, _ event: linux_file_event) {
        var flags: UInt = 0
        if event.mask & linux_in_modify != 0 { flags |= UInt(kRLFileWatchModified) }
        if event.mask & linux_in_attrib != 0 { flags |= UInt(kRLFileWatchAttributes) }
        if event.mask & linux_in_close_write != 0 { flags |= UInt(kRLFileWatchClosed) }
        if flags != 0 { pointee.events.add(directory, event.name, flags, isDirectory: event.mask & linux_in_directory != 0) }
    }

    /// Handles a change of an entry of a directory.
    private func entryChanged(_ directory: WatchedDirectoryPointer, _ event: linux_file_event) {
        let isDirectory = event.mask & linux_in_directory != 0
        if event.mask & linux_in_moved_to != 0 { return addFromOutside(event, directory) }
        if event.mask & (linux_in_create | linux_in_delete) != 0 { directory.pointee.arrival = WatchedDirectory.Arrival() }
        if event.mask & linux_in_create != 0 {
            if !isDirectory { replace(event, in: directory) }
            pointee.events.add(directory, event.name, UInt(kRLFileWatchCreated), isDirectory: isDirectory)
            if isDirectory { addDirectory(event.name, to: directory, telling: .created) }
        } else if event.mask & linux_in_delete != 0 {
            pointee.events.add(directory, event.name, UInt(kRLFileWatchRemoved), isDirectory: isDirectory)
            drop(event.name, in: directory)
            if isDirectory { endRoots(at: event.name, in: directory, UInt(kRLFileWatchRemoved)) }
        } else {
            addContentEvents(directory, event)
        }
    }

    private func drop(_ name: UnsafePointer<CChar>, in directory: WatchedDirectoryPointer) {
        guard let old = pointee.directories.find(name, in: directory) else { return }
        pointee.directories.detach(old)
        pointee.directories.drop(old)
    }

    /// Handles the end of what was at the place in a directory where an entry has arrived. If that still had to be scanned, the program is
    /// told so before the arrival: it may know of things below that place which are gone.
    private func replace(_ arrival: linux_file_event, in directory: WatchedDirectoryPointer) {
        if let old = pointee.directories.find(arrival.name, in: directory), old.pointee.tells == .mustScan { noteMustScan(old) }
        if arrival.mask & linux_in_directory != 0 { endRoots(at: arrival.name, in: directory, UInt(kRLFileWatchRemoved)) }
        drop(arrival.name, in: directory)
    }

    // MARK: renames

    /// Handles a rename to the destination in `other`, or out of the roots if there is none.
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
        // Recorded for a suspected exchange as well: the event that looks like its second half may be the first half of another one.
        noteArrival(other, target, from: from)
        if isAround(other.name, in: target, old) || isAround(from.name, in: old, target) { pointee.readsAgain = true }
        if let exchanged {
            pointee.events.forgetPaths()
            if pointee.readsAgain { return }
            // Anything may be at either path now.
            setUncertain(from, old, isDirectory: exchanged.isDirectory)
            return setUncertain(other, target, isDirectory: isDirectory)
        }
        if !pointee.readsAgain { replace(other, in: target) }
        let index = pointee.events.add(old, from.name, UInt(kRLFileWatchRemoved | kRLFileWatchRenamed), isDirectory: isDirectory)
        if let index { pointee.events.rename(index, to: target, other.name) }
        if !pointee.readsAgain { move(from.name, in: old, to: target, other.name, isDirectory) }
        if isDirectory { endRoots(at: from.name, in: old, UInt(kRLFileWatchRenamed)) }
    }

    private func leftForOutside(_ from: linux_file_event, _ directory: WatchedDirectoryPointer) {
        let arrival = directory.pointee.arrival
        let isDirectory = from.mask & linux_in_directory != 0
        directory.pointee.arrival = WatchedDirectory.Arrival(oldName: WatchedDirectory.Arrival.hash(from.name), isDirectory: isDirectory)
        pointee.events.forgetPaths()
        // The entry that just arrived under this name may have been exchanged for the one that left, and then it is still here.
        if arrival.name == WatchedDirectory.Arrival.hash(from.name) && !isGone(from.name, in: directory) {
            return setUncertain(from, directory, isDirectory: arrival.isDirectory)
        }
        pointee.events.add(directory, from.name, UInt(kRLFileWatchRemoved | kRLFileWatchRenamed), isDirectory: isDirectory)
        drop(from.name, in: directory)
        pointee.events.forgetPaths()
        if isDirectory { endRoots(at: from.name, in: directory, UInt(kRLFileWatchRenamed)) }
    }

    /// Whether `other` is inside the entry `name` of `directory`, which is about to be moved or replaced. The kernel allows no such rename,
    /// so the tree shows a state of the disk that is newer than the event.
    private func isAround(_ name: UnsafePointer<CChar>, in directory: WatchedDirectoryPointer, _ other: WatchedDirectoryPointer) -> Bool {
        pointee.directories.find(name, in: directory).map { other.isInside($0) } ?? false
    }

    private func move(
        _ oldName: UnsafePointer<CChar>, in old: WatchedDirectoryPointer, to new: WatchedDirectoryPointer, _ name: UnsafePointer<CChar>,
        _ isDirectory: Bool
    ) {
        guard isDirectory else { return drop(oldName, in: old) }
        guard let moved = pointee.directories.find(oldName, in: old) else { return addDirectory(name, to: new, telling: .created) }
        pointee.directories.detach(moved)
        // A directory that was examined while the event was already queued may be another one, which came there later.
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
        replace(event, in: directory)
        pointee.events.add(directory, event.name, UInt(kRLFileWatchCreated | kRLFileWatchRenamed), isDirectory: isDirectory)
        if isDirectory { addDirectory(event.name, to: directory, telling: .created) }
    }

    // MARK: exchanges

    // The kernel reports an exchange of two files as two renames, there and back, and a rename there and back in the same way. Between
    // those two events no other name in the two directories changes, but anything may happen in others. If the other directory is not
    // watched, the kernel reports an arrival and then a departure; it merges the arrival with the preceding event if that was an arrival at
    // the same name. If the other directory becomes watched in the middle of the exchange, a departure is reported, and then a rename to
    // the same name.

    /// Records the name to which something was renamed in a directory, and where it came from, if that is known. The next rename away from
    /// that name may be the second half of an exchange.
    private func noteArrival(_ to: linux_file_event, _ directory: WatchedDirectoryPointer, from: linux_file_event?) {
        directory.pointee.arrival = WatchedDirectory.Arrival(
            name: WatchedDirectory.Arrival.hash(to.name), oldName: from.map { WatchedDirectory.Arrival.hash($0.name) } ?? 0,
            oldWatch: from?.watch ?? -1, drains: pointee.drains, isDirectory: to.mask & linux_in_directory != 0)
    }

    /// Whether a rename may be the second half of an exchange.
    private func mayBeExchange(_ from: linux_file_event, _ directory: WatchedDirectoryPointer, _ to: linux_file_event) -> Bool {
        let arrival = directory.pointee.arrival
        if arrival.name != WatchedDirectory.Arrival.hash(from.name) { return false }
        // Without a known origin of the arrival: after an exchange, an entry still has this name.
        if arrival.oldWatch < 0 { return !isGone(from.name, in: directory) }
        if arrival.oldWatch != to.watch || arrival.oldName != WatchedDirectory.Arrival.hash(to.name) { return false }
        return arrival.drains == pointee.drains || !isUndone(from, directory, to)
    }

    /// Whether a rename may be the second half of an exchange with a directory that was not watched during the first half.
    private func hasFilledGap(
        _ from: linux_file_event, _ directory: WatchedDirectoryPointer, _ to: linux_file_event, _ target: WatchedDirectoryPointer
    ) -> Bool {
        // A departure for an unknown place is recorded as an arrival without a name.
        let departure = target.pointee.arrival
        if directory == target || departure.name != 0 || departure.oldName != WatchedDirectory.Arrival.hash(to.name) { return false }
        return !isGone(from.name, in: directory)
    }

    /// Whether the directory is known to have no entry with this name. False if its path leads to another directory now, as nothing is
    /// known then.
    private func isGone(_ name: UnsafePointer<CChar>, in directory: WatchedDirectoryPointer) -> Bool {
        identity(of: name, in: directory) == nil && isInPlace(directory)
    }

    /// Whether a rename undoes the one before: nothing is at the path to which that one led, and what it had moved is back where it was.
    private func isUndone(_ from: linux_file_event, _ directory: WatchedDirectoryPointer, _ to: linux_file_event) -> Bool {
        guard let other = pointee.directories.find(watch: to.watch), isGone(from.name, in: directory) else { return false }
        guard let moved = pointee.directories.find(from.name, in: directory) else { return true }
        return identity(of: to.name, in: other)?.isSame(as: moved.pointee.identity) ?? false
    }

    /// Reports that an entry must be scanned; a directory is also read again.
    private func setUncertain(_ event: linux_file_event, _ directory: WatchedDirectoryPointer, isDirectory: Bool) {
        drop(event.name, in: directory)
        if isDirectory && isRecursive {
            addDirectory(event.name, to: directory, telling: .mustScan)
        } else {
            pointee.events.add(directory, event.name, UInt(kRLFileWatchMustScan), isDirectory: isDirectory)
        }
    }

    /// Starts over from the roots with a new inotify instance, and reports kRLFileWatchMustScan when they are watched again. No event in
    /// the new queue is older than what is read then. Nor do the existing watches have to be removed one by one, which would fill the queue
    /// again.
    private func readAgain() {
        pointee.readsAgain = !renewQueue()
        if pointee.readsAgain {
            // No descriptor is left: try again when the timer fires.
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
}
