/// How an endpoint stands, in one word that is only changed as a whole.
struct EndpointState: BitwiseCopyable, Equatable {
    var bits: UInt32

    init(_ bits: UInt32) { self.bits = bits }

    /// Not invalidated yet.
    static var valid: UInt32 { 1 }
    /// What it waits for. These four are epoll's bits, moved by one and by two places.
    static var armedRead: UInt32 { 2 }
    static var armedWrite: UInt32 { 8 }
    /// What its source was told that it waits for: that may be more, but never less for long.
    static var registeredToRead: UInt32 { 4 }
    static var registeredToWrite: UInt32 { 16 }
    /// Invalidated while threads were using it: the last of them closes it.
    static var awaitsLastUser: UInt32 { 32 }
    /// That one closes the descriptor, too.
    static var closesDescriptor: UInt32 { 1024 }

    // Sockets only.

    /// The client has disabled it.
    static var readDisabled: UInt32 { 64 }
    static var writeDisabled: UInt32 { 128 }
    static var connectDisabled: UInt32 { 256 }
    /// It is connected, or need not be.
    static var connected: UInt32 { 512 }

    /// Reading goes on by itself after each call.
    static var rearmsReading: UInt32 { 4096 }

    /// A call that is under way.
    static var callUnit: UInt32 { 1 << 16 }

    /// O(1), as everything here.
    @inline(__always)
    func has(_ flag: UInt32) -> Bool { bits & flag != 0 }

    /// O(1).
    @inline(__always)
    mutating func set(_ flag: UInt32) { bits |= flag }

    /// O(1).
    @inline(__always)
    mutating func clear(_ flag: UInt32) { bits &= ~flag }

    @inline(__always)
    var isValid: Bool { has(Self.valid) }

    @inline(__always)
    var activeCalls: UInt32 { bits >> 16 }

    /// What it waits for.
    @inline(__always)
    var armed: Events { Events(epoll: bits >> 1).intersection(.interest) }

    /// What its source knows of that.
    @inline(__always)
    var registered: Events { Events(epoll: bits >> 2).intersection(.interest) }

    /// Whether it waits for something that its source does not know.
    @inline(__always)
    var needsUpdate: Bool { (bits << 1) & ~bits & (Self.registeredToRead | Self.registeredToWrite) != 0 }

    /// Its source has been told `events`.
    mutating func setRegistered(_ events: Events) {
        clear(Self.registeredToRead | Self.registeredToWrite)
        set(events.intersection(.interest).epoll << 2)
    }

    /// O(1).
    @inline(__always)
    mutating func arm(_ events: Events) { set(events.intersection(.interest).epoll << 1) }

    /// O(1).
    @inline(__always)
    mutating func disarm(_ events: Events) { clear(events.intersection(.interest).epoll << 1) }
}
