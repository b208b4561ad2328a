/// The state of an endpoint, in one word that is only changed as a whole.
struct EndpointState: BitwiseCopyable, Equatable {
    var bits: UInt32

    init(_ bits: UInt32) { self.bits = bits }

    /// The endpoint has not been invalidated.
    static var valid: UInt32 { 1 }
    /// What the client is to be called for. These two and the two below are epoll's bits, shifted by one and by two.
    static var armedRead: UInt32 { 2 }
    static var armedWrite: UInt32 { 8 }
    /// What the endpoint's source watches for. This is sometimes more than is armed, and less only until the source is updated.
    static var registeredToRead: UInt32 { 4 }
    static var registeredToWrite: UInt32 { 16 }
    /// The endpoint was invalidated while threads were using it. The last of them completes the invalidation.
    static var awaitsLastUser: UInt32 { 32 }
    /// The last user also closes the descriptor.
    static var closesDescriptor: UInt32 { 1024 }

    /// For sockets: callbacks that the client has disabled.
    static var readDisabled: UInt32 { 64 }
    static var writeDisabled: UInt32 { 128 }
    static var connectDisabled: UInt32 { 256 }
    /// The socket is connected, or is of a kind that reports no connections.
    static var connected: UInt32 { 512 }

    /// The upper half of the word counts the calls of the client that are in progress, in units of this.
    static var callUnit: UInt32 { 1 << 16 }

    /// Whether at least one of these flags is set. O(1), like everything here.
    func has(_ flag: UInt32) -> Bool { bits & flag != 0 }

    /// Sets flags.
    mutating func set(_ flag: UInt32) { bits |= flag }

    /// Clears flags.
    mutating func clear(_ flag: UInt32) { bits &= ~flag }

    var isValid: Bool { has(Self.valid) }

    var activeCalls: UInt32 { bits >> 16 }

    /// The events for which the client is to be called.
    var armed: Events { Events(epoll: bits >> 1).intersection(.interest) }

    /// The events that the endpoint's source watches for.
    var registered: Events { Events(epoll: bits >> 2).intersection(.interest) }

    /// Whether an event is armed but not registered.
    var needsUpdate: Bool { (bits << 1) & ~bits & (Self.registeredToRead | Self.registeredToWrite) != 0 }

    /// Records `events` as what the endpoint's source watches for.
    mutating func setRegistered(_ events: Events) {
        clear(Self.registeredToRead | Self.registeredToWrite)
        set(events.intersection(.interest).epoll << 2)
    }

    /// Arms events, in addition to those that are armed already.
    mutating func arm(_ events: Events) { set(events.intersection(.interest).epoll << 1) }

    /// Disarms events.
    mutating func disarm(_ events: Events) { clear(events.intersection(.interest).epoll << 1) }
}
