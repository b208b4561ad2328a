import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit

/// How a stream comes to a connection with a host: its addresses are tried one after the other, each a moment after the one before or
/// when that has failed, until one is connected (RFC 8305). Under the stream's lock.
struct Connector {
    /// A connection that is being made.
    struct Attempt: KitLinked {
        let descriptor: Int32
        let watch: DescriptorWatch
        var next: UnsafeMutablePointer<Attempt>?
    }

    /// After how many nanoseconds the next address is tried beside the one before.
    static var headStart: UInt64 { 250_000_000 }
    /// How often, in nanoseconds, a stream looks whether it is in the child of a fork(), where no worker looks its host up.
    static var forkCheck: UInt64 { 1_000_000_000 }

    /// The look-up of the host's addresses, also after its end: a reference to a work; nil if there is none.
    var lookUp: OpaquePointer?
    var isLookingUp = false
    /// The addresses; nil until they are known.
    private(set) var addresses: UnsafeMutablePointer<addrinfo>?
    /// Where to look for the next address: one of the first address's family, and one of another family.
    private var cursors: (own: UnsafeMutablePointer<addrinfo>?, other: UnsafeMutablePointer<addrinfo>?)
    private var takesOther = false
    private(set) var attempts: UnsafeMutablePointer<Attempt>?
    /// When the next address is to be tried, on the monotonic clock.
    var nextStart: UInt64 = 0
    /// When the time is over, on the monotonic clock.
    let deadline: UInt64
    /// Why the look-up or the latest attempt has failed.
    var failure = Stream.Failure(result: RLStreamResult(kRLStreamFailed), error: EHOSTUNREACH)

    /// `timeout` in seconds.
    init(timeout: Double) {
        let now = linux_monotonic_time()
        deadline = timeout >= 1e9 ? .max : now + UInt64(max(timeout, 0) * 1e9)
    }

    // MARK: addresses

    /// Takes the addresses that were found; the connector frees them.
    mutating func take(_ answer: UnsafeMutablePointer<addrinfo>) {
        addresses = answer
        cursors = (answer, answer)
    }

    /// The next address: families take turns, so that one of them that does not work delays little. nil if all were tried.
    mutating func nextAddress() -> UnsafeMutablePointer<addrinfo>? {
        let address = takesOther ? nextOther() ?? nextOwn() : nextOwn() ?? nextOther()
        takesOther.toggle()
        return address
    }

    private mutating func nextOwn() -> UnsafeMutablePointer<addrinfo>? {
        while let address = cursors.own {
            cursors.own = address.pointee.ai_next
            if isOwn(address) { return address }
        }
        return nil
    }

    private mutating func nextOther() -> UnsafeMutablePointer<addrinfo>? {
        while let address = cursors.other {
            cursors.other = address.pointee.ai_next
            if !isOwn(address) { return address }
        }
        return nil
    }

    private func isOwn(_ address: UnsafeMutablePointer<addrinfo>) -> Bool { address.pointee.ai_family == addresses?.pointee.ai_family }

    /// After how many seconds the stream is to be looked at: the next address is to be tried, or the time is over.
    func delay(_ now: UInt64) -> Double {
        var rest = self
        let next = isLookingUp ? now + Self.forkCheck : rest.nextAddress() == nil ? .max : nextStart
        let time = min(deadline, next)
        return time == .max ? .infinity : Double(time &- now) * 1e-9
    }

    // MARK: attempts

    /// Adds an attempt. False if out of memory: the descriptor and the watch are still the caller's then.
    mutating func add(_ descriptor: Int32, _ watch: DescriptorWatch) -> Bool {
        guard let memory = malloc(MemoryLayout<Attempt>.stride) else { return false }
        let attempt = memory.bindMemory(to: Attempt.self, capacity: 1)
        attempt.initialize(to: Attempt(descriptor: descriptor, watch: watch, next: attempts))
        attempts = attempt
        return true
    }

    /// The attempt that has this watch; nil if there is none.
    func find(_ watch: OpaquePointer?) -> UnsafeMutablePointer<Attempt>? {
        var attempt = attempts
        while let here = attempt, here.pointee.watch.watch != watch { attempt = here.pointee.next }
        return attempt
    }

    /// Ends an attempt, and returns its descriptor.
    mutating func take(_ attempt: UnsafeMutablePointer<Attempt>) -> Int32 {
        attempt.unlink(from: &attempts)
        let descriptor = attempt.pointee.descriptor
        attempt.pointee.watch.end()
        CLinux.free(attempt)
        return descriptor
    }

    /// Ends all attempts and the look-up, and frees the addresses.
    mutating func end() {
        while let attempt = attempts { linux_close(take(attempt)) }
        if let addresses { freeaddrinfo(addresses) }
        addresses = nil
        guard let lookUp else { return }
        _ = RLWorkCancel(lookUp)
        RLRelease(UnsafeRawPointer(lookUp))
        self.lookUp = nil
    }
}

typealias ConnectorPointer = UnsafeMutablePointer<Connector>
