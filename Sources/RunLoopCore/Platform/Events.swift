import CLinux

/// Events of a descriptor, requested or reported: the bits of epoll(7) that this library uses.
struct Events: OptionSet, BitwiseCopyable {
    let rawValue: UInt16

    init(rawValue: UInt16) { self.rawValue = rawValue }

    /// There is something to read, which may be the end of the stream or an error.
    static let readable = Events(rawValue: UInt16(truncatingIfNeeded: linux_EPOLLIN))
    /// There is room to write, or an error.
    static let writable = Events(rawValue: UInt16(truncatingIfNeeded: linux_EPOLLOUT))
    /// The events that clients can wait for.
    static let interest: Events = [.readable, .writable]
    /// A bit that no descriptor ever reports. Waiting for it alone is waiting for an error or a hang-up, which are always reported.
    static let onlyHangUp = Events(rawValue: UInt16(truncatingIfNeeded: linux_EPOLLMSG))
    /// The peer has stopped writing.
    static let peerClosed = Events(rawValue: UInt16(truncatingIfNeeded: linux_EPOLLRDHUP))
    /// There is an error. Reported whether requested or not.
    static let error = Events(rawValue: UInt16(truncatingIfNeeded: linux_EPOLLERR))
    /// The connection has ended, or there is none. Reported whether requested or not.
    static let hangUp = Events(rawValue: UInt16(truncatingIfNeeded: linux_EPOLLHUP))

    /// Converts from the callback types of RLFileDescriptor.h: 1 to read, 2 to write. O(1).
    init(callBackTypes types: UInt) { self.init(rawValue: UInt16(truncatingIfNeeded: types & 1 | (types & 2) << 1)) }

    /// The events as callback types of RLFileDescriptor.h. O(1).
    var callBackTypes: UInt { UInt(rawValue & 1 | (rawValue & 4) >> 1) }

    /// Converts from the bits that epoll reports. O(1).
    init(epoll: UInt32) { self.init(rawValue: UInt16(truncatingIfNeeded: epoll)) }

    /// The events as the type that epoll takes. O(1).
    var epoll: UInt32 { UInt32(rawValue) }

    /// Whether there is a hang-up without an event that explains it: see `Sockets.hangUp`. O(1).
    var isBareHangUp: Bool { intersection([.hangUp, .readable, .peerClosed, .error]) == .hangUp }

    /// Returns the part of `interest` that a report of these events concerns: all of it after an error or a hang-up. O(1).
    func matching(_ interest: Events) -> Events { isDisjoint(with: [.error, .hangUp]) ? intersection(interest) : interest }
}
