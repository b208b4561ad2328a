import CLinux
import CRunLoop
import Synchronization
import Testing

@testable import RunLoopCore

/// The sources of a port's connections follow the port's own source into loops and modes. Connections and ports may be freed in the
/// meantime. That takes the registry's mutex, which fork() acquires before `attachmentsMutex`.
@Suite(.serialized) struct FollowTests {
    @Test func portIsFreedWithoutTheMutexOfAttachments() {
        let nameHandle = RLStringCreateWithCString(nil, "follow-\(getpid())", UInt32(kRLStringEncodingUTF8))
        let name: StringPointer = Handle.storage(UnsafeRawPointer(nameHandle.unsafelyUnwrapped))
        let localHandle = RLMessagePortCreateLocal(nil, name.handle, { _, _, _, _ in nil }, nil, nil)
        let remoteHandle = RLMessagePortCreateRemote(nil, name.handle)
        let local: MessagePortPointer = Handle.storage(UnsafeRawPointer(localHandle.unsafelyUnwrapped))
        let remote: MessagePortPointer = Handle.storage(UnsafeRawPointer(remoteHandle.unsafelyUnwrapped))
        let source = RLMessagePortCreateRunLoopSource(nil, localHandle, 0)
        let connection = remote.pointee.connection.unsafelyUnwrapped
        let before = connection.pointee.references.load(ordering: .acquiring)

        // The walk has reached the remote port's connection, and is to hold the last reference to it.
        hold(connection.pointee.mutex)
        let walk = spawn { RLRunLoopAddSource(RLRunLoopGetCurrent(), source, ModeName.default.handle) }
        while connection.pointee.references.load(ordering: .acquiring) == before { sched_yield() }
        hold(local.pointee.mutex)
        connection.pointee.mutex.unlock()
        RLMessagePortInvalidate(remoteHandle)
        RLRelease(UnsafeRawPointer(remoteHandle))
        // Locks the registry, as fork() does, so that the walk cannot free the port.
        hold(PortRegistry.mutex)
        local.pointee.mutex.unlock()
        let isTaken = Pinned(Atomic<UInt32>(0))
        let other = spawn {
            local.queue.pointee.attachmentsMutex.lock()
            isTaken.pointer.pointee.store(1, ordering: .releasing)
            local.queue.pointee.attachmentsMutex.unlock()
        }
        // The deadline only matters if the library is wrong.
        let deadline = Clock.now.advanced(by: 10_000_000_000)
        while isTaken.pointer.pointee.load(ordering: .acquiring) == 0 && Clock.now < deadline { sched_yield() }
        #expect(isTaken.pointer.pointee.load(ordering: .acquiring) == 1)
        PortRegistry.mutex.unlock()
        walk.join()
        other.join()
        RLMessagePortInvalidate(localHandle)
        RLRelease(UnsafeRawPointer(source))
        RLRelease(UnsafeRawPointer(localHandle))
        name.release()
    }

    /// Takes a mutex in order to stop another thread. ThreadSanitizer must not see it: the test takes its mutexes in an order that the
    /// library does not use.
    private func hold(_ mutex: borrowing RunLoopCore.Mutex) {
        mutex.lock()
        withUnsafePointer(to: mutex) { linux_note_unlock($0) }
    }
}
