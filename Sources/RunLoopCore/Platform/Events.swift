import CLinux

/// What a descriptor can be waited for, and what epoll says of it: epoll's bits, as far as this library uses them.
struct Events: OptionSet, BitwiseCopyable {
    let rawValue: UInt16

    @inline(__always)
    init(rawValue: UInt16) { self.rawValue = rawValue }

    /// There is something to read, an end or an error included.
    static let readable = Events(rawValue: UInt16(truncatingIfNeeded: linux_EPOLLIN))
    /// There is room to write, or an error.
    static let writable = Events(rawValue: UInt16(truncatingIfNeeded: linux_EPOLLOUT))
    /// What a client can wait for.
    static let interest: Events = [.readable, .writable]
    /// The other side writes no more.
    static let peerClosed = Events(rawValue: UInt16(truncatingIfNeeded: linux_EPOLLRDHUP))
    /// Reported whether asked for or not, as the next.
    static let error = Events(rawValue: UInt16(truncatingIfNeeded: linux_EPOLLERR))
    static let hangUp = Events(rawValue: UInt16(truncatingIfNeeded: linux_EPOLLHUP))

    /// Of the numbers of RLFileDescriptor.h: 1 to read, 2 to write. O(1).
    @inline(__always)
    init(callBackTypes types: UInt) { self.init(rawValue: UInt16(truncatingIfNeeded: types & 1 | (types & 2) << 1)) }

    /// The other way round. O(1).
    @inline(__always)
    var callBackTypes: UInt { UInt(rawValue & 1 | (rawValue & 4) >> 1) }

    /// As epoll reports it. O(1).
    @inline(__always)
    init(epoll: UInt32) { self.init(rawValue: UInt16(truncatingIfNeeded: epoll)) }

    /// What to tell epoll. O(1).
    @inline(__always)
    var epoll: UInt32 { UInt32(rawValue) }

    /// A hang-up, and nothing that says of what: see `Sockets.hangUp`. O(1).
    @inline(__always)
    var isBareHangUp: Bool { intersection([.hangUp, .readable, .peerClosed, .error]) == .hangUp }

    /// What of `interest` has come with this report: an error or a hang-up is news for whoever waits for anything. O(1).
    @inline(__always)
    func matching(_ interest: Events) -> Events { isDisjoint(with: [.error, .hangUp]) ? intersection(interest) : interest }
}
