import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit
import Synchronization

// The end of a stream: closing it, and freeing its memory once nothing refers to it.

extension StreamPointer {
    /// Removes the stream from loops and groups, and closes the descriptor if it owns it. Any thread, without the lock; calls user code.
    func close() { end(source) }

    /// Closes the stream, once. `handle` is passed to completions; nil if it has been freed.
    private func end(_ handle: OpaquePointer?) {
        lock()
        let (watch, watchSource) = (pointee.watch, pointee.watchSource)
        let isFirst = pointee.state.insert(.closed).inserted
        pointee.watch = nil
        pointee.watchSource = nil
        pointee.state.remove(.closesNext)
        pointee.queue.free()
        pointee.waiting.free()
        endConnector()
        let hadFilter = pointee.state.remove(.hasFilter) != nil
        let (target, heldFeeder, partner) = (pointee.target, takeHeldFeeder(), pointee.partner)
        pointee.partner = nil
        let wasInGroup = pointee.wasInGroup
        unlock()
        if !isFirst { return }
        if wasInGroup { leaveGroups() }
        // A completion may drop the program's reference, which is the last one once the handle is in no loop.
        if let handle {
            pointee.holders.retain(handle)
            RLRunLoopSourceInvalidate(handle)
        }
        if let watchSource { RLRelease(UnsafeRawPointer(watchSource)) }
        if let watch {
            RLFileDescriptorInvalidate(watch)
            RLRelease(UnsafeRawPointer(watch))
            closeDescriptors()
        }
        if let target { endForwarding(to: target) }
        if let heldFeeder { resume(feeder: heldFeeder) }
        if let partner { close(partner: partner) }
        tellCancelled(handle)
        if hadFilter, let release = pointee.filter.release { release(pointee.filter.info) }
        if let handle, pointee.holders.remove() { RLRelease(UnsafeRawPointer(handle)) }
    }

    /// Closes the descriptors that the stream owns, or lets the program's block again. The stream is closed.
    private func closeDescriptors() {
        if pointee.terminal >= 0 {
            linux_close(pointee.descriptor)
            if pointee.closes { linux_close(pointee.terminal) }
        } else if pointee.closes {
            linux_close(pointee.descriptor)
        } else if let process = pointee.nonblockingIn, process.isCurrent {
            linux_remove_nonblocking(pointee.descriptor)
        }
    }

    /// Ends the stream, now or later in `release`, as its handle is being freed. Any thread; calls user code.
    func handleWasFreed() {
        lock()
        pointee.isFreed = true
        let holdsHandle = pointee.state.remove(.holdsHandle) != nil
        unlock()
        if pointee.holders.handleWasFreed() || holdsHandle {
            // What still uses the stream will find it closed. This reference keeps the memory for ever, and the handle of a new object may
            // have the same address.
            _ = retainMemory()
            pointee.object.source = OpaquePointer(self)
            Misuse.reportOverRelease()
        }
        if !isCollected() { endFreed() }
    }

    /// Closes a stream whose handle was freed, and gives up that reference to the memory. Any thread, without a lock; calls user code.
    func endFreed() {
        preservingSystemError { end(nil) }
        pointee.object.client.releaseInfo()
        if pointee.wasInGroup { releaseGroups() }
        dropMemory()
    }

    /// Gives up one of `references`; the last one frees the memory. Any thread.
    func dropMemory() {
        if pointee.references.subtract(1, ordering: .acquiringAndReleasing).newValue > 0 { return }
        pointee.rule.free()
        pointee.buffer.free()
        pointee.queue.free()
        pointee.waiting.free()
        pointee.completions.free()
        deinitialize(count: 1)
        CLinux.free(self)
    }
}
