import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit

/// An RLStreamGroup: a list of streams that one call writes to.
///
/// The members retain the group's handle until they are removed or freed; the group does not retain its members, which leave it when they
/// are closed. The list is guarded by the kit's lock, so that it is consistent in the child of a fork(). No stream's lock is taken while
/// that lock is held.
struct StreamGroup: KitStorage {
    static var kind: KitKind { .streamGroup }

    fileprivate(set) var object: KitObject
    /// Held during a write, so that all members receive writes in the same order. Taken before a stream's lock and the kit's lock.
    fileprivate var turn = linux_stream_lock()
    fileprivate var first: MembershipPointer?
    fileprivate var last: MembershipPointer?
    /// The next member for the write in progress; meaningful only during a write.
    fileprivate var next: MembershipPointer?
    fileprivate var count = 0
    /// The number of memberships that exist, and retain the handle. Under the kit's lock.
    fileprivate var references = 0
    /// Whether a client has released the handle so often that it was freed while there were memberships. Under the kit's lock.
    fileprivate var isOverReleased = false

    /// The number of members that a write takes from the list at a time.
    fileprivate static var batch: Int { 32 }
    /// The minimum length of bytes that are copied once, for all members that have to queue them. Shorter ones are copied into each such
    /// queue, which costs less than an allocation.
    fileprivate static var sharedLength: Int { 1024 }
}

typealias StreamGroupPointer = UnsafeMutablePointer<StreamGroup>

/// The membership of a stream in a group. Under the kit's lock.
struct Membership: KitLinked {
    fileprivate let group: StreamGroupPointer
    fileprivate let stream: StreamPointer
    /// The next membership of the stream.
    var next: MembershipPointer?
    /// Whether the stream, which was closed, has left the group, and only retains it.
    fileprivate var isOver = false
    /// The neighbors in the group's list, which is in the order of joining.
    fileprivate var previousMember: MembershipPointer?
    fileprivate var nextMember: MembershipPointer?
}

typealias MembershipPointer = UnsafeMutablePointer<Membership>

extension StreamGroup {
    /// Creates a group without members. Returns nil with errno if out of memory. Any thread.
    static func create() -> OpaquePointer? {
        guard let memory = malloc(MemoryLayout<StreamGroup>.stride) else { return nil }
        let group = memory.bindMemory(to: StreamGroup.self, capacity: 1)
        group.initialize(to: StreamGroup(object: KitObject(kind: kind, number: -1, client: ClientContext(info: nil))))
        linux_stream_lock_init(&group.pointee.turn)
        var context = RLRunLoopSourceContext()
        context.info = memory
        context.release = { info in StreamGroupPointer(info: info).handleWasFreed() }
        context.copyDescription = KitObject.copyDescription
        // On failure RLRunLoopSourceCreate has called the function that frees the memory.
        guard let source = RLRunLoopSourceCreate(nil, 0, &context) else { return nil }
        group.pointee.object.source = source
        return source
    }
}

extension StreamGroupPointer {
    fileprivate init(info: UnsafeRawPointer?) {
        self = UnsafeMutableRawPointer(mutating: info.unsafelyUnwrapped).assumingMemoryBound(to: StreamGroup.self)
    }

    private var source: OpaquePointer? { pointee.object.source }

    /// Frees the group, as its handle is being freed. If there are memberships, reports misuse and keeps the memory. Any thread.
    fileprivate func handleWasFreed() {
        KitLock.lock()
        let isOverReleased = pointee.references > 0
        pointee.isOverReleased = isOverReleased
        KitLock.unlock()
        if isOverReleased { Misuse.reportOverRelease() } else { CLinux.free(self) }
    }

    /// The number of members. Any thread.
    var countNow: Int {
        KitLock.lock()
        defer { KitLock.unlock() }
        return pointee.count
    }

    // MARK: members

    /// Adds a stream, unless it is a member already. Returns the number of members; 0 with errno if the stream is closed, or if out of
    /// memory. Any thread; call without a lock held.
    func add(_ stream: StreamPointer) -> Int {
        KitLock.lock()
        let countWithMember = find(stream) != nil ? pointee.count : 0
        KitLock.unlock()
        if countWithMember > 0 { return countWithMember }
        guard let memory = malloc(MemoryLayout<Membership>.stride) else { return 0 }
        let membership = memory.bindMemory(to: Membership.self, capacity: 1)
        membership.initialize(to: Membership(group: self, stream: stream))
        RLRetain(UnsafeRawPointer(source))
        KitLock.lock()
        pointee.references += 1
        KitLock.unlock()
        stream.lock()
        let isClosed = stream.pointee.state.contains(.closed)
        if !isClosed { stream.pointee.wasInGroup = true }
        KitLock.lock()
        let isNew = !isClosed && find(stream) == nil
        if isNew { link(membership) }
        let count = pointee.count
        KitLock.unlock()
        stream.leave()
        if !isNew { membership.free() }
        if isClosed { systemError = EBADF }
        return isClosed ? 0 : count
    }

    /// Removes a stream. Returns false if it is not a member. Any thread.
    func remove(_ stream: StreamPointer) -> Bool {
        KitLock.lock()
        let membership = find(stream)
        if let membership {
            membership.unlink(from: &stream.pointee.memberships)
            membership.unlinkFromGroup()
        }
        KitLock.unlock()
        membership?.free()
        return membership != nil
    }

    /// Returns the membership of a stream in this group; nil if there is none. The caller holds the kit's lock.
    private func find(_ stream: StreamPointer) -> MembershipPointer? {
        var membership = stream.pointee.memberships
        while let here = membership, here.pointee.group != self || here.pointee.isOver { membership = here.pointee.next }
        return membership
    }

    /// Adds a membership to the group's list and to its stream's. The caller holds the kit's lock.
    private func link(_ membership: MembershipPointer) {
        membership.pointee.next = membership.pointee.stream.pointee.memberships
        membership.pointee.stream.pointee.memberships = membership
        membership.pointee.previousMember = pointee.last
        if let last = pointee.last { last.pointee.nextMember = membership } else { pointee.first = membership }
        pointee.last = membership
        pointee.count += 1
    }

    // MARK: writing

    /// Writes bytes to all members except `except`. Returns the number of members that have taken them. If called by a filter that a write
    /// to this group is calling, returns 0 with errno; otherwise preserves errno. Any thread; waits for other writes to the group.
    func write(_ bytes: UnsafePointer<UInt8>, _ length: Int, except: StreamPointer?) -> Int {
        _ = linux_stream_lock(&pointee.turn)
        defer { linux_stream_unlock(&pointee.turn) }
        if pointee.turn.depth > 1 {
            systemError = EDEADLK
            return 0
        }
        KitLock.lock()
        pointee.next = pointee.first
        KitLock.unlock()
        var taken = 0
        preservingSystemError {
            let data = length >= StreamGroup.sharedLength ? RLDataCreate(nil, bytes, length) : nil
            withUnsafeTemporaryAllocation(of: StreamPointer.self, capacity: StreamGroup.batch) { members in
                while true {
                    let number = takeMembers(members)
                    if number == 0 { break }
                    for member in members[..<number] {
                        if member != except && member.writeAsMember(bytes, length, data) { taken += 1 }
                        member.dropMemory()
                    }
                }
            }
            if let data { RLRelease(UnsafeRawPointer(data)) }
        }
        return taken
    }

    /// Fills `members` with the next members for the write in progress, and returns their number. The caller drops a reference to the
    /// memory of each by `dropMemory`.
    private func takeMembers(_ members: UnsafeMutableBufferPointer<StreamPointer>) -> Int {
        KitLock.lock()
        defer { KitLock.unlock() }
        var number = 0
        while number < members.count, let membership = pointee.next {
            _ = membership.pointee.stream.retainMemory()
            members.initializeElement(at: number, to: membership.pointee.stream)
            pointee.next = membership.pointee.nextMember
            number += 1
        }
        return number
    }
}

extension MembershipPointer {
    /// Removes the membership from its group's list. The caller holds the kit's lock.
    fileprivate func unlinkFromGroup() {
        let group = pointee.group
        if group.pointee.next == self { group.pointee.next = pointee.nextMember }
        if let before = pointee.previousMember {
            before.pointee.nextMember = pointee.nextMember
        } else {
            group.pointee.first = pointee.nextMember
        }
        if let after = pointee.nextMember {
            after.pointee.previousMember = pointee.previousMember
        } else {
            group.pointee.last = pointee.previousMember
        }
        group.pointee.count -= 1
    }

    /// Frees a membership that is in no list, and releases its group. Any thread; call without a lock held.
    fileprivate func free() {
        let group = pointee.group
        KitLock.lock()
        group.pointee.references -= 1
        let isOverReleased = group.pointee.isOverReleased
        KitLock.unlock()
        if !isOverReleased { RLRelease(UnsafeRawPointer(group.pointee.object.source)) }
        CLinux.free(self)
    }
}

extension StreamPointer {
    /// Removes the stream, which is closed, from all groups, which it still retains: a group may be the info of the client's functions that
    /// follow. Any thread; call without the lock held.
    func leaveGroups() {
        KitLock.lock()
        var next = pointee.memberships
        while let membership = next {
            membership.unlinkFromGroup()
            membership.pointee.isOver = true
            next = membership.pointee.next
        }
        KitLock.unlock()
    }

    /// Releases the groups that the stream has left when it was closed. Called once, after the client's last function.
    func releaseGroups() {
        while let membership = pointee.memberships {
            pointee.memberships = membership.pointee.next
            membership.free()
        }
    }

    /// Writes bytes that go to all members of a group. If the stream cannot take them, fails it, unless nothing could be written to it
    /// anyway, and returns false. Any thread; calls no user code except a filter. The stream's handle may be being freed.
    fileprivate func writeAsMember(_ bytes: UnsafePointer<UInt8>, _ length: Int, _ data: OpaquePointer?) -> Bool {
        lock()
        defer { unlock() }
        if pointee.isFreed || refusal != nil { return false }
        if queued >= pointee.highWaterMark {
            fail(Stream.Failure(result: RLStreamResult(kRLStreamFailed), error: ENOBUFS))
            return false
        }
        if write(bytes, length, data, later: false) { return true }
        if !pointee.state.contains(.writingFailed) { failWithoutMemory() }
        return false
    }
}
